// SPDX-License-Identifier: BSD-2-Clause
/*
 * scope_arena_test.c - scopes of arenas, and of what managers gave.
 *
 * What was allocated in a scope of an arena goes at its end, or stays when the
 * scope says so: then no mark is left behind, of which an arena has a number.
 */
#include <slabdev/scope.h>

#include "tests/open_space.h"

/* ---- Arenas ------------------------------------------------------------- */

static u64 arena_used(struct kunit *test, struct slabdev_arena *arena)
{
	struct slabdev_arena_stats st;

	KUNIT_EXPECT_EQ(test, slabdev_arena_stats(arena, &st, sizeof(st)), 0);
	return st.used;
}

static int scratch(struct kunit *test, struct slabdev_arena *arena)
{
	struct slabdev_arena_scope scope SLABDEV_CLEANUP(arena_scope) =
		slabdev_enter_arena(arena);

	if (scope.error)
		return scope.error;
	KUNIT_EXPECT_NOT_NULL(test, slabdev_arena_alloc(arena, 1000));
	for (int i = 0; i < 3; i++) {
		struct slabdev_arena_scope inner SLABDEV_CLEANUP(arena_scope) =
			slabdev_enter_arena(arena);

		KUNIT_EXPECT_NOT_NULL(test, slabdev_arena_alloc(arena, 1000));
		KUNIT_EXPECT_EQ(test, arena_used(test, arena), 2536);
		if (i == 2)
			return -EAGAIN;
	}
	return 0;
}

static void scope_of_arenas(struct kunit *test)
{
	struct slabdev_arena *arena SLABDEV_CLEANUP(arena) = NULL;

	KUNIT_ASSERT_EQ(test, slabdev_arena_create(&arena, test->priv, NULL),
			0);
	KUNIT_EXPECT_NOT_NULL(test, slabdev_arena_alloc(arena, 400));
	KUNIT_EXPECT_EQ(test, scratch(test, arena), -EAGAIN);
	KUNIT_EXPECT_EQ(test, arena_used(test, arena), 400);
}

/* A mark too many: the scope does not begin, and rewinds nothing. */
static int scratch_that_stays(struct kunit *test, struct slabdev_arena *arena,
			      bool is_reset)
{
	struct slabdev_arena_scope scope SLABDEV_CLEANUP(arena_scope) =
		slabdev_enter_arena(arena);

	KUNIT_ASSERT_EQ(test, scope.error, 0);
	KUNIT_EXPECT_NOT_NULL(test, slabdev_arena_alloc(arena, 1000));
	if (is_reset)
		KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	return slabdev_keep_arena(&scope);
}

/*
 * Goal: a scope that keeps leaves no mark behind. Method: more of them than an
 * arena has marks, in a scope that gives all of it back.
 */
static void scope_of_arenas_that_stays(struct kunit *test)
{
	struct slabdev_arena *arena SLABDEV_CLEANUP(arena) = NULL;
	struct slabdev_arena_attr attr = SLABDEV_ARENA_ATTR_INIT;

	attr.max_bytes = 16 * MIB;
	KUNIT_ASSERT_EQ(test, slabdev_arena_create(&arena, test->priv, &attr),
			0);
	for (int i = 0; i < 2; i++) {
		struct slabdev_arena_scope all SLABDEV_CLEANUP(arena_scope) =
			slabdev_enter_arena(arena);

		for (u32 j = 0; j < SLABDEV_ARENA_MARKS_MAX; j++)
			KUNIT_ASSERT_EQ(test, scratch_that_stays(test, arena,
								 false), 0);
		KUNIT_EXPECT_EQ(test, arena_used(test, arena),
				SLABDEV_ARENA_MARKS_MAX * 1024 - 24);
	}
	KUNIT_EXPECT_EQ(test, arena_used(test, arena), 0);
	/* A reset has ended the mark: there is nothing to keep. */
	KUNIT_EXPECT_EQ(test, scratch_that_stays(test, arena, true), -EALREADY);
}

