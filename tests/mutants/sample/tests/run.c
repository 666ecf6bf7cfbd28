// SPDX-License-Identifier: BSD-2-Clause
/*
 * run.c - tests of clamp.c that understand just enough of what tests/run does.
 * With WEAK in the environment the case that checks the bound is missing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int clamp(int value, int most);

static int below(void)
{
	return clamp(3, 5) == 3;
}

static int above(void)
{
	return clamp(7, 5) == 5;
}

static const struct {
	const char *name;
	int (*passes)(void);
} cases[] = {
	{ "clamp.below", below },
	{ "clamp.above", above },
};

static int is_chosen(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], "--filter=", 9) &&
		    !strcmp(argv[i] + 9, name))
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	int nr = getenv("WEAK") ? 1 : 2;
	int failed = 0;

	for (int i = 0; i < nr; i++) {
		if (argc > 1 && !strcmp(argv[1], "--list"))
			puts(cases[i].name);
		else if (is_chosen(cases[i].name, argc, argv) &&
			 !cases[i].passes()) {
			printf("# failed: %s\n", cases[i].name);
			failed = 1;
		}
	}
	return failed;
}
