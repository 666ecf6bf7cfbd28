// SPDX-License-Identifier: BSD-2-Clause
/*
 * table.c - what came of it, for people: a table for each workload, its sizes
 * side by side.
 */
#include <string.h>

#include "device.h"
#include "table.h"

#define NAME_WIDTH 12
#define CELL_WIDTH 11

/* Three digits that mean something. */
static int decimals(double x)
{
	if (x < 10)
		return 2;
	return x < 100;
}

static void print_machine(FILE *out, const struct bench *b)
{
	const struct machine *m = &b->machine;
	double gib = (double)m->memory / (double)(1 << 30);

	fprintf(out, "machine   %s, %u processor%s, %.1f GiB\n", m->processor,
		m->processors, m->processors == 1 ? "" : "s", gib);
	fprintf(out, "system    %s %s, glibc %s, built with %s\n",
		m->system.sysname, m->system.release, m->libc, m->compiler);
}

/* Where libslabdev has its memory. */
static void print_device(FILE *out)
{
	char name[SUBJECT_TEXT];

	device_name(name, sizeof(name));
	if (*name)
		fprintf(out, "device    %s, %s\n", device_spec(), name);
}

static void print_subjects(FILE *out, const struct bench *b)
{
	const char *before = "versions  ";
	unsigned int i;

	for (i = 0; i < b->nr_subjects; i++) {
		if (!*b->version[i])
			continue;
		fprintf(out, "%s%s %s", before, b->subjects[i]->name,
			b->version[i]);
		before = ", ";
	}
	if (*before == ',')
		fputc('\n', out);
}

/* Of all samples: how many were quiet. */
static void print_quiet(FILE *out, const struct bench *b)
{
	unsigned int i, nr = 0, quiet = 0;

	for (i = 0; i < b->nr_cells * b->nr_subjects; i++) {
		nr += b->results[i].nr;
		quiet += b->results[i].nr_quiet;
	}
	if (nr && b->best_reading > 0)
		fprintf(out, "readings  %.1f additions/ns at best; %u%% of the "
			"samples within %d%% of it\n", b->best_reading,
			quiet * 100 / nr, (int)(100.5 - 100 * QUIET));
}

static void print_method(FILE *out, const struct bench *b)
{
	const struct options *opt = b->opt;

	if (opt->mode == MODE_CALLGRIND) {
		fputs("measured  instructions, counted by valgrind\n", out);
		return;
	}
	fprintf(out, "measured  %u round%s of %u samples%s, seed %llu; median, "
		"half the distance of the quartiles\n", opt->rounds,
		opt->rounds == 1 ? "" : "s", opt->samples,
		opt->quick ? " (a trial)" : "",
		(unsigned long long)opt->seed);
	print_quiet(out, b);
}

/* ---- One workload ----------------------------------------------------- */

static void print_value(FILE *out, const struct result *r)
{
	double v = r->value.median, spread;
	char text[8];
	int n;

	if (r->status != STATUS_MEASURED) {
		fprintf(out, "%*s", CELL_WIDTH,
			r->status == STATUS_FAILED ? "failed" : "-");
	} else if (r->nr < 2) {
		fprintf(out, "%*.*f", CELL_WIDTH, decimals(v), v);
	} else {
		spread = (r->value.high - r->value.low) / 2 / v * 100;
		n = snprintf(text, sizeof(text), "%.0f%%",
			     spread < 99 ? spread : 99);
		fprintf(out, "%*.*f \302\261%s", CELL_WIDTH - 2 - n,
			decimals(v), v, text);
	}
}

/* The fastest peer of a cell; -1: there is none. */
static int best_peer(const struct bench *b, unsigned int cell)
{
	const struct result *r;
	unsigned int i;
	double least = 0;
	int best = -1;

	for (i = 0; i < b->nr_subjects; i++) {
		r = bench_result(b, cell, i);
		if (b->subjects[i]->kind != KIND_PEER || !r->nr ||
		    (best >= 0 && r->value.median >= least))
			continue;
		best = (int)i;
		least = r->value.median;
	}
	return best;
}

