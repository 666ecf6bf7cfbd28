// SPDX-License-Identifier: BSD-2-Clause
/*
 * badfree_test.c - every kind of pointer that cannot be freed.
 *
 * Each is refused with the right errno, reported exactly once with the right
 * kind and words, and changes not one figure of the space.
 */
#include "slab/layout.h"
#include "slab/tags.h"
#include "tests/open_space.h"

/* What a refusal must look like. */
struct refusal {
	int err;
	enum report_kind kind;
	const char *headline;
	const char *detail;
};

static const struct refusal already_free = {
	-EALREADY, REPORT_DOUBLE_FREE, "Object already free", "is a free object"
};
static const struct refusal gone = {
	-EALREADY, REPORT_DOUBLE_FREE, "Object already free", "was an object of"
};
static const struct refusal inside = {
	-EINVAL, REPORT_INVALID_POINTER, "inside an object", "bytes inside a"
};
static const struct refusal foreign = {
	-EINVAL, REPORT_INVALID_POINTER, "not of this space", "is no address of"
};
static const struct refusal no_object = {
	-EINVAL, REPORT_INVALID_POINTER, "no object there",
	"where there is no object"
};
static const struct refusal in_tail = {
	-EINVAL, REPORT_INVALID_POINTER, "no object there", "unused tail"
};
static const struct refusal other_cache = {
	-EINVAL, REPORT_WRONG_CACHE, "different cache", "is a live object"
};
static const struct refusal free_elsewhere = {
	-EINVAL, REPORT_INVALID_POINTER, "no object there", "is a free object"
};

/* Through the cache, or, with NULL, through the space. */
static void refused(struct kunit *test, struct slabdev *sd,
		    struct slabdev_cache *cache, void *p,
		    const struct refusal *want)
{
	struct slabdev_stats before = figures(test, sd);
	unsigned int n = kunit_report_count(test, want->kind);
	int err;

	kunit_expect_report(test, want->kind);
	err = cache ? slabdev_cache_free(cache, p) : slabdev_free(sd, p);
	KUNIT_EXPECT_EQ_MSG(test, err, want->err, "%p: %s", p,
			    slabdev_last_error());
	KUNIT_EXPECT_EQ(test, kunit_report_count(test, want->kind), n + 1);
	KUNIT_EXPECT_REPORT_HAS(test, want->headline);
	KUNIT_EXPECT_REPORT_HAS(test, want->detail);
	KUNIT_EXPECT_REPORT_HAS(test, "nothing was changed");
	KUNIT_EXPECT_TRUE_MSG(test, strstr(slabdev_last_error(), want->detail),
			      "%s", slabdev_last_error());
	EXPECT_ONLY_FAILURES(test, sd, before, 0);
}

static struct slabdev_cache *new_cache(struct kunit *test, const char *name,
				       size_t size)
{
	struct slabdev_cache *cache = NULL;

	KUNIT_ASSERT_EQ_MSG(test, slabdev_cache_create(&cache, test->priv, name,
						       size, NULL), 0, "%s",
			    slabdev_last_error());
	return cache;
}

static void *new_object(struct kunit *test, struct slabdev_cache *cache)
{
	void *p = slabdev_cache_alloc(cache);

	KUNIT_ASSERT_NOT_NULL_MSG(test, p, "%s", slabdev_last_error());
	return p;
}

static void end_cache(struct kunit *test, struct slabdev_cache *cache)
{
	KUNIT_EXPECT_EQ_MSG(test, slabdev_cache_destroy(cache), 0, "%s",
			    slabdev_last_error());
}

/* ---- Twice ------------------------------------------------------------ */

static void second_free_of_every_class(struct kunit *test)
{
	struct slabdev *sd = test->priv;

	for (u32 i = 1; i <= NR_GENERAL; i++) {
		void *p = must_alloc(test, sd, layout_class_size[i] - 1);

		EXPECT_FREED(test, sd, p);
		refused(test, sd, NULL, p, &already_free);
		refused(test, sd, NULL, p, &already_free);
	}
}

static void second_free_of_large_objects(struct kunit *test)
{
	const size_t sizes[] = { MIB + 1, 3 * MIB, 64 * MIB, 64 * MIB + 1 };
	struct slabdev *sd = test->priv;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		void *p = must_alloc(test, sd, sizes[i]);

		EXPECT_FREED(test, sd, p);
		refused(test, sd, NULL, p, &gone);
		KUNIT_EXPECT_REPORT_HAS(test, "object of large");
		KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
		refused(test, sd, NULL, p,
			is_address_of(sd, p) ? &gone : &foreign);
	}
}

