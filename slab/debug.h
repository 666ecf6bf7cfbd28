/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * debug.h - SLABDEV_DEBUG: checks of what programs do with their memory.
 *
 * 1. One allocator. The checks are hooks on the paths that every object takes
 *    anyway. A *debugged* class (class->debug, by letters) has no sheaves, so
 *    that the fast paths find theirs empty, and its live objects have a tag
 *    code that no fast free knows: both end in the slow paths, where the hooks
 *    are. A class without letters pays nothing.
 *
 *      allocation  failslab_hit (A)
 *                  class_get: what was free is looked at (P, Z), bad: not taken
 *                  debug_prepare_new: it is noted that the zone behind the
 *                  size is being filled on a stream, and that is filled (Z)
 *                  the object is live
 *                  debug_began: who has it (U, T), annotations
 *      free        the object is not live any more
 *                  debug_ending: who freed it (U, T), annotations
 *                  .. its stream's work is done, or it is the bound stream's
 *                  class_put: quarantine.h: zones are looked at (Z), poison is
 *                  filled in (P), it is held back (Q), and looked at again
 *
 * 2. Where things are. Sizes, owners and states are host memory, like all
 *    metadata; zones and poison are device memory (zone.h), filled, read and
 *    checked by the backend only.
 *
 * 3. When letters can change. F U T A and Q may come and go while the program
 *    runs: objects that were handed out before are of the fast kind yet, and
 *    their frees end in free_taken(), since there is no sheaf to push to. Z and
 *    P say what lies in memory: a class has them from its creation, or never.
 *
 * 4. What is found is reported with all that is known (debug_report.h), and
 *    never repaired: a bad object is handed out no more, so that the evidence
 *    stays. Bytes of a zone are told of once, by whichever of its neighbours is
 *    looked at first. An object that is live when a walk finds its zone written
 *    stays its owner's: each walk tells of it, and it is bad when it is freed.
 *
 * 5. Failure. Where memory cannot be filled or read (a capture, an error of the
 *    driver, no host memory) it is not judged. Nothing is reported that was not
 *    seen.
 *
 * Locking: hooks are called without locks held.
 */
#ifndef SLAB_DEBUG_H
#define SLAB_DEBUG_H

#include "core/debug_spec.h"
#include "slab/alloc.h"
#include "slab/failslab.h"
#include "slab/guard.h"
#include "slab/slab.h"
#include "slab/stream.h"
#include "slab/zone.h"

/* Letters by which free objects are looked at. */
#define DEBUG_BYTES (DEBUG_RED_ZONE | DEBUG_POISON)

#if IS_ENABLED(CONFIG_SLAB_DEBUG)
static inline bool class_is_debugged(const struct class *c)
{
	return unlikely(READ_ONCE(c->debug));
}
#else
/* A constant, that what it leads to is not wanted by the linker either. */
#define class_is_debugged(c) ((void)(c), false)
#endif

/* The class of large objects stands for them where @c is NULL. */
static inline const struct class *debug_class(const struct slabdev *sd,
					      const struct class *c)
{
	return c ? c : sd->class[CLASS_LARGE];
}

/* ---- Classes (debug.c) ------------------------------------------------- */

#if IS_ENABLED(CONFIG_SLAB_DEBUG)
/*
 * debug_shape - what its letters mean for a class that has its shape
 *
 * Its stride has room for a red zone, if that is among them; its slabs get a
 * lead. Poison is left out where there can be none.
 */
void debug_shape(struct class *c);
/* What a class needs for letters that it is going to have. 0, or -ENOMEM. */
int __must_check debug_ready(struct class *c, u32 flags);
/* Look at zones and poison of a class, or (NULL) of all: 0, or -EUCLEAN after
 * reports. */
int debug_validate(struct slabdev *sd, struct class *c);
#else
static inline void debug_shape(struct class *c)
{
	(void)c;
}

static inline int debug_ready(struct class *c, u32 flags)
{
	(void)c;
	(void)flags;
	return 0;
}

static inline int debug_validate(struct slabdev *sd, struct class *c)
{
	(void)sd;
	(void)c;
	return 0;
}
#endif

