// SPDX-License-Identifier: BSD-2-Clause
/*
 * giveback_test.c - what may go back to the device, and what may not.
 *
 * Handles go whole. Where they differ in length, a long one that has to stay
 * must not keep a short one from going; and a request that forbids to grow
 * must not reach the backend in any other way either.
 */
#include "slab/slab.h"
#include "tests/open_space.h"
#include "tests/random.h"

/* ---- Handles of different length -------------------------------------- */

static void prime_to(struct kunit *test, struct slabdev *sd, u64 bytes)
{
	KUNIT_ASSERT_EQ_MSG(test, slabdev_prime(sd, bytes), 0, "%s",
			    slabdev_last_error());
	KUNIT_ASSERT_EQ(test, figures(test, sd).retained, bytes);
}

static u64 retained_after(struct kunit *test, struct slabdev *sd, u64 keep)
{
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, keep), 0);
	return expect_sound(test, sd).retained;
}

/* One of 1 GiB, and one of the rest after it. */
static void long_handle_stays(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 4 * GIB);

	prime_to(test, sd, 1400 * MIB);
	KUNIT_EXPECT_EQ(test, retained_after(test, sd, 1100 * MIB), 1400 * MIB);
	KUNIT_EXPECT_EQ(test, retained_after(test, sd, 400 * MIB), GIB);
	KUNIT_EXPECT_EQ(test, retained_after(test, sd, 2 * MIB), GIB);
	KUNIT_EXPECT_EQ(test, retained_after(test, sd, 0), 0);
}

static void short_ones_below_a_long_one_go(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 4 * GIB);
	u64 at;

	for (at = 64 * MIB; at <= 384 * MIB; at += 64 * MIB)
		prime_to(test, sd, at);
	prime_to(test, sd, 384 * MIB + GIB);
	KUNIT_EXPECT_EQ(test, retained_after(test, sd, 1100 * MIB),
			1152 * MIB);
	KUNIT_EXPECT_EQ(test, retained_after(test, sd, 1090 * MIB),
			1152 * MIB);
	KUNIT_EXPECT_EQ(test, retained_after(test, sd, 1088 * MIB),
			1088 * MIB);
	KUNIT_EXPECT_EQ(test, retained_after(test, sd, 0), 0);
}

/* The shortest handle that could go; 0: there is none. White-box. */
static u64 shortest_vacant(struct slabdev *sd)
{
	const struct pool_chunk *c = (void *)sd->pool.chunks.base;
	u64 shortest = 0, bytes;
	u32 at, i, used;

	for (at = 0; at < sd->pool.end_chunk; at += c[at].nr ? c[at].nr : 1) {
		for (i = 0, used = 0; i < c[at].nr; i++)
			used += c[at + i].used;
		bytes = c[at].nr * sd->vmm.chunk_size;
		if (bytes && !used && (!shortest || bytes < shortest))
			shortest = bytes;
	}
	return shortest;
}

/* At least @keep stays, and nothing that could have gone. */
static void expect_trimmed(struct kunit *test, struct slabdev *sd, u64 keep)
{
	u64 before = figures(test, sd).retained;
	u64 after = retained_after(test, sd, keep);
	u64 shortest = shortest_vacant(sd);

	KUNIT_EXPECT_GE(test, after, min(keep, before));
	if (shortest)
		KUNIT_EXPECT_LT(test, after, keep + shortest);
}

static void any_mixture_of_handles(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 8 * GIB);
	u64 random = random_seed(test), n;
	void *p[24];
	u32 round, i;

	for (round = 0; round < 40; round++) {
		for (i = 0; i < ARRAY_SIZE(p); i++) {
			n = 2 * MIB << random_below(&random, 7);
			KUNIT_EXPECT_EQ(test, slabdev_prime(sd,
					figures(test, sd).retained + n), 0);
			p[i] = must_alloc(test, sd,
					  random_size(&random, 6 * MIB));
		}
		for (i = 0; i < ARRAY_SIZE(p); i++) {
			if (random_below(&random, 8))
				continue;
			EXPECT_FREED(test, sd, p[i]);
			p[i] = NULL;
		}
		expect_trimmed(test, sd, random_below(&random, 600) * MIB);
		for (i = 0; i < ARRAY_SIZE(p); i++)
			EXPECT_FREED(test, sd, p[i]);
		expect_trimmed(test, sd, random_below(&random, 600) * MIB);
	}
	expect_empty(test, sd);
}

