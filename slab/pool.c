// SPDX-License-Identifier: BSD-2-Clause
/* pool.c - slices out of chunks; the theory is in pool.h. */
#include <errno.h>

#include "core/bitmap.h"
#include "core/log.h"
#include "core/overflow.h"
#include "slab/annotate.h"
#include "slab/miss.h"
#include "slab/probe.h"
#include "slab/reclaim.h"
#include "slab/slab.h"
#include "slab/steady.h"

/* Largest handle that prime asks for: few driver calls for much memory. */
#define PRIME_HANDLE GIB
/* Largest that growth asks for where handles are dear. */
#define GROWTH_HANDLE (64 * MIB)
/* Chunks of holes below the end of the pool that do not matter. */
#define SPARSE_LEAST 32u

static struct pool_chunk *chunk_of(struct pool *p, u32 chunk)
{
	return (struct pool_chunk *)(void *)p->chunks.base + chunk;
}

static u64 *vacant_map(struct pool *p)
{
	return (u64 *)(void *)p->vacant.base;
}

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

static void publish_free_locked(struct slabdev *sd)
{
	WRITE_ONCE(sd->rec->pool_free,
		   (u64)sd->pool.slices.nr_free << SLICE_SHIFT);
}

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

/* ---- Chunks come and go ----------------------------------------------- */

/* Make every table reach to @end chunks. */
static int grow_tables_locked(struct slabdev *sd, u32 end)
{
	struct pool *p = &sd->pool;
	u64 slices = (u64)end * p->chunk_slices;
	u64 granules = slices << (SLICE_SHIFT - GRANULE_SHIFT);
	u64 high_slots;
	int err;

	if (end <= p->end_chunk)
		return 0;
	err = resv_grow(&p->chunks, (u64)end * sizeof(struct pool_chunk));
	if (!err)
		err = resv_grow(&p->vacant,
				BITMAP_WORDS((u64)end) * sizeof(u64));
	if (!err)
		err = resv_grow(&p->slabs, slices * sizeof(struct slab));
	if (!err)
		err = resv_grow(&p->tags, granules * sizeof(tag_t));
	if (!err)
		err = resv_grow(&p->rounding, granules + ROUNDING_SKEW);
	if (err)
		return err;
	/* Tables below it are committed. Pairs with lookup_gone(). */
	store_release(&p->end_chunk, end);
	/* Pairs with has_tag(); the fast path loads it relaxed: whoever has an
	 * object has learnt of it in order. */
	high_slots = min(vmm_chunk_offset(&sd->vmm, end),
			 sd->vmm.base_bytes) >> GRANULE_SHIFT;
	if (READ_ONCE(sd->dead))
		return 0;
	store_release(&sd->high_slots, high_slots);
	if (!sd->slow_frees)
		store_release(&sd->free_slots, high_slots);
	return 0;
}

/* The error text, with no lock held. */
static int no_tables(const struct slabdev *sd, u32 end)
{
	char why[160];

	os_memory_limit(os_page_size(), why, sizeof(why));
	return error_set(-ENOMEM, "%s: no host memory for the tables of %u "
			 "chunks%s%s", sd->name, end, *why ? "; " : "", why);
}

/* An idle mapping that is used again may still be worked on. */
static stamp_t mapped_stamp(struct slabdev *sd, u32 first, u32 nr)
{
	u64 newest = 0;
	u32 i;

	if (vmm_quiet(&sd->vmm) == VMM_ALWAYS_QUIET)
		return 0;
	for (i = 0; i < nr; i++)
		newest = max(newest, vmm_chunk_stamp(&sd->vmm, first + i));
	return newest ? (stamp_t)newest : (stamp_t)vmm_quiet(&sd->vmm);
}