/* Where slabs of several slices were before, whose descriptors lead back. */
static void second_free_of_large_objects_after_slabs(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	u32 i, n = 2000;
	void **p = kunit_kzalloc(test, n * sizeof(*p));

	for (i = 0; i < n; i++)
		p[i] = must_alloc(test, sd, 12000);
	for (i = 0; i < n; i++)
		EXPECT_FREED(test, sd, p[i]);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, GIB), 0);
	for (i = 0; i < 20; i++)
		p[i] = must_alloc(test, sd, 1100000);
	for (i = 0; i < 20; i++)
		EXPECT_FREED(test, sd, p[i]);
	for (i = 0; i < 20; i++)
		refused(test, sd, NULL, p[i], &gone);
}

static void second_free_of_cache_objects(struct kunit *test)
{
	const size_t sizes[] = { 1, 48, 192, 255, 256, 1000, 5 * MIB };
	struct slabdev *sd = test->priv;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct slabdev_cache *cache = new_cache(test, "c", sizes[i]);
		void *p = new_object(test, cache);

		/* The slab stays as long as another object is live. */
		void *other = new_object(test, cache);

		KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p), 0);
		refused(test, sd, NULL, p, &already_free);
		refused(test, sd, cache, p, &already_free);
		KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, other), 0);
		end_cache(test, cache);
	}
}

/* A pool handed one address out twice after a double release. */
static void second_free_does_not_double_the_object(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p = must_alloc(test, sd, 1024), *a, *b;

	EXPECT_FREED(test, sd, p);
	refused(test, sd, NULL, p, &already_free);
	a = must_alloc(test, sd, 1024);
	b = must_alloc(test, sd, 1024);
	KUNIT_EXPECT_PTR_NE(test, a, b);
	EXPECT_FREED(test, sd, a);
	EXPECT_FREED(test, sd, b);
}

/* ---- Inside ----------------------------------------------------------- */

static void inside_of(struct kunit *test, struct slabdev *sd, char *p,
		      size_t usable)
{
	const size_t offsets[] = {
		1, 8, 16, 128, 255, 256, 257, 512, 4096, SLICE_SIZE,
		SLICE_SIZE + 1, MIB, 2 * MIB, 2 * MIB + 256,
	};

	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++)
		if (offsets[i] < usable)
			refused(test, sd, NULL, p + offsets[i], &inside);
	refused(test, sd, NULL, p + usable - 1, &inside);
	if (usable > GRANULE)
		refused(test, sd, NULL, p + usable - GRANULE, &inside);
}

static void inside_live_and_free_objects(struct kunit *test)
{
	const size_t sizes[] = { 1, 256, 500, 2048, 2049, 10000, 100000, MIB };
	struct slabdev *sd = test->priv;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		void *p = must_alloc(test, sd, sizes[i]);
		size_t usable = slabdev_usable_size(sd, p);

		inside_of(test, sd, p, usable);
		KUNIT_EXPECT_REPORT_HAS(test, "inside a live");
		EXPECT_FREED(test, sd, p);
		inside_of(test, sd, p, usable);
		KUNIT_EXPECT_REPORT_HAS(test, "inside a free");
	}
}

static void inside_large_objects(struct kunit *test)
{
	const size_t sizes[] = { MIB + 1, 5 * MIB, 64 * MIB, 65 * MIB + 1 };
	struct slabdev *sd = test->priv;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		void *p = must_alloc(test, sd, sizes[i]);

		inside_of(test, sd, p, slabdev_usable_size(sd, p));
		EXPECT_FREED(test, sd, p);
	}
}

static void inside_tiny_objects(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *cache = new_cache(test, "tiny", 48);
	char *p = new_object(test, cache);

	for (size_t i = 1; i < 48; i++) {
		refused(test, sd, NULL, p + i, &inside);
		refused(test, sd, cache, p + i, &inside);
	}
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p), 0);
	end_cache(test, cache);
}

static void inside_aligned_objects(struct kunit *test)
{
	struct slabdev *sd = test->priv;

	for (size_t align = 512; align <= 4 * MIB; align *= 2) {
		void *p = slabdev_alloc_aligned(sd, 100, align);

		inside_of(test, sd, p, slabdev_usable_size(sd, p));
		EXPECT_FREED(test, sd, p);
	}
}

/* ---- Elsewhere -------------------------------------------------------- */

static void memory_of_the_program(struct kunit *test)
{
	static char in_data[512];
	char on_stack[512], *on_heap = malloc(512);
	struct slabdev *sd = test->priv;

	refused(test, sd, NULL, in_data, &foreign);
	refused(test, sd, NULL, on_stack, &foreign);
	refused(test, sd, NULL, on_heap, &foreign);
	refused(test, sd, NULL, sd, &foreign);
	refused(test, sd, NULL, (void *)(uintptr_t)1, &foreign);
	refused(test, sd, NULL, (void *)(uintptr_t)4096, &foreign);
	refused(test, sd, NULL, (void *)UINTPTR_MAX, &foreign);
	refused(test, sd, NULL, (void *)(UINTPTR_MAX - 255), &foreign);
	free(on_heap);
}

