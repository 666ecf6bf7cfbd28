/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arena.h - memory handed out by moving a top, and given back all at once.
 *
 * 1. What it is. An arena has a run of addresses for all that it may ever hold,
 *    and memory from their beginning on:
 *
 *      base          top           reach_end       base + mapped    + held
 *      | handed out  | the owner's | nobody's       | addresses only |
 *
 *    An allocation rounds the top up and adds its size. Memory comes in handles
 *    at numbers that the vmm holds (vmm/hold.c), straight from the vmm: the
 *    pool, tags and slabs know nothing of it. An arena of up to
 *    ARENA_OBJECT_MAX bytes, or where memory is not mapped by the library, is
 *    one object (own.h); then all of it is below reach_end.
 *
 * 2. Who moves what. An arena is used by one thread at a time, its *owner* just
 *    then. The owner alone moves the top, and takes no lock for it as long as
 *    it stays below reach_end. What is mapped above reach_end others may
 *    take, when memory is short, by slabdev_trim() or by policy. For that they
 *    *claim* the arena, and so does the owner to raise reach_end, or to change
 *    how much is mapped. It lowers reach_end without: that only gives others
 *    more.
 *
 *      base <= top <= reach_end <= base + mapped <= base + held, whole chunks
 *      fast_end: reach_end, down to a multiple of the alignment
 *      .fast is set only if top <= fast_end: then rounding up stays below
 *
 * 3. Time. What was given back is used again in the order of the arena's stream
 *    and needs no event. Work that other streams were told of is waited for by
 *    the arena's stream, at the rewind. To be unmapped memory has to be done
 *    with: for the bound stream a stamp says when (stamp.h), for another one an
 *    event that is recorded when it is asked for (arena_order.c).
 *
 * 4. Marks are a stack of the owner's (arena_mark.c). Each has a serial number
 *    that no other mark of this entry ever had; what the user holds is the
 *    number of the entry and that.
 *
 * 5. Counting. The fast path adds to one word, .tally: bytes, and an
 *    ARENA_TALLY_ONE for each allocation. It is folded into the figures when
 *    the reach moves, which is at most ARENA_FAST_SPAN ahead, so that the
 *    bytes stay below that.
 *
 * 6. Books. rec->arena_bytes is what arenas have mapped, part of the live
 *    bytes; an arena that is an object is in the books of objects. Padding is
 *    what the top moved by beyond what was asked for.
 *
 * 7. Failure. A growth that fails has changed nothing. What cannot be given
 *    back is lost to the vmm, as everywhere; the arena has it no more.
 *
 * 8. Hazard mode (hazard.h) sees each allocation as an object that a rewind, a
 *    reset or the end frees on the arena's stream. An arena has no fast path in
 *    it, as with the letters of arena_debug.h.
 *
 * 9. Limits. ARENA_MAX arenas a process, SLABDEV_ARENA_MARKS_MAX marks and
 *    ARENA_USES other streams an arena.
 *
 * Locking: the claim, which is a word and no lock. The vmm is called with it,
 * which may block, and memory is read with it, for arena_debug.h, behind the
 * bound stream. Nobody waits with it for another stream, and nothing is
 * reported: a callback may ask about the arena. Whoever has it takes no other.
 */
#ifndef SLAB_ARENA_H
#define SLAB_ARENA_H

#include "core/resv.h"
#include "slab/alloc.h"
#include "slab/token.h"
#include "slab/own.h"
#include "slab/slab.h"

#define ARENA_MAX 65536u
#define ARENA_OBJECT_MAX MIB
#define ARENA_USES 14u
#define ARENA_NAME_MAX 63u
#define ARENA_FAST_SPAN (GIB / 2)

/* Bytes of an entry. */
#define ARENA_ENTRY 1024

/* One allocation, in .tally: what one instruction can add along with its size,
 * and more than the bytes of a span. */
#define ARENA_TALLY_ONE GIB

struct arena_mark {
	u64 serial;
	u64 top;		/* address */
	u64 requested;
	u32 nr_zones;		/* arena_debug.h */
};

struct arena {
	struct token h;
	/* Owner; but for .fast, which is cleared by whoever ends the space. */
	u64 fast __aligned_to(CACHE_LINE);	/* its name, or none: slow */
	u64 top;		/* address; relaxed: reports read it */
	u64 fast_end;		/* address */
	u64 mask;		/* const: alignment - 1 */
	u64 tally;		/* see arena_fold() */
	u64 not_mask;		/* const: ~mask */

