// SPDX-License-Identifier: BSD-2-Clause
/*
 * pool.c - runs of slices, taken from the chunks that are in the pool; the
 * theory is in pool.h. How chunks come into it is in pool_grow.c.
 */
#include <errno.h>

#include "core/bitmap.h"
#include "slab/pool_private.h"

int pool_init(struct slabdev *sd)
{
	struct pool *p = &sd->pool;
	u64 chunks = sd->vmm.max_chunks;
	u64 slices = chunks * sd->chunk_slices;
	u64 granules = slices << (SLICE_SHIFT - GRANULE_SHIFT);
	int err;

	p->max_chunks = (u32)chunks;
	p->chunk_slices = sd->chunk_slices;
	err = range_init(&p->slices, (u32)slices);
	if (err)
		return err;
	err = resv_init(&p->chunks, chunks * sizeof(struct pool_chunk),
			64 * KIB);
	if (err)
		goto fini_range;
	err = resv_init(&p->vacant, BITMAP_WORDS(chunks) * sizeof(u64),
			4 * KIB);
	if (err)
		goto fini_chunks;
	err = resv_init(&p->tags, granules * sizeof(tag_t), 256 * KIB);
	if (err)
		goto fini_vacant;
	err = resv_init(&p->rounding, granules + ROUNDING_SKEW, 256 * KIB);
	if (err)
		goto fini_tags;
	err = resv_init(&p->slabs, slices * sizeof(struct slab), 256 * KIB);
	if (err)
		goto fini_rounding;
	lock_init(&p->lock, LOCK_POOL, "pool");
	return 0;

fini_rounding:
	resv_fini(&p->rounding);
fini_tags:
	resv_fini(&p->tags);
fini_vacant:
	resv_fini(&p->vacant);
fini_chunks:
	resv_fini(&p->chunks);
fini_range:
	range_fini(&p->slices);
	return err;
}

void pool_fini(struct slabdev *sd)
{
	struct pool *p = &sd->pool;

	lock_fini(&p->lock);
	resv_fini(&p->slabs);
	resv_fini(&p->rounding);
	resv_fini(&p->tags);
	resv_fini(&p->vacant);
	resv_fini(&p->chunks);
	range_fini(&p->slices);
}

/* ---- Accounting of chunks --------------------------------------------- */

/* Slices of [first, first + n) that lie in @chunk. */
static u32 overlap(const struct pool *p, u32 chunk, u32 first, u32 n)
{
	u32 begin = chunk * p->chunk_slices;
	u32 from = max(first, begin);
	u32 to = min(first + n, begin + p->chunk_slices);

	return to - from;
}

static void note_alloc_locked(struct slabdev *sd, u32 first, u32 n)
{
	struct pool *p = &sd->pool;
	u32 chunk, last = (first + n - 1) / p->chunk_slices;

	for (chunk = first / p->chunk_slices; chunk <= last; chunk++) {
		chunk_of(p, chunk)->used += overlap(p, chunk, first, n);
		bitmap_clear(vacant_map(p), chunk);
	}
	publish_free_locked(sd);
}

static void note_free_locked(struct slabdev *sd, u32 first, u32 n,
			     stamp_t stamp)
{
	struct pool *p = &sd->pool;
	u32 chunk, last = (first + n - 1) / p->chunk_slices;

	for (chunk = first / p->chunk_slices; chunk <= last; chunk++) {
		struct pool_chunk *c = chunk_of(p, chunk);

		c->used -= overlap(p, chunk, first, n);
		c->stamp = stamp_newer(c->stamp, stamp);
		if (!c->used)
			bitmap_set(vacant_map(p), chunk);
	}
	publish_free_locked(sd);
}

/* ---- Runs ------------------------------------------------------------- */

/*
 * Alignments above a chunk go by address, which the range does not know: take
 * a run long enough to hold an aligned one, and keep only that.
 */
