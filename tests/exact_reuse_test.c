// SPDX-License-Identifier: BSD-2-Clause
/*
 * exact_reuse_test.c - the pool of a textbook's memory chapter, without its
 * holes.
 *
 * There, free lists by size gave the same buffer again for the same size, and
 * that is worth having: what is freed is had again without making anything. But
 * one buffer outlived the pool, a second release gave one address to two
 * callers, and the size was what the caller said.
 */
#include <errno.h>

#include "tests/open_space.h"

#define FLOATS_256 (256 * sizeof(float))

/* Acquire and release 256 floats, thrice: 1024 bytes made, 2048 reused. */
static void three_steps_of_256_floats(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *first = NULL, *p;
	struct slabdev_stats st;

	for (u32 i = 0; i < 3; i++) {
		p = must_alloc(test, sd, FLOATS_256);
		if (!i)
			first = p;
		KUNIT_EXPECT_PTR_EQ(test, p, first);
		EXPECT_FREED(test, sd, p);
	}
	st = figures(test, sd);
	KUNIT_EXPECT_EQ(test, st.allocs, 3);
	KUNIT_EXPECT_EQ(test, st.alloc_bytes, 3072);
	KUNIT_EXPECT_EQ(test, st.reused, 2);
	KUNIT_EXPECT_EQ(test, st.reused_bytes, 2048);
	KUNIT_EXPECT_EQ(test, st.live, 0);
}

/* Towards 1, and no call of the backend on the way. */
static void hit_rate_goes_to_1(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_stats st;
	u64 calls;

	EXPECT_FREED(test, sd, must_alloc(test, sd, FLOATS_256));
	calls = calls_of(test, sd);
	for (u32 i = 1; i < 1000; i++)
		EXPECT_FREED(test, sd, must_alloc(test, sd, FLOATS_256));
	st = figures(test, sd);
	KUNIT_EXPECT_EQ(test, st.reused, 999);
	KUNIT_EXPECT_EQ(test, st.reused_bytes, 999 * FLOATS_256);
	KUNIT_EXPECT_EQ(test, st.backend_calls, calls);
}

/* What has a mapping of its own finds it again, and that is reuse too. */
static void huge_ones_are_reused(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_stats st;
	u64 calls = 0;

	for (u32 i = 0; i < 4; i++) {
		EXPECT_FREED(test, sd, must_alloc(test, sd, 100 * MIB));
		calls = i ? calls : calls_of(test, sd);
	}
	st = figures(test, sd);
	KUNIT_EXPECT_EQ(test, st.backend_calls, calls);
	KUNIT_EXPECT_EQ(test, st.reused, 3);
	KUNIT_EXPECT_EQ(test, st.reused_bytes, 300 * MIB);
}

/* A buffer that is in use is given to nobody else. */
static void second_caller_gets_another_one(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *a = must_alloc(test, sd, FLOATS_256);
	void *b = must_alloc(test, sd, FLOATS_256);

	KUNIT_EXPECT_PTR_NE(test, a, b);
	mem_fill(sd, a, FLOATS_256, 0x11);
	mem_fill(sd, b, FLOATS_256, 0x22);
	KUNIT_EXPECT_TRUE(test, mem_is(sd, a, FLOATS_256, 0x11));
	EXPECT_FREED(test, sd, b);
	KUNIT_EXPECT_PTR_EQ(test, must_alloc(test, sd, FLOATS_256), b);
	EXPECT_FREED(test, sd, b);
	EXPECT_FREED(test, sd, a);
}

/*
 * Released twice, it was on the free list twice, and two callers had it: what
 * one wrote the other saw. Here the second release is an error, and the next
 * two callers have two buffers.
 */
