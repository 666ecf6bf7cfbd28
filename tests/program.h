/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * program.h - run a program that was built beside the test runner
 */
#ifndef TESTS_PROGRAM_H
#define TESTS_PROGRAM_H

#include "tests/kunit/kunit.h"

#define PROGRAM_ARGS_MAX 16

/* What came of it; the texts live as long as the case. */
struct program {
	int status;		/* exit code, or 128 + the signal */
	char *out;		/* standard output */
	char *err;		/* standard error */
};

/*
 * program_path - the path of @name, which is relative to the root of the build
 *
 * Skips the case when there is no such program: a sample whose packages are
 * missing was not built.
 */
const char *program_path(struct kunit *test, const char *name);

/*
 * program_run - run argv[0] to its end
 * @argv: NULL-terminated, at most PROGRAM_ARGS_MAX; argv[0] as program_path()
 *        takes it
 * @env: NULL, or one more "NAME=value"
 *
 * SLABDEV_ variables of the caller are not passed on. Standard input is empty.
 * A program that cannot be started fails the case and ends it.
 */
void program_run(struct kunit *test, struct program *p,
		 const char *const *argv, const char *env);
/* The same with two of them. */
void program_run_with(struct kunit *test, struct program *p,
		      const char *const *argv, const char *env,
		      const char *more);

/* program_last_line - the last line of @text without its newline; "" if none */
const char *program_last_line(struct kunit *test, const char *text);

#endif /* TESTS_PROGRAM_H */
