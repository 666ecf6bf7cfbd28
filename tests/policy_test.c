// SPDX-License-Identifier: BSD-2-Clause
/*
 * policy_test.c - what stays mapped, and what that costs (promises P1 and P7).
 *
 * "No backend call" is read off the counters of the vmm, through which every
 * call goes. Workloads that go on for ever are in policy_steady.c.
 */
#include <stdio.h>

#include "slab/heap.h"
#include "tests/crew.h"
#include "tests/policy_space.h"
#include "tests/random.h"

static const u64 sizes[] = { 100, 5000, 300 * KIB, 3 * MIB, 70 * MIB };

static void set_policy(struct kunit *test, struct slabdev *sd, u32 mode,
		       u64 keep)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;

	policy.mode = mode;
	policy.keep_bytes = keep;
	KUNIT_EXPECT_EQ(test, slabdev_set_policy(sd, &policy), 0);
}

#define EACH 40u

struct load {
	struct kunit *test;
	struct slabdev *sd;
	void *p[ARRAY_SIZE(sizes)][EACH];
};

/* Few of the large ones: the sum stays below the limit. */
static u32 how_many(u32 size)
{
	return sizes[size] > 64 * MIB ? 2 : EACH;
}

static void load_alloc(void *arg)
{
	struct load *l = arg;
	u32 s, i;

	for (s = 0; s < ARRAY_SIZE(sizes); s++)
		for (i = 0; i < how_many(s); i++) {
			l->p[s][i] = slabdev_alloc(l->sd, sizes[s]);
			KUNIT_EXPECT_NOT_NULL(l->test, l->p[s][i]);
		}
}

static void load_free(void *arg)
{
	struct load *l = arg;
	u32 s, i;

	for (s = 0; s < ARRAY_SIZE(sizes); s++)
		for (i = 0; i < how_many(s); i++)
			KUNIT_EXPECT_EQ(l->test,
					slabdev_free(l->sd, l->p[s][i]), 0);
}

/* ---- Retain ----------------------------------------------------------- */

static void retain_keeps_everything(struct kunit *test)
{
	struct load l = { .test = test,
			  .sd = open_policy(test, SLABDEV_RETAIN, 0) };
	struct slabdev_stats full, after;

	load_alloc(&l);
	full = stats_of(test, l.sd);
	load_free(&l);
	after = stats_of(test, l.sd);
	KUNIT_EXPECT_EQ(test, after.backend_calls, full.backend_calls);
	KUNIT_EXPECT_EQ(test, after.mapped, full.mapped);
	load_alloc(&l);
	KUNIT_EXPECT_EQ(test, calls_of(test, l.sd), full.backend_calls);
	load_free(&l);
	KUNIT_EXPECT_EQ(test, slabdev_poll(l.sd), 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, l.sd).mapped, full.mapped);
	expect_empty(test, l.sd);
}

/* ---- Trim ------------------------------------------------------------- */

static void trim_policy_works_in_slow_paths_only(struct kunit *test)
{
	const u64 keep = 40 * MIB;
	struct load l = { .test = test,
			  .sd = open_policy(test, SLABDEV_TRIM, keep) };
	struct slabdev_stats before, after;

	load_alloc(&l);
	before = stats_of(test, l.sd);
	load_free(&l);
	after = stats_of(test, l.sd);
	KUNIT_EXPECT_EQ(test, after.backend_calls, before.backend_calls);
	KUNIT_EXPECT_EQ(test, after.mapped, before.mapped);
	KUNIT_EXPECT_EQ(test, slabdev_poll(l.sd), 0);
	settle(test, l.sd);
	after = stats_of(test, l.sd);
	KUNIT_EXPECT_LE(test, after.retained, keep + handle_max(l.sd));
	expect_sound(test, l.sd);
	expect_empty(test, l.sd);
}

/* So many objects, each larger than the one before by @step. */
static void come_and_go(struct slabdev *sd, u32 nr, u64 size, u64 step)
{
	void *p[30];
	u32 i;

	for (i = 0; i < nr; i++)
		p[i] = slabdev_alloc(sd, size + i * step);
	for (i = 0; i < nr; i++)
		slabdev_free(sd, p[i]);
}

