// SPDX-License-Identifier: BSD-2-Clause
/*
 * beside_test.c - validation while others work who have no sheaves.
 *
 * Sums are compared only when nobody else works in the space. A thread that
 * trims, primes or prefills has no heap by which it could be seen, and one
 * that begins and ends between two looks has one at neither: the walk must
 * not take what they are doing for corruption.
 */
#include <pthread.h>

#include "tests/crew.h"
#include "tests/open_space.h"
#include "tests/sanitizers.h"

#define KEPT 4000u
#define MOVED 400u
#define ROUNDS (IS_SANITIZED ? 40u : 300u)

struct beside {
	struct kunit *test;
	struct slabdev *sd;
	struct slabdev_cache *cache;
	bool stop;		/* relaxed */
	void *p[KEPT];
};

static void trims(struct beside *b)
{
	KUNIT_EXPECT_EQ(b->test, slabdev_trim(b->sd, 0), 0);
}

static void prefills(struct beside *b)
{
	KUNIT_EXPECT_EQ(b->test, slabdev_cache_prefill(b->cache, 200), 0);
	KUNIT_EXPECT_EQ(b->test, slabdev_cache_shrink(b->cache), 0);
	trims(b);
}

static void primes(struct beside *b)
{
	KUNIT_EXPECT_EQ(b->test, slabdev_prime(b->sd, 64 * MIB), 0);
	KUNIT_EXPECT_EQ(b->test, slabdev_poll(b->sd), 0);
	trims(b);
}

static void *short_life(void *arg)
{
	struct beside *b = arg;
	void *p[100];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = slabdev_alloc(b->sd, 300);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		KUNIT_EXPECT_EQ(b->test, slabdev_free(b->sd, p[i]), 0);
	return NULL;
}

static void begins_and_ends(struct beside *b)
{
	pthread_t t;

	KUNIT_ASSERT_EQ(b->test, pthread_create(&t, NULL, short_life, b), 0);
	pthread_join(t, NULL);
}

struct work {
	void (*once)(struct beside *b);
	struct beside *b;
};

static void keep_on(void *arg)
{
	struct work *w = arg;

	while (!READ_ONCE(w->b->stop))
		w->once(w->b);
}

static void validate_often(struct beside *b)
{
	u32 round, i;

	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < MOVED; i++)
			EXPECT_FREED(b->test, b->sd, b->p[i]);
		for (i = 0; i < MOVED; i++)
			b->p[i] = must_alloc(b->test, b->sd, 4 * KIB);
		KUNIT_EXPECT_EQ_MSG(b->test, slabdev_validate(b->sd), 0, "%s",
				    slabdev_last_error());
	}
}

static void validates_beside(struct kunit *test,
			     void (*once)(struct beside *b))
{
	struct beside *b = kunit_kzalloc(test, sizeof(*b));
	struct work w = { once, b };
	struct crew *crew = crew_new(test, 1);
	u32 i;

	b->test = test;
	b->sd = case_space(test, 256 * MIB);
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&b->cache, b->sd, "beside",
						   4 * KIB, NULL), 0);
	for (i = 0; i < KEPT; i++)
		b->p[i] = must_alloc(test, b->sd, 4 * KIB);
	crew_start(crew, 0, keep_on, &w);
	validate_often(b);
	WRITE_ONCE(b->stop, true);
	crew_wait(crew, 0);
	crew_dismiss(crew);
	for (i = 0; i < KEPT; i++)
		EXPECT_FREED(test, b->sd, b->p[i]);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(b->cache), 0);
	expect_sound(test, b->sd);
}

static void beside_trim(struct kunit *test)
{
	validates_beside(test, trims);
}

static void beside_prefill(struct kunit *test)
{
	validates_beside(test, prefills);
}

static void beside_prime(struct kunit *test)
{
	validates_beside(test, primes);
}

static void beside_short_threads(struct kunit *test)
{
	validates_beside(test, begins_and_ends);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(beside_trim),
	KUNIT_CASE(beside_prefill),
	KUNIT_CASE(beside_prime),
	KUNIT_CASE(beside_short_threads),
	{ 0 }
};

static const struct kunit_suite beside_suite = {
	.name = "beside",
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(beside_suite);
