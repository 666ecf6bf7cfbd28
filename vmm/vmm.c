// SPDX-License-Identifier: BSD-2-Clause
/*
 * vmm.c - device addresses and physical memory: the theory, map and unmap.
 *
 * 1. Concepts
 *
 * A *chunk number* names one chunk of addresses; `addresses` is the range of
 * those that have no handle (reserve.c says where they come from). A *handle*
 * is physical memory of one or more chunks (handle.c). The backend maps and
 * unmaps it whole, so it is the unit of giving back: memory that may be given
 * back chunk by chunk needs handles of one chunk, a large object is cheapest
 * with one handle of its own. Single-chunk handles are all alike: any of them
 * fills any hole, which is why there is no physical fragmentation among them.
 *
 * 2. States
 *
 *            create            map            set_access
 *   (none) ----------> CREATED -----> MAPPED ------------> ACCESSIBLE
 *      ^               |     ^           |                   |   |  ^
 *      |    release    |     |   unmap   |                   |   |  |
 *      +---------------+     +-----------+       unmap       |   |  |
 *                            +-------------------------------+   |  |
 *                            |      unmap        kept mapped     |  |
 *                            +-------------- IDLE <--------------+  |
 *                                             |     used again      |
 *                                             +---------------------+
 *
 *   state        who has it           chunk table   counted as
 *   (none)       -                    NULL          reserved
 *   CREATED      spare, or in flight  -             created (spare: idle)
 *   MAPPED       vmm_map() in flight  handle        created
 *   ACCESSIBLE   the caller           handle        created
 *   IDLE         idle_runs, idle[]    handle        created, idle
 *   LOST         lost                 handle, if    created, lost
 *                                     still mapped
 *
 *   step         undo                 the undo fails
 *   create       release              LOST without numbers
 *   map          unmap                LOST with its numbers
 *   set_access   unmap                LOST with its numbers
 *   idle, use    each other           cannot: no backend call
 *   LOST leaves only for (none), by vmm_lost_retry().
 *
 * 3. Mapping
 *
 * vmm_map() goes from cheap to dear: an idle run of the shape asked for (no
 * call), spare handles (map), idle single chunks elsewhere, which become spare
 * ones (unmap, map), new handles (create, map). One set_access covers the run,
 * since its price is by call. Before anything is created, the limit: what
 * is idle and does not serve this request goes back first, but only if the
 * request can then be met. A backend that answers -ENOMEM is asked again as
 * long as there is idle memory to give back. What the device may still be using
 * is waited for before it is unmapped (fence.c), and the call begins anew.
 *
 * 4. Locking
 *
 * One lock, held over backend calls but for waiting: growing is rare, and a
 * driver serialises these calls anyway. Fast paths never come here. Nothing is
 * printed under it (incident.c).
 *
 * 5. Failure
 *
 * Every step has its undo, in reverse order, and a failing call has changed
 * nothing but possibly the form of idle memory (idle mappings became spare
 * handles, or went back). Host memory for descriptors is taken before the
 * backend is called.
 *
 * 6. Limits
 *
 * VMM_MAX_OFFSET bytes of numbers, VMM_MAX_RANGES reservations.
 */
#include <errno.h>
#include <stdio.h>

#include "core/log.h"
#include "vmm/internal.h"

/* ---- Life ------------------------------------------------------------- */

static int query_chunk(struct vmm *v)
{
	u64 granularity;
	int err;

	err = v->ops->granularity(v->dev, &granularity);
	if (err)
		return error_set(err, "%s: backend %s tells no granularity",
				 v->name, v->ops->name);
	if (!is_power_of_2(granularity) || granularity > VMM_MAX_OFFSET)
		return error_set(-ENODEV, "%s: backend %s: granularity %llu is "
				 "not supported", v->name, v->ops->name,
				 (unsigned long long)granularity);
	v->chunk_size = max(granularity, VMM_MIN_CHUNK);
	v->chunk_shift = ilog2(v->chunk_size);
	return 0;
}

/* All of the device, or the part of it that was asked for. */
static int limit_of_device(struct vmm *v, u32 permille, u64 *limit)
{
	u64 free_bytes, total;
	int err = vmm_meminfo(v, &free_bytes, &total);

	if (err)
		return error_set(err, "%s: backend %s does not tell how much "
				 "memory there is; set a limit%s%s", v->name,
				 v->ops->name, v->ops->explains ? ": " : "",
				 v->ops->explains ? error_get() : "");
	*limit = permille ? total / 1000 * permille : total;
	return 0;
}

