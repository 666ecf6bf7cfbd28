/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * visit.h - looking at classes that one has no object of.
 *
 * Whoever has an object of a cache, or is in a call on it, keeps it from being
 * destroyed by contract. Trim, lack of memory, walks, sums and the eviction of
 * sheaves also touch caches that their caller knows nothing of: they are
 * *visitors*. A cache that is destroyed first leaves the table, so that no new
 * visitor finds it, and goes when those have left who may have found it.
 *
 * Visitors are counted on two sides. New ones enter at the current side; to
 * wait is to change sides, once the other one is empty, and then until the old
 * one is: nobody who came later is waited for.
 *
 * Locking: the space lock inside. A visitor must not destroy a cache.
 */
#ifndef SLAB_VISIT_H
#define SLAB_VISIT_H

#include "slab/slab.h"

/* Every class found from here to visit_end(@side) stays that long. */
u32 visit_begin(struct slabdev *sd) __must_check;
void visit_end(struct slabdev *sd, u32 side);
/* Until each visitor has left who is there now. */
void visit_wait(struct slabdev *sd);

#endif /* SLAB_VISIT_H */
