// SPDX-License-Identifier: BSD-2-Clause
/*
 * stream_random_test.c - random programs for streams, on host queues; see
 * stream_program.h.
 *
 * The queues of the single-threaded cases are manual, so that the same seed
 * (KUNIT_SEED) is the same run. Objects of all kinds come and go in all
 * streams, streams are made and destroyed, attached and detached, graphs
 * captured and replayed, the policy changes, memory is short, calls of the
 * backend fail. No kernel finds its memory given away, the books balance, and
 * in the end everything is given back.
 */
#include <errno.h>

#include "core/log.h"
#include "slab/space.h"
#include "tests/crew.h"
#include "tests/open_space.h"
#include "tests/random.h"
#include "tests/stream_program.h"
#include "vmm/fault.h"

#define NR_OBJECTS 160u
#define NR_DESKS 16u
#define NR_THREADS 3u
#define BACKLOG 2000u

static const size_t cache_sizes[] = { 16, 48, 200, 3000, 70000 };
static const char *const cache_names[] = { "1", "2", "3", "4", "5" };
#define NR_CACHES ARRAY_SIZE(cache_sizes)

struct settings {
	u64 limit;
	u32 nr_streams;		/* with the CPU */
	u64 steps;
	bool huge, fails;
	bool keeps_streams;	/* from the beginning to the end */
};

/* What the threads of a case have together. */
struct shared {
	struct kunit *test;
	const struct settings *set;
	struct slabdev *sd;
	struct vmm_fault fault;
	const struct vmm_ops *ops;
	void *dev;
	u64 seed;
	struct slabdev_cache *cache[NR_CACHES];
	struct object *desk[NR_DESKS];	/* atomic; homes are CPUs */
};

struct run {
	struct program p;
	struct shared *shared;
	u64 nothing;		/* allocations that got none */
	struct object object[NR_OBJECTS];
};

static bool chance(struct run *r, u32 n)
{
	return !random_below(&r->p.random, n);
}

/* ---- Allocation -------------------------------------------------------- */

static u64 any_size(struct run *r)
{
	u32 what = random_below(&r->p.random, 4000);

	if (what < 4 && r->shared->set->huge)
		return 64 * MIB + random_below(&r->p.random, 4 * MIB);
	/* Few sizes, so that there is something to reuse. */
	if (what < 200)
		return MIB + 1 + random_below(&r->p.random, 4) * 300 * KIB;
	return random_size(&r->p.random, 64 * KIB);
}

/* The CPU has more than one name. */
static slabdev_stream_t name_of(struct run *r, u32 stream)
{
	static const uintptr_t cpu[] = {
		0, (uintptr_t)SLABDEV_STREAM_LEGACY,
		(uintptr_t)SLABDEV_STREAM_PER_THREAD,
	};

	if (stream)
		return r->p.stream[stream].queue;
	return (slabdev_stream_t)cpu[random_below(&r->p.random,
						  ARRAY_SIZE(cpu))];
}

static void *cached(struct run *r, struct object *o)
{
	u32 i = random_below(&r->p.random, NR_CACHES);

	o->size = cache_sizes[i];
	o->is_cached = true;
	if (!o->home && chance(r, 2))
		return slabdev_cache_alloc(r->shared->cache[i]);
	return slabdev_cache_alloc_async(r->shared->cache[i],
					 name_of(r, o->home));
}

static void *zeroed(struct run *r, struct object *o)
{
	o->home = 0;
	o->left = 0;
	o->left_size = o->left_bytes = o->size;
	return slabdev_zalloc(r->p.sd, o->size);
}

static void *get(struct run *r, struct object *o)
{
	u32 what = random_below(&r->p.random, 12);

	if (what < 4)
		return cached(r, o);
	if (what == 4)
		return zeroed(r, o);
	if (!o->home && chance(r, 2))
		return slabdev_alloc(r->p.sd, o->size);
	return slabdev_alloc_async(r->p.sd, o->size, name_of(r, o->home));
}

static void free_object(struct run *r, struct object *o)
{
	program_free(&r->p, o->p, o->home);
	o->p = NULL;
}

/* Memory is short: that may be so while queues are held back, and when a lot
 * is live. */
static void make_room(struct run *r)
{
	u32 i;

	r->nothing++;
	KUNIT_EXPECT_TRUE_MSG(r->p.test, errno == EDQUOT || errno == ENOMEM ||
			      (r->p.failing && errno == EIO), "step %llu: %d "
			      "%s", (unsigned long long)r->p.step, errno,
			      slabdev_last_error());
	if (chance(r, 2))
		program_run_all(&r->p);
	for (i = 0; i < NR_OBJECTS / 4; i++)
		if (r->object[i].p && !r->p.stream[r->object[i].home].capturing)
			free_object(r, &r->object[i]);
}

