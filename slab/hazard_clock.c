// SPDX-License-Identifier: BSD-2-Clause
/* hazard_clock.c - see hazard_clock.h. */
#include <string.h>

#include "core/metapool.h"
#include "core/os.h"
#include "slab/hazard_clock.h"

#define NR_BUCKETS 1024u

struct actor {
	struct hazard_stream stream;
	struct clock clock;
};

struct event {
	struct event *next;	/* in its bucket */
	u64 name;
	bool unknown;		/* recorded where nobody could follow */
	struct clock clock;
};

struct lock hazard_lock = LOCK_INIT(LOCK_HAZARD, "hazards");

/* Locking: hazard_lock. */
static struct actor *actors[NR_ACTORS];
static u32 nr_actors;
static struct event *events[NR_BUCKETS];
static u32 nr_events;
static bool events_lost;	/* one that is not found may be of them */
static bool overflow, told_overflow;
static struct metapool actor_pool, event_pool;
static bool have_pools;

/* ---- Clocks -------------------------------------------------------------- */

static void join(struct clock *to, const struct clock *from)
{
	u32 i;

	for (i = 0; i < nr_actors; i++)
		to->of[i] = max(to->of[i], from->of[i]);
}

static void join_all_streams(struct clock *to)
{
	u32 i;

	for (i = ACTOR_CPU + 1; i < nr_actors; i++)
		join(to, &actors[i]->clock);
}

static bool is_legacy(u32 actor)
{
	return actors[actor]->stream.handle == SLABDEV_STREAM_LEGACY;
}

/* ---- Actors -------------------------------------------------------------- */

struct hazard_stream clock_stream(slabdev_stream_t handle)
{
	struct hazard_stream s = { .handle = handle };

	if (!handle)
		s.handle = SLABDEV_STREAM_LEGACY;
	if (handle == SLABDEV_STREAM_PER_THREAD)
		s.thread = os_gettid();
	return s;
}

bool clock_same_stream(struct hazard_stream a, struct hazard_stream b)
{
	return a.handle == b.handle && a.thread == b.thread;
}

static void init_once_locked(void)
{
	if (have_pools)
		return;
	metapool_init(&actor_pool, sizeof(struct actor), "hazard streams");
	metapool_init(&event_pool, sizeof(struct event), "hazard events");
	have_pools = true;
}

static u32 find_actor(struct hazard_stream stream)
{
	u32 i;

	for (i = 0; i < nr_actors; i++)
		if (clock_same_stream(actors[i]->stream, stream))
			return i;
	return ACTOR_UNKNOWN;
}

/*
 * A place whose stream has nothing that the CPU does not know: everybody who is
 * asked about it knows it from the CPU. Numbers go on from where they are.
 */
static u32 reuse_place(void)
{
	const struct clock *cpu = &actors[ACTOR_CPU]->clock;
	u64 number;
	u32 i;

	for (i = ACTOR_CPU + 1; i < nr_actors; i++) {
		number = actors[i]->clock.of[i];
		if (cpu->of[i] < number || is_legacy(i))
			continue;
		memset(&actors[i]->clock, 0, sizeof(actors[i]->clock));
		actors[i]->clock.of[i] = number;
		return i;
	}
	return ACTOR_UNKNOWN;
}

static u32 new_place(void)
{
	if (nr_actors == NR_ACTORS)
		return reuse_place();
	actors[nr_actors] = metapool_alloc(&actor_pool);
	return actors[nr_actors] ? nr_actors++ : ACTOR_UNKNOWN;
}

static u32 add_actor(struct hazard_stream stream)
{
	u32 i = new_place(), legacy;

	if (i == ACTOR_UNKNOWN) {
		overflow = true;
		return i;
	}
	actors[i]->stream = stream;
	legacy = find_actor(clock_stream(SLABDEV_STREAM_LEGACY));
	if (legacy != ACTOR_UNKNOWN && legacy != i)
		join(&actors[i]->clock, &actors[legacy]->clock);
	return i;
}

/* The CPU is the first of all. */
static u32 get_actor(struct hazard_stream stream)
{
	struct hazard_stream cpu = { .handle = SLABDEV_HAZARD_HOST };
	u32 i;

	init_once_locked();
	if (!nr_actors && add_actor(cpu) == ACTOR_UNKNOWN)
		return ACTOR_UNKNOWN;
	i = find_actor(stream);
	return i == ACTOR_UNKNOWN ? add_actor(stream) : i;
}

