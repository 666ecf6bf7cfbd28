// SPDX-License-Identifier: BSD-2-Clause
/*
 * layout_test.c - size classes and shapes of slabs, all of them.
 *
 * Every size up to 1 MiB and every stride up to 64 MiB is tried; what is
 * expected is computed the slow way.
 */
#include "core/overflow.h"
#include "slab/barn.h"
#include "slab/layout.h"
#include "slab/tags.h"
#include "tests/kunit/kunit.h"

static int layout_suite_init(const struct kunit_suite *suite)
{
	(void)suite;
	layout_init();
	return 0;
}

/* ---- Classes ---------------------------------------------------------- */

static void classes_rise_to_the_largest(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, layout_class_size[1], GRANULE);
	KUNIT_EXPECT_EQ(test, layout_class_size[CLASS_GRANULE], GRANULE);
	KUNIT_EXPECT_EQ(test, layout_class_size[NR_GENERAL], GENERAL_MAX);
	for (u32 i = 2; i <= NR_GENERAL; i++) {
		KUNIT_EXPECT_GT(test, layout_class_size[i],
				layout_class_size[i - 1]);
		KUNIT_EXPECT_EQ(test, layout_class_size[i] % GRANULE, 0);
	}
}

static u32 classes_in(u64 above, u64 upto)
{
	u32 n = 0;

	for (u32 i = 1; i <= NR_GENERAL; i++)
		n += layout_class_size[i] > above &&
		     layout_class_size[i] <= upto;
	return n;
}

static void doublings_have_eight_steps(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, classes_in(0, 2 * KIB), 8);
	for (u64 size = 2 * KIB; size < GENERAL_MAX; size *= 2)
		KUNIT_EXPECT_EQ_MSG(test, classes_in(size, 2 * size), 8,
				    "above %llu", (unsigned long long)size);
}

