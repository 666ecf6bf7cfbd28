// SPDX-License-Identifier: BSD-2-Clause
/* steal.c - the thief's side; see steal.h. */
#include "core/os.h"
#include "slab/barn.h"
#include "slab/class.h"
#include "slab/heap.h"
#include "slab/pending.h"
#include "slab/quarantine.h"
#include "slab/steal.h"
#include "slab/visit.h"

#define SPIN_TRIES 1000u
#define SLEEP_TRIES 1000u
#define SLEEP_US 1000u

/* Out of the bin, onto the heap's list. */
static void steal_sheaf(struct heap *h, struct sheaf **where)
{
	struct sheaf *s = bin_take(where);

	if (s == &sheaf_none)
		return;
	s->next = h->stolen;
	h->stolen = s;
}

static void steal_bin(struct heap *h, struct bin *b)
{
	steal_sheaf(h, &b->main);
	steal_sheaf(h, &b->spare);
}

/* What is to be taken back: everything, of a class, or of a stream. */
struct loot {
	struct class *class;		/* NULL: of all */
	const struct stream *stream;	/* NULL: of all, and of own heaps */
	struct sheaf *sheaves;
};

static void steal_heap_locked(struct heap *h, struct class *c)
{
	u32 window, i;

	if (c) {
		struct bin *b = heap_bin(h, c);

		if (b)
			steal_bin(h, b);
		return;
	}
	for (window = 0; window < NR_WINDOWS; window++)
		for (i = 0; h->bins[window] && i < CLASS_WINDOW; i++)
			steal_bin(h, &h->bins[window][i]);
}

/* Wait until the owner is in no fast path that began before the barrier. */
static bool wait_idle(struct heap *h)
{
	u32 i;

	/* Pairs with the release in the fast paths: what the owner did to a
	 * stolen sheaf is visible when busy is seen clear. */
	for (i = 0; load_acquire(&h->busy); i++) {
		if (i >= SPIN_TRIES + SLEEP_TRIES)
			return false;
		if (i < SPIN_TRIES)
			os_yield();
		else
			os_sleep_us(SLEEP_US);
	}
	return true;
}

/*
 * No event of another thread reaches a default stream that each thread has for
 * itself.
 */
static void note_domain(const struct heap *h, struct sheaf *s)
{
	if (h->stream && stream_is_per_thread(h->stream) &&
	    h->thread != thread_self)
		s->domain = DOMAIN_UNPROVEN;
}

/* Move what was stolen from a heap to @all, when it is safe to touch. */
static bool collect_locked(struct heap *h, struct sheaf **all)
{
	struct sheaf *s = h->stolen, *next;

	if (!s)
		return true;
	if (!wait_idle(h))
		return false;
	h->stolen = NULL;
	for (; s; s = next) {
		next = s->next;
		shared_add(&h->sd->class[s->class]->rec->stolen, s->n);
		heap_uncharge(h, s);
		note_domain(h, s);
		s->next = *all;
		*all = s;
	}
	return true;
}

static void flush_class(struct class *c)
{
	barn_flush(c);
	quarantine_empty(c);
	class_drop_empty(c);
}

/* The heaps of a thread. True: some had something. */
static bool steal_thread_locked(struct heap *own, const struct loot *l)
{
	bool any = false;
	struct heap *h;

	for (h = own; h; h = h->next) {
		if (l->stream && h->stream != l->stream)
			continue;
		steal_heap_locked(h, l->class);
		any |= h->stolen != NULL;
	}
	return any;
}

static bool collect_thread_locked(struct heap *own, struct loot *l)
{
	bool complete = true;
	struct heap *h;

	for (h = own; h; h = h->next)
		if (!l->stream || h->stream == l->stream)
			complete &= collect_locked(h, &l->sheaves);
	return complete;
}

/* The sheaves that all heaps held of what @l says. */
static bool steal(struct slabdev *sd, struct loot *l)
{
	struct heap *h;
	bool any = false, complete = true;

	lock_acquire(&sd->heaps_lock);
	list_for_each_entry(h, &sd->heaps, link)
		any |= steal_thread_locked(h, l);
	/* Without the barrier busy says nothing: what was stolen waits. */
	if (any && os_membarrier())
		complete = false;
	else
		list_for_each_entry(h, &sd->heaps, link)
			complete &= collect_thread_locked(h, l);
	lock_release(&sd->heaps_lock);
	return complete;
}

static void return_sheaves(struct slabdev *sd, struct loot *l)
{
	struct sheaf *s;

	while ((s = l->sheaves)) {
		l->sheaves = s->next;
		sheaf_return(sd, s);
	}
}

bool take_back_stream(struct slabdev *sd, const struct stream *st)
{
	struct loot l = { .stream = st };
	bool complete = steal(sd, &l);

	return_sheaves(sd, &l);
	return complete;
}

static bool take_back_visiting(struct slabdev *sd, struct class *c)
{
	struct loot l = { .class = c };
	bool complete = steal(sd, &l);
	u32 id;

	return_sheaves(sd, &l);
	pending_poll(sd);
	if (c) {
		flush_class(c);
		return complete;
	}
	for (id = 1; id < CLASS_MAX; id++) {
		c = load_acquire(&sd->class[id]);
		if (c)
			flush_class(c);
	}
	return complete;
}

bool take_back(struct slabdev *sd, struct class *c)
{
	u32 side = visit_begin(sd);
	bool complete;

	change_begin(sd);
	complete = take_back_visiting(sd, c);
	change_end(sd);
	visit_end(sd, side);
	return complete;
}
