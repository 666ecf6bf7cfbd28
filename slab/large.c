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
#include "slab/annotate.h"
#include "slab/class.h"
#include "slab/debug_large.h"
#include "slab/graph.h"
#include "slab/guard.h"
#include "slab/hazard_watch.h"
#include "slab/heap.h"
#include "slab/miss.h"
#include "slab/note.h"
#include "slab/pending.h"
#include "slab/probe.h"
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

void large_book(struct slabdev *sd, bool huge, u64 usable)
{
	u64 bytes = huge ? huge_bytes(sd, usable) : usable;

	shared_add(&sd->rec->large_bytes, bytes);
	shared_add(&sd->rec->large_slack, bytes - usable);
	space_count_out(sd, bytes);
}

void large_unbook(struct slabdev *sd, bool huge, u64 usable)
{
	u64 bytes = huge ? huge_bytes(sd, usable) : usable;

	shared_sub(&sd->rec->large_bytes, bytes);
	shared_sub(&sd->rec->large_slack, bytes - usable);
	shared_sub(&sd->rec->out_bytes, bytes);
}

/* Free slices; those of empty slabs too, if they may make it enough. */
static u32 find_free(struct slabdev *sd, u32 n, u64 align, bool quiet)
{
	u32 slice = pool_alloc(sd, n, align, quiet);
	u64 kept = slice_offset((u32)READ_ONCE(sd->empty_slices));

	if (slice != RANGE_NONE || !kept ||
	    pool_free_bytes(sd) + kept < slice_offset(n))
		return slice;
	reclaim_kept(sd);
	return pool_alloc(sd, n, align, quiet);
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
	if (!(flags & GET_QUIET) && !pool_reuse_huge(sd, (u32)n, slice))
		return 0;
	*slice = find_free(sd, (u32)n, max(align, SLICE_SIZE),
			   flags & GET_QUIET);
	*huge = *slice == RANGE_NONE;
	return *huge ? reclaim_huge(sd, (u32)n, NULL, flags, slice) : 0;
}

/*
 * Slices for it: 1 when they were a large object's that the stream itself has
 * pending, or its graph holds (@held), and are booked still; 0; or a negative
 * errno.
 */
static int find_in_order(struct slabdev *sd, u64 usable, u64 align, bool *huge,
			 unsigned int flags, const struct order *o, u32 *slice,
			 struct note **held)
{
	*held = NULL;
	if (order_is_bound(o))
		return find_slices(sd, usable, align, huge, flags, slice);
	/* With a zone it is looked at before it is used again. */
	if (o->stream && !o->stream->graph && !sd->large_zone)
		*slice = pending_take_large(sd, o->stream,
					    (u32)(usable >> SLICE_SHIFT),
					    align);
	else if (o->stream && o->stream->graph)
		*slice = graph_take_large(o->stream->graph, usable, align,
					  held);
	else
		*slice = RANGE_NONE;
	if (*slice != RANGE_NONE)
		return 1;
	flags |= o->stream && o->stream->graph ? GET_FOR_GRAPH : GET_QUIET;
	return find_slices(sd, usable, align, huge, flags, slice);
}

static void *begin(struct slabdev *sd, u32 slice, u64 size, bool noted)
{
	WRITE_ONCE(sd->slabs[slice].size, size);
	heap_count_alloc(heap_get(sd), sd->class[CLASS_LARGE], size);
	tag_store(&sd->tags[slice_offset(slice) >> GRANULE_SHIFT],
		  tag_make(noted ? CODE_NOTED : CODE_LARGE));
	return to_ptr(space_addr(sd, slice_offset(slice)));
}

/* It cannot be noted whose it is, or that its zone is being filled on a stream:
 * its memory is complete, and goes back. What a graph holds has its note. */
static void *undo(struct slabdev *sd, u32 slice, int err)
{
	WRITE_ONCE(sd->slabs[slice].unsure, true);
	large_give_back(sd, slice, DOMAIN_COMPLETE);
	return alloc_failed(sd, sd->class[CLASS_LARGE], err);
}

/* Before it is live: what is to be noted of it. */
static int prepare(struct slabdev *sd, u32 slice, u64 size,
		   const struct order *o, const struct order *have,
		   struct note *held, bool *noted)
{
	int err = debug_begin_large(sd, slice, size, o, noted);

	if (err || !have->stream || !have->stream->graph)
		return err;
	*noted = true;
	return graph_own(have->stream->graph, slice_offset(slice), held, 0);
}

