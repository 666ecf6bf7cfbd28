// SPDX-License-Identifier: BSD-2-Clause
/*
 * pending_test.c - what streams have freed comes back to all, on host queues.
 *
 * The queues are manual: what was submitted is done when the case says so, and
 * not before. Whoever waits for a manual queue runs it.
 */
#include <errno.h>

#include "core/log.h"
#include "tests/crew.h"
#include "tests/open_space.h"

#define LIMIT (32 * MIB)
#define BUDGET (2 * MIB)
#define NR_QUEUES 4u
#define NR_THREADS 30u

struct bench {
	struct kunit *test;
	struct slabdev *sd;
	slabdev_stream_t q[NR_QUEUES];	/* attached */
};

static void nothing(void *arg)
{
	(void)arg;
}

static void busy(struct bench *t, slabdev_stream_t q)
{
	KUNIT_ASSERT_EQ(t->test, slabdev_queue_submit(q, nothing, NULL), 0);
}

static void run_all(struct bench *t)
{
	for (u32 i = 0; i < NR_QUEUES; i++)
		KUNIT_EXPECT_EQ(t->test, slabdev_queue_synchronize(t->q[i]),
				0);
}

static int bench_init(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct bench *t = kunit_kzalloc(test, sizeof(*t));

	t->test = test;
	attr.limit = LIMIT;
	attr.pending_bytes = BUDGET;
	KUNIT_ASSERT_EQ(test, slabdev_open(&t->sd, "host", &attr), 0);
	for (u32 i = 0; i < NR_QUEUES; i++) {
		KUNIT_ASSERT_EQ(test, slabdev_queue_create(&t->q[i],
				SLABDEV_QUEUE_MANUAL), 0);
		KUNIT_ASSERT_EQ(test, slabdev_stream_attach(t->sd, t->q[i]),
				0);
	}
	test->priv = t;
	return 0;
}

/* Closes with the streams attached. */
static void bench_exit(struct kunit *test)
{
	struct bench *t = test->priv;

	expect_sound(test, t->sd);
	KUNIT_EXPECT_EQ_MSG(test, slabdev_close(t->sd, 0), 0, "%s",
			    slabdev_last_error());
	for (u32 i = 0; i < NR_QUEUES; i++)
		KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(t->q[i]), 0);
}

static void *get(struct bench *t, size_t size, slabdev_stream_t q)
{
	void *p = slabdev_alloc_async(t->sd, size, q);

	KUNIT_ASSERT_NOT_NULL_MSG(t->test, p, "%s", slabdev_last_error());
	return p;
}

static void give(struct bench *t, void *p, slabdev_stream_t q)
{
	KUNIT_EXPECT_EQ_MSG(t->test, slabdev_free_async(t->sd, p, q), 0, "%s",
			    slabdev_last_error());
}

static struct slabdev_stats sums(struct bench *t)
{
	return expect_sound(t->test, t->sd);
}

/* ---- The budget, and polls ------------------------------------------- */

/* Above it frees look at all events, those of idle streams too. */
static void frees_look_above_the_budget(struct kunit *test)
{
	struct bench *t = test->priv;
	slabdev_stream_t other;
	void *p[3];

	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&other, 0), 0);
	busy(t, t->q[0]);
	for (u32 i = 0; i < 3; i++)
		p[i] = get(t, 3 * MIB, t->q[0]);
	for (u32 i = 0; i < 3; i++)
		give(t, p[i], t->q[0]);
	KUNIT_EXPECT_GE(test, sums(t).pending, 9 * MIB);
	run_all(t);
	busy(t, t->q[1]);
	p[0] = get(t, MIB, other);
	give(t, p[0], other);
	KUNIT_EXPECT_LE(test, sums(t).pending, BUDGET);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(other), 0);
}

