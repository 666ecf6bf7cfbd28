// SPDX-License-Identifier: BSD-2-Clause
/* hazard_clock.c - see hazard_clock.h. */
#include <string.h>

#include "core/metapool.h"
#include "slab/hazard_capture.h"
#include "slab/hazard_clock.h"

struct lock hazard_lock = LOCK_INIT(LOCK_HAZARD, "hazards");

/* Locking: hazard_lock. */
struct actor *hazard_actors[NR_ACTORS];
u32 nr_hazard_actors;
static bool overflow, told_overflow;
static struct metapool pool;
static bool have_pool;

/* ---- Clocks -------------------------------------------------------------- */

void clock_join_locked(struct clock *to, const struct clock *from)
{
	u32 i;

	for (i = 0; i < nr_hazard_actors; i++)
		to->of[i] = max(to->of[i], from->of[i]);
}

/* What runs does not come after what is captured. */
void clock_join_all_locked(u32 actor)
{
	struct actor *to = hazard_actors[actor];
	u32 i;

	for (i = ACTOR_CPU + 1; i < nr_hazard_actors; i++)
		if (to->stream.capture || !hazard_actors[i]->stream.capture)
			clock_join_locked(&to->clock, &hazard_actors[i]->clock);
}

bool clock_is_known_locked(const struct clock *c)
{
	u32 i;

	for (i = 0; i < nr_hazard_actors; i++)
		if (c->of[i] > hazard_actors[ACTOR_CPU]->clock.of[i])
			return false;
	return true;
}

/* ---- Actors -------------------------------------------------------------- */

static bool is_legacy(u32 actor)
{
	return hazard_actors[actor]->stream.handle == SLABDEV_STREAM_LEGACY;
}

bool clock_same_stream(const struct hazard_stream *a,
		       const struct hazard_stream *b)
{
	return a->handle == b->handle && a->thread == b->thread &&
	       a->capture == b->capture;
}

static void init_once_locked(void)
{
	if (have_pool)
		return;
	metapool_init(&pool, sizeof(struct actor), "hazard streams");
	have_pool = true;
}

static u32 find_actor(const struct hazard_stream *stream)
{
	u32 i;

	for (i = 0; i < nr_hazard_actors; i++)
		if (clock_same_stream(&hazard_actors[i]->stream, stream))
			return i;
	return ACTOR_UNKNOWN;
}

/*
 * A place whose stream has nothing that the CPU does not know: everybody who is
 * asked about it knows it from the CPU. Numbers go on from where they are.
 */
static u32 reuse_place(void)
{
	const struct clock *cpu = &hazard_actors[ACTOR_CPU]->clock;
	struct actor *a;
	u64 number;
	u32 i;

	for (i = ACTOR_CPU + 1; i < nr_hazard_actors; i++) {
		a = hazard_actors[i];
		number = a->clock.of[i];
		if (cpu->of[i] < number || is_legacy(i))
			continue;
		memset(a, 0, sizeof(*a));
		a->clock.of[i] = number;
		return i;
	}
	return ACTOR_UNKNOWN;
}

static u32 new_place(void)
{
	struct actor *a;

	if (nr_hazard_actors == NR_ACTORS)
		return reuse_place();
	a = metapool_alloc(&pool);
	if (!a)
		return ACTOR_UNKNOWN;
	hazard_actors[nr_hazard_actors] = a;
	return nr_hazard_actors++;
}

static u32 add_actor(const struct hazard_stream *stream)
{
	static const struct hazard_stream legacy = {
		.handle = SLABDEV_STREAM_LEGACY,
	};
	u32 i = new_place(), l;

	if (i == ACTOR_UNKNOWN) {
		overflow = true;
		return i;
	}
	hazard_actors[i]->stream = *stream;
	hazard_actors[i]->graph = capture_graph_locked(stream);
	l = find_actor(&legacy);
	if (l != ACTOR_UNKNOWN && l != i && !stream->capture)
		clock_join_locked(&hazard_actors[i]->clock,
				  &hazard_actors[l]->clock);
	return i;
}

/* The CPU is the first of all. */
static u32 get_actor(const struct hazard_stream *stream)
{
	static const struct hazard_stream cpu = {
		.handle = SLABDEV_HAZARD_HOST,
	};
	u32 i;

	init_once_locked();
	if (!nr_hazard_actors && add_actor(&cpu) == ACTOR_UNKNOWN)
		return ACTOR_UNKNOWN;
	i = find_actor(stream);
	return i == ACTOR_UNKNOWN ? add_actor(stream) : i;
}

