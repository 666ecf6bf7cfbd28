/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group_space.h - groups in a space of open_space.h.
 */
#ifndef TESTS_GROUP_SPACE_H
#define TESTS_GROUP_SPACE_H

#include "tests/open_space.h"

static inline struct slabdev_group *
must_group_ex(struct kunit *test, struct slabdev *sd, const size_t *sizes,
	      size_t n, void **ptrs, const struct slabdev_group_attr *attr)
{
	struct slabdev_group *g = NULL;

	KUNIT_ASSERT_EQ_MSG(test, slabdev_group_alloc_ex(&g, sd, sizes, n, ptrs,
							 attr), 0,
			    "%zu blocks: %s", n, slabdev_last_error());
	return g;
}

static inline struct slabdev_group *
must_group(struct kunit *test, struct slabdev *sd, const size_t *sizes,
	   size_t n, size_t align, void **ptrs)
{
	struct slabdev_group *g = NULL;

	KUNIT_ASSERT_EQ_MSG(test, slabdev_group_alloc(&g, sd, sizes, n, align,
						      ptrs), 0,
			    "%zu blocks: %s", n, slabdev_last_error());
	return g;
}

#define EXPECT_GROUP_FREED(test, g) \
	KUNIT_EXPECT_EQ_MSG(test, slabdev_group_free(g), 0, "%s", \
			    slabdev_last_error())

#define EXPECT_ERROR_HAS(test, text) \
	KUNIT_EXPECT_TRUE_MSG(test, strstr(slabdev_last_error(), text), \
			      "no '%s' in: %s", text, slabdev_last_error())

/* Bytes from the base of its group to a block. */
static inline size_t offset_in(const struct slabdev_group *g, const void *p)
{
	return (size_t)((const char *)p - (char *)slabdev_group_base(g));
}

#endif /* TESTS_GROUP_SPACE_H */
