// SPDX-License-Identifier: BSD-2-Clause
/*
 * pack_view.c - a plan, for people and for programs.
 *
 * The picture has time across and offsets up, each from edge to edge; a block
 * is a rectangle whose colour tells it from its neighbours, with a title that
 * a browser shows under the pointer. A line marks the capacity or the bound.
 */
#include <inttypes.h>

#include "json.h"
#include "pack_view.h"

#define WIDTH 960.0
#define HEIGHT 480.0
#define MARGIN 28.0

/* ---- For programs -------------------------------------------------------- */

void pack_view_csv(FILE *out, const struct pack_file *f)
{
	const struct slabdev_pack_block *b;
	size_t i;

	fprintf(out, "id,lower,upper,size%s,offset\n",
		f->has_align ? ",align" : "");
	for (i = 0; i < f->nr; i++) {
		b = &f->blocks[i];
		fprintf(out, "%s,%" PRId64 ",%" PRId64 ",%" PRIu64, f->ids[i],
			b->lower, b->upper, b->bytes);
		if (f->has_align)
			fprintf(out, ",%" PRIu64, b->align);
		fprintf(out, ",%" PRIu64 "\n", b->offset);
	}
}

void pack_view_json(FILE *out, const struct pack_file *f,
		    const struct pack_result *r)
{
	struct json j = { .out = out };
	size_t i;

	json_open(&j, NULL, '{');
	json_u64(&j, "version", 1);
	json_string(&j, "file", f->path);
	json_u64(&j, "nr_blocks", f->nr);
	json_u64(&j, "total", r->total);
	json_u64(&j, "bound", r->bound);
	json_u64(&j, "capacity", r->capacity);
	json_bool(&j, "fits", !r->capacity || r->total <= r->capacity);
	json_u64(&j, "steps", r->steps);
	json_decimal(&j, "seconds", r->seconds);
	json_open(&j, "blocks", '[');
	for (i = 0; i < f->nr; i++) {
		json_open(&j, NULL, '{');
		json_string(&j, "id", f->ids[i]);
		json_s64(&j, "lower", f->blocks[i].lower);
		json_s64(&j, "upper", f->blocks[i].upper);
		json_u64(&j, "size", f->blocks[i].bytes);
		json_u64(&j, "align", f->blocks[i].align);
		json_u64(&j, "offset", f->blocks[i].offset);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	fputc('\n', out);
}

/* ---- For people ---------------------------------------------------------- */

void pack_view_summary(FILE *out, const struct pack_file *f,
		       const struct pack_result *r)
{
	fprintf(out, "%s: %zu blocks in %" PRIu64 " bytes, %.2f %% above the %"
		PRIu64 " that live at once; %.3f s, %" PRIu64 " steps\n",
		f->path, f->nr, r->total,
		r->bound ? 100.0 * (double)(r->total - r->bound) /
			   (double)r->bound : 0,
		r->bound, r->seconds, r->steps);
}

static void print_escaped(FILE *out, const char *text)
{
	for (; *text; text++)
		if (*text == '<' || *text == '&' || *text < ' ' || *text > '~')
			fprintf(out, "&#%d;", *text < ' ' || *text > '~' ? '?' :
				*text);
		else
			fputc(*text, out);
}

/* The picture's axes: from @from on, @scale units of it for one. */
struct axes {
	double from, across, up;
};

static struct axes axes_of(const struct pack_file *f, uint64_t top)
{
	int64_t first = INT64_MAX, last = INT64_MIN;
	size_t i;

	for (i = 0; i < f->nr; i++) {
		if (f->blocks[i].lower < first)
			first = f->blocks[i].lower;
		if (f->blocks[i].upper > last)
			last = f->blocks[i].upper;
	}
	return (struct axes){
		.from = (double)first,
		.across = f->nr ? WIDTH / ((double)last - (double)first) : 1,
		.up = top ? HEIGHT / (double)top : 1,
	};
}

static void draw_block(FILE *out, const struct axes *a,
		       const struct pack_file *f, size_t i)
{
	const struct slabdev_pack_block *b = &f->blocks[i];
	double x = MARGIN + ((double)b->lower - a->from) * a->across;
	double top = (double)b->offset + (double)b->bytes;

	/* The golden angle: neighbours in the file differ. */
	fprintf(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
		"height=\"%.2f\" fill=\"hsl(%u,55%%,70%%)\" "
		"stroke=\"#334155\" stroke-width=\"0.3\"><title>", x,
		MARGIN + HEIGHT - top * a->up,
		((double)b->upper - (double)b->lower) * a->across,
		(double)b->bytes * a->up, (unsigned int)(i * 137 % 360));
	print_escaped(out, f->ids[i]);
	fprintf(out, ": %" PRIu64 " bytes at %" PRIu64 ", %" PRId64 " to %"
		PRId64 "</title></rect>\n", b->bytes, b->offset, b->lower,
		b->upper);
}

void pack_view_svg(FILE *out, const struct pack_file *f,
		   const struct pack_result *r)
{
	uint64_t line = r->capacity ? r->capacity : r->bound;
	uint64_t top = line > r->total ? line : r->total;
	struct axes a = axes_of(f, top);
	double y = MARGIN + HEIGHT - (double)line * a.up;
	size_t i;

	fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" "
		"viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" "
		"font-size=\"11\">\n<title>", WIDTH + 2 * MARGIN,
		HEIGHT + 2 * MARGIN);
	print_escaped(out, f->path);
	fputs("</title>\n<rect width=\"100%\" height=\"100%\" "
	      "fill=\"#ffffff\"/>\n", out);
	for (i = 0; i < f->nr; i++)
		draw_block(out, &a, f, i);
	fprintf(out, "<path d=\"M%.1f %.2fh%.1f\" stroke=\"#b91c1c\" "
		"fill=\"none\"/>\n<text x=\"%.1f\" y=\"%.1f\">%" PRIu64
		" bytes, %s %" PRIu64 "</text>\n</svg>\n", MARGIN, y, WIDTH,
		MARGIN, MARGIN - 10, r->total,
		r->capacity ? "capacity" : "bound", line);
}
