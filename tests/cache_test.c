// SPDX-License-Identifier: BSD-2-Clause
/*
 * cache_test.c - named caches: creation, objects of every size, destruction.
 */
#include <stdio.h>

#include "slab/slab.h"
#include "tests/open_space.h"

#define CACHES_PROMISED 4000u
#define NR_CODES (CODE_CACHE_LAST - CODE_CACHE_FIRST + 1u)

static struct slabdev_cache_stats cache_figures(struct kunit *test,
						struct slabdev_cache *c)
{
	struct slabdev_cache_stats st = { .live = 1 };

	KUNIT_EXPECT_EQ(test, slabdev_cache_stats(c, &st, sizeof(st)), 0);
	KUNIT_EXPECT_EQ(test, st.live, st.allocs - st.frees);
	KUNIT_EXPECT_EQ(test, st.live + st.cached + st.pending,
			st.slabs * st.objects_per_slab);
	KUNIT_EXPECT_LE(test, st.objects_per_slab * st.stride, st.slab_bytes);
	KUNIT_EXPECT_GE(test, st.stride, st.object_size);
	return st;
}

static struct slabdev_cache *create(struct kunit *test, const char *name,
				    size_t size, size_t align)
{
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	struct slabdev_cache *c = NULL;

	args.align = align;
	KUNIT_ASSERT_EQ_MSG(test, slabdev_cache_create(&c, test->priv, name,
						       size, &args), 0, "%s",
			    slabdev_last_error());
	return c;
}

static void destroy(struct kunit *test, struct slabdev_cache *c)
{
	KUNIT_EXPECT_EQ(test, slabdev_cache_validate(c), 0);
	KUNIT_EXPECT_EQ_MSG(test, slabdev_cache_destroy(c), 0, "%s",
			    slabdev_last_error());
}

static void *get(struct kunit *test, struct slabdev_cache *c)
{
	void *p = slabdev_cache_alloc(c);

	KUNIT_ASSERT_NOT_NULL_MSG(test, p, "%s", slabdev_last_error());
	return p;
}

static void put(struct kunit *test, struct slabdev_cache *c, void *p)
{
	KUNIT_EXPECT_EQ_MSG(test, slabdev_cache_free(c, p), 0, "%s",
			    slabdev_last_error());
}

/* ---- Creation --------------------------------------------------------- */

static int try_create(struct kunit *test, const char *name, size_t size,
		      const struct slabdev_cache_args *args)
{
	struct slabdev_cache *untouched = (void *)test, *c = untouched;
	int err = slabdev_cache_create(&c, test->priv, name, size, args);

	if (err) {
		KUNIT_EXPECT_PTR_EQ(test, c, untouched);
		KUNIT_EXPECT_TRUE(test, strlen(slabdev_last_error()) > 0);
		return err;
	}
	destroy(test, c);
	return 0;
}

