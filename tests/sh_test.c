// SPDX-License-Identifier: BSD-2-Clause
/*
 * sh_test.c - the suite "build": each script tests/sh/NAME.sh is a test.
 *
 * A script ends with 0 for passed, 77 for skipped with the reason as the last
 * line of its standard output, and anything else for failed; what it printed
 * then is shown. It finds the sources by SRCTREE in the environment.
 */
#include <glob.h>
#include <limits.h>
#include <stdio.h>

#include "tests/kunit/kunit.h"
#include "tests/kunit/spawn.h"

#define EXIT_SKIPPED 77

static glob_t scripts;

static void find_in(const char *top)
{
	char pattern[PATH_MAX];

	snprintf(pattern, sizeof(pattern), "%s/tests/sh/*.sh", top);
	if (!scripts.gl_pathc)
		glob(pattern, 0, NULL, &scripts);
}

/*
 * Before any case, so that the scripts can be its parameters. Without a tree
 * there are none, and the case is skipped for that.
 */
static int find_scripts(const struct kunit_suite *suite)
{
	const char *top = getenv("SRCTREE");

	(void)suite;
	find_in(top ? top : ".");
	return 0;
}

static void forget_scripts(const struct kunit_suite *suite)
{
	(void)suite;
	globfree(&scripts);
}

static const void *script_gen_params(const void *prev, char *desc)
{
	char *const *path = prev ? (char *const *)prev + 1 : scripts.gl_pathv;
	const char *name;

	if (!path || !*path)
		return NULL;
	name = strrchr(*path, '/') + 1;
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%.*s",
		 (int)strlen(name) - (int)strlen(".sh"), name);
	return path;
}

static void skip_with_last_line(struct kunit *test, const char *out)
{
	char *text = kunit_kzalloc(test, strlen(out) + 1);
	char *line;

	strcpy(text, out);
	while (*text && text[strlen(text) - 1] == '\n')
		text[strlen(text) - 1] = '\0';
	line = strrchr(text, '\n');
	kunit_skip(test, "%s", line ? line + 1 : text);
}

static void script(struct kunit *test)
{
	char *const *path = test->param_value;
	struct kunit_process proc;

	kunit_run_program(test, &proc, (const char *[]){ "sh", *path, NULL });
	if (proc.exit_code == EXIT_SKIPPED)
		skip_with_last_line(test, proc.out);
	if (proc.exit_code)
		kunit_show_process(test, &proc);
	KUNIT_EXPECT_EQ(test, proc.exit_code, 0);
}

static const struct kunit_case build_cases[] = {
	KUNIT_CASE_PARAM(script, script_gen_params, .slow = true,
			 .timeout_s = 600),
	{}
};

static const struct kunit_suite build_suite = {
	.name = "build",
	.suite_init = find_scripts,
	.suite_exit = forget_scripts,
	.cases = build_cases,
};

kunit_test_suite(build_suite);