/* The last @n slices of mapped chunks, as an allocated run. */
static int add_guarded(struct slabdev *sd, u32 first, u32 nr, u32 n, u32 *slice)
{
	struct pool *p = &sd->pool;
	u32 end = first + nr;
	int err;

	*slice = end * p->chunk_slices - n;
	lock_acquire(&p->lock);
	err = grow_tables_locked(sd, end);
	if (!err)
		err = range_add(&p->slices, *slice, n);
	if (!err)
		range_alloc_at(&p->slices, *slice, n);
	lock_release(&p->lock);
	return err ? no_tables(sd, end) : 0;
}

/*
 * Bring mapped chunks into the pool. @handle_chunks 0: one huge handle, whose
 * slices become an allocated run.
 */
static int add_mapped(struct slabdev *sd, u32 first, u32 nr, u32 handle_chunks)
{
	struct pool *p = &sd->pool;
	u32 slice = first * p->chunk_slices, n = nr * p->chunk_slices;
	stamp_t stamp = mapped_stamp(sd, first, nr);
	u32 i;
	int err;

	lock_acquire(&p->lock);
	err = grow_tables_locked(sd, first + nr);
	if (!err)
		err = range_add(&p->slices, slice, n);
	if (err)
		goto unlock;
	if (!handle_chunks) {
		range_alloc_at(&p->slices, slice, n);
		for (i = 0; i < nr; i++)
			chunk_of(p, first + i)->stamp = stamp;
		goto unlock;
	}
	for (i = 0; i < nr; i++) {
		u32 begin = i / handle_chunks * handle_chunks;
		u32 len = min(handle_chunks, nr - begin);

		*chunk_of(p, first + i) = (struct pool_chunk){
			.first = first + begin, .nr = len, .stamp = stamp,
		};
		bitmap_set(vacant_map(p), first + i);
	}
	publish_free_locked(sd);
unlock:
	lock_release(&p->lock);
	return err ? no_tables(sd, first + nr) : 0;
}

static void *chunk_ptr(const struct slabdev *sd, u32 chunk)
{
	return to_ptr(space_addr(sd, vmm_chunk_offset(&sd->vmm, chunk)));
}

static u64 chunk_bytes(const struct slabdev *sd, u32 nr)
{
	return vmm_chunk_offset(&sd->vmm, nr);
}

/* Tools are told before anybody can have it. */
static int add_chunks(struct slabdev *sd, u32 first, u32 nr, u32 handle_chunks)
{
	int err;

	annotate_new(sd, chunk_ptr(sd, first), chunk_bytes(sd, nr));
	err = add_mapped(sd, first, nr, handle_chunks);
	if (err) {
		annotate_gone(sd, chunk_ptr(sd, first), chunk_bytes(sd, nr));
		return err;
	}
	probe_grow(sd, chunk_bytes(sd, nr), READ_ONCE(sd->vmm.cnt->created));
	return 0;
}

/* What was taken out goes back. */
static int give_back(struct slabdev *sd, u32 first, u32 nr,
		     enum vmm_giveback how)
{
	annotate_gone(sd, chunk_ptr(sd, first), chunk_bytes(sd, nr));
	probe_trim(sd, chunk_bytes(sd, nr), READ_ONCE(sd->vmm.cnt->created));
	return vmm_unmap(&sd->vmm, first, how);
}

/* Undo vmm_map(): every handle of the run goes back to the device. */
static void unmap_all(struct slabdev *sd, u32 first, u32 nr, u32 handle_chunks)
{
	u32 i;

	for (i = 0; i < nr; i += handle_chunks)
		vmm_unmap(&sd->vmm, first + i, VMM_KEEP_HANDLE);
}

u32 pool_growth_handle(const struct slabdev *sd, u32 nr)
{
	u64 most = GROWTH_HANDLE / sd->vmm.chunk_size;

	if (!sd->ops->dear_handles || READ_ONCE(sd->policy) != SLABDEV_RETAIN)
		return 1;
	return (u32)min((u64)nr, max(most, (u64)1));
}

