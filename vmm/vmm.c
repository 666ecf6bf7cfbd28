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
 * request can then be met. A backend that answers -ENOMEM is asked once more
 * after everything idle was given back.
 *
 * 4. Locking
 *
 * One lock, held over backend calls: growing is rare, and a driver serialises
 * these calls anyway. Fast paths never come here. Nothing is printed under it
 * (incident.c).
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

static int query_limit(struct vmm *v, u64 limit)
{
	u64 free_bytes;
	int err;

	if (!limit) {
		err = vmm_meminfo(v, &free_bytes, &limit);
		if (err)
			return error_set(err, "%s: backend %s does not tell "
					 "how much memory there is; set a "
					 "limit", v->name, v->ops->name);
	}
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
	};
	err = query_chunk(v);
	if (!err)
		err = query_limit(v, cfg->limit);
	if (err)
		return err;

	init_lists(v);
	lock_init(&v->lock, LOCK_VMM, "vmm");
	vmm_enter(v);
	err = vmm_reserve_first(v, cfg->reserve);
	if (err)
		goto fini_lock;
	err = init_tables(v);
	if (err)
		goto unreserve;
	return vmm_leave(v, 0);

unreserve:
	(void)vmm_unreserve_all(v);
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

int vmm_close(struct vmm *v)
{
	int err, unreserve_err;

	vmm_enter(v);
	(void)vmm_idle_give_all(v, 0);
	destroy_mapped(v);
	/* What was lost just now and before gets its last chance together. */
	v->incident.nr_lost = 0;
	v->incident.lost_bytes = 0;
	v->incident.closing = true;
	err = vmm_lost_retry(v);
	unreserve_err = vmm_unreserve_all(v);
	if (!err)
		err = unreserve_err;
	vmm_leave(v, err);
	fini_tables(v);
	lock_fini(&v->lock);
	return err;
}

/* ---- Mapping ---------------------------------------------------------- */

/* How many handles of a single chunk such a request is made of. */
static u64 nr_singles(u32 nr, u32 handle_chunks)
{
	return handle_chunks == 1 ? nr : nr % handle_chunks == 1;
}

/*
 * Stay within the limit. Gathers the spare handles that will serve, and gives
 * back other idle memory if it must and if that is enough.
 */
static int make_room(struct vmm *v, u32 nr, u64 singles)
{
	u64 limit = vmm_bytes(v, v->limit_chunks);
	u64 size = vmm_bytes(v, nr);
	u64 have, wanted;
	int err = 0;

	if (v->cnt->created - v->cnt->idle + size > limit)
		goto no_room;
	vmm_spare_gather(v, singles);
	for (;;) {
		have = min(singles, v->cnt->spare_handles);
		wanted = v->cnt->created + size - vmm_bytes(v, have);
		if (wanted <= limit)
			return 0;
		if (!vmm_idle_give(v, (wanted - limit) >> v->chunk_shift, have,
				   &err))
			break;
	}
no_room:
	v->incident.in_use = v->cnt->created - v->cnt->idle;
	v->incident.size = size;
	return -EDQUOT;
}

/* Addresses for @nr chunks; idle mappings hold some too. */
static int find_addresses(struct vmm *v, u32 nr, u64 singles, u32 *first)
{
	int err = vmm_run_alloc(v, nr, first);

	if (err == -ENOMEM && vmm_idle_give_all(v, singles))
		err = vmm_run_alloc(v, nr, first);
	return err;
}

/* A handle of @nr chunks that is not mapped. */
static int obtain(struct vmm *v, u32 nr, struct vmm_handle **h)
{
	int err;

	if (nr == 1) {
		*h = vmm_spare_take(v);
		if (*h)
			return 0;
	}
	err = vmm_handle_create(v, nr, h);
	if (err == -ENOMEM && vmm_idle_give_all(v, 0))
		err = vmm_handle_create(v, nr, h);
	return err;
}

/* The opposite of obtain(): what was spare is spare again. */
static void put_back(struct vmm *v, struct vmm_handle *h)
{
	if (h->is_new)
		(void)vmm_handle_release(v, h);
	else
		vmm_spare_put(v, h);
}

/* Map a handle of @nr chunks at @first, the begin of a free allocation. */
static int map_piece(struct vmm *v, u32 first, u32 nr, u64 singles)
{
	struct vmm_handle *h;
	int err;

	err = obtain(v, nr, &h);
	if (err)
		return err;
	err = vmm_handle_map(v, h, first);
	if (err == -ENOMEM && vmm_idle_give_all(v, singles))
		err = vmm_handle_map(v, h, first);
	if (err)
		put_back(v, h);
	return err;
}

static int grant_access(struct vmm *v, u32 first, u32 nr)
{
	u64 addr = vmm_chunk_addr(v, first);
	u64 size = vmm_bytes(v, nr);
	int err;

	err = vmm_call_set_access(v, addr, size);
	if (err == -ENOMEM && vmm_idle_give_all(v, 0))
		err = vmm_call_set_access(v, addr, size);
	if (err)
		vmm_incident_op(v, VMM_OP_SET_ACCESS, size);
	return err;
}

