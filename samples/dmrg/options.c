// SPDX-License-Identifier: BSD-2-Clause
/*
 * options.c - what the command line asked for
 *
 * Every number has bounds; what is out of them, or no number at all, is
 * refused with the option's name, the text, and what would be accepted.
 */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <slabdev/slabdev.h>

#include "pool.h"

#define SITES_MAX 4096
#define DIM_MAX 16384
#define SWEEPS_MAX 1000

static const char usage[] =
"usage: dmrg [-L SITES] [-m BOND] [-s SWEEPS] [--threads=T]\n"
"            [--alloc=slabdev|malloc] [--policy=retain|trim|aggressive]\n"
"            [--quiet] [--json=FILE] [--help]\n"
"\n"
"Ground-state energy of the open spin-1/2 Heisenberg chain, H = sum of S.S\n"
"between neighbours, by two-site DMRG with block-sparse tensors.\n"
"\n"
"  -L SITES     sites of the chain (128)\n"
"  -m BOND      most states kept on a bond (320)\n"
"  -s SWEEPS    sweeps; each goes there and back (10)\n"
"  --threads=T  threads that work on blocks (2)\n"
"  --alloc=A    where blocks come from: slabdev, or malloc (slabdev)\n"
"  --policy=P   what slabdev does with memory that holds no block: retain,\n"
"               trim or aggressive (the library's default)\n"
"  --quiet      print the last line only\n"
"  --json=FILE  write the figures of the report there too; - is standard\n"
"               output\n"
"\n"
"The last line of the output is \"energy VALUE\". Exit status: 0 done,\n"
"1 failed, 2 wrong arguments.\n";

enum {
	OPT_THREADS = 256, OPT_ALLOC, OPT_POLICY, OPT_QUIET, OPT_JSON, OPT_HELP
};

static const struct option long_options[] = {
	{ "threads", required_argument, NULL, OPT_THREADS },
	{ "alloc", required_argument, NULL, OPT_ALLOC },
	{ "policy", required_argument, NULL, OPT_POLICY },
	{ "quiet", no_argument, NULL, OPT_QUIET },
	{ "json", required_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

static int parse_int(const char *name, const char *text, int min, int max,
		     int *out)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (end == text || *end || errno || n < min || n > max) {
		fprintf(stderr,
			"dmrg: %s \"%s\": want a number from %d to %d\n",
			name, text, min, max);
		return -EINVAL;
	}
	*out = (int)n;
	return 0;
}

static int parse_alloc(struct options *opt, const char *text)
{
	if (!strcmp(text, "slabdev"))
		opt->mem.kind = MEM_SLABDEV;
	else if (!strcmp(text, "malloc"))
		opt->mem.kind = MEM_MALLOC;
	else
		goto unknown;
	return 0;

unknown:
	fprintf(stderr, "dmrg: --alloc \"%s\": want slabdev or malloc\n",
		text);
	return -EINVAL;
}

static int parse_policy(struct options *opt, const char *text)
{
	static const struct {
		const char *name;
		int mode;
	} policies[] = {
		{ "retain", SLABDEV_RETAIN },
		{ "trim", SLABDEV_TRIM },
		{ "aggressive", SLABDEV_AGGRESSIVE },
	};
	size_t i;

	for (i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		if (strcmp(text, policies[i].name))
			continue;
		opt->mem.policy = policies[i].mode;
		opt->policy_name = policies[i].name;
		return 0;
	}
	fprintf(stderr,
		"dmrg: --policy \"%s\": want retain, trim or aggressive\n",
		text);
	return -EINVAL;
}

static int parse_one(struct options *opt, int c)
{
	switch (c) {
	case 'L':
		return parse_int("-L", optarg, 2, SITES_MAX, &opt->sites);
	case 'm':
		return parse_int("-m", optarg, 1, DIM_MAX, &opt->max_dim);
	case 's':
		return parse_int("-s", optarg, 1, SWEEPS_MAX, &opt->sweeps);
	case OPT_THREADS:
		return parse_int("--threads", optarg, 1, POOL_THREADS_MAX,
				 &opt->threads);
	case OPT_ALLOC:
		return parse_alloc(opt, optarg);
	case OPT_POLICY:
		return parse_policy(opt, optarg);
	case OPT_QUIET:
		opt->quiet = true;
		return 0;
	case OPT_JSON:
		opt->json = optarg;
		return 0;
	case OPT_HELP:
		fputs(usage, stdout);
		return 1;
	default:
		fputs("dmrg: --help says what is accepted\n", stderr);
		return -EINVAL;
	}
}

int options_parse(struct options *opt, int argc, char **argv)
{
	int c, err;

	*opt = (struct options){
		.sites = 128, .max_dim = 320, .sweeps = 10, .threads = 2,
		.mem = { .kind = MEM_SLABDEV },
		.policy_name = "default",
	};
	while ((c = getopt_long(argc, argv, "L:m:s:", long_options,
				NULL)) != -1) {
		err = parse_one(opt, c);
		if (err)
			return err;
	}
	if (optind < argc) {
		fprintf(stderr, "dmrg: \"%s\": unexpected argument\n",
			argv[optind]);
		return -EINVAL;
	}
	return 0;
}
