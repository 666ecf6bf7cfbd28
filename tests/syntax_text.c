// SPDX-License-Identifier: BSD-2-Clause
/*
 * syntax_text.c - whether a text is Prometheus's, or may go to a terminal.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tests/syntax.h"

/* ---- Prometheus ------------------------------------------------------- */

#define MOST_METRICS 64

/* A name in the text; the texts of two may differ in length. */
struct word {
	const char *at;
	size_t n;
};

/**
 * struct exposition - what was read so far
 * @at: where we are
 * @metric: those that were begun; the last one is being read
 * @nr: how many
 * @typed: the last one has its type
 * @series: samples: metric and labels
 * @nr_series: how many
 */
struct exposition {
	const char *at;
	struct word metric[MOST_METRICS];
	size_t nr;
	bool typed;
	struct word *series;
	size_t nr_series;
};

static bool is_same(struct word a, struct word b)
{
	return a.n == b.n && !memcmp(a.at, b.at, a.n);
}

static bool skip(struct exposition *e, const char *text)
{
	size_t n = strlen(text);

	if (strncmp(e->at, text, n))
		return false;
	e->at += n;
	return true;
}

static struct word take_name(struct exposition *e)
{
	struct word w = { .at = e->at };

	while (isalnum((unsigned char)*e->at) || *e->at == '_')
		e->at++;
	w.n = (size_t)(e->at - w.at);
	if (w.n && isdigit((unsigned char)*w.at))
		w.n = 0;
	return w;
}

static const char *help(struct exposition *e)
{
	struct word name = take_name(e);
	size_t i;

	if (!name.n || *e->at != ' ')
		return "HELP of nothing";
	for (i = 0; i < e->nr; i++)
		if (is_same(e->metric[i], name))
			return "a metric twice";
	if (e->nr == MOST_METRICS)
		return "more metrics than anybody expects";
	if (e->nr && !e->typed)
		return "a metric without a type";
	e->metric[e->nr++] = name;
	e->typed = false;
	e->at += strcspn(e->at, "\n");
	return NULL;
}

static const char *type(struct exposition *e)
{
	struct word name = take_name(e);

	if (!e->nr || e->typed || !is_same(e->metric[e->nr - 1], name))
		return "TYPE without its HELP";
	e->typed = true;
	if (!skip(e, " gauge") && !skip(e, " counter"))
		return "a type that we do not use";
	return NULL;
}

static const char *label(struct exposition *e)
{
	if (!take_name(e).n || !skip(e, "=\""))
		return "a label without a name";
	while (!skip(e, "\"")) {
		if (*e->at < ' ' || *e->at > '~')
			return "a byte that must be escaped";
		if (*e->at == '\\' && !strchr("\\\"n", *++e->at))
			return "an escape that does not exist";
		e->at++;
	}
	return NULL;
}

static const char *labels(struct exposition *e)
{
	const char *why;

	do {
		why = label(e);
		if (why)
			return why;
	} while (skip(e, ","));
	return skip(e, "} ") ? NULL : "labels without an end";
}

static const char *sample(struct exposition *e)
{
	struct word w = take_name(e), *bigger;
	const char *why, *value;

	if (!e->nr || !e->typed || !is_same(e->metric[e->nr - 1], w))
		return "a sample that is not below its metric";
	why = skip(e, "{") ? labels(e) : "no labels";
	if (why)
		return why;
	w.n = (size_t)(e->at - w.at);
	value = e->at + (*e->at == '-');
	e->at = value + strspn(value, "0123456789");
	if (e->at == value)
		return "a value that is no number";
	if (!(e->nr_series & (e->nr_series - 1))) {
		bigger = realloc(e->series, (2 * e->nr_series + 1) * sizeof(w));
		if (!bigger)
			return "out of memory";
		e->series = bigger;
	}
	e->series[e->nr_series++] = w;
	return NULL;
}

static const char *line(struct exposition *e)
{
	const char *why;

	if (skip(e, "# HELP "))
		why = help(e);
	else if (skip(e, "# TYPE "))
		why = type(e);
	else
		why = sample(e);
	if (!why && !skip(e, "\n"))
		why = "more on the line than belongs there";
	return why;
}

static int compare(const void *a, const void *b)
{
	const struct word *x = a, *y = b;
	int order = memcmp(x->at, y->at, min(x->n, y->n));

	return order ? order : (x->n > y->n) - (x->n < y->n);
}

static const char *find_twins(struct exposition *e)
{
	size_t i;

	if (e->nr_series)
		qsort(e->series, e->nr_series, sizeof(*e->series), compare);
	for (i = 1; i < e->nr_series; i++) {
		e->at = e->series[i].at;
		if (is_same(e->series[i - 1], e->series[i]))
			return "a sample twice";
	}
	return NULL;
}

const char *prometheus_wrong(const char *text, const char **where)
{
	struct exposition e = { .at = text };
	const char *why = NULL;

	while (!why && *e.at)
		why = line(&e);
	if (!why)
		why = find_twins(&e);
	*where = e.at;
	free(e.series);
	return why;
}

/* ---- Terminals -------------------------------------------------------- */

/* The length of a sequence that sets a colour, ESC [ digits m; or 0. */
static size_t colour_length(const char *text)
{
	size_t n = strspn(text + 1, "[") + 1;

	if (n != 2)
		return 0;
	n += strspn(text + n, "0123456789");
	return text[n] == 'm' ? n + 1 : 0;
}

const char *print_wrong(const char *text, bool colour, const char **where)
{
	while (*text) {
		size_t n = 1;

		if (*text == '\033' && colour)
			n = colour_length(text);
		else if (*text != '\n' && (*text < ' ' || *text > '~'))
			n = 0;
		*where = text;
		if (!n)
			return "a byte that a terminal may obey";
		text += n;
	}
	return NULL;
}