static int query_limit(struct vmm *v, const struct vmm_config *cfg)
{
	u64 limit = cfg->limit;
	int err;

	if (!limit) {
		err = limit_of_device(v, cfg->limit_permille, &limit);
		if (err)
			return err;
	}
	limit /= max(cfg->ranks, 1u);
	v->limit_chunks = min(limit, VMM_MAX_OFFSET) >> v->chunk_shift;
	if (!v->limit_chunks)
		return error_set(-EDQUOT, "%s: the limit of %llu bytes is "
				 "below one chunk of %llu", v->name,
				 (unsigned long long)limit,
				 (unsigned long long)v->chunk_size);
	WRITE_ONCE(v->cnt->limit, vmm_bytes(v, v->limit_chunks));
	return 0;
}

static void init_lists(struct vmm *v)
{
	for (u32 bin = 0; bin < VMM_IDLE_BINS; bin++)
		list_init(&v->idle[bin]);
	list_init(&v->idle_singles);
	list_init(&v->spare);
	list_init(&v->lost);
}

/* The tables by chunk number; they are as long as max_chunks says. */
static int init_tables(struct vmm *v)
{
	u64 bytes = (u64)v->max_chunks * sizeof(struct vmm_handle *);

	if (range_init(&v->addresses, v->max_chunks))
		goto fail;
	if (range_init(&v->idle_runs, v->max_chunks))
		goto fini_addresses;
	if (resv_init(&v->chunks, bytes, 64 * KIB))
		goto fini_idle_runs;
	metapool_init(&v->handles, sizeof(struct vmm_handle), "handles");
	return 0;

fini_idle_runs:
	range_fini(&v->idle_runs);
fini_addresses:
	range_fini(&v->addresses);
fail:
	vmm_incident_lack(v, "no addresses for the table of chunks");
	return -ENOMEM;
}

static void fini_tables(struct vmm *v)
{
	metapool_fini(&v->handles);
	resv_fini(&v->chunks);
	range_fini(&v->idle_runs);
	range_fini(&v->addresses);
}

int vmm_open(struct vmm *v, const struct vmm_ops *ops, void *dev,
	     const struct vmm_config *cfg)
{
	int err;

	*v = (struct vmm){
		.ops = ops,
		.dev = dev,
		.name = cfg->name,
		.cnt = cfg->counters,
		.same_layout = cfg->same_layout,
	};
	err = query_chunk(v);
	if (!err)
		err = query_limit(v, cfg);
	if (err)
		return err;

	init_lists(v);
	lock_init(&v->lock, LOCK_VMM, "vmm");
	vmm_enter(v);
	err = vmm_fence_init(v);
	if (err)
		goto fini_lock;
	err = vmm_reserve_first(v, cfg->reserve);
	if (err)
		goto fini_fence;
	err = init_tables(v);
	if (err)
		goto unreserve;
	return vmm_leave(v, 0);

unreserve:
	(void)vmm_unreserve_all(v);
fini_fence:
	vmm_fence_fini(v);
fini_lock:
	vmm_leave(v, err);
	lock_fini(&v->lock);
	return err;
}

/* Give back whatever is mapped, in use or not; what fails is lost. */
static void destroy_mapped(struct vmm *v)
{
	const struct vmm_reservation *res;
	struct vmm_handle *h;
	u32 end;

	for (u32 i = 0; i < v->nr_res; i++) {
		res = &v->res[i];
		end = res->first_chunk + res->nr_open;
		for (u32 c = res->first_chunk; c < end; c++) {
			h = *vmm_chunk(v, c);
			if (h && h->state == VMM_ACCESSIBLE)
				(void)vmm_handle_destroy(v, h);
		}
	}
}

/* What the device may still be using stays mapped, for good. */
static int lose_all(struct vmm *v, int err)
{
	vmm_incident_op(v, VMM_OP_EVENT, 0);
	v->incident.lost_op = VMM_OP_EVENT;
	v->incident.lost_err = err;
	v->incident.lost_addr = v->base;
	v->incident.lost_bytes = v->cnt->created;
	v->incident.nr_lost = (u32)v->cnt->handles;
	WRITE_ONCE(v->cnt->lost, v->cnt->created);
	return -EIO;
}

static int give_all_back(struct vmm *v)
{
	int err, unreserve_err;

	v->quiet = v->clock;
	(void)vmm_idle_give_all(v, 0);
	destroy_mapped(v);
	/* What was lost just now and before gets its last chance together. */
	v->incident.nr_lost = 0;
	v->incident.lost_bytes = 0;
	err = vmm_lost_retry(v);
	vmm_end_walls(v);
	unreserve_err = vmm_unreserve_all(v);
	return err ? err : unreserve_err;
}

int vmm_close(struct vmm *v)
{
	int err = v->is_quiet ? 0 : vmm_quiesce(v);

	/* Nothing is in use of a device that is gone, or where there is none. */
	if (err && (vmm_health(v) || !v->cnt->created))
		err = 0;
	vmm_enter(v);
	v->incident.closing = true;
	err = err ? lose_all(v, err) : give_all_back(v);
	vmm_fence_fini(v);
	vmm_leave(v, err);
	fini_tables(v);
	lock_fini(&v->lock);
	return err;
}

