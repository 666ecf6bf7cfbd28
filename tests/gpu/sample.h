/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sample.h - the same thing measured several times.
 *
 * What is told of it is the median and the quartiles: a driver call may wait
 * for anything, so that a mean says more of the worst sample than of the rest.
 */
#ifndef TESTS_GPU_SAMPLE_H
#define TESTS_GPU_SAMPLE_H

#include <stdio.h>

#define SAMPLES_MAX 64

struct samples {
	double value[SAMPLES_MAX];	/* ns of one operation */
	unsigned int nr;		/* 0: not measured */
};

struct spread {
	double median, low, high;	/* low and high: the quartiles */
};

/* Beyond SAMPLES_MAX values are dropped. */
void sample_add(struct samples *s, double ns);
struct spread sample_spread(const struct samples *s);

/* Divided by @unit, for people: "12.3 (12.1-12.9)", or "-" without samples. */
void sample_text(char *buf, size_t len, const struct samples *s, double unit);
/* For programs: an object {"median":..,"low":..,"high":..,"samples":..} in ns,
 * or null. */
void sample_json(FILE *out, const struct samples *s);

#endif /* TESTS_GPU_SAMPLE_H */
