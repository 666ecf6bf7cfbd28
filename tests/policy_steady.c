// SPDX-License-Identifier: BSD-2-Clause
/*
 * policy_steady.c - what a steady workload costs: nothing.
 *
 * It is a script with a fixed seed that is run again and again; from some round
 * on it must not make a single call.
 */
#include "tests/crew.h"
#include "tests/policy_space.h"
#include "tests/random.h"

#define SLOTS 300u

struct steady {
	struct kunit *test;
	struct slabdev *sd;
	u64 seed;
	void *p[SLOTS];
};

static u64 steady_size(u64 *random)
{
	u32 what = random_below(random, 200);

	if (!what)
		return 64 * MIB + random_below(random, 20 * MIB);
	if (what < 10)
		return random_size(random, 8 * MIB);
	return random_size(random, 256 * KIB);
}

/* A step of a code that has all of its objects at once. */
static void together_round(void *arg)
{
	struct steady *s = arg;
	u64 random = s->seed;
	u32 i;

	for (i = 0; i < SLOTS; i++) {
		s->p[i] = slabdev_alloc(s->sd, steady_size(&random));
		KUNIT_EXPECT_NOT_NULL(s->test, s->p[i]);
	}
	for (i = 0; i < SLOTS; i++) {
		slabdev_free(s->sd, s->p[i]);
		s->p[i] = NULL;
	}
}

/* One that replaces them at random; it too ends with nothing live. */
static void random_round(void *arg)
{
	struct steady *s = arg;
	u64 random = s->seed;
	u32 i, at;

	for (i = 0; i < 2000; i++) {
		at = random_below(&random, SLOTS);
		if (s->p[at]) {
			slabdev_free(s->sd, s->p[at]);
			s->p[at] = NULL;
		} else {
			s->p[at] = slabdev_alloc(s->sd, steady_size(&random));
			KUNIT_EXPECT_NOT_NULL(s->test, s->p[at]);
		}
	}
	for (i = 0; i < SLOTS; i++) {
		slabdev_free(s->sd, s->p[i]);
		s->p[i] = NULL;
	}
}

static void steady_open(struct kunit *test, struct steady *s, u32 n)
{
	/* Room for everything that was ever idle: no limit is the point. */
	struct slabdev *sd = case_space(test, 4 * GIB);
	u64 seed = random_seed(test);
	u32 i;

	for (i = 0; i < n; i++)
		s[i] = (struct steady){ .test = test, .sd = sd,
					.seed = seed + i };
}

/* A step of small objects, and of such that have a handle of their own. */
static void modest_round(void *arg)
{
	struct steady *s = arg;
	u64 random = s->seed;
	u32 i;

	for (i = 0; i < SLOTS; i++) {
		u64 size = 1 + random_below(&random, 16 * KIB);

		if (i % 50 == 0)
			size = 64 * MIB + size * KIB;

		s->p[i] = slabdev_alloc(s->sd, size);
		KUNIT_EXPECT_NOT_NULL(s->test, s->p[i]);
	}
	for (i = 0; i < SLOTS; i++) {
		slabdev_free(s->sd, s->p[i]);
		s->p[i] = NULL;
	}
}

void one_thread_reaches_a_steady_state(struct kunit *test)
{
	struct steady s;
	u64 calls;
	u32 i;

	steady_open(test, &s, 1);
	for (i = 0; i < 3; i++)
		modest_round(&s);
	calls = calls_of(test, s.sd);
	for (i = 0; i < 20; i++)
		modest_round(&s);
	KUNIT_EXPECT_EQ(test, calls_of(test, s.sd), calls);
	expect_sound(test, s.sd);
}

/* Taking turns, so that the sum of their peaks does not depend on luck. */
void two_threads_reach_a_steady_state(struct kunit *test)
{
	struct crew *crew = crew_new(test, 2);
	struct steady s[2];
	u64 calls = 0;
	u32 i;

	steady_open(test, s, 2);
	for (i = 0; i < 20; i++) {
		crew_do(crew, 0, modest_round, &s[0]);
		crew_do(crew, 1, modest_round, &s[1]);
		if (i == 2)
			calls = calls_of(test, s[0].sd);
	}
	KUNIT_EXPECT_EQ(test, calls_of(test, s[0].sd), calls);
	expect_sound(test, s[0].sd);
}

