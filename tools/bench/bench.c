// SPDX-License-Identifier: BSD-2-Clause
/*
 * bench.c - everything that is measured, and what came of it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/memory.h"
#include "bench.h"

/* ---- What there is ---------------------------------------------------- */

static bool is_chosen(const struct options *opt, const struct cell *cell)
{
	if (!options_has(opt->workloads, cell->workload->name) ||
	    !options_has(opt->sizes, cell->variant->name))
		return false;
	if (opt->mode == MODE_TIME)
		return true;
	/* Counted are instructions of one thread. */
	if (opt->mode == MODE_CALLGRIND && (cell->workload->nr_workers > 1 ||
					    cell->variant->live > 100000))
		return false;
	return !cell->workload->figure;
}

static void choose_cells(struct bench *b)
{
	const struct workload *w;
	const struct variant *v;
	struct cell cell;

	for (w = workloads; w->name; w++)
		for (v = w->variants; v->name; v++) {
			cell = (struct cell){ w, v };
			if (!is_chosen(b->opt, &cell))
				continue;
			b->cells = grow_array(b->cells, b->nr_cells,
					      sizeof(cell));
			b->cells[b->nr_cells++] = cell;
		}
}

static bool subject_is_chosen(const struct options *opt,
			      const struct subject *s)
{
	if (s->group && (!opt->subjects ||
			 options_has(opt->subjects, s->group)))
		return opt->subjects;
	return options_has(opt->subjects, s->name);
}

static void choose_subjects(struct bench *b)
{
	const struct options *opt = b->opt;
	const struct subject *list;
	unsigned int i, nr;

	list = subjects(&nr);
	for (i = 0; i < nr; i++) {
		/* One that must fail is checked when it is named. */
		if (!subject_is_chosen(opt, &list[i]) ||
		    (opt->mode == MODE_CHECK && list[i].fake &&
		     !opt->subjects))
			continue;
		b->subjects[b->nr_subjects++] = &list[i];
	}
}

void bench_init(struct bench *b, const struct options *opt, char **args)
{
	*b = (struct bench){ .opt = opt, .args = args };
	machine_look(&b->machine);
	choose_cells(b);
	choose_subjects(b);
	b->results = zalloc((size_t)b->nr_cells * b->nr_subjects *
			    sizeof(*b->results));
	b->version = zalloc(b->nr_subjects * sizeof(*b->version));
}

void bench_fini(struct bench *b)
{
	unsigned int i;

	for (i = 0; i < b->nr_cells * b->nr_subjects; i++) {
		free(b->results[i].samples);
		free(b->results[i].round);
	}
	free(b->results);
	free(b->version);
	free(b->cells);
}

int bench_subject(const struct bench *b, const char *name)
{
	unsigned int i;

	for (i = 0; i < b->nr_subjects; i++)
		if (!strcmp(b->subjects[i]->name, name))
			return (int)i;
	return -1;
}

bool bench_is_good(const struct bench *b)
{
	unsigned int i, nr_good = 0;

	for (i = 0; i < b->nr_cells * b->nr_subjects; i++) {
		if (b->results[i].status == STATUS_FAILED)
			return false;
		nr_good += b->results[i].status == STATUS_MEASURED;
	}
	return nr_good;
}

/* ---- What came of it -------------------------------------------------- */

void bench_add(struct result *r, const struct sample *s, unsigned int round)
{
	r->samples = grow_array(r->samples, r->nr, sizeof(*r->samples));
	r->round = grow_array(r->round, r->nr, sizeof(*r->round));
	r->samples[r->nr] = *s;
	r->round[r->nr] = round;
	r->nr++;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Between two neighbours, where it does not fall on one. */
static double quantile(const double *x, unsigned int nr, double q)
{
	double at = q * (nr - 1);
	unsigned int i = (unsigned int)at;

	if (i + 1 >= nr)
		return x[nr - 1];
	return x[i] + (at - i) * (x[i + 1] - x[i]);
}

struct quartiles quartiles(double *x, unsigned int nr)
{
	struct quartiles q = { 0 };

	if (!nr)
		return q;
	qsort(x, nr, sizeof(*x), compare);
	q.low = quantile(x, nr, 0.25);
	q.median = quantile(x, nr, 0.5);
	q.high = quantile(x, nr, 0.75);
	return q;
}

static void judge_samples(struct result *r, double best_reading)
{
	double *x = zalloc(r->nr * sizeof(*x));
	unsigned int i;

	for (i = 0; i < r->nr; i++)
		x[i] = r->samples[i].value;
	r->value = quartiles(x, r->nr);
	r->nr_quiet = 0;
	for (i = 0; i < r->nr; i++)
		if (r->samples[i].reading >= QUIET * best_reading)
			x[r->nr_quiet++] = r->samples[i].value;
	r->quiet = quartiles(x, r->nr_quiet).median;
	for (i = 0; i < r->nr; i++)
		x[i] = r->samples[i].reading;
	r->reading = quartiles(x, r->nr).median;
	free(x);
}

/* The median of one round; 0: it has none. */
static double round_median(const struct result *r, unsigned int round,
			   double *scratch)
{
	unsigned int i, nr = 0;

	for (i = 0; i < r->nr; i++)
		if (r->round[i] == round)
			scratch[nr++] = r->samples[i].value;
	return quartiles(scratch, nr).median;
}

/* The quotient over the rounds that have both: how many those are. */
static unsigned int judge_ratio(const struct result *r,
				const struct result *other,
				unsigned int rounds, struct quartiles *q)
{
	double *scratch = zalloc((r->nr + other->nr) * sizeof(*scratch));
	double *ratio = zalloc(rounds * sizeof(*ratio)), ours, its;
	unsigned int i, nr = 0;

	for (i = 0; i < rounds; i++) {
		ours = round_median(r, i, scratch);
		its = round_median(other, i, scratch);
		if (ours > 0 && its > 0)
			ratio[nr++] = ours / its;
	}
	*q = quartiles(ratio, nr);
	free(scratch);
	free(ratio);
	return nr;
}

static void judge_ratios(struct bench *b, unsigned int cell,
			 unsigned int subject)
{
	struct result *r = bench_result(b, cell, subject);
	const char *beside = b->subjects[subject]->beside;
	int floor = bench_subject(b, REFERENCE);
	int other = beside ? bench_subject(b, beside) : -1;

	if (floor >= 0)
		r->nr_ratios = judge_ratio(r, bench_result(b, cell,
							   (unsigned)floor),
					   b->opt->rounds, &r->ratio);
	if (other >= 0)
		r->nr_beside = judge_ratio(r, bench_result(b, cell,
							   (unsigned)other),
					   b->opt->rounds, &r->beside);
}

void bench_judge(struct bench *b)
{
	unsigned int i, j;

	b->best_reading = 0;
	for (i = 0; i < b->nr_cells * b->nr_subjects; i++)
		for (j = 0; j < b->results[i].nr; j++)
			if (b->results[i].samples[j].reading >
			    b->best_reading)
				b->best_reading =
					b->results[i].samples[j].reading;
	for (i = 0; i < b->nr_cells; i++)
		for (j = 0; j < b->nr_subjects; j++) {
			judge_samples(bench_result(b, i, j), b->best_reading);
			judge_ratios(b, i, j);
		}
}
