/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slab_make.h - slabs come from the pool, and go back.
 *
 * A new slab has its run of slices, its constructed objects and its descriptor
 * before anybody can find an object of it; it is in no list yet. One that goes
 * was unpublished before, so that nobody looks at it any more.
 *
 * Locking: none is held but where a name says so; the slab is the caller's.
 */
#ifndef SLAB_SLAB_MAKE_H
#define SLAB_SLAB_MAKE_H

#include "slab/slab.h"

/* With GET_ flags: 0 and *@slice, 1 when the class got free objects otherwise,
 * or a negative errno. */
int __must_check slab_make(struct class *c, unsigned int flags, u32 *slice);
/* The slab is the class's no more: walks that hold the class lock do not see
 * it. */
void slab_give_up_locked(struct class *c, u32 slice);
/* After that: its memory goes. */
void slab_give_back(struct class *c, u32 slice);

/*
 * Slabs of a constructed class are as new as their construction, and a stream
 * that asks for one has to wait for that. A capture can not: -EBUSY, before one
 * is made.
 */
int __must_check slab_may_be_new(const struct class *c, unsigned int flags);
/* After one was made: wait, as far as @flags allow. */
int __must_check slab_settle_new(const struct class *c, unsigned int flags);

#endif /* SLAB_SLAB_MAKE_H */
