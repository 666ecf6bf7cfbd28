/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guard.h - guard mode: objects between addresses that fault.
 *
 * 1. What. An allocation that is *chosen* gets a mapping of its own, whose
 *    neighbours are never mapped (vmm/guard.c). The object lies at the right
 *    end of it:
 *
 *      wall |  . . . . . . . | lead | object . . . . | slack | wall
 *      fault  nothing reads it 0xbb   the bytes asked   0xcc   fault
 *             or writes it            for
 *
 *    so that an access past the end faults where it happens. The *slack*, less
 *    than the object's alignment (256 bytes, or what was asked for), and the
 *    *lead*, up to 256 bytes, are looked at when the object is freed. Then the
 *    memory is unmapped, and its addresses are left alone for a while: an
 *    access after the free faults too.
 *
 * 2. Which. Those of classes with the letter G, and, by SLABDEV_GUARD, one of
 *    so many among those of some sizes. A space with that parameter has no
 *    sheaves: any allocation may be chosen. Not chosen are comm memory, what
 *    may not map more, and what is asked for while a capture runs.
 *
 * 3. How it is booked. A guarded object is a large one (SLAB_GUARD), whatever
 *    its class: its tag has CODE_LARGE, its bytes are those of the large
 *    objects, and so is its mapping, of whole chunks. Its run in the pool
 *    begins with the slice in which it begins (slab.begin bytes into it), and
 *    ends with the mapping. Its cache knows how many it has.
 *
 * 4. When it is unmapped. When the work on it is done, as for any memory: where
 *    that takes time a guarded object is pending (pending.h), also in the order
 *    of the bound stream, which other memory is simply used again in. Until
 *    then an access is not found.
 *
 * 5. Limits. Each takes a chunk of memory and three of addresses at least, so
 *    guarded objects have at most half of the space's limit, and GUARD_RECORDS
 *    of a process are alive at a time. What is chosen and cannot be had is an
 *    ordinary object; it is counted (slabdev_guard_stats).
 *
 * 6. Records. What is known of each guarded object, live or freed lately, is in
 *    a table of the process that a signal handler can read (guard_record.h).
 *
 * Locking: none of its own but the table's; counters are atomic.
 */
#ifndef SLAB_GUARD_H
#define SLAB_GUARD_H

#include <errno.h>
#include <slabdev/guard.h>

#include "core/debug_spec.h"
#include "core/log.h"
#include "core/param.h"
#include "slab/slab.h"
#include "slab/stream.h"

#if IS_ENABLED(CONFIG_SLAB_GUARD)
void guards_init(struct slabdev *sd, const struct params *p);
/* The memory is known: can it be unmapped? */
void guards_begin(struct slabdev *sd);
void guards_fini(struct slabdev *sd);

bool guard_chooses(struct slabdev *sd, const struct class *c, u64 size);
/* True: *@p is a guarded object, or NULL, and the allocation is to fail. False:
 * nothing changed, an ordinary one has to do. */
bool guard_make(struct slabdev *sd, struct class *c, u64 size, u64 align,
		unsigned int flags, const struct order *o, void **p);
/* It was freed; its work may go on. */
void guard_freed(struct slabdev *sd, u32 slice);
/* The work is done: look at its zones, and unmap it. */
void guard_give_back(struct slabdev *sd, u32 slice);
/* In the child of a fork: nothing is counted; then the object at @slice is, if
 * it is a guarded one. */
void guards_forget(struct slabdev *sd);
void guard_adopt(struct slabdev *sd, u32 slice);
/* What may have been accessed, newest first, when the device gave up. */
void guard_report_suspects(struct slabdev *sd);
int guard_handler(int on);
void guard_lock_for_fork(void);
void guard_unlock_for_fork(void);
#else
static inline void guards_init(struct slabdev *sd, const struct params *p)
{
	(void)sd;
	(void)p;
}

static inline void guards_begin(struct slabdev *sd)
{
	(void)sd;
}

static inline void guards_fini(struct slabdev *sd)
{
	(void)sd;
}

static inline bool guard_chooses(struct slabdev *sd, const struct class *c,
				 u64 size)
{
	(void)sd;
	(void)c;
	(void)size;
	return false;
}

static inline bool guard_make(struct slabdev *sd, struct class *c, u64 size,
			      u64 align, unsigned int flags,
			      const struct order *o, void **p)
{
	(void)sd;
	(void)c;
	(void)size;
	(void)align;
	(void)flags;
	(void)o;
	(void)p;
	return false;
}

static inline void guard_freed(struct slabdev *sd, u32 slice)
{
	(void)sd;
	(void)slice;
}

static inline void guard_give_back(struct slabdev *sd, u32 slice)
{
	(void)sd;
	(void)slice;
}

static inline void guards_forget(struct slabdev *sd)
{
	(void)sd;
}

static inline void guard_adopt(struct slabdev *sd, u32 slice)
{
	(void)sd;
	(void)slice;
}

static inline void guard_report_suspects(struct slabdev *sd)
{
	(void)sd;
}

static inline int guard_handler(int on)
{
	(void)on;
	return error_set(-ENOTSUP, "slabdev_guard_handler: this build has no "
			 "guard mode");
}

static inline void guard_lock_for_fork(void)
{
}

static inline void guard_unlock_for_fork(void)
{
}
#endif

/* May any object of the class be guarded? */
static inline bool guard_any(const struct slabdev *sd, const struct class *c)
{
	return unlikely(sd->guards.every || READ_ONCE(c->debug) & DEBUG_GUARD);
}

/*
 * Where allocations of the general calls (@c: of that size, or the large one)
 * and of caches come by, without locks: false, go on as ever.
 */
static inline bool guard_alloc(struct slabdev *sd, struct class *c, u64 size,
			       u64 align, unsigned int flags,
			       const struct order *o, void **p)
{
	return guard_any(sd, c) && guard_chooses(sd, c, size) &&
	       guard_make(sd, c, size, align, flags, o, p);
}

static inline bool slab_is_guard(const struct slab *s)
{
	return slab_state(s) == SLAB_GUARD;
}

/* Offset of the large object whose run begins at @slice. */
static inline u64 large_offset(const struct slabdev *sd, u32 slice)
{
	return slice_offset(slice) + READ_ONCE(sd->slabs[slice].begin);
}

#endif /* SLAB_GUARD_H */
