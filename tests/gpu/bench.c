// SPDX-License-Identifier: BSD-2-Clause
/*
 * bench.c - the driver's calls and libslabdev's, measured on a GPU.
 *
 * tests/gpu-check.sh runs it. It needs no toolkit: the driver is found by
 * dlopen(). What it measures is in costs.h, pairs.h and prime.h; on the model
 * of the driver all figures are modelled, see driver.h.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include <slabdev/slabdev.h>

#include "tests/gpu/costs.h"
#include "tests/gpu/driver.h"
#include "tests/gpu/pairs.h"
#include "tests/gpu/prime.h"

static const char usage[] =
"Usage: tests/gpu/bench [OPTION]...\n"
"Measures driver calls and libslabdev on device 0. Without --costs, --pairs\n"
"and --prime it does all three.\n"
"\n"
"  --device     print which device and driver there is, and end\n"
"  --open=SPEC  open a space of libslabdev, and end; status 3: not supported\n"
"  --costs      the driver's calls one by one, as CSV\n"
"  --pairs      allocations and frees: libslabdev, the driver's pool, and\n"
"               cuMemAlloc\n"
"  --prime      the first 2 GiB\n"
"  --quick      few rounds\n"
"  --json=FILE  write everything to FILE too\n"
"  --help       print this, and end\n"
"\n"
"SLABDEV_LIBCUDA names another driver than libcuda.so.1, or a model of one.\n"
"Exit status: 0; 1 a call failed or FILE cannot be written; 2 there is no\n"
"device that can be used, or bad usage.\n";

static const struct part {
	const char *name;
	void (*measure)(bool quick);
	void (*text)(FILE *out);
	void (*json)(FILE *out);
} parts[] = {
	{ "costs", costs_measure, costs_csv, costs_json },
	{ "pairs", pairs_measure, pairs_text, pairs_json },
	{ "prime", prime_measure, prime_text, prime_json },
};

struct request {
	bool device, quick;
	bool part[ARRAY_SIZE(parts)];
	const char *open;
	const char *json;
};

/* ---- Options -------------------------------------------------------- */

enum { OPT_PART, OPT_DEVICE = ARRAY_SIZE(parts), OPT_OPEN, OPT_QUICK,
       OPT_JSON, OPT_HELP };

static const struct option options[] = {
	{ "costs", no_argument, NULL, OPT_PART },
	{ "pairs", no_argument, NULL, OPT_PART + 1 },
	{ "prime", no_argument, NULL, OPT_PART + 2 },
	{ "device", no_argument, NULL, OPT_DEVICE },
	{ "open", required_argument, NULL, OPT_OPEN },
	{ "quick", no_argument, NULL, OPT_QUICK },
	{ "json", required_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

/* -1: go on; else the exit status. */
static int parse(struct request *r, int argc, char **argv)
{
	bool any = false;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == OPT_HELP) {
			fputs(usage, stdout);
			return 0;
		}
		if (c == '?')
			return 2;
		if (c < OPT_DEVICE)
			any = r->part[c] = true;
		r->device |= c == OPT_DEVICE;
		r->quick |= c == OPT_QUICK;
		if (c == OPT_OPEN)
			r->open = optarg;
		if (c == OPT_JSON)
			r->json = optarg;
	}
	if (optind < argc) {
		fprintf(stderr, "bench: %s: no such argument\n", argv[optind]);
		return 2;
	}
	for (size_t i = 0; !any && i < ARRAY_SIZE(parts); i++)
		r->part[i] = true;
	return -1;
}

/* ---- Output --------------------------------------------------------- */

/* Names of devices are plain text; anything else is left out. */
static void json_name(FILE *out, const char *name)
{
	for (; *name; name++)
		if (*name >= ' ' && *name <= '~' && *name != '"' &&
		    *name != '\\')
			fputc(*name, out);
}

static int write_json(const struct request *r)
{
	FILE *out = fopen(r->json, "we");
	bool failed;

	if (!out) {
		perror(r->json);
		return 1;
	}
	fprintf(out, "{\"modelled\":%s,\"device\":\"",
		gpu.is_model ? "true" : "false");
	json_name(out, gpu.name);
	fprintf(out, "\",\"driver\":%d,\"granularity\":%zu", gpu.version,
		gpu.granularity);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (r->part[i]) {
			fputs(",\n", out);
			parts[i].json(out);
		}
	fputs("}\n", out);
	failed = ferror(out);
	if (fclose(out) || failed) {
		perror(r->json);
		return 1;
	}
	return 0;
}

static void print_device(void)
{
	printf("%s%s, compute capability %d.%d, %.1f GiB, driver for CUDA "
	       "%d.%d%s\n", gpu.is_model ? "MODELLED: " : "", gpu.name,
	       gpu.compute_major, gpu.compute_minor,
	       (double)gpu.total_bytes / (1 << 30), gpu.version / 1000,
	       gpu.version % 1000 / 10,
	       gpu.is_exclusive ? ", for one process at a time" : "");
}

static int try_open(const char *spec)
{
	struct slabdev *sd;
	int ret = slabdev_open(&sd, spec, NULL);

	if (ret) {
		fprintf(stderr, "%s: %s\n", spec, slabdev_last_error());
		return ret == -ENOTSUP ? 3 : 1;
	}
	slabdev_report(sd, stdout);
	return slabdev_close(sd, 0) ? 1 : 0;
}

static int measure(const struct request *r)
{
	char why[512];
	int status = 0;

	if (!gpu_open(why, sizeof(why))) {
		fprintf(stderr, "bench: %s\n", why);
		return 2;
	}
	if (r->device)
		print_device();
	else if (gpu.is_model)
		puts("# MODELLED: what the driver's calls would cost; the time "
		     "of the CPU is not in it");
	for (size_t i = 0; !r->device && i < ARRAY_SIZE(parts); i++)
		if (r->part[i]) {
			parts[i].measure(r->quick);
			parts[i].text(stdout);
			fflush(stdout);
		}
	if (r->json && !r->device)
		status = write_json(r);
	gpu_close();
	return status;
}

int main(int argc, char **argv)
{
	struct request r = { .device = false };
	int status = parse(&r, argc, argv);

	if (status >= 0)
		return status;
	return r.open ? try_open(r.open) : measure(&r);
}