/* Locks are held where a thread or the space ends: nothing can be told then. */
static inline bool debug_may_look(const struct slabdev *sd)
{
	return !thread_self->ending && !READ_ONCE(sd->pendings.all_done);
}

/* With a red zone the size of a free object stays known. */
static inline bool keeps_sizes(const struct class *c)
{
	return READ_ONCE(c->debug) & DEBUG_RED_ZONE;
}

static inline bool failslab_refuses(struct slabdev *sd, const struct class *c,
				    u64 size)
{
	if (!class_is_debugged(c) || !(READ_ONCE(c->debug) & DEBUG_FAIL))
		return false;
	return failslab_hit(sd, c->rec->name, size);
}

/* ---- Hooks -------------------------------------------------------------- */

void debug_began_slow(struct slabdev *sd, struct class *c, const void *p,
		      u64 size, const struct order *o);
void debug_ending_slow(struct slabdev *sd, struct class *c, u64 offset,
		       u64 size, const struct order *o);
/* Of free objects that are to be handed out: those that are as they should be,
 * to the front: how many. */
u32 debug_got(struct class *c, slot_t *slot, u32 n, unsigned int flags);
/* A new slab, before anybody can have an object of it; with GET_ flags. */
static inline void debug_new_slab(struct class *c, u32 slice,
				  unsigned int flags)
{
	if (class_is_debugged(c) && READ_ONCE(c->debug) & DEBUG_BYTES)
		zone_new_slab(c, slice, flags);
}

/* A slab goes: its free objects are looked at, its records forgotten. */
void debug_slab_goes_slow(struct class *c, u32 slice);

static inline void debug_slab_goes(struct class *c, u32 slice)
{
	if (IS_ENABLED(CONFIG_SLAB_DEBUG) &&
	    unlikely(READ_ONCE(c->sd->debugged)))
		debug_slab_goes_slow(c, slice);
}

void debug_look_slow(struct slabdev *sd, const struct place *at);

/* At what is about to be resized in place: its zone is going to be another.
 * Nobody else uses it. */
static inline void debug_look(struct slabdev *sd, const struct place *at,
			      const struct order *o)
{
	const struct class *c = at->kind == PLACE_LARGE ? NULL : at->class;

	if (class_is_debugged(debug_class(sd, c)) && order_is_bound(o) &&
	    !slab_is_guard(at->slab))
		debug_look_slow(sd, at);
}

/*
 * The zone of the object is going to be filled on the stream: whoever frees it
 * on another one has to wait for that. *@noted: it has a note now. 0, or
 * -ENOMEM.
 */
int debug_note_fill(struct slabdev *sd, u64 offset, const struct order *o,
		    bool *noted) __must_check;
int debug_prepare_slow(struct class *c, slot_t slot, u64 size,
		       const struct order *o, bool *noted) __must_check;

/*
 * Before it is live. *@noted: the note is there that its zone is being filled
 * on a stream; others have to wait for that, and walks leave it alone. 0, or
 * -ENOMEM: it cannot be remembered, and nothing was done.
 */
static inline int __must_check debug_prepare_new(struct class *c, slot_t slot,
						 u64 size,
						 const struct order *o,
						 bool *noted)
{
	return class_is_debugged(c) ?
	       debug_prepare_slow(c, slot, size, o, noted) : 0;
}

/* When it has got another size in place. */
static inline void debug_prepare(struct class *c, slot_t slot, u64 size,
				 const struct order *o)
{
	if (class_is_debugged(c))
		zone_begin(c, slot, size, o->handle);
}

static inline void debug_poison(struct class *c, slot_t slot)
{
	if (class_is_debugged(c))
		zone_poison(c, slot);
}

/* @c: NULL for large objects. @p may be NULL: the allocation failed. */
static inline void debug_began(struct slabdev *sd, struct class *c,
			       const void *p, u64 size, const struct order *o)
{
	if (class_is_debugged(debug_class(sd, c)) && p)
		debug_began_slow(sd, c, p, size, o);
}

static inline void debug_ending(struct slabdev *sd, struct class *c, u64 offset,
				u64 size, const struct order *o)
{
	if (class_is_debugged(debug_class(sd, c)))
		debug_ending_slow(sd, c, offset, size, o);
}

#endif /* SLAB_DEBUG_H */
