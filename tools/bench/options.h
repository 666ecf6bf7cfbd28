/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.h - what was asked for.
 */
#ifndef SLABBENCH_OPTIONS_H
#define SLABBENCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "subject.h"
#include "workload.h"

#define MAX_SAMPLES 4u

enum mode {
	MODE_TIME,
	MODE_CALLGRIND,		/* instructions instead */
	MODE_CHECK,		/* the workloads, not the time */
	MODE_LIST,
};

/**
 * struct options - the command line, checked
 * @mode: what to do
 * @workloads: names, commas between them; NULL: all
 * @sizes: variants, the same
 * @subjects: the same
 * @rounds: how often each cell is measured
 * @samples: samples of a process, at most MAX_SAMPLES
 * @sample_ns: of about this length
 * @divisor: see struct run
 * @quick: a trial: few samples of little
 * @seed: of the order of the subjects
 * @json: write this file, "-" for standard output; NULL: none
 * @svg: the same for a picture
 * @child: this process is a child: its subject
 * @cell: and its cell
 * @operations: so many instead of samples; 0: samples
 */
struct options {
	enum mode mode;
	const char *workloads;
	const char *sizes;
	const char *subjects;
	unsigned int rounds;
	unsigned int samples;
	uint64_t sample_ns;
	size_t divisor;
	bool quick;
	uint64_t seed;
	const char *json;
	const char *svg;
	const struct subject *child;
	struct cell cell;
	uint64_t operations;
};

/*
 * Fills @opt. 0: go on; else the caller ends with *@code: help was printed, or
 * a complaint.
 */
int options_parse(struct options *opt, int argc, char **argv, int *code);
/* Is @name in a list with commas; NULL has all. */
bool options_has(const char *list, const char *name);

#endif /* SLABBENCH_OPTIONS_H */
