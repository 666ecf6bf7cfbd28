// SPDX-License-Identifier: BSD-2-Clause
/*
 * retention.c - what it takes to keep memory: options. See retention.h.
 *
 * Documentation/retention.rst has what came of it; scripts/retention makes that
 * page's tables and pictures by many runs of this program.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <slabdev/slabdev.h>

#include "tests/gpu/retention.h"

static const char usage[] =
"Usage: tests/gpu/retention [OPTION]... TRACE...\n"
"       tests/gpu/retention [OPTION]... --lag=STEPS[,STEPS]...\n"
"Replays allocation traces on device 0, and prints as CSV what the driver\n"
"was called for in each loop, and the time of its calls; or has streams lag\n"
"behind the CPU, one for each number, and prints what their frees cost. A\n"
"TRACE is as slabreplay takes it.\n"
"\n"
"  --way=WAY         vmm, pool, malloc: a space with that backing (vmm);\n"
"                    driver-pool: cuMemAllocAsync; driver-malloc: cuMemAlloc\n"
"  --policy=POLICY[,POLICY]...  retain, trim, or aggressive: in the first\n"
"                    loop, the next, ... (retain)\n"
"  --keep=BYTES      what trim keeps (0)\n"
"  --prime=BYTES     map so much first (0)\n"
"  --threshold=BYTES what a pool keeps (0), or max\n"
"  --limit=BYTES     most bytes (what the device has)\n"
" for traces:\n"
"  --loops=N         how often (3)\n"
"  --scale=N[,N]...  multiply sizes: in the first loop, the next, ... (1)\n"
"  --pause=EVENTS    poll, wait for the device, and poll again, after so many\n"
"                    events (after each loop)\n"
"  --carry           what a loop leaves is freed bit by bit in the next\n"
" for streams:\n"
"  --steps=N         each allocates, submits and frees so often (400)\n"
"  --blocks=N        so many blocks each time (8)\n"
"  --size=BYTES      of so many bytes (64K)\n"
"  --across          allocated on another stream, which does not lag\n"
"  --loose           streams are not attached\n"
"  --pending=BYTES   what may be pending before frees ask (64M)\n"
"  --stream-waits    have streams wait rather than the CPU\n"
"\n"
"BYTES may end in K, M or G. SLABDEV_LIBCUDA names the driver or its model,\n"
"on which time is modelled. Exit status: 0; 1 failed; 2 bad usage, or no\n"
"device.\n";

enum {
	OPT_WAY = 256, OPT_POLICY, OPT_KEEP, OPT_PRIME, OPT_THRESHOLD,
	OPT_LIMIT, OPT_LOOPS, OPT_SCALE, OPT_PAUSE, OPT_CARRY, OPT_LAG,
	OPT_STEPS, OPT_BLOCKS, OPT_SIZE, OPT_ACROSS, OPT_LOOSE, OPT_PENDING,
	OPT_WAITS, OPT_HELP
};

static const struct option options[] = {
	{ "way", required_argument, NULL, OPT_WAY },
	{ "policy", required_argument, NULL, OPT_POLICY },
	{ "keep", required_argument, NULL, OPT_KEEP },
	{ "prime", required_argument, NULL, OPT_PRIME },
	{ "threshold", required_argument, NULL, OPT_THRESHOLD },
	{ "limit", required_argument, NULL, OPT_LIMIT },
	{ "loops", required_argument, NULL, OPT_LOOPS },
	{ "scale", required_argument, NULL, OPT_SCALE },
	{ "pause", required_argument, NULL, OPT_PAUSE },
	{ "carry", no_argument, NULL, OPT_CARRY },
	{ "lag", required_argument, NULL, OPT_LAG },
	{ "steps", required_argument, NULL, OPT_STEPS },
	{ "blocks", required_argument, NULL, OPT_BLOCKS },
	{ "size", required_argument, NULL, OPT_SIZE },
	{ "across", no_argument, NULL, OPT_ACROSS },
	{ "loose", no_argument, NULL, OPT_LOOSE },
	{ "pending", required_argument, NULL, OPT_PENDING },
	{ "stream-waits", no_argument, NULL, OPT_WAITS },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

/* false: @text does not begin with a number from @min to @max. */
static bool number(const char **text, u64 min, u64 max, u64 *out)
{
	char *end;

	errno = 0;
	*out = strtoull(*text, &end, 10);
	if (end == *text || **text < '0' || **text > '9' || errno)
		return false;
	*text = end;
	return *out >= min && *out <= max;
}

static bool count(const char *text, u64 max, u64 *out)
{
	return number(&text, 1, max, out) && !*text;
}

static bool bytes(const char *text, u64 *out)
{
	static const char units[] = "KMG";
	const char *unit;
	long shift = 0;

	if (!number(&text, 0, UINT64_MAX, out))
		return false;
	unit = *text ? strchr(units, *text) : NULL;
	if (unit) {
		shift = 10 * (unit - units + 1);
		text++;
	}
	if (*out > UINT64_MAX >> shift)
		return false;
	*out <<= shift;
	return !*text;
}