static u32 alloc_by_address_locked(struct slabdev *sd, u32 n, u64 align)
{
	struct range *r = &sd->pool.slices;
	u64 longer = n + (align >> SLICE_SHIFT) - sd->chunk_slices;
	u64 addr, start;
	u32 first, skip;

	if (longer > r->nr_free)
		return RANGE_NONE;
	first = range_alloc(r, (u32)longer, sd->chunk_slices);
	if (first == RANGE_NONE)
		return RANGE_NONE;
	addr = vmm_addr(&sd->vmm, slice_offset(first));
	start = align_up(addr, align);
	skip = (u32)((start - addr) >> SLICE_SHIFT);
	range_free(r, first, (u32)longer);
	range_alloc_at(r, first + skip, n);
	return first + skip;
}

/* The first chunk of a run whose free slices may still be worked on. */
static u32 first_busy_locked(struct slabdev *sd, u32 first, u32 n)
{
	struct pool *p = &sd->pool;
	u32 chunk, last = (first + n - 1) / p->chunk_slices;

	for (chunk = first / p->chunk_slices; chunk <= last; chunk++)
		if (!stamp_is_quiet(chunk_of(p, chunk)->stamp, &sd->vmm))
			return chunk;
	return RANGE_NONE;
}

/* Of the free run [@at, @end): aligned, in chunks that are quiet. */
static u32 quiet_part_locked(struct slabdev *sd, u32 at, u32 end, u32 n,
			     u64 align)
{
	u64 addr;
	u32 busy;

	for (;;) {
		addr = space_addr(sd, slice_offset(at));
		at += (u32)((align_up(addr, align) - addr) >> SLICE_SHIFT);
		if (at >= end || end - at < n)
			return RANGE_NONE;
		busy = first_busy_locked(sd, at, n);
		if (busy == RANGE_NONE)
			return at;
		at = (busy + 1) * sd->pool.chunk_slices;
	}
}

static u32 alloc_quiet_locked(struct slabdev *sd, u32 n, u64 align)
{
	struct range *r = &sd->pool.slices;
	u32 at = 0, len, found;

	for (; at < r->end; at += len) {
		if (!range_has(r, at)) {
			len = 1;
			continue;
		}
		len = range_len(r, at);
		if (!range_is_free(r, at) || len < n)
			continue;
		found = quiet_part_locked(sd, at, at + len, n, align);
		if (found != RANGE_NONE) {
			range_alloc_at(r, found, n);
			return found;
		}
	}
	return RANGE_NONE;
}

stamp_t pool_stamp(struct slabdev *sd, u32 first, u32 n)
{
	struct pool *p = &sd->pool;
	u32 chunk, last = (first + n - 1) / p->chunk_slices;
	stamp_t stamp;

	lock_acquire(&p->lock);
	stamp = chunk_of(p, last)->stamp;
	for (chunk = first / p->chunk_slices; chunk < last; chunk++)
		stamp = stamp_newer(stamp, chunk_of(p, chunk)->stamp);
	lock_release(&p->lock);
	return stamp;
}

u32 pool_alloc(struct slabdev *sd, u32 n, u64 align, bool quiet)
{
	struct pool *p = &sd->pool;
	u32 first;

	lock_acquire(&p->lock);
	if (quiet && vmm_quiet(&sd->vmm) != VMM_ALWAYS_QUIET)
		first = alloc_quiet_locked(sd, n, align);
	else if (align <= sd->vmm.chunk_size)
		first = range_alloc(&p->slices, n, (u32)(align >> SLICE_SHIFT));
	else
		first = alloc_by_address_locked(sd, n, align);
	if (first != RANGE_NONE)
		note_alloc_locked(sd, first, n);
	lock_release(&p->lock);
	return first;
}

bool pool_alloc_at(struct slabdev *sd, u32 first, u32 n)
{
	struct pool *p = &sd->pool;
	bool is_free;

	lock_acquire(&p->lock);
	is_free = range_alloc_at(&p->slices, first, n);
	if (is_free)
		note_alloc_locked(sd, first, n);
	lock_release(&p->lock);
	return is_free;
}