/* Whatever the CPU submits comes after all that it knows. */
u32 clock_begin_locked(const struct hazard_stream *stream)
{
	u32 i = get_actor(stream);

	if (i == ACTOR_UNKNOWN || i == ACTOR_CPU)
		return i;
	clock_join_locked(&hazard_actors[i]->clock,
			  &hazard_actors[ACTOR_CPU]->clock);
	if (is_legacy(i))
		clock_join_all_locked(i);
	return i;
}

void clock_end_locked(u32 i)
{
	u32 other;

	if (i == ACTOR_UNKNOWN)
		return;
	hazard_actors[i]->clock.of[i]++;
	if (i == ACTOR_CPU || !is_legacy(i))
		return;
	for (other = ACTOR_CPU + 1; other < nr_hazard_actors; other++)
		if (other != i && !hazard_actors[other]->stream.capture)
			clock_join_locked(&hazard_actors[other]->clock,
					  &hazard_actors[i]->clock);
}

struct epoch clock_act_locked(const struct hazard_stream *stream)
{
	struct epoch e = { .actor = clock_begin_locked(stream) };

	clock_end_locked(e.actor);
	if (e.actor != ACTOR_UNKNOWN)
		e.number = hazard_actors[e.actor]->clock.of[e.actor];
	return e;
}

/* ---- Questions ----------------------------------------------------------- */

static bool is_behind(u32 actor, struct epoch earlier)
{
	return actor == ACTOR_UNKNOWN || earlier.actor == ACTOR_UNKNOWN ||
	       hazard_actors[actor]->clock.of[earlier.actor] >= earlier.number;
}

enum clock_order clock_order_locked(u32 actor, struct epoch earlier)
{
	if (is_behind(actor, earlier))
		return ORDER_BEHIND;
	return hazard_actors[actor]->stream.capture ==
	       hazard_actors[earlier.actor]->stream.capture ? ORDER_MISSING :
							      ORDER_NONE;
}

bool clock_is_captured_locked(struct epoch e)
{
	return e.actor != ACTOR_UNKNOWN && !is_behind(ACTOR_CPU, e) &&
	       hazard_actors[e.actor]->stream.capture;
}

/* Of a stream that is not there nothing was left to do when it was forgotten,
 * unless it could not be followed from the beginning. */
static bool is_stream_behind(const struct hazard_stream *stream,
			     struct epoch earlier)
{
	u32 i = find_actor(stream);

	if (stream->handle == SLABDEV_STREAM_LEGACY)
		return !clock_is_captured_locked(earlier);
	return i == ACTOR_UNKNOWN ? overflow : is_behind(i, earlier);
}

bool clock_any_behind_locked(const struct hazard_stream *streams, u32 n,
			     struct epoch earlier)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (is_stream_behind(&streams[i], earlier))
			return true;
	return false;
}

/* ---- The CPU waits ------------------------------------------------------- */

void clock_sync_locked(const struct hazard_stream *stream)
{
	u32 i = clock_begin_locked(stream);

	clock_end_locked(i);
	if (!nr_hazard_actors)
		return;
	if (i == ACTOR_UNKNOWN || i == ACTOR_CPU)
		clock_join_all_locked(ACTOR_CPU);
	else if (!stream->capture)
		clock_join_locked(&hazard_actors[ACTOR_CPU]->clock,
				  &hazard_actors[i]->clock);
}

/* ---- Captures ------------------------------------------------------------ */

void clock_join_captures_locked(u64 to, u64 from)
{
	u32 i;

	for (i = 0; i < nr_hazard_actors; i++)
		if (hazard_actors[i]->stream.capture == from)
			hazard_actors[i]->stream.capture = to;
}

static void end_capture(u64 capture)
{
	struct actor *a;
	u32 i;

	for (i = 0; i < nr_hazard_actors; i++) {
		a = hazard_actors[i];
		if (a->stream.capture != capture)
			continue;
		hazard_actors[ACTOR_CPU]->clock.of[i] = a->clock.of[i];
		a->graph = NULL;
	}
}

/* What was captured with it is in the same graph of the driver. */
void clock_end_graph_locked(const void *graph)
{
	u32 i;

	for (i = 0; i < nr_hazard_actors; i++)
		if (hazard_actors[i]->graph == graph)
			end_capture(hazard_actors[i]->stream.capture);
}

void clock_end_all_locked(void)
{
	u32 i;

	for (i = 0; i < nr_hazard_actors; i++)
		hazard_actors[ACTOR_CPU]->clock.of[i] =
			hazard_actors[i]->clock.of[i];
}

/* ---- The rest ------------------------------------------------------------ */

bool clock_take_overflow_locked(void)
{
	bool tell = overflow && !told_overflow;

	told_overflow = overflow;
	return tell;
}

void clock_reset_locked(void)
{
	if (have_pool)
		metapool_fini(&pool);
	have_pool = false;
	nr_hazard_actors = 0;
	overflow = told_overflow = false;
}
