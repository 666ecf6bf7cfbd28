// SPDX-License-Identifier: BSD-2-Clause
/*
 * scenarios.c - what the explorer runs: short encounters of two or three
 * threads, each at a place where something is handed over.
 *
 * Most use one cache whose sheaves hold two objects, so that a few calls fill
 * or empty one. Whatever the schedule, at the end each object is in one place
 * (finish): the live ones are distinct and as many as were allocated, the walk
 * finds every list in order, and when all is freed and trimmed nothing is left.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "slab/class.h"
#include "slab/heap.h"
#include "slab/live.h"
#include "slab/steal.h"
#include "tests/explore/explore.h"

#define OBJECT ((size_t)4096)
#define SHEAF 2u		/* objects */
#define HELD_MAX 16u
#define EVICT_EVERY 8u		/* requests, as in heap.c */

#define REQUIRE(cond)							\
	do {								\
		if (!(cond))						\
			run_failed("line %d: %s", __LINE__, #cond);	\
	} while (0)

static struct slabdev *sd;
static struct slabdev_cache *cache;
static bool closed, destroyed;
/* Reports that the run may cause. */
static u32 reports_allowed;

/* By routine; the last: by none of them. */
static struct held {
	void *p[HELD_MAX];
	u32 n;
} held[ROUTINES_MAX + 1];

/* ---- Objects ---------------------------------------------------------- */

static void get(int i, u32 n)
{
	void *p;

	while (n--) {
		p = slabdev_cache_alloc(cache);
		REQUIRE(p);
		held[i].p[held[i].n++] = p;
	}
}

static void put(int i, u32 n)
{
	while (n--)
		REQUIRE(!slabdev_cache_free(cache, held[i].p[--held[i].n]));
}

static u32 nr_held(void)
{
	u32 i, n = 0;

	for (i = 0; i < ARRAY_SIZE(held); i++)
		n += held[i].n;
	return n;
}

static void require_distinct(void)
{
	void *all[ARRAY_SIZE(held) * HELD_MAX];
	u32 i, j, n = 0;

	for (i = 0; i < ARRAY_SIZE(held); i++)
		for (j = 0; j < held[i].n; j++)
			all[n++] = held[i].p[j];
	for (i = 0; i < n; i++)
		for (j = 0; j < i; j++)
			if (all[i] == all[j])
				run_failed("object %p was handed out twice",
					   all[i]);
}

/* ---- Before and after ------------------------------------------------- */

static void on_report(int level, const char *text, void *arg)
{
	(void)arg;
	if (level > SLABDEV_LOG_ERROR)
		return;
	/* The first line of a report is a rule. */
	text += strspn(text, "=\n");
	if (!reports_allowed)
		run_failed("report: %.*s", (int)strcspn(text, "\n"), text);
	reports_allowed--;
}

static void open_space(u32 flags, u64 sheaf_bytes)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;

	slabdev_set_log(on_report, NULL);
	attr.limit = 64 * MIB;
	attr.reserve = 64 * MIB;
	attr.flags = flags | SLABDEV_OPEN_PRIVATE_STATS;
	attr.sheaf_bytes = sheaf_bytes;
	args.sheaf_bytes = SHEAF * OBJECT;
	REQUIRE(!slabdev_open(&sd, "host", &attr));
	REQUIRE(!slabdev_cache_create(&cache, sd, "cache", OBJECT, &args));
	REQUIRE(cache_class(cache)->sheaf_cap == SHEAF);
	/* No scenario comes near a limit. */
	model_ignore(&sd->charged, sizeof(sd->charged));
	model_ignore(&sd->rec->out_bytes, sizeof(sd->rec->out_bytes));
	model_ignore(&sd->rec->peak_out, sizeof(sd->rec->peak_out));
}

static struct slabdev_stats sound(void)
{
	struct slabdev_stats st;

	REQUIRE(!slabdev_validate(sd));
	REQUIRE(!slabdev_stats(sd, &st, sizeof(st)));
	REQUIRE(st.mapped == st.live + st.cached + st.pending + st.retained +
			     st.rounding + st.slack + st.lost);
	REQUIRE(!st.in_flight);
	REQUIRE(st.live_objects == nr_held());
	REQUIRE(st.live_objects == live_walk(sd, NULL, NULL, NULL));
	return st;
}