static void every_size_has_its_smallest_class(struct kunit *test)
{
	u32 smallest = 1, wrong = 0;

	for (size_t size = 1; size <= GENERAL_MAX; size++) {
		if (size > layout_class_size[smallest])
			smallest++;
		wrong += layout_class(size) != smallest;
	}
	KUNIT_EXPECT_EQ(test, smallest, NR_GENERAL);
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

static void waste_is_bounded(struct kunit *test)
{
	u32 wrong = 0;

	for (size_t size = 1; size <= GENERAL_MAX; size++) {
		size_t waste = layout_class_size[layout_class(size)] - size;

		wrong += size <= 2 * KIB ? waste > 255 : waste * 8 > size;
	}
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

static u32 slow_class_aligned(size_t size, size_t align)
{
	for (u32 i = 1; i <= NR_GENERAL; i++)
		if (layout_class_size[i] >= size &&
		    layout_class_size[i] % align == 0)
			return i;
	return 0;
}

static void aligned_classes_are_multiples(struct kunit *test)
{
	u32 wrong = 0;

	for (size_t align = GRANULE; align <= SLICE_SIZE; align *= 2)
		for (size_t size = 1; size <= GENERAL_MAX; size += 127)
			wrong += layout_class_aligned(size, align) !=
				 slow_class_aligned(size, align);
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

/* ---- Shapes ----------------------------------------------------------- */

static bool shape_is_allowed(u64 stride, struct slab_shape s)
{
	u64 bytes = s.span * SLICE_SIZE, used = s.nr * stride;

	return s.nr && s.nr <= SLAB_MAX_OBJECTS && used <= bytes &&
	       (bytes - used) * 16 <= bytes;
}

/* One more would not fit, and no shorter slab would do. */
static bool shape_is_least(u64 stride, struct slab_shape s)
{
	for (u32 span = 1; span < s.span; span++) {
		u64 nr = min(span * SLICE_SIZE / stride,
			     (u64)SLAB_MAX_OBJECTS);

		if (shape_is_allowed(stride, (struct slab_shape){ (u32)nr,
								  span }))
			return false;
	}
	return s.nr == SLAB_MAX_OBJECTS ||
	       (s.nr + 1) * stride > s.span * SLICE_SIZE;
}

static void shapes_of_every_stride(struct kunit *test)
{
	u32 wrong = 0;

	for (u64 stride = GRANULE; stride <= CACHE_OBJECT_MAX;
	     stride += GRANULE)
		wrong += !shape_is_allowed(stride, layout_shape(stride));
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

static void shapes_are_the_shortest(struct kunit *test)
{
	for (u64 stride = GRANULE; stride <= 2 * MIB; stride += 3 * GRANULE)
		KUNIT_ASSERT_TRUE_MSG(test, shape_is_least(stride,
							layout_shape(stride)),
				      "%llu", (unsigned long long)stride);
}

static void tiny_slabs_are_one_slice(struct kunit *test)
{
	for (u32 stride = TINY_MIN; stride < GRANULE; stride += TINY_MIN) {
		struct slab_shape s = layout_tiny_shape(stride);

		KUNIT_EXPECT_EQ(test, s.span, 1);
		KUNIT_EXPECT_EQ(test, s.nr, SLICE_SIZE / stride);
		KUNIT_EXPECT_LE(test, s.nr, TINY_MAX_OBJECTS);
	}
}

/* ---- Sheaves ---------------------------------------------------------- */

static void sheaves_are_bounded_in_bytes(struct kunit *test)
{
	u64 last = SLAB_MAX_OBJECTS;

	for (u64 stride = TINY_MIN; stride <= GENERAL_MAX; stride += TINY_MIN) {
		u64 cap = layout_sheaf_cap(stride, 0);

		KUNIT_ASSERT_GE(test, cap, 1);
		KUNIT_ASSERT_LE(test, cap, last);
		KUNIT_ASSERT_TRUE(test, cap == 1 || cap * stride <= 128 * KIB);
		last = cap;
	}
	KUNIT_EXPECT_EQ(test, layout_sheaf_cap(KIB, 0), 64);
}

static void sheaf_bytes_decide_the_capacity(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, layout_sheaf_cap(256, 2560), 10);
	KUNIT_EXPECT_EQ(test, layout_sheaf_cap(256, 1), 1);
	KUNIT_EXPECT_EQ(test, layout_sheaf_cap(256, 256 * MIB), 64);
	KUNIT_EXPECT_EQ(test, layout_sheaf_cap(1 * MIB, 4 * MIB), 4);
}

/* About 256 KiB of objects, in 1 to 16 full sheaves. */
static void barns_are_bounded_in_bytes(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, barn_limit(256, 64), 16);
	KUNIT_EXPECT_EQ(test, barn_limit(16, 64), 16);
	KUNIT_EXPECT_EQ(test, barn_limit(KIB, 64), 4);
	KUNIT_EXPECT_EQ(test, barn_limit(64 * KIB, 2), 2);
	KUNIT_EXPECT_EQ(test, barn_limit(MIB, 1), 1);
	KUNIT_EXPECT_EQ(test, barn_limit(4 * KIB, 0), 16);
}

static const struct kunit_case layout_cases[] = {
	KUNIT_CASE(classes_rise_to_the_largest),
	KUNIT_CASE(doublings_have_eight_steps),
	KUNIT_CASE(every_size_has_its_smallest_class),
	KUNIT_CASE(waste_is_bounded),
	KUNIT_CASE(aligned_classes_are_multiples),
	KUNIT_CASE(shapes_of_every_stride),
	KUNIT_CASE(shapes_are_the_shortest),
	KUNIT_CASE(tiny_slabs_are_one_slice),
	KUNIT_CASE(sheaves_are_bounded_in_bytes),
	KUNIT_CASE(sheaf_bytes_decide_the_capacity),
	KUNIT_CASE(barns_are_bounded_in_bytes),
	{}
};

static const struct kunit_suite layout_suite = {
	.name = "layout",
	.suite_init = layout_suite_init,
	.cases = layout_cases,
};
kunit_test_suite(layout_suite);
