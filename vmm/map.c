// SPDX-License-Identifier: BSD-2-Clause
/*
 * map.c - making chunks accessible; section 3 of vmm.c says in which order.
 *
 * Every function here undoes what it did before it fails, and says by -EAGAIN
 * that it would succeed once the device is done with idle memory. Only the
 * public calls, at the end, wait for that (fence.c) and begin anew.
 */
#include <errno.h>

#include "core/log.h"
#include "vmm/internal.h"

/* How many handles of a single chunk such a request is made of. */
static u64 nr_singles(u32 nr, u32 handle_chunks)
{
	return handle_chunks == 1 ? nr : nr % handle_chunks == 1;
}

/*
 * After an answer @err: give back what is idle and quiet, but @keep_spare spare
 * handles. 0: ask again. -EAGAIN: there will be more when the device is done.
 */
static int relieve(struct vmm *v, u64 keep_spare, int err)
{
	bool gave;

	if (err != -ENOMEM || v->is_still)
		return err;
	gave = vmm_idle_give_all(v, keep_spare);
	gave |= vmm_unreserve_empty(v);
	if (gave)
		return 0;
	return vmm_idle_is_busy(v) ? -EAGAIN : err;
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
	if (v->is_still) {
		have = min(singles, v->cnt->spare_handles);
		return v->cnt->created + size - vmm_bytes(v, have) <= limit ?
		       0 : -EDQUOT;
	}
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
	if (vmm_idle_is_busy(v))
		return -EAGAIN;
no_room:
	v->incident.in_use = v->cnt->created - v->cnt->idle;
	v->incident.size = size;
	return -EDQUOT;
}

/* Addresses for @nr chunks; holes and idle mappings hold some too. */
static int find_addresses(struct vmm *v, u32 nr, u64 singles, u32 *first)
{
	int err;

	do {
		err = vmm_run_alloc(v, nr, first);
	} while (err && (vmm_open_holes(v) ||
			 !(err = relieve(v, singles, err))));
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
	do {
		err = vmm_handle_create(v, nr, h);
	} while (err && !(err = relieve(v, 0, err)));
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
	do {
		err = vmm_handle_map(v, h, first);
	} while (err && !(err = relieve(v, singles, err)));
	if (err)
		put_back(v, h);
	return err;
}

static int grant_access(struct vmm *v, u32 first, u32 nr)
{
	u64 addr = vmm_chunk_addr(v, first);
	u64 size = vmm_bytes(v, nr);
	int err;

	do {
		err = vmm_call_set_access(v, addr, size);
		if (err)
			vmm_incident_op(v, VMM_OP_SET_ACCESS, size);
	} while (err && !(err = relieve(v, 0, err)));
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

/* Fill the allocated numbers [@first, @first + @nr) with memory. Those that
 * are held (hold.c) stay allocated when that fails. */
static int populate(struct vmm *v, u32 first, u32 nr, u32 handle_chunks)
{
	bool held = vmm_is_wall(v, first);
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
		if (pos < end && !held)
			range_split(&v->addresses, pos);
	}
	err = grant_access(v, first, nr);
	if (err)
		goto unmap;
	return 0;

unmap:
	if (pos < end && !held)
		range_free(&v->addresses, pos, end - pos);
	unmap_pieces(v, first, pos);
	return err;
}

static void mark_accessible(struct vmm *v, u32 first, u32 nr)
{
	struct vmm_handle *h;

	v->is_quiet = false;
	for (u32 pos = first; pos < first + nr; pos += h->nr) {
		h = *vmm_chunk(v, pos);
		h->state = VMM_ACCESSIBLE;
		h->is_new = false;
	}
}

