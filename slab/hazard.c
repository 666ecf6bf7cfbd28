// SPDX-License-Identifier: BSD-2-Clause
/* hazard.c - the rules of hazard mode; see hazard.h. */
#include <errno.h>

#include "core/log.h"
#include "slab/hazard.h"
#include "slab/hazard_capture.h"
#include "slab/hazard_event.h"
#include "slab/hazard_report.h"

bool hazard_active;

/* Locking: hazard_lock. An object may be there that has no record. */
static bool blind;

/* ---- In and out ---------------------------------------------------------- */

/* What was found is told without the lock. */
static int leave(const struct hazard_call *by, const struct finding *f)
{
	bool streams = clock_take_overflow_locked();
	bool events = event_take_overflow_locked();

	lock_release(&hazard_lock);
	if (streams)
		pr_warn("hazards: no more than %u streams can be followed at a "
			"time; those beyond are not", HAZARD_STREAMS);
	if (events)
		pr_warn("hazards: %u events are all that can be followed until "
			"the CPU has waited for some; whoever waits for one "
			"beyond is taken to come after everything",
			HAZARD_EVENTS);
	if (!f || f->kind == HAZARD_NONE)
		return 0;
	hazard_tell(by->name, f);
	return 1;
}

static struct deed do_locked(const struct hazard_call *by)
{
	struct deed d = {
		.stream = capture_stream_locked(by->stream),
		.site = by->site,
	};

	d.epoch = clock_act_locked(&d.stream);
	return d;
}

static struct finding finding_of(const struct record *r)
{
	return (struct finding){
		.start = r->start,
		.size = r->end - r->start,
		.is_arena = r->is_arena,
		.alloc = r->alloc,
		.free = r->free,
	};
}

/* ---- Objects ------------------------------------------------------------- */

void hazard_alloc(const struct hazard_call *by, u64 addr, u64 size)
{
	struct deed d;
	struct record *r;

	lock_acquire(&hazard_lock);
	d = do_locked(by);
	r = tree_add_locked(by->space, addr, addr + max(size, (u64)1));
	if (r) {
		r->alloc = d;
		r->is_arena = by->is_arena;
	} else {
		blind = true;
	}
	(void)leave(by, NULL);
}

static u32 find_use(const struct record *r, const struct hazard_stream *s)
{
	u32 i;

	for (i = 0; i < r->nr_uses; i++)
		if (clock_same_stream(&r->use[i], s))
			break;
	return i;
}

void hazard_use(const struct hazard_call *by, u64 addr)
{
	struct hazard_stream s;
	struct record *r;
	u32 i;

	lock_acquire(&hazard_lock);
	s = capture_stream_locked(by->stream);
	r = tree_find_locked(addr);
	if (r && !r->freed) {
		i = find_use(r, &s);
		if (i == r->nr_uses && i < HAZARD_USES)
			r->use[r->nr_uses++] = s;
	}
	(void)leave(by, NULL);
}

/* A free that comes will wait for what the stream has now, and no more. */
static void end_use_locked(struct record *r, const void *arg)
{
	const struct hazard_stream *s = arg;
	u32 i = find_use(r, s);

	if (r->freed || i == r->nr_uses)
		return;
	access_prune_locked(r, s);
	r->waited |= clock_any_behind_locked(s, 1, r->alloc.epoch);
	r->use[i] = r->use[--r->nr_uses];
}

void hazard_detach(const void *space, slabdev_stream_t stream)
{
	struct hazard_stream s;

	lock_acquire(&hazard_lock);
	s = capture_stream_locked(stream);
	tree_each_locked(space, end_use_locked, &s);
	(void)leave(NULL, NULL);
}

/*
 * Will it be done when others get the memory that is freed on @actor? What
 * comes before what the free waits for is; @held: what runs, since a graph has
 * the memory until the program says that all is done.
 */
static bool is_over_locked(const struct record *r, u32 actor, bool held,
			   const struct deed *d)
{
	enum clock_order order = clock_order_locked(actor, d->epoch);

	if (order == ORDER_BEHIND ||
	    clock_any_behind_locked(r->use, r->nr_uses, d->epoch))
		return true;
	if (held)
		return order == ORDER_NONE ||
		       !clock_is_captured_locked(d->epoch);
	return order == ORDER_NONE && !clock_is_captured_locked(d->epoch);
}

/* What may not be done by then; NULL: nothing. */
static const struct deed *unfinished_locked(const struct record *r, u32 actor,
					    bool held)
{
	const struct access *a;

	for (a = r->accesses; a; a = a->next)
		if (!is_over_locked(r, actor, held, &a->deed))
			return &a->deed;
	return r->waited || is_over_locked(r, actor, held, &r->alloc) ?
	       NULL : &r->alloc;
}

static enum hazard_kind kind_of_free(const struct deed *unfinished)
{
	return clock_is_captured_locked(unfinished->epoch) ?
	       HAZARD_FREED_UNDER_GRAPH : HAZARD_EARLY_FREE;
}

/* True: @f says what is wrong with that. */
static bool end_locked(struct record *r, const struct deed *d, bool held,
		       struct finding *f)
{
	const struct deed *unfinished;

	r->freed = true;
	r->free = *d;
	unfinished = unfinished_locked(r, d->epoch.actor, held);
	if (unfinished) {
		*f = finding_of(r);
		f->kind = held ? HAZARD_EARLY_FREE : kind_of_free(unfinished);
		f->access = *unfinished;
		f->by_alloc = unfinished == &r->alloc;
	}
	access_drop_locked(r);
	return unfinished;
}

