// SPDX-License-Identifier: BSD-2-Clause
/*
 * validate.c - slabs, lists, bits, tags and sheaves must agree; see validate.h.
 *
 * Each check is a sentence: the report quotes the one that does not hold. The
 * walk goes from the runs of the pool to the slabs in them, from the lists of
 * each class to its slabs, and from sheaves to the objects in them, so that
 * what one direction cannot see the other one does. What lies between the runs
 * must be nobody's.
 *
 * Sentences of two sorts. Some hold at every moment under the lock that the
 * walk has: they go to check(). Others compare what was seen at different
 * moments, or without a lock, and hold when no other thread works in the space:
 * they go to off(), and count only if that was so. Since the caller itself may
 * be in the middle of an operation (a constructor, a shrinker, a log callback),
 * sums over objects are bounds then: an object is nowhere for a moment, but
 * never in two places.
 */
#include <errno.h>

#include "core/log.h"
#include "core/overflow.h"
#include "slab/arena.h"
#include "slab/class.h"
#include "slab/guard.h"
#include "slab/heap.h"
#include "slab/live.h"
#include "slab/segment.h"
#include "slab/tiny.h"
#include "slab/validate.h"
#include "slab/visit.h"
#include "slab/walk.h"

/* One walk at a time: it is too large for a small stack. */
static struct lock walk_lock = LOCK_INIT(LOCK_VALIDATE, "validate");
static struct walk the_walk;

/* ---- Sheaves ---------------------------------------------------------- */

/* Where a slot of the class can be; NULL: it is no object of a slab of it. */
static struct slab *slab_of_slot(struct walk *w, const struct class *c,
				 slot_t slot)
{
	u64 offset = slot_offset(c, slot), into = 0;
	struct slab *s = w->sd->slabs + (offset >> SLICE_SHIFT);

	if (!in_tables(w, offset >> SLICE_SHIFT) ||
	    READ_ONCE(s->back) > offset >> SLICE_SHIFT)
		return NULL;
	s -= READ_ONCE(s->back);
	if (slab_state(s) == SLAB_NONE || slab_class(s) != c->id)
		return NULL;
	offset -= slab_offset(w->sd, s);
	return slab_index(c, offset, &into) >= s->nr || into ? NULL : s;
}

static void check_sheaf_locked(struct walk *w, const struct class *c,
			       const struct sheaf *sheaf)
{
	struct slab *s;
	u32 i, k, n;

	check(w, sheaf->class == c->id, 0, "a sheaf knows its class");
	check(w, sheaf->cap == c->sheaf_cap && sheaf->n <= sheaf->cap, 0,
	      "a sheaf has no more objects than it has room for");
	for (i = 0; i < sheaf->n && !w->broken; i++) {
		slot_t slot = sheaf->slot[i];

		s = slab_of_slot(w, c, slot);
		check(w, s, slot_offset(c, slot),
		      "what is in a sheaf is an object of its class");
		if (!s)
			return;
		n = slot_index(c, s, slot);
		check(w, !bitmap_test(slab_bits(s), n), slot_offset(c, slot),
		      "an object in a sheaf is not in its slab");
		check(w, !object_is_live(c, s, n), slot_offset(c, slot),
		      "an object in a sheaf is not live");
		for (k = 0; k < i; k++)
			check(w, sheaf->slot[k] != slot, slot_offset(c, slot),
			      "an object is in a sheaf once");
	}
	w->in_sheaves[c->id] += sheaf->n;
}

/* The class lock is held too, for what is in slabs. */
static void check_barn(struct walk *w, struct class *c)
{
	const struct sheaf *s;
	u32 n = 0, empty = 0;

	lock_acquire(&c->barn_lock);
	for (s = c->full; s && n <= c->barn_max; s = s->next, n++) {
		check_sheaf_locked(w, c, s);
		check(w, s->n == s->cap, 0, "a full sheaf is full");
	}
	check(w, n == c->nr_full && n <= c->barn_max && n == c->rec->barn_full,
	      0, "a barn counts its full sheaves");
	for (s = c->empty; s && empty <= c->nr_empty; s = s->next, empty++)
		check(w, !s->n, 0, "an empty sheaf is empty");
	check(w, empty == c->nr_empty && empty == c->rec->barn_empty, 0,
	      "a barn counts its empty sheaves");
	lock_release(&c->barn_lock);
}

/* A sheaf in a bin of the caller, kept there by the heaps lock: its charge. */
static u64 check_own_sheaf(struct walk *w, u32 id, const struct sheaf *s)
{
	struct class *c = load_acquire(&w->sd->class[id]);

	if (s == &sheaf_none)
		return 0;
	check(w, c, 0, "a sheaf in a bin has a class");
	if (!c)
		return 0;
	lock_acquire(&c->lock);
	check_sheaf_locked(w, c, s);
	lock_release(&c->lock);
	return (u64)c->sheaf_cap * c->stride;
}

/* Sheaves of one heap of the calling thread: their charges. Others may take
 * them away, under the lock. */
