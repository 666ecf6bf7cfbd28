// SPDX-License-Identifier: BSD-2-Clause
/*
 * view_totals.c - all chosen caches together, as the kernel's -T and -X.
 *
 * Scripts read these: "Memory used" with its third and seventh word, and the
 * first four words of the rows below "Slabs sorted by ..." keep their place.
 */
#include <inttypes.h>

#include "text.h"
#include "view.h"
#include "window.h"

/* The spread of one figure over the caches, or over their objects. */
struct spread {
	uint64_t min, max, total, weight;
};

enum per_cache {
	OBJECTS, SLABS, PARTIAL, PARTIAL_SHARE, CACHED, CACHED_SHARE, MEMORY,
	USED, LOSS, NR_PER_CACHE
};

enum per_object { OBJECT_MEMORY, OBJECT_USED, OBJECT_LOSS, NR_PER_OBJECT };

struct totals {
	size_t caches, active, spaces, processes;
	struct account bytes;
	struct spread cache[NR_PER_CACHE];
	struct spread object[NR_PER_OBJECT];
};

static void add(struct spread *s, uint64_t value, uint64_t weight)
{
	uint64_t product;
	bool overflow;

	if (!s->weight || value < s->min)
		s->min = value;
	if (value > s->max)
		s->max = value;
	if (__builtin_mul_overflow(value, weight, &product))
		product = UINT64_MAX;
	add_saturated(&s->total, product, &overflow);
	add_saturated(&s->weight, weight, &overflow);
}

static uint64_t average(const struct spread *s)
{
	return s->weight ? s->total / s->weight : 0;
}

static void add_objects(struct totals *t, const struct cache *c)
{
	uint64_t n = c->fig.live_objects;
	uint64_t used = n ? c->fig.live / n : 0;
	uint64_t memory = n ? used + c->fig.rounding / n : 0;

	if (!n)
		return;
	add(&t->object[OBJECT_MEMORY], memory, n);
	add(&t->object[OBJECT_USED], used, n);
	add(&t->object[OBJECT_LOSS], memory - used, n);
}

static void add_cache(struct totals *t, const struct cache *c)
{
	const struct slabdev_seg_figures *f = &c->fig;
	uint64_t objects;

	t->caches++;
	if (!c->memory && !f->live_objects)
		return;
	t->active++;
	if (__builtin_add_overflow(f->live_objects, f->cached_objects,
				   &objects))
		objects = UINT64_MAX;
	add(&t->cache[OBJECTS], f->live_objects, 1);
	add(&t->cache[SLABS], c->rec.slabs, 1);
	add(&t->cache[PARTIAL], c->rec.partial, 1);
	add(&t->cache[PARTIAL_SHARE], percent(c->rec.partial, c->rec.slabs),
	    1);
	add(&t->cache[CACHED], f->cached_objects, 1);
	add(&t->cache[CACHED_SHARE], percent(f->cached_objects, objects), 1);
	add(&t->cache[MEMORY], c->memory, 1);
	add(&t->cache[USED], f->live, 1);
	add(&t->cache[LOSS], c->loss, 1);
	add_objects(t, c);
}

static void collect(struct totals *t, const struct snapshot *snap,
		    const struct options *opt)
{
	struct options all = *opt;
	struct choice choice = { 0 };
	pid_t last = 0;
	size_t i;

	*t = (struct totals){ 0 };
	for (i = 0; i < snap->nr_spaces; i++) {
		const struct space *space = snap->spaces[i];

		if (!space_is_chosen(space, opt))
			continue;
		t->spaces++;
		t->processes += space->pid != last;
		last = space->pid;
		account_add(&t->bytes, &space->bytes);
	}
	all.show = SHOW_ALL;
	for (i = 0; i < snap->nr_spaces; i++)
		choice_add(&choice, snap->spaces[i], &all);
	for (i = 0; i < choice.nr; i++)
		add_cache(t, choice.caches[i]);
	choice_fini(&choice);
}

static void print_summary(FILE *out, const struct totals *t,
			  const struct options *opt)
{
	const struct spread *cache = t->cache;

	fputs("\nSlabcache Totals\n----------------\n", out);
	fprintf(out, "Slabcaches : %15zu   Active   : %15zu   Spaces: %6zu\n",
		t->caches, t->active, t->spaces);
	fprintf(out, "Memory used: %15s   # Loss   : %15s   MRatio: %5u%%\n",
		size_text(cache[MEMORY].total, opt->bytes).text,
		size_text(cache[LOSS].total, opt->bytes).text,
		percent(cache[LOSS].total, cache[USED].total));
	fprintf(out, "# Objects  : %15" PRIu64 "   # Cached : %15" PRIu64
		"   ORatio: %5u%%\n", cache[OBJECTS].total,
		cache[CACHED].total,
		percent(cache[CACHED].total, cache[OBJECTS].total));
}