int hazard_free(const struct hazard_call *by, u64 addr, bool held)
{
	struct finding f = { .kind = HAZARD_NONE };
	struct record *r;
	struct deed d;

	lock_acquire(&hazard_lock);
	d = do_locked(by);
	r = tree_find_locked(addr);
	if (r && !r->freed)
		(void)end_locked(r, &d, held, &f);
	return leave(by, &f);
}

/* ---- Arenas -------------------------------------------------------------- */

int hazard_rewind(const struct hazard_call *by, u64 from, u64 to)
{
	struct finding f = { .kind = HAZARD_NONE }, next;
	struct record *r;
	struct deed d;
	u32 found = 0;

	lock_acquire(&hazard_lock);
	d = do_locked(by);
	for (r = tree_next_locked(from); r && r->start < to;
	     r = tree_next_locked(r->end))
		if (r->is_arena && !r->freed && end_locked(r, &d, false, &next))
			f = found++ ? f : next;
	f.others = found ? found - 1 : 0;
	return leave(by, &f);
}

void hazard_forget(u64 from, u64 to)
{
	lock_acquire(&hazard_lock);
	tree_forget_range_locked(from, to);
	lock_release(&hazard_lock);
}

/* ---- Accesses ------------------------------------------------------------ */

static struct finding judge_locked(const struct record *r, u64 addr,
				   const struct deed *d)
{
	struct finding f = { .kind = HAZARD_NONE };

	if (r)
		f = finding_of(r);
	f.addr = addr;
	f.access = *d;
	if (!r)
		f.kind = blind ? HAZARD_NONE : HAZARD_NO_OBJECT;
	else if (r->freed)
		f.kind = HAZARD_ACCESS_FREED;
	else if (clock_order_locked(d->epoch.actor, r->alloc.epoch) ==
		 ORDER_MISSING)
		f.kind = HAZARD_EARLY_ACCESS;
	return f;
}

/* Keep it, for the free. */
static int follow_locked(struct record *r, const struct deed *d)
{
	struct access *a;

	if (d->epoch.actor == ACTOR_UNKNOWN)
		return 0;
	access_prune_locked(r, &d->stream);
	a = access_add_locked(r);
	if (!a)
		return -ENOMEM;
	a->deed = *d;
	return 0;
}

int hazard_access(const struct hazard_call *by, u64 addr)
{
	struct finding f;
	struct record *r;
	struct deed d;
	int err = 0;

	lock_acquire(&hazard_lock);
	d = do_locked(by);
	r = tree_find_locked(addr);
	f = judge_locked(r, addr, &d);
	if (r && !r->freed)
		err = follow_locked(r, &d);
	if (leave(by, &f))
		return 1;
	return err ? error_set(err, "slabdev_hazard_access: no host memory to "
			       "follow an access") : 0;
}

/* ---- Order --------------------------------------------------------------- */

void hazard_record(u64 event, slabdev_stream_t stream)
{
	struct hazard_stream s;

	lock_acquire(&hazard_lock);
	s = capture_stream_locked(stream);
	event_record_locked(event, &s);
	(void)leave(NULL, NULL);
}

void hazard_wait(slabdev_stream_t stream, u64 event)
{
	lock_acquire(&hazard_lock);
	event_wait_locked(capture_stream_locked(stream), event);
	(void)leave(NULL, NULL);
}

void hazard_sync(slabdev_stream_t stream)
{
	struct hazard_stream s;

	lock_acquire(&hazard_lock);
	s = capture_stream_locked(stream);
	clock_sync_locked(&s);
	(void)leave(NULL, NULL);
}

u64 hazard_mark(slabdev_stream_t stream)
{
	struct hazard_stream s;
	u64 mark;

	lock_acquire(&hazard_lock);
	s = capture_stream_locked(stream);
	mark = event_mark_locked(&s);
	(void)leave(NULL, NULL);
	return mark;
}

void hazard_pass(u64 mark, slabdev_stream_t later)
{
	struct hazard_stream s;

	lock_acquire(&hazard_lock);
	s = capture_stream_locked(later);
	event_pass_locked(mark, later ? &s : NULL);
	(void)leave(NULL, NULL);
}

/* ---- Captures ------------------------------------------------------------ */

void hazard_capture_begin(slabdev_stream_t stream, const void *graph)
{
	lock_acquire(&hazard_lock);
	capture_begin_locked(stream, graph);
	lock_release(&hazard_lock);
}

void hazard_capture_end(const void *graph)
{
	lock_acquire(&hazard_lock);
	capture_end_locked(graph);
	lock_release(&hazard_lock);
}

void hazard_graph_release(const void *graph)
{
	lock_acquire(&hazard_lock);
	clock_end_graph_locked(graph);
	lock_release(&hazard_lock);
}

/* ---- Spaces and processes ------------------------------------------------ */

void hazard_activate(void)
{
	WRITE_ONCE(hazard_active, true);
}

void hazard_forget_space(const void *space)
{
	lock_acquire(&hazard_lock);
	tree_forget_locked(space);
	lock_release(&hazard_lock);
}

void hazard_lock_for_fork(void)
{
	lock_acquire_for_fork(&hazard_lock);
}

void hazard_unlock_for_fork(bool child)
{
	if (child) {
		capture_reset_locked();
		clock_end_all_locked();
	}
	lock_release_for_fork(&hazard_lock);
}

void hazard_reset(void)
{
	lock_acquire(&hazard_lock);
	tree_forget_locked(NULL);
	capture_reset_locked();
	event_reset_locked();
	clock_reset_locked();
	blind = false;
	lock_release(&hazard_lock);
}