static void null_is_fine(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *cache = new_cache(test, "c", 100);
	struct slabdev_stats before = figures(test, sd);

	KUNIT_EXPECT_EQ(test, slabdev_free(sd, NULL), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free(NULL, NULL), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, NULL), 0);
	EXPECT_ONLY_FAILURES(test, sd, before, 0);
	KUNIT_EXPECT_EQ(test, slabdev_free(NULL, &cache), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(NULL, &cache), -EINVAL);
	end_cache(test, cache);
}

static void object_of_another_space(struct kunit *test)
{
	const size_t sizes[] = { 100, 5000, 3 * MIB, 65 * MIB };
	struct slabdev *sd = test->priv, *other = open_space(test, GIB);
	struct slabdev_cache *cache = new_cache(test, "c", 100);

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		void *p = must_alloc(test, other, sizes[i]);

		refused(test, sd, NULL, p, &foreign);
		refused(test, sd, cache, p, &foreign);
		EXPECT_FREED(test, other, p);
	}
	end_cache(test, cache);
	close_space(test, other);
}

static void addresses_outside_the_reservation(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	char *p = must_alloc(test, sd, 100);
	uintptr_t reserved = figures(test, sd).reserved;

	refused(test, sd, NULL, (void *)((uintptr_t)p + reserved), &foreign);
	refused(test, sd, NULL, (void *)((uintptr_t)p - reserved), &foreign);
	EXPECT_FREED(test, sd, p);
}

static void addresses_that_were_never_mapped(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	char *p = must_alloc(test, sd, 100);
	uintptr_t half = figures(test, sd).reserved / 2;

	refused(test, sd, NULL, p + half, &no_object);
	refused(test, sd, NULL, p + half + 1, &no_object);
	/* A free slice of a mapped chunk. */
	refused(test, sd, NULL, p + MIB, &no_object);
	refused(test, sd, NULL, p + MIB + 77, &no_object);
	EXPECT_FREED(test, sd, p);
}

static void tail_of_a_slab(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *cache = new_cache(test, "c768", 768);
	char *p = new_object(test, cache);
	char *slab = p - (uintptr_t)p % SLICE_SIZE;

	refused(test, sd, NULL, slab + SLICE_SIZE / 768 * 768, &in_tail);
	refused(test, sd, NULL, slab + SLICE_SIZE - 1, &in_tail);
	refused(test, sd, cache, slab + SLICE_SIZE - 256, &in_tail);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p), 0);
	end_cache(test, cache);
}

static void memory_that_was_given_back(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	char *p = must_alloc(test, sd, 3000);

	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, figures(test, sd).mapped, 0);
	refused(test, sd, NULL, p, &gone);
	refused(test, sd, NULL, p + 256, &no_object);
	refused(test, sd, NULL, p + 1, &no_object);
}

/* ---- The wrong cache -------------------------------------------------- */

static void objects_of_other_caches(struct kunit *test)
{
	const size_t sizes[] = { 16, 100, 256, 512, 5 * MIB };
	struct slabdev *sd = test->priv;
	struct slabdev_cache *a, *b;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		void *p;

		a = new_cache(test, "cache-a", sizes[i]);
		b = new_cache(test, "cache-b", sizes[i]);
		p = new_object(test, a);
		refused(test, sd, b, p, &other_cache);
		KUNIT_EXPECT_REPORT_HAS(test, "cache-a");
		KUNIT_EXPECT_REPORT_HAS(test, "to cache cache-b");
		KUNIT_EXPECT_EQ(test, slabdev_cache_free(a, p), 0);
		refused(test, sd, b, p, &free_elsewhere);
		end_cache(test, a);
		end_cache(test, b);
	}
}

static void general_objects_to_a_cache(struct kunit *test)
{
	const size_t sizes[] = { 100, 256, 5000, 3 * MIB, 65 * MIB };
	struct slabdev *sd = test->priv;
	struct slabdev_cache *cache = new_cache(test, "c", 256);

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		void *p = must_alloc(test, sd, sizes[i]);

		refused(test, sd, cache, p, &other_cache);
		EXPECT_FREED(test, sd, p);
	}
	end_cache(test, cache);
}

/* More caches than there are codes in tags. */
static void caches_that_share_a_code(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *cache[45];
	void *p[45];
	char name[16];

	for (u32 i = 0; i < 45; i++) {
		snprintf(name, sizeof(name), "cache-%u", i);
		cache[i] = new_cache(test, name, 512);
		p[i] = new_object(test, cache[i]);
	}
	for (u32 i = 0; i < 45; i++)
		refused(test, sd, cache[(i + 1) % 45], p[i], &other_cache);
	for (u32 i = 0; i < 45; i++) {
		KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache[i], p[i]), 0);
		refused(test, sd, cache[i], p[i], &already_free);
		end_cache(test, cache[i]);
	}
}

