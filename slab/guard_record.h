/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guard_record.h - what is known of guarded objects, for whoever asks.
 *
 * A table of fixed size in memory of its own. A record is taken for an object
 * that is made; it stays when the object was freed and unmapped, until all
 * others are taken: the one that was unmapped longest ago is taken first.
 *
 * It can be read without a lock, also in a signal handler that has stopped a
 * thread in the middle of a change: a record has a sequence number, which is
 * odd meanwhile, and a copy that does not match it is no copy.
 *
 * Locking: LOCK_META to change the table.
 */
#ifndef SLAB_GUARD_RECORD_H
#define SLAB_GUARD_RECORD_H

#include "slab/slab.h"

#define GUARD_RECORDS 4096u
#define GUARD_NONE GUARD_RECORDS
#define GUARD_FRAMES 12u

enum guard_state {
	GUARD_UNUSED,
	GUARD_LIVE,
	GUARD_FREED,	/* still mapped */
	GUARD_UNMAPPED,
};

/* Who did it, and from where. */
struct guard_who {
	u32 tid;
	u32 nr;				/* of .pc, innermost first */
	const void *pc[GUARD_FRAMES];
};

struct guard_record {
	u64 state;			/* enum guard_state */
	u64 age;			/* of its last change, increasing */
	u64 from, to;			/* addresses that were mapped */
	u64 wall;			/* bytes on each side that never were */
	u64 object, size;		/* address, bytes asked for */
	const struct slabdev *space;	/* to compare only */
	char name[64];			/* of the space */
	char class[64];			/* name of its class */
	struct guard_who alloc, free;
};
static_assert(sizeof(struct guard_record) % sizeof(u64) == 0, "whole words");

/* The calling thread. */
void guard_who(struct guard_who *who);

/* A record to be filled; GUARD_NONE: all are of objects that live. */
u32 guard_record_take(void);
/* It was not used. */
void guard_record_drop(u32 i);
/* It says this from now on, but for .age. */
void guard_record_set(u32 i, const struct guard_record *what);
void guard_record_freed(u32 i, const struct guard_who *who);
void guard_record_unmapped(u32 i);
/* Those of a space that goes. */
void guard_records_forget(const struct slabdev *space);

/* Copy record @i; false: there is nothing in it, or it changes just now. */
bool guard_record_get(u32 i, struct guard_record *copy);
/* The one that best explains an access to @addr; false: none. */
bool guard_record_find(u64 addr, struct guard_record *copy);

#endif /* SLAB_GUARD_RECORD_H */