static void allocate(struct run *r, struct object *o)
{
	*o = (struct object){ .left = ANYTHING };
	o->size = any_size(r);
	o->home = program_any_stream(&r->p);
	o->p = get(r, o);
	if (!o->p)
		make_room(r);
	else
		program_launch(&r->p, o);
}

/* ---- Objects ----------------------------------------------------------- */

static void move_home(struct run *r, struct object *o)
{
	u32 to = program_any_stream(&r->p);

	/* The CPU has to wait. */
	if (!to && !chance(r, 20))
		return;
	program_order(&r->p, o->home, to);
	o->home = to;
	program_launch(&r->p, o);
}

/* Another stream works on it, its own does not any more, and frees it. */
static void use_elsewhere(struct run *r, struct object *o)
{
	u32 home = o->home, to = program_any_stream(&r->p);
	int err;

	if (!to)
		return;
	err = slabdev_use(r->p.sd, o->p, r->p.stream[to].queue);
	KUNIT_ASSERT_EQ_MSG(r->p.test, err, 0, "%s", slabdev_last_error());
	program_order(&r->p, home, to);
	if (o->is_shared || chance(r, 2)) {
		/* From now on all read; the free comes some time. */
		o->is_shared = true;
		program_launch_reader(&r->p, o, to);
		return;
	}
	o->home = to;
	program_launch(&r->p, o);
	o->home = home;
	free_object(r, o);
}

static void read_again(struct run *r, struct object *o)
{
	if (chance(r, 3))
		free_object(r, o);
	else if (!chance(r, 3))
		program_launch_reader(&r->p, o, o->home);
	else
		use_elsewhere(r, o);
}

static void resize(struct run *r, struct object *o)
{
	u64 size = any_size(r);
	void *p;

	if (o->is_cached)
		return;
	p = slabdev_realloc_async(r->p.sd, o->p, size, name_of(r, o->home));
	if (!p) {
		make_room(r);
		return;
	}
	o->p = p;
	o->left_bytes = min(o->left_bytes, size);
	o->size = size;
	program_launch(&r->p, o);
}

/* Between threads; the CPU of each has it. */
static void hand_over(struct run *r, struct object *o)
{
	struct object *mine = malloc(sizeof(*mine)), *other;
	u32 i = random_below(&r->p.random, NR_DESKS);

	program_order(&r->p, o->home, 0);
	o->home = 0;
	*mine = *o;
	o->p = NULL;
	other = __atomic_exchange_n(&r->shared->desk[i], mine,
				    __ATOMIC_ACQ_REL);
	if (other)
		*o = *other;
	free(other);
}

static void object_step(struct run *r, struct object *o)
{
	u32 what = random_below(&r->p.random, 100);

	if (!o->p)
		allocate(r, o);
	else if (r->p.stream[o->home].capturing && what < 3)
		free_object(r, o);	/* It is the graph's. */
	else if (r->p.stream[o->home].capturing)
		return;
	else if (o->is_shared)
		read_again(r, o);
	else if (what < 30)
		free_object(r, o);
	else if (what < 45)
		move_home(r, o);
	else if (what < 53)
		use_elsewhere(r, o);
	else if (what < 60)
		resize(r, o);
	else if (what < 61 && program_graph_use(&r->p, o))
		o->p = NULL;
	else if (what < 62)
		hand_over(r, o);
	else
		program_launch(&r->p, o);
}

/* ---- Streams ----------------------------------------------------------- */

static void renew_stream(struct run *r)
{
	u32 i = program_any_stream(&r->p), k;

	if (!i)
		return;
	for (k = 0; k < NR_OBJECTS; k++)
		if (r->object[k].p && r->object[k].home == i)
			free_object(r, &r->object[k]);
	program_stream_end(&r->p, i);
	program_stream_begin(&r->p, i, !chance(r, 3));
}

static void attach_or_detach(struct run *r)
{
	u32 i = program_any_stream(&r->p);
	struct program_stream *st = &r->p.stream[i];

	if (!i)
		return;
	if (st->attached) {
		/* It stays, and objects are used on it yet. */
		program_stream_detach(&r->p, i);
		return;
	}
	KUNIT_EXPECT_EQ(r->p.test, slabdev_stream_attach(r->p.sd, st->queue),
			0);
	st->attached = true;
}

/* ---- The space --------------------------------------------------------- */

/* Of a call that may have waited for the queues, or for the backend. */
static void expect_done(struct run *r, int err)
{
	KUNIT_EXPECT_TRUE_MSG(r->p.test, !err || r->p.failing ||
			      err == -EDQUOT || err == -ENOMEM, "%d: %s", err,
			      slabdev_last_error());
}