static void finish(void)
{
	struct slabdev_stats st;
	int i;

	if (closed)
		return;
	require_distinct();
	sound();
	for (i = 0; i <= ROUTINES_MAX; i++)
		put(i, held[i].n);
	REQUIRE(!slabdev_trim(sd, 0));
	st = sound();
	REQUIRE(!st.cached && !st.mapped && !st.handles);
	REQUIRE(!READ_ONCE(sd->charged));
	if (!destroyed)
		REQUIRE(!slabdev_cache_destroy(cache));
	REQUIRE(!slabdev_close(sd, 0));
}

/* ---- What a thread does before ---------------------------------------- */

static void note_heap(int i)
{
	struct heap *h = thread_self->heap[sd->id];

	model_ignore(&h->charged, sizeof(h->charged));
	if (!i)
		breakage_word(BREAK_BUSY, &h->busy, 0);
}

/* Both sheaves are full. */
static void fill(int i)
{
	get(i, 2 * SHEAF);
	put(i, 2 * SHEAF);
	note_heap(i);
}

/* There is a heap, but no sheaf. */
static void begin(int i)
{
	get(i, 1);
	put(i, 1);
	take_back(sd, NULL);
	note_heap(i);
}

/* Both sheaves are full, and there are as many objects to be freed. */
static void overfill(int i)
{
	get(i, 4 * SHEAF);
	put(i, 2 * SHEAF);
	note_heap(i);
}

/* The barn has two full sheaves. */
static void fill_barn(int i)
{
	get(i, 4 * SHEAF);
	put(i, 4 * SHEAF);
}

/* ---- Stealing --------------------------------------------------------- */

static void prepare_full(void)
{
	open_space(0, 0);
	as_thread(0, fill);
}

static void prepare_empty(void)
{
	open_space(0, 0);
	as_thread(0, begin);
}

static void prepare_overfull(void)
{
	open_space(0, 0);
	as_thread(0, overfill);
}

static void get_put_get(int i)
{
	get(i, 1);
	put(i, 1);
	get(i, 1);
}

static void get_some(int i)
{
	get(i, SHEAF + 1);
}

static void put_some(int i)
{
	put(i, SHEAF);
}

static void take(int i)
{
	(void)i;
	take_back(sd, cache_class(cache));
}

static void trim(int i)
{
	(void)i;
	REQUIRE(!slabdev_trim(sd, 0));
}

/* The kernel refuses one of the two barriers. */
static void prepare_refused(void)
{
	prepare_full();
	barriers_refused = 1;
}

/* ---- The barn --------------------------------------------------------- */

static void prepare_barn(void)
{
	open_space(0, 0);
	as_thread(1, begin);
	as_thread(2, begin);
	as_thread(0, overfill);
}

static void prepare_full_barn(void)
{
	open_space(0, 0);
	as_thread(0, begin);
	as_thread(1, begin);
	as_thread(2, fill_barn);
}

static void barn_is_counted(void)
{
	struct class *c = cache_class(cache);
	struct sheaf *s;
	u32 n = 0, empty = 0;

	for (s = c->full; s; s = s->next, n++)
		REQUIRE(s->n == SHEAF);
	for (s = c->empty; s; s = s->next, empty++)
		REQUIRE(!s->n);
	REQUIRE(n == c->nr_full && empty == c->nr_empty);
	finish();
}

/* ---- Slabs ------------------------------------------------------------ */

static void prepare_slabs(void)
{
	open_space(SLABDEV_OPEN_NO_SHEAVES, 0);
	as_thread(0, get_some);
	as_thread(1, get_some);
}

static void put_get(int i)
{
	put(i, 1);
	get(i, 1);
}

/* ---- Threads that begin and end --------------------------------------- */

static void prepare_two_full(void)
{
	open_space(0, 0);
	as_thread(0, fill);
	as_thread(1, fill);
}

static void nothing(int i)
{
	(void)i;
}

static void prepare_open(void)
{
	open_space(0, 0);
}

static void get_put(int i)
{
	get(i, 1);
	put(i, 1);
}

static void close_space(int i)
{
	(void)i;
	REQUIRE(!slabdev_close(sd, 0));
	closed = true;
}

/* ---- Caches that go --------------------------------------------------- */