/* ---- What is to stay -------------------------------------------------- */

#define HUGE_BYTES (66 * MIB)

/* Three idle mappings of 66 MiB beside 80 MiB of free slices. */
static struct slabdev *open_with_both(struct kunit *test, u32 mode, u64 keep)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd;
	void *huge[3], *p[4];
	u32 i;

	attr.limit = GIB;
	sd = case_space_attr(test, &attr);
	for (i = 0; i < ARRAY_SIZE(huge); i++)
		huge[i] = must_alloc(test, sd, HUGE_BYTES);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = must_alloc(test, sd, 20 * MIB);
	for (i = 0; i < ARRAY_SIZE(huge); i++)
		EXPECT_FREED(test, sd, huge[i]);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		EXPECT_FREED(test, sd, p[i]);
	KUNIT_ASSERT_EQ(test, figures(test, sd).retained, (3 * 66 + 80) * MIB);
	sd->policy = mode;
	sd->policy_keep = keep;
	return sd;
}

/* The free slices are counted before the idle mappings. */
static void trim_keeps_slices_rather_than_mappings(struct kunit *test)
{
	struct slabdev *sd = open_with_both(test, SLABDEV_RETAIN, 0);

	KUNIT_EXPECT_EQ(test, retained_after(test, sd, (80 + 2 * 66) * MIB),
			(80 + 2 * 66) * MIB);
	KUNIT_EXPECT_EQ(test, retained_after(test, sd, (80 + 66) * MIB),
			(80 + 66) * MIB);
	/* A handle of several chunks goes whole or not at all. */
	if (!sd->ops->dear_handles)
		KUNIT_EXPECT_EQ(test, retained_after(test, sd, 30 * MIB),
				30 * MIB);
	KUNIT_EXPECT_EQ(test, retained_after(test, sd, 0), 0);
}

static void poll_leaves_what_the_policy_keeps(struct kunit *test)
{
	struct slabdev *sd = open_with_both(test, SLABDEV_TRIM,
					    (80 + 66) * MIB);

	KUNIT_EXPECT_EQ(test, slabdev_poll(sd), 0);
	settle(test, sd);
	KUNIT_EXPECT_EQ(test, expect_sound(test, sd).retained,
			(80 + 66) * MIB);
	sd->policy = SLABDEV_RETAIN;
	expect_empty(test, sd);
}

static void aggressive_poll_gives_one_chunk_back(struct kunit *test)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	struct slabdev *sd = case_space(test, 64 * MIB);

	policy.mode = SLABDEV_AGGRESSIVE;
	KUNIT_ASSERT_EQ(test, slabdev_set_policy(sd, &policy), 0);
	prime_to(test, sd, CHUNK);
	KUNIT_EXPECT_EQ(test, slabdev_poll(sd), 0);
	settle(test, sd);
	KUNIT_EXPECT_EQ(test, expect_sound(test, sd).retained, 0);
}

/* First where it is not in the way; then all memory, and not a byte less. */
static void kept_slab_makes_room_for_a_huge_object(struct kunit *test)
{
	struct slabdev *sd = case_space(test, GIB);
	struct slabdev_cache *cache;
	u64 calls;
	void *p;

	prime_to(test, sd, 160 * MIB);
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&cache, sd, "cache", 2 * MIB,
						   NULL), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache,
					slabdev_cache_alloc(cache)), 0);
	KUNIT_ASSERT_GT(test, sd->empty_slices, 0);
	calls = calls_of(test, sd);
	EXPECT_FREED(test, sd, must_alloc(test, sd, 70 * MIB));
	KUNIT_ASSERT_GT(test, sd->empty_slices, 0);
	p = must_alloc(test, sd, 160 * MIB);
	KUNIT_EXPECT_EQ(test, calls_of(test, sd), calls);
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	expect_empty(test, sd);
}

