// SPDX-License-Identifier: BSD-2-Clause
/*
 * view_list.c - each space, and a line for each of its caches.
 */
#include <inttypes.h>
#include <string.h>

#include <slabdev/slabdev.h>

#include "text.h"
#include "view.h"

/* Fits 80 columns, as long as the numbers fit theirs. */
#define NAME_WIDTH 14

static int name_width(const struct choice *choice)
{
	size_t i, width = NAME_WIDTH;

	for (i = 0; i < choice->nr; i++) {
		size_t n = strlen(escaped(choice->caches[i]->rec.name).text);

		if (n > width)
			width = n;
	}
	return (int)width;
}

/* Large objects have no common size: their average stands for it. */
static uint64_t object_size(const struct cache *c)
{
	if (c->rec.type != SLABDEV_SEG_LARGE)
		return c->rec.object_size;
	return c->fig.live_objects ? c->fig.live / c->fig.live_objects : 0;
}

static const char *flags(const struct cache *c)
{
	if (c->rec.type == SLABDEV_SEG_GENERAL)
		return " g";
	if (c->rec.type == SLABDEV_SEG_LARGE)
		return " l";
	return c->rec.flags & SLABDEV_SEG_CTOR ? " c" : "";
}

static void print_state(FILE *out, const struct cache *c,
			const struct options *opt)
{
	uint64_t bytes = opt->sort == SORT_LOSS ? c->loss : c->memory;
	char slabs[72];

	snprintf(slabs, sizeof(slabs), "%" PRIu64 "/%" PRIu64 "/%" PRIu64,
		 c->rec.slabs, c->rec.partial, c->rec.empty);
	fprintf(out, " %8" PRIu64 " %7" PRIu64 " %8s %14s %4" PRIu32
		" %3u %3u %6" PRIu64 "%s", c->fig.live_objects,
		object_size(c), size_text(bytes, opt->bytes).text, slabs,
		c->rec.per_slab, percent(c->rec.partial, c->rec.slabs),
		percent(c->fig.live, c->memory), c->fig.cached_objects,
		flags(c));
}

static void print_activity(FILE *out, const struct cache *c)
{
	fprintf(out, " %8" PRIu64 " %10" PRIu64 " %10" PRIu64
		" %3u %3u %6" PRIu64 " %6" PRIu64 " %6" PRIu64 " %5" PRIu64,
		c->fig.live_objects, c->sum.allocs, c->sum.frees,
		percent(less(c->sum.allocs, c->rec.refills), c->sum.allocs),
		percent(less(c->sum.frees, c->rec.flushes), c->sum.frees),
		c->rec.slab_allocs, c->rec.slab_frees, c->rec.stolen,
		c->rec.failed);
}

static void print_titles(FILE *out, int width, const struct options *opt,
			 bool where)
{
	fprintf(out, "%-*s", width, "Name");
	if (opt->activity)
		fputs("  Objects      Alloc       Free   %Fast Slabs+ Slabs-"
		      " Stolen Fails", out);
	else
		fprintf(out, "  Objects Objsize    %s Slabs/Part/Emp  O/S %%Fr"
			" %%Ef Cached Flg",
			opt->sort == SORT_LOSS ? " Loss" : "Space");
	fputs(where ? " Where\n" : "\n", out);
}

void table_print(FILE *out, const struct choice *choice,
		 const struct options *opt, bool where)
{
	int width = name_width(choice);
	size_t i;

	print_titles(out, width, opt, where);
	for (i = 0; i < choice->nr; i++) {
		const struct cache *c = choice->caches[i];

		fprintf(out, "%-*s", width, escaped(c->rec.name).text);
		if (opt->activity)
			print_activity(out, c);
		else
			print_state(out, c, opt);
		if (where)
			fprintf(out, " %d/%s", (int)c->space->pid,
				escaped(c->space->rec.name).text);
		fputc('\n', out);
	}
}