static void trim_policy_works_at_growth(struct kunit *test)
{
	const u64 keep = 8 * MIB;
	struct slabdev *sd = open_policy(test, SLABDEV_TRIM, keep);
	void *large;

	come_and_go(sd, 20, 2 * MIB, 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).retained, 40 * MIB);
	large = slabdev_alloc(sd, 80 * MIB);
	KUNIT_EXPECT_NOT_NULL(test, large);
	settle(test, sd);
	KUNIT_EXPECT_LE(test, stats_of(test, sd).retained,
			keep + handle_max(sd));
	slabdev_free(sd, large);
	expect_sound(test, sd);
}

static const u64 keeps[] = { 0, 1, CHUNK, 7 * MIB, 50 * MIB, GIB };
KUNIT_ARRAY_PARAM(keep, keeps, NULL);

/* From single chunks, not less than asked for and one handle more at most. */
static void trim_leaves_what_it_is_told(struct kunit *test)
{
	u64 keep = *(const u64 *)test->param_value, left;
	struct slabdev *sd = open_policy(test, SLABDEV_RETAIN, 0);

	come_and_go(sd, 30, 2 * MIB, 0);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, keep), 0);
	left = stats_of(test, sd).retained;
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).mapped, left);
	KUNIT_EXPECT_GE(test, left, min(keep, 60 * MIB));
	KUNIT_EXPECT_LT(test, left, keep + CHUNK);
	expect_sound(test, sd);
}

/*
 * Mappings of many chunks go whole: what stays is within one of them of what
 * was asked for.
 */
static void trim_with_long_handles(struct kunit *test)
{
	u64 keep = *(const u64 *)test->param_value, left;
	struct slabdev *sd = open_policy(test, SLABDEV_RETAIN, 0);

	come_and_go(sd, 4, 65 * MIB, MIB);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, keep), 0);
	left = stats_of(test, sd).retained;
	KUNIT_EXPECT_GE(test, left + 68 * MIB,
			min(keep, (66 + 66 + 68 + 68) * MIB));
	KUNIT_EXPECT_LT(test, left, keep + 68 * MIB);
	expect_sound(test, sd);
}

/* ---- Aggressive ------------------------------------------------------- */

static const u64 aggressive_sizes[] = { 1, 256, 1000, 20000, 700 * KIB, MIB,
					MIB + 1, 3 * MIB, 64 * MIB, 65 * MIB };
KUNIT_ARRAY_PARAM(aggressive, aggressive_sizes, NULL);

static void aggressive_gives_back_in_the_free(struct kunit *test)
{
	u64 size = *(const u64 *)test->param_value;
	struct slabdev *sd = open_policy(test, SLABDEV_AGGRESSIVE, 0);
	void *p[3];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(p); i++) {
		p[i] = slabdev_alloc(sd, size);
		KUNIT_ASSERT_NOT_NULL(test, p[i]);
	}
	for (i = 0; i < ARRAY_SIZE(p); i++)
		KUNIT_EXPECT_EQ(test, slabdev_free(sd, p[i]), 0);
	settle(test, sd);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).mapped, 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).handles, 0);
	expect_sound(test, sd);
}

static void aggressive_gives_back_caches(struct kunit *test)
{
	struct slabdev *sd = open_policy(test, SLABDEV_AGGRESSIVE, 0);
	static const size_t of[] = { 16, 24, 100, 5000, 2 * MIB };
	struct slabdev_cache *c;
	void *p[100];
	char name[16];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(of); i++) {
		snprintf(name, sizeof(name), "cache-%u", i);
		KUNIT_ASSERT_EQ(test, slabdev_cache_create(&c, sd, name, of[i],
							   NULL), 0);
		KUNIT_ASSERT_EQ(test, slabdev_cache_alloc_bulk(c, 100, p), 0);
		KUNIT_EXPECT_EQ(test, slabdev_cache_free_bulk(c, 100, p), 0);
		settle(test, sd);
		KUNIT_EXPECT_EQ(test, stats_of(test, sd).mapped, 0);
		KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(c), 0);
	}
	expect_sound(test, sd);
}