static void huge_object_in_free_slices_is_aligned(struct kunit *test)
{
	struct slabdev *sd = case_space(test, GIB);
	void *small, *p;
	u64 calls;

	prime_to(test, sd, 80 * MIB);
	small = must_alloc(test, sd, 1000);
	calls = calls_of(test, sd);
	p = slabdev_alloc_aligned(sd, 70 * MIB, MIB);
	KUNIT_EXPECT_NOT_NULL(test, p);
	KUNIT_EXPECT_EQ(test, (u64)(uintptr_t)p % MIB, 0);
	KUNIT_EXPECT_EQ(test, calls_of(test, sd), calls);
	EXPECT_FREED(test, sd, p);
	EXPECT_FREED(test, sd, small);
	expect_empty(test, sd);
}

/* What has its length goes first: free slices serve others, too. */
static void huge_object_takes_an_idle_mapping(struct kunit *test)
{
	struct slabdev *sd = open_with_both(test, SLABDEV_RETAIN, 0);
	void *p = must_alloc(test, sd, HUGE_BYTES);

	KUNIT_EXPECT_EQ(test, pool_free_bytes(sd), 80 * MIB);
	EXPECT_FREED(test, sd, p);
	expect_empty(test, sd);
}

/* Up to 64 MiB they are. */
static void one_byte_more_is_not_shared(struct kunit *test)
{
	struct slabdev *sd = case_space(test, GIB);

	for (u64 more = 0; more < 2; more++) {
		void *p = must_alloc(test, sd, SHARED_MAX + more);
		u64 offset = space_offset(sd, p);

		KUNIT_EXPECT_EQ(test, pool_is_huge(sd, (u32)(offset >>
							     SLICE_SHIFT)),
				more);
		EXPECT_FREED(test, sd, p);
		expect_empty(test, sd);
	}
}

static void no_run_where_memory_was_given_back(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	char *p = must_alloc(test, sd, 4 * MIB);
	void *after = must_alloc(test, sd, 4 * MIB);
	u32 slice = (u32)(space_offset(sd, p) >> SLICE_SHIFT);

	KUNIT_EXPECT_EQ(test, pool_run_of(sd, slice + 1), slice);
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_EQ(test, pool_run_of(sd, slice + 1), RANGE_NONE);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, pool_run_of(sd, slice + 1), RANGE_NONE);
	KUNIT_EXPECT_EQ(test, pool_run_of(sd, RANGE_NONE - 1), RANGE_NONE);
	EXPECT_FREED(test, sd, after);
	expect_empty(test, sd);
}

/* ---- No growth, no call ----------------------------------------------- */

static const struct slabdev_policy policies[] = {
	{ sizeof(struct slabdev_policy), 0, SLABDEV_RETAIN, 0 },
	{ sizeof(struct slabdev_policy), 0, SLABDEV_TRIM, 0 },
	{ sizeof(struct slabdev_policy), 16 * MIB, SLABDEV_TRIM, 0 },
	{ sizeof(struct slabdev_policy), 0, SLABDEV_AGGRESSIVE, 0 },
};
KUNIT_ARRAY_PARAM(policy, policies, NULL);

struct quiet {
	struct kunit *test;
	struct slabdev *sd;
	void *p[400];
	u32 n, served;
};

static void quiet_alloc(struct quiet *q, size_t size, size_t align)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	u64 calls = calls_of(q->test, q->sd);
	void *p;

	req.flags = SLABDEV_REQ_NO_GROW;
	req.align = align;
	p = slabdev_alloc_ex(q->sd, size, &req);
	KUNIT_EXPECT_EQ_MSG(q->test, calls_of(q->test, q->sd), calls,
			    "%zu bytes at %zu", size, align);
	if (!p)
		return;
	q->served++;
	KUNIT_ASSERT_LT(q->test, q->n, ARRAY_SIZE(q->p));
	q->p[q->n++] = p;
}

