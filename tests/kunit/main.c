// SPDX-License-Identifier: BSD-2-Clause
/* main.c - tests/run: finds the suites and runs them. */
#include <stdio.h>
#include <stdlib.h>

#include "tests/kunit/runner.h"

/* The linker's: the bounds of what kunit_test_suite() has put there. */
extern const struct kunit_suite *const __start_kunit_suites[]
	__attribute__((weak, visibility("hidden")));
extern const struct kunit_suite *const __stop_kunit_suites[]
	__attribute__((weak, visibility("hidden")));
extern const struct kunit_suite *const __start_kunit_demos[]
	__attribute__((weak, visibility("hidden")));
extern const struct kunit_suite *const __stop_kunit_demos[]
	__attribute__((weak, visibility("hidden")));

static struct suite_range all_suites(const struct options *opt)
{
	if (opt->demo)
		return (struct suite_range){ __start_kunit_demos,
					     __stop_kunit_demos };
	return (struct suite_range){ __start_kunit_suites,
				     __stop_kunit_suites };
}

static void print_list(const struct plan *plan)
{
	for (unsigned int i = 0; i < plan->nr; i++) {
		const struct unit *unit = &plan->units[i];

		for (unsigned int j = 0; j < unit->nr_cases; j++)
			printf("%s.%s\n", unit->suite->name,
			       unit->suite->cases[unit->cases[j]].name);
	}
}

int main(int argc, char **argv)
{
	struct suite_range suites;
	struct options opt;
	struct plan plan;
	int status = 0;

	/* Else the address sanitizer has every space lose its fast paths. */
	setenv("SLABDEV_ANNOTATE", "0", 0);
	if (options_parse(&opt, argc, argv, &status))
		return status;
	suites = all_suites(&opt);
	if (suites_check(suites))
		return 2;

	plan_make(&plan, suites, &opt);
	if (opt.list)
		print_list(&plan);
	else if (plan.nr)
		status = runner_run(&plan, &opt);
	else
		status = 1;
	if (!plan.nr)
		fputs("tests/run: no case matches\n", stderr);
	plan_free(&plan);
	return status;
}
