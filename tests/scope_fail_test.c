// SPDX-License-Identifier: BSD-2-Clause
/*
 * scope_fail_test.c - blocks that are left because something failed.
 *
 * One function acquires a thing of each kind, and has no line of code for what
 * to undo. It is left after each of its steps, by a return, and at each call of
 * the backend below it, which fails. Nothing may be live then.
 */
#include <slabdev/scope.h>

#include "tests/failing.h"

#define ALL_STEPS 99

/* Leaves as a function does whose next call fails, when @steps are done. */
static int acquire(struct slabdev *sd, int steps)
{
	const size_t sizes[] = { 100, 3 * MIB };
	struct slabdev_cache *cache SLABDEV_CLEANUP(cache) = NULL;
	struct slabdev_arena *arena SLABDEV_CLEANUP(arena) = NULL;
	struct slabdev_group *group SLABDEV_CLEANUP(group) = NULL;
	struct slabdev_buf *buf SLABDEV_CLEANUP(buf) = NULL;
	struct slabdev_buf *view SLABDEV_CLEANUP(buf) = NULL;
	int err = slabdev_cache_create(&cache, sd, "scope", 512, NULL);

	if (err || !steps--)
		return err;
	struct slabdev_owned x SLABDEV_CLEANUP(owned) =
		slabdev_own(sd, slabdev_cache_alloc(cache));

	if (!x.p)
		return -errno;
	if (!steps--)
		return 0;
	err = slabdev_arena_create(&arena, sd, NULL);
	if (err || !steps--)
		return err;
	struct slabdev_arena_scope scope SLABDEV_CLEANUP(arena_scope) =
		slabdev_enter_arena(arena);

	if (scope.error)
		return scope.error;
	if (!slabdev_arena_alloc(arena, 5 * MIB))
		return -errno;
	if (!steps--)
		return 0;
	err = slabdev_group_alloc(&group, sd, sizes, 2, 0, NULL);
	if (err || !steps--)
		return err;
	err = slabdev_buf_alloc(&buf, sd, 10 * MIB, NULL);
	if (err || !steps--)
		return err;
	return slabdev_buf_view(&view, buf, MIB, MIB);
}

static void expect_nothing_live(struct failing *t)
{
	struct slabdev_stats st = stats_of(t->test, t->sd);

	KUNIT_EXPECT_EQ(t->test, st.live_objects, 0);
	KUNIT_EXPECT_EQ(t->test, st.live, 0);
	KUNIT_EXPECT_EQ(t->test, st.caches, 0);
	expect_sound(t->test, t->sd);
}

static void leaks_at_no_step(struct kunit *test)
{
	struct failing *t = test->priv;

	KUNIT_ASSERT_EQ(test, failing_open(t), 0);
	for (int steps = 0; steps < 8; steps++) {
		KUNIT_EXPECT_EQ_MSG(test, acquire(t->sd, steps), 0, "%s",
				    slabdev_last_error());
		expect_nothing_live(t);
	}
	KUNIT_EXPECT_EQ(test, slabdev_close(t->sd, 0), 0);
	KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(&t->f));
}

/* False when fewer than @n calls are made. */
static bool acquire_with_failure(struct failing *t, u64 n, u64 count,
				 int error)
{
	bool has_failed;
	int err;

	vmm_fault_arm_any(&t->f, 0, 0, 0, 0);
	KUNIT_ASSERT_EQ(t->test, failing_open(t), 0);
	vmm_fault_arm_any(&t->f, n, count, 1, error);
	err = acquire(t->sd, ALL_STEPS);
	has_failed = t->f.any_calls >= n;
	vmm_fault_arm_any(&t->f, 0, 0, 0, 0);
	/* -EBUSY: what could not be given back is where the arena grows. */
	KUNIT_EXPECT_TRUE_MSG(t->test, !err || err == -EIO || err == -ENOMEM ||
			      err == -EBUSY, "%d: %s", err,
			      slabdev_last_error());
	expect_nothing_live(t);
	KUNIT_EXPECT_EQ(t->test, slabdev_trim(t->sd, 0), 0);
	KUNIT_EXPECT_EQ(t->test, slabdev_close(t->sd, 0), 0);
	KUNIT_EXPECT_TRUE(t->test, vmm_fault_balanced(&t->f));
	return has_failed;
}

static void leaks_at_no_failure(struct kunit *test)
{
	static const int errors[] = { -ENOMEM, -EIO };
	struct failing *t = test->priv;
	u64 n;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(errors); i++) {
		for (n = 1; acquire_with_failure(t, n, i < 2 ? 1 : 1000,
						 errors[i % 2]); n++)
			;
		KUNIT_EXPECT_GT(test, n, 1);
	}
}

static const struct kunit_case scope_fail_cases[] = {
	KUNIT_CASE(leaks_at_no_step),
	KUNIT_CASE(leaks_at_no_failure),
	{ 0 }
};

static const struct kunit_suite scope_fail_suite = {
	.name = "scope_fail",
	.init = failing_init,
	.exit = failing_exit,
	.cases = scope_fail_cases,
	.any_space = true,
};
kunit_test_suite(scope_fail_suite);