static void quiet_allocs(struct quiet *q)
{
	static const size_t sizes[] = {
		1, 256, 5000, 70000, MIB, 3 * MIB, 20 * MIB, 64 * MIB,
		64 * MIB + 1, 120 * MIB, 4 * GIB,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		quiet_alloc(q, sizes[i], 0);
		quiet_alloc(q, sizes[i], 64 * KIB);
		quiet_alloc(q, sizes[i], 8 * MIB);
	}
}

/* Objects of all sizes, of which every other one is freed. */
static void leave_holes(struct quiet *q)
{
	void *p[60];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = must_alloc(q->test, q->sd, 100 + i * i * 900);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		if (i % 2)
			q->p[q->n++] = p[i];
		else
			EXPECT_FREED(q->test, q->sd, p[i]);
}

static void free_kept(struct quiet *q)
{
	while (q->n)
		EXPECT_FREED(q->test, q->sd, q->p[--q->n]);
}

static void no_grow_makes_no_call(struct kunit *test)
{
	struct quiet q = { .test = test, .sd = case_space(test, 256 * MIB) };
	const struct slabdev_policy *policy = test->param_value;
	u32 round;

	quiet_allocs(&q);
	KUNIT_EXPECT_EQ(test, q.served, 0);
	KUNIT_ASSERT_EQ(test, slabdev_set_policy(q.sd, policy), 0);
	for (round = 0; round < 4; round++) {
		quiet_allocs(&q);
		leave_holes(&q);
		quiet_allocs(&q);
		KUNIT_EXPECT_EQ(test, slabdev_prime(q.sd, 60 * MIB), 0);
		quiet_allocs(&q);
		expect_sound(test, q.sd);
		free_kept(&q);
		quiet_allocs(&q);
		expect_sound(test, q.sd);
	}
	KUNIT_EXPECT_GT(test, q.served, 0);
	free_kept(&q);
	expect_empty(test, q.sd);
}

/* A cached slab between two free runs: it is taken back, and that is all. */
static void no_grow_gathers_and_makes_no_call(struct kunit *test)
{
	struct quiet q = { .test = test, .sd = case_space(test, 256 * MIB) };
	void *p[3];
	u32 i;

	KUNIT_ASSERT_EQ(test, slabdev_set_policy(q.sd, test->param_value), 0);
	p[0] = must_alloc(test, q.sd, 3 * MIB);
	p[1] = must_alloc(test, q.sd, 20000);
	p[2] = must_alloc(test, q.sd, 3 * MIB);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		EXPECT_FREED(test, q.sd, p[i]);
	quiet_alloc(&q, 5 * MIB, 0);
	KUNIT_EXPECT_EQ(test, q.served, q.sd->policy != SLABDEV_AGGRESSIVE);
	expect_sound(test, q.sd);
	free_kept(&q);
	expect_empty(test, q.sd);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(long_handle_stays),
	KUNIT_CASE(short_ones_below_a_long_one_go),
	KUNIT_CASE(any_mixture_of_handles),
	KUNIT_CASE(trim_keeps_slices_rather_than_mappings),
	KUNIT_CASE(poll_leaves_what_the_policy_keeps),
	KUNIT_CASE(aggressive_poll_gives_one_chunk_back),
	KUNIT_CASE(kept_slab_makes_room_for_a_huge_object),
	KUNIT_CASE(huge_object_in_free_slices_is_aligned),
	KUNIT_CASE(huge_object_takes_an_idle_mapping),
	KUNIT_CASE(one_byte_more_is_not_shared),
	KUNIT_CASE(no_run_where_memory_was_given_back),
	KUNIT_CASE_PARAM(no_grow_makes_no_call, policy_gen_params),
	KUNIT_CASE_PARAM(no_grow_gathers_and_makes_no_call, policy_gen_params),
	{ 0 }
};

static const struct kunit_suite giveback_suite = {
	.name = "giveback",
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(giveback_suite);