static void print_ratios(FILE *out, const struct bench *b, unsigned int first,
			 unsigned int end)
{
	int subject = bench_subject(b, CANDIDATE);
	const struct result *r;
	unsigned int i, nr = 0;

	for (i = first; i < end && subject >= 0; i++)
		nr += bench_result(b, i, (unsigned int)subject)->nr_ratios;
	if (!nr)
		return;
	fprintf(out, "  %-*s", NAME_WIDTH, CANDIDATE "/" REFERENCE);
	for (i = first; i < end; i++) {
		r = bench_result(b, i, (unsigned int)subject);
		if (r->nr_ratios)
			fprintf(out, "%*.2f", CELL_WIDTH, r->ratio.median);
		else
			fprintf(out, "%*s", CELL_WIDTH, "-");
	}
	fputc('\n', out);
}

/* The plain calls, or a floor by name. */
static const char *beside_name(const struct subject *s)
{
	const struct subject *other = subject_find(s->beside);

	return other && other->kind == KIND_FLOOR ? other->name : "plain";
}

/* How one of ours does beside what it is compared with. */
static void print_beside(FILE *out, const struct bench *b, unsigned int subject,
			 unsigned int first, unsigned int end)
{
	char name[SUBJECT_TEXT];
	const struct result *r;
	unsigned int i, nr = 0;

	for (i = first; i < end; i++)
		nr += bench_result(b, i, subject)->nr_beside;
	if (!nr)
		return;
	snprintf(name, sizeof(name), "%s/%s", b->subjects[subject]->name,
		 beside_name(b->subjects[subject]));
	fprintf(out, "  %-*s", NAME_WIDTH, name);
	for (i = first; i < end; i++) {
		r = bench_result(b, i, subject);
		if (r->nr_beside)
			fprintf(out, "%*.*f", CELL_WIDTH,
				r->beside.median < 0.1 ? 4 : 2,
				r->beside.median);
		else
			fprintf(out, "%*s", CELL_WIDTH, "-");
	}
	fputc('\n', out);
}

static void print_best(FILE *out, const struct bench *b, unsigned int first,
		       unsigned int end)
{
	int subject = bench_subject(b, CANDIDATE), peer;
	const struct result *r, *other;
	unsigned int i, nr = 0;

	for (i = first; i < end; i++)
		nr += best_peer(b, i) >= 0;
	if (subject < 0 || !nr)
		return;
	fprintf(out, "  %-*s", NAME_WIDTH, CANDIDATE "/best");
	for (i = first; i < end; i++) {
		r = bench_result(b, i, (unsigned int)subject);
		peer = best_peer(b, i);
		if (peer < 0 || !r->nr) {
			fprintf(out, "%*s", CELL_WIDTH, "-");
			continue;
		}
		other = bench_result(b, i, (unsigned int)peer);
		fprintf(out, "%*.2f", CELL_WIDTH,
			r->value.median / other->value.median);
	}
	fputc('\n', out);
}

static unsigned int count_measured(const struct bench *b, unsigned int subject,
				   unsigned int first, unsigned int end)
{
	unsigned int i, nr = 0;

	for (i = first; i < end; i++)
		nr += bench_result(b, i, subject)->status == STATUS_MEASURED;
	return nr;
}

static bool is_measured(const struct bench *b, unsigned int first,
			unsigned int end)
{
	unsigned int j;

	for (j = 0; j < b->nr_subjects; j++)
		if (count_measured(b, j, first, end))
			return true;
	return false;
}

/* A trial has less than the workload says: see workload_live(). */
static void print_heading(FILE *out, const struct bench *b,
			  const struct workload *w)
{
	size_t divisor = b->opt->divisor;

	fprintf(out, "\n%s: %s; %s", w->name, w->what,
		b->opt->mode == MODE_CALLGRIND ? "instructions" : w->unit);
	if (divisor > 1 && !w->is_batch && (w->figure || w->variants->live))
		fprintf(out, "; this trial: 1/%zu of it", divisor);
	fprintf(out, "\n  %*s", NAME_WIDTH, "");
}

