/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * origin.h - what each stack of the program has allocated, or freed.
 *
 * An *origin* is a stack and what it did: allocate, or free. It has a number,
 * and a record of fixed size in a TRACES segment, where slabinfo finds it: the
 * frames, and sums over the objects that are live and came from there, or that
 * are free and were last freed there. Origins stay until the space is closed.
 *
 * Stacks have handles (core/depot.h). A table from handles to numbers is
 * searched without a lock: an entry is filled once, last. The record, and the
 * segment that it is in, are made under the heaps lock before that; the frames
 * are looked up with no lock at all (core/module.h).
 *
 * Numbers 0 and 1 are for what cannot be told apart: objects without a stack,
 * since there was no memory for it, and those of further stacks when there are
 * ORIGIN_MAX. What a handle's number is never changes, so that what was added
 * to one record is taken from the same.
 *
 * The sums are changed by atomic additions.
 */
#ifndef SLAB_ORIGIN_H
#define SLAB_ORIGIN_H

#include "slab/slab.h"

#define ORIGIN_MAX 8192u
#define ORIGIN_SLOTS (2 * ORIGIN_MAX)
#define ORIGIN_BLOCKS (ORIGIN_MAX / SLABDEV_SEG_TRACES_PER_SEGMENT)

struct origins {
	u64 slot[ORIGIN_SLOTS];		/* const once set: see origin.c */
	u32 handle[ORIGIN_MAX];		/* by number; const once published */
	struct slabdev_seg_traces *block[ORIGIN_BLOCKS];	/* the same */
	u32 nr_slots;			/* heaps lock */
	u32 nr;				/* heaps lock; relaxed reads */
};

/* What happened to an object at one time: enough to add and to take away. */
struct origin_event {
	u64 time;	/* milliseconds of CLOCK_MONOTONIC */
	u64 size;
	u32 tid;
};

/* Numbers 0 and 1, under the heaps lock. 0 or -ENOMEM. */
int __must_check origins_init_locked(struct slabdev *sd, struct origins *o);

/* The number for a handle and an enum slabdev_seg_trace_kind, made if need be.
 * No lock may be held. */
u32 origin_get(struct slabdev *sd, struct origins *o, u32 handle, u32 kind);
/* The same, of one that was got before. */
u32 origin_find(const struct origins *o, u32 handle, u32 kind);

void origin_add(struct origins *o, u32 number, const struct origin_event *e);
void origin_remove(struct origins *o, u32 number,
		   const struct origin_event *e);
/* The size of one of its objects changes. */
void origin_resize(struct origins *o, u32 number, u64 from, u64 to);

#endif /* SLAB_ORIGIN_H */
