// SPDX-License-Identifier: BSD-2-Clause
/* arena_tokens.c - tokens of arenas, their marks, and what is no such thing. */
#include <errno.h>

#include "core/log.h"
#include "tests/arena_cases.h"

/* ---- Handles ------------------------------------------------------------- */

/* A stale handle is refused for ever, whoever has its entry now. */
void stale_tokens_are_refused(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_arena *old = new_arena(test, sd, 4096), *other;

	end_arena(test, old);
	expect_refused(test, old, -EALREADY);
	other = new_arena(test, sd, 4096);
	KUNIT_EXPECT_PTR_NE(test, old, other);
	expect_refused(test, old, -EALREADY);
	kunit_expect_report(test, REPORT_DOUBLE_FREE);
	KUNIT_EXPECT_EQ(test, slabdev_arena_destroy(old), -EALREADY);
	arena_take(test, other, 1);
	end_arena(test, other);
}

void what_is_no_token_is_refused(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_arena *arena = new_arena(test, sd, 4096);
	u64 name = (u64)(uintptr_t)arena;
	char here;

	expect_refused(test, NULL, -EINVAL);
	expect_refused(test, (void *)&here, -EINVAL);
	expect_refused(test, to_ptr(name + 0xffff), -EINVAL);
	expect_refused(test, to_ptr(name + ((u64)1 << 24)), -EINVAL);
	expect_refused(test, to_ptr(name + ((u64)1 << 32)), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_arena_destroy(NULL), 0);
	KUNIT_EXPECT_EQ(test, slabdev_arena_stats(arena, NULL, 8), -EINVAL);
	end_arena(test, arena);
	/* NULL would be the first entry, which has no arena now. */
	expect_refused(test, NULL, -EINVAL);
	expect_refused(test, to_ptr(~name), -EINVAL);
}

/* ---- Marks --------------------------------------------------------------- */

void rewinding_goes_back_to_a_mark(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_arena *arena = new_arena(test, sd, 32 * MIB);
	struct slabdev_arena_mark outer, inner;
	struct slabdev_arena_stats st;
	char *a, *b;

	arena_take(test, arena, 1000);
	outer = arena_mark_of(test, arena);
	KUNIT_EXPECT_EQ(test, outer.offset, 1000);
	a = arena_take(test, arena, 5 * MIB);
	inner = arena_mark_of(test, arena);
	b = arena_take(test, arena, 7 * MIB);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).marks, 2);
	KUNIT_EXPECT_EQ(test, slabdev_arena_rewind(arena, &inner), 0);
	KUNIT_EXPECT_PTR_EQ(test, arena_take(test, arena, 100), b);
	KUNIT_EXPECT_EQ(test, slabdev_arena_rewind(arena, &outer), 0);
	st = arena_figures(test, arena);
	KUNIT_EXPECT_EQ(test, st.used, 1000);
	KUNIT_EXPECT_EQ(test, st.padding, 0);
	KUNIT_EXPECT_EQ(test, st.marks, 0);
	KUNIT_EXPECT_EQ(test, st.rewinds, 2);
	KUNIT_EXPECT_EQ(test, st.requested_total, 12 * MIB + 1100);
	KUNIT_EXPECT_EQ(test, st.padding_total, 24);
	KUNIT_EXPECT_PTR_EQ(test, arena_take(test, arena, 1), a);
	end_arena(test, arena);
}

#define EXPECT_NOT_REWOUND(test, arena, mark, err, words)		\
do {									\
	struct slabdev_arena_stats before_ = arena_figures(test, arena); \
	struct slabdev_arena_stats after_;				\
									\
	KUNIT_EXPECT_EQ(test, slabdev_arena_rewind(arena, mark), err);	\
	EXPECT_WORDS(test, slabdev_last_error(), words);		\
	after_ = arena_figures(test, arena);				\
	KUNIT_EXPECT_MEMEQ(test, &before_, &after_, sizeof(before_));	\
} while (0)

void misused_marks_are_refused(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_arena *arena = new_arena(test, sd, 4 * MIB);
	struct slabdev_arena *other = new_arena(test, sd, 4096);
	struct slabdev_arena_mark a, b, c, none = SLABDEV_ARENA_MARK_INIT, bad;

	a = arena_mark_of(test, arena);
	arena_take(test, arena, 100);
	b = arena_mark_of(test, arena);
	arena_take(test, arena, 100);
	c = arena_mark_of(test, arena);
	EXPECT_NOT_REWOUND(test, other, &a, -EINVAL, "another one");
	EXPECT_NOT_REWOUND(test, arena, NULL, -EINVAL, "mark is NULL");
	EXPECT_NOT_REWOUND(test, arena, &none, -EINVAL, "no mark");
	bad = c;
	bad.id++;
	EXPECT_NOT_REWOUND(test, arena, &bad, -EINVAL, "no mark");
	bad = b;
	bad.offset -= 1;
	EXPECT_NOT_REWOUND(test, arena, &bad, -EINVAL, "written to");
	KUNIT_EXPECT_EQ(test, slabdev_arena_rewind(arena, &b), 0);
	EXPECT_NOT_REWOUND(test, arena, &b, -EALREADY, "has ended");
	/* The inner one went with the outer one. */
	EXPECT_NOT_REWOUND(test, arena, &c, -EALREADY, "has ended");
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	EXPECT_NOT_REWOUND(test, arena, &a, -EALREADY, "has ended");
	KUNIT_EXPECT_EQ(test, slabdev_arena_mark(arena, NULL), -EINVAL);
	end_arena(test, other);
	end_arena(test, arena);
	/* An arena in the same entry has never had that mark. */
	arena = new_arena(test, sd, 4 * MIB);
	other = new_arena(test, sd, 4 * MIB);
	EXPECT_NOT_REWOUND(test, arena, &a, -EINVAL, "another one");
	EXPECT_NOT_REWOUND(test, other, &a, -EINVAL, "another one");
	end_arena(test, other);
	end_arena(test, arena);
}

void marks_are_counted(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_arena *arena = new_arena(test, sd, 4 * MIB);
	struct slabdev_arena_mark first, mark;
	u32 i;

	first = arena_mark_of(test, arena);
	for (i = 1; i < SLABDEV_ARENA_MARKS_MAX; i++) {
		arena_take(test, arena, 1);
		mark = arena_mark_of(test, arena);
	}
	KUNIT_EXPECT_EQ(test, slabdev_arena_mark(arena, &mark), -ENOSPC);
	KUNIT_EXPECT_EQ(test, slabdev_arena_rewind(arena, &first), 0);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).used, 0);
	arena_mark_of(test, arena);
	end_arena(test, arena);
}