/* Whatever the CPU submits comes after all that it knows. */
static u32 begin_act(struct hazard_stream stream)
{
	u32 i = get_actor(stream);

	if (i == ACTOR_UNKNOWN || i == ACTOR_CPU)
		return i;
	join(&actors[i]->clock, &actors[ACTOR_CPU]->clock);
	if (is_legacy(i))
		join_all_streams(&actors[i]->clock);
	return i;
}

static void end_act(u32 i)
{
	u32 other;

	if (i == ACTOR_UNKNOWN)
		return;
	actors[i]->clock.of[i]++;
	if (i == ACTOR_CPU || !is_legacy(i))
		return;
	for (other = ACTOR_CPU + 1; other < nr_actors; other++)
		if (other != i)
			join(&actors[other]->clock, &actors[i]->clock);
}

struct epoch clock_act_locked(struct hazard_stream stream)
{
	struct epoch e = { .actor = begin_act(stream) };

	end_act(e.actor);
	if (e.actor != ACTOR_UNKNOWN)
		e.number = actors[e.actor]->clock.of[e.actor];
	return e;
}

bool clock_is_behind_locked(u32 actor, struct epoch earlier)
{
	return actor == ACTOR_UNKNOWN || earlier.actor == ACTOR_UNKNOWN ||
	       actors[actor]->clock.of[earlier.actor] >= earlier.number;
}

/* Of a stream that is not there nothing was left to do when it was forgotten,
 * unless it could not be followed from the beginning. */
static bool is_stream_behind(struct hazard_stream stream, struct epoch earlier)
{
	u32 i = find_actor(stream);

	if (stream.handle == SLABDEV_STREAM_LEGACY)
		return true;
	return i == ACTOR_UNKNOWN ? overflow :
				    clock_is_behind_locked(i, earlier);
}

bool clock_any_behind_locked(const struct hazard_stream *streams, u32 n,
			     struct epoch earlier)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (is_stream_behind(streams[i], earlier))
			return true;
	return false;
}

/* ---- Events -------------------------------------------------------------- */

static struct event **bucket(u64 name)
{
	return &events[name * UINT64_C(0x9e3779b97f4a7c15) >> 32 &
		       (NR_BUCKETS - 1)];
}

static struct event *find_event(u64 name)
{
	struct event *e;

	for (e = *bucket(name); e; e = e->next)
		if (e->name == name)
			return e;
	return NULL;
}

static struct event *get_event(u64 name)
{
	struct event *e = find_event(name);

	if (e)
		return e;
	if (nr_events < HAZARD_EVENTS)
		e = metapool_alloc(&event_pool);
	if (!e) {
		events_lost = true;
		return NULL;
	}
	nr_events++;
	e->name = name;
	e->next = *bucket(name);
	*bucket(name) = e;
	return e;
}

void clock_record_locked(u64 name, struct hazard_stream stream)
{
	u32 i = begin_act(stream);
	struct event *e;

	end_act(i);
	e = get_event(name);
	if (!e)
		return;
	e->unknown = i == ACTOR_UNKNOWN;
	if (!e->unknown)
		e->clock = actors[i]->clock;
}

void clock_wait_locked(struct hazard_stream stream, u64 name)
{
	u32 i = begin_act(stream);
	const struct event *e = find_event(name);

	if (i == ACTOR_UNKNOWN)
		return;
	if (e && !e->unknown)
		join(&actors[i]->clock, &e->clock);
	else if (e || events_lost)
		join_all_streams(&actors[i]->clock);
	end_act(i);
}

void clock_order_locked(struct hazard_stream later,
			struct hazard_stream earlier)
{
	u32 from = begin_act(earlier), to;

	end_act(from);
	to = begin_act(later);
	if (to == ACTOR_UNKNOWN)
		return;
	if (from == ACTOR_UNKNOWN)
		join_all_streams(&actors[to]->clock);
	else
		join(&actors[to]->clock, &actors[from]->clock);
	end_act(to);
}

void clock_sync_locked(struct hazard_stream stream)
{
	u32 i = begin_act(stream);

	end_act(i);
	if (!nr_actors)
		return;
	if (i == ACTOR_UNKNOWN || i == ACTOR_CPU)
		join_all_streams(&actors[ACTOR_CPU]->clock);
	else
		join(&actors[ACTOR_CPU]->clock, &actors[i]->clock);
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
	if (!have_pools)
		return;
	metapool_fini(&actor_pool);
	metapool_fini(&event_pool);
	have_pools = false;
	nr_actors = nr_events = 0;
	memset(events, 0, sizeof(events));
	events_lost = overflow = told_overflow = false;
}
