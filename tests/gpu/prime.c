// SPDX-License-Identifier: BSD-2-Clause
/* prime.c - what the first 2 GiB cost, see prime.h. */
#include "tests/gpu/prime.h"

#include <slabdev/slabdev.h>

#include "tests/gpu/driver.h"
#include "tests/gpu/sample.h"

#define BIG (2 * GIB)

enum { WAY_ALLOC, WAY_PRIME, WAY_MALLOC, NR_WAYS };

static const char *const ways[NR_WAYS] = {
	"slabdev_alloc", "slabdev_prime", "cuMemAlloc",
};

static struct samples taken[NR_WAYS];
static char why[256];		/* not ours, if that is so */

/* ---- Measuring ------------------------------------------------------ */

/* 0, or what failed with its reason in why. */
static int in_space(int way, struct slabdev *sd)
{
	u64 start = gpu_clock_ns();
	void *p = NULL;
	int ret = 0;

	if (way == WAY_PRIME)
		ret = slabdev_prime(sd, BIG);
	else
		p = slabdev_alloc(sd, BIG);
	if (ret || (way == WAY_ALLOC && !p)) {
		snprintf(why, sizeof(why), "%s", slabdev_last_error());
		return -1;
	}
	sample_add(&taken[way], (double)(gpu_clock_ns() - start));
	slabdev_free(sd, p);
	return 0;
}

static void with_slabdev(int way)
{
	struct slabdev *sd;

	if (*why)
		return;
	if (slabdev_open(&sd, "cuda:0", NULL)) {
		snprintf(why, sizeof(why), "%s", slabdev_last_error());
		return;
	}
	in_space(way, sd);
	slabdev_close(sd, 0);
}

static void with_malloc(void)
{
	u64 start = gpu_clock_ns();
	CUdeviceptr ptr;

	GPU_MUST(cuMemAlloc(&ptr, BIG));
	sample_add(&taken[WAY_MALLOC], (double)(gpu_clock_ns() - start));
	GPU_MUST(cuMemFree(ptr));
}

void prime_measure(bool quick)
{
	unsigned int rounds = quick ? 3 : 15;

	if (gpu_free_bytes() < 2 * BIG) {
		snprintf(why, sizeof(why), "less than 4 GiB are free");
		return;
	}
	while (rounds--) {
		with_slabdev(WAY_ALLOC);
		with_slabdev(WAY_PRIME);
		with_malloc();
	}
}

/* ---- Showing -------------------------------------------------------- */

void prime_text(FILE *out)
{
	double base = sample_spread(&taken[WAY_MALLOC]).median;
	char text[64];
	int w;

	fprintf(out, "one object of 2 GiB; us, median (quartiles)\n");
	for (w = 0; w < NR_WAYS; w++) {
		sample_text(text, sizeof(text), &taken[w], 1e3);
		fprintf(out, "%-16s%-26s", ways[w], text);
		if (w != WAY_MALLOC && taken[w].nr && base > 0)
			fprintf(out, "%.2f of cuMemAlloc",
				sample_spread(&taken[w]).median / base);
		fputc('\n', out);
	}
	if (*why)
		fprintf(out, "not available: %s\n", why);
}

void prime_json(FILE *out)
{
	int w;

	fprintf(out, "\"two_gib\":{");
	for (w = 0; w < NR_WAYS; w++) {
		fprintf(out, "%s\"%s\":", w ? "," : "", ways[w]);
		sample_json(out, &taken[w]);
	}
	fputs("}", out);
}
