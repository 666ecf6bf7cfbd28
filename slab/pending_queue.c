// SPDX-License-Identifier: BSD-2-Clause
/* pending_queue.c - records and their queues, without the events; see
 * pending.h. */
#include "core/overflow.h"
#include "slab/alloc.h"
#include "slab/barn.h"
#include "slab/pending_private.h"

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
	p->sheaves = NULL;
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
	u64 bytes = large_roundup(sd->slabs[slice].size);

	shared_add(&sd->class[CLASS_LARGE]->rec->pending, 1);
	shared_add(&sd->rec->large_pending, bytes);
	shared_add(&sd->rec->pending_bytes, bytes);
}

void pending_unbook_large(struct slabdev *sd, u32 slice)
{
	u64 bytes = large_roundup(sd->slabs[slice].size);

	shared_sub(&sd->class[CLASS_LARGE]->rec->pending, 1);
	shared_sub(&sd->rec->large_pending, bytes);
	shared_sub(&sd->rec->pending_bytes, bytes);
}

/* ---- Queues ----------------------------------------------------------- */

void pending_queue_of(struct slabdev *sd, struct stream *st,
		     struct pending ***first, struct pending ***last)
{
	*first = st ? &st->first : &sd->pendings.loose;
	*last = st ? &st->last : &sd->pendings.loose_last;
}

void pending_append_locked(struct slabdev *sd, struct pending *p)
{
	struct pending **first, **last;

	pending_queue_of(sd, p->stream, &first, &last);
	p->next = NULL;
	if (*last)
		(*last)->next = p;
	else
		*first = p;
	*last = p;
}

void pending_prepend_locked(struct slabdev *sd, struct pending *p)
{
	struct pending **first, **last;

	pending_queue_of(sd, p->stream, &first, &last);
	p->next = *first;
	*first = p;
	if (!*last)
		*last = p;
}

void pending_append(struct slabdev *sd, struct pending *p)
{
	lock_acquire(&sd->pendings.lock);
	pending_append_locked(sd, p);
	lock_release(&sd->pendings.lock);
}

struct pending *pending_take_first(struct slabdev *sd, struct stream *st)
{
	struct pending **first, **last, *p;

	pending_queue_of(sd, st, &first, &last);
	lock_acquire(&sd->pendings.lock);
	p = *first;
	if (p) {
		*first = p->next;
		if (!*first)
			*last = NULL;
	}
	lock_release(&sd->pendings.lock);
	return p;
}

/* Unlink what comes behind @before, or first; the lock is held. */
static void unlink_locked(struct slabdev *sd, struct stream *st,
			  struct pending *before, struct pending *p)
{
	struct pending **first, **last;

	pending_queue_of(sd, st, &first, &last);
	if (before)
		before->next = p->next;
	else
		*first = p->next;
	if (*last == p)
		*last = before;
}

void pending_push_locked(struct pending **list, struct pending *p)
{
	p->next = *list;
	*list = p;
}

/* ---- Taking out -------------------------------------------------------- */

/* The record of @st's queue that has a sheaf of the class, and what is before
 * it there. */
static struct pending *find_sheaf_locked(struct stream *st, const struct class *c,
					 struct pending **before)
{
	struct pending *p;

	*before = NULL;
	for (p = st->first; p; p = p->next) {
		if (p->sheaves && p->sheaves->class == c->id)
			return p;
		*before = p;
	}
	return NULL;
}

struct sheaf *pending_take_sheaf(struct class *c, struct stream *st)
{
	struct slabdev *sd = c->sd;
	struct pending *p, *before;
	struct sheaf *s;

	if (!READ_ONCE(c->rec->pending) || stream_is_per_thread(st))
		return NULL;
	lock_acquire(&sd->pendings.lock);
	p = find_sheaf_locked(st, c, &before);
	if (p)
		unlink_locked(sd, st, before, p);
	lock_release(&sd->pendings.lock);
	if (!p)
		return NULL;
	s = p->sheaves;
	p->sheaves = NULL;
	pending_unbook(c, s->n);
	pending_retire(sd, p);
	return s;
}

static bool is_large_of(const struct slabdev *sd, const struct pending *p,
			u32 n, u64 align)
{
	u64 addr;

	if (p->large == RANGE_NONE ||
	    large_roundup(sd->slabs[p->large].size) != slice_offset(n))
		return false;
	addr = space_addr(sd, slice_offset(p->large));
	return is_aligned(addr, align);
}

u32 pending_take_large(struct slabdev *sd, struct stream *st, u32 n, u64 align)
{
	struct pending *p, *before = NULL;
	u32 slice;

	if (!READ_ONCE(sd->rec->large_pending) || stream_is_per_thread(st))
		return RANGE_NONE;
	lock_acquire(&sd->pendings.lock);
	for (p = st->first; p && !is_large_of(sd, p, n, align); p = p->next)
		before = p;
	if (p)
		unlink_locked(sd, st, before, p);
	lock_release(&sd->pendings.lock);
	if (!p)
		return RANGE_NONE;
	slice = p->large;
	pending_unbook_large(sd, slice);
	pending_retire(sd, p);
	return slice;
}

static struct pending *take_match_locked(struct slabdev *sd, struct stream *st,
					 const struct class *c)
{
	struct pending **first, **last, *p, *before = NULL;

	pending_queue_of(sd, st, &first, &last);
	for (p = *first; p; p = p->next) {
		if (p->class == c || (p->sheaves && p->sheaves->class == c->id))
			break;
		before = p;
	}
	if (p)
		unlink_locked(sd, st, before, p);
	return p;
}

struct pending *pending_take_match(const struct class *c)
{
	struct slabdev *sd = c->sd;
	struct pending *p = NULL;
	struct stream *st;
	u32 i;

	lock_acquire(&sd->pendings.lock);
	for (i = 0; i < READ_ONCE(sd->streams.end) && !p; i++) {
		st = load_acquire(&sd->streams.of[i]);
		if (st)
			p = take_match_locked(sd, st, c);
	}
	if (!p)
		p = take_match_locked(sd, NULL, c);
	lock_release(&sd->pendings.lock);
	return p;
}

void pending_orphan(struct slabdev *sd, struct stream *st)
{
	struct pending *p;

	lock_acquire(&sd->pendings.lock);
	while ((p = st->first)) {
		st->first = p->next;
		p->stream = NULL;
		pending_append_locked(sd, p);
	}
	st->last = NULL;
	lock_release(&sd->pendings.lock);
}
