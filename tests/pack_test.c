// SPDX-License-Identifier: BSD-2-Clause
/*
 * pack_test.c - plans for blocks with different life-times.
 *
 * A plan is looked at by what it has to be, pair by pair, and the bound is
 * added up again at each beginning: pack_plan.h. Here is what can be worked out
 * on paper, and what is refused; random plans are in pack_random.c, large ones
 * in pack_many.c.
 */
#include <errno.h>
#include <sys/mman.h>

#include "core/os.h"
#include "tests/pack_plan.h"

/* ---- Worked examples ----------------------------------------------------- */

static void one_after_the_other_share(struct kunit *test)
{
	block b[] = {
		{ .bytes = 4096, .lower = 0, .upper = 2 },
		{ .bytes = 8192, .lower = 1, .upper = 3 },
		{ .bytes = 4096, .lower = 2, .upper = 4 },
	};

	KUNIT_EXPECT_EQ(test, pack(test, b, 3, 0), 12288);
	KUNIT_EXPECT_EQ(test, b[0].offset, b[2].offset);
}

static void nothing_takes_nothing(struct kunit *test)
{
	u64 total = 1, bound = 1;

	KUNIT_EXPECT_EQ(test, slabdev_pack(NULL, 0, NULL, &total), 0);
	KUNIT_EXPECT_EQ(test, total, 0);
	KUNIT_EXPECT_EQ(test, slabdev_pack_bound(NULL, 0, &bound), 0);
	KUNIT_EXPECT_EQ(test, bound, 0);
	total = 1;
	KUNIT_EXPECT_EQ(test, slabdev_pack_check(NULL, 0, &total), 0);
	KUNIT_EXPECT_EQ(test, total, 0);
	KUNIT_EXPECT_EQ(test, slabdev_pack(NULL, 0, NULL, NULL), 0);
}

static void time_may_be_negative_and_long(struct kunit *test)
{
	block b[] = {
		{ .bytes = 256, .lower = INT64_MIN, .upper = INT64_MAX },
		{ .bytes = 512, .lower = INT64_MIN, .upper = -5 },
		{ .bytes = 512, .lower = -5, .upper = 7 },
		{ .bytes = 512, .lower = 7, .upper = INT64_MAX },
	};

	KUNIT_EXPECT_EQ(test, pack(test, b, 4, 0), 768);
}

/* In the order of time 2 KiB are too much: the long block has to lie below or
 * above both of the short ones. */
static void what_comes_later_counts(struct kunit *test)
{
	block b[] = {
		{ .bytes = 256, .lower = 0, .upper = 2 },
		{ .bytes = 256, .lower = 1, .upper = 9 },
		{ .bytes = 768, .lower = 2, .upper = 4 },
		{ .bytes = 512, .lower = 0, .upper = 1 },
		{ .bytes = 512, .lower = 5, .upper = 7 },
		{ .bytes = 256, .lower = 6, .upper = 9 },
	};

	KUNIT_EXPECT_EQ(test, pack(test, b, 6, 0), 1024);
}

static void padding_is_part_of_the_bound(struct kunit *test)
{
	block b[] = {
		{ .bytes = 100, .lower = 0, .upper = 1 },
		{ .bytes = 100, .lower = 0, .upper = 1 },
		{ .bytes = 100, .lower = 0, .upper = 1 },
	};
	u64 bound;

	KUNIT_EXPECT_EQ(test, pack(test, b, 3, 0), 612);
	KUNIT_ASSERT_EQ(test, slabdev_pack_bound(b, 3, &bound), 0);
	KUNIT_EXPECT_LE(test, bound, 612);
	KUNIT_EXPECT_GE(test, bound, 513);
	b[0].align = b[1].align = b[2].align = 1;
	KUNIT_EXPECT_EQ(test, pack(test, b, 3, 0), 300);
}

static void alignments_up_to_the_largest(struct kunit *test)
{
	block b[64];
	u32 i;

	for (i = 0; i < 64; i++)
		b[i] = (block){ .bytes = 1, .align = (u64)1 << (i % 48),
				.lower = i % 3, .upper = 3 };
	pack(test, b, 64, 10000000);
}

