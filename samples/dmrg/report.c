// SPDX-License-Identifier: BSD-2-Clause
/*
 * report.c - what the user sees of a run
 *
 * Two kinds of figures. Counts (allocations, hit rate, backend calls, peaks)
 * say the same on any machine. Times do not, so the one that matters, the
 * allocator's, is shown next to malloc's on the same calls, as a ratio.
 *
 * "Hit rate" is the share of the allocations that the thread's own sheaves
 * served: 1 - refills / allocations.
 */
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static double mib(uint64_t bytes)
{
	return (double)bytes / (1 << 20);
}

static double hit_rate(uint64_t refills, uint64_t allocs)
{
	return 1 - ratio((double)refills, (double)allocs);
}

static double last_hit_rate(const struct run *run)
{
	return hit_rate(run->end.refills - run->before_last.refills,
			run->end.allocs - run->before_last.allocs);
}

static uint64_t last_backend_calls(const struct run *run)
{
	return run->end.backend_calls - run->before_last.backend_calls;
}

static void report_head(const struct run *run)
{
	const struct options *opt = run->opt;

	printf("Heisenberg chain of %d sites, bonds of %s%d states, "
	       "%d sweeps, %d threads\n", opt->sites,
	       opt->schedule.push ? "" : "up to ", opt->max_dim, opt->sweeps,
	       opt->threads);
	if (run->mem.kind == MEM_MALLOC)
		printf("blocks from malloc\n\n");
	else
		printf("blocks from slabdev, %s, on %s, %s policy\n\n",
		       run->mem.grouped ? "in groups" : "one by one",
		       run->mem.device, opt->policy);
	printf("sweep            energy     change  truncated  bond  "
	       "seconds  allocations\n");
}

void report_sweep(const struct run *run, double seconds)
{
	const struct sweep_result *r = &run->sweep;
	const struct sweep_memory *row;

	if (!run->nr_sweeps) {
		report_head(run);
		return;
	}
	row = &run->sweeps[run->nr_sweeps - 1];
	if (row->back_to) {
		printf("%5d  no memory for bonds of %d states: back to %d\n",
		       run->nr_sweeps, row->bond, row->back_to);
		return;
	}
	printf("%5d  %16.10f ", run->nr_sweeps, r->energy);
	if (run->nr_sweeps == 1)
		printf("%10s", "-");
	else
		printf("%10.1e", run->change);
	printf(" %10.1e %5d %8.2f %12" PRIu64 "\n", r->lost, r->dim, seconds,
	       run->end.allocs);
}

static void report_space(const struct run *run)
{
	const struct mem_counts *end = &run->end;

	printf("  served by the thread's own sheaves  %.2f %% "
	       "(last sweep %.2f %%)\n",
	       100 * hit_rate(end->refills, end->allocs),
	       100 * last_hit_rate(run));
	printf("  memory-management calls             %" PRIu64
	       " (last sweep %" PRIu64 ")\n", end->backend_calls,
	       last_backend_calls(run));
	printf("  peak mapped / peak live             %.2f "
	       "(%.1f MiB / %.1f MiB)\n",
	       ratio((double)end->peak_mapped, (double)end->peak_live),
	       mib(end->peak_mapped), mib(end->peak_live));
}

static void report_device(const struct run *run)
{
	const struct device_counts *c = &run->device;

	printf("  products on the device              %" PRIu64 "\n",
	       c->gemms);
	printf("  copies to the CPU                   %" PRIu64
	       " of %.0f bytes\n", c->reads,
	       ratio((double)c->read_bytes, (double)c->reads));
	printf("  copies to the device                %" PRIu64
	       " of %.0f bytes\n", c->writes,
	       ratio((double)c->written_bytes, (double)c->writes));
}

static void report_replay(const struct replayed *replayed)
{
	const struct replay_result *r = &replayed->result;
	const double slabdev = r->ns[REPLAY_SLABDEV];

	if (replayed->err) {
		printf("\nreplay of the last sweep's calls: not measured: %s\n",
		       strerror(-replayed->err));
		return;
	}
	printf("\nlast sweep's %zu allocations and frees, replayed on the "
	       "host by one thread,\nmemory not touched, median of %d "
	       "rounds\n", r->pairs, r->rounds);
	printf("  slabdev              %8.1f ns a pair\n", slabdev);
	printf("  posix_memalign(%zu)  %8.1f ns a pair, %.1f times slabdev\n",
	       MEM_ALIGN, r->ns[REPLAY_ALIGNED],
	       ratio(r->ns[REPLAY_ALIGNED], slabdev));
	printf("  malloc, 16 aligned   %8.1f ns a pair, %.1f times slabdev\n",
	       r->ns[REPLAY_MALLOC], ratio(r->ns[REPLAY_MALLOC], slabdev));
}