static int map_chunks(struct slabdev *sd, u32 nr, u32 handle_chunks,
		      enum pool_need need, u32 *first)
{
	if (need == NEED_ANY)
		return vmm_map(&sd->vmm, nr, handle_chunks, first);
	return vmm_map_quiet(&sd->vmm, nr, handle_chunks, need == NEED_STILL,
			     first);
}

/* What was mapped all the time is no miss. */
static u64 nr_maps(const struct slabdev *sd)
{
	return READ_ONCE(sd->vmm.cnt->calls[VMM_OP_MAP]);
}

static void mapped_since(const struct slabdev *sd, u64 before)
{
	if (nr_maps(sd) != before)
		miss_made(sd);
}

static int map_and_add(struct slabdev *sd, u32 nr, u32 handle_chunks,
		       enum pool_need need)
{
	u64 maps = nr_maps(sd);
	struct steady before;
	u32 first;
	int err;

	before = steady_begin(sd);
	err = map_chunks(sd, nr, handle_chunks, need, &first);
	if (err)
		return err;
	steady_end(sd, before);
	mapped_since(sd, maps);
	err = add_chunks(sd, first, nr, handle_chunks);
	if (err)
		unmap_all(sd, first, nr, handle_chunks);
	return err;
}

/* Free slices at the very end of the pool; @end set to the chunk behind. */
static u32 free_tail(struct slabdev *sd, u32 *end)
{
	struct pool *p = &sd->pool;
	u32 first, n = 0;

	lock_acquire(&p->lock);
	*end = p->slices.end / p->chunk_slices;
	if (!p->slices.end ||
	    !range_free_run(&p->slices, p->slices.end - 1, &first, &n))
		n = 0;
	lock_release(&p->lock);
	return n;
}

/*
 * Where much below the end was given back, the end must not move on: the
 * tables reach up to it, so growth has to fill the holes first.
 */
static bool is_sparse(const struct slabdev *sd, u32 end)
{
	u64 mapped = READ_ONCE(sd->vmm.cnt->created) >> sd->vmm.chunk_shift;

	return end > mapped + mapped / 4 + SPARSE_LEAST;
}

/*
 * A run that begins in the last free slices needs fewer new chunks, if they
 * can be mapped just behind. Else many large objects would each leave the rest
 * of their last chunk.
 */
static int extend(struct slabdev *sd, u32 n)
{
	u32 end, tail = free_tail(sd, &end), nr, handle;
	u64 maps = nr_maps(sd);
	struct steady before;
	int err;

	if (!tail || tail >= n || is_sparse(sd, end))
		return -EBUSY;
	nr = (u32)div_round_up(n - tail, sd->chunk_slices);
	handle = pool_growth_handle(sd, nr);
	before = steady_begin(sd);
	err = vmm_extend(&sd->vmm, end, nr, handle);
	if (err)
		return err;
	steady_end(sd, before);
	mapped_since(sd, maps);
	err = add_chunks(sd, end, nr, handle);
	if (err)
		unmap_all(sd, end, nr, handle);
	return err;
}

int pool_grow(struct slabdev *sd, u32 n, u64 align, enum pool_need need)
{
	u64 chunk = sd->vmm.chunk_size;
	u64 nr = div_round_up(n, sd->chunk_slices);

	if (align == SLICE_SIZE && need == NEED_ANY && !extend(sd, n))
		return 0;

	/* Any start is aligned to a chunk; more has to be found inside. */
	if (align > chunk)
		nr += align / chunk - 1;
	if (nr > sd->pool.max_chunks)
		return error_set(-ENOMEM, "%llu chunks are more than a space "
				 "can address", (unsigned long long)nr);
	return map_and_add(sd, (u32)nr, pool_growth_handle(sd, (u32)nr), need);
}

