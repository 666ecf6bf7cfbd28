// SPDX-License-Identifier: BSD-2-Clause
/* pairs.c - allocations and frees of several sizes, see pairs.h. */
#include "tests/gpu/pairs.h"

#include "tests/gpu/sample.h"
#include "tests/gpu/subject.h"

#define BATCH_MAX 100
#define SAMPLE_NS 2000000
#define REPEAT_MAX 2000

enum { WORKLOAD_PAIR, WORKLOAD_BATCH, NR_WORKLOADS };

static const struct {
	const char *name, *text;
} workloads[NR_WORKLOADS] = {
	{ "pair", "each object is freed at once" },
	{ "batch", "many objects are allocated, then all are freed" },
};

static const struct {
	u64 bytes;
	const char *name;
} sizes[] = {
	{ 256, "256 B" }, { 4 * KIB, "4 KiB" }, { 64 * KIB, "64 KiB" },
	{ MIB, "1 MiB" }, { 16 * MIB, "16 MiB" }, { GIB, "1 GiB" },
};
#define NR_SIZES ARRAY_SIZE(sizes)

struct cell {
	struct samples samples;
	unsigned int repeat;	/* in one sample */
	bool refused;
};

static struct cell cells[NR_WORKLOADS][NR_SIZES][NR_SUBJECTS];
static unsigned int batch[NR_SIZES];
static unsigned int rounds = 31, repeat_max = REPEAT_MAX,
		    batch_max = BATCH_MAX;
static bool has[NR_SUBJECTS];
static char why[NR_SUBJECTS][256];
/* Driver calls of libslabdev while it was measured; a promise is none. */
static u64 steady_calls;

/* ---- Measuring ------------------------------------------------------ */

/* Nanoseconds of one allocation with its free; negative when refused. */
static double measure(int workload, size_t size, int subject,
		      unsigned int repeat)
{
	const struct subject *s = &subjects[subject];
	CUdeviceptr ptr[BATCH_MAX];
	unsigned int i, n = workload == WORKLOAD_PAIR ? 1 : batch[size];
	u64 start = gpu_clock_ns(), end;
	bool ok = true;

	if (workload == WORKLOAD_PAIR)
		ok = s->pairs(sizes[size].bytes, repeat);
	for (i = 0; workload == WORKLOAD_BATCH && ok && i < repeat; i++)
		ok = s->batch(sizes[size].bytes, n, ptr);
	end = gpu_clock_ns();
	GPU_MUST(cuCtxSynchronize());
	return ok ? (double)(end - start) / repeat / n : -1;
}

/* The second time, since the first one maps memory. */
static void prime(int workload, size_t size, int subject)
{
	struct cell *c = &cells[workload][size][subject];
	unsigned int n = workload == WORKLOAD_PAIR ? 1 : batch[size];
	double ns = measure(workload, size, subject, 1);

	if (ns >= 0)
		ns = measure(workload, size, subject, 1);
	c->refused = ns < 0;
	c->repeat = ns * n * repeat_max <= SAMPLE_NS ? repeat_max :
		    (unsigned int)max(SAMPLE_NS / (ns * n), 1.0);
}

static void one_round(int workload, size_t size, int subject)
{
	struct cell *c = &cells[workload][size][subject];
	u64 calls = subject_slabdev_calls();
	double ns;

	if (!has[subject] || c->refused)
		return;
	ns = measure(workload, size, subject, c->repeat);
	if (ns < 0)
		c->refused = true;
	else
		sample_add(&c->samples, ns);
	steady_calls += subject_slabdev_calls() - calls;
}

static void measure_size(size_t size)
{
	int w, s;

	batch[size] = (unsigned int)min(gpu_free_bytes() / 4 /
					sizes[size].bytes, (u64)batch_max);
	for (w = 0; batch[size] && w < NR_WORKLOADS; w++) {
		for (s = 0; s < NR_SUBJECTS; s++)
			if (has[s])
				prime(w, size, s);
		for (unsigned int i = 0; i < rounds; i++)
			for (s = 0; s < NR_SUBJECTS; s++)
				one_round(w, size, s);
	}
	for (s = 0; s < NR_SUBJECTS; s++)
		if (has[s])
			subjects[s].trim();
}

