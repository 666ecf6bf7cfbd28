// SPDX-License-Identifier: BSD-2-Clause
/*
 * hold.c - addresses that one owner has, and the memory that comes and goes
 * there.
 *
 * What grows in place needs addresses behind its end that nobody else is given.
 * To *hold* chunk numbers is to have such a run, mapped in part or not at all:
 *
 *      number   f                          f + nr
 *               handle  handle  wall  wall
 *               mapped          held only
 *
 * Where nothing is mapped the numbers are walls, as guard.c has them: they are
 * allocated, and have no memory. A handle that is mapped at a wall knows that
 * its numbers are held (is_held), and leaves walls again wherever it is
 * unmapped: by its owner, in an undo, or late, after it was lost. So a hold
 * never gets holes that others could fill.
 *
 * Which numbers. As high as there are any, and others get low ones as long as
 * there are: what is mapped chunk by chunk stays together, which matters since
 * the tables of slab/ reach from the first chunk to the last. All numbers of
 * the newest reservation are opened for that, at some 33 bytes of host memory
 * that is committed, and hardly touched, for each. Held numbers are at most
 * three quarters of all there can be.
 *
 * Memory. Mapping takes spare handles and makes room as vmm_map() does (map.c).
 * Memory at held numbers is in use until its owner gives it back; that the
 * device is done with it is known to the owner, so none of it is ever idle in
 * its place, and no fence is asked.
 *
 * Idle mappings have numbers too. Where those lack, what is quiet is unmapped,
 * and what the device may be using is waited for.
 *
 * Failure. Memory that the backend does not take back is lost, and keeps its
 * numbers. Mapping there is tried again when it is found. When the hold ends,
 * such numbers are like those of any lost handle.
 *
 * Locking: vmm->lock.
 */
#include <errno.h>

#include "core/log.h"
#include "vmm/internal.h"

/* Numbers that may be held: objects need the rest. */
static u32 hold_limit(const struct vmm *v)
{
	return v->max_chunks - v->max_chunks / 4;
}

static int hold_locked(struct vmm *v, u32 nr, u32 *first)
{
	int err;

	if (nr > hold_limit(v) - v->nr_held) {
		vmm_incident_lack(v, "three quarters of the addresses are held "
				  "at most");
		return -ENOMEM;
	}
	do {
		err = vmm_run_alloc_high(v, nr, first);
	} while (err == -ENOMEM &&
		 (vmm_open_holes(v) || vmm_idle_give_all(v, VMM_KEEP_SPARE)));
	if (err)
		return err == -ENOMEM && vmm_idle_is_busy(v) ? -EAGAIN : err;
	vmm_wall_off(v, *first, nr);
	v->lowest_held = v->nr_held ? min(v->lowest_held, *first) : *first;
	v->nr_held += nr;
	return 0;
}

int vmm_hold(struct vmm *v, u32 nr, u32 *first)
{
	u32 nr_waits = 0;
	int err;

	if (v->ops->backed)
		return error_set(-ENOTSUP, "%s: no addresses can be held where "
				 "memory is not mapped by the library",
				 v->name);
	if (!nr)
		return error_set(-EINVAL, "%s: no addresses to hold", v->name);
	vmm_enter(v);
	do {
		err = hold_locked(v, nr, first);
	} while (err == -EAGAIN && !(err = vmm_wait_again(v, &nr_waits)));
	return vmm_leave(v, err);
}

/* Walls from @at on, up to @end. */
static u32 nr_walls(const struct vmm *v, u32 at, u32 end)
{
	u32 n = 0;

	while (at + n < end && vmm_is_wall(v, at + n))
		n++;
	return n;
}

static void unhold_locked(struct vmm *v, u32 first, u32 nr)
{
	u32 end = first + nr;
	struct vmm_handle *h;
	u32 n;

	range_split(&v->addresses, first);
	for (u32 at = first; at < end; at += n) {
		n = nr_walls(v, at, end);
		if (!n) {
			h = *vmm_chunk(v, at);
			h->is_held = false;
			n = h->nr;
			range_split(&v->addresses, at + n);
			continue;
		}
		range_split(&v->addresses, at + n);
		vmm_wall_take_away(v, at, n);
		vmm_numbers_free(&v->addresses, at, n);
	}
	v->nr_held -= nr;
}

void vmm_unhold(struct vmm *v, u32 first, u32 nr)
{
	vmm_enter(v);
	unhold_locked(v, first, nr);
	(void)vmm_leave(v, 0);
}

static int give_up(struct vmm *v, struct vmm_handle *h, enum vmm_giveback how)
{
	int err = vmm_handle_unmap(v, h);

	if (err)
		return err;
	if (how == VMM_RELEASE || h->nr > 1)
		return vmm_handle_release(v, h);
	vmm_spare_put(v, h);
	return 0;
}

static int unmap_held_locked(struct vmm *v, u32 at, u32 *nr,
			     enum vmm_giveback how)
{
	struct vmm_handle *h;
	int err = 0;

	while (*nr && !err) {
		h = vmm_handle_at(v, at + *nr - 1);
		if (!h || h->state != VMM_ACCESSIBLE || !h->is_held ||
		    h->first + h->nr != at + *nr) {
			vmm_incident_lack(v, "no memory at held addresses ends "
					  "there");
			return -EINVAL;
		}
		if (h->first < at)
			break;
		*nr -= h->nr;
		err = give_up(v, h, how);
	}
	return err;
}

int vmm_unmap_held(struct vmm *v, u32 at, u32 *nr, enum vmm_giveback how)
{
	int err;

	vmm_enter(v);
	err = unmap_held_locked(v, at, nr, how);
	return vmm_leave(v, err);
}

u32 vmm_held_seam(struct vmm *v, u32 at)
{
	const struct vmm_handle *h;

	lock_acquire(&v->lock);
	h = *vmm_chunk(v, at);
	if (h && h->is_held && h->first < at)
		at = h->first + h->nr;
	lock_release(&v->lock);
	return at;
}

u32 vmm_mapped_held(struct vmm *v, u32 at, u32 nr)
{
	u32 n = 0;

	lock_acquire(&v->lock);
	while (n < nr && (*vmm_chunk(v, at + n))->state == VMM_ACCESSIBLE)
		n++;
	lock_release(&v->lock);
	return n;
}
