// SPDX-License-Identifier: BSD-2-Clause
/*
 * report.c - slabdev_report() and slabdev_validate(): a space as a whole.
 */
#include <errno.h>
#include <stdio.h>

#include "core/cancel.h"
#include "core/log.h"
#include "slab/alloc.h"
#include "slab/arena.h"
#include "slab/arena_debug.h"
#include "slab/debug.h"
#include "slab/space.h"
#include "slab/stats.h"
#include "slab/validate.h"

#define PERCENT(part, whole) \
	((whole) ? 100.0 * (double)(part) / (double)(whole) : 0.0)

static void print_line(FILE *out, const char *name, u64 bytes, u64 mapped)
{
	fprintf(out, "  %-10s %16llu  %5.1f %%\n", name,
		(unsigned long long)bytes, PERCENT(bytes, mapped));
}

static void print_space(FILE *out, const struct slabdev *sd,
			const struct slabdev_stats *st)
{
	const char *backing = space_backing(sd);

	fprintf(out, "space %s (%s%s%s), limit %llu bytes\n", sd->name,
		sd->spec, *backing ? ": " : "", backing,
		(unsigned long long)st->limit);
	print_line(out, "mapped", st->mapped, st->mapped);
	print_line(out, "live", st->live, st->mapped);
	print_line(out, "rounding", st->rounding, st->mapped);
	print_line(out, "cached", st->cached, st->mapped);
	print_line(out, "pending", st->pending, st->mapped);
	print_line(out, "retained", st->retained, st->mapped);
	print_line(out, "slack", st->slack, st->mapped);
	print_line(out, "lost", st->lost, st->mapped);
	fprintf(out, "  %-10s %16lld\n", "in flight",
		(long long)st->in_flight);
	fprintf(out, "%llu objects live, %llu allocated, %llu freed, %llu "
		"failed; %llu backend calls\n",
		(unsigned long long)st->live_objects,
		(unsigned long long)st->allocs, (unsigned long long)st->frees,
		(unsigned long long)st->failed,
		(unsigned long long)st->backend_calls);
	if (st->allocs)
		fprintf(out, "reused memory: %.1f %% of allocations, %.1f %% "
			"of their bytes\n", PERCENT(st->reused, st->allocs),
			PERCENT(st->reused_bytes, st->alloc_bytes));
	if (st->arenas || st->buffers || st->groups)
		fprintf(out, "%llu arenas (%llu bytes), %llu buffers, %llu "
			"groups\n", (unsigned long long)st->arenas,
			(unsigned long long)st->arena_bytes,
			(unsigned long long)st->buffers,
			(unsigned long long)st->groups);
}

static void print_class(const struct class_figures *cf, void *arg)
{
	FILE *out = arg;

	if (!cf->class || !cf->sum.allocs)
		return;
	fprintf(out, "%-31s %9llu %10llu %10llu %8llu %14llu %14llu\n",
		cf->class->rec->name,
		(unsigned long long)cf->class->rec->stride,
		(unsigned long long)cf->f.live_objects,
		(unsigned long long)cf->f.cached_objects,
		(unsigned long long)READ_ONCE(cf->class->rec->slabs),
		(unsigned long long)cf->f.live,
		(unsigned long long)cf->sum.allocs);
}

static void print_arena(void *arg, const char *text)
{
	fprintf(arg, "%s\n", text);
}

static void print_arenas(FILE *out, struct slabdev *sd)
{
	if (!arenas_any(sd))
		return;
	fprintf(out, ARENA_HEADING "\n", "arena", "used", "mapped", "peak",
		"padding");
	arenas_print(sd, print_arena, out);
}

int slabdev_report(struct slabdev *sd, FILE *out)
{
	NO_CANCELLATION;
	int err = space_check(sd, "slabdev_report");
	struct slabdev_stats st;

	if (err)
		return err;
	if (!out)
		return error_set(-EINVAL, "slabdev_report: out is NULL");
	stats_collect(sd, &st);
	print_space(out, sd, &st);
	fprintf(out, "%-31s %9s %10s %10s %8s %14s %14s\n", "class", "objsize",
		"live", "cached", "slabs", "live bytes", "allocs");
	stats_each_class(sd, print_class, out);
	print_arenas(out, sd);
	if (fflush(out) || ferror(out))
		return error_set(-EIO, "the report could not be written");
	return 0;
}

/* ---- Validate --------------------------------------------------------- */

int slabdev_validate(struct slabdev *sd)
{
	int err = space_check(sd, "slabdev_validate");

	if (!err)
		err = validate_space(sd);
	if (!err)
		err = debug_validate(sd, NULL);
	return err ? err : arenas_debug_validate(sd);
}

int slabdev_cache_validate(struct slabdev_cache *cache)
{
	struct class *c = cache_class(cache);
	int err = cache_check(c, "slabdev_cache_validate");

	if (!err)
		err = validate_class(c);
	return err ? err : debug_validate(c->sd, c);
}