static int map_locked(struct vmm *v, u32 nr, u32 handle_chunks, bool quiet,
		      u32 *first)
{
	u64 singles = nr_singles(nr, handle_chunks);
	u32 run;
	int err;

	if (vmm_idle_take(v, nr, handle_chunks, quiet, first))
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

#define MAX_WAITS 64

int vmm_wait_again(struct vmm *v, u32 *nr_waits)
{
	int err = *nr_waits < MAX_WAITS ? vmm_fence_wait(v) : -ENOMEM;

	++*nr_waits;
	if (err == -EAGAIN)
		vmm_incident_lack(v, "idle memory cannot be given back while "
				  "a stream is captured");
	else if (err == -ENOMEM)
		vmm_incident_lack(v, "the device is not done with the memory "
				  "that is idle");
	else if (err)
		vmm_incident_op(v, VMM_OP_EVENT, 0);
	return err == -EAGAIN ? -ENOMEM : err;
}

static int map(struct vmm *v, u32 nr, u32 handle_chunks, bool quiet, bool still,
	       u32 *first)
{
	u32 nr_waits = 0;
	int err;

	if (!nr || !handle_chunks)
		return error_set(-EINVAL, "%s: a mapping of no chunks",
				 v->name);
	vmm_enter(v);
	v->is_still = still;
	do {
		err = map_locked(v, nr, min(nr, handle_chunks), quiet, first);
	} while (err == -EAGAIN && !(err = vmm_wait_again(v, &nr_waits)));
	v->is_still = false;
	return vmm_leave(v, err);
}

int vmm_map(struct vmm *v, u32 nr, u32 handle_chunks, u32 *first)
{
	return map(v, nr, handle_chunks, false, false, first);
}

int vmm_map_quiet(struct vmm *v, u32 nr, u32 handle_chunks, bool still,
		  u32 *first)
{
	return map(v, nr, handle_chunks, true, still, first);
}

int vmm_reuse(struct vmm *v, u32 nr, u32 handle_chunks, u32 *first)
{
	bool found;

	lock_acquire(&v->lock);
	found = vmm_idle_take(v, nr, handle_chunks, false, first);
	lock_release(&v->lock);
	return found ? 0 : -ENOENT;
}

static int extend_locked(struct vmm *v, u32 at, u32 nr, u32 handle_chunks)
{
	int err;

	if (!range_alloc_at(&v->addresses, at, nr))
		return -EBUSY;
	err = make_room(v, nr, nr_singles(nr, handle_chunks));
	if (err) {
		range_free(&v->addresses, at, nr);
		return err;
	}
	err = populate(v, at, nr, handle_chunks);
	if (!err)
		mark_accessible(v, at, nr);
	return err;
}

int vmm_extend(struct vmm *v, u32 at, u32 nr, u32 handle_chunks)
{
	u32 nr_waits = 0;
	int err;

	vmm_enter(v);
	do {
		err = extend_locked(v, at, nr, min(nr, handle_chunks));
	} while (err == -EAGAIN && !(err = vmm_wait_again(v, &nr_waits)));
	return vmm_leave(v, err);
}

/* ---- Guarded mappings --------------------------------------------------- */

static int map_guarded_locked(struct vmm *v, u32 nr, u32 *first)
{
	u64 singles = nr == 1;
	u32 run, end;
	int err;

	err = make_room(v, nr, singles);
	if (err)
		return err;
	err = find_addresses(v, nr + 2, singles, &run);
	if (err)
		return err;
	*first = run + 1;
	end = *first + nr;
	range_split(&v->addresses, *first);
	range_split(&v->addresses, end);
	err = populate(v, *first, nr, nr);
	if (err) {
		range_free(&v->addresses, run, 1);
		range_free(&v->addresses, end, 1);
		return err;
	}
	mark_accessible(v, *first, nr);
	vmm_wall_off(v, run, 1);
	vmm_wall_off(v, end, 1);
	return 0;
}

int vmm_map_guarded(struct vmm *v, u32 nr, u32 *first)
{
	int err;

	if (v->ops->backed || v->same_layout)
		return error_set(-ENOTSUP, "%s: memory cannot be guarded %s",
				 v->name, v->same_layout ?
				 "with SLABDEV_OPEN_SAME_LAYOUT" :
				 "where it is not mapped by the library");
	vmm_enter(v);
	err = map_guarded_locked(v, nr, first);
	if (err == -EAGAIN) {
		vmm_incident_lack(v, "the device is not done with the memory "
				  "that is idle");
		err = -ENOMEM;
	}
	return vmm_leave(v, err);
}

/* ---- Held numbers (hold.c) ---------------------------------------------- */

static bool are_walls(const struct vmm *v, u32 at, u32 nr)
{
	for (u32 i = 0; i < nr; i++)
		if (!vmm_is_wall(v, at + i))
			return false;
	return true;
}

static int map_held_locked(struct vmm *v, u32 at, u32 nr, u32 handle_chunks)
{
	int err;

	if (!are_walls(v, at, nr))
		(void)vmm_lost_retry(v);
	if (!are_walls(v, at, nr)) {
		vmm_incident_lack(v, "memory that could not be given back is "
				  "still mapped where more is to be mapped");
		return -EBUSY;
	}
	err = make_room(v, nr, nr_singles(nr, handle_chunks));
	if (err)
		return err;
	err = populate(v, at, nr, handle_chunks);
	if (!err)
		mark_accessible(v, at, nr);
	return err;
}

int vmm_map_held(struct vmm *v, u32 at, u32 nr, u32 handle_chunks)
{
	u32 nr_waits = 0;
	int err;

	if (!nr || !handle_chunks)
		return error_set(-EINVAL, "%s: a mapping of no chunks",
				 v->name);
	vmm_enter(v);
	do {
		err = map_held_locked(v, at, nr, min(nr, handle_chunks));
	} while (err == -EAGAIN && !(err = vmm_wait_again(v, &nr_waits)));
	return vmm_leave(v, err);
}
