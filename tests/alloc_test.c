// SPDX-License-Identifier: BSD-2-Clause
/*
 * alloc_test.c - general allocations: every size, alignment, flag and mistake.
 */
#include "slab/layout.h"
#include "tests/open_space.h"

static bool is_at(const void *p, size_t align)
{
	return (uintptr_t)p % align == 0;
}

/* ---- Sizes ------------------------------------------------------------ */

static void check_size(struct kunit *test, size_t size)
{
	struct slabdev *sd = test->priv;
	size_t up = slabdev_size_roundup(sd, size);
	void *p = must_alloc(test, sd, size);

	KUNIT_EXPECT_TRUE(test, is_at(p, SLABDEV_ALIGN));
	KUNIT_EXPECT_GE(test, up, size);
	KUNIT_EXPECT_EQ(test, slabdev_usable_size(sd, p), up);
	KUNIT_EXPECT_EQ(test, figures(test, sd).live, size);
	KUNIT_EXPECT_EQ(test, figures(test, sd).rounding, up - size);
	mem_fill(sd, p, up, 0x5c);
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_EQ(test, slabdev_usable_size(sd, p), 0);
}

static void sizes_at_every_class_edge(struct kunit *test)
{
	for (u32 i = 1; i <= NR_GENERAL; i++)
		for (int d = -1; d <= 1; d++)
			check_size(test, (size_t)((int)layout_class_size[i] +
						  d));
}

static void sizes_of_a_few_bytes(struct kunit *test)
{
	for (size_t size = 1; size <= 64; size++)
		check_size(test, size);
}

static void sizes_of_large_objects(struct kunit *test)
{
	const size_t sizes[] = {
		MIB + 1, MIB + SLICE_SIZE, 2 * MIB - 1, 2 * MIB, 2 * MIB + 1,
		3 * MIB + 5, 64 * MIB - 1, 64 * MIB, 64 * MIB + 1, 66 * MIB,
		200 * MIB + 7,
	};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		check_size(test, sizes[i]);
}

/* At most one slice above 1 MiB. */
static void large_objects_waste_less_than_a_slice(struct kunit *test)
{
	struct slabdev *sd = test->priv;

	for (size_t size = MIB + 1; size < 300 * MIB; size += size / 3) {
		size_t up = slabdev_size_roundup(sd, size);

		KUNIT_EXPECT_GE(test, up, size);
		KUNIT_EXPECT_LT(test, up - size, 64 * KIB);
	}
}

static void roundup_agrees_with_the_classes(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	u32 wrong = 0;

	for (size_t size = 1; size <= GENERAL_MAX; size++)
		wrong += slabdev_size_roundup(sd, size) !=
			 layout_class_size[layout_class(size)];
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

static void size_zero_is_null_without_error(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_stats before = figures(test, sd);

	errno = EIO;
	KUNIT_EXPECT_NULL(test, slabdev_alloc(sd, 0));
	KUNIT_EXPECT_EQ(test, errno, 0);
	errno = EIO;
	KUNIT_EXPECT_NULL(test, slabdev_alloc_ex(sd, 0, NULL));
	KUNIT_EXPECT_EQ(test, errno, 0);
	errno = EIO;
	KUNIT_EXPECT_NULL(test, slabdev_zalloc(sd, 0));
	KUNIT_EXPECT_EQ(test, errno, 0);
	errno = EIO;
	KUNIT_EXPECT_NULL(test, slabdev_alloc_array(sd, 0, 8));
	KUNIT_EXPECT_EQ(test, errno, 0);
	errno = EIO;
	KUNIT_EXPECT_NULL(test, slabdev_alloc_array(sd, 8, 0));
	KUNIT_EXPECT_EQ(test, errno, 0);
	KUNIT_EXPECT_EQ(test, slabdev_size_roundup(sd, 0), 0);
	EXPECT_ONLY_FAILURES(test, sd, before, 0);
}

static void sizes_that_cannot_be_rounded_overflow(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_stats before;

	EXPECT_FREED(test, sd, must_alloc(test, sd, 1));
	before = figures(test, sd);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc(sd, SIZE_MAX), EOVERFLOW);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc(sd, SIZE_MAX - 1), EOVERFLOW);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_ex(sd, SIZE_MAX, NULL),
			   EOVERFLOW);
	KUNIT_EXPECT_TRUE(test, strlen(slabdev_last_error()) > 0);
	KUNIT_EXPECT_EQ(test, slabdev_size_roundup(sd, SIZE_MAX), 0);
	EXPECT_ONLY_FAILURES(test, sd, before, 3);
}

