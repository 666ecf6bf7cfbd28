// SPDX-License-Identifier: BSD-2-Clause
/*
 * samples_test.c - the small programs in samples/, run as a newcomer does
 *
 * They are the first code that a user copies, so each must build, do what it
 * says, print nothing on standard error, and fail with words.
 */
#include "tests/kunit/kunit.h"
#include "tests/program.h"

static const char *const hello[] = { "samples/hello/hello", NULL };

static void hello_works(struct kunit *test)
{
	struct program p;

	program_run(test, &p, hello, NULL);
	KUNIT_EXPECT_EQ(test, p.status, 0);
	KUNIT_EXPECT_STREQ(test, p.err, "");
	KUNIT_EXPECT_EQ(test, strncmp(p.out, "hello from 0x", 13), 0);
	/* Its one object, in the report that follows. */
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.out, "4096"), "%s", p.out);
}

static void hello_says_why_not(struct kunit *test)
{
	struct program p;

	program_run(test, &p, hello, "SLABDEV_LIMIT=1");
	KUNIT_EXPECT_EQ(test, p.status, 1);
	KUNIT_EXPECT_STREQ(test, p.out, "");
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, "hello: "), "%s", p.err);
	KUNIT_EXPECT_GT_MSG(test, strlen(program_last_line(test, p.err)),
			    strlen("hello: "), "%s", p.err);
}

static const struct kunit_case samples_cases[] = {
	KUNIT_CASE(hello_works),
	KUNIT_CASE(hello_says_why_not),
	{}
};

static const struct kunit_suite samples_suite = {
	.name = "samples",
	.cases = samples_cases,
};
kunit_test_suite(samples_suite);
