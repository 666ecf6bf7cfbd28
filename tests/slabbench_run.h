/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slabbench_run.h - slabbench, run by a test.
 */
#ifndef TESTS_SLABBENCH_RUN_H
#define TESTS_SLABBENCH_RUN_H

#include <slabdev/slabdev.h>

#include "tests/program.h"
#include "tests/slabinfo_run.h"

#define BENCH "tools/slabbench"

#define bench_run(test, p, ...) \
	program_run(test, p, (const char *const[]){ BENCH, __VA_ARGS__, \
		    NULL }, NULL)

/* The cases of the suite that are in slabbench_shown.c. */
void table_has_rows_and_ratios(struct kunit *test);
void json_is_complete(struct kunit *test);
void picture_has_a_panel_for_each_cell(struct kunit *test);
void list_names_what_there_is(struct kunit *test);

#endif /* TESTS_SLABBENCH_RUN_H */
