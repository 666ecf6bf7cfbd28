// SPDX-License-Identifier: BSD-2-Clause
/*
 * large.c - objects beyond the size classes: runs of slices of their own.
 *
 * Up to 64 MiB a large object lies in shared chunks, rounded to slices; it may
 * cross adjacent chunks. Above, unless as many free slices lie together (primed
 * memory, say), it has one exact handle, whose tail beyond the last slice is
 * slack: such a handle goes back to the device whole, and no small neighbour
 * can pin it. The first granule's tag has CODE_LARGE; the descriptor has the
 * size asked for. Class number 0 stands for large objects in the counters.
 */
#include <errno.h>

#include "core/log.h"
#include "core/overflow.h"
#include "slab/alloc.h"
#include "slab/heap.h"
#include "slab/reclaim.h"

u64 large_roundup(u64 size)
{
	u64 up;

	return align_up_overflows(size, SLICE_SIZE, &up) ? 0 : up;
}

/* Bytes of the whole chunks that a huge object occupies. */
static u64 huge_bytes(const struct slabdev *sd, u64 usable)
{
	return align_up(usable, sd->vmm.chunk_size);
}

static void book(struct slabdev *sd, bool huge, u64 usable)
{
	u64 bytes = huge ? huge_bytes(sd, usable) : usable;

	shared_add(&sd->rec->large_bytes, bytes);
	shared_add(&sd->rec->large_slack, bytes - usable);
	space_count_out(sd, bytes);
}

static void unbook(struct slabdev *sd, bool huge, u64 usable)
{
	u64 bytes = huge ? huge_bytes(sd, usable) : usable;

	shared_sub(&sd->rec->large_bytes, bytes);
	shared_sub(&sd->rec->large_slack, bytes - usable);
	shared_sub(&sd->rec->out_bytes, bytes);
}

/* Free slices; those of empty slabs too, if they may make it enough. */
static u32 find_free(struct slabdev *sd, u32 n, u64 align)
{
	u32 slice = pool_alloc(sd, n, align);
	u64 kept = slice_offset((u32)READ_ONCE(sd->empty_slices));

	if (slice != RANGE_NONE || !kept ||
	    pool_free_bytes(sd) + kept < slice_offset(n))
		return slice;
	reclaim_kept(sd);
	return pool_alloc(sd, n, align);
}

static int find_slices(struct slabdev *sd, u64 usable, u64 align, bool *huge,
		       unsigned int flags, u32 *slice)
{
	u64 n = usable >> SLICE_SHIFT;

	if (n > sd->pool.slices.max)
		return error_set(-ENOMEM, "%llu bytes are more than the "
				 "addresses of a space",
				 (unsigned long long)usable);
	if (!*huge)
		return reclaim_run(sd, (u32)n, max(align, SLICE_SIZE), NULL,
				   flags, slice);
	/* What is mapped, by an earlier object of the size or by priming. */
	if (!pool_reuse_huge(sd, (u32)n, slice))
		return 0;
	*slice = find_free(sd, (u32)n, max(align, SLICE_SIZE));
	*huge = *slice == RANGE_NONE;
	return *huge ? reclaim_huge(sd, (u32)n, flags, slice) : 0;
}

void *large_alloc(struct slabdev *sd, u64 size, u64 align, unsigned int flags)
{
	u64 usable = large_roundup(size);
	/* Aligned beyond a chunk, it has to be found inside shared ones. */
	bool huge = usable > SHARED_MAX && align <= sd->vmm.chunk_size;
	struct heap *h = heap_get(sd);
	u32 slice;
	int err;

	if (!usable)
		return alloc_failed(sd, sd->class[CLASS_LARGE],
				    error_set(-EOVERFLOW, "%llu bytes cannot "
					      "be rounded to slices",
					      (unsigned long long)size));
	err = find_slices(sd, usable, align, &huge, flags, &slice);
	if (err)
		return alloc_failed(sd, sd->class[CLASS_LARGE], err);
	WRITE_ONCE(sd->slabs[slice].size, size);
	/* What an earlier slab left would mislead a question after the end. */
	WRITE_ONCE(sd->slabs[slice].back, 0);
	slab_publish(&sd->slabs[slice], CLASS_LARGE,
		     huge ? SLAB_HUGE : SLAB_LARGE);
	book(sd, huge, usable);
	heap_count_alloc(h, sd->class[CLASS_LARGE], size);
	tag_store(&sd->tags[slice_offset(slice) >> GRANULE_SHIFT],
		  tag_make(CODE_LARGE));
	return to_ptr(space_addr(sd, slice_offset(slice)));
}

void large_free(struct slabdev *sd, u64 offset)
{
	u32 slice = (u32)(offset >> SLICE_SHIFT);
	struct slab *s = sd->slabs + slice;
	bool huge = slab_state(s) == SLAB_HUGE;
	u64 size = s->size, usable = large_roundup(size);

	heap_count_free(heap_get(sd), sd->class[CLASS_LARGE], size);
	unbook(sd, huge, usable);
	slab_unpublish(s);
	if (huge)
		pool_free_huge(sd, slice);
	else
		pool_free(sd, slice, (u32)(usable >> SLICE_SHIFT));
}

bool large_is_live(struct slabdev *sd, u32 slice)
{
	enum slab_state state = slab_state(&sd->slabs[slice]);
	u32 tag = tag_load(&sd->tags[slice_offset(slice) >> GRANULE_SHIFT]);

	return (state == SLAB_LARGE || state == SLAB_HUGE) && tag_is_live(tag);
}

void large_adopt(struct slabdev *sd, u32 slice)
{
	struct slab *s = sd->slabs + slice;

	book(sd, slab_state(s) == SLAB_HUGE, large_roundup(s->size));
	heap_count_alloc(heap_get(sd), sd->class[CLASS_LARGE], s->size);
}
