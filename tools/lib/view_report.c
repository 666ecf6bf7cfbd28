// SPDX-License-Identifier: BSD-2-Clause
/*
 * view_report.c - everything about each cache.
 */
#include <inttypes.h>

#include "text.h"
#include "view.h"

static const char *type_name(uint32_t type)
{
	switch (type) {
	case SLABDEV_SEG_GENERAL: return "size class of the general calls";
	case SLABDEV_SEG_CACHE: return "cache";
	default: return "large objects";
	}
}

static void print_title(FILE *out, const struct cache *c)
{
	fprintf(out, "\nSlabcache: %-31s  %s\n", escaped(c->rec.name).text,
		type_name(c->rec.type));
	fprintf(out, "** Process %d %s, space %s ", (int)c->space->pid,
		escaped(c->space->command).text,
		escaped(c->space->rec.name).text);
	backing_print(out, &c->space->rec);
	fputc('\n', out);
	if (c->rec.flags & SLABDEV_SEG_CTOR)
		fputs("** Objects have a constructor\n", out);
	if (!c->space->complete)
		fputs("** The space could not be read completely\n", out);
}

static void print_shape(FILE *out, const struct cache *c,
			const struct options *opt)
{
	const struct slabdev_seg_class *rec = &c->rec;
	const struct slabdev_seg_figures *f = &c->fig;
	uint64_t tail = less(rec->slab_bytes,
			     (uint64_t)rec->per_slab * rec->stride);
	bool b = opt->bytes;

	fputs("\nSizes (bytes)       Slabs               Objects"
	      "             Memory\n", out);
	fputs("----------------------------------------------------------"
	      "-------------------\n", out);
#define ROW "%-8s:%9" PRIu64 "  %-8s:%9" PRIu64 "  %-8s:%9" PRIu64 \
	    "  %-8s:%9s\n"
	fprintf(out, ROW, "Object", rec->object_size, "Total", rec->slabs,
		"Live", f->live_objects, "Total", size_text(c->memory, b).text);
	fprintf(out, ROW, "SlabObj", rec->stride, "Full",
		less(less(rec->slabs, rec->partial), rec->empty),
		"Cached", f->cached_objects, "Live",
		size_text(f->live, b).text);
	fprintf(out, ROW, "SlabSiz", rec->slab_bytes, "Partial", rec->partial,
		"In slab", (uint64_t)rec->per_slab, "Rounding",
		size_text(f->rounding, b).text);
	fprintf(out, ROW, "Tail", tail, "Empty", rec->empty, "In sheaf",
		(uint64_t)rec->sheaf_objects, "Cached",
		size_text(f->cached, b).text);
	fprintf(out, ROW, "Align", rec->align, "Made", rec->slab_allocs,
		"Stolen", rec->stolen, "Slack", size_text(f->slack, b).text);
#undef ROW
	fprintf(out, "%40s%-8s:%9" PRIu64 "  %-8s:%9s\n", "", "Pending",
		pending_objects(c), "Pending",
		size_text(f->pending, b).text);
}

static void print_counter(FILE *out, const char *name, uint64_t allocs,
			  uint64_t frees,
			  const struct slabdev_seg_counters *sum)
{
	fprintf(out, "%-18s %12" PRIu64 " %12" PRIu64 " %3u %3u\n", name,
		allocs, frees, percent(allocs, sum->allocs),
		percent(frees, sum->frees));
}

static void print_counters(FILE *out, const struct cache *c)
{
	const struct slabdev_seg_class *rec = &c->rec;
	const struct slabdev_seg_counters *sum = &c->sum;

	fputs("\nSlab Perf Counter         Alloc         Free %Al %Fr\n", out);
	fputs("--------------------------------------------------\n", out);
	print_counter(out, "Fastpath", less(sum->allocs, rec->refills),
		      less(sum->frees, rec->flushes), sum);
	print_counter(out, "Slowpath", rec->refills, rec->flushes, sum);
	print_counter(out, "Total", sum->allocs, sum->frees, sum);
	fprintf(out, "%-18s %12" PRIu64 " %12" PRIu64 "\n", "Slabs",
		rec->slab_allocs, rec->slab_frees);
	fprintf(out, "%-18s %12" PRIu64 " %12" PRIu64 "\n", "Bytes",
		sum->alloc_bytes, sum->free_bytes);
	fprintf(out, "Sheaves in the barn: %" PRIu64 " full, %" PRIu64
		" empty. Allocations that failed: %" PRIu64 "\n",
		rec->barn_full, rec->barn_empty, rec->failed);
}

void view_report(FILE *out, const struct snapshot *snap,
		 const struct options *opt)
{
	struct options all = *opt;
	struct choice choice = { 0 };
	size_t s, i;

	/* A cache that was named is reported even when it is empty. */
	if (opt->has_pattern && opt->show == SHOW_USED)
		all.show = SHOW_ALL;
	for (s = 0; s < snap->nr_spaces; s++) {
		choice_add(&choice, snap->spaces[s], &all);
		choice_sort(&choice, &all);
		for (i = 0; i < choice.nr; i++) {
			print_title(out, choice.caches[i]);
			print_shape(out, choice.caches[i], opt);
			print_counters(out, choice.caches[i]);
		}
		choice_fini(&choice);
	}
}
