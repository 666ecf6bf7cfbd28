// SPDX-License-Identifier: BSD-2-Clause
/*
 * realloc_test.c - objects that change their size, in place or not.
 */
#include "slab/layout.h"
#include "tests/open_space.h"

#define PART (64 * KIB)

/* What is to be @at bytes behind the begin of an object. */
static void pattern(unsigned char *c, size_t at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		c[i] = (unsigned char)((at + i) * 7 + (at + i) / 251);
}

static void fill(struct slabdev *sd, void *p, size_t size)
{
	unsigned char part[PART];

	for (size_t at = 0, n; at < size; at += n) {
		n = min(size - at, PART);
		pattern(part, at, n);
		mem_write(sd, (char *)p + at, part, n);
	}
}

static bool is_filled(struct slabdev *sd, const void *p, size_t size)
{
	unsigned char want[PART], part[PART];

	for (size_t at = 0, n; at < size; at += n) {
		n = min(size - at, PART);
		pattern(want, at, n);
		mem_read(sd, part, (const char *)p + at, n);
		if (memcmp(part, want, n))
			return false;
	}
	return true;
}

/* The books are exact while the object lives, and afterwards. */
static void *resize(struct kunit *test, void *p, size_t from, size_t to)
{
	struct slabdev *sd = test->priv;
	void *q;

	fill(sd, p, from);
	q = slabdev_realloc(sd, p, to);
	KUNIT_ASSERT_NOT_NULL_MSG(test, q, "%zu to %zu: %s", from, to,
				  slabdev_last_error());
	KUNIT_EXPECT_TRUE_MSG(test, is_filled(sd, q, min(from, to)),
			      "%zu to %zu", from, to);
	KUNIT_EXPECT_GE(test, slabdev_usable_size(sd, q), to);
	KUNIT_EXPECT_EQ_MSG(test, figures(test, sd).live, to, "%zu to %zu",
			    from, to);
	KUNIT_EXPECT_EQ(test, figures(test, sd).live_objects, 1);
	return q;
}

static void null_is_an_allocation(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p = slabdev_realloc(sd, NULL, 300);

	KUNIT_EXPECT_EQ(test, slabdev_usable_size(sd, p), 512);
	EXPECT_FREED(test, sd, p);
	errno = EIO;
	KUNIT_EXPECT_NULL(test, slabdev_realloc(sd, NULL, 0));
	KUNIT_EXPECT_EQ(test, errno, 0);
	KUNIT_EXPECT_ERRNO(test, slabdev_realloc(NULL, NULL, 1), EINVAL);
}

static void size_zero_frees(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p = must_alloc(test, sd, 300);

	errno = EIO;
	KUNIT_EXPECT_NULL(test, slabdev_realloc(sd, p, 0));
	KUNIT_EXPECT_EQ(test, errno, 0);
	KUNIT_EXPECT_EQ(test, figures(test, sd).live_objects, 0);
}

static void the_same_class_stays_in_place(struct kunit *test)
{
	struct slabdev *sd = test->priv;

	for (u32 i = 1; i <= NR_GENERAL; i++) {
		size_t most = layout_class_size[i];
		size_t least = layout_class_size[i - 1] + 1;
		void *p = must_alloc(test, sd, most);

		KUNIT_EXPECT_PTR_EQ(test, resize(test, p, most, least), p);
		KUNIT_EXPECT_PTR_EQ(test, resize(test, p, least, most), p);
		EXPECT_FREED(test, sd, p);
	}
}

static void other_classes_move(struct kunit *test)
{
	const size_t sizes[] = {
		1, 256, 257, 2048, 2049, 70000, MIB, MIB + 1, 3 * MIB,
		64 * MIB, 64 * MIB + 1, 1000, 65 * MIB, MIB, 100,
	};
	struct slabdev *sd = test->priv;
	void *p = must_alloc(test, sd, 1);
	size_t from = 1;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		p = resize(test, p, from, sizes[i]);
		from = sizes[i];
	}
	EXPECT_FREED(test, sd, p);
}

static void large_objects_stay_within_their_slices(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	size_t size = 3 * MIB + 1, up = slabdev_size_roundup(sd, size);
	void *p = must_alloc(test, sd, size);

	KUNIT_EXPECT_PTR_EQ(test, resize(test, p, size, up), p);
	KUNIT_EXPECT_PTR_EQ(test, resize(test, p, up, size + 5), p);
	EXPECT_FREED(test, sd, p);
	size = 70 * MIB + 1;
	up = slabdev_size_roundup(sd, size);
	p = must_alloc(test, sd, size);
	KUNIT_EXPECT_PTR_EQ(test, resize(test, p, size, up), p);
	EXPECT_FREED(test, sd, p);
}

