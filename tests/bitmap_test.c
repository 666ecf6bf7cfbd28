// SPDX-License-Identifier: BSD-2-Clause
/*
 * bitmap_test.c - bit searches, above all at the edges of words.
 */
#include "core/bitmap.h"
#include "tests/kunit/kunit.h"

#define NR_BITS 200
#define NONE 12345

static void bits_below_at_both_ends(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, bits_below(0), 0);
	KUNIT_EXPECT_EQ(test, bits_below(1), 1);
	KUNIT_EXPECT_EQ(test, bits_below(63), UINT64_MAX >> 1);
	KUNIT_EXPECT_EQ(test, bits_below(64), UINT64_MAX);
}

static void words_hold_the_bits(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, BITMAP_WORDS(0), 0);
	KUNIT_EXPECT_EQ(test, BITMAP_WORDS(1), 1);
	KUNIT_EXPECT_EQ(test, BITMAP_WORDS(64), 1);
	KUNIT_EXPECT_EQ(test, BITMAP_WORDS(65), 2);
}

static void set_and_clear_touch_one_bit(struct kunit *test)
{
	static const u64 edges[] = { 0, 1, 62, 63, 64, 65, 127, 128, 199 };
	u64 map[BITMAP_WORDS(NR_BITS)] = { 0 };
	u64 zero[BITMAP_WORDS(NR_BITS)] = { 0 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(edges); i++) {
		bitmap_set(map, edges[i]);
		KUNIT_EXPECT_TRUE(test, bitmap_test(map, edges[i]));
		KUNIT_EXPECT_EQ(test, map[edges[i] / 64],
				(u64)1 << edges[i] % 64);
		bitmap_clear(map, edges[i]);
		KUNIT_EXPECT_FALSE(test, bitmap_test(map, edges[i]));
		KUNIT_EXPECT_MEMEQ(test, map, zero, sizeof(map));
	}
}

static void search_in_empty_and_full(struct kunit *test)
{
	u64 map[BITMAP_WORDS(NR_BITS)] = { 0 };
	u64 from;

	for (from = 0; from <= NR_BITS; from++)
		KUNIT_EXPECT_EQ(test, bitmap_next(map, NR_BITS, from), NR_BITS);
	for (from = 0; from < NR_BITS; from++)
		KUNIT_EXPECT_EQ(test, bitmap_prev(map, from, NONE), NONE);

	memset(map, 0xff, sizeof(map));
	for (from = 0; from < NR_BITS; from++) {
		KUNIT_EXPECT_EQ(test, bitmap_next(map, NR_BITS, from), from);
		KUNIT_EXPECT_EQ(test, bitmap_prev(map, from, NONE), from);
	}
	/* Beyond the end nothing is valid, whatever the words hold. */
	KUNIT_EXPECT_EQ(test, bitmap_next(map, NR_BITS, NR_BITS), NR_BITS);
	KUNIT_EXPECT_EQ(test, bitmap_next(map, NR_BITS, NR_BITS + 1), NR_BITS);
	KUNIT_EXPECT_EQ(test, bitmap_next(map, 0, 0), 0);
}

/* A set bit in the last word after the valid ones is not found. */
static void search_stops_at_the_last_valid_bit(struct kunit *test)
{
	u64 map[2] = { 0 };

	bitmap_set(map, 70);
	KUNIT_EXPECT_EQ(test, bitmap_next(map, 70, 0), 70);
	KUNIT_EXPECT_EQ(test, bitmap_next(map, 69, 0), 69);
	KUNIT_EXPECT_EQ(test, bitmap_next(map, 71, 0), 70);
	KUNIT_EXPECT_EQ(test, bitmap_next(map, 64, 0), 64);
}

/* Each pair of bits, seen from everywhere, against a walk bit by bit. */
static void search_agrees_with_a_walk(struct kunit *test)
{
	u64 map[BITMAP_WORDS(NR_BITS)] = { 0 };
	u64 a, b, from, next, prev;

	for (a = 0; a < NR_BITS; a += 7) {
		for (b = a; b < NR_BITS; b += 9) {
			bitmap_set(map, a);
			bitmap_set(map, b);
			for (from = 0; from < NR_BITS; from++) {
				next = from <= a ? a : from <= b ? b : NR_BITS;
				prev = from >= b ? b : from >= a ? a : NONE;
				KUNIT_ASSERT_EQ(test, next,
						bitmap_next(map, NR_BITS,
							    from));
				KUNIT_ASSERT_EQ(test, prev,
						bitmap_prev(map, from, NONE));
			}
			bitmap_clear(map, a);
			bitmap_clear(map, b);
		}
	}
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(bits_below_at_both_ends),
	KUNIT_CASE(words_hold_the_bits),
	KUNIT_CASE(set_and_clear_touch_one_bit),
	KUNIT_CASE(search_in_empty_and_full),
	KUNIT_CASE(search_stops_at_the_last_valid_bit),
	KUNIT_CASE(search_agrees_with_a_walk),
	{ 0 }
};

static const struct kunit_suite bitmap_suite = {
	.name = "bitmap",
	.cases = cases,
};
kunit_test_suite(bitmap_suite);
