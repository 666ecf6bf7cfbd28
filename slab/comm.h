/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * comm.h - memory for communication libraries, which never moves.
 *
 * Concepts. A *comm class* has slabs of one object each, whole chunks in one
 * handle (a huge run of the pool). It keeps every empty slab, whatever the
 * policy says and however short memory is, until it *ends*: when its cache is
 * destroyed, or with the space. Caches with SLABDEV_CACHE_COMM are such
 * classes; for the general calls a space makes one for each number of chunks
 * that is asked for, and their objects have sizes of their own (class->sized).
 * All else
 * - streams, graphs, walks, the books - treats them as classes.
 *
 * Callbacks. A slab is *told* when the mapped callback has accepted it, and
 * from then on it is the will_unmap callback's to know of. Whoever calls them
 * has the space's *turn*, which one thread has at a time and no lock:
 * callbacks may use the library. A new slab is published before its maker
 * looks for callbacks, and callbacks are set before their setter walks the
 * slabs, both under the space lock: one of both tells it, and .told, which
 * belongs to the turn, keeps the other from doing it again. A slab that goes
 * is unpublished first; then whoever had the turn before has told it, or
 * nobody will. Callbacks end when no slab is told.
 *
 * Locking: the space lock for the turn, the callbacks and the list of general
 * comm classes; .told of slabs: the turn.
 */
#ifndef SLAB_COMM_H
#define SLAB_COMM_H

#include "core/overflow.h"
#include "slab/slab.h"

/* Make @c a comm class of objects of up to @size bytes: false: they are more
 * than a space can have. */
bool comm_shape(struct class *c, u64 size);
/* The comm class of the general calls for @size, made on demand. */
int __must_check comm_class(struct slabdev *sd, u64 size, u64 align,
			    struct class **c);
/* Bytes that a comm object of @size has; 0: cannot be rounded. */
u64 comm_roundup(const struct slabdev *sd, u64 size);

/* The same with the zone that is behind large objects. */
static inline u64 comm_usable(const struct slabdev *sd, u64 size)
{
	u64 all;

	if (add_overflows(size, sd->large_zone, &all))
		return 0;
	return comm_roundup(sd, all);
}

/* A slab was published, nobody has its object yet. An error: it has to go. */
int __must_check comm_mapped(struct class *c, u32 slice);
/* A slab was unpublished, and is going to be unmapped. */
void comm_will_unmap(struct class *c, u32 slice);
/* The space is closing: the same for all of it. */
void comm_end(struct slabdev *sd);
/* In the child of a fork: the thread that had the turn may not be there, nor
 * the one that was about to say that a slab goes. */
void comm_forget_turn(struct slabdev *sd);
void comm_forget_slab(struct slabdev *sd, struct slab *s);

/* Does the class keep its empty slabs in any case? */
static inline bool comm_keeps(const struct class *c)
{
	return c->comm && !READ_ONCE(c->ending);
}

#endif /* SLAB_COMM_H */
