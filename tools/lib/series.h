/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * series.h - live and mapped bytes over time, in bounded memory.
 *
 * Nobody knows in advance how long a trace is. A series keeps every value
 * until it is full; then it keeps the higher of each two neighbours and takes
 * two values for one from there on. So it always covers everything that was
 * added, evenly, with at least half of its points, and no peak is lost.
 */
#ifndef SLABREPLAY_SERIES_H
#define SLABREPLAY_SERIES_H

#include <stdint.h>
#include <stdio.h>

#define SERIES_POINTS 256

struct point {
	uint64_t live;
	uint64_t mapped;
};

/**
 * struct series - points of equal duration
 * @point: the highest values within each
 * @nr: points that are complete, and the one being filled
 * @each: values that make a point
 * @filled: values in the last point
 */
struct series {
	struct point point[SERIES_POINTS];
	unsigned int nr;
	uint64_t each;
	uint64_t filled;
};

void series_clear(struct series *s);
void series_add(struct series *s, struct point value);

/* The highest values in column @i of @width, which cover the whole series. */
struct point series_column(const struct series *s, unsigned int i,
			   unsigned int width);

/* The highest of all values, or 1 where that is 0. */
uint64_t series_top(const struct series *s);

#endif /* SLABREPLAY_SERIES_H */
