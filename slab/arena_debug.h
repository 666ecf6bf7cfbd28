/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arena_debug.h - red zones and poison in arenas.
 *
 *      | allocation | zone     | allocation  | zone | poison . . . |
 *        size bytes   0xcc                    top^    0x6b   poisoned^
 *
 * An arena has the letters Z and P when SLABDEV_DEBUG has them for its name, or
 * for all. With either it has no fast path.
 *
 * Z: the bytes from the end of an allocation to the next multiple of the
 * arena's alignment, ZONE_MIN or more, are a zone. They are looked at when the
 * allocation ends, and by slabdev_validate(). Of each a record is kept in host
 * memory; the first ARENA_ZONES_MAX since the beginning of the arena have one.
 *
 * P: what a rewind or a reset gives back is filled with 0x6b, and looked at
 * when it is handed out again, and by slabdev_validate() in arenas of the bound
 * stream: a write through a pointer from before is found.
 *
 * Filling is work in the arena's stream; to look is to wait for it, and reads
 * what other streams wrote since the last rewind only if they were told of.
 * What cannot be filled or read, in a capture or for want of host memory, is
 * not judged. Nothing is repaired.
 *
 * Locking: the claim, against slabdev_validate() on another thread.
 */
#ifndef SLAB_ARENA_DEBUG_H
#define SLAB_ARENA_DEBUG_H

#include "core/debug_spec.h"
#include "slab/arena.h"
#include "slab/zone.h"

#define ARENA_ZONES_MAX (1u << 20)

#if IS_ENABLED(CONFIG_SLAB_DEBUG)
u32 arena_debug_letters(struct slabdev *sd, const char *name);
/* Before an allocation is handed out: what is there is looked at, and its zone,
 * up to @end, is filled. */
void arena_debug_alloc(struct arena *a, u64 start, u64 size, u64 end);
/* Allocations from record @from on end, since the arena is @what. */
void arena_debug_end(struct arena *a, u32 from, const char *what);
/* What lies from the address @to up to the top has ended. */
void arena_debug_poison(struct arena *a, u64 to);
/* In the child of a fork: no zone is known, and no poison. */
void arena_debug_forget(struct arena *a);
/* The zones of all arenas: 0, or -EUCLEAN after reports. */
int arenas_debug_validate(struct slabdev *sd);
#else
static inline u32 arena_debug_letters(struct slabdev *sd, const char *name)
{
	(void)sd;
	(void)name;
	return 0;
}

static inline void arena_debug_alloc(struct arena *a, u64 start, u64 size,
				     u64 end)
{
	(void)a;
	(void)start;
	(void)size;
	(void)end;
}

static inline void arena_debug_end(struct arena *a, u32 from, const char *what)
{
	(void)a;
	(void)from;
	(void)what;
}

static inline void arena_debug_poison(struct arena *a, u64 to)
{
	(void)a;
	(void)to;
}

static inline void arena_debug_forget(struct arena *a)
{
	(void)a;
}

static inline int arenas_debug_validate(struct slabdev *sd)
{
	(void)sd;
	return 0;
}
#endif

/* Where an allocation ends, which ends at @end without a zone. */
static inline u64 arena_zone_end(const struct arena *a, u64 end)
{
	u64 limit = a->base + a->held_bytes;

	if (likely(!(a->letters & DEBUG_RED_ZONE)) || end > limit)
		return end;
	end += ZONE_MIN;
	return end > limit ? end : min(align_up(end, a->mask + 1), limit);
}

#endif /* SLAB_ARENA_DEBUG_H */
