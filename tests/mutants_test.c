// SPDX-License-Identifier: BSD-2-Clause
/*
 * mutants_test.c - "make mutants" on a library of one function.
 *
 * tests/mutants/sample has the function, a strong and a weak set of tests for
 * it, and the one mutant that is no mistake.
 */
#include <stdio.h>
#include <unistd.h>

#include "tests/folder.h"
#include "tests/kunit/kunit.h"
#include "tests/kunit/spawn.h"

#define PYTHON "/usr/bin/python3"
#define PATH_SIZE 512

/* ---- Running it ------------------------------------------------------- */

static void need(struct kunit *test, const char *const probe[],
		 const char *what)
{
	struct kunit_process proc;

	if (access(PYTHON, X_OK))
		kunit_skip(test, "no " PYTHON);
	kunit_run_program(test, &proc, probe);
	if (proc.exit_code)
		kunit_skip(test, "no %s", what);
}

static void run_sample(struct kunit *test, struct kunit_process *proc,
		       const char *out)
{
	const char *const compiler[] = { "sh", "-c", "cc --version && make -v",
					 NULL };
	char equivalent[PATH_SIZE];
	const char *top = kunit_source_path(test, "tests/mutants/sample");
	const char *const argv[] = {
		PYTHON, kunit_source_path(test, "tests/mutants/run"),
		"--top", top, "--out", out, "--equivalent", equivalent,
		"clamp.c", NULL,
	};

	need(test, compiler, "compiler");
	snprintf(equivalent, sizeof(equivalent), "%s/equivalent", top);
	unsetenv("MAKEFLAGS");
	unsetenv("MAKELEVEL");
	kunit_run_program(test, proc, argv);
}

static void expect_text(struct kunit *test, const struct kunit_process *proc,
			const char *text)
{
	if (strstr(proc->out, text))
		return;
	kunit_show_process(test, proc);
	KUNIT_FAIL(test, "the output lacks: %s", text);
}

/* ---- Cases ------------------------------------------------------------ */

static void every_kind_is_found(struct kunit *test)
{
	static const char *const expected[] = {
		"value > most => 0\n", "value > most => 1\n",
		"value > most => value >= most\n",
		"return most; => return 0;\n", "return value; => return 0;\n",
	};
	const char *const argv[] = {
		PYTHON, kunit_source_path(test, "tests/mutants/run"), "--list",
		kunit_source_path(test, "tests/mutants/sample/clamp.c"), NULL,
	};
	const char *const python[] = { PYTHON, "-c", "", NULL };
	struct kunit_process proc;
	unsigned int lines = 0;

	need(test, python, PYTHON);
	kunit_run_program(test, &proc, argv);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		expect_text(test, &proc, expected[i]);
	for (const char *c = proc.out; *c; c++)
		lines += *c == '\n';
	KUNIT_EXPECT_EQ(test, lines, ARRAY_SIZE(expected));
}

static void strong_tests_leave_none(struct kunit *test)
{
	struct kunit_process proc;

	unsetenv("WEAK");
	run_sample(test, &proc, new_folder(test));
	expect_text(test, &proc, "clamp.c                        5       4"
		    "       1       0       0\n");
	KUNIT_EXPECT_EQ(test, proc.exit_code, 0);
}

static void weak_tests_leave_some(struct kunit *test)
{
	const char *out = new_folder(test);
	struct kunit_process proc;

	setenv("WEAK", "1", 1);
	run_sample(test, &proc, out);
	unsetenv("WEAK");
	expect_text(test, &proc, "clamp.c                        5       2"
		    "       1       0       2\n");
	expect_text(test, &proc, "\nclamp.c:8 clamp  (no test gets here)\n"
		    "  - return most;\n  + return 0;\n");
	KUNIT_EXPECT_EQ(test, proc.exit_code, 1);

	/* Survivors are tried again, and now there is a test. */
	run_sample(test, &proc, out);
	KUNIT_EXPECT_EQ(test, proc.exit_code, 0);
}

static const struct kunit_case mutants_cases[] = {
	KUNIT_CASE(every_kind_is_found),
	KUNIT_CASE(strong_tests_leave_none, .isolated = true),
	KUNIT_CASE(weak_tests_leave_some, .isolated = true),
	{ 0 },
};

static const struct kunit_suite mutants_suite = {
	.name = "mutants",
	.cases = mutants_cases,
};
kunit_test_suite(mutants_suite);