/* ---- Capacity and effort ------------------------------------------------- */

static void enough_is_enough(struct kunit *test)
{
	struct slabdev_pack_attr attr = SLABDEV_PACK_ATTR_INIT;
	u64 seed = random_seed(test), total, steps = 0;
	block b[100];

	fill_random(b, 100, &seed, 50);
	attr.capacity = UINT64_MAX;
	attr.steps = &steps;
	KUNIT_ASSERT_EQ(test, slabdev_pack(b, 100, &attr, &total), 0);
	expect_plan(test, b, 100, total);
	KUNIT_EXPECT_GT(test, steps, 0);
	KUNIT_EXPECT_LT(test, steps, 10000);
}

static int pack_within(block *b, size_t n, u64 capacity, u64 effort,
		       u64 *total)
{
	struct slabdev_pack_attr attr = SLABDEV_PACK_ATTR_INIT;

	attr.capacity = capacity;
	attr.effort = effort;
	*total = 0;
	return slabdev_pack(b, n, &attr, total);
}

static void expect_text(struct kunit *test, const char *part)
{
	KUNIT_EXPECT_TRUE_MSG(test, strstr(slabdev_last_error(), part),
			      "not '%s' in: %s", part, slabdev_last_error());
}

/* More lives at once; or the search proves it; or nobody knows. In each case
 * there is a plan all the same. */
static void what_does_not_fit_is_told(struct kunit *test)
{
	block b[] = {
		{ .bytes = 3, .align = 1, .lower = 0, .upper = 2 },
		{ .bytes = 3, .align = 1, .lower = 3, .upper = 6 },
		{ .bytes = 2, .align = 1, .lower = 1, .upper = 4 },
		{ .bytes = 2, .align = 1, .lower = 5, .upper = 8 },
		{ .bytes = 1, .align = 1, .lower = 0, .upper = 1 },
		{ .bytes = 3, .align = 1, .lower = 7, .upper = 9 },
		{ .bytes = 1, .align = 1, .lower = 4, .upper = 9 },
	};
	u64 bound, total, i;

	KUNIT_ASSERT_EQ(test, slabdev_pack_bound(b, 7, &bound), 0);
	KUNIT_EXPECT_EQ(test, pack_within(b, 7, bound - 1, 0, &total), -ENOSPC);
	expect_text(test, "live at once");
	expect_plan(test, b, 7, total);
	for (i = bound; pack_within(b, 7, i, 0, &total); i++) {
		expect_text(test, "proved that there is no such plan");
		expect_plan(test, b, 7, total);
	}
	KUNIT_EXPECT_EQ(test, total, i);
	KUNIT_EXPECT_EQ(test, pack(test, b, 7, 0), i);
}

/* ---- Bad input ----------------------------------------------------------- */

static void bad_blocks_are_named(struct kunit *test)
{
	static const struct {
		block b;
		int err;
		const char *says;
	} bad[] = {
		{ { .bytes = 0, .lower = 0, .upper = 1 }, -EINVAL,
		  "blocks[2].bytes is 0" },
		{ { .bytes = 1, .lower = 5, .upper = 5 }, -EINVAL,
		  "blocks[2] lives from 5 to 5" },
		{ { .bytes = 1, .lower = 0, .upper = -1 }, -EINVAL,
		  "blocks[2] lives from 0 to -1" },
		{ { .bytes = 1, .align = 3, .lower = 0, .upper = 1 }, -EINVAL,
		  "blocks[2].align is 3" },
		{ { .bytes = UINT64_MAX, .lower = 0, .upper = 1 }, -EOVERFLOW,
		  "blocks[2]: the sum" },
		{ { .bytes = UINT64_MAX - 512, .lower = 0, .upper = 1,
		    .align = (u64)1 << 63 }, -EOVERFLOW, "blocks[2]: the sum" },
		{ { .bytes = (size_t)-4096, .lower = 0, .upper = 1,
		    .align = 65536 }, -EOVERFLOW, "blocks[2]: the sum" },
	};
	block b[3], before[3];
	u64 total, bound;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		b[0] = b[1] = (block){ .bytes = 256, .upper = 1, .offset = 77 };
		b[2] = bad[i].b;
		memcpy(before, b, sizeof(b));
		total = 4711;
		KUNIT_EXPECT_EQ(test, slabdev_pack(b, 3, NULL, &total),
				bad[i].err);
		expect_text(test, bad[i].says);
		KUNIT_EXPECT_EQ(test, total, 4711);
		KUNIT_EXPECT_MEMEQ(test, b, before, sizeof(b));
		KUNIT_EXPECT_EQ(test, slabdev_pack_bound(b, 3, &bound),
				bad[i].err);
		expect_text(test, bad[i].says);
		KUNIT_EXPECT_EQ(test, slabdev_pack_check(b, 3, &total),
				bad[i].err);
		expect_text(test, bad[i].says);
	}
}