/*
 * Which objects share a slab differs from round to round, so that a round may
 * need a little more than all before it. But it never maps what was mapped
 * before, and what thirty rounds add stays bounded.
 */
static void expect_settles(struct kunit *test, crew_job_fn round)
{
	struct slabdev_stats before, after;
	struct steady s;
	u64 mapped;
	u32 i;

	steady_open(test, &s, 1);
	for (i = 0; i < 3; i++)
		round(&s);
	before = stats_of(test, s.sd);
	mapped = before.mapped;
	for (i = 0; i < 30; i++) {
		round(&s);
		after = stats_of(test, s.sd);
		KUNIT_EXPECT_TRUE(test, after.backend_calls ==
				  before.backend_calls ||
				  after.mapped > before.mapped);
		before = after;
	}
	/* Two more runs of the largest size, over half as much again; what
	 * grew by a chunk a round would be far beyond. */
	KUNIT_EXPECT_LE(test, after.mapped, mapped + mapped / 2 + 16 * MIB);
	kunit_info(test, "%llu bytes mapped after 3 rounds, %llu after 33",
		   (unsigned long long)mapped,
		   (unsigned long long)after.mapped);
	expect_sound(test, s.sd);
}

void working_set_settles(struct kunit *test)
{
	expect_settles(test, together_round);
}

void random_replacement_settles(struct kunit *test)
{
	expect_settles(test, random_round);
}

void breach_of_steadiness_is_reported(struct kunit *test)
{
	struct slabdev *sd;
	void *p;

	setenv("SLABDEV_ASSERT_STEADY", "1", 1);
	sd = open_policy(test, SLABDEV_RETAIN, 0);
	p = slabdev_alloc(sd, 10 * MIB);
	slabdev_free(sd, p);
	p = slabdev_alloc(sd, 10 * MIB);
	slabdev_free(sd, p);
	KUNIT_EXPECT_EQ(test, kunit_report_count(test, REPORT_STEADY), 0);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	kunit_expect_report(test, REPORT_STEADY);
	p = slabdev_alloc(sd, 10 * MIB);
	KUNIT_EXPECT_REPORT_HAS(test, "steady state");
	slabdev_free(sd, p);
}

/* An idle mapping that serves costs no call, so there is nothing to report. */
void reuse_is_no_breach(struct kunit *test)
{
	struct slabdev *sd;
	void *large, *small;
	u64 calls;

	setenv("SLABDEV_ASSERT_STEADY", "1", 1);
	sd = open_policy(test, SLABDEV_RETAIN, 0);
	KUNIT_ASSERT_EQ(test, slabdev_prime(sd, 200 * MIB), 0);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	sd->assert_steady = false;
	large = slabdev_alloc(sd, 65 * MIB);
	small = slabdev_alloc(sd, MIB);
	sd->assert_steady = true;
	slabdev_free(sd, large);
	calls = calls_of(test, sd);
	KUNIT_EXPECT_PTR_EQ(test, slabdev_alloc(sd, 65 * MIB), large);
	KUNIT_EXPECT_EQ(test, calls_of(test, sd), calls);
	slabdev_free(sd, small);
}

/* Two sizes that take each other's memory, again and again. */
void thrashing_is_reported(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd;
	u32 i;

	setenv("SLABDEV_ASSERT_STEADY", "1", 1);
	attr.limit = 200 * MIB;
	sd = case_space_attr(test, &attr);
	for (i = 0; i < 2; i++)
		slabdev_free(sd, slabdev_alloc(sd, (120 + 10 * i) * MIB));
	kunit_expect_report(test, REPORT_STEADY);
	kunit_expect_report(test, REPORT_STEADY);
	for (i = 0; i < 2; i++)
		slabdev_free(sd, slabdev_alloc(sd, (120 + 10 * i) * MIB));
}
