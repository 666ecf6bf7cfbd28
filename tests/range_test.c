// SPDX-License-Identifier: BSD-2-Clause
/*
 * range_test.c - sets of integers: merging, cutting, searching.
 *
 * The small cases draw the situations of core/range.c by hand; the random ones
 * compare with a reference.
 */
#include <errno.h>
#include <time.h>

#include "core/bitmap.h"
#include "core/os.h"
#include "core/range.h"
#include "tests/kunit/kunit.h"
#include "tests/random.h"
#include "tests/range_model.h"

#define MAX 1024

static int range_test_init(struct kunit *test)
{
	struct range *r = kunit_kzalloc(test, sizeof(*r));

	test->priv = r;
	return range_init(r, MAX);
}

/* Whatever the case did, what it left has to be consistent. */
static void range_test_exit(struct kunit *test)
{
	struct range *r = test->priv;

	if (!r)
		return;
	KUNIT_EXPECT_NULL(test, range_validate(r));
	range_fini(r);
}

static void expect_free_run(struct kunit *test, u32 i, u32 first, u32 n)
{
	struct range *r = test->priv;
	u32 got_first = 0, got_n = 0;

	KUNIT_EXPECT_TRUE(test, range_free_run(r, i, &got_first, &got_n));
	KUNIT_EXPECT_EQ(test, got_first, first);
	KUNIT_EXPECT_EQ(test, got_n, n);
}

static void nothing_in_an_empty_range(struct kunit *test)
{
	struct range *r = test->priv;
	u32 first, n;

	KUNIT_EXPECT_EQ(test, range_alloc(r, 1, 1), RANGE_NONE);
	KUNIT_EXPECT_FALSE(test, range_alloc_at(r, 0, 1));
	KUNIT_EXPECT_FALSE(test, range_free_run(r, 0, &first, &n));
	KUNIT_EXPECT_FALSE(test, range_has(r, 0));
}

static void all_of_it_and_nothing_more(struct kunit *test)
{
	struct range *r = test->priv;

	KUNIT_ASSERT_EQ(test, range_add(r, 0, MAX), 0);
	KUNIT_EXPECT_EQ(test, range_alloc(r, 0, 1), RANGE_NONE);
	KUNIT_EXPECT_EQ(test, range_alloc(r, MAX + 1, 1), RANGE_NONE);
	KUNIT_EXPECT_EQ(test, range_alloc(r, MAX, 1), 0);
	KUNIT_EXPECT_EQ(test, range_len(r, 0), MAX);
	KUNIT_EXPECT_FALSE(test, range_is_free(r, 0));
	KUNIT_EXPECT_EQ(test, range_alloc(r, 1, 1), RANGE_NONE);
	range_free(r, 0, MAX);
	KUNIT_EXPECT_EQ(test, r->nr_free, MAX);
	KUNIT_EXPECT_EQ(test, range_add(r, MAX, 1), -ENOMEM);
}

/* A run comes back between allocated, free-left, free-right, free-both. */
static void freeing_merges_in_four_ways(struct kunit *test)
{
	struct range *r = test->priv;

	KUNIT_ASSERT_EQ(test, range_add(r, 0, 50), 0);
	for (u32 i = 0; i < 5; i++)
		KUNIT_ASSERT_EQ(test, range_alloc(r, 10, 1), i * 10);

	range_free(r, 10, 10);
	expect_free_run(test, 15, 10, 10);
	range_free(r, 20, 10);
	expect_free_run(test, 15, 10, 20);
	range_free(r, 0, 10);
	expect_free_run(test, 29, 0, 30);
	KUNIT_ASSERT_TRUE(test, range_alloc_at(r, 10, 10));
	range_free(r, 40, 10);
	range_free(r, 10, 10);
	expect_free_run(test, 0, 0, 30);
	expect_free_run(test, 45, 40, 10);
	range_free(r, 30, 10);
	expect_free_run(test, 0, 0, 50);
}

static void adding_merges_with_what_is_free(struct kunit *test)
{
	struct range *r = test->priv;

	KUNIT_ASSERT_EQ(test, range_add(r, 100, 10), 0);
	KUNIT_ASSERT_EQ(test, range_add(r, 120, 10), 0);
	expect_free_run(test, 100, 100, 10);
	KUNIT_EXPECT_FALSE(test, range_has(r, 115));
	KUNIT_ASSERT_EQ(test, range_add(r, 110, 10), 0);
	expect_free_run(test, 129, 100, 30);
	KUNIT_EXPECT_EQ(test, r->nr_total, 30);
}