static void bad_arguments_are_refused(struct kunit *test)
{
	struct slabdev_pack_attr attr = SLABDEV_PACK_ATTR_INIT;
	struct {
		struct slabdev_pack_attr attr;
		u64 news;
	} longer = { { 0 }, 1 };
	block b = { .bytes = 1, .upper = 1 };
	u64 total;

	KUNIT_EXPECT_EQ(test, slabdev_pack(NULL, 1, NULL, &total), -EINVAL);
	expect_text(test, "blocks is NULL");
	KUNIT_EXPECT_EQ(test, slabdev_pack(&b, SLABDEV_PACK_MAX + 1, NULL,
					   &total), -EOVERFLOW);
	expect_text(test, "a plan has at most");
	KUNIT_EXPECT_EQ(test, slabdev_pack_bound(&b, 1, NULL), -EINVAL);
	expect_text(test, "bound is NULL");
	attr.flags = 2;
	KUNIT_EXPECT_EQ(test, slabdev_pack(&b, 1, &attr, &total), -EINVAL);
	expect_text(test, "attr.flags 0x2");
	attr = (struct slabdev_pack_attr){ 0 };
	KUNIT_EXPECT_EQ(test, slabdev_pack(&b, 1, &attr, &total), -EINVAL);
	expect_text(test, "attr.size is 0");
	longer.attr.size = sizeof(longer);
	KUNIT_EXPECT_EQ(test, slabdev_pack(&b, 1, &longer.attr, &total),
			-E2BIG);
	longer.news = 0;
	KUNIT_EXPECT_EQ(test, slabdev_pack(&b, 1, &longer.attr, NULL), 0);
}

static void wrong_plans_are_found(struct kunit *test)
{
	block b[] = {
		{ .bytes = 512, .lower = 0, .upper = 4, .offset = 0 },
		{ .bytes = 512, .lower = 4, .upper = 8, .offset = 256 },
		{ .bytes = 256, .lower = 2, .upper = 6, .offset = 768 },
	};
	u64 total = 0;

	KUNIT_EXPECT_EQ(test, slabdev_pack_check(b, 3, &total), 0);
	KUNIT_EXPECT_EQ(test, total, 1024);
	b[2].offset = 512;
	total = 4711;
	KUNIT_EXPECT_EQ(test, slabdev_pack_check(b, 3, &total), -EINVAL);
	expect_text(test, "blocks[1] and blocks[2] live at the same time");
	b[2].offset = 0;
	KUNIT_EXPECT_EQ(test, slabdev_pack_check(b, 3, &total), -EINVAL);
	expect_text(test, "blocks[0] and blocks[2] live at the same time");
	b[2].offset = 800;
	KUNIT_EXPECT_EQ(test, slabdev_pack_check(b, 3, &total), -EINVAL);
	expect_text(test, "blocks[2].offset 800 is no multiple");
	b[2].offset = UINT64_MAX - 255;
	KUNIT_EXPECT_EQ(test, slabdev_pack_check(b, 3, &total), -EOVERFLOW);
	expect_text(test, "do not fit 64 bits");
	KUNIT_EXPECT_EQ(test, total, 4711);
	b[2].offset -= 256;
	KUNIT_EXPECT_EQ(test, slabdev_pack_check(b, 3, &total), 0);
	KUNIT_EXPECT_EQ(test, total, UINT64_MAX - 255);
}

