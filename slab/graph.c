// SPDX-License-Identifier: BSD-2-Clause
/* graph.c - see graph.h. */
#include <errno.h>

#include "core/log.h"
#include "core/overflow.h"
#include "slab/class.h"
#include "slab/debug.h"
#include "slab/graph.h"
#include "slab/guard.h"
#include "slab/hazard_watch.h"
#include "slab/health.h"
#include "slab/heap.h"
#include "slab/note.h"
#include "slab/pending_private.h"
#include "slab/policy.h"
#include "slab/visit.h"

static struct slabdev_graph *public_graph(struct graph *g)
{
	return (struct slabdev_graph *)g;
}

static struct graph *private_graph(struct slabdev_graph *g)
{
	return (struct graph *)g;
}

/* In the child of a fork the graph is not there, as its stream is not. */
static int graph_check(const struct graph *g, const char *call)
{
	if (!g->sd)
		return error_set(-EOWNERDEAD, "%s: the graph was captured "
				 "before this process was forked", call);
	return space_check(g->sd, call);
}

/* ---- Held objects ------------------------------------------------------- */

static u64 held_bytes(const struct slabdev *sd, u64 offset)
{
	const struct class *c = class_at(sd, offset);

	return c ? c->stride :
		   large_span(sd, &sd->slabs[offset >> SLICE_SHIFT]);
}

static void book(struct slabdev *sd, u64 offset)
{
	struct class *c = class_at(sd, offset);

	if (c)
		pending_book(c, 1);
	else
		pending_book_large(sd, (u32)(offset >> SLICE_SHIFT));
	shared_add(&sd->rec->held_bytes, held_bytes(sd, offset));
}

static void unbook(struct slabdev *sd, u64 offset)
{
	struct class *c = class_at(sd, offset);

	shared_sub(&sd->rec->held_bytes, held_bytes(sd, offset));
	if (c)
		pending_unbook(c, 1);
	else
		pending_unbook_large(sd, (u32)(offset >> SLICE_SHIFT));
}

static bool has_graph(const struct note_work *w, const struct graph *g)
{
	u32 i;

	for (i = 0; w && i < w->nr_graphs; i++)
		if (w->graph[i] == g)
			return true;
	return false;
}

int graph_join(struct graph *g, struct note_work *w)
{
	if (has_graph(w, g))
		return 0;
	if (w->nr_graphs == NOTE_GRAPHS)
		return -ENOSPC;
	w->graph[w->nr_graphs++] = g;
	return 0;
}

static void leave(struct note_work *w, const struct graph *g)
{
	u32 i;

	for (i = 0; i < w->nr_graphs; i++)
		if (w->graph[i] == g) {
			w->graph[i] = w->graph[--w->nr_graphs];
			return;
		}
}

struct graph *graph_of_free(const struct order *o, const struct note *n)
{
	struct graph *g = NULL;

	if (o->stream)
		g = load_acquire(&o->stream->graph);
	return g || !n || !n->work->nr_graphs ? g : n->work->graph[0];
}

/* Of a graph that has the object: others may have it too. */
static void push_locked(struct graph *g, struct note *n)
{
	n->next = g->held;
	g->held = n;
}

/* Is all work on it, but the graph's, known to come before the free? */
static bool is_freed_in(const struct graph *g, const struct order *o,
			const struct note_work *w)
{
	u32 i;

	if (!g->stream || o->stream != g->stream)
		return false;
	for (i = 0; i < w->nr; i++)
		if (w->use[i].stream != o->handle)
			return false;
	return true;
}

/* A note with work, of an object that needed none before; NULL: no memory. */
static struct note *note_for(struct slabdev *sd)
{
	struct note *n = note_new(sd);

	if (!n || note_work(sd, n))
		return n;
	note_free(sd, n);
	return NULL;
}

void graph_put(struct graph *g, const struct order *o, u64 offset,
	       struct note *n)
{
	struct slabdev *sd = g->sd;