static void print_spread(FILE *out, const char *name, const struct spread *s,
			 bool plain, bool total)
{
	fprintf(out, "%-10s %15s  %15s  %15s", name,
		size_text(average(s), plain).text,
		size_text(s->min, plain).text, size_text(s->max, plain).text);
	if (total)
		fprintf(out, "  %15s", size_text(s->total, plain).text);
	fputc('\n', out);
}

static void print_share(FILE *out, const char *name, const struct spread *s,
			uint64_t part, uint64_t whole)
{
	fprintf(out, "%-10s %14" PRIu64 "%%  %14" PRIu64 "%%  %14" PRIu64
		"%%  %14u%%\n", name, average(s), s->min, s->max,
		percent(part, whole));
}

static void print_per_cache(FILE *out, const struct totals *t,
			    const struct options *opt)
{
	const struct spread *c = t->cache;
	uint64_t objects;

	if (__builtin_add_overflow(c[OBJECTS].total, c[CACHED].total,
				   &objects))
		objects = UINT64_MAX;
	fputs("\nPer Cache          Average              Min              Max"
	      "            Total\n", out);
	fputs("----------------------------------------------------------"
	      "-------------------\n", out);
	print_spread(out, "#Objects", &c[OBJECTS], true, true);
	print_spread(out, "#Slabs", &c[SLABS], true, true);
	print_spread(out, "#PartSlab", &c[PARTIAL], true, true);
	print_share(out, "%PartSlab", &c[PARTIAL_SHARE], c[PARTIAL].total,
		    c[SLABS].total);
	print_spread(out, "#Cached", &c[CACHED], true, true);
	print_share(out, "%Cached", &c[CACHED_SHARE], c[CACHED].total,
		    objects);
	print_spread(out, "Memory", &c[MEMORY], opt->bytes, true);
	print_spread(out, "Used", &c[USED], opt->bytes, true);
	print_spread(out, "Loss", &c[LOSS], opt->bytes, true);
}

static void print_per_object(FILE *out, const struct totals *t,
			     const struct options *opt)
{
	const struct spread *o = t->object;

	fputs("\nPer Object         Average              Min              Max"
	      "\n", out);
	fputs("------------------------------------------------------------"
	      "\n", out);
	print_spread(out, "Memory", &o[OBJECT_MEMORY], opt->bytes, false);
	print_spread(out, "User", &o[OBJECT_USED], opt->bytes, false);
	print_spread(out, "Loss", &o[OBJECT_LOSS], opt->bytes, false);
}

void view_totals(FILE *out, const struct snapshot *snap,
		 const struct options *opt)
{
	struct totals t;

	collect(&t, snap, opt);
	fprintf(out, "processes %zu, spaces %zu\n", t.processes, t.spaces);
	account_print(out, &t.bytes, opt);
	print_summary(out, &t, opt);
	print_per_cache(out, &t, opt);
	print_per_object(out, &t, opt);
}

static void print_sorted(FILE *out, const char *title,
			 const struct snapshot *snap,
			 const struct options *opt, enum sort sort)
{
	struct options sorted = *opt;
	struct choice choice = { 0 };
	size_t i, line;

	sorted.sort = sort;
	sorted.activity = false;
	fprintf(out, "\n%s\n", title);
	for (line = 0; title[line]; line++)
		fputc('-', out);
	fputc('\n', out);
	for (i = 0; i < snap->nr_spaces; i++)
		choice_add(&choice, snap->spaces[i], &sorted);
	choice_sort(&choice, &sorted);
	table_print(out, &choice, &sorted, snap->nr_spaces > 1);
	choice_fini(&choice);
}

void view_xtotals(FILE *out, const struct snapshot *snap,
		  const struct options *opt)
{
	view_totals(out, snap, opt);
	print_sorted(out, "Slabs sorted by size", snap, opt, SORT_SIZE);
	print_sorted(out, "Slabs sorted by loss", snap, opt, SORT_LOSS);
	print_sorted(out, "Slabs sorted by number of partial slabs", snap, opt,
		     SORT_PARTIAL);
}
