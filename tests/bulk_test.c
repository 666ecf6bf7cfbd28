// SPDX-License-Identifier: BSD-2-Clause
/*
 * bulk_test.c - many objects in one call, objects in advance, constructors.
 */
#include "slab/layout.h"
#include "tests/open_space.h"

#define NR 5000u

static struct slabdev_cache *create(struct kunit *test, struct slabdev *sd,
				    size_t size,
				    const struct slabdev_cache_args *args)
{
	struct slabdev_cache *c = NULL;

	KUNIT_ASSERT_EQ_MSG(test, slabdev_cache_create(&c, sd, "bulk", size,
						       args), 0, "%s",
			    slabdev_last_error());
	return c;
}

static void destroy(struct kunit *test, struct slabdev_cache *c)
{
	KUNIT_EXPECT_EQ_MSG(test, slabdev_cache_destroy(c), 0, "%s",
			    slabdev_last_error());
}

static struct slabdev_cache_stats cache_figures(struct kunit *test,
						struct slabdev_cache *c)
{
	struct slabdev_cache_stats st = { .live = 1 };

	KUNIT_EXPECT_EQ(test, slabdev_cache_stats(c, &st, sizeof(st)), 0);
	return st;
}

static int by_address(const void *a, const void *b)
{
	uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;

	return x < y ? -1 : x > y;
}

static void expect_apart(struct kunit *test, void **p, size_t n, size_t size)
{
	u32 wrong = 0;

	qsort(p, n, sizeof(*p), by_address);
	for (size_t i = 1; i < n; i++)
		wrong += (uintptr_t)p[i] - (uintptr_t)p[i - 1] < size;
	KUNIT_EXPECT_EQ(test, wrong, 0);
}

/* ---- Bulk ------------------------------------------------------------- */

static void bulk_gives_distinct_objects(struct kunit *test)
{
	const size_t sizes[] = { 20, 250, 256, 1000, 20000 };
	const size_t counts[] = { 1, 2, 63, 64, 65, 129, 1000 };
	struct slabdev *sd = test->priv;
	void *p[1000];

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct slabdev_cache *c = create(test, sd, sizes[i], NULL);

		for (size_t k = 0; k < ARRAY_SIZE(counts); k++) {
			size_t n = counts[k];

			KUNIT_ASSERT_EQ(test, slabdev_cache_alloc_bulk(c, n, p),
					0);
			expect_apart(test, p, n, sizes[i]);
			KUNIT_EXPECT_EQ(test, figures(test, sd).live,
					n * sizes[i]);
			KUNIT_EXPECT_EQ(test,
					slabdev_cache_free_bulk(c, n, p), 0);
		}
		KUNIT_EXPECT_EQ(test, slabdev_cache_validate(c), 0);
		destroy(test, c);
	}
}

static void bulk_of_nothing(struct kunit *test)
{
	struct slabdev_cache *c = create(test, test->priv, 100, NULL);
	void *p[1] = { NULL };

	KUNIT_EXPECT_EQ(test, slabdev_cache_alloc_bulk(c, 0, NULL), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free_bulk(c, 0, NULL), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free_bulk(c, 1, p), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_alloc_bulk(c, 1, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free_bulk(c, 1, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_cache_alloc_bulk(NULL, 1, p), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free_bulk(NULL, 1, p), -EINVAL);
	destroy(test, c);
}

/* All or nothing: what was found on the way is free again. */
static void bulk_fails_as_a_whole(struct kunit *test)
{
	struct slabdev *sd = open_space(test, 4 * MIB);
	struct slabdev_cache *c = create(test, sd, 4096, NULL);
	void *p[1025], *q[1024];
	struct slabdev_stats st;

	for (u32 i = 0; i < 1025; i++)
		p[i] = &p[i];
	kunit_expect_report(test, REPORT_OUT_OF_MEMORY);
	KUNIT_EXPECT_EQ(test, slabdev_cache_alloc_bulk(c, 1025, p), -EDQUOT);
	for (u32 i = 0; i < 1025; i++)
		KUNIT_ASSERT_NULL(test, p[i]);
	st = figures(test, sd);
	KUNIT_EXPECT_EQ(test, st.live_objects + st.allocs + st.frees, 0);
	KUNIT_EXPECT_EQ(test, st.alloc_bytes + st.free_bytes, 0);
	KUNIT_EXPECT_EQ(test, st.failed, 1);
	KUNIT_EXPECT_EQ(test, cache_figures(test, c).failed, 1);
	/* One less is exactly what there is. */
	KUNIT_EXPECT_EQ(test, slabdev_cache_alloc_bulk(c, 1024, q), 0);
	KUNIT_EXPECT_EQ(test, figures(test, sd).live, 4 * MIB);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free_bulk(c, 1024, q), 0);
	destroy(test, c);
	close_space(test, sd);
}

static void free_bulk_reports_the_bad_ones(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *c = create(test, sd, 500, NULL);
	void *p[6];

	KUNIT_ASSERT_EQ(test, slabdev_cache_alloc_bulk(c, 3, p), 0);
	p[3] = p[1];
	p[4] = NULL;
	p[5] = p[2];
	p[2] = (char *)p[2] + 256;
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	kunit_expect_report(test, REPORT_DOUBLE_FREE);
	/* The first error is that of p[2]. */
	KUNIT_EXPECT_EQ(test, slabdev_cache_free_bulk(c, 6, p), -EINVAL);
	KUNIT_EXPECT_EQ(test, figures(test, sd).live_objects, 0);
	KUNIT_EXPECT_EQ(test, figures(test, sd).frees, 3);
	destroy(test, c);
}

/* ---- Prefill ---------------------------------------------------------- */

static void check_prefill(struct kunit *test, size_t size, u32 n)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *c = create(test, sd, size, NULL);
	void **p = kunit_kmalloc(test, n * sizeof(*p));
	void *before = slabdev_cache_alloc(c);
	u64 calls;

	KUNIT_ASSERT_NOT_NULL(test, before);
	KUNIT_ASSERT_EQ(test, slabdev_cache_prefill(c, n), 0);
	KUNIT_EXPECT_GE(test, cache_figures(test, c).cached, n);
	KUNIT_EXPECT_EQ(test, cache_figures(test, c).allocs, 1);
	calls = figures(test, sd).backend_calls;
	for (u32 i = 0; i < n; i++) {
		p[i] = slabdev_cache_alloc(c);
		KUNIT_ASSERT_NOT_NULL(test, p[i]);
	}
	KUNIT_EXPECT_EQ(test, figures(test, sd).backend_calls, calls);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free_bulk(c, n, p), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(c, before), 0);
	destroy(test, c);
}