void pool_put_back(struct slabdev *sd, u32 first, u32 n)
{
	stamp_t stamp = pool_stamp(sd, first, n);
	struct pool *p = &sd->pool;

	lock_acquire(&p->lock);
	range_free(&p->slices, first, n);
	note_free_locked(sd, first, n, stamp);
	lock_release(&p->lock);
}

static bool handle_is_vacant_locked(struct pool *p, const struct pool_chunk *c)
{
	u32 i;

	for (i = 0; i < c->nr; i++)
		if (!bitmap_test(vacant_map(p), c->first + i))
			return false;
	return c->nr != 0;
}

/* Take a vacant handle out of the pool; the caller unmaps it. */
static void take_out_locked(struct slabdev *sd, struct pool_chunk handle)
{
	struct pool *p = &sd->pool;
	u32 i;

	range_remove(&p->slices, handle.first * p->chunk_slices,
		     handle.nr * p->chunk_slices);
	for (i = 0; i < handle.nr; i++) {
		bitmap_clear(vacant_map(p), handle.first + i);
		*chunk_of(p, handle.first + i) = (struct pool_chunk){ 0 };
	}
	publish_free_locked(sd);
}

/* A vacant handle that overlaps the slices; false: there is none. */
static bool vacant_handle_in_locked(struct pool *p, u32 slice, u32 n,
				  struct pool_chunk *handle)
{
	u32 chunk, last = (slice + n - 1) / p->chunk_slices;

	for (chunk = slice / p->chunk_slices; chunk <= last; chunk++) {
		*handle = *chunk_of(p, chunk);
		if (handle_is_vacant_locked(p, handle))
			return true;
	}
	return false;
}

void pool_free(struct slabdev *sd, u32 first, u32 n, stamp_t stamp)
{
	struct pool *p = &sd->pool;
	struct pool_chunk handle;

	lock_acquire(&p->lock);
	range_free(&p->slices, first, n);
	note_free_locked(sd, first, n, stamp);
	while (gives_back_at_once(sd) &&
	       vacant_handle_in_locked(p, first, n, &handle)) {
		take_out_locked(sd, handle);
		lock_release(&p->lock);
		(void)pool_give_back(sd, handle.first, handle.nr, VMM_RELEASE);
		lock_acquire(&p->lock);
	}
	lock_release(&p->lock);
}

/* The vacant handle with the highest address below @chunk. */
static bool last_vacant_locked(struct pool *p, u32 *chunk,
			     struct pool_chunk *handle)
{
	while (*chunk) {
		u32 at = (u32)bitmap_prev(vacant_map(p), *chunk - 1,
					  RANGE_NONE);

		if (at == RANGE_NONE)
			return false;
		*handle = *chunk_of(p, at);
		*chunk = handle->first;
		if (handle_is_vacant_locked(p, handle))
			return true;
	}
	return false;
}

/* High addresses go first, so that what stays lies together. */
int pool_trim(struct slabdev *sd, u64 keep, enum vmm_giveback how)
{
	struct pool *p = &sd->pool;
	struct pool_chunk handle;
	u64 free_bytes;
	u32 chunk;
	int err = 0;

	lock_acquire(&p->lock);
	chunk = p->end_chunk;
	while (last_vacant_locked(p, &chunk, &handle)) {
		free_bytes = (u64)p->slices.nr_free << SLICE_SHIFT;
		/* Too long to go; a shorter one below may not be. */
		if (free_bytes < keep + handle.nr * sd->vmm.chunk_size)
			continue;
		take_out_locked(sd, handle);
		lock_release(&p->lock);
		if (pool_give_back(sd, handle.first, handle.nr, how))
			err = -EIO;
		lock_acquire(&p->lock);
	}
	lock_release(&p->lock);
	return err;
}

u64 pool_free_bytes(struct slabdev *sd)
{
	return READ_ONCE(sd->rec->pool_free);
}