static u64 check_heap_locked(struct walk *w, const struct heap *h)
{
	u64 bytes = 0;
	u32 window, i;

	for (window = 0; window < NR_WINDOWS; window++) {
		struct bin *b = h->bins[window];
		u32 id = window * CLASS_WINDOW;

		for (i = 0; b && i < CLASS_WINDOW; i++, b++, id++) {
			bytes += check_own_sheaf(w, id, READ_ONCE(b->main));
			bytes += check_own_sheaf(w, id, READ_ONCE(b->spare));
		}
	}
	return bytes;
}

static void check_own_heaps_locked(struct walk *w)
{
	const struct heap *own = thread_self->heap[w->sd->id], *h;
	u64 bytes = 0;

	if (own == &heap_none)
		return;
	h = own;
	do {
		bytes += check_heap_locked(w, h);
		h = h->next;
	} while (h);
	off(w, bytes <= READ_ONCE(own->charged),
	    "a thread is charged for its sheaves");
}

static void walk_heaps(struct walk *w)
{
	struct slabdev *sd = w->sd;
	struct heap *h;
	u64 charged = 0;
	u32 n = 0;

	lock_acquire(&sd->heaps_lock);
	list_for_each_entry(h, &sd->heaps, link) {
		charged += READ_ONCE(h->charged);
		n++;
	}
	check(w, n == sd->rec->nr_threads, 0, "a space counts its threads");
	off(w, charged == READ_ONCE(sd->charged),
	    "a space is charged what its threads are");
	check_own_heaps_locked(w);
	lock_release(&sd->heaps_lock);
}

/* ---- The whole -------------------------------------------------------- */

/* A run without a slab: perhaps a large object. */
static void check_large(struct walk *w, u32 slice, u32 len)
{
	struct slabdev *sd = w->sd;
	const struct slab *s = sd->slabs + slice;
	u64 size = READ_ONCE(s->size), bytes = slice_offset(len);
	u32 tag;

	/* One that is not live may be pending. */
	if (slab_state(s) < SLAB_LARGE)
		return;
	/* The run is not all of the mapping. */
	if (slab_is_guard(s))
		bytes = align_up(bytes, sd->vmm.chunk_size);
	tag = tag_load(&sd->tags[large_offset(sd, slice) >> GRANULE_SHIFT]);
	w->out_bytes += bytes;
	w->large_bytes += bytes;
	if (!large_is_live(sd, slice)) {
		w->large_pending += large_span(sd, s);
		return;
	}
	w->live[CLASS_LARGE]++;
	w->live_bytes[CLASS_LARGE] += size;
	off(w, tag == tag_make(CODE_LARGE) || tag == tag_make(CODE_NOTED),
	    "a large object's tag has the code of large ones");
	off(w, size && size <= slice_offset(len),
	    "a large object has the slices for its size");
}

static void check_run(struct walk *w, u32 slice, u32 len)
{
	struct slab *s = w->sd->slabs + slice;
	struct class *c = class_lock_slab(w->sd, s);
	u32 n = 0;

	if (!c) {
		check_large(w, slice, len);
		return;
	}
	if (!w->class || w->class == c) {
		check(w, pool_next_run(w->sd, slice, &n) == slice &&
			 n == c->span, slice_offset(slice),
		      "a slab's slices are one run of the pool");
		walk_slab_locked(w, c, s);
	}
	lock_release(&c->lock);
}

/* Slices [@slice, @end) are in no run. */
static void check_gap(struct walk *w, u32 slice, u32 end)
{
	u32 per_slice = 1u << (SLICE_SHIFT - GRANULE_SHIFT), i, any;
	const tag_t *tag;

	for (; slice < end; slice++) {
		any = 0;
		tag = &w->sd->tags[(u64)slice * per_slice];
		for (i = 0; i < per_slice; i++)
			any |= tag_load(&tag[i]);
		off(w, !any, "no object is live outside the runs of the pool");
		off(w, slab_state(&w->sd->slabs[slice]) == SLAB_NONE,
		    "no slab is outside the runs of the pool");
	}
}

static void walk_runs(struct walk *w)
{
	u32 slice, end = 0, len = 0;

	for (slice = pool_next_run(w->sd, 0, &len);
	     slice != RANGE_NONE && !w->broken;
	     slice = pool_next_run(w->sd, end, &len)) {
		check_gap(w, end, slice);
		check_run(w, slice, len);
		end = slice + len;
	}
	(void)in_tables(w, RANGE_NONE);
	if (!w->broken)
		check_gap(w, end, w->slices);
}

static void walk_class(struct walk *w, struct class *c)
{
	u64 slabs;

	lock_acquire(&c->lock);
	walk_record(w, c);
	walk_lists_locked(w, c);
	if (!w->broken)
		check_barn(w, c);
	slabs = c->rec->slabs;
	lock_release(&c->lock);
	/* Slabs on their way between a class and the pool are in neither. */
	off(w, w->slabs[c->id] == slabs, "a class counts its slabs");
}