static void second_release_is_refused(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p = must_alloc(test, sd, FLOATS_256), *a, *b;

	EXPECT_FREED(test, sd, p);
	kunit_expect_report(test, REPORT_DOUBLE_FREE);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, p), -EALREADY);
	a = must_alloc(test, sd, FLOATS_256);
	b = must_alloc(test, sd, FLOATS_256);
	KUNIT_EXPECT_PTR_NE(test, a, b);
	mem_fill(sd, a, FLOATS_256, 0x33);
	mem_fill(sd, b, FLOATS_256, 0x44);
	KUNIT_EXPECT_TRUE(test, mem_is(sd, a, FLOATS_256, 0x33));
	EXPECT_FREED(test, sd, a);
	EXPECT_FREED(test, sd, b);
}

/* The caller may say how much it was, and is not believed. */
static void size_of_a_release_is_checked(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p = must_alloc(test, sd, FLOATS_256);
	struct slabdev_stats before = figures(test, sd);

	kunit_expect_report(test, REPORT_SIZE);
	KUNIT_EXPECT_EQ(test, slabdev_free_sized(sd, p, 2 * FLOATS_256),
			-EINVAL);
	kunit_expect_report(test, REPORT_SIZE);
	KUNIT_EXPECT_EQ(test, slabdev_free_sized(sd, p, 256), -EINVAL);
	EXPECT_ONLY_FAILURES(test, sd, before, 0);
	KUNIT_EXPECT_EQ(test, slabdev_free_sized(sd, p, FLOATS_256), 0);
}

/* No other size is served by it; not even one of a few bytes more. */
static void other_sizes_do_not_get_it(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p = must_alloc(test, sd, FLOATS_256), *q;

	EXPECT_FREED(test, sd, p);
	q = must_alloc(test, sd, FLOATS_256 + 1);
	KUNIT_EXPECT_PTR_NE(test, p, q);
	EXPECT_FREED(test, sd, q);
	q = must_alloc(test, sd, 256);
	KUNIT_EXPECT_PTR_NE(test, p, q);
	EXPECT_FREED(test, sd, q);
	KUNIT_EXPECT_PTR_EQ(test, must_alloc(test, sd, FLOATS_256), p);
	EXPECT_FREED(test, sd, p);
}

/* One buffer outlived the pool, whose count of it stayed 1. */
static void close_says_what_is_out(struct kunit *test)
{
	struct slabdev *sd = open_space(test, 64 * MIB);
	void *p = must_alloc(test, sd, FLOATS_256);
	char address[32];

	kunit_expect_report(test, REPORT_LIVE_OBJECTS);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), -EBUSY);
	snprintf(address, sizeof(address), "Object %p size=1024", p);
	KUNIT_EXPECT_REPORT_HAS(test, address);
	KUNIT_EXPECT_EQ(test, figures(test, sd).live_objects, 1);
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), 0);
}

/* What was released and is kept for reuse goes with the close. */
static void close_gives_everything_back(struct kunit *test)
{
	struct slabdev *sd = open_space(test, 64 * MIB);
	void *p = must_alloc(test, sd, FLOATS_256);
	struct slabdev_stats st;
	u64 handles;

	EXPECT_FREED(test, sd, p);
	st = figures(test, sd);
	KUNIT_EXPECT_GT(test, st.mapped, 0);
	handles = st.handles;
	KUNIT_EXPECT_GT(test, handles, 0);
	/* -EIO would say that some is lost. */
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), -EINVAL);
}

static const struct kunit_case reuse_cases[] = {
	KUNIT_CASE(three_steps_of_256_floats),
	KUNIT_CASE(hit_rate_goes_to_1),
	KUNIT_CASE(huge_ones_are_reused),
	KUNIT_CASE(second_caller_gets_another_one),
	KUNIT_CASE(second_release_is_refused),
	KUNIT_CASE(size_of_a_release_is_checked),
	KUNIT_CASE(other_sizes_do_not_get_it),
	KUNIT_CASE(close_says_what_is_out),
	KUNIT_CASE(close_gives_everything_back),
	{}
};

static const struct kunit_suite exact_reuse_suite = {
	.name = "exact_reuse",
	.init = open_space_init,
	.exit = open_space_exit,
	.cases = reuse_cases,
	.any_space = true,
};
kunit_test_suite(exact_reuse_suite);