static void poll_takes_what_is_done(struct kunit *test)
{
	struct bench *t = test->priv;
	void *p[NR_QUEUES];

	for (u32 i = 0; i < NR_QUEUES; i++) {
		p[i] = get(t, 2 * MIB, t->q[i]);
		busy(t, t->q[i]);
	}
	for (u32 i = 0; i < NR_QUEUES; i++)
		give(t, p[i], t->q[i]);
	for (u32 i = NR_QUEUES; i--;) {
		KUNIT_EXPECT_EQ(test, slabdev_poll(t->sd), 0);
		KUNIT_EXPECT_EQ(test, sums(t).pending, (i + 1) * 2 * MIB);
		KUNIT_EXPECT_EQ(test, slabdev_queue_run(t->q[i], 100), 1);
	}
	KUNIT_EXPECT_EQ(test, slabdev_poll(t->sd), 0);
	KUNIT_EXPECT_EQ(test, sums(t).pending, 0);
}

/* What is done is used rather than that more is mapped. */
static void looks_before_it_grows(struct kunit *test)
{
	struct bench *t = test->priv;
	u64 mapped;
	void *p;

	for (u32 i = 0; i < 20; i++) {
		p = get(t, 3 * MIB, t->q[0]);
		busy(t, t->q[0]);
		give(t, p, t->q[0]);
		run_all(t);
		p = get(t, 3 * MIB, t->q[1]);
		give(t, p, t->q[1]);
		run_all(t);
	}
	mapped = sums(t).mapped;
	KUNIT_EXPECT_LE(test, mapped, 8 * MIB);
}

/* ---- Threads and streams that do nothing any more -------------------- */

/* On all queues, in all classes up to 64 KiB. */
static void fill_heaps(void *arg)
{
	struct bench *t = arg;
	void *p[6];

	for (u32 k = 0; k < NR_QUEUES; k++) {
		for (u32 i = 0; i < ARRAY_SIZE(p); i++)
			p[i] = get(t, (size_t)1024 << i, t->q[k]);
		for (u32 i = 0; i < ARRAY_SIZE(p); i++)
			give(t, p[i], t->q[k]);
	}
}

static void have_everything(struct bench *t, slabdev_stream_t q)
{
	void *p = slabdev_alloc_async(t->sd, LIMIT - 2 * MIB, q);

	KUNIT_ASSERT_NOT_NULL_MSG(t->test, p, "%s", slabdev_last_error());
	give(t, p, q);
	expect_sound(t->test, t->sd);
}

static void threads_that_end(struct kunit *test)
{
	struct bench *t = test->priv;
	struct crew *crew = crew_new(test, 8);

	for (u32 i = 0; i < NR_QUEUES; i++)
		busy(t, t->q[i]);
	for (u32 i = 0; i < 8; i++)
		crew_do(crew, i, fill_heaps, t);
	crew_dismiss(crew);
	(void)sums(t);
	have_everything(t, NULL);
}

/* They hold everything in heaps of streams, and nobody wakes them. */
static void threads_that_idle(struct kunit *test)
{
	struct bench *t = test->priv;
	struct crew *crew = crew_new(test, NR_THREADS);

	for (u32 i = 0; i < NR_THREADS; i++)
		crew_do(crew, i, fill_heaps, t);
	for (u32 i = 0; i < NR_QUEUES; i++)
		busy(t, t->q[i]);
	have_everything(t, t->q[1]);
	have_everything(t, NULL);
	for (u32 i = 0; i < NR_THREADS; i++)
		crew_do(crew, i, fill_heaps, t);
	KUNIT_EXPECT_EQ(test, slabdev_trim(t->sd, 0), 0);
	KUNIT_EXPECT_EQ(test, sums(t).mapped, 0);
}

/* What a thread that is gone freed on a stream, the stream has at the end. */
static void streams_outlive_threads(struct kunit *test)
{
	struct bench *t = test->priv;
	struct crew *crew = crew_new(test, 2);

	crew_do(crew, 0, fill_heaps, t);
	crew_do(crew, 1, fill_heaps, t);
	crew_dismiss(crew);
	for (u32 i = 0; i < NR_QUEUES; i++) {
		busy(t, t->q[i]);
		KUNIT_EXPECT_EQ(test, slabdev_stream_detach(t->sd, t->q[i]),
				0);
	}
	KUNIT_EXPECT_EQ(test, sums(t).streams, 0);
	run_all(t);
	KUNIT_EXPECT_EQ(test, slabdev_poll(t->sd), 0);
	KUNIT_EXPECT_EQ(test, sums(t).pending, 0);
	have_everything(t, NULL);
}

