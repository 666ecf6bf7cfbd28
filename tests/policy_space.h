/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy_space.h - a test space with a policy.
 */
#ifndef TESTS_POLICY_SPACE_H
#define TESTS_POLICY_SPACE_H

#include "tests/open_space.h"

static inline struct slabdev *open_policy(struct kunit *test, u32 mode,
					  u64 keep)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.limit = GIB;
	attr.policy.mode = mode;
	attr.policy.keep_bytes = keep;
	return case_space_attr(test, &attr);
}

/* The cases of the suite that are in policy_steady.c. */
void one_thread_reaches_a_steady_state(struct kunit *test);
void two_threads_reach_a_steady_state(struct kunit *test);
void working_set_settles(struct kunit *test);
void random_replacement_settles(struct kunit *test);
void breach_of_steadiness_is_reported(struct kunit *test);
void reuse_is_no_breach(struct kunit *test);
void thrashing_is_reported(struct kunit *test);

#endif /* TESTS_POLICY_SPACE_H */