	book(sd, offset);
	if (!n)
		n = note_for(sd);
	if (!n) {
		pr_warn("space %s: no host memory to remember what a graph "
			"holds: it stays pending for ever", sd->name);
		return;
	}
	n->offset = offset;
	n->work->elsewhere = !is_freed_in(g, o, n->work);
	note_forget_uses(sd, n);
	lock_acquire(&sd->notes.lock);
	/* What more graphs than there is room for have, the first one holds. */
	if (graph_join(g, n->work))
		g = n->work->graph[0];
	push_locked(g, n);
	lock_release(&sd->notes.lock);
}

static bool is_wanted(const struct slabdev *sd, u64 offset,
		      const struct class *c, u64 usable, u64 align)
{
	if (c)
		return class_at(sd, offset) == c;
	return !class_at(sd, offset) &&
	       !slab_is_guard(&sd->slabs[offset >> SLICE_SHIFT]) &&
	       held_bytes(sd, offset) == usable &&
	       is_aligned(space_addr(sd, offset), align);
}

/* An object of a class, or (NULL) a large one, out of the list and the books;
 * NULL: there is none. */
static struct note *take_held(struct graph *g, const struct class *c,
			      u64 usable, u64 align)
{
	struct slabdev *sd = g->sd;
	struct note **at, *n;

	lock_acquire(&sd->notes.lock);
	for (at = &g->held; (n = *at); at = &n->next)
		if (n->work->nr_graphs == 1 && !n->work->elsewhere &&
		    is_wanted(sd, n->offset, c, usable, align))
			break;
	if (n)
		*at = n->next;
	lock_release(&sd->notes.lock);
	if (n)
		unbook(sd, n->offset);
	return n;
}

u32 graph_take_large(struct graph *g, u64 usable, u64 align, struct note **held)
{
	*held = take_held(g, NULL, usable, align);
	return *held ? (u32)((*held)->offset >> SLICE_SHIFT) : RANGE_NONE;
}

/* ---- Allocation --------------------------------------------------------- */

int graph_own(struct graph *g, u64 offset, struct note *held, u64 zone)
{
	struct slabdev *sd = g->sd;
	struct note *n = held;

	lock_acquire(&sd->notes.lock);
	if (held)
		note_again_locked(sd, held);
	else
		n = note_early_locked(sd, offset);
	if (n) {
		/* There is room: it is new, or has this graph alone. */
		(void)graph_join(g, n->work);
		n->work->zone = zone;
	}
	lock_release(&sd->notes.lock);
	return n ? 0 : error_set(-ENOMEM, "%s: no host memory for a note on "
				 "an object", sd->name);
}

/* What the graph holds, or complete memory. 0, or a negative errno. */
static int find_slot(struct graph *g, struct class *c, unsigned int flags,
		     slot_t *slot, struct note **held)
{
	int n;

	*held = take_held(g, c, 0, 0);
	if (*held) {
		*slot = (slot_t)((*held)->offset >> c->shift);
		return 0;
	}
	n = class_get(c, slot, 1, 1, flags | GET_FOR_GRAPH);
	return n < 0 ? n : 0;
}

void *graph_alloc(struct graph *g, struct class *c, u64 size,
		  unsigned int flags)
{
	struct heap *own = heap_get(g->sd);
	struct note *held;
	u64 zone = 0;
	slot_t slot;
	int err;

	err = find_slot(g, c, flags, &slot, &held);
	if (err)
		return alloc_failed(g->sd, c, err);
	if (class_is_debugged(c))
		zone = graph_zone_begin(c, slot, size);
	err = graph_own(g, slot_offset(c, slot), held, zone);
	if (!err)
		return object_begin(own, c, slot, size, true);
	/* It is new. */
	class_put(c, &slot, 1, DOMAIN_COMPLETE);
	return alloc_failed(g->sd, c, err);
}

/* ---- Captures ----------------------------------------------------------- */

static int check_begin(struct slabdev *sd, slabdev_stream_t *stream,
		       struct slabdev_graph **graph)
{
	int err = space_check(sd, "slabdev_capture_begin");

