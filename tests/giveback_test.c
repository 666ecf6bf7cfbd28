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
	KUNIT_CASE_PARAM(no_grow_makes_no_call, policy_gen_params),
	KUNIT_CASE_PARAM(no_grow_gathers_and_makes_no_call, policy_gen_params),
	{ 0 }
};

static const struct kunit_suite giveback_suite = {
	.name = "giveback",
	.cases = cases,
};
kunit_test_suite(giveback_suite);