/* Numbers with commas; 0: they are not. */
static unsigned int list(const char *text, u64 min, u64 max, u64 *to,
			 unsigned int most)
{
	unsigned int n;

	for (n = 0; n < most; text++) {
		if (!number(&text, min, max, &to[n++]))
			return 0;
		if (*text != ',')
			return *text ? 0 : n;
	}
	return 0;
}

/* The policy that @text begins with, which moves behind it; 0: none. */
static u32 policy(const char **text)
{
	static const struct {
		const char *name;
		u32 mode;
	} policies[] = {
		{ "retain", SLABDEV_RETAIN }, { "trim", SLABDEV_TRIM },
		{ "aggressive", SLABDEV_AGGRESSIVE },
	};
	size_t i, len = strcspn(*text, ",");

	for (i = 0; i < ARRAY_SIZE(policies); i++)
		if (strlen(policies[i].name) == len &&
		    !strncmp(policies[i].name, *text, len)) {
			*text += len;
			return policies[i].mode;
		}
	return 0;
}

static bool policies(struct setup *s, const char *text)
{
	for (s->nr_policies = 0; s->nr_policies < LOOPS_MAX; text++) {
		s->policy[s->nr_policies] = policy(&text);
		if (!s->policy[s->nr_policies++])
			return false;
		if (!*text)
			return true;
	}
	return false;
}

static bool threshold(const char *text, u64 *out)
{
	if (strcmp(text, "max"))
		return bytes(text, out);
	*out = UINT64_MAX;
	return true;
}

/* false: the argument is not accepted. */
static bool set_number(struct setup *s, int c, const char *arg)
{
	switch (c) {
	case OPT_LOOPS: return count(arg, 1000, &s->nr_loops);
	case OPT_PAUSE: return count(arg, UINT32_MAX, &s->pause);
	case OPT_STEPS: return count(arg, 1000000, &s->steps);
	case OPT_BLOCKS: return count(arg, 100000, &s->blocks);
	case OPT_KEEP: return bytes(arg, &s->keep);
	case OPT_PRIME: return bytes(arg, &s->prime);
	case OPT_LIMIT: return bytes(arg, &s->limit);
	case OPT_PENDING: return bytes(arg, &s->pending);
	case OPT_SIZE: return bytes(arg, &s->bytes) && s->bytes;
	case OPT_THRESHOLD: return threshold(arg, &s->threshold);
	case OPT_SCALE:
		s->nr_scales = list(arg, 1, 1000000, s->scale, LOOPS_MAX);
		return s->nr_scales;
	case OPT_LAG:
		s->nr_lanes = list(arg, 0, 1000, s->lag, LANES_MAX);
		return s->nr_lanes;
	default: return false;
	}
}

static bool set_option(struct setup *s, int c, const char *arg)
{
	switch (c) {
	case OPT_WAY:
		s->way = way_find(arg);
		return s->way;
	case OPT_POLICY: return policies(s, arg);
	case OPT_CARRY: return s->carry = true;
	case OPT_ACROSS: return s->across = true;
	case OPT_LOOSE: return s->loose = true;
	case OPT_WAITS: return s->waits = true;
	default: return set_number(s, c, arg);
	}
}

/* -1: go on; else the exit status. */
static int parse(struct setup *s, int argc, char **argv)
{
	int c, index = 0;

	while ((c = getopt_long(argc, argv, "", options, &index)) != -1) {
		if (c == OPT_HELP) {
			fputs(usage, stdout);
			return 0;
		}
		if (c == '?')
			return 2;
		if (!set_option(s, c, optarg)) {
			fprintf(stderr, "retention: --%s=%s: --help says what "
				"is accepted\n", options[index].name, optarg);
			return 2;
		}
	}
	s->path = argv + optind;
	s->nr_paths = (unsigned int)(argc - optind);
	if (!s->nr_paths == !s->nr_lanes) {
		fputs("retention: either traces or --lag is needed\n", stderr);
		return 2;
	}
	return -1;
}

int main(int argc, char **argv)
{
	struct setup s = {
		.way = way_find("vmm"),
		.policy = { SLABDEV_RETAIN }, .nr_policies = 1,
		.nr_loops = 3, .scale = { 1 }, .nr_scales = 1,
		.steps = 400, .blocks = 8, .bytes = 64 * KIB,
	};
	int status = parse(&s, argc, argv);
	char why[512];

	if (status >= 0)
		return status;
	if (!gpu_open(why, sizeof(why))) {
		fprintf(stderr, "retention: %s\n", why);
		return 2;
	}
	if (gpu.is_model)
		gpu.model_holds_yield(1);
	status = s.nr_lanes ? lag_measure(&s) : replay_measure(&s);
	gpu_close();
	if (fflush(stdout) || ferror(stdout)) {
		fputs("retention: standard output cannot be written\n",
		      stderr);
		status = -1;
	}
	return status ? 1 : 0;
}