/* Holes that are not in the range look like no allocation. */
static void outside_is_told_from_allocated(struct kunit *test)
{
	struct range *r = test->priv;
	u32 first, n;

	KUNIT_ASSERT_EQ(test, range_add(r, 10, 20), 0);
	KUNIT_ASSERT_EQ(test, range_alloc(r, 20, 1), 10);
	KUNIT_EXPECT_FALSE(test, range_has(r, 9));
	KUNIT_EXPECT_TRUE(test, range_has(r, 10));
	KUNIT_EXPECT_TRUE(test, range_has(r, 29));
	KUNIT_EXPECT_FALSE(test, range_has(r, 30));

	range_free(r, 10, 20);
	range_remove(r, 15, 5);
	KUNIT_EXPECT_EQ(test, r->nr_total, 15);
	KUNIT_EXPECT_TRUE(test, range_has(r, 14));
	KUNIT_EXPECT_FALSE(test, range_has(r, 15));
	KUNIT_EXPECT_FALSE(test, range_has(r, 19));
	KUNIT_EXPECT_TRUE(test, range_has(r, 20));
	KUNIT_EXPECT_FALSE(test, range_free_run(r, 17, &first, &n));
	KUNIT_EXPECT_FALSE(test, range_alloc_at(r, 14, 2));
}

/*
 * Pieces that were removed one by one leave their borders behind, which must
 * not survive when the whole comes back.
 */
static void removed_pieces_come_back_whole(struct kunit *test)
{
	struct range *r = test->priv;

	KUNIT_ASSERT_EQ(test, range_add(r, 0, 40), 0);
	for (u32 i = 8; i < 32; i += 4)
		range_remove(r, i, 4);
	KUNIT_EXPECT_EQ(test, r->nr_total, 16);
	/* The middle, so that a hole stays on either side. */
	KUNIT_ASSERT_EQ(test, range_add(r, 14, 10), 0);
	expect_free_run(test, 20, 14, 10);
	KUNIT_EXPECT_FALSE(test, range_has(r, 13));
	KUNIT_EXPECT_FALSE(test, range_has(r, 24));
	KUNIT_EXPECT_NULL(test, range_validate(r));
	KUNIT_ASSERT_EQ(test, range_add(r, 8, 6), 0);
	KUNIT_ASSERT_EQ(test, range_add(r, 24, 8), 0);
	expect_free_run(test, 20, 0, 40);
}

static void alignment_is_of_the_integer(struct kunit *test)
{
	struct range *r = test->priv;

	KUNIT_ASSERT_EQ(test, range_add(r, 3, 200), 0);
	KUNIT_EXPECT_EQ(test, range_alloc(r, 5, 16), 16);
	KUNIT_EXPECT_EQ(test, range_alloc(r, 32, 64), 64);
	expect_free_run(test, 10, 3, 13);
	expect_free_run(test, 30, 21, 43);
	KUNIT_EXPECT_EQ(test, range_alloc(r, 1, 256), RANGE_NONE);
	KUNIT_EXPECT_EQ(test, range_alloc(r, 64, 128), 128);
	KUNIT_EXPECT_EQ(test, range_alloc(r, 64, 128), RANGE_NONE);
}

/* A run that fits only because it happens to be aligned is found too. */
static void exact_aligned_run_is_found(struct kunit *test)
{
	struct range *r = test->priv;

	KUNIT_ASSERT_EQ(test, range_add(r, 64, 64), 0);
	KUNIT_EXPECT_EQ(test, range_alloc(r, 64, 64), 64);
}

static void exact_integers_or_none(struct kunit *test)
{
	struct range *r = test->priv;

	KUNIT_ASSERT_EQ(test, range_add(r, 10, 10), 0);
	KUNIT_EXPECT_FALSE(test, range_alloc_at(r, 9, 2));
	KUNIT_EXPECT_FALSE(test, range_alloc_at(r, 19, 2));
	KUNIT_EXPECT_FALSE(test, range_alloc_at(r, 12, 0));
	KUNIT_EXPECT_FALSE(test, range_alloc_at(r, MAX, 1));
	KUNIT_EXPECT_TRUE(test, range_alloc_at(r, 12, 3));
	KUNIT_EXPECT_FALSE(test, range_alloc_at(r, 14, 1));
	KUNIT_EXPECT_TRUE(test, range_alloc_at(r, 10, 2));
	KUNIT_EXPECT_TRUE(test, range_alloc_at(r, 15, 5));
	KUNIT_EXPECT_EQ(test, r->nr_free, 0);
}

