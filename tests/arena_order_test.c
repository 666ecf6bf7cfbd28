// SPDX-License-Identifier: BSD-2-Clause
/*
 * arena_order_test.c - arenas and host queues, and several threads.
 *
 * The queues are manual: what was submitted is done when the case says so, or
 * when somebody has to wait for it.
 */
#include <errno.h>

#include "core/log.h"
#include "core/os.h"
#include "tests/arena_space.h"
#include "tests/crew.h"
#include "tests/random.h"

#define LIMIT (64 * MIB)

struct bench {
	struct slabdev *sd;
	slabdev_stream_t a, b;	/* manual */
	u32 done;		/* atomic: works of queues */
};

static void work(void *arg)
{
	__atomic_fetch_add((u32 *)arg, 1, __ATOMIC_SEQ_CST);
}

static void submit(struct kunit *test, struct bench *t, slabdev_stream_t q)
{
	KUNIT_ASSERT_EQ(test, slabdev_queue_submit(q, work, &t->done), 0);
}

static u32 done(const struct bench *t)
{
	return load_acquire(&t->done);
}

static int bench_init(struct kunit *test)
{
	struct bench *t = kunit_kzalloc(test, sizeof(*t));

	host_only(test, "host queues are streams of host spaces");
	test->priv = t;
	t->sd = open_space(test, LIMIT);
	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&t->a,
						   SLABDEV_QUEUE_MANUAL), 0);
	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&t->b,
						   SLABDEV_QUEUE_MANUAL), 0);
	return 0;
}

static void bench_exit(struct kunit *test)
{
	struct bench *t = test->priv;

	if (!t)
		return;
	close_space(test, t->sd);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(t->a), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(t->b), 0);
}

static struct slabdev_arena *arena_on(struct kunit *test, struct bench *t,
				      slabdev_stream_t stream)
{
	struct slabdev_arena_attr attr = SLABDEV_ARENA_ATTR_INIT;

	attr.max_bytes = 32 * MIB;
	attr.stream = stream;
	return new_arena_attr(test, t->sd, &attr);
}

/* ---- Its own stream ------------------------------------------------------ */

/* A reset waits for nothing, and its memory is used again; but others do not
 * get it, and it is not unmapped, while the queue has work. */
static void memory_goes_when_the_queue_is_done(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_arena *arena = arena_on(test, t, t->a);
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	char *p = arena_take(test, arena, 20 * MIB);

	policy.mode = SLABDEV_AGGRESSIVE;
	KUNIT_EXPECT_EQ(test, slabdev_set_policy(t->sd, &policy), 0);
	submit(test, t, t->a);
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	KUNIT_EXPECT_EQ(test, slabdev_poll(t->sd), 0);
	KUNIT_EXPECT_EQ(test, done(t), 0);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).mapped, 20 * MIB);
	KUNIT_EXPECT_PTR_EQ(test, arena_take(test, arena, MIB), p);
	KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(t->a), 0);
	KUNIT_EXPECT_EQ(test, slabdev_poll(t->sd), 0);
	/* What was taken again stays. */
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).mapped, 2 * MIB);
	submit(test, t, t->a);
	/* Waits: the arena's memory goes. */
	end_arena(test, arena);
	KUNIT_EXPECT_EQ(test, done(t), 2);
	KUNIT_EXPECT_EQ(test, stats_of(test, t->sd).mapped, 0);
}

/* An event that is pending is asked again, and not recorded anew: memory goes
 * though the queue is never idle. */
static void a_busy_queue_gives_in_the_end(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_arena *arena = arena_on(test, t, t->a);
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	u32 i;

	policy.mode = SLABDEV_TRIM;
	KUNIT_EXPECT_EQ(test, slabdev_set_policy(t->sd, &policy), 0);
	arena_take(test, arena, 20 * MIB);
	submit(test, t, t->a);
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	for (i = 0; i < 3; i++) {
		submit(test, t, t->a);
		KUNIT_EXPECT_EQ(test, slabdev_poll(t->sd), 0);
		KUNIT_EXPECT_EQ(test, arena_figures(test, arena).mapped,
				20 * MIB);
	}
	KUNIT_EXPECT_EQ(test, slabdev_queue_run(t->a, 1), 1);
	KUNIT_EXPECT_EQ(test, slabdev_poll(t->sd), 0);
	KUNIT_EXPECT_EQ(test, done(t), 1);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).mapped, 0);
	end_arena(test, arena);
}

