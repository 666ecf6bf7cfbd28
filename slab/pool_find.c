// SPDX-License-Identifier: BSD-2-Clause
/*
 * pool_find.c - which runs there are, and whether the books on them agree.
 *
 * An answer holds as long as the caller keeps the run from being freed; else it
 * was true while the pool lock was held.
 */
#include "core/bitmap.h"
#include "slab/pool_private.h"

static u32 run_of_locked(struct pool *p, u32 slice)
{
	u32 head;

	if (slice >= p->slices.end || !range_has(&p->slices, slice))
		return RANGE_NONE;
	head = range_head(&p->slices, slice);
	return range_is_free(&p->slices, head) ? RANGE_NONE : head;
}

u32 pool_run_of(struct slabdev *sd, u32 slice)
{
	struct pool *p = &sd->pool;
	u32 head;

	lock_acquire(&p->lock);
	head = run_of_locked(p, slice);
	lock_release(&p->lock);
	return head;
}

u32 pool_next_run(struct slabdev *sd, u32 slice, u32 *n)
{
	struct pool *p = &sd->pool;
	u32 at;

	lock_acquire(&p->lock);
	at = range_next(&p->slices, slice);
	if (at != RANGE_NONE)
		*n = range_len(&p->slices, at);
	lock_release(&p->lock);
	return at;
}

bool pool_is_huge(struct slabdev *sd, u32 slice)
{
	struct pool *p = &sd->pool;
	bool huge;

	lock_acquire(&p->lock);
	huge = !chunk_of(p, slice / p->chunk_slices)->nr;
	lock_release(&p->lock);
	return huge;
}

static bool chunk_agrees_locked(struct pool *p, u32 chunk)
{
	struct pool_chunk *c = chunk_of(p, chunk);
	u32 slice = chunk * p->chunk_slices, end = slice + p->chunk_slices;
	u32 head, used = 0, n;

	for (; slice < end; slice += n) {
		head = range_head(&p->slices, slice);
		n = min(head + range_len(&p->slices, head), end) - slice;
		if (!range_is_free(&p->slices, head))
			used += n;
	}
	return used == c->used &&
	       bitmap_test(vacant_map(p), chunk) == !used;
}

const char *pool_validate(struct slabdev *sd)
{
	struct pool *p = &sd->pool;
	const char *broken;
	u32 chunk;

	lock_acquire(&p->lock);
	broken = range_validate(&p->slices);
	if (!broken && READ_ONCE(sd->rec->pool_free) !=
		       (u64)p->slices.nr_free << SLICE_SHIFT)
		broken = "the pool publishes how many slices are free";
	for (chunk = 0; !broken && chunk < p->end_chunk; chunk++)
		if (chunk_of(p, chunk)->nr && !chunk_agrees_locked(p, chunk))
			broken = "a chunk counts its slices in use";
	lock_release(&p->lock);
	return broken;
}
