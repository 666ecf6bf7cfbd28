/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bad_input.h - calls that must be refused.
 *
 * A line is the errno that is expected, words that the error text must have,
 * the name of the parameter among them, and the call. Around each the figures
 * of the space are compared, of which none may change but that of failures, and
 * what a creator would have set is still what it was.
 */
#ifndef TESTS_BAD_INPUT_H
#define TESTS_BAD_INPUT_H

#include "tests/open_space.h"

/* What is in an output that was not written. */
static inline void *untouched(void)
{
	return (void *)(uintptr_t)0xdead0000;
}

/* Of a call that returns an address, or a size. */
#define SET_ERRNO(call) ((call) ? 0 : -errno)

static inline void expect_same(struct kunit *test,
			       const struct slabdev_stats *before,
			       const char *call)
{
	struct slabdev_stats now = stats_of(test, test->priv);

	now.failed = before->failed;
	/* Names that were looked up may have taken room on the host. */
	now.host_bytes = before->host_bytes;
	KUNIT_EXPECT_MEMEQ(test, &now, before, sizeof(now));
	if (memcmp(&now, before, sizeof(now)))
		KUNIT_FAIL(test, "after %s", call);
}

#define REFUSED(test, err, words, call)					\
do {									\
	struct slabdev_stats before_ = stats_of(test, (test)->priv);	\
	int got_;							\
									\
	errno = 0;							\
	got_ = (int)(call);						\
	KUNIT_EXPECT_EQ_MSG(test, got_, err, "%s: %s", #call,		\
			    slabdev_last_error());			\
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(slabdev_last_error(),	\
				  words), "%s: no '%s' in: %s", #call,	\
				  words, slabdev_last_error());		\
	expect_same(test, &before_, #call);				\
} while (0)

/* The same of a call that reports it, too. */
#define REPORTED(test, kind, err, words, call)				\
do {									\
	kunit_expect_report(test, kind);				\
	REFUSED(test, err, words, call);				\
} while (0)

#endif /* TESTS_BAD_INPUT_H */