/* A lack of memory waits for what arenas have given back. */
static void a_lack_of_memory_waits(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_arena *arena = arena_on(test, t, t->a);
	void *p;

	arena_take(test, arena, 32 * MIB);
	submit(test, t, t->a);
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	p = must_alloc(test, t->sd, 50 * MIB);
	KUNIT_EXPECT_EQ(test, done(t), 1);
	EXPECT_FREED(test, t->sd, p);
	end_arena(test, arena);
}

static void trim_waits(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_arena *arena = arena_on(test, t, t->a);

	arena_take(test, arena, 32 * MIB);
	submit(test, t, t->a);
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	KUNIT_EXPECT_EQ(test, slabdev_trim(t->sd, 0), 0);
	KUNIT_EXPECT_EQ(test, done(t), 1);
	KUNIT_EXPECT_EQ(test, stats_of(test, t->sd).mapped, 0);
	end_arena(test, arena);
}

/* ---- Other streams ------------------------------------------------------- */

/* The arena's stream waits at the rewind, not the caller. */
static void other_streams_come_before_what_follows(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_arena *arena = arena_on(test, t, t->a);
	struct slabdev_arena_mark mark = arena_mark_of(test, arena);

	arena_take(test, arena, 1000);
	submit(test, t, t->b);
	KUNIT_EXPECT_EQ(test, slabdev_arena_use(arena, t->b), 0);
	KUNIT_EXPECT_EQ(test, slabdev_arena_use(arena, t->b), 0);
	KUNIT_EXPECT_EQ(test, slabdev_arena_use(arena, t->a), 0);
	KUNIT_EXPECT_EQ(test, slabdev_arena_rewind(arena, &mark), 0);
	KUNIT_EXPECT_EQ(test, done(t), 0);
	arena_take(test, arena, 1000);
	submit(test, t, t->a);
	/* Behind b's work, which has not been done. */
	KUNIT_EXPECT_EQ(test, slabdev_queue_run(t->a, 9), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_run(t->b, 9), 1);
	KUNIT_EXPECT_GT(test, slabdev_queue_run(t->a, 9), 0);
	KUNIT_EXPECT_EQ(test, done(t), 2);
	/* It is told of once: a second reset waits for nobody. */
	submit(test, t, t->b);
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	submit(test, t, t->a);
	KUNIT_EXPECT_GT(test, slabdev_queue_run(t->a, 9), 0);
	KUNIT_EXPECT_EQ(test, done(t), 3);
	end_arena(test, arena);
}

/* The CPU is a stream like others: it waits. */
static void the_cpu_waits_for_queues(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_arena *arena = arena_on(test, t, NULL);

	arena_take(test, arena, 1000);
	submit(test, t, t->a);
	submit(test, t, t->b);
	KUNIT_EXPECT_EQ(test, slabdev_arena_use(arena, t->a), 0);
	KUNIT_EXPECT_EQ(test, slabdev_arena_use(arena, t->b), 0);
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	KUNIT_EXPECT_EQ(test, done(t), 2);
	submit(test, t, t->a);
	KUNIT_EXPECT_EQ(test, slabdev_arena_use(arena, t->a), 0);
	end_arena(test, arena);
	KUNIT_EXPECT_EQ(test, done(t), 3);
}

/* The same for one that is an object. */
static void small_arenas_wait_too(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_arena *arena = new_arena(test, t->sd, 4096);

	arena_take(test, arena, 1000);
	submit(test, t, t->a);
	KUNIT_EXPECT_EQ(test, slabdev_arena_use(arena, t->a), 0);
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	KUNIT_EXPECT_EQ(test, done(t), 1);
	end_arena(test, arena);
}