static void change_policy(struct run *r)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;

	policy.mode = SLABDEV_RETAIN + random_below(&r->p.random, 3);
	policy.keep_bytes = random_below(&r->p.random, 8 * MIB);
	policy.flags = chance(r, 2) ? SLABDEV_POLICY_STREAM_WAITS : 0;
	expect_done(r, slabdev_set_policy(r->p.sd, &policy));
}

static void arm_or_disarm(struct run *r)
{
	struct vmm_fault *f = &r->shared->fault;
	u32 n = 1 + random_below(&r->p.random, 20);
	u32 count = 1 + random_below(&r->p.random, 4);
	int error = chance(r, 2) ? -ENOMEM : -EIO;
	u32 op;

	if (!r->shared->set->fails)
		return;
	r->p.failing = !r->p.failing;
	vmm_fault_arm_any(f, r->p.failing ? n : 0, count, 1, error);
	for (op = VMM_OP_FILL; op <= VMM_OP_EVENT; op++)
		if (!r->p.failing || chance(r, 2))
			vmm_fault_arm(f, op, r->p.failing ? n : 0, count,
				      error);
}

static void check(struct run *r)
{
	/* Alone, the books balance exactly. */
	if (r->p.queue_flags & SLABDEV_QUEUE_MANUAL)
		expect_sound(r->p.test, r->p.sd);
	else
		KUNIT_EXPECT_EQ(r->p.test, slabdev_validate(r->p.sd), 0);
	program_check(&r->p);
}

static void rare_step(struct run *r)
{
	struct slabdev *sd = r->p.sd;
	u32 what = random_below(&r->p.random, 40);

	if (what < 16 && r->shared->set->keeps_streams)
		return;
	if (what < 8)
		renew_stream(r);
	else if (what < 16)
		attach_or_detach(r);
	else if (what < 20)
		change_policy(r);
	else if (what < 24)
		arm_or_disarm(r);
	else if (what < 26)
		expect_done(r, slabdev_trim(sd, random_below(&r->p.random,
							     16 * MIB)));
	else if (what < 27)
		expect_done(r, slabdev_prime(sd, 2 * MIB));
	else if (what < 28)
		check(r);
	else
		expect_done(r, slabdev_poll(sd));
}

static void step(struct run *r)
{
	struct program *p = &r->p;

	p->step++;
	if (chance(r, 3))
		program_run_some(p);
	if (p->submitted - __atomic_load_n(&p->done, __ATOMIC_RELAXED) >
	    BACKLOG)
		program_run_all(p);
	if (chance(r, 100))
		rare_step(r);
	if (chance(r, 40))
		program_graph_step(p);
	object_step(r, &r->object[random_below(&p->random, NR_OBJECTS)]);
}

/* ---- Programs ---------------------------------------------------------- */

static void run_begin(struct run *r, struct shared *s, u32 me,
		      unsigned int queue_flags)
{
	u32 i;

	r->shared = s;
	r->p.test = s->test;
	r->p.sd = s->sd;
	r->p.random = s->seed + me;
	r->p.next = (u64)(me + 1) << 48;
	r->p.queue_flags = queue_flags;
	r->p.nr_streams = s->set->nr_streams;
	for (i = 1; i < r->p.nr_streams; i++)
		program_stream_begin(&r->p, i, i % 3);
}

static void run_end(struct run *r)
{
	u32 i;

	program_graph_end(&r->p);
	for (i = 0; i < NR_OBJECTS; i++)
		if (r->object[i].p)
			free_object(r, &r->object[i]);
	for (i = 1; i < r->p.nr_streams; i++)
		program_stream_end(&r->p, i);
	program_check(&r->p);
}

static void run_steps(void *arg)
{
	struct run *r = arg;

	while (r->p.step < r->shared->set->steps &&
	       !__atomic_load_n(&r->p.wrong, __ATOMIC_RELAXED))
		step(r);
	if (r->p.failing)
		arm_or_disarm(r);
}

/* ---- Cases ------------------------------------------------------------- */

/* Lost memory and a lack of it are told; nothing else may be. */
static void hear(int level, int kind, const char *text, void *arg)
{
	struct shared *s = arg;

	(void)level;
	if (kind >= 0 && kind != REPORT_LOST && kind != REPORT_OUT_OF_MEMORY)
		KUNIT_FAIL(s->test, "%s", text);
}

static struct shared *begin(struct kunit *test, const struct settings *set)
{
	struct shared *s = kunit_kzalloc(test, sizeof(*s));
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	u32 i;

