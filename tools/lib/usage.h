/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * usage.h - the command line of a tool: its options, --help, --version, and
 * complaints, all of one form.
 */
#ifndef SLABINFO_USAGE_H
#define SLABINFO_USAGE_H

#include <getopt.h>

enum {
	USAGE_HELP = 'h',
	USAGE_VERSION = 128,
	USAGE_OWN = 256,	/* the long ones of a tool begin here */
};

/**
 * struct usage - a tool
 * @program: its name
 * @help: the text of --help
 * @letters: of getopt_long(): its short options
 * @options: the long ones
 * @set: takes one option; 0, or what usage_error() or usage_refuse() returned
 */
struct usage {
	const char *program;
	const char *help;
	const char *letters;
	const struct option *options;
	int (*set)(void *to, int letter, char *arg);
};

/*
 * Hands all options to @u->set; optind is then at the first word that is none.
 * 0; 1: help or version was printed; -EINVAL after a complaint. To be called
 * before the two below, which say the name of its program.
 */
int usage_parse(const struct usage *u, int argc, char **argv, void *to);
/* Complains on standard error and points to --help: -EINVAL. */
int usage_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Of an option that getopt_long() has complained about: -EINVAL. */
int usage_refuse(void);

#endif /* SLABINFO_USAGE_H */