	/* Const while it is in use. */
	u64 base __aligned_to(CACHE_LINE);	/* address */
	u64 max_bytes;
	u64 held_bytes;		/* of addresses */
	u64 grow_bytes;
	slabdev_stream_t stream;	/* NULL: the bound one */
	u32 first_chunk;
	bool is_object;
	u32 letters;		/* arena_debug.h */
	char name[ARENA_NAME_MAX + 1];
	const struct slabdev *of;	/* relaxed: h.sd, a hint */
	bool ready;		/* released, claim: what is above may be read */

	/* Claim. */
	u64 claim;		/* atomic: the thread that has it; 0 */
	u32 mapped;		/* chunks; relaxed too */
	u32 nr_uses;		/* relaxed too */
	slabdev_stream_t use[ARENA_USES];
	u64 use_event;		/* 0: none yet */
	u64 done_event;		/* the same: of arena_is_done() */
	u64 done_covers;	/* .lowered when it was recorded; 0: none is */
	u64 done;		/* of .lowered, so many times are done with */

	/* Owner. */
	u64 reach_end;		/* address; released when it is lowered */
	u64 lowered;		/* relaxed: times that reach_end was; */
	u64 stamp;		/* the vmm's clock then */
	u64 peak;		/* address: of ended phases */
	u64 advanced;		/* bytes that the top moved, in those */
	u64 gone_requested;	/* bytes asked for, in those */
	u64 requested;		/* bytes, of what is below the top; relaxed */
	u64 allocs;		/* since the creation */
	u64 failed, rewinds, resets, grows;
	u64 serial;		/* of the last mark; goes on in the next use */
	u64 no_serial;		/* const: the last one of the use before */
	u32 nr_marks;
	struct resv marks;	/* struct arena_mark */
	u32 nr_zones;
	struct resv zones;	/* struct arena_zone */
	u64 poisoned;		/* address: from the top up to here is poison */
	u64 poison_from;	/* and surely from here on; claim */
} __aligned_to(ARENA_ENTRY);
static_assert(sizeof(struct arena) == ARENA_ENTRY, "found by a shift");

static inline struct arena *arena_entry(u32 index)
{
	return (struct arena *)(void *)arena_tokens.entries.base + index;
}

/*
 * In .fast it sends every call to the slow path. No token with this value is
 * looked up in this entry, as one that is 0 would be in the first.
 */
static inline u64 arena_no_name(const struct arena *a)
{
	return ~(u64)a->h.index;
}

/* What was counted since the reach moved becomes part of the figures. */
static inline void arena_fold(struct arena *a)
{
	WRITE_ONCE(a->requested, a->requested + a->tally % ARENA_TALLY_ONE);
	a->allocs += a->tally / ARENA_TALLY_ONE;
	WRITE_ONCE(a->tally, 0);
}

/* Bytes asked for of what is below the top; others see them nearly. */
static inline u64 arena_requested(const struct arena *a)
{
	return READ_ONCE(a->requested) +
	       READ_ONCE(a->tally) % ARENA_TALLY_ONE;
}

/* Relaxed: the owner may be moving it. */
static inline u64 arena_used(const struct arena *a)
{
	return READ_ONCE(a->top) - a->base;
}

/* Chunk numbers that it holds. */
static inline u32 arena_nr_held(const struct arena *a)
{
	return a->is_object ? 0 :
	       (u32)div_round_up(a->held_bytes, a->h.sd->vmm.chunk_size);
}

static inline u64 arena_mapped_bytes(const struct arena *a)
{
	return a->is_object ? a->held_bytes :
	       vmm_chunk_offset(&a->h.sd->vmm, READ_ONCE(a->mapped));
}

/* The entry of a token, of a space that is alive; NULL with *@err. */
struct arena *arena_find(const struct slabdev_arena *arena, const char *call,
			 int *err) __must_check;
/* Its name in single quotes, its token and its space: for messages. */
#define ARENA_TEXT_MAX 160
void arena_name(const struct arena *a, char *buf);

/* ---- arena_map.c: memory ------------------------------------------------ */

