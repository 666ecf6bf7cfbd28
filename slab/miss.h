/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * miss.h - allocations that the space had no memory for.
 *
 * An allocation *misses* when a slab has to be made for it, or memory to be
 * mapped; all others reuse what there is, whatever lock they take on the way.
 * The thread's heap counts what the thread has made; who allocates compares
 * before and after. What is reused is not counted: it is the rest. So counting
 * costs the fast paths nothing.
 *
 * What a thread does that has no heap, for lack of host memory, is no miss.
 */
#ifndef SLAB_MISS_H
#define SLAB_MISS_H

#include "slab/heap.h"

/* What the calling thread has made in the space so far; it wraps. */
static inline u32 miss_begin(struct slabdev *sd)
{
	return heap_get(sd)->made;
}

/* The calling thread has made a slab, or mapped memory. */
static inline void miss_made(const struct slabdev *sd)
{
	struct heap *h = thread_self->heap[sd->id];

	if (h != &heap_none)
		h->made++;
}

static inline void miss_book(struct slabdev *sd, u64 size)
{
	shared_add(&sd->rec->misses, 1);
	shared_add(&sd->rec->miss_bytes, size);
}

/* An allocation of @size bytes has succeeded that began at @before. */
static inline void miss_end(struct slabdev *sd, u32 before, u64 size)
{
	if (unlikely(miss_begin(sd) != before))
		miss_book(sd, size);
}

#endif /* SLAB_MISS_H */