/* A stream that is detached may go: the arena waits for it now. */
static void detached_streams_may_go(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_arena *arena = arena_on(test, t, NULL);
	slabdev_stream_t q = NULL;

	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&q, 0), 0);
	arena_take(test, arena, 1000);
	submit(test, t, q);
	KUNIT_EXPECT_EQ(test, slabdev_arena_use(arena, q), 0);
	KUNIT_EXPECT_EQ(test, slabdev_stream_detach(t->sd, q), 0);
	KUNIT_EXPECT_EQ(test, done(t), 1);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(q), 0);
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	end_arena(test, arena);
}

static void fourteen_streams_use_an_arena(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_arena *arena = arena_on(test, t, NULL);
	slabdev_stream_t q[15];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(q); i++) {
		KUNIT_ASSERT_EQ(test, slabdev_queue_create(&q[i],
						SLABDEV_QUEUE_MANUAL), 0);
		submit(test, t, q[i]);
		KUNIT_EXPECT_EQ(test, slabdev_arena_use(arena, q[i]),
				i < 14 ? 0 : -ENOSPC);
	}
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	KUNIT_EXPECT_EQ(test, done(t), 14);
	KUNIT_EXPECT_EQ(test, slabdev_arena_use(arena, q[14]), 0);
	end_arena(test, arena);
	KUNIT_EXPECT_EQ(test, done(t), 15);
	for (i = 0; i < ARRAY_SIZE(q); i++)
		KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(q[i]), 0);
}

/* Its queue waits for one that this thread would have to run: the arena stays,
 * whole, and can be destroyed later. */
static void what_cannot_be_waited_for_stays(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_arena *arena = arena_on(test, t, t->a);
	u32 i;

	(void)arena_take(test, arena, 3 * MIB);
	submit(test, t, t->b);
	KUNIT_EXPECT_EQ(test, slabdev_arena_use(arena, t->b), 0);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, slabdev_arena_destroy(arena), -EBUSY);
		KUNIT_EXPECT_EQ(test, arena_figures(test, arena).mapped,
				4 * MIB);
		KUNIT_EXPECT_EQ(test, stats_of(test, t->sd).lost, 0);
	}
	(void)arena_take(test, arena, 1000);
	KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(t->b), 0);
	end_arena(test, arena);
}

static void what_is_no_stream_is_refused(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_arena_attr attr = SLABDEV_ARENA_ATTR_INIT;
	struct slabdev_arena *arena = arena_on(test, t, NULL), *other = NULL;
	slabdev_stream_t none = (slabdev_stream_t)(void *)&attr;

	KUNIT_EXPECT_EQ(test, slabdev_arena_use(arena, none), -EINVAL);
	attr.stream = none;
	KUNIT_EXPECT_EQ(test, slabdev_arena_create(&other, t->sd, &attr),
			-EINVAL);
	KUNIT_EXPECT_NULL(test, other);
	end_arena(test, arena);
}

/* ---- Threads ------------------------------------------------------------- */

#define NR_THREADS 4u
#define NR_ROUNDS 150u

struct member {
	struct kunit *test;
	struct slabdev *sd;
	u32 number;
	bool failed;
};

/* Every byte that the arena hands out is written, and found again. */
static bool fill_and_look(struct slabdev_arena *arena, u64 *state, u8 byte)
{
	struct {
		u8 *p;
		u64 size;
	} block[20];
	u32 i, n;

	for (n = 0; n < ARRAY_SIZE(block); n++) {
		block[n].size = random_size(state, MIB / 2);
		block[n].p = slabdev_arena_alloc(arena, block[n].size);
		if (!block[n].p)
			break;
		memset(block[n].p, byte + (int)n, block[n].size);
	}
	for (i = 0; i < n; i++)
		if (block[i].p[0] != (u8)(byte + i) ||
		    block[i].p[block[i].size - 1] != (u8)(byte + i))
			return false;
	return true;
}

static void use_own_arena(void *arg)
{
	struct member *m = arg;
	struct slabdev_arena_attr attr = SLABDEV_ARENA_ATTR_INIT;
	struct slabdev_arena *arena = NULL;
	u64 state = m->number;
	u32 i;

	attr.max_bytes = 20 * MIB;
	for (i = 0; i < NR_ROUNDS; i++) {
		if (!arena && slabdev_arena_create(&arena, m->sd, &attr))
			m->failed = true;
		if (m->failed || !fill_and_look(arena, &state, (u8)i))
			break;
		if (slabdev_arena_reset(arena))
			m->failed = true;
		if (i % 10 == 9 && slabdev_arena_destroy(arena))
			m->failed = true;
		if (i % 10 == 9)
			arena = NULL;
	}
	m->failed |= i < NR_ROUNDS || slabdev_arena_destroy(arena);
}