/* For a moment: others wait for it. 0; -EBUSY this thread has it already. */
int __must_check arena_claim(struct arena *a);
bool arena_try_claim(struct arena *a);
/* What .claim is when this thread has it. */
u64 arena_claimant(void);
/* This thread had it, and gave it up for a moment. */
void arena_claim_again(struct arena *a);
void arena_unclaim(struct arena *a);
/* Address: where its memory ends. Claim held. */
u64 arena_mapped_end(const struct arena *a);

/* Addresses for attr.max_bytes, and attr.first_bytes of memory. */
int __must_check arena_map_begin(struct arena *a, u64 first_bytes, bool exact);
/* Give back everything, done with or not. 0 or -EIO: some is lost. */
int arena_map_end(struct arena *a);
/* Memory up to the address @end, and reach_end behind it. */
int __must_check arena_reach(struct arena *a, u64 end);
/* The top has gone back: so does reach_end, to the end of its chunk. */
void arena_lower(struct arena *a);
/* The top or reach_end was moved: may the fast path go on from there? */
void arena_set_fast(struct arena *a);
/* Give back what is mapped above reach_end, if the device is done with it, but
 * not more than @most, to the size of a handle. Bytes; *@err set to -EIO when
 * some got lost. Claim held. */
u64 arena_give(struct arena *a, u64 most, enum vmm_giveback how, int *err);

/* ---- arena_order.c: streams --------------------------------------------- */

/* What the user calls a stream; *@to NULL: the bound one. */
int __must_check arena_stream(struct slabdev *sd, slabdev_stream_t stream,
			      const char *call, slabdev_stream_t *to);
/* All work on other streams comes before what the arena's does next. */
int __must_check arena_join(struct arena *a, const char *call);
/* Is the device done with what is above reach_end, as it was read before?
 * Claim held. */
bool arena_is_done(struct arena *a);
/* Wait until the device is done with all that was submitted by now; claims it,
 * but not for the wait: it may go meanwhile. 0 also if it is not of @sd. */
int __must_check arena_wait(struct slabdev *sd, struct arena *a);
void arena_order_end(struct arena *a);
/* A stream is about to go: 1: some arena had it; 0; or why an arena's stream
 * could not be made to wait for it. */
int arenas_end_stream(struct slabdev *sd, slabdev_stream_t stream);

/* ---- arena_space.c: all arenas of a space ------------------------------- */

/* The next arena of the space, from entry *@at on, claimed; NULL: no more. */
struct arena *arena_next(const struct slabdev *sd, u32 *at);
/* Give back what arenas have mapped and do not use, but @keep bytes; how much
 * is left of that. @wait for the device where that helps. */
u64 arenas_give(struct slabdev *sd, u64 keep, enum vmm_giveback how, bool wait,
		int *err);
/* Bytes that arenas_give() would find. */
u64 arenas_spare(struct slabdev *sd);

static inline bool arenas_any(const struct slabdev *sd)
{
	return READ_ONCE(sd->rec->nr_arenas) != 0;
}

/* Is it an address of one? @live: handed out. */
bool arenas_have(struct slabdev *sd, const void *p, bool *live);
/* In which, and how far: false, in none. */
bool arenas_describe(struct slabdev *sd, const void *p, char *buf, size_t len);
/* The same as an object's owner. */
bool arenas_owner(struct slabdev *sd, const void *p, struct owner *owner);
/* For own.c: the arena that a live token names. */
void arena_describe(const void *token, char *buf, size_t len);
/* A line for each, below a line of this form. */
#define ARENA_HEADING "%-31s %14s %14s %14s %14s"
void arenas_print(struct slabdev *sd, void (*line)(void *arg, const char *text),
		  void *arg);
/* Closing @sd is refused: say why. */
void arenas_report_live(struct slabdev *sd);
/* No fast path hands out anything of @sd any more. */
void arenas_stop(struct slabdev *sd);
/* The space is being closed, or was: no token is valid. */
void arenas_end(struct slabdev *sd);
/* In the child of a fork: threads that had claims are not here. */
void arenas_forget_claims(void);
/* And nobody knows whose bytes their zones and poison are: they have none. */
void arenas_forget_bytes(struct slabdev *sd);
/* And the space's memory survived: no streams, and what is mapped is booked. */
void arenas_adopt(struct slabdev *sd);
/* NULL, or which figure is wrong. */
const char *arenas_validate(struct slabdev *sd);

#endif /* SLAB_ARENA_H */