static void check_live(struct walk *w, u32 window)
{
	struct slabdev_seg_counters sum[SLABDEV_SEG_WINDOW];
	struct class *c;
	u32 i, id;

	segment_sum(w->sd, window, sum);
	for (i = 0; i < CLASS_WINDOW; i++) {
		id = window * CLASS_WINDOW + i;
		c = load_acquire(&w->sd->class[id]);
		if (!c || (w->class && w->class != c))
			continue;
		off(w, w->live[id] == sum[i].allocs - sum[i].frees,
		    "counters and tags have as many live objects");
		off(w, w->live_bytes[id] ==
		       sum[i].alloc_bytes - sum[i].free_bytes,
		    "counters and tags have as many live bytes");
		off(w, id == CLASS_LARGE ||
		       w->live[id] + w->in_slabs[id] + w->in_sheaves[id] <=
		       w->slabs[id] * c->nr,
		    "an object is in one place only");
	}
}

/* What the space publishes of all its classes together. */
static void check_space(struct walk *w)
{
	struct slabdev *sd = w->sd;
	const struct vmm_counters *v = sd->vmm.cnt;
	const char *broken = pool_validate(sd);
	u64 slices;

	check(w, !broken, 0, broken);
	broken = vmm_validate(&sd->vmm);
	check(w, !broken, 0, broken);
	broken = arenas_validate(sd);
	off(w, !broken, broken);
	off(w, READ_ONCE(sd->rec->large_bytes) == w->large_bytes,
	    "a space counts the bytes of its large objects");
	off(w, READ_ONCE(sd->rec->large_pending) == w->large_pending,
	    "a space counts the bytes of large objects that are pending");
	off(w, READ_ONCE(sd->empty_slices) == w->empty_slices,
	    "a space counts the slices of its empty slabs");
	off(w, READ_ONCE(sd->rec->out_bytes) <=
	       w->out_bytes + READ_ONCE(sd->rec->arena_bytes),
	    "a space counts the bytes that are out of its slabs");
	lock_acquire(&sd->pool.lock);
	slices = sd->pool.slices.nr_total;
	lock_release(&sd->pool.lock);
	off(w, slices << SLICE_SHIFT <=
	       READ_ONCE(v->created) - READ_ONCE(v->idle) - READ_ONCE(v->lost),
	    "the slices of the pool are in memory that is mapped");
}

/*
 * Is no other thread at work in the space? True when none has a heap, nothing
 * that needs no heap is running, and nothing has begun since @changes, which is
 * set at the first look.
 */
static bool is_alone(struct slabdev *sd, bool first, u64 *changes)
{
	u64 now = __atomic_load_n(&sd->changes, __ATOMIC_SEQ_CST);
	bool alone = first || now == *changes;
	struct heap *h;

	*changes = now;
	alone &= !__atomic_load_n(&sd->changing, __ATOMIC_SEQ_CST);
	lock_acquire(&sd->heaps_lock);
	list_for_each_entry(h, &sd->heaps, link)
		alone &= h == thread_self->heap[sd->id];
	lock_release(&sd->heaps_lock);
	return alone;
}

static int verdict(struct slabdev *sd, struct class *only, const char *broken,
		   u64 where)
{
	struct report r;

	if (!broken)
		return 0;
	report_start(&r, REPORT_CORRUPT, sd->name,
		     "Metadata is not consistent");
	report_line(&r, "does not hold: %s", broken);
	report_line(&r, "at %p%s%s", to_ptr(space_addr(sd, where)),
		    only ? ", cache " : "", only ? only->rec->name : "");
	report_line(&r, "nothing was changed");
	report_end(&r);
	return error_set(-EUCLEAN, "validate: does not hold: %s", broken);
}

static void walk_all(struct walk *w)
{
	struct slabdev *sd = w->sd;
	u32 id, window;

	walk_runs(w);
	/* Barns before sheaves: what a thief moves is seen once, or not. */
	for (id = 1; id < CLASS_MAX; id++) {
		struct class *c = load_acquire(&sd->class[id]);

		if (c && (!w->class || c == w->class))
			walk_class(w, c);
	}
	if (!w->broken)
		walk_heaps(w);
	for (window = 0; window < NR_WINDOWS; window++)
		if (load_acquire(&sd->window[window]))
			check_live(w, window);
	if (!w->class)
		check_space(w);
}

static int run_walk(struct slabdev *sd, struct class *only)
{
	struct walk *w = &the_walk;
	const char *broken;
	u32 side = visit_begin(sd);
	u64 where, changes = 0;
	bool alone;

	lock_acquire(&walk_lock);
	alone = is_alone(sd, true, &changes);
	*w = (struct walk){ .sd = sd, .class = only };
	walk_all(w);
	/* What is compared without a lock is exact only when nobody works. */
	if (alone && is_alone(sd, false, &changes))
		check(w, !w->off, 0, w->off);
	broken = w->broken;
	where = w->where;
	lock_release(&walk_lock);
	visit_end(sd, side);
	return verdict(sd, only, broken, where);
}

void validate_lock_for_fork(void)
{
	lock_acquire_for_fork(&walk_lock);
}

void validate_unlock_for_fork(void)
{
	lock_release_for_fork(&walk_lock);
}

int validate_class(struct class *c)
{
	return run_walk(c->sd, c);
}

int validate_space(struct slabdev *sd)
{
	return run_walk(sd, NULL);
}
