/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * buf_space.h - buffers of a test space.
 */
#ifndef TESTS_BUF_SPACE_H
#define TESTS_BUF_SPACE_H

#include "tests/open_space.h"

static inline struct slabdev_buf *must_make(struct kunit *test,
					    struct slabdev *sd, size_t size)
{
	struct slabdev_buf *buf = NULL;

	KUNIT_ASSERT_EQ_MSG(test, slabdev_buf_alloc(&buf, sd, size, NULL), 0,
			    "%s", slabdev_last_error());
	KUNIT_EXPECT_NOT_NULL(test, slabdev_buf_ptr(buf));
	return buf;
}

static inline struct slabdev_buf *must_view(struct kunit *test,
					    struct slabdev_buf *buf,
					    size_t offset, size_t size)
{
	struct slabdev_buf *view = NULL;

	KUNIT_ASSERT_EQ_MSG(test, slabdev_buf_view(&view, buf, offset, size),
			    0, "%s", slabdev_last_error());
	return view;
}

#define EXPECT_ERROR_HAS(test, text) \
	KUNIT_EXPECT_TRUE_MSG(test, strstr(slabdev_last_error(), text), \
			      "no '%s' in: %s", text, slabdev_last_error())

/* The cases of the suite that are in buf_streams.c. */
void all_owners_are_waited_for(struct kunit *test);
void views_are_waited_for(struct kunit *test);
void too_many_streams(struct kunit *test);
void wrong_stream_changes_nothing(struct kunit *test);
void bound_stream_and_another(struct kunit *test);

/* The cases of the suite that are in buf_threads.c. */
void many_threads_own_it(struct kunit *test);
void of_two_puts_one_frees(struct kunit *test);
void wrong_free_beside_the_last_put(struct kunit *test);

#endif /* TESTS_BUF_SPACE_H */
