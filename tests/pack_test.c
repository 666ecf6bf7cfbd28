// SPDX-License-Identifier: BSD-2-Clause
/*
 * pack_test.c - plans for blocks with different life-times.
 *
 * A plan is looked at here by what it has to be, pair by pair; the bound is
 * added up again at each beginning; the optimum of small instances comes from
 * trying all orders. Larger ones whose optimum is known are made by cutting a
 * rectangle of time and capacity into blocks, which leaves no byte to spare.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

#include <slabdev/slabdev.h>

#include "core/os.h"
#include "core/overflow.h"
#include "slab/pack_holes.h"
#include "tests/kunit/kunit.h"
#include "tests/random.h"
#include "tests/sanitizers.h"

typedef struct slabdev_pack_block block;

/* ---- What a plan has to be ----------------------------------------------- */

static u64 align_of(const block *b)
{
	return b->align ? b->align : 256;
}

static bool lives_with(const block *a, const block *b)
{
	return a->lower < b->upper && b->lower < a->upper;
}

static bool collides(const block *a, const block *b)
{
	return lives_with(a, b) && a->offset < b->offset + b->bytes &&
	       b->offset < a->offset + a->bytes;
}

static u64 highest_end(const block *b, size_t n)
{
	u64 end = 0;
	size_t i;

	for (i = 0; i < n; i++)
		end = max(end, b[i].offset + b[i].bytes);
	return end;
}

static u64 most_at_once(const block *b, size_t n)
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

static void expect_plan(struct kunit *test, const block *b, size_t n, u64 total)
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
static u64 pack(struct kunit *test, block *b, size_t n, u64 effort)
{
	struct slabdev_pack_attr attr = SLABDEV_PACK_ATTR_INIT;
	u64 total = 0;

	attr.effort = effort;
	KUNIT_ASSERT_EQ_MSG(test, slabdev_pack(b, n, &attr, &total), 0, "%s",
			    slabdev_last_error());
	expect_plan(test, b, n, total);
	return total;
}

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

static void fill_random(block *b, size_t n, u64 *seed, u32 moments)
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

/* ---- By chance ----------------------------------------------------------- */

static void random_plans_are_plans(struct kunit *test)
{
	u64 seed = random_seed(test), first;
	u32 round, n;
	block b[150];

	for (round = 0; round < 120; round++) {
		n = 1 + random_below(&seed, ARRAY_SIZE(b));
		fill_random(b, n, &seed, 1 + random_below(&seed, 200));
		first = pack(test, b, n, 300000);
		/* The offsets that it finds there do not matter. */
		KUNIT_EXPECT_EQ(test, pack(test, b, n, 300000), first);
		KUNIT_EXPECT_LE(test, pack(test, b, n, 3000000), first);
		KUNIT_EXPECT_GE(test, pack(test, b, n, 1), first);
	}
}

/* One block is moved to where it collides, which the check has to notice. */
static void random_collisions_are_found(struct kunit *test)
{
	u64 seed = random_seed(test);
	u32 round, i, j;
	block b[60];

	for (round = 0; round < 200; round++) {
		fill_random(b, 60, &seed, 40);
		pack(test, b, 60, 1);
		i = random_below(&seed, 60);
		b[i].align = 1;
		b[i].offset = random_below(&seed, 1 << 22);
		for (j = 0; j < 60; j++)
			if (j != i && collides(&b[i], &b[j]))
				break;
		KUNIT_EXPECT_EQ(test, slabdev_pack_check(b, 60, NULL),
				j < 60 ? -EINVAL : 0);
	}
}

/* On top of all blocks placed before it that live with it. */
static u64 stack(block *b, const u32 *order, u32 n)
{
	u64 at;
	u32 i, j;

	for (i = 0; i < n; i++) {
		at = 0;
		for (j = 0; j < i; j++)
			if (lives_with(&b[order[i]], &b[order[j]]))
				at = max(at, b[order[j]].offset +
					     b[order[j]].bytes);
		b[order[i]].offset = align_up(at, align_of(&b[order[i]]));
	}
	return highest_end(b, n);
}