/* A mark alone ends; what was wrong is said, and nothing has changed. */
static void marks_are_dropped(struct kunit *test)
{
	struct slabdev_arena *arena SLABDEV_CLEANUP(arena) = NULL;
	struct slabdev_arena_mark marks[3], none = SLABDEV_ARENA_MARK_INIT;

	KUNIT_ASSERT_EQ(test, slabdev_arena_create(&arena, test->priv, NULL),
			0);
	for (int i = 0; i < 3; i++) {
		KUNIT_ASSERT_EQ(test, slabdev_arena_mark(arena, &marks[i]), 0);
		KUNIT_EXPECT_NOT_NULL(test, slabdev_arena_alloc(arena, 100));
	}
	KUNIT_EXPECT_EQ(test, slabdev_arena_unmark(arena, &none), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_arena_unmark(arena, NULL), -EINVAL);
	KUNIT_EXPECT_NOT_NULL(test, strstr(slabdev_last_error(),
				"slabdev_arena_unmark: mark is NULL"));
	KUNIT_EXPECT_EQ(test, slabdev_arena_unmark(NULL, &marks[0]), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_arena_unmark(arena, &marks[1]), 0);
	KUNIT_EXPECT_EQ(test, slabdev_arena_unmark(arena, &marks[1]),
			-EALREADY);
	KUNIT_EXPECT_EQ(test, slabdev_arena_rewind(arena, &marks[1]),
			-EALREADY);
	KUNIT_EXPECT_EQ(test, arena_used(test, arena), 612);
	KUNIT_EXPECT_EQ(test, slabdev_arena_rewind(arena, &marks[2]), 0);
	KUNIT_EXPECT_EQ(test, arena_used(test, arena), 356);
	KUNIT_EXPECT_EQ(test, slabdev_arena_rewind(arena, &marks[0]), 0);
	KUNIT_EXPECT_EQ(test, arena_used(test, arena), 0);
}

static void scope_of_no_arena(struct kunit *test)
{
	struct slabdev_arena *arena SLABDEV_CLEANUP(arena) = NULL;
	struct slabdev_arena_mark mark;

	KUNIT_ASSERT_EQ(test, slabdev_arena_create(&arena, test->priv, NULL),
			0);
	for (unsigned int i = 0; i < SLABDEV_ARENA_MARKS_MAX; i++) {
		KUNIT_ASSERT_NOT_NULL(test, slabdev_arena_alloc(arena, 256));
		KUNIT_ASSERT_EQ(test, slabdev_arena_mark(arena, &mark), 0);
	}
	KUNIT_EXPECT_EQ(test, scratch(test, arena), -ENOSPC);
	KUNIT_EXPECT_EQ(test, arena_used(test, arena), 256 *
			SLABDEV_ARENA_MARKS_MAX);
}

/* ---- Managers ----------------------------------------------------------- */

static bool is_manager(struct slabdev_manager *m)
{
	return slabdev_manager_count(m) >= 0;
}

/* The kind of test_spec(), and its device. */
static void *take_by(struct kunit *test, struct slabdev_manager *m)
{
	struct slabdev_block block = SLABDEV_BLOCK_INIT;
	void *p = slabdev_alloc(test->priv, 1);

	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_ASSERT_EQ(test, slabdev_block_get(test->priv, p, &block), 0);
	EXPECT_FREED(test, test->priv, p);
	return slabdev_manager_alloc(m, block.kind, block.device, 1000, 0);
}

/* Goal: what a manager gave goes before it; else its end is refused. */
static void scope_of_managers(struct kunit *test)
{
	struct slabdev_manager *m;
	void *kept;

	{
		struct slabdev_manager *all SLABDEV_CLEANUP(manager) = NULL;

		KUNIT_ASSERT_EQ(test, slabdev_manager_create(&all, NULL), 0);
		struct slabdev_owned_by x SLABDEV_CLEANUP(owned_by) =
			slabdev_own_by(all, take_by(test, all));

		KUNIT_EXPECT_NOT_NULL(test, x.p);
		m = all;
	}
	KUNIT_EXPECT_FALSE(test, is_manager(m));
	kunit_expect_report(test, REPORT_LIVE_OBJECTS);
	{
		struct slabdev_manager *all SLABDEV_CLEANUP(manager) = NULL;

		KUNIT_ASSERT_EQ(test, slabdev_manager_create(&all, NULL), 0);
		kept = take_by(test, all);
		m = all;
		errno = EXDEV;
	}
	KUNIT_EXPECT_EQ(test, errno, EXDEV);
	KUNIT_EXPECT_EQ(test, slabdev_manager_free(m, kept), 0);
	KUNIT_EXPECT_EQ(test, slabdev_manager_destroy(m, 0), 0);
}

static const struct kunit_case scope_arena_cases[] = {
	KUNIT_CASE(scope_of_arenas),
	KUNIT_CASE(scope_of_arenas_that_stays),
	KUNIT_CASE(marks_are_dropped),
	KUNIT_CASE(scope_of_no_arena),
	KUNIT_CASE(scope_of_managers),
	{ 0 }
};

static const struct kunit_suite scope_arena_suite = {
	.name = "scope_arena",
	.init = open_space_init,
	.exit = open_space_exit,
	.cases = scope_arena_cases,
	.any_space = true,
};
kunit_test_suite(scope_arena_suite);
