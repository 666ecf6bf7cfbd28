// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_abi_test.c - our declarations of the driver against the toolkit's.
 *
 * tests/cuda_abi/compare makes programs of both and compares what they print.
 * A toolkit of CUDA is looked for in /usr/local/cuda, or where CUDA_HOME says.
 */
#include "tests/kunit/kunit.h"
#include "tests/kunit/spawn.h"

#define EXIT_SKIPPED 77

static void compare(struct kunit *test, const char *what)
{
	const char *script = kunit_source_path(test, "tests/cuda_abi/compare");
	struct kunit_process proc;

	kunit_run_program(test, &proc,
			  (const char *[]){ "sh", script, what, NULL });
	if (proc.exit_code == EXIT_SKIPPED)
		kunit_skip(test, "%s", proc.out);
	if (proc.exit_code)
		kunit_show_process(test, &proc);
	KUNIT_EXPECT_EQ(test, proc.exit_code, 0);
}

/* The value of each enumerator and macro. */
static void constants(struct kunit *test)
{
	compare(test, "constants");
}

/* The size of each structure, and the place of each field. */
static void structures(struct kunit *test)
{
	compare(test, "structures");
}

/* The type of each function, and of the pointer to each of its version. */
static void functions(struct kunit *test)
{
	compare(test, "functions");
}

/* Each name is one that the toolkit's stub of the driver exports. */
static void names(struct kunit *test)
{
	compare(test, "names");
}

/* And the model exports each, too. */
static void names_of_the_model(struct kunit *test)
{
	compare(test, "model");
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(constants),
	KUNIT_CASE(structures),
	KUNIT_CASE(functions),
	KUNIT_CASE(names),
	KUNIT_CASE(names_of_the_model),
	{ 0 }
};

static const struct kunit_suite cuda_abi_suite = {
	.name = "cuda_abi",
	.cases = cases,
};
kunit_test_suite(cuda_abi_suite);