/* The least total of all orders from @fixed on (Heap's algorithm). */
static u64 least_of_all(block *b, u32 *order, u32 k, u32 n)
{
	u64 least = UINT64_MAX;
	u32 i, other, x;

	if (k == 1)
		return stack(b, order, n);
	for (i = 0; i < k; i++) {
		least = min(least, least_of_all(b, order, k - 1, n));
		other = k % 2 ? 0 : i;
		x = order[other];
		order[other] = order[k - 1];
		order[k - 1] = x;
	}
	return least;
}

static void small_plans_are_optimal(struct kunit *test)
{
	u64 seed = random_seed(test), least;
	block b[7], tried[7];
	u32 order[7], round, n, i;

	for (round = 0; round < 150; round++) {
		n = 2 + random_below(&seed, 6);
		fill_random(b, n, &seed, 3 + random_below(&seed, 12));
		for (i = 0; i < n; i++) {
			b[i].bytes = 1 + random_below(&seed, 9);
			b[i].align = (u64)1 << random_below(&seed, 3);
			order[i] = i;
		}
		memcpy(tried, b, sizeof(b));
		least = least_of_all(tried, order, n, n);
		KUNIT_EXPECT_EQ(test, pack(test, b, n, 0), least);
	}
}

/* ---- Rectangles ---------------------------------------------------------- */

struct rectangle {
	u64 from, bytes;
	s64 lower, upper;
};

/*
 * Cut in two, by time or by offset, until there are @n: the optimum is the
 * height of the whole. The largest is cut, so that none is left large.
 */
static void cut(struct rectangle *r, u32 n, u64 *seed)
{
	u64 area, largest;
	s64 life;
	u32 i, pick, nr;

	for (nr = 1; nr < n; nr++) {
		largest = 0;
		pick = 0;
		for (i = 0; i < nr; i++) {
			area = r[i].bytes * (u64)(r[i].upper - r[i].lower);
			area >>= random_below(seed, 4);
			if (area > largest) {
				largest = area;
				pick = i;
			}
		}
		r[nr] = r[pick];
		life = r[pick].upper - r[pick].lower;
		if (life > 1 && random_below(seed, 2)) {
			r[pick].upper = r[pick].lower + 1 +
				random_below(seed, (u32)life - 1);
			r[nr].lower = r[pick].upper;
		} else if (r[pick].bytes > 1) {
			r[pick].bytes = 1 + random_below(seed,
						(u32)r[pick].bytes - 1);
			r[nr].from += r[pick].bytes;
			r[nr].bytes -= r[pick].bytes;
		} else {
			nr--;
		}
	}
}

#define KIBS 1024u		/* of the rectangle: 1 MiB */

static void make_rectangle(block *b, u32 n, u64 *seed)
{
	struct rectangle r[400] = {
		{ .bytes = KIBS, .lower = 0, .upper = 2000 },
	};
	u32 i;

	cut(r, n, seed);
	for (i = 0; i < n; i++)
		b[i] = (block){ .bytes = r[i].bytes * KIB, .lower = r[i].lower,
				.upper = r[i].upper };
}

/*
 * Not a byte to spare. With up to 160 blocks the optimum is found all the same;
 * with 260 and this effort, at most a fifth more. The instances are the same in
 * each run, and so is then what is found.
 */
static void full_rectangles_are_filled(struct kunit *test)
{
	static const u32 sizes[] = { 60, 160, 260 };
	u64 seed = 1, total;
	block b[400];
	u32 i, round;

	for (round = 0; round < 10; round++) {
		make_rectangle(b, 24, &seed);
		KUNIT_EXPECT_EQ(test, pack(test, b, 24, 0), MIB);
	}
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		for (round = 0; round < 3; round++) {
			make_rectangle(b, sizes[i], &seed);
			total = pack(test, b, sizes[i], 100000000);
			kunit_info(test, "%u blocks: %llu permille above the "
				   "optimum", sizes[i],
				   (unsigned long long)(total * 1000 / MIB -
							1000));
			KUNIT_EXPECT_LE(test, total, sizes[i] <= 160 ? MIB :
					MIB + MIB / 5);
		}
}

/* ---- Many ---------------------------------------------------------------- */