void report_end(const struct run *run, const struct replayed *replayed)
{
	const struct mem_counts *end = &run->end;

	if (run->mem.grouped)
		printf("\n%" PRIu64 " allocations for %" PRIu64 " blocks in "
		       "%.1f seconds, %.0f bytes on average\n", end->allocs,
		       end->blocks, run->seconds,
		       ratio((double)end->bytes, (double)end->allocs));
	else
		printf("\n%" PRIu64 " block allocations in %.1f seconds, "
		       "%.0f bytes on average\n", end->allocs, run->seconds,
		       ratio((double)end->bytes, (double)end->allocs));
	if (run->mem.kind == MEM_SLABDEV)
		report_space(run);
	if (run->device.gemms)
		report_device(run);
	if (!run->opt->schedule.push)
		report_replay(replayed);
	printf("\n");
}

static void json_sweeps(const struct run *run, FILE *out)
{
	const struct sweep_memory *row;
	int i;

	fprintf(out, "  \"by_sweep\": [\n");
	for (i = 0; i < run->nr_sweeps; i++) {
		row = &run->sweeps[i];
		fprintf(out, "    { \"phase\": \"%s\", \"states\": %d, "
			"\"back_to\": %d, \"live\": %" PRIu64 ",\n"
			"      \"mapped\": %" PRIu64 ", \"retained\": %" PRIu64
			", \"peak\": %" PRIu64 ",\n      \"backend_calls\": %"
			PRIu64 ", \"calls\": %" PRIu64 ", \"ns\": %" PRIu64
			" }%s\n", row->policy, row->bond, row->back_to,
			row->live, row->mapped, row->retained,
			row->peak_mapped, row->backend_calls, row->calls,
			row->ns, i < run->nr_sweeps - 1 ? "," : "");
	}
	fprintf(out, "  ],\n");
}

static void json_space(const struct run *run, FILE *out)
{
	const struct mem_counts *end = &run->end;
	const struct device_counts *dev = &run->device;

	fprintf(out, "  \"hit_rate\": %.6f,\n  \"last_hit_rate\": %.6f,\n"
		"  \"backend_calls\": %" PRIu64 ",\n"
		"  \"last_backend_calls\": %" PRIu64 ",\n"
		"  \"peak_mapped\": %" PRIu64 ",\n",
		hit_rate(end->refills, end->allocs), last_hit_rate(run),
		end->backend_calls, last_backend_calls(run),
		end->peak_mapped);
	fprintf(out, "  \"prime\": { \"bytes\": %" PRIu64 ", \"calls\": %"
		PRIu64 ", \"ns\": %" PRIu64 " },\n", run->mem.prime,
		run->prime_calls, run->prime_ns);
	fprintf(out, "  \"device_products\": %" PRIu64 ",\n"
		"  \"device_reads\": %" PRIu64 ",\n"
		"  \"device_writes\": %" PRIu64 ",\n", dev->gemms, dev->reads,
		dev->writes);
	json_sweeps(run, out);
}

int report_json(const struct run *run, const struct replayed *replayed,
		FILE *out)
{
	const struct options *opt = run->opt;
	const struct mem_counts *end = &run->end;
	const struct replay_result *r = &replayed->result;

	fprintf(out, "{\n"
		"  \"sites\": %d,\n  \"bond\": %d,\n  \"sweeps\": %d,\n"
		"  \"threads\": %d,\n  \"alloc\": \"%s\",\n"
		"  \"blocks\": \"%s\",\n  \"policy\": \"%s\",\n",
		opt->sites, opt->max_dim, opt->sweeps, opt->threads,
		run->mem.kind == MEM_SLABDEV ? "slabdev" : "malloc",
		run->mem.grouped ? "group" : "single", opt->policy);
	fprintf(out, "  \"energy\": %.12f,\n  \"truncated\": %.3e,\n"
		"  \"seconds\": %.3f,\n", run->sweep.energy, run->sweep.lost,
		run->seconds);
	fprintf(out, "  \"allocs\": %" PRIu64 ",\n  \"frees\": %" PRIu64 ",\n"
		"  \"blocks_made\": %" PRIu64 ",\n  \"calls\": %" PRIu64 ",\n"
		"  \"alloc_ns\": %" PRIu64 ",\n"
		"  \"live\": %" PRIu64 ",\n  \"peak_live\": %" PRIu64 ",\n",
		end->allocs, end->frees, end->blocks, end->calls, end->ns,
		end->live, end->peak_live);
	if (run->mem.kind == MEM_SLABDEV)
		json_space(run, out);
	if (replayed->err)
		fprintf(out, "  \"replay\": null\n}\n");
	else
		fprintf(out, "  \"replay\": { \"pairs\": %zu, \"rounds\": %d, "
			"\"slabdev_ns\": %.2f,\n    \"memalign_ns\": %.2f, "
			"\"malloc_ns\": %.2f }\n}\n", r->pairs, r->rounds,
			r->ns[REPLAY_SLABDEV], r->ns[REPLAY_ALIGNED],
			r->ns[REPLAY_MALLOC]);
	return ferror(out) ? -EIO : 0;
}