/* The cells from @first to @end - 1, which are of one workload. */
static void print_workload(FILE *out, const struct bench *b,
			   unsigned int first, unsigned int end)
{
	unsigned int i, j;

	print_heading(out, b, b->cells[first].workload);
	for (i = first; i < end; i++)
		fprintf(out, "%*s", CELL_WIDTH, b->cells[i].variant->name);
	fputc('\n', out);
	for (j = 0; j < b->nr_subjects; j++) {
		if (!count_measured(b, j, first, end))
			continue;
		fprintf(out, "  %-*s", NAME_WIDTH, b->subjects[j]->name);
		for (i = first; i < end; i++)
			print_value(out, bench_result(b, i, j));
		fputc('\n', out);
	}
	for (j = 0; j < b->nr_subjects; j++)
		print_beside(out, b, j, first, end);
	print_ratios(out, b, first, end);
	print_best(out, b, first, end);
}

void table_print(FILE *out, const struct bench *b)
{
	unsigned int i, end;

	print_machine(out, b);
	print_device(out);
	print_subjects(out, b);
	print_method(out, b);
	for (i = 0; i < b->nr_cells; i = end) {
		for (end = i; end < b->nr_cells && b->cells[end].workload ==
		     b->cells[i].workload; end++)
			;
		if (is_measured(b, i, end))
			print_workload(out, b, i, end);
	}
}

/* ---- The other modes -------------------------------------------------- */

void table_print_check(FILE *out, const struct bench *b)
{
	const struct result *r;
	unsigned int i, j;

	for (i = 0; i < b->nr_cells; i++)
		for (j = 0; j < b->nr_subjects; j++) {
			r = bench_result(b, i, j);
			if (r->status != STATUS_MEASURED)
				continue;
			fprintf(out, "ok %s/%s %s: %llu objects, none "
				"overlaps another\n",
				b->cells[i].workload->name,
				b->cells[i].variant->name,
				b->subjects[j]->name,
				(unsigned long long)r->nr_checked);
		}
}

void table_print_list(FILE *out)
{
	const struct workload *w;
	const struct variant *v;
	const struct subject *s;
	unsigned int i, nr;

	fputs("Workloads and their sizes:\n", out);
	for (w = workloads; w->name; w++) {
		fprintf(out, "  %-*s %s; %s\n  %-*s", NAME_WIDTH, w->name,
			w->what, w->unit, NAME_WIDTH, "");
		for (v = w->variants; v->name; v++)
			fprintf(out, " %s", v->name);
		fputc('\n', out);
	}
	fputs("Subjects:\n", out);
	s = subjects(&nr);
	for (i = 0; i < nr; i++)
		fprintf(out, "  %-*s %s\n", NAME_WIDTH, s[i].name, s[i].what);
}

/* A library that is not there is not there for any cell: it is said once. */
static void print_absent(FILE *out, const struct bench *b, unsigned int subject)
{
	unsigned int i;

	for (i = 0; i < b->nr_cells; i++) {
		const struct result *r = bench_result(b, i, subject);

		if (r->status != STATUS_ABSENT)
			continue;
		fprintf(out, "slabbench: %s is left out: %s\n",
			b->subjects[subject]->name, r->why);
		return;
	}
}

void table_print_problems(FILE *out, const struct bench *b)
{
	const struct result *r;
	unsigned int i, j;

	for (j = 0; j < b->nr_subjects; j++) {
		print_absent(out, b, j);
		for (i = 0; i < b->nr_cells; i++) {
			r = bench_result(b, i, j);
			if (r->status == STATUS_FAILED)
				fprintf(out, "slabbench: %s/%s %s: failed: "
					"%s\n", b->cells[i].workload->name,
					b->cells[i].variant->name,
					b->subjects[j]->name, r->why);
		}
	}
}
