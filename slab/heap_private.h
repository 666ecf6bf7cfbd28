/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heap_private.h - what the files heap*.c share.
 */
#ifndef SLAB_HEAP_PRIVATE_H
#define SLAB_HEAP_PRIVATE_H

#include "slab/heap.h"

/* Make the bins and counters of a later window; NULL: no host memory. */
struct bin *heap_add_window(struct heap *h, u32 window);

/* Empty a sheaf that left its bin, and be rid of it. */
static inline void discard(struct heap *h, struct sheaf *s)
{
	if (s == &sheaf_none)
		return;
	heap_uncharge(h, s);
	sheaf_return(h->sd, s);
}

#endif /* SLAB_HEAP_PRIVATE_H */