/* Some hundred at once: too many pairs for anything but sweeps. */
static void expect_many(struct kunit *test, u32 n)
{
	struct slabdev_pack_attr attr = SLABDEV_PACK_ATTR_INIT;
	block *b = kunit_kzalloc(test, n * sizeof(*b));
	u64 seed = random_seed(test), total, checked, bound;
	u32 i;

	for (i = 0; i < n; i++) {
		b[i].bytes = 256 * random_size(&seed, 4096);
		b[i].lower = i;
		b[i].upper = i + (s64)random_size(&seed, 2048);
	}
	attr.effort = 100000000;
	KUNIT_ASSERT_EQ(test, slabdev_pack(b, n, &attr, &total), 0);
	KUNIT_EXPECT_EQ_MSG(test, slabdev_pack_check(b, n, &checked), 0,
			    "%s", slabdev_last_error());
	KUNIT_EXPECT_EQ(test, checked, total);
	KUNIT_ASSERT_EQ(test, slabdev_pack_bound(b, n, &bound), 0);
	kunit_info(test, "%llu bytes for a bound of %llu",
		   (unsigned long long)total, (unsigned long long)bound);
	KUNIT_EXPECT_GE(test, total, bound);
	KUNIT_EXPECT_LE(test, total, 2 * bound);
}

static void many_blocks(struct kunit *test)
{
	expect_many(test, 50000);
}

static void a_million_blocks_long(struct kunit *test)
{
	expect_many(test, IS_SANITIZED ? 200000 : 1000000);
}

/* All at once: as many pairs as there can be, and nothing to search. */
static void all_at_once(struct kunit *test)
{
	const u32 n = 20000;
	block *b = kunit_kzalloc(test, n * sizeof(*b));
	u64 total, sum = 0;
	u32 i;

	for (i = 0; i < n; i++) {
		b[i] = (block){ .bytes = 256 * (1 + i % 7), .upper = 1 + i };
		sum += b[i].bytes;
	}
	KUNIT_ASSERT_EQ(test, slabdev_pack(b, n, NULL, &total), 0);
	KUNIT_EXPECT_EQ(test, total, sum);
	KUNIT_EXPECT_EQ(test, slabdev_pack_check(b, n, NULL), 0);
}

/* Too many blocks for the search, few enough for lists. */
static void lists_alone(struct kunit *test)
{
	const u32 n = 5000;
	block *b = kunit_kzalloc(test, n * sizeof(*b));
	u64 seed = random_seed(test), total, better;
	u32 i;

	for (i = 0; i < n; i++) {
		b[i].bytes = 256 * random_size(&seed, 4096);
		b[i].lower = i;
		b[i].upper = i + (s64)random_size(&seed, 64);
	}
	total = pack(test, b, n, 1);
	better = pack(test, b, n, 10000000);
	KUNIT_EXPECT_LE(test, better, total);
}

/* ---- Made on purpose ----------------------------------------------------- */

#define MISSES (HOLES_ROUNDS * HOLES_MISSES)

/*
 * Holes by the thousand that are long enough, none of them at a multiple of the
 * alignment, and as many blocks that each look for one. Were all holes tried,
 * this would take half a minute; those that are count as steps.
 */
static void misaligned_holes_are_not_all_tried(struct kunit *test)
{
	struct slabdev_pack_attr attr = SLABDEV_PACK_ATTR_INIT;
	const u32 n = 50000;
	block *b = kunit_kzalloc(test, 2 * n * sizeof(*b));
	u64 total, checked, steps;
	u32 i;

	for (i = 0; i < n; i++) {
		b[i] = (block){ .bytes = 5000, .align = 1,
				.upper = i % 2 ? 1 : 2 * n };
		b[n + i] = (block){ .bytes = 4000, .align = 1 << 30,
				    .lower = i + 2, .upper = i + 3 };
	}
	attr.effort = 1;
	attr.steps = &steps;
	KUNIT_ASSERT_EQ(test, slabdev_pack(b, 2 * n, &attr, &total), 0);
	/* Four sweeps, of 33 looks for each block without a miss. */
	KUNIT_EXPECT_GT(test, steps, 4 * 33 * 2 * n);
	KUNIT_EXPECT_LE(test, steps, 4 * (33 + MISSES) * 2 * n);
	KUNIT_EXPECT_EQ(test, slabdev_pack_check(b, 2 * n, &checked), 0);
	KUNIT_EXPECT_EQ(test, checked, total);
}

/* A byte at each multiple of 1024 but one: that is found before or behind the
 * last miss that there may be. */