/* ---- Unmapping -------------------------------------------------------- */

struct vmm_handle *vmm_handle_at(struct vmm *v, u32 chunk)
{
	return vmm_reservation_of(v, chunk) ? *vmm_chunk(v, chunk) : NULL;
}

u64 vmm_chunk_stamp(struct vmm *v, u32 chunk)
{
	const struct vmm_handle *h;
	u64 stamp;

	lock_acquire(&v->lock);
	h = vmm_handle_at(v, chunk);
	stamp = h ? h->stamp : 0;
	lock_release(&v->lock);
	return stamp;
}

/* Is the device done with what is idle? Where that must not decide anything,
 * it is as soon as it can be. */
static bool is_quiet_now(struct vmm *v)
{
	return !(v->same_layout ? vmm_fence_wait(v) : vmm_fence_try(v));
}

static int unmap_locked(struct vmm *v, u32 first, enum vmm_giveback how)
{
	struct vmm_handle *h = vmm_handle_at(v, first);
	int err;

	if (!h || h->first != first || h->state != VMM_ACCESSIBLE) {
		vmm_incident_lack(v, "no handle in use begins at this chunk");
		return -EINVAL;
	}
	vmm_fence_stamp(v, h);
	if (how == VMM_KEEP_MAPPED || !is_quiet_now(v)) {
		vmm_idle_put(v, h);
		return 0;
	}
	if (how == VMM_RELEASE || h->nr > 1) {
		err = vmm_handle_destroy(v, h);
		(void)vmm_unreserve_empty(v);
		return err;
	}
	err = vmm_handle_unmap(v, h);
	if (!err)
		vmm_spare_put(v, h);
	return err;
}

int vmm_unmap(struct vmm *v, u32 first, enum vmm_giveback how)
{
	int err;

	vmm_enter(v);
	err = unmap_locked(v, first, how);
	return vmm_leave(v, err);
}

/* Give back down to @keep bytes, of what is quiet. */
static int reclaim_quiet(struct vmm *v, u64 keep)
{
	int err = 0, give_err = 0;
	u64 excess;

	while (v->cnt->idle > keep) {
		excess = div_round_up(v->cnt->idle - keep, v->chunk_size);
		if (!vmm_idle_give(v, excess, 0, &give_err))
			break;
		if (give_err)
			err = give_err;
	}
	return err;
}

int vmm_reclaim(struct vmm *v, u64 keep, bool wait)
{
	int err, fence_err = 0, give_err;

	vmm_enter(v);
	err = vmm_lost_retry(v);
	if (v->cnt->idle > keep)
		fence_err = wait ? vmm_fence_wait(v) : vmm_fence_try(v);
	if (fence_err && fence_err != -EBUSY && fence_err != -EAGAIN) {
		vmm_incident_op(v, VMM_OP_EVENT, 0);
		err = fence_err;
	}
	give_err = reclaim_quiet(v, keep);
	(void)vmm_unreserve_empty(v);
	if (wait && v->ops->trim)
		(void)v->ops->trim(v->dev);
	return vmm_leave(v, give_err ? give_err : err);
}

/* ---- Questions -------------------------------------------------------- */

bool vmm_survives_fork(const struct vmm *v)
{
	return v->ops->survives_fork;
}

int vmm_health(const struct vmm *v)
{
	return v->ops->health ? v->ops->health(v->dev) : 0;
}

void vmm_describe(const struct vmm *v, char *buf, size_t len)
{
	if (v->ops->describe)
		v->ops->describe(v->dev, buf, len);
	else
		snprintf(buf, len, "%s", v->ops->name);
}

static bool next_in_use_locked(const struct vmm *v, u32 *chunk, u32 *nr)
{
	const struct vmm_reservation *res;
	const struct vmm_handle *h;
	u32 at, end;

	for (u32 i = 0; i < v->nr_res; i++) {
		res = &v->res[i];
		end = res->first_chunk + res->nr_open;
		for (at = max(*chunk, res->first_chunk); at < end; at++) {
			h = *vmm_chunk(v, at);
			if (!h || h->first != at || h->is_held ||
			    h->state != VMM_ACCESSIBLE)
				continue;
			*chunk = at;
			*nr = h->nr;
			return true;
		}
	}
	return false;
}

bool vmm_next_in_use(struct vmm *v, u32 *chunk, u32 *nr)
{
	bool found;

	lock_acquire(&v->lock);
	found = next_in_use_locked(v, chunk, nr);
	lock_release(&v->lock);
	return found;
}