static void print_policy(FILE *out, const struct slabdev_seg_space *rec,
			 const struct options *opt)
{
	fprintf(out, "policy %s", policy_name(rec->policy_mode));
	if (rec->policy_mode == SLABDEV_TRIM)
		fprintf(out, " (keep %s)",
			size_text(rec->policy_keep, opt->bytes).text);
}

/* Nothing where no stream but the bound one was ever used. */
static void print_streams(FILE *out, const struct slabdev_seg_space *rec,
			  const struct options *opt)
{
	if (!rec->nr_streams && !rec->nr_graphs && !rec->event_records)
		return;
	fprintf(out, "  streams %" PRIu32 ", graphs %" PRIu32 " (hold %s); "
		"events %" PRIu64 ", asked %" PRIu64 "; waits: stream %" PRIu64
		", CPU %" PRIu64 "\n", rec->nr_streams, rec->nr_graphs,
		size_text(rec->held_bytes, opt->bytes).text,
		rec->event_records, rec->event_queries, rec->stream_waits,
		rec->host_waits);
}

static void print_exports(FILE *out, const struct slabdev_seg_space *rec,
			  const struct options *opt)
{
	if (rec->nr_exported)
		fprintf(out, "  exported %" PRIu32 " objects (%s)\n",
			rec->nr_exported,
			size_text(rec->exported_bytes, opt->bytes).text);
}

/* Nothing where there are only plain objects. */
static void print_owners(FILE *out, const struct slabdev_seg_space *rec,
			 const struct options *opt)
{
	if (rec->nr_arenas || rec->nr_buffers || rec->nr_groups)
		fprintf(out, "  arenas %" PRIu32 " (%s), buffers %" PRIu32
			", groups %" PRIu32 "\n", rec->nr_arenas,
			size_text(rec->arena_bytes, opt->bytes).text,
			rec->nr_buffers, rec->nr_groups);
}

static void print_heading(FILE *out, const struct space *s,
			  const struct options *opt)
{
	const struct slabdev_seg_space *rec = &s->rec;
	const struct counts *n = &s->counts;
	unsigned int hits = hundredths(less(n->ops.allocs, n->refills),
				       n->ops.allocs);

	fprintf(out, "%d %s", (int)s->pid, escaped(s->command).text);
	if (*s->rank.rank)
		fprintf(out, " rank %s", escaped(s->rank.rank).text);
	fprintf(out, ": space %s ", escaped(rec->name).text);
	backing_print(out, rec);
	fputs(", ", out);
	print_policy(out, rec, opt);
	fprintf(out, ", threads %" PRIu32 ", caches %" PRIu32 "%s\n",
		rec->nr_threads, rec->nr_caches,
		s->complete ? "" : ", INCOMPLETE");
	account_print(out, &s->bytes, opt);
	fprintf(out, "  limit %s, peak mapped %s, peak live %s\n",
		size_text(rec->vmm.limit, opt->bytes).text,
		size_text(rec->vmm.peak_created, opt->bytes).text,
		size_text(rec->peak_out, opt->bytes).text);
	fprintf(out, "  allocations %" PRIu64 ", hit rate %u.%02u%%, failed %"
		PRIu64 "; backend calls %" PRIu64 ", failed %" PRIu64 "\n",
		n->ops.allocs, hits / 100, hits % 100, rec->failed,
		n->backend_calls, n->backend_fails);
	print_streams(out, rec, opt);
	print_exports(out, rec, opt);
	print_owners(out, rec, opt);
}

void view_list(FILE *out, const struct snapshot *snap,
	       const struct options *opt)
{
	struct choice choice = { 0 };
	bool first = true;
	size_t i;

	for (i = 0; i < snap->nr_spaces; i++) {
		const struct space *space = snap->spaces[i];

		if (!space_is_chosen(space, opt))
			continue;
		if (!first)
			fputc('\n', out);
		first = false;
		print_heading(out, space, opt);
		choice_add(&choice, space, opt);
		choice_sort(&choice, opt);
		if (choice.nr)
			table_print(out, &choice, opt, false);
		choice_fini(&choice);
	}
}
