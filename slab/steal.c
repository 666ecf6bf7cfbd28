// SPDX-License-Identifier: BSD-2-Clause
/* steal.c - the thief's side; see steal.h. */
#include "core/os.h"
#include "slab/barn.h"
#include "slab/class.h"
#include "slab/heap.h"
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
		s->next = *all;
		*all = s;
	}
	return true;
}

static void flush_class(struct class *c)
{
	barn_flush(c);
	class_drop_empty(c);
}

/* The sheaves that all heaps held of @c, or of every class. */
static bool steal(struct slabdev *sd, struct class *c, struct sheaf **all)
{
	struct heap *h;
	bool any = false, complete = true;

	lock_acquire(&sd->heaps_lock);
	list_for_each_entry(h, &sd->heaps, link) {
		steal_heap_locked(h, c);
		any |= h->stolen != NULL;
	}
	/* Without the barrier busy says nothing: what was stolen waits. */
	if (any && os_membarrier())
		complete = false;
	else
		list_for_each_entry(h, &sd->heaps, link)
			complete &= collect_locked(h, all);
	lock_release(&sd->heaps_lock);
	return complete;
}

static bool take_back_visiting(struct slabdev *sd, struct class *c)
{
	struct sheaf *s, *all = NULL;
	bool complete = steal(sd, c, &all);
	u32 id;

	while ((s = all)) {
		all = s->next;
		sheaf_return(sd, s);
	}
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