/* Others take what arenas do not use, and ask about them, all the time. */
static void take_from_all(void *arg)
{
	struct member *m = arg;
	char text[512];
	void *p;
	u32 i;

	for (i = 0; i < NR_ROUNDS; i++) {
		if (slabdev_trim(m->sd, i % 3 * 4 * MIB))
			m->failed = true;
		p = slabdev_alloc(m->sd, 3 * MIB);
		if (p && (slabdev_explain((char *)p + 100 * MIB, text,
					  sizeof(text)) > 1 ||
			  slabdev_free(m->sd, p)))
			m->failed = true;
		if (i % 16 == 0 && slabdev_validate(m->sd))
			m->failed = true;
	}
}

struct trimmer {
	struct slabdev *sd;
	bool stop;		/* atomic */
};

static void *trim_all_the_time(void *arg)
{
	struct trimmer *r = arg;

	while (!load_acquire(&r->stop))
		(void)slabdev_trim(r->sd, 0);
	return NULL;
}

/* What another thread takes of it is never what was just handed out. */
static void growth_beside_a_trim(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_arena *arena = arena_on(test, t, NULL);
	struct trimmer r = { .sd = t->sd };
	pthread_t thread[2];
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(thread); i++)
		KUNIT_ASSERT_EQ(test, pthread_create(&thread[i], NULL,
						     trim_all_the_time, &r), 0);
	for (i = 0; i < 400; i++) {
		for (k = 0; k < 8; k++) {
			(void)arena_take(test, arena, 3 * MIB);
			KUNIT_ASSERT_LE(test, arena_figures(test, arena).used,
					arena_figures(test, arena).mapped);
		}
		KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
		(void)slabdev_trim(t->sd, 0);
	}
	store_release(&r.stop, true);
	for (i = 0; i < ARRAY_SIZE(thread); i++)
		KUNIT_ASSERT_EQ(test, pthread_join(thread[i], NULL), 0);
	end_arena(test, arena);
}

static void threads_have_arenas_of_their_own(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 160 * MIB);
	struct member m[NR_THREADS + 1];
	struct crew *crew = crew_new(test, NR_THREADS + 1);
	u32 i;

	host_only(test, "the CPU writes the memory");
	for (i = 0; i <= NR_THREADS; i++)
		m[i] = (struct member){ test, sd, i, false };
	for (i = 0; i < NR_THREADS; i++)
		crew_start(crew, i, use_own_arena, &m[i]);
	crew_start(crew, NR_THREADS, take_from_all, &m[NR_THREADS]);
	for (i = 0; i <= NR_THREADS; i++) {
		crew_wait(crew, i);
		KUNIT_EXPECT_FALSE(test, m[i].failed);
	}
	expect_empty(test, sd);
}

static const struct kunit_case arena_order_cases[] = {
	KUNIT_CASE(memory_goes_when_the_queue_is_done),
	KUNIT_CASE(a_busy_queue_gives_in_the_end),
	KUNIT_CASE(a_lack_of_memory_waits),
	KUNIT_CASE(trim_waits),
	KUNIT_CASE(other_streams_come_before_what_follows),
	KUNIT_CASE(the_cpu_waits_for_queues),
	KUNIT_CASE(small_arenas_wait_too),
	KUNIT_CASE(detached_streams_may_go),
	KUNIT_CASE(fourteen_streams_use_an_arena),
	KUNIT_CASE(what_cannot_be_waited_for_stays),
	KUNIT_CASE(what_is_no_stream_is_refused),
	KUNIT_CASE(growth_beside_a_trim),
	KUNIT_CASE(threads_have_arenas_of_their_own),
	{ 0 }
};

static const struct kunit_suite arena_order_suite = {
	.name = "arena_order",
	.init = bench_init,
	.exit = bench_exit,
	.cases = arena_order_cases,
};
kunit_test_suite(arena_order_suite);
