// SPDX-License-Identifier: BSD-2-Clause
/*
 * overflow_test.c - checked size arithmetic, at both ends of the range.
 */
#include "core/overflow.h"
#include "tests/kunit/kunit.h"

#define TOP UINT64_MAX

static void add_at_the_end_of_the_range(struct kunit *test)
{
	u64 sum = 1;

	KUNIT_EXPECT_FALSE(test, add_overflows(0, 0, &sum));
	KUNIT_EXPECT_EQ(test, sum, 0);
	KUNIT_EXPECT_FALSE(test, add_overflows(TOP - 1, 1, &sum));
	KUNIT_EXPECT_EQ(test, sum, TOP);
	KUNIT_EXPECT_TRUE(test, add_overflows(TOP, 1, &sum));
	KUNIT_EXPECT_TRUE(test, add_overflows(1, TOP, &sum));
	KUNIT_EXPECT_TRUE(test, add_overflows(TOP, TOP, &sum));
}

static void mul_at_the_end_of_the_range(struct kunit *test)
{
	u64 product = 1;

	KUNIT_EXPECT_FALSE(test, mul_overflows(TOP, 0, &product));
	KUNIT_EXPECT_EQ(test, product, 0);
	KUNIT_EXPECT_FALSE(test, mul_overflows(TOP, 1, &product));
	KUNIT_EXPECT_EQ(test, product, TOP);
	/* 2^64 - 1 = (2^32 - 1)(2^32 + 1), the largest product there is. */
	KUNIT_EXPECT_FALSE(test, mul_overflows(UINT32_MAX, 0x100000001,
					       &product));
	KUNIT_EXPECT_EQ(test, product, TOP);
	KUNIT_EXPECT_TRUE(test, mul_overflows((u64)1 << 32, (u64)1 << 32,
					      &product));
	KUNIT_EXPECT_TRUE(test, mul_overflows(TOP, 2, &product));
}

static void power_of_2_and_logarithm(struct kunit *test)
{
	unsigned int i;

	KUNIT_EXPECT_FALSE(test, is_power_of_2(0));
	KUNIT_EXPECT_FALSE(test, is_power_of_2(TOP));
	KUNIT_EXPECT_EQ(test, ilog2(TOP), 63);
	for (i = 0; i < 64; i++) {
		KUNIT_EXPECT_TRUE(test, is_power_of_2((u64)1 << i));
		KUNIT_EXPECT_EQ(test, ilog2((u64)1 << i), i);
		if (i > 1) {
			KUNIT_EXPECT_FALSE(test,
					   is_power_of_2(((u64)1 << i) - 1));
			KUNIT_EXPECT_EQ(test, ilog2(((u64)1 << i) - 1), i - 1);
		}
	}
}

static void align_to_powers_of_two(struct kunit *test)
{
	u64 up;

	KUNIT_EXPECT_EQ(test, align_down(511, 256), 256);
	KUNIT_EXPECT_EQ(test, align_down(TOP, 1), TOP);
	KUNIT_EXPECT_EQ(test, align_up(0, 256), 0);
	KUNIT_EXPECT_EQ(test, align_up(1, 256), 256);
	KUNIT_EXPECT_EQ(test, align_up(256, 256), 256);
	KUNIT_EXPECT_TRUE(test, is_aligned(0, 256));
	KUNIT_EXPECT_TRUE(test, is_aligned(512, 256));
	KUNIT_EXPECT_FALSE(test, is_aligned(513, 256));

	KUNIT_EXPECT_FALSE(test, align_up_overflows(TOP, 1, &up));
	KUNIT_EXPECT_EQ(test, up, TOP);
	KUNIT_EXPECT_FALSE(test, align_up_overflows(TOP - 255, 256, &up));
	KUNIT_EXPECT_EQ(test, up, TOP - 255);
	KUNIT_EXPECT_TRUE(test, align_up_overflows(TOP - 254, 256, &up));
	KUNIT_EXPECT_TRUE(test, align_up_overflows(TOP, 256, &up));
	KUNIT_EXPECT_TRUE(test, align_up_overflows(((u64)1 << 63) + 1,
						   (u64)1 << 63, &up));
}

static void division_rounds_up_without_overflow(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, div_round_up(0, 7), 0);
	KUNIT_EXPECT_EQ(test, div_round_up(1, 7), 1);
	KUNIT_EXPECT_EQ(test, div_round_up(7, 7), 1);
	KUNIT_EXPECT_EQ(test, div_round_up(8, 7), 2);
	KUNIT_EXPECT_EQ(test, div_round_up(TOP, 2), (u64)1 << 63);
	KUNIT_EXPECT_EQ(test, div_round_up(TOP, 1), TOP);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(add_at_the_end_of_the_range),
	KUNIT_CASE(mul_at_the_end_of_the_range),
	KUNIT_CASE(power_of_2_and_logarithm),
	KUNIT_CASE(align_to_powers_of_two),
	KUNIT_CASE(division_rounds_up_without_overflow),
	{ 0 }
};

static const struct kunit_suite overflow_suite = {
	.name = "overflow",
	.cases = cases,
};
kunit_test_suite(overflow_suite);