/* Undo map_piece() for [@first, @end), the last piece first. */
static void unmap_pieces(struct vmm *v, u32 first, u32 end)
{
	struct vmm_handle *h;

	while (end > first) {
		h = *vmm_chunk(v, end - 1);
		end = h->first;
		if (!vmm_handle_unmap(v, h))
			put_back(v, h);
	}
}

/* Fill the allocated numbers [@first, @first + @nr) with memory. */
static int populate(struct vmm *v, u32 first, u32 nr, u32 handle_chunks)
{
	u32 end = first + nr;
	u32 pos = first;
	u32 n;
	int err;

	while (pos < end) {
		n = min(handle_chunks, end - pos);
		err = map_piece(v, pos, n, nr_singles(end - pos - n,
						      handle_chunks));
		if (err)
			goto unmap;
		pos += n;
		if (pos < end)
			range_split(&v->addresses, pos);
	}
	err = grant_access(v, first, nr);
	if (err)
		goto unmap;
	return 0;

unmap:
	if (pos < end)
		range_free(&v->addresses, pos, end - pos);
	unmap_pieces(v, first, pos);
	return err;
}

static void mark_accessible(struct vmm *v, u32 first, u32 nr)
{
	struct vmm_handle *h;

	for (u32 pos = first; pos < first + nr; pos += h->nr) {
		h = *vmm_chunk(v, pos);
		h->state = VMM_ACCESSIBLE;
		h->is_new = false;
	}
}

static int map_locked(struct vmm *v, u32 nr, u32 handle_chunks, u32 *first)
{
	u64 singles = nr_singles(nr, handle_chunks);
	u32 run;
	int err;

	if (vmm_idle_take(v, nr, handle_chunks, first))
		return 0;
	err = make_room(v, nr, singles);
	if (err)
		return err;
	err = find_addresses(v, nr, singles, &run);
	if (err)
		return err;
	err = populate(v, run, nr, handle_chunks);
	if (err)
		return err;
	mark_accessible(v, run, nr);
	*first = run;
	return 0;
}

int vmm_map(struct vmm *v, u32 nr, u32 handle_chunks, u32 *first)
{
	int err;

	if (!nr || !handle_chunks)
		return error_set(-EINVAL, "%s: a mapping of no chunks",
				 v->name);
	vmm_enter(v);
	err = map_locked(v, nr, min(nr, handle_chunks), first);
	return vmm_leave(v, err);
}

int vmm_reuse(struct vmm *v, u32 nr, u32 handle_chunks, u32 *first)
{
	bool found;

	lock_acquire(&v->lock);
	found = vmm_idle_take(v, nr, handle_chunks, first);
	lock_release(&v->lock);
	return found ? 0 : -ENOENT;
}

static int extend_locked(struct vmm *v, u32 at, u32 nr)
{
	int err;

	if (!range_alloc_at(&v->addresses, at, nr))
		return -EBUSY;
	err = make_room(v, nr, nr);
	if (err) {
		range_free(&v->addresses, at, nr);
		return err;
	}
	err = populate(v, at, nr, 1);
	if (!err)
		mark_accessible(v, at, nr);
	return err;
}

int vmm_extend(struct vmm *v, u32 at, u32 nr)
{
	int err;

	vmm_enter(v);
	err = extend_locked(v, at, nr);
	return vmm_leave(v, err);
}

/* ---- Unmapping -------------------------------------------------------- */

/* The handle at @chunk, whatever its state, or NULL. */
static struct vmm_handle *handle_at(const struct vmm *v, u32 chunk)
{
	const struct vmm_reservation *res;

	for (u32 i = 0; i < v->nr_res; i++) {
		res = &v->res[i];
		if (chunk - res->first_chunk < res->nr_open)
			return *vmm_chunk(v, chunk);
	}
	return NULL;
}

static int unmap_locked(struct vmm *v, u32 first, enum vmm_giveback how)
{
	struct vmm_handle *h = handle_at(v, first);
	int err;

	if (!h || h->first != first || h->state != VMM_ACCESSIBLE) {
		vmm_incident_lack(v, "no handle in use begins at this chunk");
		return -EINVAL;
	}
	if (how == VMM_KEEP_MAPPED) {
		vmm_idle_put(v, h);
		return 0;
	}
	if (how == VMM_RELEASE || h->nr > 1)
		return vmm_handle_destroy(v, h);
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

int vmm_reclaim(struct vmm *v, u64 keep)
{
	u64 excess;
	int give_err = 0;
	int err;

	vmm_enter(v);
	err = vmm_lost_retry(v);
	while (v->cnt->idle > keep) {
		excess = div_round_up(v->cnt->idle - keep, v->chunk_size);
		if (!vmm_idle_give(v, excess, 0, &give_err))
			break;
		if (give_err)
			err = give_err;
	}
	return vmm_leave(v, err);
}

/* ---- Questions -------------------------------------------------------- */

bool vmm_survives_fork(const struct vmm *v)
{
	return v->ops->survives_fork;
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
			if (!h || h->first != at || h->state != VMM_ACCESSIBLE)
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