static void prefilled_objects_need_no_growth(struct kunit *test)
{
	check_prefill(test, 30, NR);
	check_prefill(test, 256, 3);
	check_prefill(test, 700, NR);
	check_prefill(test, 50000, 200);
	check_prefill(test, 3 * MIB, 10);
}

/* More than one chunk, so that slabs have to be mapped while some exist. */
static void prefill_grows_over_many_chunks(struct kunit *test)
{
	check_prefill(test, 256, 5 * 8192);
}

static void prefill_twice_adds_nothing(struct kunit *test)
{
	struct slabdev_cache *c = create(test, test->priv, 300, NULL);
	struct slabdev_cache_stats st;

	KUNIT_EXPECT_EQ(test, slabdev_cache_prefill(c, 0), 0);
	KUNIT_EXPECT_EQ(test, cache_figures(test, c).slabs, 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_prefill(c, 1000), 0);
	st = cache_figures(test, c);
	KUNIT_EXPECT_LT(test, st.cached, 1000 + st.objects_per_slab);
	KUNIT_EXPECT_EQ(test, slabdev_cache_prefill(c, 1000), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_prefill(c, 10), 0);
	KUNIT_EXPECT_EQ(test, cache_figures(test, c).slabs, st.slabs);
	KUNIT_EXPECT_EQ(test, slabdev_cache_prefill(NULL, 1), -EINVAL);
	destroy(test, c);
}

static void prefill_beyond_the_limit_fails(struct kunit *test)
{
	struct slabdev *sd = open_space(test, 4 * MIB);
	struct slabdev_cache *c = create(test, sd, 4096, NULL);
	void *p = must_alloc(test, sd, 4096);

	/* More than could ever be: refused at once. */
	KUNIT_EXPECT_EQ(test, slabdev_cache_prefill(c, 1025), -EDQUOT);
	KUNIT_EXPECT_EQ(test, slabdev_cache_prefill(c, SIZE_MAX), -EDQUOT);
	KUNIT_EXPECT_EQ(test, figures(test, sd).mapped, 2 * MIB);
	kunit_expect_report(test, REPORT_OUT_OF_MEMORY);
	KUNIT_EXPECT_EQ(test, slabdev_cache_prefill(c, 1024), -EDQUOT);
	KUNIT_EXPECT_REPORT_HAS(test, " in flight                0 ");
	KUNIT_EXPECT_EQ(test, cache_figures(test, c).slabs, 0);
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_EQ(test, slabdev_cache_prefill(c, 1024), 0);
	KUNIT_EXPECT_EQ(test, figures(test, sd).cached, 4 * MIB);
	destroy(test, c);
	close_space(test, sd);
}

/* ---- Constructors ----------------------------------------------------- */

struct built {
	struct slabdev *sd;
	u32 slabs;
	size_t stride;
	size_t count;
	u32 fail_at;	/* calls fail from this one on */
	int err;
	u32 strange;	/* calls with something wrong */
};

/* Writes a mark into each object, and uses the library while at it. */
static int build(void *base, size_t stride, size_t count,
		 slabdev_stream_t stream, void *arg)
{
	struct built *b = arg;
	void *scratch;

	if (++b->slabs >= b->fail_at)
		return b->err;
	b->strange += (on_host() && stream) ||
		      (b->stride && b->stride != stride) ||
		      (b->count && b->count != count);
	b->stride = stride;
	b->count = count;
	scratch = slabdev_alloc(b->sd, 5000);
	b->strange += !scratch || slabdev_free(b->sd, scratch);
	for (size_t i = 0; i < count; i++)
		mem_put(b->sd, (char *)base + i * stride, 0xc0ffee);
	return 0;
}