static void destroy(int i)
{
	(void)i;
	REQUIRE(!slabdev_cache_destroy(cache));
	destroyed = true;
}

/* Thread 1 has no room for another sheaf, and its next one evicts one. */
static void be_about_to_evict(int i)
{
	struct heap *h;

	fill(i);
	h = thread_self->heap[sd->id];
	h->refused = EVICT_EVERY - 1;
}

static void prepare_tight(void)
{
	open_space(0, 2 * SHEAF * OBJECT);
	as_thread(1, be_about_to_evict);
}

/* An object of another class. */
static void get_other(int i)
{
	void *p = slabdev_alloc(sd, SHEAF * OBJECT);

	(void)i;
	REQUIRE(p);
	REQUIRE(!slabdev_free(sd, p));
}

/* ---- Two frees of one object ------------------------------------------ */

static void prepare_shared(void)
{
	open_space(0, 0);
	as_thread(0, fill);
	as_thread(1, fill);
	get(ROUTINES_MAX, 1);
	reports_allowed = 1;
}

static int freed[ROUTINES_MAX];

static void free_shared(int i)
{
	freed[i] = slabdev_free(sd, held[ROUTINES_MAX].p[0]);
}

static void freed_once(void)
{
	REQUIRE((!freed[0] && freed[1] == -EALREADY) ||
		(!freed[1] && freed[0] == -EALREADY));
	held[ROUTINES_MAX].n = 0;
	finish();
}

/* ---- Policy ----------------------------------------------------------- */

static void forbid_sheaves(int i)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;

	(void)i;
	policy.mode = SLABDEV_AGGRESSIVE;
	REQUIRE(!slabdev_set_policy(sd, &policy));
}

static void prepare_policy(void)
{
	prepare_overfull();
	breakage_word(BREAK_BYPASS, &sd->bypass, -1);
}

static void no_sheaf_is_left(void)
{
	REQUIRE(!READ_ONCE(sd->charged));
	finish();
}

/* ---- Table ------------------------------------------------------------ */

const struct scenario scenarios[] = {
	/* An owner, and who takes its sheaves. */
	{ "steal", prepare_full, { get_put_get, take }, finish, { 0 } },
	{ "steal-refill", prepare_empty, { get_some, take }, finish, { 0 } },
	{ "steal-flush", prepare_overfull, { put_some, take }, finish, { 0 } },
	{ "thieves", prepare_full, { get_put, take, take }, finish, { 0 } },
	{ "refused", prepare_refused, { get_put, take, take }, finish, { 0 } },
	{ "policy", prepare_policy, { put_some, forbid_sheaves },
	  no_sheaf_is_left, { 0 } },
	/* Sheaves that are traded. */
	{ "barn", prepare_barn, { put_some, get_some }, barn_is_counted,
	  { 0 } },
	{ "barn-takers", prepare_full_barn, { get_some, get_some },
	  barn_is_counted, { 0 } },
	{ "barn-trim", prepare_barn, { put_some, get_some, take },
	  barn_is_counted, { 0 } },
	{ "slabs", prepare_slabs, { put_get, put_get }, finish, { 0 } },
	/* Threads that begin and end. */
	{ "begin", prepare_open, { get_put, get_put }, finish, { 1, 1 } },
	{ "end-steal", prepare_full, { get_put, take }, finish, { 1 } },
	{ "end-end", prepare_two_full, { nothing, nothing, take }, finish,
	  { 1, 1 } },
	{ "end-close", prepare_two_full, { nothing, nothing, close_space },
	  finish, { 1, 1 } },
	/* A cache that goes, and who looks at it. */
	{ "destroy-trim", prepare_full, { destroy, trim }, finish, { 0 } },
	{ "destroy-end", prepare_two_full, { nothing, destroy }, finish,
	  { 1 } },
	{ "destroy-evict", prepare_tight, { destroy, get_other }, finish,
	  { 0 } },
	/* Two frees. */
	{ "twice", prepare_shared, { free_shared, free_shared }, freed_once,
	  { 0 } },
	{ 0 }
};

const struct scenario *scenario_find(const char *name)
{
	const struct scenario *sc;

	for (sc = scenarios; sc->name; sc++)
		if (!strcmp(sc->name, name))
			return sc;
	return NULL;
}
