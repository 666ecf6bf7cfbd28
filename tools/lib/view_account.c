// SPDX-License-Identifier: BSD-2-Clause
/*
 * view_account.c - what the memory of a space is, and where its bytes are, to
 * look at and to read.
 *
 * The bar is as wide as the mapped bytes. Where the figures claim more than
 * that, because operations are in flight, it is as wide as the claims.
 */
#include <string.h>

#include "text.h"
#include "view.h"
#include "window.h"

/* In bytes the numbers are longer: up to 13 digits fit 80 columns. */
static const struct layout {
	int bar, number, per_line;
} layouts[] = { { 60, 7, 3 }, { 55, 13, 2 } };

struct part {
	const char *name;
	char mark;
	const char *colour;
	uint64_t bytes;
};

enum { NR_PARTS = 8, IN_FLIGHT = NR_PARTS - 1 };

static void list_parts(struct part *parts, const struct account *b)
{
	const struct part all[NR_PARTS] = {
		{ "live", '#', "32", b->live },
		{ "rounding", '+', "33", b->rounding },
		{ "cached", '=', "34", b->cached },
		{ "retained", '.', "36", b->retained },
		{ "slack", '-', "35", b->slack },
		{ "pending", '~', "37", b->pending },
		{ "lost", '!', "31", b->lost },
		{ "in flight", '?', "0",
		  b->in_flight > 0 ? (uint64_t)b->in_flight : 0 },
	};
	int i;

	for (i = 0; i < NR_PARTS; i++)
		parts[i] = all[i];
}

static void print_columns(FILE *out, const struct part *part, int columns,
			  bool colour)
{
	if (colour && columns)
		fprintf(out, "\033[%sm", part->colour);
	while (columns-- > 0)
		fputc(part->mark, out);
	if (colour)
		fputs("\033[0m", out);
}

static void print_bar(FILE *out, const struct part *parts, int columns,
		      bool colour)
{
	double whole = 0, sum = 0;
	int i, column = 0;

	for (i = 0; i < NR_PARTS; i++)
		whole += (double)parts[i].bytes;
	fputc('[', out);
	for (i = 0; i < NR_PARTS && whole > 0; i++) {
		int end;

		sum += (double)parts[i].bytes;
		end = (int)(sum / whole * columns + 0.5);
		print_columns(out, &parts[i], end - column, colour);
		column = end;
	}
	fprintf(out, "%*s]", columns - column, "");
}

static void print_legend(FILE *out, const struct part *parts,
			 const struct account *b, const struct layout *l,
			 const struct options *opt)
{
	struct size_text size;
	int i;

	for (i = 0; i < NR_PARTS; i++) {
		size = size_text(parts[i].bytes, opt->bytes);
		if (i == IN_FLIGHT)
			size = signed_size_text(b->in_flight, opt->bytes);
		fprintf(out, "  %c %-9s %*s %3u%%%s", parts[i].mark,
			parts[i].name, l->number, size.text,
			percent(parts[i].bytes, b->mapped),
			(i + 1) % l->per_line && i < NR_PARTS - 1 ? "" : "\n");
	}
}

void account_print(FILE *out, const struct account *bytes,
		   const struct options *opt)
{
	const struct layout *l = &layouts[opt->bytes];
	struct part parts[NR_PARTS];

	list_parts(parts, bytes);
	fputs("  ", out);
	print_bar(out, parts, l->bar, opt->colour);
	fprintf(out, " %s mapped\n",
		size_text(bytes->mapped, opt->bytes).text);
	print_legend(out, parts, bytes, l, opt);
}

void backing_print(FILE *out, const struct slabdev_seg_space *rec)
{
	fprintf(out, "(%s", escaped(rec->spec).text);
	if (*rec->backing && strcmp(rec->backing, rec->spec))
		fprintf(out, ": %s", escaped(rec->backing).text);
	fputc(')', out);
}

void account_add(struct account *to, const struct account *from)
{
	bool overflow;

	add_saturated(&to->mapped, from->mapped, &overflow);
	add_saturated(&to->live, from->live, &overflow);
	add_saturated(&to->cached, from->cached, &overflow);
	add_saturated(&to->pending, from->pending, &overflow);
	add_saturated(&to->retained, from->retained, &overflow);
	add_saturated(&to->rounding, from->rounding, &overflow);
	add_saturated(&to->slack, from->slack, &overflow);
	add_saturated(&to->lost, from->lost, &overflow);
	if (__builtin_add_overflow(to->in_flight, from->in_flight,
				   &to->in_flight))
		to->in_flight = from->in_flight > 0 ? INT64_MAX : INT64_MIN;
}
