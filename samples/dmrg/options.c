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
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pool.h"

#define SITES_MAX 4096
#define DIM_MAX 16384
#define SWEEPS_MAX 1000
#define PRIME_MAX ((uint64_t)1 << 40)

static const char usage[] =
"usage: dmrg [-L SITES] [-m BOND] [-s SWEEPS] [--threads=T]\n"
"            [--alloc=slabdev|malloc] [--blocks=single|group] [--compare]\n"
"            [--policy=SPEC] [--prime=SIZE] [--device=SPACE] [--quiet]\n"
"            [--json=FILE] [--trace=FILE] [--help]\n"
"\n"
"Ground-state energy of the open spin-1/2 Heisenberg chain, H = sum of S.S\n"
"between neighbours, by two-site DMRG with block-sparse tensors.\n"
"\n"
"  -L SITES       sites of the chain (128)\n"
"  -m BOND        most states kept on a bond (320)\n"
"  -s SWEEPS      sweeps; each goes there and back (10)\n"
"  --threads=T    threads that work on blocks (2)\n"
"  --alloc=A      where blocks come from: slabdev, or malloc (slabdev)\n"
"  --blocks=B     single: one allocation a block; group: one for all blocks\n"
"                 that are made together (single)\n"
"  --compare      run both, and say what groups save\n"
"  --policy=SPEC  what slabdev does with memory that holds no block: retain,\n"
"                 trim, aggressive, or a list of these and push, each with a\n"
"                 number of sweeps: push:6,retain:3,push:2,retain; the last\n"
"                 one goes on. trim keeps 16 MiB that hold no block, and\n"
"                 gives back what is more. push is aggressive, and the\n"
"                 bonds grow until memory is full (the library's default)\n"
"  --prime=SIZE   map so many bytes before the first sweep, instead of\n"
"                 when a block needs them: a number, with K, M, or G behind\n"
"                 it for 2^10, 2^20, 2^30 (0)\n"
"  --device=SPACE host, or a GPU: cuda:0. Needs cuBLAS, which is looked for\n"
"                 when the program runs (host)\n"
"  --quiet        print the last line only\n"
"  --json=FILE    write the figures of the report there too; - is standard\n"
"                 output\n"
"  --trace=FILE   write the allocations of the last sweep there, as\n"
"                 slabreplay reads them; - is standard output\n"
"\n"
"The last line of the output is \"energy VALUE\". Exit status: 0 done,\n"
"1 failed, 2 wrong arguments.\n";

enum {
	OPT_THREADS = 256, OPT_ALLOC, OPT_BLOCKS, OPT_COMPARE, OPT_POLICY,
	OPT_PRIME, OPT_DEVICE, OPT_QUIET, OPT_JSON, OPT_TRACE, OPT_HELP
};

static const struct option long_options[] = {
	{ "threads", required_argument, NULL, OPT_THREADS },
	{ "alloc", required_argument, NULL, OPT_ALLOC },
	{ "blocks", required_argument, NULL, OPT_BLOCKS },
	{ "compare", no_argument, NULL, OPT_COMPARE },
	{ "policy", required_argument, NULL, OPT_POLICY },
	{ "prime", required_argument, NULL, OPT_PRIME },
	{ "device", required_argument, NULL, OPT_DEVICE },
	{ "quiet", no_argument, NULL, OPT_QUIET },
	{ "json", required_argument, NULL, OPT_JSON },
	{ "trace", required_argument, NULL, OPT_TRACE },
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

/* The one of two words that @text is: 0 or 1. */
static int parse_choice(const char *name, const char *text,
			const char *const words[2], int *out)
{
	for (*out = 0; *out < 2; ++*out)
		if (!strcmp(text, words[*out]))
			return 0;
	fprintf(stderr, "dmrg: %s \"%s\": want %s or %s\n", name, text,
		words[0], words[1]);
	return -EINVAL;
}

static int parse_alloc(struct options *opt, const char *text)
{
	static const char *const words[] = { "slabdev", "malloc" };
	int i, err = parse_choice("--alloc", text, words, &i);

	if (!err)
		opt->mem.kind = i ? MEM_MALLOC : MEM_SLABDEV;
	return err;
}

static int parse_blocks(struct options *opt, const char *text)
{
	static const char *const words[] = { "single", "group" };
	int i, err = parse_choice("--blocks", text, words, &i);

	if (!err)
		opt->mem.grouped = i;
	return err;
}

static int parse_policy(struct options *opt, const char *text)
{
	char why[128];
	int err;

	err = schedule_parse(&opt->schedule, text, why, sizeof(why));
	if (err)
		fprintf(stderr, "dmrg: --policy \"%s\": %s\n", text, why);
	opt->policy = text;
	opt->mem.policy = opt->schedule.phases[0].mode;
	opt->mem.may_fail = opt->schedule.push;
	return err;
}

static int parse_prime(struct options *opt, const char *text)
{
	static const char units[] = "KMG";
	const char *unit;
	char *end;
	int shift = 0;

	errno = 0;
	opt->mem.prime = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	if (unit) {
		shift = 10 * (int)(unit - units + 1);
		end++;
	}
	if (*text < '0' || *text > '9' || *end || errno ||
	    opt->mem.prime > PRIME_MAX >> shift) {
		fprintf(stderr, "dmrg: --prime \"%s\": want bytes up to %"
			PRIu64 "G, with K, M, or G or nothing behind\n", text,
			PRIME_MAX >> 30);
		return -EINVAL;
	}
	opt->mem.prime <<= shift;
	return 0;
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
	case OPT_BLOCKS:
		return parse_blocks(opt, optarg);
	case OPT_COMPARE:
		opt->compare = true;
		return 0;
	case OPT_DEVICE:
		opt->mem.device = optarg;
		return 0;
	case OPT_POLICY:
		return parse_policy(opt, optarg);
	case OPT_PRIME:
		return parse_prime(opt, optarg);
	case OPT_QUIET:
		opt->quiet = true;
		return 0;
	case OPT_JSON:
		opt->json = optarg;
		return 0;
	case OPT_TRACE:
		opt->trace = optarg;
		return 0;
	case OPT_HELP:
		fputs(usage, stdout);
		return 1;
	default:
		fputs("dmrg: --help says what is accepted\n", stderr);
		return -EINVAL;
	}
}

/* What makes no sense together. */
static int check(const struct options *opt)
{
	const int begin = schedule_last_begin(&opt->schedule);

	if (begin > opt->sweeps) {
		fprintf(stderr, "dmrg: --policy \"%s\": its last phase would "
			"begin with sweep %d; want -s %d or more\n",
			opt->policy, begin, begin);
		return -EINVAL;
	}
	if (opt->mem.kind != MEM_MALLOC)
		return 0;
	if (!opt->mem.grouped && !opt->compare && !opt->schedule.push &&
	    !opt->mem.prime && !strcmp(opt->mem.device, "host"))
		return 0;
	fputs("dmrg: --alloc=malloc: groups, --compare, push, --prime and "
	      "--device are slabdev's\n", stderr);
	return -EINVAL;
}

int options_parse(struct options *opt, int argc, char **argv)
{
	int c, err;

	*opt = (struct options){
		.sites = 128, .max_dim = 320, .sweeps = 10, .threads = 2,
		.mem = { .kind = MEM_SLABDEV, .device = "host" },
		.schedule = { .phases = { { .name = "default" } }, .nr = 1 },
		.policy = "default",
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
	return check(opt);
}