	host_only(test, "its streams are queues");
	*s = (struct shared){
		.test = test, .set = set, .seed = random_seed(test),
	};
	KUNIT_ASSERT_EQ(test, vmm_backend_find("host", NULL, &s->ops, &s->dev),
			0);
	vmm_fault_init(&s->fault, s->ops, s->dev);
	log_set_sink(hear, s);
	attr.limit = set->limit;
	attr.pending_bytes = MIB;
	KUNIT_ASSERT_EQ(test, space_open_on(&s->sd, &attr, &s->fault.table,
					    &s->fault), 0);
	for (i = 0; i < NR_CACHES; i++)
		KUNIT_ASSERT_EQ(test, slabdev_cache_create(&s->cache[i], s->sd,
							   cache_names[i],
							   cache_sizes[i],
							   NULL), 0);
	return s;
}

static void clear_desks(struct shared *s)
{
	u32 i;

	for (i = 0; i < NR_DESKS; i++) {
		if (s->desk[i])
			EXPECT_FREED(s->test, s->sd, s->desk[i]->p);
		free(s->desk[i]);
	}
}

static void end(struct shared *s)
{
	struct slabdev_stats st;
	u32 i;

	clear_desks(s);
	for (i = 0; i < NR_CACHES; i++)
		KUNIT_EXPECT_EQ(s->test, slabdev_cache_destroy(s->cache[i]),
				0);
	expect_empty(s->test, s->sd);
	st = stats_of(s->test, s->sd);
	KUNIT_EXPECT_EQ(s->test, st.pending, 0);
	KUNIT_EXPECT_EQ(s->test, st.held, 0);
	KUNIT_EXPECT_EQ(s->test, st.lost, 0);
	KUNIT_EXPECT_EQ(s->test, st.streams, 0);
	KUNIT_EXPECT_EQ(s->test, st.graphs, 0);
	close_space(s->test, s->sd);
	KUNIT_EXPECT_TRUE(s->test, vmm_fault_balanced(&s->fault));
	vmm_fault_fini(&s->fault);
	vmm_backend_put(s->ops, s->dev);
	kunit_info(s->test, "%llu events, %llu host waits, %llu stream waits",
		   (unsigned long long)st.event_records,
		   (unsigned long long)st.host_waits,
		   (unsigned long long)st.stream_waits);
}

static void alone(struct kunit *test, const struct settings *set)
{
	struct shared *s = begin(test, set);
	struct run *r = kunit_kzalloc(test, sizeof(*r));

	run_begin(r, s, 0, SLABDEV_QUEUE_MANUAL);
	run_steps(r);
	run_end(r);
	kunit_info(test, "%llu kernels, %llu allocations got nothing",
		   (unsigned long long)r->p.done,
		   (unsigned long long)r->nothing);
	end(s);
}

static void scarce(struct kunit *test)
{
	static const struct settings set = { 24 * MIB, 6, 400000, 0, 0, 0 };

	alone(test, &set);
}

static void plenty(struct kunit *test)
{
	static const struct settings set = { 512 * MIB, 8, 300000, 1, 0, 0 };

	alone(test, &set);
}

static void failing(struct kunit *test)
{
	static const struct settings set = { 48 * MIB, 5, 300000, 0, 1, 0 };

	alone(test, &set);
}

static void long_failing(struct kunit *test)
{
	static const struct settings set = { 32 * MIB, 8, 10000000, 0, 1, 0 };

	alone(test, &set);
}

static void in_threads(struct kunit *test, const struct settings *set)
{
	struct shared *s = begin(test, set);
	struct run *r = kunit_kzalloc(test, NR_THREADS * sizeof(*r));
	struct crew *crew = crew_new(test, NR_THREADS);
	u32 i;

	for (i = 0; i < NR_THREADS; i++)
		run_begin(&r[i], s, i, 0);
	crew_all(crew, run_steps, r, sizeof(*r));
	crew_dismiss(crew);
	for (i = 0; i < NR_THREADS; i++)
		run_end(&r[i]);
	end(s);
}

static void threads(struct kunit *test)
{
	static const struct settings set = { 64 * MIB, 4, 35000, 0, 0, 0 };

	in_threads(test, &set);
}

static void long_threads(struct kunit *test)
{
	static const struct settings set = { 64 * MIB, 6, 1000000, 0, 0, 0 };

	in_threads(test, &set);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(scarce),
	KUNIT_CASE(plenty),
	KUNIT_CASE(failing),
	KUNIT_CASE(threads, .timeout_s = 300),
	KUNIT_CASE(long_failing, .is_long = true, .timeout_s = 1200),
	KUNIT_CASE(long_threads, .is_long = true, .timeout_s = 1200),
	{ 0 }
};

static const struct kunit_suite stream_random_suite = {
	.name = "stream_random",
	.cases = cases,
};
kunit_test_suite(stream_random_suite);
