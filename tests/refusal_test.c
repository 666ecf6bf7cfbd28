// SPDX-License-Identifier: BSD-2-Clause
/*
 * refusal_test.c - a failed allocation is counted as that, and as nothing else.
 *
 * Each way to ask is tried in a space that cannot serve it, twice. The first
 * failure may take back sheaves and empty slabs on its way, but counts no
 * allocation, no free, no refill and no flush; the second one finds nothing
 * left to try and changes no figure at all but the number of failures.
 */
#include <stdio.h>

#include "slab/slab.h"
#include "slab/space.h"
#include "tests/open_space.h"
#include "vmm/fault.h"

#define LIMIT (16 * MIB)
#define MANY 200000u

struct refusal {
	struct kunit *test;
	struct slabdev *sd;
	struct slabdev_cache *cache, *coded[39];
	void **p;
	u32 n;
	struct vmm_fault f;
	const struct vmm_ops *ops;
	void *dev;
	int ctor_err;
};

/* ---- Ways to ask ------------------------------------------------------ */

static int ask_small(struct refusal *r)
{
	return slabdev_alloc(r->sd, 300) ? 0 : -errno;
}

static int ask_middle(struct refusal *r)
{
	return slabdev_alloc(r->sd, 300 * KIB) ? 0 : -errno;
}

static int ask_aligned(struct refusal *r)
{
	return slabdev_alloc_aligned(r->sd, 300, 4 * MIB) ? 0 : -errno;
}

static int ask_large(struct refusal *r)
{
	return slabdev_alloc(r->sd, 3 * MIB) ? 0 : -errno;
}

static int ask_huge(struct refusal *r)
{
	return slabdev_alloc(r->sd, 65 * MIB) ? 0 : -errno;
}

static int ask_too_much(struct refusal *r)
{
	return slabdev_alloc(r->sd, SIZE_MAX - 5) ? 0 : -errno;
}

static int ask_array(struct refusal *r)
{
	return slabdev_alloc_array(r->sd, SIZE_MAX / 2, 3) ? 0 : -errno;
}

static int ask_no_grow(struct refusal *r)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;

	req.flags = SLABDEV_REQ_NO_GROW;
	return slabdev_alloc_ex(r->sd, 300, &req) ? 0 : -errno;
}

static int ask_zero(struct refusal *r)
{
	return slabdev_zalloc(r->sd, 300) ? 0 : -errno;
}

static int ask_realloc(struct refusal *r)
{
	return slabdev_realloc(r->sd, r->p[0], 7 * MIB) ? 0 : -errno;
}

static int ask_cache(struct refusal *r)
{
	return slabdev_cache_alloc(r->cache) ? 0 : -errno;
}

static int ask_bulk(struct refusal *r)
{
	void *p[3];

	return slabdev_cache_alloc_bulk(r->cache, ARRAY_SIZE(p), p);
}

/* More than there are, though not more than none. */
static int ask_bulk_of_many(struct refusal *r)
{
	void **p = kunit_kzalloc(r->test, MANY * sizeof(*p));

	return slabdev_cache_alloc_bulk(r->cache, MANY, p);
}

static const struct way {
	const char *name;
	int (*ask)(struct refusal *r);
	int err;		/* 0: -EDQUOT */
	size_t cache;		/* object size; 0: a general allocation */
	bool uncoded;
	bool roomy;		/* the space is not full */
	bool quiet;		/* without a report */
} ways[] = {
	{ .name = "small", .ask = ask_small },
	{ .name = "middle", .ask = ask_middle },
	{ .name = "aligned", .ask = ask_aligned },
	{ .name = "large", .ask = ask_large },
	{ .name = "huge", .ask = ask_huge },
	{ .name = "too much", .ask = ask_too_much, .err = -EOVERFLOW,
	  .quiet = true },
	{ .name = "array", .ask = ask_array, .err = -EOVERFLOW,
	  .quiet = true },
	{ .name = "no grow", .ask = ask_no_grow, .err = -ENOMEM,
	  .quiet = true },
	{ .name = "zeroed", .ask = ask_zero },
	{ .name = "realloc", .ask = ask_realloc },
	{ .name = "cache", .ask = ask_cache, .cache = 3000 },
	{ .name = "uncoded cache", .ask = ask_cache, .cache = 3000,
	  .uncoded = true },
	{ .name = "tiny cache", .ask = ask_cache, .cache = 48 },
	{ .name = "cache without sheaves", .ask = ask_cache,
	  .cache = 3 * MIB },
	{ .name = "bulk", .ask = ask_bulk, .cache = 3000 },
	{ .name = "bulk, tiny", .ask = ask_bulk, .cache = 48 },
	{ .name = "bulk in part", .ask = ask_bulk_of_many, .cache = 3000,
	  .roomy = true },
	{ .name = "bulk in part, uncoded", .ask = ask_bulk_of_many,
	  .cache = 3000, .uncoded = true, .roomy = true },
	{ .name = "bulk in part, tiny", .ask = ask_bulk_of_many, .cache = 240,
	  .roomy = true },
	{ .name = "bulk in part, without sheaves", .ask = ask_bulk_of_many,
	  .cache = 2 * MIB, .roomy = true },
};