void pairs_measure(bool quick)
{
	size_t size;
	int s;

	if (quick) {
		rounds = 3;
		repeat_max = 20;
		batch_max = 10;
	}
	for (s = 0; s < NR_SUBJECTS; s++)
		has[s] = subjects[s].open(why[s], sizeof(why[s]));
	for (size = 0; size < NR_SIZES; size++)
		measure_size(size);
	for (s = 0; s < NR_SUBJECTS; s++)
		if (has[s])
			subjects[s].close();
}

/* ---- Showing -------------------------------------------------------- */

/* How often slower than libslabdev; "-" where one of them is not known. */
static void ratio_text(char *buf, size_t len, const struct samples *other,
		       const struct samples *ours)
{
	double base = sample_spread(ours).median;

	if (!other->nr || base <= 0)
		snprintf(buf, len, "-");
	else
		snprintf(buf, len, "%.1f",
			 sample_spread(other).median / base);
}

static void text_row(FILE *out, int workload, size_t size)
{
	const struct cell *row = cells[workload][size];
	char text[64];
	int s;

	fprintf(out, "%-8s%5u", sizes[size].name,
		workload == WORKLOAD_PAIR ? 1 : batch[size]);
	for (s = 0; s < NR_SUBJECTS; s++) {
		sample_text(text, sizeof(text), &row[s].samples, 1);
		fprintf(out, "  %-26s", row[s].refused ? "refused" : text);
	}
	for (s = SUBJECT_SLABDEV + 1; s < NR_SUBJECTS; s++) {
		ratio_text(text, sizeof(text), &row[s].samples,
			   &row[SUBJECT_SLABDEV].samples);
		fprintf(out, "  %11s", text);
	}
	fputc('\n', out);
}

void pairs_text(FILE *out)
{
	size_t size;
	int w, s;

	for (w = 0; w < NR_WORKLOADS; w++) {
		fprintf(out, "%s: %s; ns of an allocation and a free, median "
			"(quartiles)\n%-8s%5s", workloads[w].name,
			workloads[w].text, "size", "n");
		for (s = 0; s < NR_SUBJECTS; s++)
			fprintf(out, "  %-26s", subjects[s].name);
		fprintf(out, "  %11s  %11s\n", "pool/ours", "malloc/ours");
		for (size = 0; size < NR_SIZES; size++)
			text_row(out, w, size);
	}
	for (s = 0; s < NR_SUBJECTS; s++)
		fprintf(out, "%s: %s%s%s\n", subjects[s].name,
			subjects[s].calls, has[s] ? "" : ": not available: ",
			why[s]);
	if (has[SUBJECT_SLABDEV])
		fprintf(out, "driver calls of slabdev while measured: %llu\n",
			(unsigned long long)steady_calls);
}

static void json_cell(FILE *out, int workload, size_t size)
{
	int s;

	fprintf(out, "{\"workload\":\"%s\",\"bytes\":%llu,\"n\":%u",
		workloads[workload].name,
		(unsigned long long)sizes[size].bytes,
		workload == WORKLOAD_PAIR ? 1 : batch[size]);
	for (s = 0; s < NR_SUBJECTS; s++) {
		fprintf(out, ",\"%s\":", subjects[s].name);
		sample_json(out, &cells[workload][size][s].samples);
	}
	fputs("}", out);
}

void pairs_json(FILE *out)
{
	size_t size;
	int w;

	fprintf(out, "\"slabdev_driver_calls\":%llu,\"pairs\":[",
		(unsigned long long)steady_calls);
	for (w = 0; w < NR_WORKLOADS; w++)
		for (size = 0; size < NR_SIZES; size++) {
			fputs(w || size ? ",\n" : "\n", out);
			json_cell(out, w, size);
		}
	fputs("]", out);
}
