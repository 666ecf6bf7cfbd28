/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * barn.h - full and empty sheaves of a class, shared by all threads.
 *
 * Threads trade here: an empty sheaf for a full one, or the reverse, one lock
 * for a whole sheaf. That is what makes one thread allocating and another one
 * freeing as cheap as each for itself. A barn keeps about 256 KiB of objects
 * in full sheaves; what comes beyond goes back to the slabs, so that memory
 * does not pile up where nobody wants it.
 *
 * Also the memory of sheaves: three sizes, type-stable until the space is
 * closed.
 *
 * Locking: barn lock inside; nothing is called with it held.
 */
#ifndef SLAB_BARN_H
#define SLAB_BARN_H

#include "slab/slab.h"

/* Full sheaves that the barn of a class may keep. */
u32 barn_limit(u64 stride, u32 sheaf_cap);

void sheaf_pools_init(struct slabdev *sd);
void sheaf_pools_fini(struct slabdev *sd);

/* An empty sheaf, from the barn or new; NULL: no host memory. */
struct sheaf *sheaf_new(struct class *c) __must_check;
/* To the barn, or back to host memory. @s is empty, or sheaf_none. */
void sheaf_drop(struct class *c, struct sheaf *s);

/* A full sheaf for an empty one (or for sheaf_none), of complete objects if
 * @complete; NULL: there is none, and @empty is still the caller's. */
struct sheaf *barn_take_full(struct class *c, struct sheaf *empty,
			     bool complete);
/* Leave a full sheaf; false: the barn has enough. */
bool barn_put_full(struct class *c, struct sheaf *full);
/* Everything out: objects to the slabs, sheaves to host memory. */
void barn_flush(struct class *c);

/* After a fork: what is in the full sheaves is known to be in the slabs. */
void barn_forget(struct class *c);

#endif /* SLAB_BARN_H */
