/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * share_space.h - spaces that export their memory.
 */
#ifndef TESTS_SHARE_SPACE_H
#define TESTS_SHARE_SPACE_H

#include "tests/open_space.h"

static inline struct slabdev *open_shared(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd = NULL;

	attr.limit = 256 * MIB;
	attr.handle_type = SLABDEV_HANDLE_FD;
	attr.name = "shared";
	KUNIT_ASSERT_EQ_MSG(test, slabdev_open(&sd, "host", &attr), 0, "%s",
			    slabdev_last_error());
	return sd;
}

static inline struct slabdev_share must_export(struct kunit *test,
					       struct slabdev *sd, void *p)
{
	struct slabdev_share share = SLABDEV_SHARE_INIT;

	KUNIT_ASSERT_EQ_MSG(test, slabdev_export(sd, p, &share), 0, "%s",
			    slabdev_last_error());
	return share;
}

#define EXPECT_EXPORT_ENDED(test, sd, p, share) \
	KUNIT_EXPECT_EQ_MSG(test, slabdev_export_end(sd, p, share), 0, "%s", \
			    slabdev_last_error())

#define EXPECT_ERROR_HAS(test, text) \
	KUNIT_EXPECT_TRUE_MSG(test, strstr(slabdev_last_error(), text), \
			      "no '%s' in: %s", text, slabdev_last_error())

/* The cases of the suite that are in share_hostile.c. */
void hostile_descriptors_are_refused(struct kunit *test);
void hostile_numbers_are_refused(struct kunit *test);
void garbage_from_a_socket_is_refused(struct kunit *test);
void socket_that_is_closed_is_told(struct kunit *test);

#endif /* TESTS_SHARE_SPACE_H */
