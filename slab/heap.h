/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heap.h - a thread's sheaves in one space, and how they are refilled.
 *
 * A heap is made by the first slow path of a thread in a space, and goes with
 * the thread or the space. Its sheaves are charged by what they may hold
 * (capacity * stride). When the thread's budget, or that of all threads, is
 * full, operations of a class without a sheaf go straight to the slabs, and
 * every few of them evict the sheaf that was gained longest ago: so the budget
 * follows the work, without classes that take turns evicting each other.
 *
 * Slow paths take the sheaves they work on out of the bin by exchange and put
 * them back when done: in between they are private, and a thief finds the
 * empty sheaf.
 *
 * Locking: the heaps lock for the list of heaps; none for the owner's sheaves.
 */
#ifndef SLAB_HEAP_H
#define SLAB_HEAP_H

#include "slab/slab.h"
#include "slab/stream.h"

/* The calling thread's heap, made if need be; &heap_none: no host memory. */
struct heap *heap_get(struct slabdev *sd);

/* The thread's heap for an attached stream, made if need be, and the one that
 * the fast paths look at next; NULL: no host memory. */
struct heap *heap_of_stream(struct heap *own, struct stream *st);
/* No heap has the stream any more. Their sheaves were taken. */
void heap_release_stream(struct slabdev *sd, const struct stream *st);

/*
 * heap_alloc_slow - a free object when the main sheaf has none
 * heap_free_slow - keep a free object when the main sheaf is full
 *
 * The object is not live yet / any more. heap_alloc_slow() returns 0, 1 when
 * it left the thread's own sheaves (a refill, for the caller to count), or a
 * negative errno; freeing cannot fail.
 */
int __must_check heap_alloc_slow(struct heap *h, struct class *c,
				 unsigned int flags, slot_t *slot);
void heap_free_slow(struct heap *h, struct class *c, slot_t slot);

/* Count in the thread's block, or for heap_none in the retired counters. */
void heap_count_alloc(struct heap *h, struct class *c, u64 size);
void heap_count_free(struct heap *h, struct class *c, u64 size);
/* The object was allocated and freed, and its caller never had it. */
void heap_uncount(struct heap *h, struct class *c, u64 size);
void heap_count_resize(struct heap *h, struct class *c, u64 from, u64 to);

/* A sheaf left a bin of @h for good; under the heaps lock for a thief. */
void heap_uncharge(struct heap *h, const struct sheaf *s);
/* What is in it goes to the barn or the slabs, the sheaf too. */
void sheaf_return(struct slabdev *sd, struct sheaf *s);

/* The thread ends (callback of core/thread.h). */
void heap_thread_exit(struct thread *t);
/* All heaps of a space that is being closed. */
void heap_detach_all(struct slabdev *sd);
/* In the child of a fork, all locks held: forget every sheaf, and the heaps of
 * threads that are not here. */
void heap_forget_all(struct slabdev *sd);
/* This thread's heap in a space that did not survive. */
void heap_abandon(struct slabdev *sd);

/*
 * The fast halves (slab.h, section 4): between the two stores to busy a thief
 * cannot have the sheaf that main pointed to. False: nothing was done, take
 * the slow path.
 */
static __always_inline bool sheaf_pop(struct heap *h, struct bin *b,
				      slot_t *slot)
{
	struct sheaf *s;
	u32 n;

	WRITE_ONCE(h->busy, 1);
	barrier();
	s = READ_ONCE(b->main);
	n = s->n;
	if (unlikely(!n)) {
		store_release(&h->busy, 0);
		return false;
	}
	n--;
	*slot = s->slot[n];
	s->n = n;
	/* Pairs with the acquire of a thief that waits. */
	store_release(&h->busy, 0);
	return true;
}

static __always_inline bool sheaf_push(struct heap *h, struct bin *b,
				       slot_t slot)
{
	struct sheaf *s;
	u32 n;

	WRITE_ONCE(h->busy, 1);
	barrier();
	s = READ_ONCE(b->main);
	n = s->n;
	if (unlikely(n == s->cap)) {
		store_release(&h->busy, 0);
		return false;
	}
	s->slot[n] = slot;
	s->n = n + 1;
	/* Pairs with the acquire of a thief that waits. */
	store_release(&h->busy, 0);
	return true;
}

/* A bin's sheaf, taken out; sheaf_none if there was none. */
static inline struct sheaf *bin_take(struct sheaf **where)
{
	return __atomic_exchange_n(where, &sheaf_none, __ATOMIC_ACQ_REL);
}

/* The bins of a class's window; NULL: the heap has none yet. */
static inline struct bin *heap_bin(struct heap *h, const struct class *c)
{
	struct bin *bins = h->bins[c->id / CLASS_WINDOW];

	return bins ? &bins[c->id % CLASS_WINDOW] : NULL;
}

#endif /* SLAB_HEAP_H */