static void names(struct kunit *test)
{
	const char *longest = "0123456789012345678901234567890";

	KUNIT_EXPECT_EQ(test, try_create(test, "a", 8, NULL), 0);
	KUNIT_EXPECT_EQ(test, strlen(longest), SLABDEV_NAME_MAX);
	KUNIT_EXPECT_EQ(test, try_create(test, longest, 8, NULL), 0);
	KUNIT_EXPECT_EQ(test, try_create(test, "!#~[\"%s\\", 8, NULL), 0);
	KUNIT_EXPECT_EQ(test, try_create(test, NULL, 8, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, try_create(test, "", 8, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, try_create(test,
					 "01234567890123456789012345678901", 8,
					 NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, try_create(test, "a b", 8, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, try_create(test, "a\tb", 8, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, try_create(test, "a\x7f", 8, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, try_create(test, "gr\xc3\xbc", 8, NULL), -EINVAL);
}

static void name_is_copied_and_unique(struct kunit *test)
{
	struct slabdev *sd = test->priv, *other = open_space(test, GIB);
	struct slabdev_cache *c, *d;
	char name[] = "block";

	c = create(test, name, 100, 0);
	name[0] = 'c';
	KUNIT_EXPECT_STREQ(test, cache_figures(test, c).name, "block");
	KUNIT_EXPECT_EQ(test, try_create(test, "block", 8, NULL), -EEXIST);
	KUNIT_EXPECT_EQ(test, try_create(test, "bloc", 8, NULL), 0);
	/* Another space has names of its own. */
	KUNIT_EXPECT_EQ(test, slabdev_cache_create(&d, other, "block", 8,
						   NULL), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(d), 0);
	destroy(test, c);
	KUNIT_EXPECT_EQ(test, try_create(test, "block", 8, NULL), 0);
	KUNIT_EXPECT_EQ(test, figures(test, sd).caches, 0);
	close_space(test, other);
}

static void sizes_and_arguments(struct kunit *test)
{
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	struct slabdev_cache *c = NULL;

	KUNIT_EXPECT_EQ(test, try_create(test, "a", 0, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, try_create(test, "a", 64 * MIB, NULL), 0);
	KUNIT_EXPECT_EQ(test, try_create(test, "a", 64 * MIB + 1, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, try_create(test, "a", SIZE_MAX, NULL), -EINVAL);
	args.align = 3;
	KUNIT_EXPECT_EQ(test, try_create(test, "a", 8, &args), -EINVAL);
	args.align = 2 * MIB;
	KUNIT_EXPECT_EQ(test, try_create(test, "a", 8, &args), -EINVAL);
	args.align = 0;
	args.flags = 0x80000000u;
	KUNIT_EXPECT_EQ(test, try_create(test, "a", 8, &args), -EINVAL);
	args.flags = 0;
	args.reserved = 1;
	KUNIT_EXPECT_EQ(test, try_create(test, "a", 8, &args), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_cache_create(NULL, test->priv, "a", 8,
						   NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_cache_create(&c, NULL, "a", 8, NULL),
			-EINVAL);
}

/* What slabinfo shows: it follows from the size where nobody asked for one. */
static void alignment_is_natural(struct kunit *test)
{
	static const struct {
		u32 size, align, is;
	} t[] = {
		{ 8, 0, 16 }, { 24, 0, 16 }, { 32, 0, 32 }, { 96, 0, 32 },
		{ 128, 0, 128 }, { 200, 0, 16 }, { 200, 8, 16 }, { 96, 16, 16 },
		{ 300, 0, 256 }, { 4096, 0, 256 }, { 4096, 4096, 4096 },
	};

	for (u32 i = 0; i < ARRAY_SIZE(t); i++) {
		struct slabdev_cache *c = create(test, "a", t[i].size,
						 t[i].align);

		KUNIT_EXPECT_EQ_MSG(test, cache_class(c)->rec->align, t[i].is,
				    "%u bytes", t[i].size);
		destroy(test, c);
	}
}

static void other_versions_of_the_arguments(struct kunit *test)
{
	struct {
		struct slabdev_cache_args args;
		u64 unknown;
	} newer = { .args = SLABDEV_CACHE_ARGS_INIT };

	newer.args.size = sizeof(newer);
	KUNIT_EXPECT_EQ(test, try_create(test, "a", 8, &newer.args), 0);
	newer.unknown = 1;
	KUNIT_EXPECT_EQ(test, try_create(test, "a", 8, &newer.args), -E2BIG);
	newer.args.size = 0;
	KUNIT_EXPECT_EQ(test, try_create(test, "a", 8, &newer.args), -EINVAL);
}

/* ---- Objects ---------------------------------------------------------- */

/* Twice as many objects as a slab has: aligned, apart, and all usable. */
static void fill_cache(struct kunit *test, struct slabdev_cache *c,
		       size_t size, size_t align, u32 most)
{
	struct slabdev_cache_stats st = cache_figures(test, c);
	u32 i, n = min((u32)st.objects_per_slab * 2 + 1, most);
	void **p = kunit_kzalloc(test, n * sizeof(*p));

	KUNIT_EXPECT_EQ(test, st.stride % align, 0);
	for (i = 0; i < n; i++) {
		p[i] = get(test, c);
		KUNIT_ASSERT_EQ(test, (uintptr_t)p[i] % align, 0);
		mem_fill(test->priv, p[i], size, (int)(i % 251));
	}
	KUNIT_EXPECT_EQ(test, cache_figures(test, c).live, n);
	KUNIT_EXPECT_EQ(test, figures(test, test->priv).live, n * size);
	for (i = 0; i < n; i++) {
		KUNIT_ASSERT_TRUE(test, mem_is(test->priv, p[i], size,
					       (int)(i % 251)));
		put(test, c, p[i]);
	}
}

/* At 16 bytes or the alignment; 0: the largest power that divides the size. */
static void tiny_objects_of_every_size(struct kunit *test)
{
	for (size_t size = 1; size < 256; size++) {
		struct slabdev_cache *c = create(test, "tiny", size, 0);
		size_t align = min(max(size & -size, (size_t)16),
				   (size_t)256);

		KUNIT_ASSERT_EQ_MSG(test, cache_figures(test, c).stride,
				    align_up(size, align), "size %zu", size);
		fill_cache(test, c, size, align, 300);
		destroy(test, c);
	}
}

static void tiny_objects_of_every_alignment(struct kunit *test)
{
	const size_t sizes[] = { 1, 16, 17, 24, 48, 65, 100, 129, 240, 255 };

	for (size_t align = 1; align <= MIB; align *= 2)
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			struct slabdev_cache *c = create(test, "tiny",
							 sizes[i], align);

			fill_cache(test, c, sizes[i], align, 40);
			destroy(test, c);
		}
}

static void larger_objects_at_multiples_of_256(struct kunit *test)
{
	for (size_t size = 256; size <= 8 * MIB; size += size / 3 + 1) {
		struct slabdev_cache *c = create(test, "larger", size, 0);

		KUNIT_EXPECT_EQ(test, cache_figures(test, c).stride,
				align_up(size, (size_t)256));
		fill_cache(test, c, size, 256, size < MIB ? 150 : 5);
		destroy(test, c);
	}
}

static void objects_of_64_mib(struct kunit *test)
{
	struct slabdev_cache *c = create(test, "largest", 64 * MIB, 0);
	void *p = get(test, c), *q = get(test, c);

	mem_fill(test->priv, p, 64 * MIB, 1);
	KUNIT_EXPECT_GE(test, max((char *)p, (char *)q) -
			      min((char *)p, (char *)q), (s64)(64 * MIB));
	put(test, c, p);
	put(test, c, q);
	destroy(test, c);
	c = create(test, "aligned", 33 * MIB + 1, MIB);
	fill_cache(test, c, 33 * MIB + 1, MIB, 2);
	destroy(test, c);
}

static void free_goes_either_way(struct kunit *test)
{
	const size_t sizes[] = { 20, 100, 256, 5000, 2 * MIB };
	struct slabdev *sd = test->priv;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct slabdev_cache *c = create(test, "c", sizes[i], 0);
		void *p = get(test, c);

		KUNIT_EXPECT_EQ(test, slabdev_usable_size(sd, p),
				cache_figures(test, c).stride);
		KUNIT_EXPECT_EQ(test, slabdev_free(sd, p), 0);
		KUNIT_EXPECT_EQ(test, slabdev_usable_size(sd, p), 0);
		KUNIT_EXPECT_EQ(test, cache_figures(test, c).live, 0);
		put(test, c, get(test, c));
		destroy(test, c);
	}
}

/* ---- Limits ----------------------------------------------------------- */

/* As many have a code of their own, and with it the fast paths. */
static void thirty_nine_caches_have_a_code(struct kunit *test)
{
	struct slabdev_cache *c[NR_CODES + 1];
	char name[16];
	u32 i;

	for (i = 0; i <= NR_CODES; i++) {
		snprintf(name, sizeof(name), "cache-%u", i);
		c[i] = create(test, name, 300, 0);
		KUNIT_EXPECT_EQ(test, cache_class(c[i])->code <=
				CODE_DIRECT_LAST, i < NR_CODES);
	}
	for (i = 0; i <= NR_CODES; i++)
		destroy(test, c[i]);
}

static void check_many(struct kunit *test, size_t size)
{
	struct slabdev_cache **c = kunit_kzalloc(test, CACHES_PROMISED *
						 sizeof(*c));
	void **p = kunit_kzalloc(test, CACHES_PROMISED * sizeof(void *));
	char name[16];
	u32 i;

	for (i = 0; i < CACHES_PROMISED; i++) {
		snprintf(name, sizeof(name), "cache-%u", i);
		c[i] = create(test, name, size, 0);
		p[i] = i % 100 ? NULL : get(test, c[i]);
	}
	KUNIT_EXPECT_EQ(test, figures(test, test->priv).caches,
			CACHES_PROMISED);
	KUNIT_EXPECT_EQ(test, figures(test, test->priv).live, 40 * size);
	KUNIT_EXPECT_EQ(test, slabdev_validate(test->priv), 0);
	for (i = 0; i < CACHES_PROMISED; i++) {
		put(test, c[i], p[i]);
		KUNIT_ASSERT_EQ(test, slabdev_cache_destroy(c[i]), 0);
	}
}

static void four_thousand_caches(struct kunit *test)
{
	check_many(test, 300);
}

static void four_thousand_tiny_caches(struct kunit *test)
{
	check_many(test, 30);
}

static void too_many_caches_are_refused(struct kunit *test)
{
	struct slabdev_cache *c[5000];
	char name[16];
	u32 n;
	int err;

	for (n = 0; n < 5000; n++) {
		snprintf(name, sizeof(name), "cache-%u", n);
		err = slabdev_cache_create(&c[n], test->priv, name, 64, NULL);
		if (err)
			break;
	}
	KUNIT_EXPECT_EQ(test, err, -ENOSPC);
	KUNIT_EXPECT_GE(test, n, CACHES_PROMISED);
	/* No number is any other record's. */
	KUNIT_EXPECT_EQ(test, n, NR_CODES + CLASS_MAX - CLASS_WINDOW);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(c[--n]), 0);
	KUNIT_EXPECT_EQ(test, try_create(test, "again", 64, NULL), 0);
	while (n--)
		KUNIT_ASSERT_EQ(test, slabdev_cache_destroy(c[n]), 0);
}

/* ---- The end ---------------------------------------------------------- */

static u32 count_in_report(struct kunit *test, const char *words)
{
	const char *at = kunit_report_text(test);
	u32 n = 0;

	while ((at = strstr(at, words))) {
		at += strlen(words);
		n++;
	}
	return n;
}

/* Up to 20, and only those of the cache. */
static void live_objects_are_listed_to_the_last(struct kunit *test)
{
	struct slabdev_cache *c = create(test, "block", 700, 0);
	void *large = must_alloc(test, test->priv, 3 * MIB), *p[21];

	for (u32 i = 0; i < 20; i++)
		p[i] = get(test, c);
	kunit_expect_report(test, REPORT_LIVE_OBJECTS);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(c), -EBUSY);
	KUNIT_EXPECT_REPORT_HAS(test, "20 objects are live");
	KUNIT_EXPECT_NULL(test, strstr(kunit_report_text(test), "more"));
	KUNIT_EXPECT_NULL(test, strstr(kunit_report_text(test), "large"));
	p[20] = get(test, c);
	kunit_expect_report(test, REPORT_LIVE_OBJECTS);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(c), -EBUSY);
	KUNIT_EXPECT_REPORT_HAS(test, "and 1 more");
	KUNIT_EXPECT_EQ(test, count_in_report(test, "size=700 block"), 20);
	for (u32 i = 0; i < 21; i++)
		put(test, c, p[i]);
	EXPECT_FREED(test, test->priv, large);
	destroy(test, c);
}

static void destroy_with_live_objects(struct kunit *test)
{
	struct slabdev_cache *c = create(test, "block", 700, 0);
	void *p = get(test, c), *q = get(test, c);
	char address[32];

	kunit_expect_report(test, REPORT_LIVE_OBJECTS);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(c), -EBUSY);
	snprintf(address, sizeof(address), "%p size=700", p);
	KUNIT_EXPECT_REPORT_HAS(test, address);
	snprintf(address, sizeof(address), "%p size=700", q);
	KUNIT_EXPECT_REPORT_HAS(test, address);
	KUNIT_EXPECT_REPORT_HAS(test, "2 objects are live");
	KUNIT_EXPECT_REPORT_HAS(test, "destroying a cache block");
	/* It stays usable. */
	put(test, c, q);
	q = get(test, c);
	put(test, c, q);
	put(test, c, p);
	destroy(test, c);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(NULL), 0);
}

static void live_tiny_objects_are_listed(struct kunit *test)
{
	struct slabdev_cache *c = create(test, "tiny", 24, 0);
	void *p[30];

	for (u32 i = 0; i < 30; i++)
		p[i] = get(test, c);
	kunit_expect_report(test, REPORT_LIVE_OBJECTS);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(c), -EBUSY);
	KUNIT_EXPECT_REPORT_HAS(test, "size=24 tiny");
	KUNIT_EXPECT_REPORT_HAS(test, "and 10 more");
	for (u32 i = 0; i < 30; i++)
		put(test, c, p[i]);
	destroy(test, c);
}

static void numbers_are_reused_from_zero(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	u64 mapped = 0, host = 0;

	for (u32 i = 0; i < 300; i++) {
		struct slabdev_cache *c = create(test, "again",
						 40 + i % 50 * 16, 0);
		struct slabdev_cache_stats st = cache_figures(test, c);

		KUNIT_ASSERT_EQ(test, st.allocs + st.frees + st.refills +
				      st.flushes + st.failed + st.slabs, 0);
		put(test, c, get(test, c));
		KUNIT_ASSERT_EQ(test, cache_figures(test, c).allocs, 1);
		destroy(test, c);
		if (i == 50) {
			mapped = figures(test, sd).mapped;
			host = figures(test, sd).host_bytes;
		}
	}
	KUNIT_EXPECT_EQ(test, figures(test, sd).mapped, mapped);
	KUNIT_EXPECT_EQ(test, figures(test, sd).host_bytes, host);
	KUNIT_EXPECT_EQ(test, figures(test, sd).allocs, 300);
}

static void shrink_gives_the_slabs_back(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *c = create(test, "c", 1000, 0);
	void *p[500], *keep = get(test, c);
	struct slabdev_cache_stats st;

	for (u32 i = 0; i < 500; i++)
		p[i] = get(test, c);
	for (u32 i = 0; i < 500; i++)
		put(test, c, p[i]);
	KUNIT_EXPECT_EQ(test, slabdev_cache_shrink(c), 0);
	st = cache_figures(test, c);
	KUNIT_EXPECT_EQ(test, st.slabs, 1);
	KUNIT_EXPECT_EQ(test, st.live, 1);
	/* Retained: what a slab leaves goes to the space, which keeps it. */
	KUNIT_EXPECT_EQ(test, figures(test, sd).retained,
			figures(test, sd).mapped - st.slab_bytes);
	put(test, c, keep);
	KUNIT_EXPECT_EQ(test, slabdev_cache_shrink(c), 0);
	KUNIT_EXPECT_EQ(test, cache_figures(test, c).slabs, 0);
	destroy(test, c);
	KUNIT_EXPECT_EQ(test, slabdev_cache_shrink(NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_cache_validate(NULL), -EINVAL);
}

static void stats_fill_what_both_know(struct kunit *test)
{
	struct slabdev_cache *c = create(test, "c", 1000, 0);
	struct {
		struct slabdev_cache_stats st;
		u64 more;
	} newer = { .more = 5 };
	char name[40] = "untouched";

	KUNIT_EXPECT_EQ(test, slabdev_cache_stats(c, (void *)name, 3), 0);
	KUNIT_EXPECT_MEMEQ(test, name, "c\0\0ouched", 9);
	KUNIT_EXPECT_EQ(test, slabdev_cache_stats(c, &newer.st, sizeof(newer)),
			0);
	KUNIT_EXPECT_EQ(test, newer.st.object_size, 1000);
	KUNIT_EXPECT_EQ(test, newer.st.stride, 1024);
	KUNIT_EXPECT_EQ(test, newer.more, 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_stats(c, NULL, 8), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_cache_stats(c, &newer.st, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_cache_stats(NULL, &newer.st, 8),
			-EINVAL);
	destroy(test, c);
}

static void sheaf_bytes_bound_a_sheaf(struct kunit *test)
{
	for (size_t bytes = 1; bytes <= 256 * KIB; bytes *= 4) {
		struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
		struct slabdev_cache *c = NULL;
		u64 n;

		args.sheaf_bytes = bytes;
		KUNIT_ASSERT_EQ(test, slabdev_cache_create(&c, test->priv, "c",
							   1000, &args), 0);
		n = cache_figures(test, c).sheaf_objects;
		KUNIT_EXPECT_TRUE(test, n == 1 || n * 1024 <= bytes);
		fill_cache(test, c, 1000, 256, 200);
		destroy(test, c);
	}
}

static void close_wants_empty_caches_only(struct kunit *test)
{
	struct slabdev *sd = open_space(test, GIB);
	struct slabdev_cache *c = NULL;
	void *p;

	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&c, sd, "c", 100, NULL), 0);
	p = get(test, c);
	kunit_expect_report(test, REPORT_LIVE_OBJECTS);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), -EBUSY);
	put(test, c, p);
	/* The cache goes with its space. */
	close_space(test, sd);
}

