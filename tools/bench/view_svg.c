// SPDX-License-Identifier: BSD-2-Clause
/*
 * view_svg.c - what came of it, as a picture.
 *
 * A panel for each cell, all with the same rows and the same logarithmic
 * scale: a dot at the median, a bar from quartile to quartile, and a line down
 * from the floor that all are compared with. Left is better. What does not fit
 * the scale ends at its edge, with the figure beside it as everywhere.
 */
#include <string.h>

#include "view_svg.h"

#define COLUMNS 3u
#define NAME_WIDTH 66
#define PLOT_WIDTH 150
#define VALUE_WIDTH 44
#define PANEL_WIDTH (NAME_WIDTH + PLOT_WIDTH + VALUE_WIDTH + 20)
#define ROW_HEIGHT 15
#define TITLE_HEIGHT 38
#define HEAD_HEIGHT 56
#define DECADES 4		/* of the scale: 1 to 10,000 */

static const char *const colours[] = {
	[KIND_OURS] = "#c2410c",
	[KIND_FLOOR] = "#94a3b8",
	[KIND_PEER] = "#1d4ed8",
};

/* The logarithm to base 10 of @x, by halves; x from 1 to 10^DECADES. */
static double decades(double x)
{
	double at = 0, step = 1;
	unsigned int i;

	while (x >= 10) {
		x /= 10;
		at += 1;
	}
	for (i = 0; i < 12; i++) {
		x *= x;
		step /= 2;
		if (x >= 10) {
			x /= 10;
			at += step;
		}
	}
	return at;
}

/* Where a figure is on the scale of a plot. */
static double place(double x)
{
	double at = x > 1 ? decades(x) : 0;

	return NAME_WIDTH + (at < DECADES ? at : DECADES) * PLOT_WIDTH /
	       DECADES;
}

static void text(FILE *out, double x, double y, const char *attributes,
		 const char *words)
{
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
	for (; *words; words++)
		if (*words == '<' || *words == '&')
			fprintf(out, "&#%d;", *words);
		else
			fputc(*words, out);
	fputs("</text>\n", out);
}

static void draw_row(FILE *out, const struct subject *s,
		     const struct result *r, int y)
{
	const struct quartiles *v = &r->value;
	const char *colour = colours[s->kind];
	char attributes[64], figure[32];

	snprintf(attributes, sizeof(attributes),
		 "text-anchor=\"end\" fill=\"%s\"", colour);
	text(out, NAME_WIDTH - 6, y + 4, attributes, s->name);
	fprintf(out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" "
		"stroke=\"%s\" stroke-width=\"3\" opacity=\"0.4\"/>\n"
		"<circle cx=\"%.1f\" cy=\"%d\" r=\"3.5\" fill=\"%s\"/>\n",
		place(v->low), place(v->high), y, y, colour, place(v->median),
		y, colour);
	snprintf(figure, sizeof(figure), "%.*f", v->median < 100, v->median);
	text(out, NAME_WIDTH + PLOT_WIDTH + 8, y + 4, "fill=\"#475569\"",
	     figure);
}

static void draw_scale(FILE *out, int bottom)
{
	static const char *const label[] = { "1", "10", "100", "1k", "10k" };
	double x;
	int i;

	for (i = 0; i <= DECADES; i++) {
		x = NAME_WIDTH + (double)i * PLOT_WIDTH / DECADES;
		fprintf(out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" "
			"y2=\"%d\" stroke=\"#e2e8f0\"/>\n", x, x,
			TITLE_HEIGHT - 6, bottom);
		text(out, x, bottom + 11,
		     "text-anchor=\"middle\" fill=\"#94a3b8\" font-size=\"9\"",
		     label[i]);
	}
}

static void draw_panel(FILE *out, const struct bench *b, unsigned int cell)
{
	const struct cell *c = &b->cells[cell];
	int y = TITLE_HEIGHT, floor = bench_subject(b, REFERENCE);
	int bottom = TITLE_HEIGHT + (int)b->nr_subjects * ROW_HEIGHT - 4;
	const struct result *r;
	char title[96];
	unsigned int i;

	snprintf(title, sizeof(title), "%s/%s", c->workload->name,
		 c->variant->name);
	text(out, 6, 14, "font-weight=\"bold\" font-size=\"12\"", title);
	text(out, 6, 26, "fill=\"#64748b\" font-size=\"9\"",
	     c->workload->what);
	draw_scale(out, bottom);
	if (floor >= 0 && bench_result(b, cell, (unsigned int)floor)->nr) {
		r = bench_result(b, cell, (unsigned int)floor);
		fprintf(out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" "
			"y2=\"%d\" stroke=\"#94a3b8\" "
			"stroke-dasharray=\"2 2\"/>\n", place(r->value.median),
			place(r->value.median), TITLE_HEIGHT - 6, bottom);
	}
	for (i = 0; i < b->nr_subjects; i++) {
		r = bench_result(b, cell, i);
		if (r->status == STATUS_MEASURED)
			draw_row(out, b->subjects[i], r, y);
		y += ROW_HEIGHT;
	}
}

static void draw_head(FILE *out, const struct bench *b)
{
	char line[400];

	text(out, 10, 22, "font-weight=\"bold\" font-size=\"15\"",
	     b->opt->mode == MODE_CALLGRIND ?
	     "Instructions an operation; left is better" :
	     "Nanoseconds an operation; left is better");
	snprintf(line, sizeof(line), "%.100s, %u processors, %.30s %.60s, "
		 "glibc %.20s. Dot: median; bar: quartiles; dashes: the floor "
		 "that all are compared with.", b->machine.processor,
		 b->machine.processors, b->machine.system.sysname,
		 b->machine.system.release, b->machine.libc);
	text(out, 10, 40, "fill=\"#64748b\" font-size=\"10\"", line);
}

void view_svg(FILE *out, const struct bench *b)
{
	int height = TITLE_HEIGHT + (int)b->nr_subjects * ROW_HEIGHT + 18;
	unsigned int i, at = 0, nr = 0;

	for (i = 0; i < b->nr_cells; i++)
		nr += !b->cells[i].workload->figure;
	fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" "
		"height=\"%u\" font-family=\"sans-serif\" font-size=\"10\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
		COLUMNS * PANEL_WIDTH, HEAD_HEIGHT +
		(nr + COLUMNS - 1) / COLUMNS * (unsigned int)height);
	draw_head(out, b);
	for (i = 0; i < b->nr_cells; i++) {
		if (b->cells[i].workload->figure)
			continue;
		fprintf(out, "<g transform=\"translate(%u %u)\">\n",
			at % COLUMNS * PANEL_WIDTH, HEAD_HEIGHT +
			at / COLUMNS * (unsigned int)height);
		draw_panel(out, b, i);
		fputs("</g>\n", out);
		at++;
	}
	fputs("</svg>\n", out);
}
