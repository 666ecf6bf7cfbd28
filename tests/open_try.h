/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * open_try.h - opening with attributes, where it works and where it does not.
 */
#ifndef TESTS_OPEN_TRY_H
#define TESTS_OPEN_TRY_H

#include "tests/open_space.h"

static inline int try_open(struct kunit *test, const char *spec,
			   const struct slabdev_attr *attr)
{
	struct slabdev *untouched = (void *)test, *sd = untouched;
	int err = slabdev_open(&sd, spec, attr);

	if (err) {
		KUNIT_EXPECT_PTR_EQ(test, sd, untouched);
		KUNIT_EXPECT_TRUE(test, strlen(slabdev_last_error()) > 0);
	} else {
		close_space(test, sd);
	}
	return err;
}

static inline struct slabdev *must_open(struct kunit *test,
					const struct slabdev_attr *attr)
{
	struct slabdev *sd = NULL;

	KUNIT_ASSERT_EQ_MSG(test, slabdev_open(&sd, test_spec(), attr), 0,
			    "%s", slabdev_last_error());
	return sd;
}

/* A driver opens and maps things with the first space; they are there now, and
 * stay as long as this one does. */
static inline struct slabdev *open_first(struct kunit *test)
{
	struct slabdev *sd = must_open(test, NULL);

	EXPECT_FREED(test, sd, must_alloc(test, sd, 100));
	return sd;
}

/* The cases of the suite that are in open_env.c. */
void env_limit(struct kunit *test);
void env_limit_as_a_fraction(struct kunit *test);
void env_reserve_and_policy(struct kunit *test);
void env_caps_what_is_kept(struct kunit *test);
void env_without_membarrier(struct kunit *test);
void env_hides_statistics(struct kunit *test);
void env_with_a_bad_value(struct kunit *test);
void env_with_an_unknown_name(struct kunit *test);
void small_file_limit_is_no_signal(struct kunit *test);
void descriptors_of_others_are_left_alone(struct kunit *test);

#endif /* TESTS_OPEN_TRY_H */
