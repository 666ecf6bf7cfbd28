// SPDX-License-Identifier: BSD-2-Clause
/* stream_walk.c - see stream_walk.h. */
#include <errno.h>

#include "tests/open_space.h"
#include "tests/random.h"
#include "tests/stream_walk.h"

static const size_t cache_sizes[] = { 16, 48, 200, 3000, 70000 };
static const char *const cache_names[] = { "1", "2", "3", "4", "5" };

static bool chance(struct walk *w, u32 n)
{
	return !random_below(&w->p.random, n);
}

/* ---- Allocation -------------------------------------------------------- */

static u64 any_size(struct walk *w)
{
	static const u64 few[] = { 5000, 40000, 200000, 500000 };
	u32 what = random_below(&w->p.random, 4000);

	if (what < 4 && w->space->set->huge)
		return 64 * MIB + random_below(&w->p.random, 4 * MIB);
	if (w->space->set->waits)
		return few[what % ARRAY_SIZE(few)];
	/* Few sizes, so that there is something to reuse. */
	if (what < 200)
		return MIB + 1 + random_below(&w->p.random, 4) * 300 * KIB;
	return random_size(&w->p.random, 64 * KIB);
}

/* Stream 0 has more than one name, unless it is made by somebody. */
static slabdev_stream_t name_of(struct walk *w, u32 stream)
{
	static const uintptr_t cpu[] = {
		0, (uintptr_t)SLABDEV_STREAM_LEGACY,
		(uintptr_t)SLABDEV_STREAM_PER_THREAD,
	};
	slabdev_stream_t handle = w->p.stream[stream].handle;
	u32 i = random_below(&w->p.random, ARRAY_SIZE(cpu));

	if (stream || (handle && handle != SLABDEV_STREAM_LEGACY))
		return handle;
	return handle && i == 2 ? handle : (slabdev_stream_t)cpu[i];
}

static void *cached(struct walk *w, struct object *o)
{
	u32 i = random_below(&w->p.random, WALK_CACHES);

	o->size = cache_sizes[i];
	o->is_cached = true;
	if (o->is_plain)
		return slabdev_cache_alloc(w->space->cache[i]);
	return slabdev_cache_alloc_async(w->space->cache[i],
					 name_of(w, o->home));
}

static void *zeroed(struct walk *w, struct object *o)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;

	o->left = 0;
	o->left_size = o->left_bytes = o->size;
	req.flags = SLABDEV_REQ_ZERO;
	if (!o->is_plain)
		req.stream = w->p.stream[o->home].handle;
	return slabdev_alloc_ex(w->p.sd, o->size, &req);
}

static void *get(struct walk *w, struct object *o)
{
	u32 what = random_below(&w->p.random, 12);

	if (what < 4)
		return cached(w, o);
	if (what == 4 && o->size < 4 * MIB)
		return zeroed(w, o);
	if (o->is_plain)
		return slabdev_alloc(w->p.sd, o->size);
	return slabdev_alloc_async(w->p.sd, o->size, name_of(w, o->home));
}

static void free_object(struct walk *w, struct object *o)
{
	program_free(&w->p, o->p, o->home);
	o->p = NULL;
}

/* Memory is short: that may be so while queues are held back, and when a lot
 * is live. */
static void make_room(struct walk *w)
{
	u32 i;

	w->nothing++;
	KUNIT_EXPECT_TRUE_MSG(w->p.test, errno == EDQUOT || errno == ENOMEM ||
			      (w->p.failing && errno == EIO), "step %llu: %d "
			      "%s", (unsigned long long)w->p.step, errno,
			      slabdev_last_error());
	if (chance(w, 2))
		program_run_all(&w->p);
	for (i = 0; i < WALK_OBJECTS / 4; i++)
		if (w->object[i].p && !w->p.stream[w->object[i].home].capturing)
			free_object(w, &w->object[i]);
}

/* Memory that is for all needs no order. */
static void use_first(struct walk *w, struct object *o)
{
	if (o->is_plain && w->space->for_cpu && chance(w, 2))
		program_touch(&w->p, o);
	if (o->is_plain && w->space->for_all)
		o->home = program_any_stream(&w->p);
	program_launch(&w->p, o);
}

static void allocate(struct walk *w, struct object *o)
{
	*o = (struct object){ .left = ANYTHING };
	o->size = any_size(w);
	o->home = program_any_stream(&w->p);
	o->is_plain = !o->home && chance(w, 2);
	o->p = get(w, o);
	if (!o->p)
		make_room(w);
	else
		use_first(w, o);
}

/* ---- Objects ----------------------------------------------------------- */

static void move_home(struct walk *w, struct object *o)
{
	u32 to = program_any_stream(&w->p);

	/* The CPU has to wait. */
	if (!w->p.stream[to].handle && !chance(w, 20))
		return;
	program_order(&w->p, o->home, to);
	o->home = to;
	program_launch(&w->p, o);
}