static void sizes_beyond_all_addresses_fail(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_stats before;
	void *p;

	EXPECT_FREED(test, sd, must_alloc(test, sd, 1));
	before = figures(test, sd);
	for (size_t size = (size_t)1 << 63; size > 8 * TIB; size /= 2) {
		p = slabdev_alloc(sd, size);
		KUNIT_EXPECT_NULL(test, p);
		KUNIT_EXPECT_TRUE(test, errno == ENOMEM || errno == EDQUOT);
		before.failed++;
	}
	EXPECT_ONLY_FAILURES(test, sd, before, 0);
}

static void beyond_the_limit_is_edquot(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_req quiet = SLABDEV_REQ_INIT;

	quiet.flags = SLABDEV_REQ_NO_REPORT;
	kunit_expect_report(test, REPORT_OUT_OF_MEMORY);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc(sd, GIB + 1), EDQUOT);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_ex(sd, GIB + 1, &quiet),
			   EDQUOT);
	KUNIT_EXPECT_EQ(test, figures(test, sd).failed, 2);
	if (!has_regions(sd))
		EXPECT_FREED(test, sd, must_alloc(test, sd, GIB));
}

static void array_multiplies_with_a_check(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p = slabdev_alloc_array(sd, 1000, 4);
	struct slabdev_stats before;

	KUNIT_EXPECT_EQ(test, figures(test, sd).live, 4000);
	EXPECT_FREED(test, sd, p);
	before = figures(test, sd);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_array(sd, SIZE_MAX, 2),
			   EOVERFLOW);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_array(sd, 2, SIZE_MAX),
			   EOVERFLOW);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_array(sd, (size_t)1 << 32,
						     (size_t)1 << 32),
			   EOVERFLOW);
	EXPECT_ONLY_FAILURES(test, sd, before, 3);
}

static void no_space_is_einval(struct kunit *test)
{
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc(NULL, 1), EINVAL);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc(NULL, 0), EINVAL);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc(NULL, 5 * MIB), EINVAL);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_ex(NULL, 1, NULL), EINVAL);
	KUNIT_EXPECT_ERRNO(test, slabdev_zalloc(NULL, 1), EINVAL);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_array(NULL, 1, 1), EINVAL);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_aligned(NULL, 1, 256), EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_usable_size(NULL, test), 0);
	KUNIT_EXPECT_EQ(test, slabdev_size_roundup(NULL, 1), 0);
}

/* ---- Alignment -------------------------------------------------------- */

static void check_align(struct kunit *test, size_t size, size_t align)
{
	struct slabdev *sd = test->priv;
	void *p = slabdev_alloc_aligned(sd, size, align);
	struct slabdev_stats st;

	KUNIT_ASSERT_NOT_NULL_MSG(test, p, "%zu bytes at %zu: %s", size, align,
				  slabdev_last_error());
	KUNIT_EXPECT_TRUE_MSG(test, is_at(p, align), "%p at %zu", p, align);
	KUNIT_EXPECT_TRUE(test, is_at(p, SLABDEV_ALIGN));
	KUNIT_EXPECT_GE(test, slabdev_usable_size(sd, p), size);
	st = figures(test, sd);
	KUNIT_EXPECT_EQ_MSG(test, st.live, size, "%zu bytes at %zu", size,
			    align);
	KUNIT_EXPECT_EQ(test, st.rounding, slabdev_usable_size(sd, p) - size);
	mem_fill(sd, p, size, 0x5c);
	EXPECT_FREED(test, sd, p);
	st = figures(test, sd);
	KUNIT_ASSERT_EQ_MSG(test, st.live, 0, "%zu bytes at %zu", size, align);
}

static void alignments_up_to_two_chunks(struct kunit *test)
{
	const size_t sizes[] = {
		1, 100, 255, 256, 257, 600, 1024, 1025, 2048, 2049, 10000,
		65536, 65537, MIB, MIB + 1, 5 * MIB,
	};

	for (size_t align = 1; align <= 4 * MIB; align *= 2)
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
			check_align(test, sizes[i], align);
}

static void alignments_of_huge_objects(struct kunit *test)
{
	for (size_t align = 256; align <= 64 * MIB; align *= 8)
		check_align(test, 65 * MIB + 1, align);
}

