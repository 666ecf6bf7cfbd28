/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * debug_large.h - checks of large objects, and of the memory that they leave.
 *
 * 1. Zones. What is behind the bytes of a large object, to the end of its
 *    slices, is a red zone (zone.h), ZONE_MIN bytes or more. It is looked at
 *    when the object is freed, before it is resized in place, and by walks.
 *    There is none before it: that is another one's memory, or nobody's.
 *
 * 2. A walk over others' objects needs their memory mapped. Who is at one puts
 *    it in a list. A free of it meanwhile is complete but for the memory, which
 *    stays: it goes back when the walk is done with it. Nobody waits for that.
 *    Damage is believed as of smaller objects: if the object was the same one
 *    before and after two looks. What streams use beside the bound one, and
 *    what a graph has, walks leave alone.
 *
 * 3. Poison. The slices of a free large object are free memory of the pool, and
 *    are merged and split there. So it is slices that are poisoned, all of
 *    their bytes: a table says which ones, and whose they were. They are looked
 *    at when they are taken out of the pool, for whatever, when they go back to
 *    the device, and by walks, which take LOOK_BYTES at a time out for as long
 *    as they look. It is said which object it was, if all that it had before
 *    the damage is poison still.
 *
 * 4. What walks keep may be what somebody else needs. Before a request fails it
 *    stops them: it waits for those that are at something, and has all others
 *    pass over what they would have to keep, until it is done (stop_walks(), in
 *    reclaim.c). So nothing is kept while damage is told: who is told may call
 *    the library, or wait for who does. But for the memory of an object that
 *    was freed under a walk, whose free may have something to tell by itself:
 *    a request waits for that 0.1 s, and no longer.
 *
 * 5. Limits. An object above SHARED_MAX has no poison, since as a rule its
 *    memory leaves the pool when it is free. What is freed while a capture runs
 *    has none, nor has what could not be filled. A large object that was
 *    allocated in a capture has no zone. Damage does not keep the memory from
 *    being used again, since it may be much.
 *
 * Locking: the space lock, for the list, and to grow the table. Entries belong
 * to whoever has the slices; hooks are called without locks held.
 */
#ifndef SLAB_DEBUG_LARGE_H
#define SLAB_DEBUG_LARGE_H

#include "slab/debug.h"

void debug_prepare_large_slow(struct slabdev *sd, u32 slice, u64 size,
			      const struct order *o);
int debug_begin_large_slow(struct slabdev *sd, u32 slice, u64 size,
			   const struct order *o, bool *noted) __must_check;
bool debug_keeps_large_slow(struct slabdev *sd, u32 slice, u16 domain);
bool debug_end_large_slow(struct slabdev *sd, u32 slice);
/* Before it gets another size in place. */
void debug_look_large(struct slabdev *sd, u32 slice, u64 size);
/* All live ones and all poison: how many are damaged. */
u32 debug_validate_large(struct slabdev *sd, struct peek *k);

/* A walk keeps something; false: it may not. The space lock is held. */
struct look {
	struct list link;
	u32 slice;
	u16 domain;	/* in which its memory goes back, if .kept */
	bool kept;	/* it was freed meanwhile */
};
bool __must_check look_begin_locked(struct slabdev *sd, struct look *l);
void look_end_locked(struct slabdev *sd, struct look *l);
bool looks_stop_slow(struct slabdev *sd, u32 turns);
void looks_go_on_slow(struct slabdev *sd);

/* ---- debug_poison.c ----------------------------------------------------- */

/* What a walk takes out of the pool at once. */
#define LOOK_BYTES ((u64)1 << 20)

/* The slices of a large object that is free now are filled: 0; -EAGAIN: they
 * are to have no poison, and nothing was done; or why the fill failed. */