static void *find_large(struct slabdev *sd, u64 size, u64 align,
			unsigned int flags, const struct order *o)
{
	struct order have = order_to_have(sd, o);
	u64 usable = large_usable(sd, size);
	/* Aligned beyond a chunk, it has to be found inside shared ones. */
	bool huge = usable > SHARED_MAX && align <= sd->vmm.chunk_size;
	bool noted = false;
	struct note *held;
	u32 slice;
	int err;

	if (!usable)
		return alloc_failed(sd, sd->class[CLASS_LARGE],
				    error_set(-EOVERFLOW, "%llu bytes cannot "
					      "be rounded to slices",
					      (unsigned long long)size));
	err = find_in_order(sd, usable, align, &huge, flags, &have, &slice,
			    &held);
	if (err < 0)
		return alloc_failed(sd, sd->class[CLASS_LARGE], err);
	if (!err) {
		debug_run_taken(sd, slice, (u32)(usable >> SLICE_SHIFT));
		WRITE_ONCE(sd->slabs[slice].size, size);
		/* What an earlier slab left would mislead a question after the
		 * end. */
		WRITE_ONCE(sd->slabs[slice].back, 0);
		WRITE_ONCE(sd->slabs[slice].begin, 0);
		slab_publish(&sd->slabs[slice], CLASS_LARGE,
			     huge ? SLAB_HUGE : SLAB_LARGE);
		large_book(sd, huge, usable);
	}
	err = prepare(sd, slice, size, o, &have, held, &noted);
	return err ? undo(sd, slice, err) :
		     begin(sd, slice, size, noted);
}

void *large_alloc(struct slabdev *sd, u64 size, u64 align, unsigned int flags,
		  const struct order *o)
{
	struct class *c = sd->class[CLASS_LARGE];
	u32 before = miss_begin(sd);
	void *p;

	if (failslab_refuses(sd, c, size))
		return alloc_failed(sd, c, -ENOMEM);
	p = find_large(sd, size, align, flags, o);
	debug_began(sd, NULL, p, size, o);
	if (p) {
		miss_end(sd, before, size);
		probe_alloc(sd, p, size);
	}
	return watch_alloc(sd, p, large_roundup(size), o);
}

void large_give_back(struct slabdev *sd, u32 slice, u16 domain)
{
	struct slab *s = sd->slabs + slice;
	bool huge = slab_state(s) == SLAB_HUGE;
	u64 usable = large_usable(sd, s->size);
	stamp_t stamp;

	if (slab_is_guard(s)) {
		guard_give_back(sd, slice);
		return;
	}
	if (debug_keeps_large(sd, slice, domain))
		return;
	annotate_free(sd, to_ptr(space_addr(sd, slice_offset(slice))), usable);
	/* That of complete memory is no newer than what is quiet. */
	if (debug_end_large(sd, slice) || domain == DOMAIN_BOUND)
		stamp = stamp_now(&sd->vmm);
	else
		stamp = (stamp_t)vmm_quiet(&sd->vmm);
	large_unbook(sd, huge, usable);
	slab_unpublish(s);
	if (huge)
		pool_free_huge(sd, slice);
	else
		pool_free(sd, slice, (u32)(usable >> SLICE_SHIFT), stamp);
}

/* Not to be used again, but unmapped. */
static bool has_to_wait(const struct slabdev *sd, u32 slice)
{
	return sd->domain == DOMAIN_BOUND && slab_is_guard(&sd->slabs[slice]);
}

void large_free(struct slabdev *sd, u64 offset, const struct order *o,
		struct note *note)
{
	u32 slice = (u32)(offset >> SLICE_SHIFT);
	struct graph *g = graph_of_free(o, note);

	heap_count_free(heap_get(sd), sd->class[CLASS_LARGE],
			sd->slabs[slice].size);
	guard_freed(sd, slice);
	if (g) {
		graph_put(g, o, offset, note);
		return;
	}
	if (note || !order_is_bound(o) || has_to_wait(sd, slice))
		pending_add_large(sd, slice, o, note ? note->work->use : NULL,
				  note ? note->work->nr : 0);
	else
		large_give_back(sd, slice, sd->domain);
	if (note)
		note_free(sd, note);
}

bool large_is_live(struct slabdev *sd, u32 slice)
{
	enum slab_state state = slab_state(&sd->slabs[slice]);

	return state >= SLAB_LARGE &&
	       tag_is_live(tag_load(&sd->tags[large_offset(sd, slice) >>
					      GRANULE_SHIFT]));
}

void large_adopt(struct slabdev *sd, u32 slice)
{
	struct slab *s = sd->slabs + slice;

	large_book(sd, slab_state(s) != SLAB_LARGE, large_span(sd, s));
	heap_count_alloc(heap_get(sd), sd->class[CLASS_LARGE], s->size);
}
