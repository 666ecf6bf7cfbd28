// SPDX-License-Identifier: BSD-2-Clause
/*
 * usage.c - the command line of a tool.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include <slabdev/slabdev.h>

#include "usage.h"

/* A copy, for getopt() takes its name from words that may be changed. */
static char name[32];

int usage_refuse(void)
{
	fprintf(stderr, "Try '%s --help'.\n", name);
	return -EINVAL;
}

int usage_error(const char *fmt, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", name);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	return usage_refuse();
}

int usage_parse(const struct usage *u, int argc, char **argv, void *to)
{
	int letter, err = 0;

	snprintf(name, sizeof(name), "%s", u->program);
	/* getopt() begins its messages with it: no path, as in all others. */
	if (argc)
		argv[0] = name;
	while (!err && (letter = getopt_long(argc, argv, u->letters, u->options,
					     NULL)) != -1) {
		if (letter == USAGE_HELP) {
			fputs(u->help, stdout);
			return 1;
		}
		if (letter == USAGE_VERSION) {
			printf("%s (libslabdev) " SLABDEV_VERSION "\n", name);
			return 1;
		}
		err = u->set(to, letter, optarg);
	}
	return err;
}
