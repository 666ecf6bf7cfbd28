// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_buf_test.c - buffers whose owners use them on streams of a device.
 *
 * The streams are held back: what was put is in use until the case says
 * otherwise. Whatever the order of the puts, the memory is nobody's until the
 * work of all owners is done.
 */
#include "tests/stream_space.h"

#define LIMIT (64 * MIB)
#define NR_OWNERS 3u

static void begin(struct kunit *test, struct stream_space *s)
{
	stream_space_open(s, test, NULL, LIMIT, SLABDEV_ORDER_STREAM);
}

static const u32 orders[6][NR_OWNERS] = {
	{ 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
	{ 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 },
};

/* Owner 0 uses it on the bound stream, the others on streams of their own. */
static void put_by(struct stream_space *s, struct slabdev_buf *buf, u32 owner,
		   int left)
{
	KUNIT_EXPECT_EQ(s->test, owner ?
			slabdev_buf_put_async(buf, s->lane[owner - 1]) :
			slabdev_buf_put(buf), left);
}

static struct slabdev_buf *make(struct stream_space *s, size_t size, u32 owners)
{
	struct slabdev_buf *buf = NULL;

	KUNIT_ASSERT_EQ(s->test, slabdev_buf_alloc(&buf, s->sd, size, NULL), 0);
	while (--owners)
		KUNIT_EXPECT_NOT_NULL(s->test, slabdev_buf_get(buf));
	return buf;
}

static void lanes_are_waited_for(struct kunit *test)
{
	struct stream_space space, *s = &space;
	struct slabdev_buf *buf;
	u32 i, j, first;

	begin(test, s);
	for (i = 0; i < 12; i++) {
		first = i / 6;
		hold(s, s->lane[0]);
		hold(s, s->lane[1]);
		buf = make(s, 3 * MIB, NR_OWNERS);
		for (j = 0; j < NR_OWNERS; j++)
			put_by(s, buf, orders[i % 6][j],
			       (int)(NR_OWNERS - 1 - j));
		KUNIT_EXPECT_EQ(test, slabdev_poll(s->sd), 0);
		KUNIT_EXPECT_EQ(test, sums(s).pending, 3 * MIB);
		let_go(s, s->lane[first]);
		run_through(s, s->lane[first]);
		KUNIT_EXPECT_EQ(test, slabdev_poll(s->sd), 0);
		KUNIT_EXPECT_EQ(test, sums(s).pending, 3 * MIB);
		let_go(s, s->lane[!first]);
		run_through(s, s->lane[!first]);
		run_through(s, s->bound);
		expect_nothing_pending(s);
	}
	stream_space_close(s);
}

/* The bound stream's owner put first; a lane frees, and is done: the memory
 * waits for the bound stream yet, or is its own. */
static void bound_stream_is_waited_for(struct kunit *test)
{
	struct stream_space space, *s = &space;
	struct slabdev_buf *buf;
	void *p, *q;

	begin(test, s);
	buf = make(s, 3 * MIB, 2);
	p = slabdev_buf_ptr(buf);
	hold(s, s->bound);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put(buf), 1);
	KUNIT_EXPECT_EQ(test, slabdev_buf_put_async(buf, s->lane[0]), 0);
	run_through(s, s->lane[0]);
	KUNIT_EXPECT_EQ(test, slabdev_poll(s->sd), 0);
	q = slabdev_alloc_async(s->sd, 3 * MIB, s->lane[1]);
	KUNIT_EXPECT_NOT_NULL(test, q);
	KUNIT_EXPECT_PTR_NE(test, q, p);
	let_go(s, s->bound);
	run_through(s, s->bound);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(s->sd, q, s->lane[1]), 0);
	run_through(s, s->lane[1]);
	expect_nothing_pending(s);
	stream_space_close(s);
}

/* Plain puts alone cost no event. */
static void plain_puts_record_nothing(struct kunit *test)
{
	struct stream_space space, *s = &space;
	struct slabdev_buf *buf;
	u64 before;

	begin(test, s);
	buf = make(s, 1000, NR_OWNERS);
	before = sums(s).event_records;
	while (slabdev_buf_refs(buf))
		KUNIT_EXPECT_GE(test, slabdev_buf_put(buf), 0);
	KUNIT_EXPECT_EQ(test, sums(s).event_records, before);
	KUNIT_EXPECT_EQ(test, sums(s).pending, 0);
	stream_space_close(s);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(lanes_are_waited_for),
	KUNIT_CASE(bound_stream_is_waited_for),
	KUNIT_CASE(plain_puts_record_nothing),
	{ 0 }
};

static const struct kunit_suite cuda_buf_suite = {
	.name = "cuda_buf",
	.init = cuda_space_init,
	.exit = cuda_space_exit,
	.cases = cases,
};
kunit_test_suite(cuda_buf_suite);
