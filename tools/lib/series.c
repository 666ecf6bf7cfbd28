// SPDX-License-Identifier: BSD-2-Clause
/*
 * series.c - live and mapped bytes over time, in bounded memory.
 */
#include "series.h"

static uint64_t higher(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static struct point highest(struct point a, struct point b)
{
	return (struct point){ higher(a.live, b.live),
			       higher(a.mapped, b.mapped) };
}

void series_clear(struct series *s)
{
	*s = (struct series){ .each = 1 };
}

static void halve(struct series *s)
{
	unsigned int i;

	for (i = 0; i < SERIES_POINTS / 2; i++)
		s->point[i] = highest(s->point[2 * i], s->point[2 * i + 1]);
	s->nr = SERIES_POINTS / 2;
	s->each *= 2;
	s->filled = s->each;
}

void series_add(struct series *s, struct point value)
{
	if (s->nr == SERIES_POINTS && s->filled == s->each)
		halve(s);
	if (!s->nr || s->filled == s->each) {
		s->point[s->nr++] = (struct point){ 0, 0 };
		s->filled = 0;
	}
	s->point[s->nr - 1] = highest(s->point[s->nr - 1], value);
	s->filled++;
}

struct point series_column(const struct series *s, unsigned int i,
			   unsigned int width)
{
	unsigned int from = i * s->nr / width, to = (i + 1) * s->nr / width;
	struct point all = { 0, 0 };

	/* A column that is narrower than a point shows that point. */
	if (to == from)
		to = from + 1;
	for (; from < to && from < s->nr; from++)
		all = highest(all, s->point[from]);
	return all;
}

uint64_t series_top(const struct series *s)
{
	struct point all = series_column(s, 0, 1);

	return higher(higher(all.live, all.mapped), 1);
}
