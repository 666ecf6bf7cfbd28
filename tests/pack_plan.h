/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pack_plan.h - what a plan has to be, looked at pair by pair.
 */
#ifndef TESTS_PACK_PLAN_H
#define TESTS_PACK_PLAN_H

#include <slabdev/slabdev.h>

#include "core/overflow.h"
#include "tests/kunit/kunit.h"
#include "tests/random.h"

typedef struct slabdev_pack_block block;

static inline u64 align_of(const block *b)
{
	return b->align ? b->align : 256;
}

static inline bool lives_with(const block *a, const block *b)
{
	return a->lower < b->upper && b->lower < a->upper;
}

static inline bool collides(const block *a, const block *b)
{
	return lives_with(a, b) && a->offset < b->offset + b->bytes &&
	       b->offset < a->offset + a->bytes;
}

static inline u64 highest_end(const block *b, size_t n)
{
	u64 end = 0;
	size_t i;

	for (i = 0; i < n; i++)
		end = max(end, b[i].offset + b[i].bytes);
	return end;
}

static inline u64 most_at_once(const block *b, size_t n)
{
	u64 most = 0, sum;
	size_t i, j;

	for (i = 0; i < n; i++) {
		sum = 0;
		for (j = 0; j < n; j++)
			if (b[j].lower <= b[i].lower &&
			    b[i].lower < b[j].upper)
				sum += b[j].bytes;
		most = max(most, sum);
	}
	return most;
}

static inline void expect_plan(struct kunit *test, const block *b, size_t n,
			       u64 total)
{
	u64 bound, checked;
	size_t i, j;

	for (i = 0; i < n; i++) {
		KUNIT_ASSERT_TRUE_MSG(test, is_aligned(b[i].offset,
						       align_of(&b[i])),
				      "block %zu", i);
		for (j = 0; j < i; j++)
			KUNIT_ASSERT_FALSE_MSG(test, collides(&b[i], &b[j]),
					       "blocks %zu and %zu", j, i);
	}
	KUNIT_EXPECT_EQ(test, total, highest_end(b, n));
	KUNIT_ASSERT_EQ(test, slabdev_pack_bound(b, n, &bound), 0);
	KUNIT_EXPECT_GE(test, bound, most_at_once(b, n));
	KUNIT_EXPECT_GE(test, total, bound);
	KUNIT_EXPECT_EQ_MSG(test, slabdev_pack_check(b, n, &checked), 0, "%s",
			    slabdev_last_error());
	KUNIT_EXPECT_EQ(test, checked, total);
}

/* With at most @effort steps, 0: the default; and what has to be is. */
static inline u64 pack(struct kunit *test, block *b, size_t n, u64 effort)
{
	struct slabdev_pack_attr attr = SLABDEV_PACK_ATTR_INIT;
	u64 total = 0;

	attr.effort = effort;
	KUNIT_ASSERT_EQ_MSG(test, slabdev_pack(b, n, &attr, &total), 0, "%s",
			    slabdev_last_error());
	expect_plan(test, b, n, total);
	return total;
}

static inline void fill_random(block *b, size_t n, u64 *seed, u32 moments)
{
	size_t i;
	u64 aligned;

	/* Each number in a statement of its own: in that order everywhere. */
	for (i = 0; i < n; i++) {
		b[i].bytes = random_size(seed, 1 << 20);
		aligned = random_below(seed, 2);
		b[i].align = aligned << random_below(seed, 13);
		b[i].lower = (s64)random_below(seed, moments) - 10;
		b[i].offset = 0;
		b[i].upper = b[i].lower + 1 +
			     random_below(seed, 1 + moments / 4);
	}
}

/* The cases of the suite that are in pack_random.c. */
void random_plans_are_plans(struct kunit *test);
void random_collisions_are_found(struct kunit *test);
void small_plans_are_optimal(struct kunit *test);
void full_rectangles_are_filled(struct kunit *test);

/* The cases of the suite that are in pack_many.c. */
void many_blocks(struct kunit *test);
void a_million_blocks_long(struct kunit *test);
void all_at_once(struct kunit *test);
void lists_alone(struct kunit *test);
void misaligned_holes_are_not_all_tried(struct kunit *test);
void holes_behind_misses_are_found(struct kunit *test);
void a_plan_cannot_make_a_chain(struct kunit *test);
void threads_make_the_same_plan(struct kunit *test);
void the_plan_is_the_same_on_each_machine(struct kunit *test);

#endif /* TESTS_PACK_PLAN_H */