static const struct kunit_case cache_cases[] = {
	KUNIT_CASE(names),
	KUNIT_CASE(name_is_copied_and_unique),
	KUNIT_CASE(sizes_and_arguments),
	KUNIT_CASE(alignment_is_natural),
	KUNIT_CASE(other_versions_of_the_arguments),
	KUNIT_CASE(tiny_objects_of_every_size),
	KUNIT_CASE(tiny_objects_of_every_alignment),
	KUNIT_CASE(larger_objects_at_multiples_of_256),
	KUNIT_CASE(objects_of_64_mib),
	KUNIT_CASE(free_goes_either_way),
	KUNIT_CASE(thirty_nine_caches_have_a_code),
	KUNIT_CASE(four_thousand_caches),
	KUNIT_CASE(four_thousand_tiny_caches),
	KUNIT_CASE(too_many_caches_are_refused),
	KUNIT_CASE(destroy_with_live_objects),
	KUNIT_CASE(live_objects_are_listed_to_the_last),
	KUNIT_CASE(live_tiny_objects_are_listed),
	KUNIT_CASE(numbers_are_reused_from_zero),
	KUNIT_CASE(shrink_gives_the_slabs_back),
	KUNIT_CASE(stats_fill_what_both_know),
	KUNIT_CASE(sheaf_bytes_bound_a_sheaf),
	KUNIT_CASE(close_wants_empty_caches_only),
	{}
};

static const struct kunit_suite cache_suite = {
	.name = "cache",
	.init = open_space_init,
	.exit = open_space_exit,
	.cases = cache_cases,
	.any_space = true,
};
kunit_test_suite(cache_suite);