	if (err)
		return err;
	if (!graph)
		return error_set(-EINVAL,
				 "slabdev_capture_begin: graph is NULL");
	*stream = stream_canonical(sd, *stream);
	if (!*stream || *stream == SLABDEV_STREAM_LEGACY)
		return error_set(-EINVAL, "slabdev_capture_begin: the %s "
				 "cannot be captured", *stream ?
				 "legacy default stream" : "CPU");
	return vmm_check_stream(&sd->vmm, *stream);
}

/* The stream is the graph's from here on, unless it is another one's. */
static int occupy(struct slabdev *sd, struct stream *st, struct graph *g)
{
	int err = 0;

	lock_acquire(&sd->streams.lock);
	if (st->graph)
		err = error_set(-EBUSY, "slabdev_capture_begin: %s: a capture "
				"of the stream is declared already", sd->name);
	else
		store_release(&st->graph, g);
	if (!err)
		WRITE_ONCE(sd->streams.nr_captures,
			   sd->streams.nr_captures + 1);
	lock_release(&sd->streams.lock);
	return err;
}

static void vacate(struct slabdev *sd, struct stream *st)
{
	lock_acquire(&sd->streams.lock);
	store_release(&st->graph, (struct graph *)NULL);
	WRITE_ONCE(sd->streams.nr_captures, sd->streams.nr_captures - 1);
	lock_release(&sd->streams.lock);
}

static bool is_used_on(const struct note_work *w, slabdev_stream_t stream)
{
	u32 i;

	for (i = 0; w && i < w->nr; i++)
		if (w->use[i].stream == stream)
			return true;
	return false;
}

/*
 * Work on the stream was said to use the object, and may go on to do so in the
 * capture, during which no event can be recorded there. What more graphs have
 * than there is room for stays with those.
 */
static void adopt_used(struct slabdev *sd, struct note *n, void *arg)
{
	struct graph *g = arg;

	(void)sd;
	if (is_used_on(n->work, g->stream->handle))
		(void)graph_join(g, n->work);
}

static void link_graph(struct slabdev *sd, struct graph *g)
{
	lock_acquire(&sd->notes.lock);
	list_add_tail(&g->link, &sd->graphs);
	WRITE_ONCE(sd->rec->nr_graphs, sd->rec->nr_graphs + 1);
	note_each_locked(sd, adopt_used, g);
	lock_release(&sd->notes.lock);
}

/* During the capture nothing is asked: what is done by now it may have. */
static void settle_before(struct slabdev *sd)
{
	char text[ERROR_TEXT_MAX];

	if (READ_ONCE(sd->streams.nr_captures))
		return;
	error_save(text);
	pending_poll(sd);
	(void)vmm_settle_briefly(&sd->vmm);
	error_restore(text);
}

/* What the stream has freed so far is not the graph's: it leaves the sheaves,
 * and the fast paths do not find the stream any more. */
static int begin(struct slabdev *sd, struct stream *st, struct graph *g)
{
	int err;

	settle_before(sd);
	if (st->handle == sd->stream)
		policy_begin_capture(sd, st);
	else if (!stream_flush(sd, st))
		return error_set(-EBUSY, "slabdev_capture_begin: %s: a thread "
				 "is still inside a call on the stream",
				 sd->name);
	heap_release_stream(sd, st);
	err = occupy(sd, st, g);
	if (err && st->handle == sd->stream)
		policy_end_capture(sd, st);
	if (err)
		return err;
	/* Thieves may have sheaves of it in their hands, and record in it. */
	visit_wait(sd);
	streams_await_quiesce(sd);
	return 0;
}

#undef slabdev_capture_begin
int slabdev_capture_begin(struct slabdev *sd, slabdev_stream_t stream,
			  struct slabdev_graph **graph)
{
	struct stream *st;
	struct graph *g;
	int err = check_begin(sd, &stream, graph);