/* ---- Trim, policies, the end ----------------------------------------- */

static void trim_waits(struct kunit *test)
{
	struct bench *t = test->priv;

	fill_heaps(t);
	for (u32 i = 0; i < NR_QUEUES; i++)
		busy(t, t->q[i]);
	give(t, get(t, 3 * MIB, t->q[0]), t->q[0]);
	KUNIT_EXPECT_EQ(test, slabdev_trim(t->sd, 0), 0);
	KUNIT_EXPECT_EQ(test, sums(t).mapped, 0);
	KUNIT_EXPECT_EQ(test, sums(t).pending, 0);
}

/* No memory goes while work is on it; then poll gives it back. */
static void aggressive_gives_back_what_is_done(struct kunit *test)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	struct bench *t = test->priv;

	policy.mode = SLABDEV_AGGRESSIVE;
	KUNIT_ASSERT_EQ(test, slabdev_set_policy(t->sd, &policy), 0);
	fill_heaps(t);
	for (u32 i = 0; i < NR_QUEUES; i++) {
		void *p = get(t, 3 * MIB, t->q[i]);

		busy(t, t->q[i]);
		give(t, p, t->q[i]);
		KUNIT_EXPECT_GE(test, sums(t).mapped, 3 * MIB);
	}
	run_all(t);
	KUNIT_EXPECT_EQ(test, slabdev_poll(t->sd), 0);
	KUNIT_EXPECT_EQ(test, sums(t).pending, 0);
	KUNIT_EXPECT_EQ(test, slabdev_trim(t->sd, 0), 0);
	KUNIT_EXPECT_EQ(test, sums(t).mapped, 0);
}

static void policies_change_with_streams(struct kunit *test)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	struct bench *t = test->priv;

	for (u32 i = 0; i < 60; i++) {
		policy.mode = SLABDEV_RETAIN + i % 3;
		policy.keep_bytes = i % 2 * 4 * MIB;
		policy.flags = i % 4 < 2 ? SLABDEV_POLICY_STREAM_WAITS : 0;
		KUNIT_EXPECT_EQ(test, slabdev_set_policy(t->sd, &policy), 0);
		busy(t, t->q[i % NR_QUEUES]);
		fill_heaps(t);
		if (i % 7 == 0)
			run_all(t);
		(void)sums(t);
	}
}

/* An object that a stream uses, and the space ends. */
static void use_then_close(struct kunit *test)
{
	struct bench *t = test->priv;
	void *p = get(t, 5000, t->q[0]);

	busy(t, t->q[2]);
	KUNIT_EXPECT_EQ(test, slabdev_use(t->sd, p, t->q[2]), 0);
	kunit_expect_report(test, REPORT_LIVE_OBJECTS);
	KUNIT_EXPECT_EQ(test, slabdev_close(t->sd, 0), -EBUSY);
	EXPECT_FREED(test, t->sd, p);
	KUNIT_EXPECT_GT(test, sums(t).pending, 0);
}

/* ---- Frees of what another stream uses --------------------------------- */

/* The object was used, and its free came in some other way; until the work is
 * done nobody has it. */
static void expect_waits(struct bench *t, void *p, size_t size)
{
	void *q[80];
	u32 i;

	KUNIT_EXPECT_GT(t->test, sums(t).pending, 0);
	KUNIT_EXPECT_EQ(t->test, slabdev_poll(t->sd), 0);
	for (i = 0; i < ARRAY_SIZE(q); i++) {
		q[i] = i % 2 ? slabdev_alloc(t->sd, size) :
			       get(t, size, t->q[i % NR_QUEUES]);
		KUNIT_EXPECT_PTR_NE(t->test, q[i], p);
	}
	for (i = 0; i < ARRAY_SIZE(q); i++)
		EXPECT_FREED(t->test, t->sd, q[i]);
	run_all(t);
	KUNIT_EXPECT_EQ(t->test, slabdev_poll(t->sd), 0);
	KUNIT_EXPECT_EQ(t->test, sums(t).pending, 0);
}

