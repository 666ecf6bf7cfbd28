// SPDX-License-Identifier: BSD-2-Clause
/*
 * stream_loose_test.c - frees on streams that are not attached, when the device
 * is far behind.
 *
 * Queues are manual: what was submitted is done when the case says so. What a
 * free asks must not grow with what has piled up.
 */
#include "tests/open_space.h"

enum { STREAMS = 3, EACH = 200, SIZE = 1000 };

struct bench {
	struct slabdev *sd;
	slabdev_stream_t q[STREAMS];
};

static void nothing(void *arg)
{
	(void)arg;
}

static int bench_init(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct bench *t = kunit_kzalloc(test, sizeof(*t));
	u32 i;

	attr.pending_bytes = 1;		/* each free is over the budget */
	KUNIT_ASSERT_EQ(test, slabdev_open(&t->sd, "host", &attr), 0);
	for (i = 0; i < STREAMS; i++)
		KUNIT_ASSERT_EQ(test,
				slabdev_queue_create(&t->q[i],
						     SLABDEV_QUEUE_MANUAL), 0);
	test->priv = t;
	return 0;
}

static void bench_exit(struct kunit *test)
{
	struct bench *t = test->priv;
	u32 i;

	for (i = 0; i < STREAMS; i++)
		KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(t->q[i]), 0);
	KUNIT_EXPECT_EQ(test, slabdev_poll(t->sd), 0);
	KUNIT_EXPECT_EQ(test, expect_sound(test, t->sd).pending, 0);
	KUNIT_EXPECT_EQ_MSG(test, slabdev_close(t->sd, 0), 0, "%s",
			    slabdev_last_error());
	for (i = 0; i < STREAMS; i++)
		KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(t->q[i]), 0);
}

/* @n objects, freed in turn on the first @streams, which have work to do. */
static void pile_up(struct kunit *test, u32 n, u32 streams)
{
	struct bench *t = test->priv;
	void **p = kunit_kzalloc(test, n * sizeof(*p));
	u32 i;

	for (i = 0; i < n; i++) {
		p[i] = slabdev_alloc(t->sd, SIZE);
		KUNIT_ASSERT_NOT_NULL(test, p[i]);
	}
	for (i = 0; i < streams; i++)
		KUNIT_ASSERT_EQ(test, slabdev_queue_submit(t->q[i], nothing,
							   NULL), 0);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ(test, slabdev_free_async(t->sd, p[i],
							 t->q[i % streams]),
				0);
}

static void a_free_asks_each_stream_once(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_stats before = expect_sound(test, t->sd), after;

	pile_up(test, STREAMS * EACH, STREAMS);
	after = expect_sound(test, t->sd);
	KUNIT_EXPECT_GT(test, after.pending, STREAMS * EACH * SIZE - 1);
	KUNIT_EXPECT_LE(test, after.event_queries - before.event_queries,
			STREAMS * STREAMS * EACH);
}

static void a_poll_asks_each_stream_once(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_stats before, after;

	pile_up(test, STREAMS * EACH, STREAMS);
	before = expect_sound(test, t->sd);
	KUNIT_EXPECT_EQ(test, slabdev_poll(t->sd), 0);
	after = expect_sound(test, t->sd);
	KUNIT_EXPECT_LE(test, after.event_queries - before.event_queries,
			STREAMS);
	KUNIT_EXPECT_EQ(test, after.pending, before.pending);
}

/* One that is stuck is not in the way of what others have done. */
static void a_poll_finds_all_that_is_done(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_stats st;
	u32 i;

	pile_up(test, STREAMS * EACH, STREAMS);
	for (i = 1; i < STREAMS; i++)
		KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(t->q[i]), 0);
	KUNIT_EXPECT_EQ(test, slabdev_poll(t->sd), 0);
	st = expect_sound(test, t->sd);
	KUNIT_EXPECT_EQ(test, st.pending,
			EACH * slabdev_size_roundup(t->sd, SIZE));
}

/* What waits for several streams waits for the slowest of them, and is in the
 * way of nothing behind it. */
static void used_elsewhere_waits_for_both(struct kunit *test)
{
	struct bench *t = test->priv;
	u64 room = slabdev_size_roundup(t->sd, SIZE);
	void *p = slabdev_alloc(t->sd, SIZE);

	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_ASSERT_EQ(test, slabdev_queue_submit(t->q[1], nothing, NULL), 0);
	KUNIT_EXPECT_EQ(test, slabdev_use(t->sd, p, t->q[1]), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(t->sd, p, t->q[0]), 0);
	pile_up(test, EACH, 1);
	KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(t->q[0]), 0);
	KUNIT_EXPECT_EQ(test, slabdev_poll(t->sd), 0);
	KUNIT_EXPECT_EQ(test, expect_sound(test, t->sd).pending, room);
	KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(t->q[1]), 0);
	KUNIT_EXPECT_EQ(test, slabdev_poll(t->sd), 0);
	KUNIT_EXPECT_EQ(test, expect_sound(test, t->sd).pending, 0);
}

/* Frees alone find in the end what is done. */
static void frees_find_what_is_done(struct kunit *test)
{
	struct bench *t = test->priv;
	void *p[EACH];
	u32 i;

	pile_up(test, EACH, 1);
	for (i = 0; i < EACH; i++)
		p[i] = slabdev_alloc_async(t->sd, SIZE, t->q[1]);
	KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(t->q[0]), 0);
	for (i = 0; i < EACH; i++)
		KUNIT_EXPECT_EQ(test, slabdev_free_async(t->sd, p[i], t->q[1]),
				0);
	KUNIT_EXPECT_LE(test, expect_sound(test, t->sd).pending,
			slabdev_size_roundup(t->sd, SIZE));
}

static struct kunit_case stream_loose_cases[] = {
	KUNIT_CASE(a_free_asks_each_stream_once),
	KUNIT_CASE(a_poll_asks_each_stream_once),
	KUNIT_CASE(a_poll_finds_all_that_is_done),
	KUNIT_CASE(used_elsewhere_waits_for_both),
	KUNIT_CASE(frees_find_what_is_done),
	{}
};

static struct kunit_suite stream_loose_suite = {
	.name = "stream_loose",
	.init = bench_init,
	.exit = bench_exit,
	.cases = stream_loose_cases,
};
kunit_test_suite(stream_loose_suite);
