// SPDX-License-Identifier: BSD-2-Clause
/*
 * pool_grow.c - chunks come into the pool, and leave it.
 *
 * Growth maps chunks, makes the tables reach to their end, and only then adds
 * their slices: nobody finds a slice without its entries in the tables. If the
 * tables do not grow, for want of host memory, the chunks are unmapped again.
 * The tables never shrink; what a chunk leaves behind in them is used by the
 * next one at its place. That is why growth goes on at the end of the pool only
 * as long as there are few holes below.
 *
 * Locking: pool lock for the tables. What is mapped and not in the pool yet, or
 * taken out and not unmapped yet, is the calling thread's.
 */
#include <errno.h>

#include "core/bitmap.h"
#include "core/log.h"
#include "slab/annotate.h"
#include "slab/debug_large.h"
#include "slab/miss.h"
#include "slab/pool_private.h"
#include "slab/probe.h"
#include "slab/steady.h"

/* Largest handle that prime asks for: few driver calls for much memory. */
#define PRIME_HANDLE GIB
/* Largest that growth asks for where handles are dear. */
#define GROWTH_HANDLE (64 * MIB)
/* Chunks of holes below the end of the pool that do not matter. */
#define SPARSE_LEAST 32u

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

int pool_add_guarded(struct slabdev *sd, u32 first, u32 nr, u32 n, u32 *slice)
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

int pool_add_chunks(struct slabdev *sd, u32 first, u32 nr, u32 handle_chunks)
{
	int err;

	/* Tools are told before anybody can have it. */
	annotate_new(sd, chunk_ptr(sd, first), chunk_bytes(sd, nr));
	err = add_mapped(sd, first, nr, handle_chunks);
	if (err) {
		annotate_gone(sd, chunk_ptr(sd, first), chunk_bytes(sd, nr));
		return err;
	}
	probe_grow(sd, chunk_bytes(sd, nr), READ_ONCE(sd->vmm.cnt->created));
	return 0;
}

int pool_give_back(struct slabdev *sd, u32 first, u32 nr,
		   enum vmm_giveback how)
{
	debug_run_goes(sd, first * sd->chunk_slices, nr * sd->chunk_slices);
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

int pool_map_chunks(struct slabdev *sd, u32 nr, u32 handle_chunks,
		    enum pool_need need, u32 *first)
{
	u64 maps = nr_maps(sd);
	struct steady before;
	int err;

	before = steady_begin(sd);
	err = map_chunks(sd, nr, handle_chunks, need, first);
	if (err)
		return err;
	steady_end(sd, before);
	mapped_since(sd, maps);
	return 0;
}

/*
 * What is idle in single chunks, from a time of another policy, serves where
 * longer handles are made now: else as much would be mapped beside it.
 */
static int find_chunks(struct slabdev *sd, u32 nr, u32 *handle_chunks,
		       enum pool_need need, u32 *first)
{
	if (need == NEED_ANY && *handle_chunks > 1 &&
	    !vmm_reuse(&sd->vmm, nr, 1, first)) {
		*handle_chunks = 1;
		return 0;
	}
	return pool_map_chunks(sd, nr, *handle_chunks, need, first);
}

static int map_and_add(struct slabdev *sd, u32 nr, u32 handle_chunks,
		       enum pool_need need)
{
	u32 first;
	int err;

	err = find_chunks(sd, nr, &handle_chunks, need, &first);
	if (err)
		return err;
	err = pool_add_chunks(sd, first, nr, handle_chunks);
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
	err = pool_add_chunks(sd, end, nr, handle);
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