static void describe_way(const struct way *w, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", w->name);
}
KUNIT_ARRAY_PARAM(way, ways, describe_way);

/* ---- A space that cannot serve ---------------------------------------- */

static void fill_space(struct refusal *r)
{
	while (r->n < LIMIT / CHUNK)
		r->p[r->n++] = must_alloc(r->test, r->sd, CHUNK);
}

static struct refusal *refusal_open(struct kunit *test, u32 flags, u32 mode)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct refusal *r = kunit_kzalloc(test, sizeof(*r));

	r->test = test;
	r->p = kunit_kzalloc(test, MANY * sizeof(*r->p));
	attr.limit = LIMIT;
	attr.flags = flags;
	attr.policy.mode = mode;
	r->sd = case_space_attr(test, &attr);
	return r;
}

static void make_cache(struct refusal *r, const struct way *w)
{
	char name[20];
	u32 i;

	for (i = 0; w->uncoded && i < ARRAY_SIZE(r->coded); i++) {
		snprintf(name, sizeof(name), "coded-%u", i);
		KUNIT_ASSERT_EQ(r->test, slabdev_cache_create(&r->coded[i],
				r->sd, name, 512, NULL), 0);
	}
	KUNIT_ASSERT_EQ(r->test, slabdev_cache_create(&r->cache, r->sd, "cache",
						      w->cache, NULL), 0);
}

/* ---- What is compared ------------------------------------------------- */

static struct slabdev_cache_stats cache_stats(struct refusal *r)
{
	struct slabdev_cache_stats st = { .live = 0 };

	if (r->cache)
		KUNIT_EXPECT_EQ(r->test, slabdev_cache_stats(r->cache, &st,
							     sizeof(st)), 0);
	return st;
}

static void expect_refused(struct refusal *r, const struct way *w)
{
	if (!w->quiet)
		kunit_expect_report(r->test, REPORT_OUT_OF_MEMORY);
	KUNIT_EXPECT_EQ_MSG(r->test, w->ask(r), w->err ? w->err : -EDQUOT,
			    "%s", slabdev_last_error());
}

/* Counts of operations; where the bytes are may change. */
static void first_failure(struct refusal *r, const struct way *w)
{
	struct slabdev_stats was = figures(r->test, r->sd), now;

	expect_refused(r, w);
	now = figures(r->test, r->sd);
	KUNIT_EXPECT_EQ(r->test, now.failed, was.failed + 1);
	KUNIT_EXPECT_EQ(r->test, now.allocs, was.allocs);
	KUNIT_EXPECT_EQ(r->test, now.frees, was.frees);
	KUNIT_EXPECT_EQ(r->test, now.alloc_bytes, was.alloc_bytes);
	KUNIT_EXPECT_EQ(r->test, now.free_bytes, was.free_bytes);
	KUNIT_EXPECT_EQ(r->test, now.refills, was.refills);
	KUNIT_EXPECT_EQ(r->test, now.flushes, was.flushes);
}

static void second_failure(struct refusal *r, const struct way *w)
{
	struct slabdev_cache_stats cache = cache_stats(r), now;
	struct slabdev_stats before;

	settle(r->test, r->sd);
	before = figures(r->test, r->sd);
	expect_refused(r, w);
	settle(r->test, r->sd);
	/* To find out, it may map what there is room for, and give it back. */
	if (w->roomy)
		before.backend_calls = calls_of(r->test, r->sd);
	EXPECT_ONLY_FAILURES(r->test, r->sd, before, 1);
	now = cache_stats(r);
	KUNIT_EXPECT_EQ(r->test, now.failed, cache.failed + !!w->cache);
	now.failed = cache.failed;
	KUNIT_EXPECT_MEMEQ(r->test, &now, &cache, sizeof(now));
}

static void free_kept(struct refusal *r)
{
	while (r->n)
		EXPECT_FREED(r->test, r->sd, r->p[--r->n]);
	if (r->cache)
		KUNIT_EXPECT_EQ(r->test, slabdev_cache_destroy(r->cache), 0);
	expect_empty(r->test, r->sd);
}

static void ask_twice(struct kunit *test, struct refusal *r)
{
	const struct way *w = test->param_value;

	/* The thread is known already, and has counters. */
	EXPECT_FREED(test, r->sd, must_alloc(test, r->sd, 300));
	KUNIT_EXPECT_EQ(test, slabdev_trim(r->sd, 0), 0);
	if (w->cache)
		make_cache(r, w);
	if (!w->roomy)
		fill_space(r);
	first_failure(r, w);
	second_failure(r, w);
	expect_sound(test, r->sd);
	free_kept(r);
}

