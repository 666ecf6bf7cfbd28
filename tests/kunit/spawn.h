/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * spawn.h - for tests that run programs: the tree's tools, scripts, samples.
 *
 * A test may be run from anywhere: programs are found relative to tests/run
 * itself, sources by the environment variable SRCTREE (make check sets it), or
 * where the programs are.
 */
#ifndef TESTS_KUNIT_SPAWN_H
#define TESTS_KUNIT_SPAWN_H

#include "tests/kunit/kunit.h"

/**
 * struct kunit_process - a program that has ended
 * @exit_code: its exit status, -1 when a signal ended it
 * @signal: that signal, else 0
 * @out: what it wrote to standard output
 * @err: what it wrote to standard error
 */
struct kunit_process {
	int exit_code;
	int signal;
	const char *out;
	const char *err;
};

/**
 * kunit_run_program - run a program to its end
 * @argv: its arguments, ended by NULL; argv[0] is looked for in PATH unless it
 *        has a '/'
 *
 * Fails and ends the case when it cannot be started. What it wrote lives as
 * long as the case.
 */
void kunit_run_program(struct kunit *test, struct kunit_process *proc,
		       const char *const argv[]);

/** kunit_show_process - print what a program wrote as diagnostics */
void kunit_show_process(struct kunit *test, const struct kunit_process *proc);

/** kunit_self - the path of tests/run */
const char *kunit_self(struct kunit *test);

/** kunit_built_path - where the build has put @name, "tools/slabinfo" */
const char *kunit_built_path(struct kunit *test, const char *name);

/** kunit_source_path - where @name of the source tree is; skips the case when
 * the source tree is not to be found
 */
const char *kunit_source_path(struct kunit *test, const char *name);

#endif /* TESTS_KUNIT_SPAWN_H */
