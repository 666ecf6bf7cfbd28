// SPDX-License-Identifier: BSD-2-Clause
/*
 * guard.c - addresses at which nothing is ever mapped.
 *
 * A guarded mapping (vmm_map_guarded) is one handle with a *wall* on each
 * side: a chunk number that is taken, and has no memory. What lies there is
 * addresses of the reservation without a mapping, so that a device faults on an
 * access, as a CPU does.
 *
 *      number   f       f+1 ... f+nr    f+nr+1
 *               wall    the handle      wall
 *
 * When the handle is unmapped its numbers become walls too, and the whole is a
 * *hole*: whoever uses the memory yet goes on to fault, instead of finding what
 * came after. Holes are kept in the order of time. The oldest is opened, its
 * numbers free again, when VMM_HOLES are there, when holes have more than half
 * of all numbers, or when numbers are lacking (map.c); 64 small ones fit the
 * smallest space.
 *
 * In the table of chunks a wall is a handle of no memory, one for all of them,
 * which nobody writes to.
 *
 * What may be used yet is not unmapped (VMM_KEEP_MAPPED): its walls go, and it
 * is idle memory like any other.
 *
 * Failure: an unmapping that the backend refuses makes the handle lost as any
 * other; it keeps its numbers, and its walls stay until the vmm is closed.
 *
 * Locking: vmm->lock.
 */
#include <errno.h>

#include "core/log.h"
#include "vmm/internal.h"

static struct vmm_handle wall = {
	.first = VMM_NO_CHUNK,
	.nr = 1,
	.state = VMM_WALL,
};

/* What the table of chunks says of allocated numbers that have no memory. */
static void set_chunks(struct vmm *v, u32 first, u32 nr, struct vmm_handle *h)
{
	vmm_reservation_of(v, first)->nr_used += h ? nr : -nr;
	v->nr_walls += h ? nr : -nr;
	for (u32 i = 0; i < nr; i++)
		*vmm_chunk(v, first + i) = h;
}

void vmm_wall_off(struct vmm *v, u32 first, u32 nr)
{
	set_chunks(v, first, nr, &wall);
}

void vmm_wall_take_away(struct vmm *v, u32 first, u32 nr)
{
	set_chunks(v, first, nr, NULL);
}

bool vmm_is_wall(const struct vmm *v, u32 number)
{
	return *vmm_chunk(v, number) == &wall;
}

static void open_oldest(struct vmm *v)
{
	const struct vmm_hole *hole = &v->hole[v->first_hole];

	set_chunks(v, hole->first, hole->nr, NULL);
	range_free(&v->addresses, hole->first, hole->nr);
	v->hole_chunks -= hole->nr;
	v->first_hole = (v->first_hole + 1) % VMM_HOLES;
	v->nr_holes--;
}

bool vmm_open_holes(struct vmm *v)
{
	bool any = v->nr_holes;

	while (v->nr_holes)
		open_oldest(v);
	return any;
}

/* Allocated numbers become one allocation, and the newest hole. */
static void add_hole(struct vmm *v, u32 first, u32 nr)
{
	u32 at;

	/* Of three allocations one, from free numbers that nobody saw. */
	range_free(&v->addresses, first, 1);
	range_free(&v->addresses, first + nr - 1, 1);
	(void)range_alloc_at(&v->addresses, first, nr);
	set_chunks(v, first + 1, nr - 2, &wall);
	if (v->nr_holes == VMM_HOLES)
		open_oldest(v);
	at = (v->first_hole + v->nr_holes) % VMM_HOLES;
	v->hole[at] = (struct vmm_hole){ .first = first, .nr = nr };
	v->nr_holes++;
	v->hole_chunks += nr;
	while (v->nr_holes > 1 && v->hole_chunks > v->max_chunks / 2)
		open_oldest(v);
}

static void open_wall(struct vmm *v, u32 number)
{
	set_chunks(v, number, 1, NULL);
	range_free(&v->addresses, number, 1);
}

static void keep_mapped(struct vmm *v, struct vmm_handle *h)
{
	open_wall(v, h->first - 1);
	open_wall(v, h->first + h->nr);
	vmm_fence_stamp(v, h);
	vmm_idle_put(v, h);
}

static int unmap_locked(struct vmm *v, u32 first, enum vmm_giveback how)
{
	struct vmm_handle *h = vmm_handle_at(v, first);
	u32 nr;
	int err;

	if (!h || h->first != first || h->state != VMM_ACCESSIBLE) {
		vmm_incident_lack(v, "no handle in use begins at this chunk");
		return -EINVAL;
	}
	if (how == VMM_KEEP_MAPPED) {
		keep_mapped(v, h);
		return 0;
	}
	nr = h->nr;
	err = vmm_handle_unmap(v, h);
	if (err)
		return err;
	add_hole(v, first - 1, nr + 2);
	if (how == VMM_RELEASE || nr > 1)
		return vmm_handle_release(v, h);
	vmm_spare_put(v, h);
	return 0;
}

int vmm_unmap_guarded(struct vmm *v, u32 first, enum vmm_giveback how)
{
	int err;

	vmm_enter(v);
	err = unmap_locked(v, first, how);
	return vmm_leave(v, err);
}

/* No address will be used any more. */
void vmm_end_walls(struct vmm *v)
{
	const struct vmm_reservation *res;
	u32 end;

	for (u32 i = 0; i < v->nr_res && v->nr_walls; i++) {
		res = &v->res[i];
		end = res->first_chunk + res->nr_open;
		for (u32 c = res->first_chunk; c < end; c++)
			if (*vmm_chunk(v, c) == &wall)
				set_chunks(v, c, 1, NULL);
	}
	v->nr_holes = 0;
	v->hole_chunks = 0;
	v->nr_held = 0;
}