static void alignment_of_one_gib(struct kunit *test)
{
	struct slabdev *sd = open_space(test, 4 * GIB);
	void *p = slabdev_alloc_aligned(sd, 1000, GIB);
	void *q = slabdev_alloc_aligned(sd, 3 * MIB, GIB);

	KUNIT_ASSERT_NOT_NULL_MSG(test, p, "%s", slabdev_last_error());
	KUNIT_ASSERT_NOT_NULL_MSG(test, q, "%s", slabdev_last_error());
	KUNIT_EXPECT_TRUE(test, is_at(p, GIB) && is_at(q, GIB));
	KUNIT_EXPECT_PTR_NE(test, p, q);
	EXPECT_FREED(test, sd, q);
	EXPECT_FREED(test, sd, p);
	close_space(test, sd);
}

/* Aligned neighbours have their bytes for themselves. */
static void aligned_objects_do_not_overlap(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p[64];

	for (u32 i = 0; i < 64; i++) {
		p[i] = slabdev_alloc_aligned(sd, 300 + i, (size_t)256 <<
					     i % 8);
		KUNIT_ASSERT_NOT_NULL(test, p[i]);
		mem_fill(sd, p[i], slabdev_usable_size(sd, p[i]), (int)i);
	}
	for (u32 i = 0; i < 64; i++) {
		KUNIT_EXPECT_TRUE(test, mem_is(sd, p[i], 300 + i, (int)i));
		EXPECT_FREED(test, sd, p[i]);
	}
}

static void bad_alignments_are_refused(struct kunit *test)
{
	const size_t bad[] = { 3, 255, 257, 768, GIB + 1, 2 * GIB, SIZE_MAX };
	struct slabdev *sd = test->priv;
	struct slabdev_stats before = figures(test, sd);

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_ERRNO(test,
				   slabdev_alloc_aligned(sd, 100, bad[i]),
				   EINVAL);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_aligned(sd, 100, 0), EINVAL);
	KUNIT_EXPECT_EQ(test, figures(test, sd).live_objects, 0);
	KUNIT_EXPECT_EQ(test, figures(test, sd).mapped, before.mapped);
}

/* ---- Requests --------------------------------------------------------- */

static void zeroed_memory_is_zero(struct kunit *test)
{
	const size_t sizes[] = { 1, 256, 3000, MIB, 3 * MIB + 1, 65 * MIB };
	struct slabdev *sd = test->priv;
	void *p;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		p = must_alloc(test, sd, sizes[i]);
		mem_fill(sd, p, sizes[i], 0xff);
		EXPECT_FREED(test, sd, p);
		p = slabdev_zalloc(sd, sizes[i]);
		KUNIT_ASSERT_NOT_NULL(test, p);
		KUNIT_EXPECT_TRUE_MSG(test, mem_is(sd, p, sizes[i], 0),
				      "%zu bytes", sizes[i]);
		EXPECT_FREED(test, sd, p);
	}
}

static void no_grow_uses_only_what_is_mapped(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct slabdev_stats st;
	void *p;

	req.flags = SLABDEV_REQ_NO_GROW;
	st = figures(test, sd);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_ex(sd, 1000, &req), ENOMEM);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_ex(sd, 2 * MIB, &req), ENOMEM);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_ex(sd, 65 * MIB, &req), ENOMEM);
	KUNIT_EXPECT_EQ(test, figures(test, sd).backend_calls,
			st.backend_calls);
	KUNIT_EXPECT_EQ(test, figures(test, sd).mapped, 0);
	EXPECT_FREED(test, sd, must_alloc(test, sd, 8 * MIB));
	st = figures(test, sd);
	p = slabdev_alloc_ex(sd, 1000, &req);
	KUNIT_EXPECT_NOT_NULL(test, p);
	EXPECT_FREED(test, sd, p);
	p = slabdev_alloc_ex(sd, 3 * MIB, &req);
	KUNIT_EXPECT_NOT_NULL(test, p);
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_EQ(test, figures(test, sd).backend_calls,
			st.backend_calls);
}

static void bad_requests_are_refused(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_req req = SLABDEV_REQ_INIT;

	req.flags = 0x80;
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_ex(sd, 8, &req), EINVAL);
	req.flags = 0;
	req.reserved = 1;
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_ex(sd, 8, &req), EINVAL);
	req.reserved = 0;
	if (on_host()) {
		/* Of other memory nobody could tell. */
		req.stream = (slabdev_stream_t)(uintptr_t)0x1000;
		KUNIT_EXPECT_ERRNO(test, slabdev_alloc_ex(sd, 8, &req), EINVAL);
		KUNIT_EXPECT_TRUE(test, strstr(slabdev_last_error(), "stream"));
		req.stream = NULL;
	}
	req.size = 0;
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_ex(sd, 8, &req), EINVAL);
	req.size = 4;
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_ex(sd, 8, &req), EINVAL);
	KUNIT_EXPECT_EQ(test, figures(test, sd).allocs, 0);
}

