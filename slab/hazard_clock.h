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
 * What is captured does not run: a stream is another actor while it captures,
 * one for each capture (hazard_capture.h). The two know nothing of each other,
 * since a graph is launched anywhere and at any time: between what is captured
 * and what runs there is no order to be missed.
 *
 * The legacy default stream is ordered with all streams both ways, though
 * non-blocking streams are not: what it hides is not found.
 *
 * Limits. HAZARD_STREAMS actors; then those are forgotten that the CPU has
 * waited for. HAZARD_EVENTS events; then those that the CPU has waited for.
 * What cannot be followed even so is told once, and is *unknown*: whatever
 * waits for it is taken to come after everything, so that hazards are missed
 * and none is made up. So it is without host memory.
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
	u64 capture;		/* what is put into it belongs to; 0: it runs */
};

struct epoch {
	u32 actor;
	u64 number;
};

struct clock {
	u64 of[NR_ACTORS];
};

struct actor {
	struct hazard_stream stream;
	const void *graph;	/* that has what is captured; or NULL */
	struct clock clock;
};

extern struct lock hazard_lock;
extern struct actor *hazard_actors[NR_ACTORS];
extern u32 nr_hazard_actors;

bool clock_same_stream(const struct hazard_stream *a,
		       const struct hazard_stream *b);

/* The stream, or the CPU, does one more thing; .actor may be ACTOR_UNKNOWN. */
struct epoch clock_act_locked(const struct hazard_stream *stream);

/* How something comes to what an actor did last. */
enum clock_order {
	ORDER_BEHIND,		/* it comes before that, or may do so */
	ORDER_MISSING,
	ORDER_NONE,		/* one is captured, and there is none to miss */
};
enum clock_order clock_order_locked(u32 actor, struct epoch earlier);
/* ORDER_BEHIND to what one of those streams has done? */
bool clock_any_behind_locked(const struct hazard_stream *streams, u32 n,
			     struct epoch earlier);
/* Was it put into a graph, and not run, as far as the CPU knows? */
bool clock_is_captured_locked(struct epoch e);

/* The CPU has waited for the stream; SLABDEV_HAZARD_HOST: for everybody. */
void clock_sync_locked(const struct hazard_stream *stream);
/* No launch of what was captured for @graph runs, or will. */
void clock_end_graph_locked(const void *graph);
/* Nothing that was ever done, or captured, goes on. */
void clock_end_all_locked(void);
/* What belongs to capture @from belongs to @to. */
void clock_join_captures_locked(u64 to, u64 from);
/* True once: not all streams can be followed. */
bool clock_take_overflow_locked(void);
/* Forget every stream; for tests. */
void clock_reset_locked(void);

/* ---- For hazard_event.c -------------------------------------------------- */

/* Around whatever a stream, or the CPU, does: its actor, or ACTOR_UNKNOWN. */
u32 clock_begin_locked(const struct hazard_stream *stream);
void clock_end_locked(u32 actor);
void clock_join_locked(struct clock *to, const struct clock *from);
/* @actor comes after everything that there is. */
void clock_join_all_locked(u32 actor);
/* Does the CPU know all of it? */
bool clock_is_known_locked(const struct clock *c);

#endif /* SLAB_HAZARD_CLOCK_H */
