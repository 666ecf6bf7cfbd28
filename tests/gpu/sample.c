// SPDX-License-Identifier: BSD-2-Clause
/* sample.c - medians and quartiles, see sample.h. */
#include "tests/gpu/sample.h"

#include <stdlib.h>
#include <string.h>

void sample_add(struct samples *s, double ns)
{
	if (s->nr < SAMPLES_MAX)
		s->value[s->nr++] = ns;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The value below which @part of the sorted ones lie, between two of them. */
static double quantile(const double *sorted, unsigned int nr, double part)
{
	double at = part * (nr - 1);
	unsigned int below = (unsigned int)at;
	unsigned int above = below + 1 < nr ? below + 1 : below;

	return sorted[below] +
	       (sorted[above] - sorted[below]) * (at - below);
}

struct spread sample_spread(const struct samples *s)
{
	double sorted[SAMPLES_MAX];
	struct spread spread = { 0 };

	if (!s->nr)
		return spread;
	memcpy(sorted, s->value, s->nr * sizeof(*sorted));
	qsort(sorted, s->nr, sizeof(*sorted), compare);
	spread.median = quantile(sorted, s->nr, 0.5);
	spread.low = quantile(sorted, s->nr, 0.25);
	spread.high = quantile(sorted, s->nr, 0.75);
	return spread;
}

/* Three digits that mean something. */
static void number(char *buf, size_t len, double x)
{
	snprintf(buf, len, "%.*f", x < 10 ? 2 : x < 100 ? 1 : 0, x);
}

void sample_text(char *buf, size_t len, const struct samples *s, double unit)
{
	struct spread q = sample_spread(s);
	char median[32], low[32], high[32];

	if (!s->nr) {
		snprintf(buf, len, "-");
		return;
	}
	number(median, sizeof(median), q.median / unit);
	number(low, sizeof(low), q.low / unit);
	number(high, sizeof(high), q.high / unit);
	snprintf(buf, len, "%s (%s-%s)", median, low, high);
}

void sample_json(FILE *out, const struct samples *s)
{
	struct spread q = sample_spread(s);

	if (!s->nr)
		fputs("null", out);
	else
		fprintf(out, "{\"median\":%.1f,\"low\":%.1f,\"high\":%.1f,"
			"\"samples\":%u}", q.median, q.low, q.high, s->nr);
}
