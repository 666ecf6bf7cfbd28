// SPDX-License-Identifier: BSD-2-Clause
/* pending_queue.c - records and their queues, without the events; see
 * pending.h. */
#include "core/overflow.h"
#include "slab/alloc.h"
#include "slab/barn.h"
#include "slab/guard.h"
#include "slab/pending_private.h"

/* Records that a stream looks at to find what it may have back: more are there
 * when it frees what it does not ask for, and the search would not end. */
#define OWN_TRIES 64u

/* ---- Records ---------------------------------------------------------- */

struct pending *pending_new(struct slabdev *sd)
{
	struct pendings *all = &sd->pendings;
	struct pending *p;

	lock_acquire(&all->lock);
	p = all->unused;
	if (p)
		all->unused = p->next;
	lock_release(&all->lock);
	if (!p) {
		p = metapool_alloc(&sd->pending_pool);
		if (!p)
			return NULL;
		p->nr_made = 0;
	}
	p->next = NULL;
	p->stream = NULL;
	p->handle = STREAM_NONE;
	p->sheaf = NULL;
	p->class = NULL;
	p->large = RANGE_NONE;
	p->nr_events = 0;
	return p;
}

/* It has no objects any more; its events can be recorded again. */
void pending_retire(struct slabdev *sd, struct pending *p)
{
	struct pendings *all = &sd->pendings;

	lock_acquire(&all->lock);
	p->next = all->unused;
	all->unused = p;
	lock_release(&all->lock);
}

/* ---- Books ------------------------------------------------------------ */

void pending_book(struct class *c, u64 objects)
{
	shared_add(&c->rec->pending, objects);
	shared_add(&c->sd->rec->pending_bytes, objects * c->stride);
}

void pending_unbook(struct class *c, u64 objects)
{
	shared_sub(&c->rec->pending, objects);
	shared_sub(&c->sd->rec->pending_bytes, objects * c->stride);
}

void pending_book_large(struct slabdev *sd, u32 slice)
{
	u64 bytes = large_span(sd, &sd->slabs[slice]);

	shared_add(&sd->class[CLASS_LARGE]->rec->pending, 1);
	shared_add(&sd->rec->large_pending, bytes);
	shared_add(&sd->rec->pending_bytes, bytes);
}

void pending_unbook_large(struct slabdev *sd, u32 slice)
{
	u64 bytes = large_span(sd, &sd->slabs[slice]);

	shared_sub(&sd->class[CLASS_LARGE]->rec->pending, 1);
	shared_sub(&sd->rec->large_pending, bytes);
	shared_sub(&sd->rec->pending_bytes, bytes);
}

/* ---- Queues ----------------------------------------------------------- */

struct pending_list *pending_loose_list(struct slabdev *sd,
					slabdev_stream_t handle)
{
	u64 hash = ((uintptr_t)handle >> 4) * UINT64_C(0x9e3779b97f4a7c15);

	return &sd->pendings.loose[(hash >> 32) % LOOSE_LISTS];
}

static struct pending_list *list_of(struct slabdev *sd, const struct pending *p)
{
	return p->stream ? &p->stream->queue :
			   pending_loose_list(sd, p->handle);
}

/* Where it belongs: a stream that has gone has no queue. */
static void find_place_locked(struct pending *p)
{
	if (p->stream && p->stream->gone)
		p->stream = NULL;
}

void pending_append_locked(struct slabdev *sd, struct pending *p)
{
	struct pending_list *list;

	find_place_locked(p);
	list = list_of(sd, p);
	p->next = NULL;
	if (list->last)
		list->last->next = p;
	else
		list->first = p;
	list->last = p;
}

void pending_prepend_locked(struct slabdev *sd, struct pending *p)
{
	struct pending_list *list;

	find_place_locked(p);
	list = list_of(sd, p);
	p->next = list->first;
	list->first = p;
	if (!list->last)
		list->last = p;
}

void pending_append(struct slabdev *sd, struct pending *p)
{
	lock_acquire(&sd->pendings.lock);
	pending_append_locked(sd, p);
	lock_release(&sd->pendings.lock);
}

void pending_begin_asking_locked(struct slabdev *sd)
{
	WRITE_ONCE(sd->pendings.nr_asked, sd->pendings.nr_asked + 1);
}

void pending_end_asking(struct slabdev *sd)
{
	lock_acquire(&sd->pendings.lock);
	WRITE_ONCE(sd->pendings.nr_asked, sd->pendings.nr_asked - 1);
	lock_release(&sd->pendings.lock);
}

struct pending *pending_take_first(struct slabdev *sd, struct stream *st)
{
	struct pending *p;

	lock_acquire(&sd->pendings.lock);
	p = st->queue.first;
	if (p) {
		pending_begin_asking_locked(sd);
		st->queue.first = p->next;
		if (!p->next)
			st->queue.last = NULL;
	}
	lock_release(&sd->pendings.lock);
	return p;
}

/* Unlink what comes behind @before, or first; the lock is held. */
static void unlink_locked(struct pending_list *list, struct pending *before,
			  struct pending *p)
{
	if (before)
		before->next = p->next;
	else
		list->first = p->next;
	if (list->last == p)
		list->last = before;
}

void pending_push_locked(struct pending **list, struct pending *p)
{
	p->next = *list;
	*list = p;
}