int __must_check poison_fill(struct slabdev *sd, u32 slice, u64 usable);
void poison_run_taken(struct slabdev *sd, u32 slice, u32 n);
void poison_run_goes(struct slabdev *sd, u32 slice, u32 n);
u32 poison_validate(struct slabdev *sd, struct peek *k);

/* Slices whose mapping is given up unseen. */
void poison_run_lost(struct slabdev *sd, u32 slice, u32 n);

/* ---- Hooks -------------------------------------------------------------- */

/* As class_is_debugged(), a constant where there are no letters. */
#if IS_ENABLED(CONFIG_SLAB_DEBUG)
static inline bool large_is_debugged(const struct slabdev *sd)
{
	return class_is_debugged(sd->class[CLASS_LARGE]);
}

static inline bool poison_any(const struct slabdev *sd)
{
	return unlikely(load_acquire(&sd->larges.poison_end));
}
#else
#define large_is_debugged(sd) ((void)(sd), false)
#define poison_any(sd) ((void)(sd), false)
#endif

/* Before it is live, as debug_prepare_new(). */
static inline int __must_check debug_begin_large(struct slabdev *sd, u32 slice,
						 u64 size,
						 const struct order *o,
						 bool *noted)
{
	return large_is_debugged(sd) ?
	       debug_begin_large_slow(sd, slice, size, o, noted) : 0;
}

/* When a live one has got @size in place. */
static inline void debug_prepare_large(struct slabdev *sd, u32 slice, u64 size,
				       const struct order *o)
{
	if (large_is_debugged(sd))
		debug_prepare_large_slow(sd, slice, size, o);
}

/* It is not live any more, and its work is done. True: a walk is at it, and
 * will give its memory back. */
static inline bool debug_keeps_large(struct slabdev *sd, u32 slice, u16 domain)
{
	return large_is_debugged(sd) &&
	       debug_keeps_large_slow(sd, slice, domain);
}

/* Its memory goes back to the pool. True: the bound stream fills it. */
static inline bool debug_end_large(struct slabdev *sd, u32 slice)
{
	return large_is_debugged(sd) && debug_end_large_slow(sd, slice);
}

/* Slices were taken out of the pool, for whatever. */
static inline void debug_run_taken(struct slabdev *sd, u32 slice, u32 n)
{
	if (poison_any(sd))
		poison_run_taken(sd, slice, n);
}

/* Free slices have left the pool, and are about to be unmapped. */
static inline void debug_run_goes(struct slabdev *sd, u32 slice, u32 n)
{
	if (poison_any(sd))
		poison_run_goes(sd, slice, n);
}

/* Of a chunk that the pool does not have, in the child of a fork. */
static inline void debug_run_lost(struct slabdev *sd, u32 slice, u32 n)
{
	if (poison_any(sd))
		poison_run_lost(sd, slice, n);
}

/* When a request begins: what looks_stop() has to be told. */
static inline u32 looks_turns(const struct slabdev *sd)
{
	return READ_ONCE(sd->larges.turns);
}

/* No walk keeps anything, until looks_go_on(). False: nor has one since
 * looks_turns(), so that nothing has changed. */
static inline bool looks_stop(struct slabdev *sd, u32 turns)
{
	return IS_ENABLED(CONFIG_SLAB_DEBUG) && looks_stop_slow(sd, turns);
}

static inline void looks_go_on(struct slabdev *sd)
{
	if (IS_ENABLED(CONFIG_SLAB_DEBUG))
		looks_go_on_slow(sd);
}

static inline void larges_init(struct slabdev *sd)
{
	list_init(&sd->larges.looks);
}

static inline void larges_fini(struct slabdev *sd)
{
	resv_fini(&sd->larges.poison);
}

/* In the child of a fork: nobody walks. */
static inline void larges_forget(struct slabdev *sd)
{
	list_init(&sd->larges.looks);
	sd->larges.nr_giving = 0;
	sd->larges.nr_stops = 0;
}

#endif /* SLAB_DEBUG_LARGE_H */