static void split_makes_two_allocations(struct kunit *test)
{
	struct range *r = test->priv;

	KUNIT_ASSERT_EQ(test, range_add(r, 0, 30), 0);
	KUNIT_ASSERT_EQ(test, range_alloc(r, 30, 1), 0);
	range_split(r, 10);
	range_split(r, 20);
	range_split(r, 20);
	range_split(r, 30);
	KUNIT_EXPECT_EQ(test, range_len(r, 0), 10);
	KUNIT_EXPECT_EQ(test, range_head(r, 25), 20);
	KUNIT_EXPECT_TRUE(test, range_has(r, 15));
	range_free(r, 10, 10);
	expect_free_run(test, 12, 10, 10);
	range_free(r, 0, 10);
	range_free(r, 20, 10);
	expect_free_run(test, 12, 0, 30);
}

/* Free runs and holes are stepped over, up to the end and beyond. */
static void walk_sees_allocations_only(struct kunit *test)
{
	struct range *r = test->priv;

	KUNIT_EXPECT_EQ(test, range_next(r, 0), RANGE_NONE);
	KUNIT_ASSERT_EQ(test, range_add(r, 5, 15), 0);
	KUNIT_ASSERT_EQ(test, range_add(r, 40, 60), 0);
	KUNIT_EXPECT_EQ(test, range_next(r, 0), RANGE_NONE);
	KUNIT_ASSERT_TRUE(test, range_alloc_at(r, 10, 10));
	KUNIT_ASSERT_TRUE(test, range_alloc_at(r, 90, 10));
	range_remove(r, 50, 10);
	KUNIT_EXPECT_EQ(test, range_next(r, 0), 10);
	KUNIT_EXPECT_EQ(test, range_next(r, 11), 90);
	KUNIT_EXPECT_EQ(test, range_next(r, 91), RANGE_NONE);
	KUNIT_EXPECT_EQ(test, range_next(r, MAX), RANGE_NONE);
}

/* Equal runs are taken lowest first, so that the high end falls empty. */
static void low_integers_first(struct kunit *test)
{
	static const u32 order[] = { 7, 2, 5, 0, 6, 1, 4, 3 };
	struct range *r = test->priv;

	KUNIT_ASSERT_EQ(test, range_add(r, 0, 160), 0);
	for (u32 i = 0; i < 16; i++)
		KUNIT_ASSERT_EQ(test, range_alloc(r, 10, 1), i * 10);
	/* Every other one, or they would merge. */
	for (u32 i = 0; i < ARRAY_SIZE(order); i++)
		range_free(r, order[i] * 20, 10);
	for (u32 i = 0; i < ARRAY_SIZE(order); i++)
		KUNIT_EXPECT_EQ(test, range_alloc(r, 10, 1), i * 20);
}

/* A bin holds lengths 16 and 17; 17 comes after many runs of 16. */
static void last_resort_finds_the_long_run_of_a_bin(struct kunit *test)
{
	struct range *r = test->priv;
	u32 pos = 0;

	KUNIT_ASSERT_EQ(test, range_add(r, 0, 900), 0);
	KUNIT_ASSERT_EQ(test, range_alloc(r, 900, 1), 0);
	for (; pos < 800; pos += 18) {
		range_split(r, pos);
		range_split(r, pos + 16);
		range_free(r, pos, 16);
	}
	range_split(r, pos);
	range_split(r, pos + 17);
	range_free(r, pos, 17);
	KUNIT_EXPECT_EQ(test, range_alloc(r, 18, 1), RANGE_NONE);
	KUNIT_EXPECT_EQ(test, range_alloc(r, 17, 1), pos);
	KUNIT_EXPECT_EQ(test, range_alloc(r, 17, 1), RANGE_NONE);
	KUNIT_EXPECT_EQ(test, range_alloc(r, 16, 1), 0);
}

static void large_integers(struct kunit *test)
{
	const u32 max = 1u << 26;
	struct range r;

	KUNIT_ASSERT_EQ(test, range_init(&r, max), 0);
	if (range_add(&r, max - 5000, 5000)) {
		range_fini(&r);
		kunit_skip(test, "no room for tables of 2^26 integers");
	}
	KUNIT_EXPECT_EQ(test, range_alloc(&r, 4096, 1), max - 5000);
	KUNIT_EXPECT_EQ(test, range_alloc(&r, 904, 1), max - 904);
	KUNIT_EXPECT_EQ(test, range_head(&r, max - 1), max - 904);
	KUNIT_EXPECT_EQ(test, range_len(&r, max - 904), 904);
	range_free(&r, max - 904, 904);
	KUNIT_EXPECT_NULL(test, range_validate(&r));
	range_fini(&r);
}