/* An alignment gives more memory than the size has; growing may use it. */
static void aligned_objects_grow_in_place(struct kunit *test)
{
	struct slabdev *sd = test->priv;

	for (size_t align = 512; align <= MIB; align *= 2) {
		void *p = slabdev_alloc_aligned(sd, 100, align);
		size_t up = slabdev_usable_size(sd, p);

		KUNIT_EXPECT_PTR_EQ(test, resize(test, p, 100, 200), p);
		KUNIT_EXPECT_PTR_EQ(test, resize(test, p, 200, up), p);
		EXPECT_FREED(test, sd, p);
		KUNIT_ASSERT_EQ(test, figures(test, sd).live, 0);
	}
}

/* Whether it stays or moves, nothing of it is lost. */
static void aligned_objects_shrink(struct kunit *test)
{
	struct slabdev *sd = test->priv;

	for (size_t align = 512; align <= MIB; align *= 2)
		for (u32 i = 1; i < NR_GENERAL; i += 3) {
			void *p = slabdev_alloc_aligned(sd, MIB, align);

			p = resize(test, p, MIB, layout_class_size[i] + 1);
			EXPECT_FREED(test, sd, p);
			KUNIT_ASSERT_EQ(test, slabdev_validate(sd), 0);
		}
}

static void failure_leaves_the_object(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p = must_alloc(test, sd, 5000);

	fill(sd, p, 5000);
	KUNIT_EXPECT_ERRNO(test, slabdev_realloc(sd, p, SIZE_MAX), EOVERFLOW);
	kunit_expect_report(test, REPORT_OUT_OF_MEMORY);
	KUNIT_EXPECT_ERRNO(test, slabdev_realloc(sd, p, 2 * GIB), EDQUOT);
	KUNIT_EXPECT_TRUE(test, is_filled(sd, p, 5000));
	KUNIT_EXPECT_EQ(test, figures(test, sd).live, 5000);
	EXPECT_FREED(test, sd, p);
}

static void free_pointers_are_refused(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p = must_alloc(test, sd, 5000);

	EXPECT_FREED(test, sd, p);
	kunit_expect_report(test, REPORT_DOUBLE_FREE);
	KUNIT_EXPECT_ERRNO(test, slabdev_realloc(sd, p, 10), EALREADY);
	kunit_expect_report(test, REPORT_DOUBLE_FREE);
	KUNIT_EXPECT_ERRNO(test, slabdev_realloc(sd, p, 0), EALREADY);
}

static void foreign_and_interior_pointers_are_refused(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	char *p = must_alloc(test, sd, 5000);

	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_ERRNO(test, slabdev_realloc(sd, p + 256, 10), EINVAL);
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_ERRNO(test, slabdev_realloc(sd, &p, 10), EINVAL);
	KUNIT_EXPECT_EQ(test, figures(test, sd).live, 5000);
	EXPECT_FREED(test, sd, p);
}

static void cache_objects_are_refused(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	const size_t sizes[] = { 48, 300, 5 * MIB };
	struct slabdev_cache *cache;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		void *p;

		KUNIT_ASSERT_EQ(test, slabdev_cache_create(&cache, sd, "block",
							   sizes[i], NULL), 0);
		p = slabdev_cache_alloc(cache);
		KUNIT_EXPECT_ERRNO(test, slabdev_realloc(sd, p, 10), EINVAL);
		KUNIT_EXPECT_ERRNO(test, slabdev_realloc(sd, p, 0), EINVAL);
		KUNIT_EXPECT_TRUE(test, strstr(slabdev_last_error(), "block"));
		KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p), 0);
		KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	}
}

static const struct kunit_case realloc_cases[] = {
	KUNIT_CASE(null_is_an_allocation),
	KUNIT_CASE(size_zero_frees),
	KUNIT_CASE(the_same_class_stays_in_place),
	KUNIT_CASE(other_classes_move),
	KUNIT_CASE(large_objects_stay_within_their_slices),
	KUNIT_CASE(aligned_objects_grow_in_place),
	KUNIT_CASE(aligned_objects_shrink),
	KUNIT_CASE(failure_leaves_the_object),
	KUNIT_CASE(free_pointers_are_refused),
	KUNIT_CASE(foreign_and_interior_pointers_are_refused),
	KUNIT_CASE(cache_objects_are_refused),
	{}
};

static const struct kunit_suite realloc_suite = {
	.name = "realloc",
	.init = open_space_init,
	.exit = open_space_exit,
	.cases = realloc_cases,
	.any_space = true,
};
kunit_test_suite(realloc_suite);
