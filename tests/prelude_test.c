// SPDX-License-Identifier: BSD-2-Clause
/*
 * prelude_test.c - the macros that every file is written in.
 *
 * What is constant is checked while compiling.
 */
#include "tests/kunit/kunit.h"

#define SYMBOL_THAT_IS_ON 1

static_assert(IS_ENABLED(SYMBOL_THAT_IS_ON) == 1, "1 is y");
static_assert(IS_ENABLED(SYMBOL_THAT_NOBODY_DEFINES) == 0, "nothing is n");
#if IS_ENABLED(SYMBOL_THAT_NOBODY_DEFINES) || !IS_ENABLED(SYMBOL_THAT_IS_ON)
#error "IS_ENABLED() in the preprocessor"
#endif

static_assert(KIB == 1024 && MIB == 1024 * KIB && GIB == 1024 * MIB &&
	      TIB == 1024 * GIB, "units");

struct outer {
	char before[3];
	struct inner {
		int x;
	} inner;
};

static void container_of_finds_the_outer(struct kunit *test)
{
	struct outer o;

	KUNIT_EXPECT_PTR_EQ(test, container_of(&o.inner, struct outer, inner),
			    &o);
	KUNIT_EXPECT_EQ(test, ARRAY_SIZE(o.before), 3);
}

static void min_and_max_evaluate_once(struct kunit *test)
{
	int i = 1, j = 5;

	KUNIT_EXPECT_EQ(test, min(i++, j++), 1);
	KUNIT_EXPECT_EQ(test, i + j, 8);
	KUNIT_EXPECT_EQ(test, max(i++, j++), 6);
	KUNIT_EXPECT_EQ(test, i + j, 10);
	KUNIT_EXPECT_EQ(test, min((u64)-1, (u64)1), 1);
}

static void marked_accesses_read_what_was_written(struct kunit *test)
{
	u64 x = 0;

	WRITE_ONCE(x, 5);
	KUNIT_EXPECT_EQ(test, READ_ONCE(x), 5);
	store_release(&x, 6);
	barrier();
	KUNIT_EXPECT_EQ(test, load_acquire(&x), 6);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(container_of_finds_the_outer),
	KUNIT_CASE(min_and_max_evaluate_once),
	KUNIT_CASE(marked_accesses_read_what_was_written),
	{ 0 }
};

static const struct kunit_suite prelude_suite = {
	.name = "prelude",
	.cases = cases,
};
kunit_test_suite(prelude_suite);
