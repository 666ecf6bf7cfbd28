// SPDX-License-Identifier: BSD-2-Clause
/*
 * replay_options.c - what slabreplay was asked for.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exit.h"
#include "replay_options.h"
#include "usage.h"

#define HOST "host"
#define MOST_LOOPS 1000000
/* All that a space can address: a trace need not fit this machine's memory. */
#define DEFAULT_LIMIT "1T"

enum {
	OPT_DEVICE = USAGE_OWN,
	OPT_JSON,
	OPT_LIMIT,
	OPT_LOOPS,
	OPT_NO_TOUCH,
	OPT_POLICY,
	OPT_SHEAF,
	OPT_TOUCH,
};

static const struct option long_options[] = {
	{ "device", required_argument, NULL, OPT_DEVICE },
	{ "help", no_argument, NULL, USAGE_HELP },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "limit", required_argument, NULL, OPT_LIMIT },
	{ "loops", required_argument, NULL, OPT_LOOPS },
	{ "no-touch", no_argument, NULL, OPT_NO_TOUCH },
	{ "policy", required_argument, NULL, OPT_POLICY },
	{ "sheaf", required_argument, NULL, OPT_SHEAF },
	{ "touch", no_argument, NULL, OPT_TOUCH },
	{ "version", no_argument, NULL, USAGE_VERSION },
	{ NULL, 0, NULL, 0 },
};

static const char help[] =
"Usage: slabreplay [OPTION]... TRACE...\n"
"Make the allocations and frees that each TRACE lists, in a space of\n"
"libslabdev, and show what they took. A TRACE has an event a line: a ID BYTES\n"
"allocates, f ID frees, # begins a comment. Several are replayed one after\n"
"the other; what one leaves live is freed at its end.\n"
"\n"
"      --device=SPEC    the space: host (default), cuda:0, ...\n"
"      --loops=N        replay all of it N times (default: 2)\n"
"      --policy=POLICY  retain, trim:BYTES, or aggressive (SLABDEV_POLICY)\n"
"      --limit=BYTES    most memory that may be mapped (SLABDEV_LIMIT;\n"
"                       default: 1T; on a device what it has)\n"
"      --sheaf=BYTES    most free objects kept at hand (SLABDEV_SHEAF)\n"
"      --touch          write to each page of each object\n"
"      --no-touch       never write to the memory, which then takes none of\n"
"                       the machine's (default)\n"
"      --json           one JSON object on one line\n"
"  -h, --help           this text\n"
"      --version        the version\n"
"\n"
"Exit status: 0 replayed; 1 some allocations failed; 2 usage; 3 a trace could\n"
"not be read or makes no sense, or the result could not be written.\n";

static int set_loops(struct replay_options *opt, const char *text)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || !n ||
	    n > MOST_LOOPS)
		return usage_error("--loops=%s: a number from 1 to %d is "
				   "needed", text, MOST_LOOPS);
	opt->loops = n;
	return 0;
}

/* Options that the library reads as parameters. */
static const struct {
	int letter;
	const char *option, *parameter;
} passed_on[] = {
	{ OPT_LIMIT, "--limit", "SLABDEV_LIMIT" },
	{ OPT_POLICY, "--policy", "SLABDEV_POLICY" },
	{ OPT_SHEAF, "--sheaf", "SLABDEV_SHEAF" },
};

#define NR_PASSED_ON (sizeof(passed_on) / sizeof(passed_on[0]))

static int set_parameter(const char *name, const char *value, int overwrite)
{
	if (!setenv(name, value, overwrite))
		return 0;
	return usage_error("%s=%s cannot be set", name, value);
}

static int pass_on(struct replay_options *opt, int letter, const char *value)
{
	size_t i = 0;

	while (passed_on[i].letter != letter)
		i++;
	opt->passed_on |= 1u << i;
	return set_parameter(passed_on[i].parameter, value, 1);
}

void replay_options_blame(const struct replay_options *opt, const char *text)
{
	const char *option = "";
	size_t i, skip = 0;

	for (i = 0; i < NR_PASSED_ON; i++) {
		size_t len = strlen(passed_on[i].parameter);

		if (!(opt->passed_on & 1u << i) ||
		    strncmp(text, passed_on[i].parameter, len) ||
		    text[len] != '=')
			continue;
		option = passed_on[i].option;
		skip = len;
	}
	fprintf(stderr, "slabreplay: %s%s\n", option, text + skip);
}

static int set_option(void *to, int letter, char *arg)
{
	struct replay_options *opt = to;

	switch (letter) {
	case OPT_DEVICE: opt->device = arg; return 0;
	case OPT_JSON: opt->json = true; return 0;
	case OPT_LIMIT:
	case OPT_POLICY:
	case OPT_SHEAF: return pass_on(opt, letter, arg);
	case OPT_LOOPS: return set_loops(opt, arg);
	case OPT_TOUCH: opt->touch = true; return 0;
	case OPT_NO_TOUCH: opt->touch = false; return 0;
	default: return usage_refuse();
	}
}

int replay_options_parse(struct replay_options *opt, int argc, char **argv,
			 int *code)
{
	static const struct usage usage = {
		"slabreplay", help, "h", long_options, set_option
	};
	int err;

	*opt = (struct replay_options){ .loops = 2, .device = HOST };
	err = usage_parse(&usage, argc, argv, opt);
	*code = err > 0 ? EXIT_DONE : EXIT_USAGE;
	opt->paths = argv + optind;
	opt->nr_paths = (size_t)(argc - optind);
	if (!err && !opt->nr_paths)
		err = usage_error("no trace was named");
	if (!err && opt->touch && strcmp(opt->device, HOST))
		err = usage_error("--touch is for the host: other memory may "
				  "not be the CPU's to write to");
	if (!err && !strcmp(opt->device, HOST))
		err = set_parameter("SLABDEV_LIMIT", DEFAULT_LIMIT, 0);
	return err != 0;
}
