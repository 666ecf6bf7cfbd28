// SPDX-License-Identifier: BSD-2-Clause
/*
 * kunit_demo_expect.c - every EXPECT and ASSERT, with operands that fail it.
 *
 * One line of the list below is one family: its name and the operands. Each is
 * used in its four forms, one parameterized case a form. See kunit_demo.c.
 */
#include <errno.h>
#include <stdio.h>

#include "tests/kunit/kunit.h"

static const int one = 1, two = 2;
static const u8 left[] = { 1, 2, 3, 4 };
static const u8 right[] = { 1, 2, 9, 4 };
static const void *const nothing;

#define EACH_FAMILY(X)				\
	X(TRUE, one > two)			\
	X(FALSE, one < two)			\
	X(EQ, one, two)				\
	X(NE, one, one)				\
	X(LT, two, one)				\
	X(LE, two, one)				\
	X(GT, one, two)				\
	X(GE, one, two)				\
	X(PTR_EQ, &one, nothing)		\
	X(PTR_NE, &one, &one)			\
	X(NULL, &one)				\
	X(NOT_NULL, nothing)			\
	X(STREQ, "left", "right")		\
	X(STRNEQ, "same", "same")		\
	X(MEMEQ, left, right, sizeof(left))	\
	X(MEMNEQ, left, left, sizeof(left))

#define DEFINE_FORMS(family, ...)					\
	static void expect_##family(struct kunit *test)			\
	{								\
		KUNIT_EXPECT_##family(test, __VA_ARGS__);		\
		kunit_info(test, "went on");				\
	}								\
	static void expect_msg_##family(struct kunit *test)		\
	{								\
		KUNIT_EXPECT_##family##_MSG(test, __VA_ARGS__,		\
					    "message %d", 5);		\
		kunit_info(test, "went on");				\
	}								\
	static void assert_##family(struct kunit *test)			\
	{								\
		KUNIT_ASSERT_##family(test, __VA_ARGS__);		\
		kunit_info(test, "not reached");			\
	}								\
	static void assert_msg_##family(struct kunit *test)		\
	{								\
		KUNIT_ASSERT_##family##_MSG(test, __VA_ARGS__,		\
					    "message %d", 5);		\
		kunit_info(test, "not reached");			\
	}

EACH_FAMILY(DEFINE_FORMS)

struct family {
	const char *name;
	void (*forms[4])(struct kunit *test);
};

#define FAMILY_ENTRY(family, ...)				\
	{ #family, { expect_##family, expect_msg_##family,	\
		     assert_##family, assert_msg_##family } },

static const struct family families[] = { EACH_FAMILY(FAMILY_ENTRY) };

static void family_desc(const struct family *family, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", family->name);
}

KUNIT_ARRAY_PARAM(family, families, family_desc)

static void use_form(struct kunit *test, unsigned int form)
{
	const struct family *family = test->param_value;

	family->forms[form](test);
}

static void expects(struct kunit *test)
{
	use_form(test, 0);
}

static void expects_with_message(struct kunit *test)
{
	use_form(test, 1);
}

static void asserts(struct kunit *test)
{
	use_form(test, 2);
}

static void asserts_with_message(struct kunit *test)
{
	use_form(test, 3);
}

static const struct kunit_case families_cases[] = {
	KUNIT_CASE_PARAM(expects, family_gen_params),
	KUNIT_CASE_PARAM(expects_with_message, family_gen_params),
	KUNIT_CASE_PARAM(asserts, family_gen_params),
	KUNIT_CASE_PARAM(asserts_with_message, family_gen_params),
	{}
};

static const struct kunit_suite demo_expect = {
	.name = "demo_expect",
	.cases = families_cases,
};

/* ---- demo_values: how operands are printed ---------------------------- */

static void *fail_with(int err)
{
	errno = err;
	return NULL;
}

static void numbers(struct kunit *test)
{
	const size_t size = 4096;
	const u64 most = UINT64_MAX;
	const double half = 0.5;

	KUNIT_EXPECT_EQ(test, -one, 1u);
	KUNIT_EXPECT_EQ(test, size, -1);
	KUNIT_EXPECT_EQ(test, most, -1);
	KUNIT_EXPECT_EQ(test, one == two, true);
	KUNIT_EXPECT_EQ(test, half, 1);
}

static void texts(struct kunit *test)
{
	const char *text = "what it is";
	const char *no_text = NULL;

	KUNIT_EXPECT_STREQ(test, text, "what it should be");
	KUNIT_EXPECT_STREQ(test, text, no_text);
}

static void errnos(struct kunit *test)
{
	KUNIT_EXPECT_ERRNO(test, fail_with(ENOMEM), EDQUOT);
	KUNIT_ASSERT_ERRNO(test, &one, 0);
	KUNIT_FAIL(test, "not reached");
}

static void reports(struct kunit *test)
{
	KUNIT_EXPECT_REPORT_HAS(test, "owner");
	KUNIT_ASSERT_REPORT_HAS(test, "owner");
	KUNIT_FAIL(test, "not reached");
}

static const struct kunit_case values_cases[] = {
	KUNIT_CASE(numbers),
	KUNIT_CASE(texts),
	KUNIT_CASE(errnos),
	KUNIT_CASE(reports),
	{}
};

static const struct kunit_suite demo_values = {
	.name = "demo_values",
	.cases = values_cases,
};

kunit_demo_suites(&demo_expect, &demo_values);
