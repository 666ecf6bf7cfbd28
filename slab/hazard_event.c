// SPDX-License-Identifier: BSD-2-Clause
/* hazard_event.c - see hazard_event.h. */
#include <string.h>

#include "core/metapool.h"
#include "slab/hazard_capture.h"
#include "slab/hazard_event.h"

#define NR_BUCKETS 1024u
/* While none can be forgotten, each so many'th looks again. */
#define LOOK_EVERY 256u

struct event {
	struct event *next;	/* in its bucket */
	u64 name;
	bool is_mark;		/* of another set of names */
	bool unknown;		/* recorded where nobody could follow */
	u64 capture;		/* that it is in; 0: none */
	struct clock clock;
};

/* Locking: hazard_lock. */
static struct event *events[NR_BUCKETS];
static u32 nr_events;		/* without marks */
static u64 last_mark;
static u32 tries;		/* since there was room */
static bool lost, told_lost;	/* one that is not found may be of them */
static struct metapool pool;
static bool have_pool;

/* ---- The table ----------------------------------------------------------- */

static struct event **bucket(u64 name)
{
	return &events[name * UINT64_C(0x9e3779b97f4a7c15) >> 32 &
		       (NR_BUCKETS - 1)];
}

static struct event **find(u64 name, bool is_mark)
{
	struct event **at;

	for (at = bucket(name); *at; at = &(*at)->next)
		if ((*at)->name == name && (*at)->is_mark == is_mark)
			break;
	return at;
}

static void drop(struct event **at)
{
	struct event *e = *at;

	*at = e->next;
	nr_events -= !e->is_mark;
	metapool_free(&pool, e);
}

/* Whoever waits for one of those learns nothing: the CPU knows it all. */
static void forget_known(void)
{
	struct event **at;
	u32 i;

	for (i = 0; i < NR_BUCKETS; i++) {
		at = &events[i];
		while (*at)
			if (!(*at)->is_mark && !(*at)->unknown &&
			    clock_is_known_locked(&(*at)->clock))
				drop(at);
			else
				at = &(*at)->next;
	}
}

static bool have_room(void)
{
	if (nr_events == HAZARD_EVENTS && !(tries++ % LOOK_EVERY))
		forget_known();
	if (nr_events == HAZARD_EVENTS)
		return false;
	tries = 0;
	return true;
}

static struct event *add(u64 name, bool is_mark)
{
	struct event *e;

	if (!have_pool)
		metapool_init(&pool, sizeof(*e), "hazard events");
	have_pool = true;
	if (!is_mark && !have_room())
		return NULL;
	e = metapool_alloc(&pool);
	if (!e)
		return NULL;
	nr_events += !is_mark;
	e->name = name;
	e->is_mark = is_mark;
	e->next = *bucket(name);
	*bucket(name) = e;
	return e;
}

/* ---- Record and wait ----------------------------------------------------- */

static void record(u64 name, bool is_mark, const struct hazard_stream *stream)
{
	u32 i = clock_begin_locked(stream);
	struct event *e = *find(name, is_mark);

	clock_end_locked(i);
	if (!e)
		e = add(name, is_mark);
	if (!e) {
		lost = true;
		return;
	}
	e->unknown = i == ACTOR_UNKNOWN;
	e->capture = stream->capture;
	if (!e->unknown)
		e->clock = hazard_actors[i]->clock;
}

static void wait_for(const struct hazard_stream *stream, const struct event *e)
{
	u32 i = clock_begin_locked(stream);

	if (i == ACTOR_UNKNOWN)
		return;
	if (e && !e->unknown)
		clock_join_locked(&hazard_actors[i]->clock, &e->clock);
	else if (e || lost)
		clock_join_all_locked(i);
	clock_end_locked(i);
}

void event_record_locked(u64 name, const struct hazard_stream *stream)
{
	record(name, false, stream);
}

/* To wait for what is captured is to be captured, which the CPU cannot be. */
static void wait_locked(struct hazard_stream stream, const struct event *e)
{
	if (e && e->capture && e->capture != stream.capture &&
	    (stream.handle == SLABDEV_HAZARD_HOST ||
	     !capture_enter_locked(&stream, e->capture)))
		return;
	wait_for(&stream, e);
}

void event_wait_locked(struct hazard_stream stream, u64 name)
{
	wait_locked(stream, *find(name, false));
}

u64 event_mark_locked(const struct hazard_stream *stream)
{
	record(++last_mark, true, stream);
	return last_mark;
}

void event_pass_locked(u64 mark, const struct hazard_stream *later)
{
	struct event **at = find(mark, true);

	if (later)
		wait_locked(*later, *at);
	if (*at)
		drop(at);
}

/* ---- The rest ------------------------------------------------------------ */

void event_join_captures_locked(u64 to, u64 from)
{
	struct event *e;
	u32 i;

	for (i = 0; i < NR_BUCKETS; i++)
		for (e = events[i]; e; e = e->next)
			if (e->capture == from)
				e->capture = to;
}

bool event_take_overflow_locked(void)
{
	bool tell = lost && !told_lost;

	told_lost = lost;
	return tell;
}

void event_reset_locked(void)
{
	if (have_pool)
		metapool_fini(&pool);
	have_pool = false;
	memset(events, 0, sizeof(events));
	nr_events = tries = 0;
	lost = told_lost = false;
}
