/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * manager_space.h - managers of host memory, and what they count.
 */
#ifndef TESTS_MANAGER_SPACE_H
#define TESTS_MANAGER_SPACE_H

#include "tests/open_space.h"

#define HOST SLABDEV_MEMORY_HOST, SLABDEV_NO_DEVICE

#define EXPECT_ERROR_HAS(test, text) \
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(slabdev_last_error(), text), \
				  "no '%s' in: %s", text, slabdev_last_error())

static inline struct slabdev_manager *new_manager(struct kunit *test,
						  const char *name)
{
	struct slabdev_manager_attr attr = SLABDEV_MANAGER_ATTR_INIT;
	struct slabdev_manager *m = NULL;

	attr.name = name;
	KUNIT_ASSERT_EQ_MSG(test, slabdev_manager_create(&m, &attr), 0, "%s",
			    slabdev_last_error());
	return m;
}

static inline void end_manager(struct kunit *test, struct slabdev_manager *m)
{
	KUNIT_EXPECT_EQ_MSG(test, slabdev_manager_destroy(m, 0), 0, "%s",
			    slabdev_last_error());
}

static inline struct slabdev *host_of(struct kunit *test,
				      struct slabdev_manager *m)
{
	struct slabdev *sd = NULL;

	KUNIT_ASSERT_EQ_MSG(test, slabdev_manager_space(m, HOST, &sd), 0, "%s",
			    slabdev_last_error());
	return sd;
}

static inline struct slabdev_ledger total_of(struct kunit *test,
					     struct slabdev_manager *m)
{
	struct slabdev_ledger l = { .spaces = 77 };

	KUNIT_EXPECT_EQ(test, slabdev_manager_total(m, &l, sizeof(l)), 0);
	return l;
}

/* The cases of the suite that are in manager_life.c. */
void stale_token_is_refused_for_ever(struct kunit *test);
void what_never_was_a_manager_is_refused(struct kunit *test);
void copy_of_a_token_is_the_same_manager(struct kunit *test);
void managers_share_nothing(struct kunit *test);
void as_many_managers_as_there_can_be(struct kunit *test);
void wrong_pointers_are_refused(struct kunit *test);
void any_object_of_its_spaces_can_be_freed(struct kunit *test);
void frees_of_others_do_not_lower_the_peak(struct kunit *test);
void destroy_refuses_while_something_is_live(struct kunit *test);
void destroy_insists_when_it_is_told_to(struct kunit *test);
void space_closed_behind_its_back_is_noticed(struct kunit *test);

/* The cases of the suite that are in manager_threads.c. */
void first_users_at_once_get_one_space(struct kunit *test);
void call_from_within_an_open_does_not_hang(struct kunit *test);
void manager_survives_a_fork(struct kunit *test);

#endif /* TESTS_MANAGER_SPACE_H */