	if (err)
		return err;
	g = metapool_alloc(&sd->graph_pool);
	if (!g)
		return error_set(-ENOMEM, "slabdev_capture_begin: %s: no host "
				 "memory for a graph", sd->name);
	list_init(&g->link);
	g->sd = sd;
	err = stream_get(sd, stream, false, &st);
	if (err)
		goto free_graph;
	err = begin(sd, st, g);
	if (err)
		goto put_stream;
	g->stream = st;
	link_graph(sd, g);
	watch_capture(sd, st->handle, g);
	*graph = public_graph(g);
	return 0;

put_stream:
	stream_put(sd, st);
free_graph:
	metapool_free(&sd->graph_pool, g);
	return err;
}

int slabdev_capture_end(struct slabdev_graph *graph)
{
	struct graph *g = private_graph(graph);
	struct stream *st;
	int err = g ? graph_check(g, "slabdev_capture_end") : 0;

	if (err)
		return err;
	if (!g || !g->stream)
		return error_set(-EINVAL, "slabdev_capture_end: %s",
				 g ? "the capture has ended already" :
				     "graph is NULL");
	st = g->stream;
	watch_capture_end(g->sd, g);
	g->stream = NULL;
	vacate(g->sd, st);
	if (st->handle == g->sd->stream)
		policy_end_capture(g->sd, st);
	stream_put(g->sd, st);
	return 0;
}

/* ---- Release ------------------------------------------------------------ */

static void disown(struct slabdev *sd, struct note *n, void *arg)
{
	if (!has_graph(n->work, arg))
		return;
	leave(n->work, arg);
	note_put_locked(sd, n);
}

static void free_object(struct slabdev *sd, u64 offset)
{
	struct class *c = class_at(sd, offset);
	slot_t slot;

	unbook(sd, offset);
	if (!c) {
		large_give_back(sd, (u32)(offset >> SLICE_SHIFT),
				DOMAIN_COMPLETE);
		return;
	}
	slot = (slot_t)(offset >> c->shift);
	class_put(c, &slot, 1, DOMAIN_COMPLETE);
}

static void free_held(struct graph *g)
{
	u32 side = visit_begin(g->sd);
	struct note *n;

	while ((n = g->held)) {
		g->held = n->next;
		free_object(g->sd, n->offset);
		note_free(g->sd, n);
	}
	visit_end(g->sd, side);
}

/* What others have too is theirs to hold. */
static void leave_held_locked(struct graph *g, struct graph *h)
{
	struct note *n, *keep = NULL;

	while ((n = h->held)) {
		h->held = n->next;
		leave(n->work, g);
		if (h == g && n->work->nr_graphs) {
			push_locked(n->work->graph[0], n);
			continue;
		}
		n->next = keep;
		keep = n;
	}
	h->held = keep;
}

static void unlink_graph(struct graph *g)
{
	struct slabdev *sd = g->sd;
	struct graph *h;

	lock_acquire(&sd->notes.lock);
	note_each_locked(sd, disown, g);
	list_for_each_entry(h, &sd->graphs, link)
		leave_held_locked(g, h);
	list_del(&g->link);
	WRITE_ONCE(sd->rec->nr_graphs, sd->rec->nr_graphs - 1);
	lock_release(&sd->notes.lock);
}

int slabdev_graph_release(struct slabdev_graph *graph)
{
	struct graph *g = private_graph(graph);
	struct slabdev *sd;
	int err;

	if (!g)
		return 0;
	err = graph_check(g, "slabdev_graph_release");
	if (err)
		return err;
	if (g->stream)
		return error_set(-EBUSY, "slabdev_graph_release: the capture "
				 "has not ended");
	sd = g->sd;
	watch_release(sd, g);
	change_begin(sd);
	unlink_graph(g);
	free_held(g);
	change_end(sd);
	metapool_free(&sd->graph_pool, g);
	return 0;
}

u32 graphs_count(const struct slabdev *sd)
{
	return READ_ONCE(sd->rec->nr_graphs);
}

void graphs_end(struct slabdev *sd)
{
	struct graph *g;

	list_for_each_entry(g, &sd->graphs, link)
		free_held(g);
}

void graphs_forget(struct slabdev *sd)
{
	struct graph *g;

	list_for_each_entry(g, &sd->graphs, link)
		g->sd = NULL;
	list_init(&sd->graphs);
}
