// SPDX-License-Identifier: BSD-2-Clause
/* buf_streams.c - the streams that use a buffer are waited for when it ends. */
#include "tests/buf_space.h"

static void nothing(void *arg)
{
	(void)arg;
}

static slabdev_stream_t busy_queue(struct kunit *test)
{
	slabdev_stream_t q = NULL;

	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&q, SLABDEV_QUEUE_MANUAL),
			0);
	KUNIT_ASSERT_EQ(test, slabdev_queue_submit(q, nothing, NULL), 0);
	return q;
}

static void run_queue(struct kunit *test, slabdev_stream_t q)
{
	KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(q), 0);
}

static u64 pending_of(struct kunit *test, struct slabdev *sd)
{
	KUNIT_EXPECT_EQ(test, slabdev_poll(sd), 0);
	return stats_of(test, sd).pending;
}

/* Each order of three puts, on two queues and the CPU: the memory is free when
 * both queues are done, whichever is done first. */
void all_owners_are_waited_for(struct kunit *test)
{
	static const u32 order[6][3] = {
		{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
		{ 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
	};
	struct slabdev *sd = test->priv;
	struct slabdev_buf *buf;
	slabdev_stream_t q[3] = { NULL };
	u32 i, j, first;

	host_only(test, "queues");
	for (i = 0; i < 12; i++) {
		first = i / 6;
		q[1] = busy_queue(test);
		q[2] = busy_queue(test);
		buf = must_make(test, sd, 1000);
		KUNIT_EXPECT_NOT_NULL(test, slabdev_buf_get(buf));
		KUNIT_EXPECT_NOT_NULL(test, slabdev_buf_get(buf));
		for (j = 0; j < 3; j++)
			KUNIT_EXPECT_EQ(test, slabdev_buf_put_async(buf,
					q[order[i % 6][j]]), 2 - (int)j);
		KUNIT_EXPECT_EQ(test, slabdev_buf_refs(buf), 0);
		KUNIT_EXPECT_EQ(test, pending_of(test, sd), 1024);
		run_queue(test, q[1 + first]);
		KUNIT_EXPECT_EQ(test, pending_of(test, sd), 1024);
		run_queue(test, q[2 - first]);
		KUNIT_EXPECT_EQ(test, pending_of(test, sd), 0);
		KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(q[1]), 0);
		KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(q[2]), 0);
		expect_sound(test, sd);
	}
}

void views_are_waited_for(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_buf *buf, *a, *b;
	slabdev_stream_t p, q;

	host_only(test, "queues");
	buf = must_make(test, sd, 3 * MIB);
	p = busy_queue(test);
	q = busy_queue(test);
	a = must_view(test, buf, 0, 100);
	b = must_view(test, buf, 100, 100);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put_async(a, p), 0);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 0);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put_async(b, q), 0);
	KUNIT_EXPECT_EQ(test, pending_of(test, sd), 3 * MIB);
	run_queue(test, q);
	KUNIT_EXPECT_EQ(test, pending_of(test, sd), 3 * MIB);
	run_queue(test, p);
	KUNIT_EXPECT_EQ(test, pending_of(test, sd), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(p), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(q), 0);
}

/* A put that cannot be remembered does not take place. */
void too_many_streams(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_buf *buf;
	slabdev_stream_t q[16];
	u32 i;

	host_only(test, "queues");
	buf = must_make(test, sd, 1000);
	for (i = 0; i < 16; i++) {
		q[i] = busy_queue(test);
		KUNIT_EXPECT_NOT_NULL(test, slabdev_buf_get(buf));
	}
	for (i = 0; i < 14; i++)
		KUNIT_EXPECT_EQ(test, slabdev_buf_put_async(buf, q[i]),
				16 - (int)i);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put_async(buf, q[14]), -ENOSPC);
	KUNIT_EXPECT_EQ(test, slabdev_buf_refs(buf), 3);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put_async(buf, q[0]), 2);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 1);
	/* The last one needs no note. */
	KUNIT_EXPECT_EQ(test, slabdev_buf_put_async(buf, q[15]), 0);
	for (i = 0; i < 16; i++) {
		KUNIT_EXPECT_EQ(test, pending_of(test, sd),
				i == 14 ? 1024 : pending_of(test, sd));
		if (i != 14)
			run_queue(test, q[i]);
	}
	KUNIT_EXPECT_EQ(test, pending_of(test, sd), 0);
	for (i = 0; i < 16; i++)
		KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(q[i]), 0);
}

void wrong_stream_changes_nothing(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	slabdev_stream_t q = NULL;
	struct slabdev_buf *buf;

	host_only(test, "what is no stream");
	buf = must_make(test, sd, 1000);
	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&q, 0), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(q), 0);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put_async(buf, q), -EINVAL);
	EXPECT_ERROR_HAS(test, "slabdev_buf_put_async");
	KUNIT_EXPECT_EQ(test, slabdev_buf_refs(buf), 1);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 0);
}

/* On a device the bound stream and another one, each order. */
void bound_stream_and_another(struct kunit *test)
{
	slabdev_stream_t other = SLABDEV_STREAM_PER_THREAD;
	struct slabdev *sd = test->priv;
	struct slabdev_buf *buf;
	u32 i;

	for (i = 0; i < 4; i++) {
		buf = must_make(test, sd, 1000);
		KUNIT_EXPECT_NOT_NULL(test, slabdev_buf_get(buf));
		KUNIT_EXPECT_EQ(test, slabdev_buf_put_async(buf,
				i & 1 ? other : NULL), 1);
		KUNIT_EXPECT_EQ(test, slabdev_buf_put_async(buf,
				i & 2 ? other : NULL), 0);
		expect_sound(test, sd);
	}
	expect_empty(test, sd);
}
