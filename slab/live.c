// SPDX-License-Identifier: BSD-2-Clause
/* live.c - see live.h. */
#include "core/log.h"
#include "slab/class.h"
#include "slab/live.h"
#include "slab/segment.h"
#include "slab/visit.h"

#define LIST_MAX 20u

struct walk {
	struct slabdev *sd;
	void (*each)(const struct place *at, void *arg);
	void *arg;
	u64 n;
};

static void visit(struct walk *w, u64 offset)
{
	struct place at;

	lookup(w->sd, to_ptr(space_addr(w->sd, offset)), &at);
	if (!at.live || !at.start)
		return;
	w->n++;
	if (w->each)
		w->each(&at, w->arg);
}

static void visit_slab(struct walk *w, struct slab *s, const struct class *only)
{
	u64 offset = slab_offset(w->sd, s);
	struct class *c = class_lock_slab(w->sd, s);
	u32 i;

	if (!c)
		return;
	for (i = 0; (!only || c == only) && i < c->nr; i++)
		visit(w, offset + (u64)i * c->stride);
	lock_release(&c->lock);
}

u64 live_walk(struct slabdev *sd, struct class *c,
	      void (*each)(const struct place *at, void *arg), void *arg)
{
	struct walk w = { .sd = sd, .each = each, .arg = arg };
	u32 slice, n = 0;

	for (slice = pool_next_run(sd, 0, &n); slice != RANGE_NONE;
	     slice = pool_next_run(sd, slice + n, &n)) {
		struct slab *s = sd->slabs + slice;
		enum slab_state state = slab_state(s);

		if (state != SLAB_LARGE && state != SLAB_HUGE)
			visit_slab(&w, s, c);
		else if (!c || c->id == CLASS_LARGE)
			visit(&w, slice_offset(slice));
	}
	return w.n;
}

u64 live_count(struct class *c)
{
	struct slabdev_seg_counters sum[SLABDEV_SEG_WINDOW];
	struct slabdev_seg_counters *n = &sum[c->id % CLASS_WINDOW];

	segment_sum(c->sd, c->id / CLASS_WINDOW, sum);
	return n->allocs - n->frees;
}

struct listing {
	struct slabdev *sd;
	struct report *r;
	u32 n;
};

static void list_object(const struct place *at, void *arg)
{
	struct listing *l = arg;
	const char *name = at->kind == PLACE_LARGE ? "large" :
			   at->class->rec->name;

	if (l->n++ < LIST_MAX)
		report_line(l->r, "Object %p size=%llu %s",
			    to_ptr(space_addr(l->sd, at->object)),
			    (unsigned long long)at->size, name);
}

void live_report(struct slabdev *sd, struct class *c, const char *doing)
{
	struct report r;
	struct listing l = { .sd = sd, .r = &r };
	u32 side = visit_begin(sd);
	u64 n;

	report_start(&r, REPORT_LIVE_OBJECTS, sd->name,
		     "Objects remaining on %s%s%s", doing, c ? " " : "",
		     c ? c->rec->name : "");
	n = live_walk(sd, c, list_object, &l);
	visit_end(sd, side);
	if (n > LIST_MAX)
		report_line(&r, "and %llu more", (unsigned long long)n -
			    LIST_MAX);
	report_line(&r, "%llu objects are live; nothing was freed",
		    (unsigned long long)n);
	report_end(&r);
}
