/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fast.h - what the fast paths are made of (alloc.c, async.c).
 */
#ifndef SLAB_FAST_H
#define SLAB_FAST_H

#include "slab/alloc.h"
#include "slab/heap.h"
#include "slab/probe.h"

static __always_inline void count_alloc(struct slabdev_seg_counters *n,
					u64 size)
{
	count_add(&n->allocs, 1);
	count_add(&n->alloc_bytes, size);
}

static __always_inline void count_free(struct slabdev_seg_counters *n,
				       u64 size)
{
	count_add(&n->frees, 1);
	count_add(&n->free_bytes, size);
}

/* How each hit ends: the address of an object of @size bytes. */
static __always_inline void *fast_ptr(const struct slabdev *sd, slot_t slot,
				      u64 size)
{
	u64 offset = (u64)slot << GRANULE_SHIFT;
	void *p;

	if (unlikely(slot >= sd->fast_slots))
		return alloc_far(sd, slot);
	p = to_ptr(sd->base + offset);
	probe_alloc(sd, p, size);
	return p;
}

/*
 * The granule of an address that has a tag; false: take the slow path. Bits
 * below a granule, rotated to the top, are beyond every space too.
 */
static __always_inline bool fast_slot(const struct slabdev *sd, const void *p,
				      slot_t *slot)
{
	u64 offset = (u64)(uintptr_t)p - sd->base;
	u64 granule = offset >> GRANULE_SHIFT | offset << (64 - GRANULE_SHIFT);

	*slot = (slot_t)granule;
	return likely(granule < READ_ONCE(sd->free_slots));
}

#endif /* SLAB_FAST_H */