static void constructor_prepares_each_object_once(struct kunit *test)
{
	const size_t sizes[] = { 20, 256, 768, 30000, 2 * MIB };
	struct slabdev *sd = test->priv;
	void *p[200];

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct built b = { .sd = sd, .fail_at = UINT32_MAX };
		struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
		struct slabdev_cache_stats st;
		struct slabdev_cache *c;

		args.ctor = build;
		args.ctor_arg = &b;
		c = create(test, sd, sizes[i], &args);
		KUNIT_EXPECT_EQ(test, b.slabs, 0);
		for (u32 round = 0; round < 3; round++) {
			KUNIT_ASSERT_EQ(test,
					slabdev_cache_alloc_bulk(c, 200, p), 0);
			for (u32 k = 0; k < 200; k++)
				KUNIT_ASSERT_EQ(test, mem_get(sd, p[k]),
						0xc0ffee);
			KUNIT_ASSERT_EQ(test,
					slabdev_cache_free_bulk(c, 200, p), 0);
		}
		st = cache_figures(test, c);
		KUNIT_EXPECT_EQ(test, b.stride, st.stride);
		KUNIT_EXPECT_EQ(test, b.count, st.objects_per_slab);
		KUNIT_EXPECT_EQ(test, b.strange, 0);
		KUNIT_EXPECT_GE(test, b.slabs, st.slabs);
		destroy(test, c);
	}
}

static void constructor_that_fails(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct built b = { .sd = sd, .fail_at = 1, .err = -EPROTO };
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	struct slabdev_cache *c;
	void *p[1000];

	args.ctor = build;
	args.ctor_arg = &b;
	c = create(test, sd, 4096, &args);
	KUNIT_EXPECT_ERRNO(test, slabdev_cache_alloc(c), EPROTO);
	KUNIT_EXPECT_EQ(test, cache_figures(test, c).slabs, 0);
	b.fail_at = b.slabs + 3;
	KUNIT_EXPECT_EQ(test, slabdev_cache_alloc_bulk(c, 1000, p), -EPROTO);
	KUNIT_EXPECT_EQ(test, cache_figures(test, c).live, 0);
	KUNIT_EXPECT_EQ(test, cache_figures(test, c).failed, 2);
	b.fail_at = b.slabs + 2;
	KUNIT_EXPECT_EQ(test, slabdev_cache_prefill(c, 1000), -EPROTO);
	/* Out of its contract: no success, and no loop. */
	b.err = 1;
	KUNIT_EXPECT_EQ(test, slabdev_cache_prefill(c, 1000), -EINVAL);
	b.fail_at = UINT32_MAX;
	KUNIT_EXPECT_EQ(test, slabdev_cache_alloc_bulk(c, 1000, p), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free_bulk(c, 1000, p), 0);
	destroy(test, c);
	/* Its successor has failed nothing. */
	c = create(test, sd, 4096, &args);
	KUNIT_EXPECT_EQ(test, cache_figures(test, c).failed, 0);
	destroy(test, c);
}

static void constructor_runs_again_after_a_shrink(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct built b = { .sd = sd, .fail_at = UINT32_MAX };
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	struct slabdev_cache *c;
	void *p;

	args.ctor = build;
	args.ctor_arg = &b;
	c = create(test, sd, 4096, &args);
	for (u32 i = 1; i <= 3; i++) {
		p = slabdev_cache_alloc(c);
		KUNIT_ASSERT_NOT_NULL(test, p);
		KUNIT_EXPECT_EQ(test, mem_get(sd, p), 0xc0ffee);
		mem_put(sd, p, 0);
		mem_put(sd, p, 0xc0ffee);
		KUNIT_EXPECT_EQ(test, slabdev_cache_free(c, p), 0);
		KUNIT_EXPECT_EQ(test, slabdev_cache_shrink(c), 0);
	}
	KUNIT_EXPECT_GE(test, b.slabs, 3);
	destroy(test, c);
}

static const struct kunit_case bulk_cases[] = {
	KUNIT_CASE(bulk_gives_distinct_objects),
	KUNIT_CASE(bulk_of_nothing),
	KUNIT_CASE(bulk_fails_as_a_whole),
	KUNIT_CASE(free_bulk_reports_the_bad_ones),
	KUNIT_CASE(prefilled_objects_need_no_growth),
	KUNIT_CASE(prefill_grows_over_many_chunks),
	KUNIT_CASE(prefill_twice_adds_nothing),
	KUNIT_CASE(prefill_beyond_the_limit_fails),
	KUNIT_CASE(constructor_prepares_each_object_once),
	KUNIT_CASE(constructor_that_fails),
	KUNIT_CASE(constructor_runs_again_after_a_shrink),
	{}
};

static const struct kunit_suite bulk_suite = {
	.name = "bulk",
	.init = open_space_init,
	.exit = open_space_exit,
	.cases = bulk_cases,
	.any_space = true,
};
kunit_test_suite(bulk_suite);