static void holes_behind_misses_are_found(struct kunit *test)
{
	enum { N = HOLES_MISSES + 8 };
	struct hole of[N + 1];
	struct holes h;
	u32 i, free, before;

	for (free = 0; free <= N; free++) {
		holes_init(&h, of, N);
		for (i = 0; i < N; i++)
			if (i != free)
				holes_add(&h, i, 1024 * i, 1);
		KUNIT_EXPECT_EQ(test, holes_find(&h, 100, 1023), 1024 * free);
		before = free ? free - 1 : 0;
		KUNIT_EXPECT_EQ(test, h.misses,
				before < HOLES_MISSES ? before : MISSES);
		KUNIT_EXPECT_EQ(test, holes_find(&h, 100, 0), free ? 1 : 0);
	}
}

static int by_number(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

struct checker {
	block *b;
	u32 n;
	int err;
};

static void *check_in_thread(void *arg)
{
	struct checker *me = arg;

	me->err = slabdev_pack_check(me->b, me->n, NULL);
	return NULL;
}

/*
 * Offsets in the order of the priorities that the blocks had elsewhere. Were
 * they the same again, the treap would be a chain, and what goes down on it
 * would not have the stack.
 */
static void a_plan_cannot_make_a_chain(struct kunit *test)
{
	const u32 n = 40000;
	struct hole *of = kunit_kzalloc(test, (n + 1) * sizeof(*of));
	struct checker c = { kunit_kzalloc(test, n * sizeof(*c.b)), n, -1 };
	u64 *order = kunit_kzalloc(test, n * sizeof(*order));
	struct holes h;
	pthread_attr_t attr;
	pthread_t t;
	u32 i;

	holes_init(&h, of, n);
	for (i = 0; i < n; i++) {
		holes_add(&h, i, 256ull * i, 256);
		order[i] = (u64)of[i].priority << 32 | i;
		c.b[i] = (block){ .bytes = 256, .lower = i, .upper = n };
	}
	qsort(order, n, sizeof(*order), by_number);
	for (i = 0; i < n; i++)
		c.b[(u32)order[i]].offset = 256ull * i;
	pthread_attr_init(&attr);
	KUNIT_ASSERT_EQ(test, pthread_attr_setstacksize(&attr, 256 * KIB), 0);
	KUNIT_ASSERT_EQ(test, pthread_create(&t, &attr, check_in_thread, &c),
			0);
	pthread_join(t, NULL);
	pthread_attr_destroy(&attr);
	KUNIT_EXPECT_EQ(test, c.err, 0);
}

/* ---- The same everywhere ------------------------------------------------- */

struct packer {
	pthread_t thread;
	block b[200];
	int err;
};

static void *pack_in_thread(void *arg)
{
	struct slabdev_pack_attr attr = SLABDEV_PACK_ATTR_INIT;
	struct packer *me = arg;
	u64 total;

	attr.effort = 3000000;
	me->err = slabdev_pack(me->b, 200, &attr, &total);
	return NULL;
}

static void threads_make_the_same_plan(struct kunit *test)
{
	struct packer *p = kunit_kzalloc(test, 4 * sizeof(*p));
	u64 seed = random_seed(test);
	u32 i;

	fill_random(p[0].b, 200, &seed, 100);
	for (i = 1; i < 4; i++)
		memcpy(p[i].b, p[0].b, sizeof(p[0].b));
	for (i = 0; i < 4; i++)
		KUNIT_ASSERT_EQ(test, pthread_create(&p[i].thread, NULL,
						     pack_in_thread, &p[i]), 0);
	for (i = 0; i < 4; i++)
		pthread_join(p[i].thread, NULL);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, p[i].err, 0);
		KUNIT_EXPECT_MEMEQ(test, p[i].b, p[0].b, sizeof(p[0].b));
	}
}

/* A plan of 60 blocks that is known: another one would be a plan that depends
 * on the compiler or the machine. */
static void the_plan_is_the_same_on_each_machine(struct kunit *test)
{
	u64 state = 1, mix = 14695981039346656037u;
	block b[60];
	u32 i;

	fill_random(b, 60, &state, 60);
	pack(test, b, 60, 2000000);
	for (i = 0; i < 60; i++)
		mix = (mix ^ b[i].offset) * 1099511628211u;
	KUNIT_EXPECT_EQ(test, mix, 0xe9e875745d1a94e4);
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
