/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arena_cases.h - what the files of the suite arena share.
 */
#ifndef TESTS_ARENA_CASES_H
#define TESTS_ARENA_CASES_H

#include <errno.h>

#include "tests/arena_space.h"

static inline void expect_refused(struct kunit *test,
				  struct slabdev_arena *arena, int err)
{
	struct slabdev_arena_mark mark = { 1, 0 };
	struct slabdev_arena_stats st;

	KUNIT_EXPECT_NULL(test, slabdev_arena_alloc(arena, 1));
	KUNIT_EXPECT_EQ(test, errno, -err);
	KUNIT_EXPECT_NULL(test, slabdev_arena_alloc_aligned(arena, 1, 256));
	KUNIT_EXPECT_EQ(test, errno, -err);
	KUNIT_EXPECT_EQ(test, slabdev_arena_mark(arena, &mark), err);
	KUNIT_EXPECT_EQ(test, slabdev_arena_rewind(arena, &mark), err);
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), err);
	KUNIT_EXPECT_EQ(test, slabdev_arena_use(arena, NULL), err);
	KUNIT_EXPECT_EQ(test, slabdev_arena_stats(arena, &st, sizeof(st)),
			err);
}

/* The cases of the suite that are in arena_tokens.c. */
void stale_tokens_are_refused(struct kunit *test);
void what_is_no_token_is_refused(struct kunit *test);
void rewinding_goes_back_to_a_mark(struct kunit *test);
void misused_marks_are_refused(struct kunit *test);
void marks_are_counted(struct kunit *test);

#endif /* TESTS_ARENA_CASES_H */
