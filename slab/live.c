// SPDX-License-Identifier: BSD-2-Clause
/* live.c - see live.h. */
#include "core/log.h"
#include "slab/class.h"
#include "slab/guard.h"
#include "slab/live.h"
#include "slab/own.h"
#include "slab/segment.h"
#include "slab/track.h"
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
	struct class *c = class_lock_slab(w->sd, s);
	u32 i;

	if (!c)
		return;
	for (i = 0; (!only || c == only) && i < c->nr; i++)
		visit(w, slab_object(c, s, i));
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

		if (state < SLAB_LARGE)
			visit_slab(&w, s, c);
		else if (!c || c->id == slab_class(s))
			visit(&w, large_offset(sd, slice));
	}
	return w.n;
}

u64 live_count(struct class *c)
{
	struct slabdev_seg_counters sum[SLABDEV_SEG_WINDOW];
	struct slabdev_seg_counters *n = &sum[c->id % CLASS_WINDOW];

	segment_sum(c->sd, c->id / CLASS_WINDOW, sum);
	return n->allocs - n->frees + READ_ONCE(c->nr_guarded);
}

/* The first objects, as they were under the locks of the walk. */
struct listing {
	u32 n;
	struct place at[LIST_MAX];
};

static void list_object(const struct place *at, void *arg)
{
	struct listing *l = arg;

	if (l->n < LIST_MAX)
		l->at[l->n++] = *at;
}

/* With no lock held: who allocated it has a name to be looked for. */
static void tell_object(struct report *r, struct slabdev *sd,
			const struct place *at)
{
	const char *name = at->class ? at->class->rec->name : "large";
	char by[TRACK_LINE_MAX];
	struct owner owner;

	track_describe(r, sd, at->object, by);
	(void)own_find(sd, at->object, &owner);
	report_line(r, "Object %p size=%llu %s%s%s%s%s",
		    to_ptr(space_addr(sd, at->object)),
		    (unsigned long long)at->size, name,
		    owner.kind ? " of " : "", owner.text, *by ? " " : "", by);
}

void live_report(struct slabdev *sd, struct class *c, const char *doing)
{
	struct listing l = { .n = 0 };
	u32 side = visit_begin(sd), i;
	struct report r;
	u64 n = live_walk(sd, c, list_object, &l);

	report_start(&r, REPORT_LIVE_OBJECTS, sd->name,
		     "Objects remaining on %s%s%s", doing, c ? " " : "",
		     c ? c->rec->name : "");
	for (i = 0; i < l.n; i++)
		tell_object(&r, sd, &l.at[i]);
	visit_end(sd, side);
	if (n > LIST_MAX)
		report_line(&r, "and %llu more", (unsigned long long)n -
			    LIST_MAX);
	report_line(&r, "%llu objects are live; nothing was freed",
		    (unsigned long long)n);
	report_end(&r);
}