static int refuse_commit(void *addr, size_t size)
{
	(void)addr;
	(void)size;
	return -ENOMEM;
}

static void failing_add_changes_nothing(struct kunit *test)
{
	struct range r;

	KUNIT_ASSERT_EQ(test, range_init(&r, 1u << 20), 0);
	KUNIT_ASSERT_EQ(test, range_add(&r, 0, 100), 0);
	kunit_activate_static_stub(test, os_commit, refuse_commit);
	KUNIT_EXPECT_EQ(test, range_add(&r, 100, 100000), -ENOMEM);
	KUNIT_EXPECT_NULL(test, range_validate(&r));
	KUNIT_EXPECT_EQ(test, r.nr_total, 100);
	kunit_deactivate_static_stub(test, os_commit);
	KUNIT_EXPECT_EQ(test, range_add(&r, 100, 100000), 0);
	KUNIT_EXPECT_EQ(test, range_alloc(&r, 100100, 1), 0);
	range_fini(&r);
}

/* ---- Validation finds what is wrong ----------------------------------- */

static u64 *words(const struct resv *resv)
{
	return (u64 *)(void *)resv->base;
}

static struct range_node *nodes(const struct range *r)
{
	return (struct range_node *)(void *)r->nodes.base;
}

#define EXPECT_BROKEN(test, r, text)					\
do {									\
	const char *broken_ = range_validate(r);			\
									\
	KUNIT_EXPECT_STREQ(test, broken_ ? broken_ : "nothing",		\
			   "range: " text);				\
} while (0)

/* Goal: each invariant is really checked. Method: break it, look, mend it. */
static void validate_names_what_is_broken(struct kunit *test)
{
	struct range *r = test->priv;

	KUNIT_ASSERT_EQ(test, range_add(r, 0, 100), 0);
	KUNIT_ASSERT_TRUE(test, range_alloc_at(r, 20, 10));
	KUNIT_ASSERT_NULL(test, range_validate(r));

	bitmap_set(words(&r->is_free), 5);
	EXPECT_BROKEN(test, r, "a free bit without a head");
	bitmap_clear(words(&r->is_free), 5);

	bitmap_set(words(&r->is_free), 20);
	nodes(r)[20].len = 10;
	EXPECT_BROKEN(test, r, "two free runs are adjacent");
	bitmap_clear(words(&r->is_free), 20);

	nodes(r)[19].len++;
	EXPECT_BROKEN(test, r, "the two ends of a free run differ");
	nodes(r)[19].len--;

	nodes(r)[0].len--;
	EXPECT_BROKEN(test, r, "a free run does not end at the next head");
	nodes(r)[0].len++;

	r->nr_free++;
	EXPECT_BROKEN(test, r, "nr_free is not the sum of the free runs");
	r->nr_free--;

	r->nr_total++;
	EXPECT_BROKEN(test, r, "nr_total is not the sum of the runs inside");
	r->nr_total--;

	nodes(r)[0].prev = 30;
	EXPECT_BROKEN(test, r, "a bin's list is broken");
	nodes(r)[0].prev = RANGE_NONE;

	bitmap_clear(words(&r->heads), 100);
	EXPECT_BROKEN(test, r, "no head bit at the end");
	bitmap_set(words(&r->heads), 100);
}

