// SPDX-License-Identifier: BSD-2-Clause
/*
 * report_memory.c - what each sweep did with memory, and what groups save
 *
 * The table shows the space as each sweep left it: what lives between two
 * sweeps, the state and its environments, and what the policy has kept beside
 * it. The bars have one scale, up to the most that was mapped, or to the
 * limit where that stopped a sweep. Peaks are of what was seen after each pair
 * of sites; backend calls are those for memory, the only ones that a driver
 * gets; the time is that of all threads inside the allocator.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report.h"

#define BAR 14

static double mib(uint64_t bytes)
{
	return (double)bytes / (1 << 20);
}

static int columns(uint64_t bytes, uint64_t full)
{
	const uint64_t n = full ? (bytes * BAR + full / 2) / full : 0;

	return n < BAR ? (int)n : BAR;
}

static void bar(const struct sweep_memory *row, uint64_t full, char *text)
{
	const int live = columns(row->live, full);
	const int mapped = columns(row->mapped, full);
	const int peak = columns(row->peak_mapped, full);
	int i;

	for (i = 0; i < BAR; i++)
		text[i] = i < live ? '#' : i < mapped ? '.' :
			  i < peak ? '-' : ' ';
	text[BAR] = '\0';
}

/* What the bars are part of. */
static uint64_t scale(const struct run *run)
{
	uint64_t most = 1;
	int i;

	for (i = 0; i < run->nr_sweeps; i++) {
		if (run->sweeps[i].back_to)
			return run->end.limit;
		if (run->sweeps[i].peak_mapped > most)
			most = run->sweeps[i].peak_mapped;
	}
	return most;
}

static void report_row(const struct run *run, int i, uint64_t full)
{
	const struct sweep_memory *row = &run->sweeps[i];
	char text[BAR + 1];

	bar(row, full, text);
	printf("%5d  %-10s %5d %7.1f %7.1f %8.1f %6" PRIu64 " %7.1f |%s|\n",
	       i + 1, row->policy, row->bond, mib(row->live),
	       mib(row->mapped), mib(row->retained), row->backend_calls,
	       (double)row->ns * 1e-6, text);
	if (row->back_to)
		printf("       full: %d states do not fit, %d do\n",
		       row->bond, row->back_to);
}

void report_memory(const struct run *run)
{
	const uint64_t full = scale(run);
	char size[32];
	int i;

	snprintf(size, sizeof(size), "%.0f MiB", mib(full));
	if (run->mem.prime)
		printf("\nprimed %.1f MiB: %" PRIu64 " calls, %.1f ms\n",
		       mib(run->mem.prime), run->prime_calls,
		       (double)run->prime_ns * 1e-6);
	printf("\nmemory in MiB after each sweep        "
	       "# live  . mapped besides  - peak in it\n"
	       "calls for memory; ms in all calls of the library\n");
	printf("sweep  policy      bond    live  mapped retained  calls  "
	       "    ms |0%*s|\n", BAR - 1, size);
	for (i = 0; i < run->nr_sweeps; i++)
		report_row(run, i, full);
}

static void compare_row(const char *what, double single, double grouped,
			int digits)
{
	printf("  %-36s %12.*f %12.*f", what, digits, single, digits, grouped);
	if (grouped > 0 && single > 0)
		printf(" %9.2f", grouped / single);
	printf("\n");
}

void report_compare(const struct run *single, const struct run *grouped)
{
	const struct mem_counts *s = &single->end, *g = &grouped->end;
	const struct device_counts *sd = &single->device;
	const struct device_counts *gd = &grouped->device;

	printf("%-38s %12s %12s %9s\n", "what groups and buffers change",
	       "one by one", "groups", "ratio");
	compare_row("blocks", (double)s->blocks, (double)g->blocks, 0);
	compare_row("allocations", (double)s->allocs, (double)g->allocs, 0);
	compare_row("calls of the library", (double)s->calls,
		    (double)g->calls, 0);
	compare_row("seconds in them, all threads", (double)s->ns * 1e-9,
		    (double)g->ns * 1e-9, 4);
	compare_row("memory-management calls", (double)s->backend_calls,
		    (double)g->backend_calls, 0);
	compare_row("peak live, MiB", mib(s->peak_live), mib(g->peak_live), 1);
	compare_row("peak mapped, MiB", mib(s->peak_mapped),
		    mib(g->peak_mapped), 1);
	if (sd->gemms) {
		compare_row("copies to the CPU", (double)sd->reads,
			    (double)gd->reads, 0);
		compare_row("copies to the device", (double)sd->writes,
			    (double)gd->writes, 0);
	}
	compare_row("seconds of all sweeps", single->seconds,
		    grouped->seconds, 2);
	printf("  %-36s %12s %12s\n", "energy", "",
	       single->sweep.energy == grouped->sweep.energy ?
	       "the same" : "DIFFERS");
	printf("\n");
}