static void other_versions_of_the_request(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct {
		struct slabdev_req req;
		u64 unknown[2];
	} newer = { .req = SLABDEV_REQ_INIT };
	struct slabdev_req older = SLABDEV_REQ_INIT;
	void *p;

	newer.req.size = sizeof(newer);
	p = slabdev_alloc_ex(sd, 8, &newer.req);
	KUNIT_EXPECT_NOT_NULL(test, p);
	EXPECT_FREED(test, sd, p);
	newer.unknown[1] = 1;
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_ex(sd, 8, &newer.req), E2BIG);
	/* What it does not have is not looked at. */
	older.size = offsetof(struct slabdev_req, stream);
	older.align = 4096;
	older.flags = 0xffff;
	p = slabdev_alloc_ex(sd, 8, &older);
	KUNIT_EXPECT_NOT_NULL(test, p);
	KUNIT_EXPECT_TRUE(test, is_at(p, 4096));
	EXPECT_FREED(test, sd, p);
}

static void tag_and_defaults_are_accepted(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_req req = SLABDEV_REQ_INIT;
	void *p;

	req.tag = 0x1234;
	p = slabdev_alloc_ex(sd, 500, &req);
	KUNIT_EXPECT_EQ(test, slabdev_usable_size(sd, p), 512);
	EXPECT_FREED(test, sd, p);
	p = slabdev_alloc_ex(sd, 500, NULL);
	KUNIT_EXPECT_EQ(test, slabdev_usable_size(sd, p), 512);
	EXPECT_FREED(test, sd, p);
}

/* ---- Memory ----------------------------------------------------------- */

/* The pool of the first source document: one buffer, reused each time. */
static void freed_object_is_the_next_one(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *first = must_alloc(test, sd, 1024), *p;

	EXPECT_FREED(test, sd, first);
	for (u32 i = 0; i < 3; i++) {
		p = must_alloc(test, sd, 1024);
		KUNIT_EXPECT_PTR_EQ(test, p, first);
		EXPECT_FREED(test, sd, p);
	}
	KUNIT_EXPECT_EQ(test, figures(test, sd).refills, 1);
}

static void large_object_crosses_chunks(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *a = must_alloc(test, sd, MIB + MIB / 2);
	void *b = must_alloc(test, sd, 3 * MIB);

	mem_fill(sd, a, MIB + MIB / 2, 1);
	mem_fill(sd, b, 3 * MIB, 2);
	KUNIT_EXPECT_TRUE(test, mem_is(sd, a, MIB + MIB / 2, 1));
	/* 4.5 MiB in 3 chunks, not in 4. */
	KUNIT_EXPECT_LE(test, figures(test, sd).mapped, 8 * MIB);
	EXPECT_FREED(test, sd, a);
	EXPECT_FREED(test, sd, b);
}

static const struct kunit_case alloc_cases[] = {
	KUNIT_CASE(sizes_at_every_class_edge),
	KUNIT_CASE(sizes_of_a_few_bytes),
	KUNIT_CASE(sizes_of_large_objects),
	KUNIT_CASE(large_objects_waste_less_than_a_slice),
	KUNIT_CASE(roundup_agrees_with_the_classes),
	KUNIT_CASE(size_zero_is_null_without_error),
	KUNIT_CASE(sizes_that_cannot_be_rounded_overflow),
	KUNIT_CASE(sizes_beyond_all_addresses_fail),
	KUNIT_CASE(beyond_the_limit_is_edquot),
	KUNIT_CASE(array_multiplies_with_a_check),
	KUNIT_CASE(no_space_is_einval),
	KUNIT_CASE(alignments_up_to_two_chunks),
	KUNIT_CASE(alignments_of_huge_objects),
	KUNIT_CASE(alignment_of_one_gib),
	KUNIT_CASE(aligned_objects_do_not_overlap),
	KUNIT_CASE(bad_alignments_are_refused),
	KUNIT_CASE(zeroed_memory_is_zero),
	KUNIT_CASE(no_grow_uses_only_what_is_mapped),
	KUNIT_CASE(bad_requests_are_refused),
	KUNIT_CASE(other_versions_of_the_request),
	KUNIT_CASE(tag_and_defaults_are_accepted),
	KUNIT_CASE(freed_object_is_the_next_one),
	KUNIT_CASE(large_object_crosses_chunks),
	{}
};

static const struct kunit_suite alloc_suite = {
	.name = "alloc",
	.init = open_space_init,
	.exit = open_space_exit,
	.cases = alloc_cases,
	.any_space = true,
};
kunit_test_suite(alloc_suite);
