// SPDX-License-Identifier: BSD-2-Clause
/* options.c - the command line of tests/run. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "tests/kunit/runner.h"

static const char usage[] =
"Usage: tests/run [OPTION]...\n"
"Runs the tests and prints KTAP version 1, then as the last line\n"
"\"N passed, N failed, N skipped\".\n"
"\n"
"  --list            print SUITE.CASE of what would run, and end\n"
"  --filter=GLOB     run only suites that match GLOB, or with SUITE.CASE\n"
"                    only such cases; may be given several times\n"
"  --long            run the cases of the long check too\n"
"  --quick           leave out the cases that are marked slow\n"
"  --repeat=N        run everything N times\n"
"  --shuffle[=SEED]  in random order; the seed is printed\n"
"  --jobs=N          run up to N suites at a time\n"
"  --timeout=S       seconds that a case may take (60)\n"
"  --fail-fast       after a failure skip everything else\n"
"  --verbose         show what passing cases print, and all log messages\n"
"  --demo            run the demonstration suites: most of them fail\n"
"  --help            print this, and end\n"
"\n"
"With SLABDEV_TEST_SPEC=SPEC in the environment, such as cuda:0, only the\n"
"suites run that open spaces, and open them on that.\n"
"\n"
"Exit status: 0 no case failed and at least one passed; 1 otherwise;\n"
"2 bad usage.\n";

enum { OPT_LIST = 1, OPT_FILTER, OPT_LONG, OPT_QUICK, OPT_REPEAT, OPT_SHUFFLE,
       OPT_JOBS, OPT_TIMEOUT, OPT_FAIL_FAST, OPT_VERBOSE, OPT_DEMO, OPT_HELP };

static const struct option long_options[] = {
	{ "list", no_argument, NULL, OPT_LIST },
	{ "filter", required_argument, NULL, OPT_FILTER },
	{ "long", no_argument, NULL, OPT_LONG },
	{ "quick", no_argument, NULL, OPT_QUICK },
	{ "repeat", required_argument, NULL, OPT_REPEAT },
	{ "shuffle", optional_argument, NULL, OPT_SHUFFLE },
	{ "jobs", required_argument, NULL, OPT_JOBS },
	{ "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "fail-fast", no_argument, NULL, OPT_FAIL_FAST },
	{ "verbose", no_argument, NULL, OPT_VERBOSE },
	{ "demo", no_argument, NULL, OPT_DEMO },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

static int parse_number(const char *what, const char *text, u64 most,
			u64 *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	if (errno || *end || *text < '0' || *text > '9' || *value > most) {
		fprintf(stderr, "tests/run: --%s=%s: not a number from %d "
			"to %llu\n", what, text, most == UINT64_MAX ? 0 : 1,
			(unsigned long long)most);
		return -1;
	}
	return 0;
}

static int parse_count(const char *what, const char *text, unsigned int most,
		       unsigned int *value)
{
	u64 number;

	if (parse_number(what, text, most, &number))
		return -1;
	if (!number)
		return parse_number(what, "", most, &number);
	*value = (unsigned int)number;
	return 0;
}

static int add_filter(struct options *opt, const char *glob)
{
	if (!*glob) {
		fputs("tests/run: --filter: empty pattern\n", stderr);
		return -1;
	}
	if (opt->nr_filters == FILTERS_MAX) {
		fprintf(stderr, "tests/run: more than %d filters\n",
			FILTERS_MAX);
		return -1;
	}
	opt->filters[opt->nr_filters++] = glob;
	return 0;
}

static int parse_shuffle(struct options *opt, const char *seed)
{
	opt->shuffle = true;
	if (seed)
		return parse_number("shuffle", seed, UINT64_MAX, &opt->seed);
	opt->seed = ((u64)time(NULL) << 16 ^ (u64)getpid()) & UINT32_MAX;
	return 0;
}

/* Returns 0, -1 for a bad value, 1 for --help. */
static int parse_one(struct options *opt, int c, const char *arg)
{
	switch (c) {
	case OPT_LIST:
		opt->list = true;
		return 0;
	case OPT_FILTER:
		return add_filter(opt, arg);
	case OPT_LONG:
		opt->run_long = true;
		return 0;
	case OPT_QUICK:
		opt->quick = true;
		return 0;
	case OPT_REPEAT:
		return parse_count("repeat", arg, 100000, &opt->repeat);
	case OPT_SHUFFLE:
		return parse_shuffle(opt, arg);
	case OPT_JOBS:
		return parse_count("jobs", arg, 256, &opt->jobs);
	case OPT_TIMEOUT:
		return parse_count("timeout", arg, 86400, &opt->timeout_s);
	case OPT_FAIL_FAST:
		opt->fail_fast = true;
		return 0;
	case OPT_VERBOSE:
		opt->verbose = true;
		return 0;
	case OPT_DEMO:
		opt->demo = true;
		return 0;
	case OPT_HELP:
		return 1;
	default:
		return -1;
	}
}

int options_parse(struct options *opt, int argc, char **argv, int *status)
{
	int c, ret;

	*opt = (struct options){ .repeat = 1, .jobs = 1, .timeout_s = 60 };
	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		ret = parse_one(opt, c, optarg);
		if (ret > 0) {
			fputs(usage, stdout);
			*status = 0;
			return -1;
		}
		if (ret < 0)
			goto refuse;
	}
	if (optind < argc) {
		fprintf(stderr, "tests/run: '%s': no argument is taken\n",
			argv[optind]);
		goto refuse;
	}
	return 0;

refuse:
	fputs("Try tests/run --help.\n", stderr);
	*status = 2;
	return -1;
}