/* ---- Switching -------------------------------------------------------- */

/*
 * No more than that is retained, and one handle; or all that is beyond lies in
 * handles with a slab that a class keeps, and the pool has none to give back.
 */
static void expect_trimmed(struct kunit *test, struct slabdev *sd, u64 keep)
{
	struct slabdev_stats st = stats_of(test, sd);

	if (st.retained <= keep + handle_max(sd))
		return;
	KUNIT_EXPECT_EQ(test, pool_trim(sd, keep, VMM_RELEASE), 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).mapped, st.mapped);
}

static void switch_empties_sheaves_of_all_threads(struct kunit *test)
{
	struct slabdev *sd = open_policy(test, SLABDEV_RETAIN, 0);
	struct crew *crew = crew_new(test, 3);
	struct load l[3];
	u32 i;

	for (i = 0; i < 3; i++)
		l[i] = (struct load){ .test = test, .sd = sd };
	crew_all(crew, load_alloc, l, sizeof(*l));
	crew_all(crew, load_free, l, sizeof(*l));
	KUNIT_EXPECT_GT(test, stats_of(test, sd).cached, 0);
	set_policy(test, sd, SLABDEV_AGGRESSIVE, 0);
	settle(test, sd);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).mapped, 0);
	KUNIT_EXPECT_EQ(test, sd->charged, 0);
	crew_all(crew, load_alloc, l, sizeof(*l));
	crew_all(crew, load_free, l, sizeof(*l));
	settle(test, sd);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).mapped, 0);
	/* And back. */
	set_policy(test, sd, SLABDEV_RETAIN, 0);
	crew_all(crew, load_alloc, l, sizeof(*l));
	crew_all(crew, load_free, l, sizeof(*l));
	KUNIT_EXPECT_GT(test, stats_of(test, sd).mapped, 0);
	KUNIT_EXPECT_GT(test, sd->charged, 0);
	set_policy(test, sd, SLABDEV_TRIM, 20 * MIB);
	settle(test, sd);
	expect_trimmed(test, sd, 20 * MIB);
	expect_sound(test, sd);
	expect_empty(test, sd);
}

/*
 * What is idle in single chunks serves a request of several, which has a handle
 * of its own where handles are dear: no call is made, and no more is mapped.
 */
static void switch_uses_what_is_idle(struct kunit *test)
{
	struct slabdev *sd = open_policy(test, SLABDEV_AGGRESSIVE, 0);
	struct slabdev_stats before;
	void *p[20], *q;
	u32 i;

	need_merging(test, sd);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = must_alloc(test, sd, CHUNK);
	/* As frees leave it while the device is at work. */
	set_policy(test, sd, SLABDEV_RETAIN, 0);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		EXPECT_FREED(test, sd, p[i]);
	KUNIT_EXPECT_EQ(test, pool_trim(sd, 0, VMM_KEEP_MAPPED), 0);
	before = stats_of(test, sd);
	KUNIT_EXPECT_EQ(test, before.mapped, 20 * CHUNK);
	q = must_alloc(test, sd, 20 * CHUNK);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).mapped, before.mapped);
	KUNIT_EXPECT_EQ(test, calls_of(test, sd), before.backend_calls);
	expect_sound(test, sd);
	EXPECT_FREED(test, sd, q);
	KUNIT_EXPECT_EQ(test, slabdev_prime(sd, 20 * CHUNK), 0);
	KUNIT_EXPECT_EQ(test, calls_of(test, sd), before.backend_calls);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).mapped, 0);
}

/* Runs in the middle of an allocation that began under the old policy. */
static int switch_in_ctor(void *base, size_t stride, size_t count,
			  slabdev_stream_t stream, void *arg)
{
	struct load *l = arg;

	(void)base;
	(void)stride;
	(void)count;
	(void)stream;
	set_policy(l->test, l->sd, SLABDEV_AGGRESSIVE, 0);
	return 0;
}

