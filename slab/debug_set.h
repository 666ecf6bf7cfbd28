/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * debug_set.h - the letters of each class: at its creation, and later.
 *
 * A class's flags (class->debug) are its own (of its creator, or of
 * slabdev_cache_set_debug), those that the space's spec has for its name, and
 * those that hold for every class (debug_always). When any of them changes all
 * are computed again, but for DEBUG_LAYOUT, which is the way that its objects
 * lie in their slabs, and stays.
 *
 * To switch a check on is to make a class leave the fast paths: first its flags
 * are stored, then every thread passes a barrier, then its sheaves are taken
 * back. A slow path that had not seen the flags has put its sheaves where they
 * are found by then; one that sees them keeps none. To switch one off takes
 * nothing: sheaves come back with the next refill.
 *
 * Locking: the space lock, but for reading class->debug, which is relaxed.
 */
#ifndef SLAB_DEBUG_SET_H
#define SLAB_DEBUG_SET_H

#include "core/debug_spec.h"
#include "slab/slab.h"

/* What a class keeps from its creation on. */
#define DEBUG_LAYOUT (DEBUG_RED_ZONE | DEBUG_POISON | DEBUG_GUARD | \
		      DEBUG_NO_GROW)
/* What slabdev_cache_set_debug() switches. */
#define DEBUG_SWITCHES (DEBUG_CONSISTENCY | DEBUG_USER | DEBUG_TRACE | \
			DEBUG_FAIL | DEBUG_QUARANTINE)

/* The flags of debug.h in slabdev_cache_args.flags. */
#define CACHE_DEBUG_SHIFT 8
#define CACHE_DEBUG_FLAGS \
	((DEBUG_SWITCHES | DEBUG_RED_ZONE | DEBUG_POISON | DEBUG_GUARD) \
	 << CACHE_DEBUG_SHIFT)

/*
 * debug_own_flags - take a new cache's own letters from its creator's flags
 * @flags: of struct slabdev_cache_args, checked for unknown bits
 *
 * 0 and .debug_own and .no_user_flags are set; -ENOTSUP: this build does not
 * have all of them.
 */
int __must_check debug_own_flags(struct class *c, u32 flags);

/*
 * debug_begin - the flags of a class that is called @name and is being made
 *
 * .debug is set before the class is laid out; where it shall stay, the caller
 * drops DEBUG_RED_ZONE for DEBUG_NO_GROW. debug_begin_locked() is the same with
 * the space lock held. When the class is found by others, in the same hold of
 * the lock, debug_settle_locked() takes what was changed meanwhile; for want of
 * host memory it leaves out a quarantine that was not wanted before.
 */
void debug_begin(struct class *c, const char *name);
void debug_begin_locked(struct class *c, const char *name);
void debug_settle_locked(struct class *c);

/*
 * debug_switch - flags that every class has, of today and later
 * @set: of DEBUG_SWITCHES
 * @clear: those that only letters give from now on
 *
 * 0, or -ENOMEM and nothing was changed, which only DEBUG_QUARANTINE can cause.
 */
int debug_switch(struct slabdev *sd, u32 set, u32 clear);

#endif /* SLAB_DEBUG_SET_H */