/* ---- Taking out -------------------------------------------------------- */

/* What a stream may have back of its own. */
struct want {
	const struct class *class;
	u64 large;		/* bytes */
	u64 align;
};

typedef bool (*want_fn)(const struct slabdev *sd, const struct pending *p,
			const struct want *w);

static bool has_sheaf(const struct slabdev *sd, const struct pending *p,
		      const struct want *w)
{
	(void)sd;
	return p->sheaf && p->sheaf->class == w->class->id;
}

static bool has_slot(const struct slabdev *sd, const struct pending *p,
		     const struct want *w)
{
	(void)sd;
	return p->class == w->class;
}

static bool has_large(const struct slabdev *sd, const struct pending *p,
		      const struct want *w)
{
	if (p->large == RANGE_NONE || slab_is_guard(&sd->slabs[p->large]) ||
	    large_usable(sd, sd->slabs[p->large].size) != w->large)
		return false;
	return is_aligned(space_addr(sd, slice_offset(p->large)), w->align);
}

/* Out of the queue of a stream: the first record that has it, of those that
 * are worth a look; NULL. */
static struct pending *take_own(struct slabdev *sd, struct stream *st,
				want_fn has, const struct want *w)
{
	struct pending *p, *before = NULL;
	u32 tries = OWN_TRIES;

	if (stream_is_per_thread(st))
		return NULL;
	lock_acquire(&sd->pendings.lock);
	for (p = st->queue.first; p && !has(sd, p, w); p = p->next) {
		before = p;
		if (!--tries)
			break;
	}
	if (!tries)
		p = NULL;
	if (p)
		unlink_locked(&st->queue, before, p);
	lock_release(&sd->pendings.lock);
	return p;
}

struct sheaf *pending_take_sheaf(struct class *c, struct stream *st)
{
	struct want w = { .class = c };
	struct pending *p;
	struct sheaf *s;

	if (!READ_ONCE(c->rec->pending))
		return NULL;
	p = take_own(c->sd, st, has_sheaf, &w);
	if (!p)
		return NULL;
	s = p->sheaf;
	p->sheaf = NULL;
	pending_unbook(c, s->n);
	pending_retire(c->sd, p);
	return s;
}

bool pending_take_slot(struct class *c, struct stream *st, slot_t *slot)
{
	struct want w = { .class = c };
	struct pending *p;

	if (!READ_ONCE(c->rec->pending))
		return false;
	p = take_own(c->sd, st, has_slot, &w);
	if (!p)
		return false;
	*slot = p->slot;
	p->class = NULL;
	pending_unbook(c, 1);
	pending_retire(c->sd, p);
	return true;
}

u32 pending_take_large(struct slabdev *sd, struct stream *st, u32 n, u64 align)
{
	struct want w = { .large = slice_offset(n), .align = align };
	struct pending *p;
	u32 slice;

	if (!READ_ONCE(sd->rec->large_pending))
		return RANGE_NONE;
	p = take_own(sd, st, has_large, &w);
	if (!p)
		return RANGE_NONE;
	slice = p->large;
	pending_unbook_large(sd, slice);
	pending_retire(sd, p);
	return slice;
}

static struct pending *take_match_locked(struct pending_list *list,
					 const struct class *c)
{
	struct pending *p, *before = NULL;

	for (p = list->first; p; p = p->next) {
		if (p->class == c || (p->sheaf && p->sheaf->class == c->id))
			break;
		before = p;
	}
	if (p)
		unlink_locked(list, before, p);
	return p;
}

struct pending *pending_take_match(const struct class *c, struct stream **queue)
{
	struct slabdev *sd = c->sd;
	struct pending *p = NULL;
	struct stream *st = NULL;
	u32 i;

	lock_acquire(&sd->pendings.lock);
	for (i = 0; i < READ_ONCE(sd->streams.end) && !p; i++) {
		st = load_acquire(&sd->streams.of[i]);
		if (st)
			p = take_match_locked(&st->queue, c);
	}
	*queue = p ? st : NULL;
	if (*queue)
		st->refs++;
	for (i = 0; i < LOOSE_LISTS && !p; i++)
		p = take_match_locked(&sd->pendings.loose[i], c);
	if (p)
		pending_begin_asking_locked(sd);
	lock_release(&sd->pendings.lock);
	return p;
}

/* ---- Streams that go ---------------------------------------------------- */

struct stream *pending_hold_stream(struct slabdev *sd, u32 number)
{
	struct stream *st;

	lock_acquire(&sd->pendings.lock);
	st = load_acquire(&sd->streams.of[number]);
	if (st)
		st->refs++;
	lock_release(&sd->pendings.lock);
	return st;
}

void pending_drop_stream(struct slabdev *sd, struct stream *st)
{
	bool last;

	if (!st)
		return;
	lock_acquire(&sd->pendings.lock);
	last = !--st->refs;
	lock_release(&sd->pendings.lock);
	if (last)
		metapool_free(&sd->stream_pool, st);
}

void pending_orphan(struct slabdev *sd, struct stream *st)
{
	struct pending *p;

	lock_acquire(&sd->pendings.lock);
	st->gone = true;
	while ((p = st->queue.first)) {
		st->queue.first = p->next;
		pending_append_locked(sd, p);
	}
	st->queue.last = NULL;
	lock_release(&sd->pendings.lock);
}
