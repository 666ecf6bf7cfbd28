/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench.h - everything that is measured, and what came of it.
 *
 * A *result* is one subject in one cell. It collects samples round by round;
 * bench_judge() makes medians of them.
 *
 * The ratio to the floor is not the quotient of two medians: both were
 * measured in each round, so the quotient is taken there, and the median is one
 * of quotients.
 */
#ifndef SLABBENCH_BENCH_H
#define SLABBENCH_BENCH_H

#include "machine.h"
#include "options.h"
#include "sample.h"

/* The ratios are those of one subject to another. */
#define CANDIDATE "slabdev"
#define REFERENCE "mag"
/* A reading of this share of the best one is quiet. */
#define QUIET 0.9

enum status {
	STATUS_NONE,		/* not measured: it cannot do this */
	STATUS_MEASURED,
	STATUS_ABSENT,		/* not installed here */
	STATUS_FAILED,
};

struct quartiles {
	double median;
	double low;
	double high;
};

/**
 * struct result - one subject in one cell
 * @status: an enum status
 * @why: absent or failed
 * @samples: all of them, in order of time
 * @round: of each sample
 * @nr: how many
 * @nr_checked: MODE_CHECK: objects that were looked at
 * @value: of all samples
 * @quiet: median of the quiet ones
 * @nr_quiet: how many those are
 * @reading: median of the readings
 * @ratio: to the floor, over the rounds; @nr_ratios 0: there is none
 * @nr_ratios: rounds that gave one
 * @beside: to the subject that this one is compared with besides
 * @nr_beside: rounds that gave one
 */
struct result {
	enum status status;
	char why[SUBJECT_TEXT];
	struct sample *samples;
	unsigned int *round;
	unsigned int nr;
	uint64_t nr_checked;
	struct quartiles value;
	double quiet;
	unsigned int nr_quiet;
	double reading;
	struct quartiles ratio;
	unsigned int nr_ratios;
	struct quartiles beside;
	unsigned int nr_beside;
};

/**
 * struct bench - one call of the program
 * @opt: what was asked for
 * @machine: where
 * @args: the command line, for the children
 * @cells: in the order of the tables
 * @nr_cells: how many
 * @subjects: in the order of the tables
 * @nr_subjects: how many
 * @results: @nr_subjects for each cell
 * @version: of each subject, "" where it has none
 * @best_reading: of all samples
 */
struct bench {
	const struct options *opt;
	struct machine machine;
	char **args;
	struct cell *cells;
	unsigned int nr_cells;
	const struct subject *subjects[SUBJECT_MAX];
	unsigned int nr_subjects;
	struct result *results;
	char (*version)[SUBJECT_TEXT];
	double best_reading;
};

static inline struct result *bench_result(const struct bench *b,
					  unsigned int cell,
					  unsigned int subject)
{
	return &b->results[cell * b->nr_subjects + subject];
}

/* Everything that @opt chooses; ends the program when memory is short. */
void bench_init(struct bench *b, const struct options *opt, char **args);
void bench_fini(struct bench *b);
void bench_add(struct result *r, const struct sample *s, unsigned int round);
/* Makes medians of the samples. */
void bench_judge(struct bench *b);
/* The index of a subject; -1: it is not measured. */
int bench_subject(const struct bench *b, const char *name);
/* Was anything measured, and did nothing fail? */
bool bench_is_good(const struct bench *b);

/* Sorts @x; all 0 when there is none. */
struct quartiles quartiles(double *x, unsigned int nr);

#endif /* SLABBENCH_BENCH_H */