static void with_sheaves(struct kunit *test)
{
	ask_twice(test, refusal_open(test, 0, SLABDEV_RETAIN));
}

static void without_sheaves(struct kunit *test)
{
	ask_twice(test, refusal_open(test, SLABDEV_OPEN_NO_SHEAVES,
				     SLABDEV_RETAIN));
}

static void aggressive(struct kunit *test)
{
	ask_twice(test, refusal_open(test, 0, SLABDEV_AGGRESSIVE));
}

/* ---- Constructors ----------------------------------------------------- */

static int build_or_not(void *base, size_t stride, size_t count,
			slabdev_stream_t stream, void *arg)
{
	struct refusal *r = arg;

	(void)base;
	(void)stride;
	(void)count;
	(void)stream;
	return r->ctor_err;
}

static void failing_constructor(struct kunit *test)
{
	static const struct way ctor_ways[] = {
		{ .ask = ask_cache, .err = -EPERM, .cache = 3000,
		  .quiet = true },
		{ .ask = ask_bulk, .err = -EPERM, .cache = 3000,
		  .quiet = true },
		{ .ask = ask_bulk_of_many, .err = -EPERM, .cache = 3000,
		  .quiet = true },
	};
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	struct refusal *r = refusal_open(test, 0, SLABDEV_RETAIN);
	u32 i;

	args.ctor = build_or_not;
	args.ctor_arg = r;
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&r->cache, r->sd, "cache",
						   3000, &args), 0);
	r->ctor_err = -EPERM;
	for (i = 0; i < ARRAY_SIZE(ctor_ways); i++) {
		first_failure(r, &ctor_ways[i]);
		second_failure(r, &ctor_ways[i]);
	}
	r->ctor_err = 0;
	r->p[r->n++] = slabdev_cache_alloc(r->cache);
	KUNIT_EXPECT_NOT_NULL(test, r->p[0]);
	r->ctor_err = -EPERM;
	first_failure(r, &ctor_ways[2]);
	second_failure(r, &ctor_ways[2]);
	expect_sound(test, r->sd);
	free_kept(r);
}

/* ---- Memory that cannot be filled or copied --------------------------- */

static void put_backend(void *arg)
{
	struct refusal *r = arg;

	vmm_fault_fini(&r->f);
	vmm_backend_put(r->ops, r->dev);
}

static void force_close(void *arg)
{
	struct refusal *r = arg;

	KUNIT_EXPECT_EQ(r->test, slabdev_close(r->sd, SLABDEV_CLOSE_FORCE), 0);
}

static struct refusal *refusal_open_on_fault(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct refusal *r = kunit_kzalloc(test, sizeof(*r));

	r->test = test;
	r->p = kunit_kzalloc(test, MANY * sizeof(*r->p));
	KUNIT_ASSERT_EQ(test, vmm_backend_find(test_spec(), NULL, &r->ops,
					       &r->dev), 0);
	vmm_fault_init(&r->f, r->ops, r->dev);
	kunit_add_action(test, put_backend, r);
	attr.limit = LIMIT;
	KUNIT_ASSERT_EQ(test, space_open_on(&r->sd, &attr, &r->f.table,
					    &r->f), 0);
	kunit_add_action(test, force_close, r);
	return r;
}

static void failed_work_is_no_allocation(struct kunit *test)
{
	static const struct way zero = {
		.ask = ask_zero, .err = -EIO, .quiet = true,
	};
	static const struct way move = {
		.ask = ask_realloc, .err = -EIO, .quiet = true,
	};
	struct refusal *r = refusal_open_on_fault(test);

	r->p[r->n++] = must_alloc(test, r->sd, 5000);
	EXPECT_FREED(test, r->sd, must_alloc(test, r->sd, 300));
	EXPECT_FREED(test, r->sd, must_alloc(test, r->sd, 7 * MIB));
	vmm_fault_arm(&r->f, VMM_OP_FILL, 1, 1000, -EIO);
	first_failure(r, &zero);
	second_failure(r, &zero);
	vmm_fault_arm(&r->f, VMM_OP_COPY, 1, 1000, -EIO);
	first_failure(r, &move);
	second_failure(r, &move);
	expect_sound(test, r->sd);
	free_kept(r);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(with_sheaves, way_gen_params),
	KUNIT_CASE_PARAM(without_sheaves, way_gen_params),
	KUNIT_CASE_PARAM(aggressive, way_gen_params),
	KUNIT_CASE(failing_constructor),
	KUNIT_CASE(failed_work_is_no_allocation),
	{ 0 }
};

static const struct kunit_suite refusal_suite = {
	.name = "refusal",
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(refusal_suite);
