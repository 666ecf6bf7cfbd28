/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guard_space.h - a host space in which chosen objects are guarded.
 *
 * The parameter is read once a process. So a case opens a space without
 * sheaves, which is what the parameter does, and says itself which are chosen.
 */
#ifndef TESTS_GUARD_SPACE_H
#define TESTS_GUARD_SPACE_H

#include <fcntl.h>
#include <unistd.h>

#include "core/log.h"
#include "slab/guard.h"
#include "slab/guard_record.h"
#include "tests/open_space.h"

static inline void guard_sizes(struct slabdev *sd, u64 every, u64 least,
			       u64 most)
{
	sd->guards.every = every;
	sd->guards.least = least;
	sd->guards.most = most;
}

/* One of @every objects is guarded, whatever its size. */
static inline struct slabdev *guard_open(struct kunit *test, u64 limit,
					 u64 every)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd;

	host_only(test, "the case looks at mappings of its own process");
	attr.limit = limit;
	attr.flags = SLABDEV_OPEN_NO_SHEAVES;
	attr.name = "test";
	sd = open_space_attr(test, &attr);
	guard_sizes(sd, every, 0, UINT64_MAX);
	return sd;
}

static inline struct slabdev_guard_stats guard_stats(struct kunit *test,
						     struct slabdev *sd)
{
	struct slabdev_guard_stats st = { 0 };

	KUNIT_EXPECT_EQ(test, slabdev_guard_stats(sd, &st, sizeof(st)), 0);
	return st;
}

/* Can the byte be read? The kernel tries, and says so without a signal. */
static inline bool is_mapped(struct kunit *test, const volatile void *p)
{
	ssize_t n;
	int fd[2];

	KUNIT_ASSERT_EQ(test, pipe(fd), 0);
	n = write(fd[1], (const void *)(uintptr_t)p, 1);
	close(fd[0]);
	close(fd[1]);
	return n == 1;
}

/* Its slack is less than its alignment, and then nothing is mapped, for a
 * chunk; nor is there anything before the mapping. */
static inline void expect_guarded(struct kunit *test, const char *p, u64 size,
				  u64 align)
{
	u64 end = align_up((u64)(uintptr_t)p + size, align);
	const char *wall = to_ptr(end);
	const char *begin = to_ptr(end - align_up(size, CHUNK));

	KUNIT_EXPECT_EQ(test, (u64)(uintptr_t)p % align, 0);
	KUNIT_EXPECT_EQ(test, end % CHUNK, 0);
	KUNIT_EXPECT_TRUE(test, is_mapped(test, p));
	KUNIT_EXPECT_TRUE(test, is_mapped(test, wall - 1));
	KUNIT_EXPECT_FALSE(test, is_mapped(test, wall));
	KUNIT_EXPECT_FALSE(test, is_mapped(test, wall + CHUNK - 1));
	KUNIT_EXPECT_TRUE(test, is_mapped(test, begin));
	KUNIT_EXPECT_FALSE(test, is_mapped(test, begin - 1));
	KUNIT_EXPECT_FALSE(test, is_mapped(test, begin - CHUNK));
}

#endif /* TESTS_GUARD_SPACE_H */
