// SPDX-License-Identifier: BSD-2-Clause
/*
 * validate.c - slabs, lists, bits and tags must agree; see validate.h.
 *
 * Each check is a sentence: the report quotes the one that does not hold. The
 * walk goes from the runs of the pool to the slabs in them, and from the lists
 * of each class to its slabs, so that what one direction cannot see the other
 * one does.
 */
#include <errno.h>

#include "core/log.h"
#include "slab/class.h"
#include "slab/live.h"
#include "slab/segment.h"
#include "slab/tiny.h"
#include "slab/validate.h"
#include "slab/visit.h"

struct walk {
	struct slabdev *sd;
	struct class *class;		/* the one walked, or NULL for all */
	const char *broken;		/* the first sentence that fails */
	const char *off;		/* one that fails unless others work */
	u64 where;			/* offset it fails at */
	u64 slabs[CLASS_MAX];		/* found, by class */
	u64 live[CLASS_MAX];		/* live objects found, by class */
};

/* One walk at a time: it is too large for a small stack. */
static struct lock walk_lock = LOCK_INIT(LOCK_VALIDATE, "validate");
static struct walk the_walk;

static void check(struct walk *w, bool holds, u64 where, const char *sentence)
{
	if (holds || w->broken)
		return;
	w->broken = sentence;
	w->where = where;
}

static void check_slab_locked(struct walk *w, struct class *c, struct slab *s)
{
	u64 where = slab_offset(w->sd, s), *bits = slab_bits(s);
	u32 i, n = 0;

	check(w, s->nr == c->nr, where, "a slab has the objects of its class");
	check(w, s->span == c->span, where,
	      "a slab has the slices of its class");
	for (i = 0; i < s->nr; i++) {
		bool live = object_is_live(c, s, i);

		w->live[c->id] += live;
		if (!bitmap_test(bits, i))
			continue;
		n++;
		check(w, !live, where + (u64)i * c->stride,
		      "an object in its slab is not live");
	}
	check(w, n == s->nr_free, where, "a slab counts its free objects");
	for (; i % 64; i++)
		check(w, !bitmap_test(bits, i), where,
		      "a slab has no bits beyond its objects");
}

/* From the lists to the slabs. */
static u64 check_lists_locked(struct walk *w, struct class *c)
{
	u32 bin, slice, prev;
	u64 n = 0;

	for (bin = 0; bin < NR_PARTIAL; bin++) {
		prev = RANGE_NONE;
		for (slice = c->partial[bin]; slice != RANGE_NONE && !w->broken;
		     slice = w->sd->slabs[slice].next) {
			struct slab *s = w->sd->slabs + slice;
			u64 where = slice_offset(slice);

			n++;
			check(w, s->class == c->id, where,
			      "a list has slabs of its class only");
			check(w, s->prev == prev, where,
			      "a list is linked both ways");
			check(w, s->bin == bin, where,
			      "a slab knows its list");
			check(w, s->nr_free && s->nr_free >> bin == 1, where,
			      "a slab is in the list of its free objects");
			prev = slice;
		}
		check(w, !!(c->partial_map & 1u << bin) ==
			 (c->partial[bin] != RANGE_NONE), 0,
		      "a class knows which lists have slabs");
	}
	check(w, n == c->rec->partial, 0, "a class counts its partial slabs");
	return n;
}

static void check_run(struct walk *w, u32 slice)
{
	struct slab *s = w->sd->slabs + slice;
	struct class *c = class_lock_slab(w->sd, s);
	u32 len = 0;

	if (!c) {
		w->live[CLASS_LARGE] += large_is_live(w->sd, slice);
		return;
	}
	if (!w->class || w->class == c) {
		check(w, pool_next_run(w->sd, slice, &len) == slice &&
			 len == s->span, slice_offset(slice),
		      "a slab's slices are one run of the pool");
		check_slab_locked(w, c, s);
		w->slabs[c->id]++;
	}
	lock_release(&c->lock);
}

static void walk_runs(struct walk *w)
{
	u32 slice, len = 0;

	for (slice = pool_next_run(w->sd, 0, &len);
	     slice != RANGE_NONE && !w->broken;
	     slice = pool_next_run(w->sd, slice + len, &len))
		check_run(w, slice);
}

static void walk_class(struct walk *w, struct class *c)
{
	u64 slabs;

	lock_acquire(&c->lock);
	check_lists_locked(w, c);
	slabs = c->rec->slabs;
	lock_release(&c->lock);
	/* Slabs on their way between a class and the pool are in neither. */
	if (w->slabs[c->id] != slabs)
		w->off = "a class counts its slabs";
}

static void check_live(struct walk *w, u32 window)
{
	struct slabdev_seg_counters sum[SLABDEV_SEG_WINDOW];
	u32 i, id;

	segment_sum(w->sd, window, sum);
	for (i = 0; i < CLASS_WINDOW; i++) {
		id = window * CLASS_WINDOW + i;
		if (w->class ? w->class->id != id : !w->sd->class[id])
			continue;
		if (w->live[id] != sum[i].allocs - sum[i].frees)
			w->off = "counters and tags have as many live objects";
	}
}

/* Has no other thread a heap in the space? */
static bool is_alone(struct slabdev *sd)
{
	struct heap *h;
	bool alone = true;

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

static int run_walk(struct slabdev *sd, struct class *only)
{
	struct walk *w = &the_walk;
	const char *broken;
	u32 side = visit_begin(sd), id, window;
	bool alone;
	u64 where;

	lock_acquire(&walk_lock);
	alone = is_alone(sd);
	*w = (struct walk){ .sd = sd, .class = only };
	walk_runs(w);
	for (id = 1; id < CLASS_MAX; id++) {
		struct class *c = load_acquire(&sd->class[id]);

		if (c && (!only || c == only))
			walk_class(w, c);
	}
	for (window = 0; window < NR_WINDOWS; window++)
		if (load_acquire(&sd->window[window]))
			check_live(w, window);
	if (!only) {
		broken = pool_validate(sd);
		check(w, !broken, 0, broken);
		broken = vmm_validate(&sd->vmm);
		check(w, !broken, 0, broken);
	}
	/* What counters say is exact only when nobody else counts. */
	if (alone && is_alone(sd))
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