/* ---- Without sheaves, with other policies ----------------------------- */

static void *free_all_of(struct kunit *test, struct slabdev *sd,
			 struct slabdev_cache *cache, size_t size)
{
	void *p[100];

	for (u32 i = 0; i < 100; i++) {
		p[i] = cache ? slabdev_cache_alloc(cache) :
			       slabdev_alloc(sd, size);
		KUNIT_ASSERT_NOT_NULL(test, p[i]);
	}
	for (u32 i = 0; i < 100; i++)
		EXPECT_FREED(test, sd, p[i]);
	return p[99];
}

/* A region that went back takes what was known of its addresses along. */
static int twice(struct kunit *test, struct slabdev *sd, void *p)
{
	bool ours = is_address_of(sd, p);

	kunit_expect_report(test, ours ? REPORT_DOUBLE_FREE :
					 REPORT_INVALID_POINTER);
	return ours ? -EALREADY : -EINVAL;
}

/* Whether the slab is there or not, a second free is told from nonsense. */
static void second_free_whatever_the_policy(struct kunit *test)
{
	const size_t sizes[] = { 40, 256, 3000, 40000, MIB, 3 * MIB };
	struct slabdev *sd = test->priv;
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;

	policy.mode = SLABDEV_AGGRESSIVE;
	KUNIT_ASSERT_EQ(test, slabdev_set_policy(sd, &policy), 0);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct slabdev_cache *cache = new_cache(test, "c", sizes[i]);
		void *p = free_all_of(test, sd, cache, 0);
		int err = twice(test, sd, p);

		KUNIT_EXPECT_EQ(test, slabdev_free(sd, p), err);
		err = twice(test, sd, p);
		KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p), err);
		KUNIT_EXPECT_EQ(test, slabdev_cache_shrink(cache), 0);
		refused(test, sd, cache, p,
			is_address_of(sd, p) ? &gone : &foreign);
		p = free_all_of(test, sd, NULL, sizes[i]);
		err = twice(test, sd, p);
		KUNIT_EXPECT_EQ(test, slabdev_free(sd, p), err);
		err = twice(test, sd, p);
		KUNIT_EXPECT_ERRNO(test, slabdev_realloc(sd, p, 1), -err);
		end_cache(test, cache);
	}
}

static void second_free_without_sheaves(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd = NULL;
	void *p, *other;

	attr.limit = GIB;
	attr.flags = SLABDEV_OPEN_NO_SHEAVES;
	KUNIT_ASSERT_EQ(test, slabdev_open(&sd, test_spec(), &attr), 0);
	p = must_alloc(test, sd, 3000);
	other = must_alloc(test, sd, 3000);
	EXPECT_FREED(test, sd, p);
	refused(test, sd, NULL, p, &already_free);
	inside_of(test, sd, other, slabdev_usable_size(sd, other));
	EXPECT_FREED(test, sd, other);
	close_space(test, sd);
}

static const struct kunit_case badfree_cases[] = {
	KUNIT_CASE(second_free_of_every_class),
	KUNIT_CASE(second_free_of_large_objects),
	KUNIT_CASE(second_free_of_large_objects_after_slabs),
	KUNIT_CASE(second_free_of_cache_objects),
	KUNIT_CASE(second_free_does_not_double_the_object),
	KUNIT_CASE(inside_live_and_free_objects),
	KUNIT_CASE(inside_large_objects),
	KUNIT_CASE(inside_tiny_objects),
	KUNIT_CASE(inside_aligned_objects),
	KUNIT_CASE(memory_of_the_program),
	KUNIT_CASE(null_is_fine),
	KUNIT_CASE(object_of_another_space),
	KUNIT_CASE(addresses_outside_the_reservation),
	KUNIT_CASE(addresses_that_were_never_mapped),
	KUNIT_CASE(tail_of_a_slab),
	KUNIT_CASE(memory_that_was_given_back),
	KUNIT_CASE(objects_of_other_caches),
	KUNIT_CASE(general_objects_to_a_cache),
	KUNIT_CASE(caches_that_share_a_code),
	KUNIT_CASE(second_free_whatever_the_policy),
	KUNIT_CASE(second_free_without_sheaves),
	{}
};

static const struct kunit_suite badfree_suite = {
	.name = "badfree",
	.init = open_space_init,
	.exit = open_space_exit,
	.cases = badfree_cases,
	.any_space = true,
};
kunit_test_suite(badfree_suite);
