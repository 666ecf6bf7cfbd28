/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arena_space.h - arenas of a test space, and what must hold of them.
 */
#ifndef TESTS_ARENA_SPACE_H
#define TESTS_ARENA_SPACE_H

#include "tests/open_space.h"

static inline struct slabdev_arena *
new_arena_attr(struct kunit *test, struct slabdev *sd,
	       const struct slabdev_arena_attr *attr)
{
	struct slabdev_arena *arena = NULL;

	KUNIT_ASSERT_EQ_MSG(test, slabdev_arena_create(&arena, sd, attr), 0,
			    "%s", slabdev_last_error());
	return arena;
}

/* Of so many bytes at most. */
static inline struct slabdev_arena *new_arena(struct kunit *test,
					      struct slabdev *sd, u64 bytes)
{
	struct slabdev_arena_attr attr = SLABDEV_ARENA_ATTR_INIT;

	attr.max_bytes = bytes;
	attr.name = "test";
	return new_arena_attr(test, sd, &attr);
}

static inline void end_arena(struct kunit *test, struct slabdev_arena *arena)
{
	KUNIT_EXPECT_EQ_MSG(test, slabdev_arena_destroy(arena), 0, "%s",
			    slabdev_last_error());
}

static inline struct slabdev_arena_stats
arena_figures(struct kunit *test, struct slabdev_arena *arena)
{
	struct slabdev_arena_stats st = { .used = 1 };

	KUNIT_EXPECT_EQ_MSG(test, slabdev_arena_stats(arena, &st, sizeof(st)),
			    0, "%s", slabdev_last_error());
	KUNIT_EXPECT_LE(test, st.used, st.peak);
	KUNIT_EXPECT_LE(test, st.peak, st.max_bytes);
	KUNIT_EXPECT_LE(test, st.padding, st.used);
	return st;
}

static inline void *arena_take(struct kunit *test, struct slabdev_arena *arena,
			       size_t size)
{
	void *p = slabdev_arena_alloc(arena, size);

	KUNIT_ASSERT_NOT_NULL_MSG(test, p, "%zu bytes: %s", size,
				  slabdev_last_error());
	return p;
}

static inline struct slabdev_arena_mark
arena_mark_of(struct kunit *test, struct slabdev_arena *arena)
{
	struct slabdev_arena_mark mark = SLABDEV_ARENA_MARK_INIT;

	KUNIT_ASSERT_EQ_MSG(test, slabdev_arena_mark(arena, &mark), 0, "%s",
			    slabdev_last_error());
	return mark;
}

static inline u64 bytes_between(const void *from, const void *to)
{
	return (u64)(uintptr_t)to - (u64)(uintptr_t)from;
}

#define EXPECT_NO_ROOM(test, arena, bytes, err)				\
do {									\
	errno = 0;							\
	KUNIT_EXPECT_NULL(test, slabdev_arena_alloc(arena, bytes));	\
	KUNIT_EXPECT_EQ(test, errno, err);				\
	KUNIT_EXPECT_STRNEQ(test, slabdev_last_error(), "");		\
} while (0)

#define EXPECT_WORDS(test, text, words)					\
	KUNIT_EXPECT_TRUE_MSG(test, strstr(text, words), "no '%s' in: %s", \
			      words, text)

#endif /* TESTS_ARENA_SPACE_H */