/* Another stream works on it, its own does not any more, and frees it. */
static void use_elsewhere(struct walk *w, struct object *o)
{
	u32 home = o->home, to = program_any_stream(&w->p);
	int err;

	if (!w->p.stream[to].handle)
		return;
	err = slabdev_use(w->p.sd, o->p, w->p.stream[to].handle);
	KUNIT_ASSERT_EQ_MSG(w->p.test, err, 0, "%s", slabdev_last_error());
	program_order(&w->p, home, to);
	if (o->is_shared || chance(w, 2)) {
		/* From now on all read; the free comes some time. */
		o->is_shared = true;
		program_launch_reader(&w->p, o, to);
		return;
	}
	o->home = to;
	program_launch(&w->p, o);
	o->home = home;
	free_object(w, o);
}

static void read_again(struct walk *w, struct object *o)
{
	if (chance(w, 3))
		free_object(w, o);
	else if (!chance(w, 3))
		program_launch_reader(&w->p, o, o->home);
	else
		use_elsewhere(w, o);
}

static void resize(struct walk *w, struct object *o)
{
	u64 size = any_size(w);
	void *p;

	if (o->is_cached)
		return;
	p = slabdev_realloc_async(w->p.sd, o->p, size, name_of(w, o->home));
	if (!p) {
		make_room(w);
		return;
	}
	o->p = p;
	o->left_bytes = min(o->left_bytes, size);
	o->size = size;
	program_launch(&w->p, o);
}

/* Between threads; the CPU of each has it. */
static void hand_over(struct walk *w, struct object *o)
{
	struct object *mine = malloc(sizeof(*mine)), *other;
	u32 i = random_below(&w->p.random, WALK_DESKS);

	program_order(&w->p, o->home, 0);
	o->home = 0;
	*mine = *o;
	o->p = NULL;
	other = __atomic_exchange_n(&w->space->desk[i], mine,
				    __ATOMIC_ACQ_REL);
	if (other)
		*o = *other;
	free(other);
}

static void object_step(struct walk *w, struct object *o)
{
	u32 what = random_below(&w->p.random, 100);

	if (!o->p)
		allocate(w, o);
	else if (w->p.stream[o->home].capturing && what < 3)
		free_object(w, o);	/* It is the graph's. */
	else if (w->p.stream[o->home].capturing)
		return;
	else if (o->is_shared)
		read_again(w, o);
	else if (what < 30)
		free_object(w, o);
	else if (what < 45)
		move_home(w, o);
	else if (what < 53)
		use_elsewhere(w, o);
	else if (what < 60)
		resize(w, o);
	else if (what < 61 && program_graph_use(&w->p, o))
		o->p = NULL;
	else if (what < 62)
		hand_over(w, o);
	else
		program_launch(&w->p, o);
}

/* ---- Streams ----------------------------------------------------------- */

static void renew_stream(struct walk *w)
{
	u32 i = program_any_stream(&w->p), k;

	if (!i)
		return;
	for (k = 0; k < WALK_OBJECTS; k++)
		if (w->object[k].p && w->object[k].home == i)
			free_object(w, &w->object[k]);
	program_stream_end(&w->p, i);
	program_stream_begin(&w->p, i, !chance(w, 3));
}

static void attach_or_detach(struct walk *w)
{
	u32 i = program_any_stream(&w->p);
	struct program_stream *st = &w->p.stream[i];

	if (!i)
		return;
	if (st->attached) {
		/* It stays, and objects are used on it yet. */
		program_stream_detach(&w->p, i);
		return;
	}
	KUNIT_EXPECT_EQ(w->p.test, slabdev_stream_attach(w->p.sd, st->handle),
			0);
	st->attached = true;
}

/* ---- The space --------------------------------------------------------- */

/* Of a call that may have waited for the queues, or for the backend. */
static void expect_done(struct walk *w, int err)
{
	KUNIT_EXPECT_TRUE_MSG(w->p.test, !err || w->p.failing ||
			      err == -EDQUOT || err == -ENOMEM, "%d: %s", err,
			      slabdev_last_error());
}

static void change_policy(struct walk *w)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;

	policy.mode = SLABDEV_RETAIN + random_below(&w->p.random, 3);
	policy.keep_bytes = random_below(&w->p.random, 8 * MIB);
	if (w->space->set->waits || chance(w, 2))
		policy.flags = SLABDEV_POLICY_STREAM_WAITS;
	expect_done(w, slabdev_set_policy(w->p.sd, &policy));
}

static void fail_or_not(struct walk *w)
{
	if (!w->space->set->fails)
		return;
	w->p.failing = !w->p.failing;
	w->p.driver->fail(&w->p, w->p.failing);
}