int pool_prime(struct slabdev *sd, u64 chunks)
{
	u64 per_handle = max(PRIME_HANDLE / sd->vmm.chunk_size, (u64)1);

	if (chunks > sd->pool.max_chunks)
		return error_set(-ENOMEM, "cannot prime %llu chunks: more than "
				 "a space can address",
				 (unsigned long long)chunks);
	return map_and_add(sd, (u32)chunks, (u32)min(per_handle, chunks),
			   NEED_ANY);
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

/* Nothing is unmapped while a capture runs. */
static bool gives_back_at_once(const struct slabdev *sd)
{
	return READ_ONCE(sd->policy) == SLABDEV_AGGRESSIVE &&
	       !READ_ONCE(sd->streams.nr_captures);
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
		(void)give_back(sd, handle.first, handle.nr, VMM_RELEASE);
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
		if (give_back(sd, handle.first, handle.nr, how))
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

/* ---- Huge objects ----------------------------------------------------- */

static int add_huge(struct slabdev *sd, u32 chunk, u32 nr, u32 *first)
{
	int err = add_chunks(sd, chunk, nr, 0);

	if (err)
		vmm_unmap(&sd->vmm, chunk, VMM_KEEP_MAPPED);
	else
		*first = chunk * sd->chunk_slices;
	return err;
}

int pool_reuse_huge(struct slabdev *sd, u32 n, u32 *first)
{
	u64 nr = div_round_up(n, sd->chunk_slices);
	u32 chunk;
	int err;

	if (nr > sd->pool.max_chunks)
		return -ENOENT;
	err = vmm_reuse(&sd->vmm, (u32)nr, (u32)nr, &chunk);
	return err ? err : add_huge(sd, chunk, (u32)nr, first);
}

int pool_alloc_huge(struct slabdev *sd, u32 n, enum pool_need need, u32 *first)
{
	u64 nr = div_round_up(n, sd->chunk_slices), maps = nr_maps(sd);
	struct steady before;
	u32 chunk;
	int err;

	if (nr > sd->pool.max_chunks)
		return error_set(-ENOMEM, "%llu bytes are more than a space "
				 "can address",
				 (unsigned long long)slice_offset(n));
	before = steady_begin(sd);
	err = map_chunks(sd, (u32)nr, (u32)nr, need, &chunk);
	if (err)
		return err;
	steady_end(sd, before);
	mapped_since(sd, maps);
	return add_huge(sd, chunk, (u32)nr, first);
}

int pool_alloc_guarded(struct slabdev *sd, u32 n, u32 *first)
{
	u32 nr = (u32)div_round_up(n, sd->chunk_slices), chunk;
	int err = vmm_map_guarded(&sd->vmm, nr, &chunk);

	if (err)
		return err;
	err = add_guarded(sd, chunk, nr, n, first);
	if (err)
		vmm_unmap_guarded(&sd->vmm, chunk, VMM_KEEP_HANDLE);
	else
		probe_grow(sd, chunk_bytes(sd, nr),
			   READ_ONCE(sd->vmm.cnt->created));
	return err;
}

/* How many chunks it has from the first one on. */
static u32 remove_run(struct slabdev *sd, u32 first)
{
	struct pool *p = &sd->pool;
	u32 n;

	lock_acquire(&p->lock);
	n = range_len(&p->slices, first);
	range_free(&p->slices, first, n);
	range_remove(&p->slices, first, n);
	publish_free_locked(sd);
	lock_release(&p->lock);
	return (u32)div_round_up(n, p->chunk_slices);
}

void pool_free_guarded(struct slabdev *sd, u32 first, enum vmm_giveback how)
{
	u32 nr = remove_run(sd, first);

	(void)nr;	/* where there are no probes */
	probe_trim(sd, chunk_bytes(sd, nr), READ_ONCE(sd->vmm.cnt->created));
	vmm_unmap_guarded(&sd->vmm, first / sd->chunk_slices, how);
}

void pool_free_huge(struct slabdev *sd, u32 first)
{
	u32 nr = remove_run(sd, first);

	(void)give_back(sd, first / sd->chunk_slices, nr,
			gives_back_at_once(sd) ? VMM_RELEASE :
						 VMM_KEEP_MAPPED);
}

/* ---- Looking things up ------------------------------------------------ */

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