static void switch_holds_for_calls_that_run(struct kunit *test)
{
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	struct load l = { .test = test };
	struct slabdev_cache *c;
	void *p;

	l.sd = open_policy(test, SLABDEV_RETAIN, 0);
	args.ctor = switch_in_ctor;
	args.ctor_arg = &l;
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&c, l.sd, "cache", 4096,
						   &args), 0);
	p = slabdev_cache_alloc(c);
	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(c, p), 0);
	settle(test, l.sd);
	KUNIT_EXPECT_EQ(test, stats_of(test, l.sd).mapped, 0);
	KUNIT_EXPECT_EQ(test, l.sd->charged, 0);
	expect_sound(test, l.sd);
}

/* ---- Prime ------------------------------------------------------------ */

static void primed_memory_needs_no_call(struct kunit *test)
{
	struct slabdev *sd = open_policy(test, SLABDEV_RETAIN, 0);
	u64 calls, random = random_seed(test), bytes = 0;
	struct slabdev_req req = SLABDEV_REQ_INIT;
	u32 n;

	KUNIT_ASSERT_EQ(test, slabdev_prime(sd, 300 * MIB), 0);
	KUNIT_EXPECT_GE(test, stats_of(test, sd).retained, 300 * MIB);
	KUNIT_EXPECT_LE(test, stats_of(test, sd).handles, 2);
	calls = calls_of(test, sd);
	req.flags = SLABDEV_REQ_NO_GROW;
	for (n = 0; bytes < 200 * MIB; n++) {
		u64 size = random_size(&random, 4 * MIB);

		KUNIT_ASSERT_NOT_NULL(test, slabdev_alloc_ex(sd, size, &req));
		bytes += size;
	}
	KUNIT_EXPECT_EQ(test, calls_of(test, sd), calls);
	/* What is there already is not mapped a second time. */
	KUNIT_EXPECT_EQ(test, slabdev_prime(sd, 10 * MIB), 0);
	KUNIT_EXPECT_EQ(test, calls_of(test, sd), calls);
	expect_sound(test, sd);
}

static void failed_prime_changes_nothing(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	struct slabdev_stats before, after;
	void *p = slabdev_alloc(sd, 5 * MIB);

	before = stats_of(test, sd);
	KUNIT_EXPECT_EQ(test, slabdev_prime(sd, 64 * MIB), -EDQUOT);
	KUNIT_EXPECT_EQ(test, slabdev_prime(sd, UINT64_MAX), -ENOMEM);
	after = stats_of(test, sd);
	KUNIT_EXPECT_EQ(test, after.mapped, before.mapped);
	KUNIT_EXPECT_EQ(test, after.retained, before.retained);
	KUNIT_EXPECT_EQ(test, after.handles, before.handles);
	KUNIT_EXPECT_EQ(test, slabdev_prime(sd, 58 * MIB), 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).mapped, 64 * MIB);
	slabdev_free(sd, p);
	expect_empty(test, sd);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(retain_keeps_everything),
	KUNIT_CASE(trim_policy_works_in_slow_paths_only),
	KUNIT_CASE(trim_policy_works_at_growth),
	KUNIT_CASE_PARAM(trim_leaves_what_it_is_told, keep_gen_params),
	KUNIT_CASE_PARAM(trim_with_long_handles, keep_gen_params),
	KUNIT_CASE_PARAM(aggressive_gives_back_in_the_free,
			 aggressive_gen_params),
	KUNIT_CASE(aggressive_gives_back_caches),
	KUNIT_CASE(switch_empties_sheaves_of_all_threads),
	KUNIT_CASE(switch_uses_what_is_idle),
	KUNIT_CASE(switch_holds_for_calls_that_run),
	KUNIT_CASE(primed_memory_needs_no_call),
	KUNIT_CASE(failed_prime_changes_nothing),
	KUNIT_CASE(one_thread_reaches_a_steady_state),
	KUNIT_CASE(two_threads_reach_a_steady_state),
	KUNIT_CASE(working_set_settles),
	KUNIT_CASE(random_replacement_settles),
	KUNIT_CASE_ISOLATED(breach_of_steadiness_is_reported),
	KUNIT_CASE_ISOLATED(reuse_is_no_breach),
	KUNIT_CASE_ISOLATED(thrashing_is_reported),
	{ 0 }
};

static const struct kunit_suite policy_suite = {
	.name = "policy",
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(policy_suite);