static void check(struct walk *w)
{
	/* Alone, the books balance exactly. */
	if (w->p.alone)
		expect_sound(w->p.test, w->p.sd);
	else
		KUNIT_EXPECT_EQ(w->p.test, slabdev_validate(w->p.sd), 0);
	program_check(&w->p);
}

static void rare_step(struct walk *w)
{
	struct slabdev *sd = w->p.sd;
	u32 what = random_below(&w->p.random, 40);

	if (what < 16 && w->space->set->keeps_streams)
		return;
	if (what < 8)
		renew_stream(w);
	else if (what < 16)
		attach_or_detach(w);
	else if (what < 20)
		change_policy(w);
	else if (what < 24)
		fail_or_not(w);
	else if (what < 26)
		expect_done(w, slabdev_trim(sd, random_below(&w->p.random,
							     16 * MIB)));
	else if (what < 27)
		expect_done(w, slabdev_prime(sd, 2 * MIB));
	else if (what < 28)
		check(w);
	else
		expect_done(w, slabdev_poll(sd));
}

static void step(struct walk *w)
{
	struct program *p = &w->p;

	p->step++;
	if (chance(w, p->driver->run_every))
		p->driver->run_some(p);
	if (p->submitted - __atomic_load_n(&p->done, __ATOMIC_RELAXED) >
	    p->driver->backlog)
		program_run_all(p);
	if (chance(w, 100))
		rare_step(w);
	if (chance(w, 40))
		program_graph_step(p);
	object_step(w, &w->object[random_below(&p->random, WALK_OBJECTS)]);
}

/* ---- Walks ------------------------------------------------------------- */

void walk_begin(struct walk *w, struct walk_space *s, u32 me, bool alone)
{
	u32 i;

	w->space = s;
	w->p.driver = s->driver;
	w->p.test = s->test;
	w->p.sd = s->sd;
	w->p.nr_streams = s->set->nr_streams;
	w->p.random = s->seed + me;
	w->p.next = (u64)(me + 1) << 48;
	w->p.alone = alone;
	for (i = 1; i < w->p.nr_streams; i++)
		program_stream_begin(&w->p, i, i % 3);
}

void walk_steps(void *arg)
{
	struct walk *w = arg;
	u32 i;

	while (w->p.step < w->space->set->steps &&
	       !__atomic_load_n(&w->p.wrong, __ATOMIC_RELAXED))
		step(w);
	if (w->p.failing)
		fail_or_not(w);
	program_graph_end(&w->p);
	for (i = 0; i < WALK_OBJECTS; i++)
		if (w->object[i].p)
			free_object(w, &w->object[i]);
}

void walk_end(struct walk *w)
{
	u32 i;

	for (i = 1; i < w->p.nr_streams; i++)
		program_stream_end(&w->p, i);
	program_check(&w->p);
}

/* ---- What they share --------------------------------------------------- */

void walk_open(struct walk_space *s)
{
	u32 i;

	s->seed = random_seed(s->test);
	for (i = 0; i < WALK_CACHES; i++)
		KUNIT_ASSERT_EQ(s->test,
				slabdev_cache_create(&s->cache[i], s->sd,
						     cache_names[i],
						     cache_sizes[i], NULL), 0);
}

static void clear_desks(struct walk_space *s)
{
	u32 i;

	for (i = 0; i < WALK_DESKS; i++) {
		if (s->desk[i])
			EXPECT_FREED(s->test, s->sd, s->desk[i]->p);
		free(s->desk[i]);
	}
}

struct slabdev_stats walk_close(struct walk_space *s)
{
	struct slabdev_stats st;
	u32 i;

	clear_desks(s);
	for (i = 0; i < WALK_CACHES; i++)
		KUNIT_EXPECT_EQ(s->test, slabdev_cache_destroy(s->cache[i]),
				0);
	expect_empty(s->test, s->sd);
	st = stats_of(s->test, s->sd);
	KUNIT_EXPECT_EQ(s->test, st.pending, 0);
	KUNIT_EXPECT_EQ(s->test, st.held, 0);
	if (s->set->waits)
		KUNIT_EXPECT_GT(s->test, st.stream_waits, 0);
	KUNIT_EXPECT_EQ(s->test, st.lost, 0);
	/* Host order has the bound stream as one of them. */
	KUNIT_EXPECT_EQ(s->test, st.streams, s->for_all ? 1 : 0);
	KUNIT_EXPECT_EQ(s->test, st.graphs, 0);
	close_space(s->test, s->sd);
	kunit_info(s->test, "%llu events, %llu host waits, %llu stream waits",
		   (unsigned long long)st.event_records,
		   (unsigned long long)st.host_waits,
		   (unsigned long long)st.stream_waits);
	return st;
}