static void *used(struct bench *t, void *p)
{
	KUNIT_ASSERT_NOT_NULL(t->test, p);
	KUNIT_EXPECT_EQ(t->test, slabdev_use(t->sd, p, t->q[2]), 0);
	busy(t, t->q[2]);
	return p;
}

static void used_then_freed(struct kunit *test)
{
	static const size_t sizes[] = { 200, 5000, 100000 };
	struct bench *t = test->priv;
	u32 i;
	void *p;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		p = used(t, must_alloc(test, t->sd, sizes[i]));
		EXPECT_FREED(test, t->sd, p);
		expect_waits(t, p, sizes[i]);
		p = used(t, get(t, sizes[i], t->q[0]));
		give(t, p, t->q[1]);
		expect_waits(t, p, sizes[i]);
	}
}

/* Also of tiny objects, which have no tag. */
static void used_then_freed_to_a_cache(struct kunit *test)
{
	static const size_t sizes[] = { 40, 3000 };
	struct bench *t = test->priv;
	struct slabdev_cache *cache;
	void *p[4], *q;
	u32 i, k;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		KUNIT_ASSERT_EQ(test, slabdev_cache_create(&cache, t->sd,
				"used", sizes[i], NULL), 0);
		for (k = 0; k < ARRAY_SIZE(p); k++)
			p[k] = used(t, slabdev_cache_alloc(cache));
		KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p[0]), 0);
		KUNIT_EXPECT_EQ(test, slabdev_cache_free_async(cache, p[1],
				t->q[0]), 0);
		KUNIT_EXPECT_EQ(test, slabdev_cache_free_bulk(cache, 2, &p[2]),
				0);
		for (k = 0; k < 2 * ARRAY_SIZE(p); k++) {
			q = slabdev_cache_alloc(cache);
			KUNIT_EXPECT_PTR_NE(test, q, p[0]);
			KUNIT_EXPECT_PTR_NE(test, q, p[1]);
			KUNIT_EXPECT_PTR_NE(test, q, p[2]);
			KUNIT_EXPECT_PTR_NE(test, q, p[3]);
			EXPECT_FREED(test, t->sd, q);
		}
		run_all(t);
		KUNIT_EXPECT_EQ(test, slabdev_poll(t->sd), 0);
		KUNIT_EXPECT_EQ(test, sums(t).pending, 0);
		KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	}
}

/* The old place waits, the new one has no use noted. */
static void used_then_moved(struct kunit *test)
{
	struct bench *t = test->priv;
	void *p, *q;

	p = used(t, must_alloc(test, t->sd, 5000));
	q = slabdev_realloc(t->sd, p, 100000);
	KUNIT_ASSERT_NOT_NULL(test, q);
	expect_waits(t, p, 5000);
	busy(t, t->q[2]);
	EXPECT_FREED(test, t->sd, q);
	KUNIT_EXPECT_EQ(test, sums(t).pending, 0);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(used_then_freed),
	KUNIT_CASE(used_then_freed_to_a_cache),
	KUNIT_CASE(used_then_moved),
	KUNIT_CASE(frees_look_above_the_budget),
	KUNIT_CASE(poll_takes_what_is_done),
	KUNIT_CASE(looks_before_it_grows),
	KUNIT_CASE(threads_that_end),
	KUNIT_CASE(threads_that_idle),
	KUNIT_CASE(streams_outlive_threads),
	KUNIT_CASE(trim_waits),
	KUNIT_CASE(aggressive_gives_back_what_is_done),
	KUNIT_CASE(policies_change_with_streams),
	KUNIT_CASE(use_then_close),
	{ 0 }
};

static const struct kunit_suite pending_suite = {
	.name = "pending",
	.init = bench_init,
	.exit = bench_exit,
	.cases = cases,
};
kunit_test_suite(pending_suite);
