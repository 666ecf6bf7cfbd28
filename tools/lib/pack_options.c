// SPDX-License-Identifier: BSD-2-Clause
/*
 * pack_options.c - what slabpack was asked for.
 */
#include <errno.h>
#include <stdlib.h>

#include "exit.h"
#include "pack_options.h"
#include "usage.h"

enum {
	OPT_CAPACITY = USAGE_OWN,
	OPT_EFFORT,
	OPT_JSON,
	OPT_SVG,
};

static const struct option long_options[] = {
	{ "capacity", required_argument, NULL, OPT_CAPACITY },
	{ "effort", required_argument, NULL, OPT_EFFORT },
	{ "help", no_argument, NULL, USAGE_HELP },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "svg", required_argument, NULL, OPT_SVG },
	{ "version", no_argument, NULL, USAGE_VERSION },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
"Usage: slabpack [OPTION]... FILE\n"
"Give each of the blocks in FILE an offset in one buffer, so that two which\n"
"live at the same time do not overlap, and the buffer is as short as can be\n"
"found. FILE is CSV: the first line names the columns id,lower,upper,size\n"
"and, if one likes, align (default: 256); a block lives from lower until\n"
"before upper. The same with a column offset is printed. FILE may be - for\n"
"standard input.\n"
"\n"
"      --capacity=BYTES  a plan of so many bytes is good enough, and a longer\n"
"                        one is a failure; with K, M, G or T\n"
"      --effort=N        look at N blocks or moments at most (default: 2^33)\n"
"      --svg=FILE        draw the plan: time across, offsets up\n"
"      --json            one JSON object on one line instead\n"
"  -h, --help            this text\n"
"      --version         the version\n"
"\n"
"Exit status: 0 a plan was printed; 1 it does not fit the capacity; 2 usage;\n"
"3 the file could not be read or makes no sense, or the result could not be\n"
"written.\n";

static int set_number(const char *name, const char *text, uint64_t *value)
{
	static const char units[] = "KMGT";
	unsigned int shift = 0, i;
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	for (i = 0; units[i]; i++)
		if (end != text && *end == units[i] && !end[1]) {
			shift = 10 * (i + 1);
			end++;
		}
	if (errno || *text < '0' || *text > '9' || *end || !n ||
	    n << shift >> shift != n)
		return usage_error("--%s=%s: a number from 1 to 2^64 - 1 is "
				   "needed, with K, M, G, T or without", name,
				   text);
	*value = n << shift;
	return 0;
}

static int set_option(void *to, int letter, char *arg)
{
	struct pack_options *opt = to;

	switch (letter) {
	case OPT_CAPACITY: return set_number("capacity", arg, &opt->capacity);
	case OPT_EFFORT: return set_number("effort", arg, &opt->effort);
	case OPT_JSON: opt->json = true; return 0;
	case OPT_SVG: opt->svg = arg; return 0;
	default: return usage_refuse();
	}
}

int pack_options_parse(struct pack_options *opt, int argc, char **argv,
		       int *code)
{
	static const struct usage usage = {
		"slabpack", help, "h", long_options, set_option
	};
	int err;

	*opt = (struct pack_options){ 0 };
	err = usage_parse(&usage, argc, argv, opt);
	*code = err > 0 ? EXIT_DONE : EXIT_USAGE;
	if (!err && optind == argc)
		err = usage_error("no file was named");
	if (!err && optind + 1 < argc)
		err = usage_error("%s: one file at a time", argv[optind + 1]);
	opt->path = argv[optind];
	return err != 0;
}
