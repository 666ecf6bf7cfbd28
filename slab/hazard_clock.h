/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hazard_clock.h - what is ordered before what, among the CPU and the streams.
 *
 * Vector clocks. An *actor* does things one after another: the CPU, all of
 * whose threads count as one, or a stream. Each thing that it does has a number
 * that grows, and is named by an *epoch*: the actor and the number. The clock
 * of an actor says, for each other actor, up to which number its things come
 * before whatever this one does next. So "does X come before what T does now?"
 * is one comparison.
 *
 *   the CPU submits to S        S takes over what the CPU knows
 *   an event is recorded in S   the event keeps a copy of what S knows
 *   T waits for an event        T takes over what the event knows
 *   the CPU waits for S         the CPU takes over what S knows
 *
 * The legacy default stream is ordered with all streams both ways, though
 * non-blocking streams are not: what it hides is not found.
 *
 * Limits. HAZARD_STREAMS streams; then those are forgotten that the CPU has
 * waited for. What cannot be followed is *unknown*: whatever waits for it is
 * taken to come after everything, so that hazards are missed and none is made
 * up. So it is with events beyond HAZARD_EVENTS, and without host memory.
 *
 * Locking: hazard lock, everywhere.
 */
#ifndef SLAB_HAZARD_CLOCK_H
#define SLAB_HAZARD_CLOCK_H

#include <slabdev/slabdev.h>
#include <sys/types.h>

#include "core/lock.h"

#define HAZARD_STREAMS 256u
#define HAZARD_EVENTS 8192u
#define NR_ACTORS (HAZARD_STREAMS + 1)
#define ACTOR_CPU 0u
#define ACTOR_UNKNOWN NR_ACTORS

/* Two are the same stream exactly if they are equal. */
struct hazard_stream {
	slabdev_stream_t handle;
	pid_t thread;		/* of SLABDEV_STREAM_PER_THREAD; else 0 */
};

struct epoch {
	u32 actor;
	u64 number;
};

struct clock {
	u64 of[NR_ACTORS];
};

extern struct lock hazard_lock;

/* What a handle means to the calling thread; NULL is the legacy stream. */
struct hazard_stream clock_stream(slabdev_stream_t handle);
bool clock_same_stream(struct hazard_stream a, struct hazard_stream b);

/* The stream, or the CPU, does one more thing; .actor may be ACTOR_UNKNOWN. */
struct epoch clock_act_locked(struct hazard_stream stream);
/* Does @earlier come before what @actor did last? Yes, of unknown ones. */
bool clock_is_behind_locked(u32 actor, struct epoch earlier);
/* The same with what those in @streams have done, too. */
bool clock_any_behind_locked(const struct hazard_stream *streams, u32 n,
			     struct epoch earlier);

void clock_record_locked(u64 event, struct hazard_stream stream);
void clock_wait_locked(struct hazard_stream stream, u64 event);
/* What @later does from now on comes after what @earlier did. */
void clock_order_locked(struct hazard_stream later,
			struct hazard_stream earlier);
/* SLABDEV_HAZARD_HOST: the CPU waits for everybody. */
void clock_sync_locked(struct hazard_stream stream);
/* True once: not all streams can be followed. */
bool clock_take_overflow_locked(void);
/* Forget every stream and event; for tests. */
void clock_reset_locked(void);

#endif /* SLAB_HAZARD_CLOCK_H */