/* ---- No memory ----------------------------------------------------------- */

static u32 calls, failing_call;

static int reserve_or_not(size_t size, void **addr)
{
	if (++calls == failing_call)
		return -ENOMEM;
	*addr = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
		     MAP_NORESERVE, -1, 0);
	return *addr == MAP_FAILED ? -ENOMEM : 0;
}

static int commit_or_not(void *addr, size_t size)
{
	if (++calls == failing_call ||
	    mprotect(addr, size, PROT_READ | PROT_WRITE))
		return -ENOMEM;
	return 0;
}

static u32 unreserved;

static int unreserve_counted(void *addr, size_t size)
{
	unreserved++;
	return munmap(addr, size);
}

/* Each call for memory fails once: nothing is written, and all goes back. */
static void lack_of_memory_changes_nothing(struct kunit *test)
{
	u64 seed = random_seed(test), total = 4711;
	struct slabdev_pack_attr attr = SLABDEV_PACK_ATTR_INIT;
	block b[80], before[80];
	u32 failed = 0;

	fill_random(b, 80, &seed, 30);
	memcpy(before, b, sizeof(b));
	attr.effort = 3000000;
	kunit_activate_static_stub(test, os_reserve, reserve_or_not);
	kunit_activate_static_stub(test, os_commit, commit_or_not);
	kunit_activate_static_stub(test, os_unreserve, unreserve_counted);
	for (failing_call = 1; ; failing_call++) {
		calls = unreserved = 0;
		if (!slabdev_pack(b, 80, &attr, &total))
			break;
		failed++;
		expect_text(test, "no host memory");
		KUNIT_EXPECT_EQ(test, total, 4711);
		KUNIT_EXPECT_MEMEQ(test, b, before, sizeof(b));
		KUNIT_EXPECT_EQ(test, unreserved, failing_call / 2);
	}
	KUNIT_EXPECT_GE(test, failed, 6);
	for (failing_call = 1; failing_call <= 4; failing_call++) {
		calls = 0;
		KUNIT_EXPECT_EQ(test, slabdev_pack_check(b, 80, &total),
				-ENOMEM);
	}
	for (failing_call = 1; failing_call <= 2; failing_call++) {
		calls = 0;
		KUNIT_EXPECT_EQ(test, slabdev_pack_bound(b, 80, &total),
				-ENOMEM);
	}
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(one_after_the_other_share),
	KUNIT_CASE(nothing_takes_nothing),
	KUNIT_CASE(time_may_be_negative_and_long),
	KUNIT_CASE(what_comes_later_counts),
	KUNIT_CASE(padding_is_part_of_the_bound),
	KUNIT_CASE(alignments_up_to_the_largest),
	KUNIT_CASE(enough_is_enough),
	KUNIT_CASE(what_does_not_fit_is_told),
	KUNIT_CASE(bad_blocks_are_named),
	KUNIT_CASE(bad_arguments_are_refused),
	KUNIT_CASE(wrong_plans_are_found),
	KUNIT_CASE(random_plans_are_plans, .slow = true, .timeout_s = 300),
	KUNIT_CASE(random_collisions_are_found),
	KUNIT_CASE(small_plans_are_optimal),
	KUNIT_CASE(full_rectangles_are_filled, .slow = true, .timeout_s = 300),
	KUNIT_CASE(many_blocks),
	KUNIT_CASE(a_million_blocks_long, .is_long = true, .timeout_s = 600),
	KUNIT_CASE(all_at_once),
	KUNIT_CASE(lists_alone),
	KUNIT_CASE(misaligned_holes_are_not_all_tried),
	KUNIT_CASE(holes_behind_misses_are_found),
	KUNIT_CASE(a_plan_cannot_make_a_chain),
	KUNIT_CASE(threads_make_the_same_plan),
	KUNIT_CASE(the_plan_is_the_same_on_each_machine),
	KUNIT_CASE(lack_of_memory_changes_nothing),
	{ 0 }
};

static const struct kunit_suite pack_suite = {
	.name = "pack",
	.cases = cases,
};
kunit_test_suite(pack_suite);