/* The same for the bins. Two free runs of one length, and a longer one. */
static void validate_names_what_is_wrong_in_bins(struct kunit *test)
{
	struct range *r = test->priv;
	u32 bin, tail;

	KUNIT_ASSERT_EQ(test, range_add(r, 0, 100), 0);
	KUNIT_ASSERT_TRUE(test, range_alloc_at(r, 10, 5));
	KUNIT_ASSERT_TRUE(test, range_alloc_at(r, 25, 5));
	KUNIT_ASSERT_NULL(test, range_validate(r));
	bin = (u32)bitmap_next(r->bin_map, RANGE_NR_BINS, 0);
	tail = r->bin_tail[bin];
	KUNIT_ASSERT_EQ(test, r->bin[bin], 0);
	KUNIT_ASSERT_EQ(test, tail, 15);

	bitmap_clear(r->bin_map, bin);
	EXPECT_BROKEN(test, r, "a free run lies in a bin marked empty");
	bitmap_set(r->bin_map, bin);

	bitmap_set(r->bin_map, RANGE_NR_BINS - 1);
	EXPECT_BROKEN(test, r, "the bin map and a bin disagree");
	bitmap_clear(r->bin_map, RANGE_NR_BINS - 1);

	r->bin[bin] = 10;
	EXPECT_BROKEN(test, r, "a bin holds what is no free run");
	r->bin[bin] = 30;
	EXPECT_BROKEN(test, r, "a free run lies in the wrong bin");
	r->bin[bin] = 0;

	r->bin_tail[bin] = 0;
	EXPECT_BROKEN(test, r, "a bin's list ends elsewhere");
	nodes(r)[0].next = RANGE_NONE;
	EXPECT_BROKEN(test, r, "a free run is in no bin");
	nodes(r)[0].next = 15;
	r->bin_tail[bin] = tail;
}

static void what_is_allocated_is_not_removed(struct kunit *test)
{
	struct range *r = test->priv;

	KUNIT_ASSERT_EQ(test, range_add(r, 0, 100), 0);
	KUNIT_ASSERT_EQ(test, range_alloc(r, 30, 1), 0);
	range_remove(r, 20, 20);
	KUNIT_EXPECT_EQ(test, r->nr_total, 100);
	KUNIT_EXPECT_EQ(test, r->nr_free, 70);
	KUNIT_EXPECT_TRUE(test, range_has(r, 25));
	KUNIT_EXPECT_NULL(test, range_validate(r));
}

/* ---- Random steps (range_model.c) ------------------------------------- */

static u32 pick_at_random(void *state, u32 n)
{
	return random_below(state, n);
}

static void run_model(struct kunit *test, u64 seed, u32 max, u32 steps)
{
	u64 state = seed;
	const char *wrong;

	kunit_info(test, "seed %llu, %u integers", (unsigned long long)seed,
		   max);
	wrong = range_model_run(pick_at_random, &state, max, &steps);
	KUNIT_EXPECT_NULL_MSG(test, wrong, "step %u: %s", steps, wrong);
}

static const u64 seeds[] = { 1, 2, 3, 4, 5, 6 };
KUNIT_ARRAY_PARAM(seed, seeds, NULL);

/*
 * Goal: every answer is the one that a search bit by bit would give. Sizes
 * around a word and around the steps of the tables.
 */
static void random_steps_agree_with_a_bitmap(struct kunit *test)
{
	u64 seed = *(const u64 *)test->param_value;

	run_model(test, seed, 60 + 10 * (u32)seed, 2000);
	run_model(test, seed + 100, 500 * (u32)seed, 1000);
}

static void random_steps_for_long(struct kunit *test)
{
	u64 seed = (u64)time(NULL);

	for (u32 i = 0; i < 20; i++)
		run_model(test, seed + i, 100u << i % 8, 5000);
}

static const struct kunit_case range_cases[] = {
	KUNIT_CASE(nothing_in_an_empty_range),
	KUNIT_CASE(all_of_it_and_nothing_more),
	KUNIT_CASE(freeing_merges_in_four_ways),
	KUNIT_CASE(adding_merges_with_what_is_free),
	KUNIT_CASE(outside_is_told_from_allocated),
	KUNIT_CASE(removed_pieces_come_back_whole),
	KUNIT_CASE(alignment_is_of_the_integer),
	KUNIT_CASE(exact_aligned_run_is_found),
	KUNIT_CASE(exact_integers_or_none),
	KUNIT_CASE(split_makes_two_allocations),
	KUNIT_CASE(walk_sees_allocations_only),
	KUNIT_CASE(low_integers_first),
	KUNIT_CASE(last_resort_finds_the_long_run_of_a_bin),
	KUNIT_CASE(large_integers),
	KUNIT_CASE(failing_add_changes_nothing),
	KUNIT_CASE(validate_names_what_is_broken),
	KUNIT_CASE(validate_names_what_is_wrong_in_bins),
	KUNIT_CASE(what_is_allocated_is_not_removed),
	KUNIT_CASE_PARAM(random_steps_agree_with_a_bitmap, seed_gen_params),
	KUNIT_CASE_LONG(random_steps_for_long),
	{ 0 }
};

static const struct kunit_suite range_suite = {
	.name = "range",
	.init = range_test_init,
	.exit = range_test_exit,
	.cases = range_cases,
};
kunit_test_suite(range_suite);
