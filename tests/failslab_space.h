/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * failslab_space.h - allocations of a test space that are to fail.
 */
#ifndef TESTS_FAILSLAB_SPACE_H
#define TESTS_FAILSLAB_SPACE_H

#include <errno.h>
#include <stdio.h>

#include "tests/open_space.h"

static inline struct slabdev_fault get_fault(struct kunit *test,
					     struct slabdev *sd)
{
	struct slabdev_fault f = SLABDEV_FAULT_INIT;

	KUNIT_EXPECT_EQ(test, slabdev_get_fault(sd, &f, sizeof(f)), 0);
	return f;
}

static inline void set_fault(struct kunit *test, struct slabdev *sd,
			     const struct slabdev_fault *f)
{
	KUNIT_ASSERT_EQ_MSG(test, slabdev_set_fault(sd, f), 0, "%s",
			    slabdev_last_error());
}

static inline void expect_failure(struct kunit *test, struct slabdev *sd,
				  void *p, const char *name)
{
	char wanted[80];

	KUNIT_EXPECT_EQ(test, errno, ENOMEM);
	KUNIT_EXPECT_NULL(test, p);
	if (p)
		EXPECT_FREED(test, sd, p);
	snprintf(wanted, sizeof(wanted), " from %s was made to fail", name);
	KUNIT_EXPECT_MEMEQ(test, slabdev_last_error(), "failslab: ", 10);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(slabdev_last_error(), wanted),
				  "%s", slabdev_last_error());
}

/* The cases of the suite that are in failslab_programs.c. */
void every_unwinding_path_is_walked(struct kunit *test);
void program_fails_by_its_environment(struct kunit *test);
void environment_is_for_every_space(struct kunit *test);
void fault_is_told(struct kunit *test);

#endif /* TESTS_FAILSLAB_SPACE_H */
