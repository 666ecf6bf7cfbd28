// SPDX-License-Identifier: BSD-2-Clause
/*
 * replay_view.c - what a replay took, for people and for programs.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "json.h"
#include "replay_view.h"
#include "text.h"

#define HEIGHT 10
#define WIDTH 64	/* of the picture, or of its two halves together */

/* Of those that are in force; opening the space has judged the value. */
static const char *policy(void)
{
	const char *text = getenv("SLABDEV_POLICY");

	return text ? text : "retain";
}

static double ratio(const struct stretch *s)
{
	if (!s->peak_live)
		return 0;
	return (double)s->peak_mapped / (double)s->peak_live;
}

static double ns_per_event(const struct stretch *s)
{
	uint64_t events = stretch_events(s);

	return events ? (double)s->ns / (double)events : 0;
}

static uint64_t higher(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* ---- For people ------------------------------------------------------- */

static void print_row(FILE *out, const char *name, const struct stretch *s)
{
	fprintf(out, "%-14s %12" PRIu64 " %8" PRIu64 " %9s %11s %5.3f %13"
		PRIu64 " %8.1f\n", name, stretch_events(s), s->failed,
		size_text(s->peak_live, false).text,
		size_text(s->peak_mapped, false).text, ratio(s),
		s->backend_calls, ns_per_event(s));
}

static void print_table(FILE *out, const struct replay *r)
{
	char name[40] = "later loop";

	fputs("                     events   failed peak live peak mapped ratio"
	      " backend calls ns/event\n", out);
	print_row(out, "first loop", &r->first);
	if (!r->later.loops)
		return;
	if (r->later.loops > 1)
		snprintf(name, sizeof(name), "%" PRIu64 " later loops",
			 r->later.loops);
	print_row(out, name, &r->later);
}

/* One row of one half: what reaches the middle of it. */
static void draw_row(FILE *out, const struct series *s, unsigned int width,
		     uint64_t top, unsigned int row)
{
	double level = ((double)row + 0.5) / HEIGHT * (double)top;
	unsigned int i;

	fputc('|', out);
	for (i = 0; i < width; i++) {
		struct point p = series_column(s, i, width);

		fputc((double)p.live >= level ? '#' :
		      (double)p.mapped >= level ? '.' : ' ', out);
	}
}

/* The rows from the top down; no blanks at the end of a line. */
static void draw(FILE *out, const struct replay *r)
{
	bool two = r->later.loops;
	unsigned int width = two ? WIDTH / 2 : WIDTH, row;
	uint64_t top = series_top(&r->drawn[0]);

	if (two)
		top = higher(top, series_top(&r->drawn[1]));
	for (row = HEIGHT; row-- > 0;) {
		fprintf(out, "%9s ", row == HEIGHT - 1 ?
			size_text(top, false).text : "");
		draw_row(out, &r->drawn[0], width, top, row);
		if (two)
			draw_row(out, &r->drawn[1], width, top, row);
		fputs("|\n", out);
	}
	fprintf(out, "%9s  %-*s", "# live", (int)width + 1, "first loop");
	fprintf(out, "%s\n%9s\n", two ? "last loop" : "", ". mapped");
}

void replay_view(FILE *out, const struct replay *r,
		 const struct replay_options *opt)
{
	fprintf(out, "%s", escaped(opt->paths[0]).text);
	if (opt->nr_paths > 1)
		fprintf(out, " and %zu more", opt->nr_paths - 1);
	fprintf(out, ": policy %s, %s\n", policy(), opt->touch ?
		"every page touched" : "memory not touched");
	print_table(out, r);
	draw(out, r);
}

/* ---- For programs ----------------------------------------------------- */

static void stretch_json(struct json *j, const char *key,
			 const struct stretch *s)
{
	if (key)
		json_open(j, key, '{');
	json_u64(j, "loops", s->loops);
	json_u64(j, "events", stretch_events(s));
	json_u64(j, "allocs", s->allocs);
	json_u64(j, "frees", s->frees);
	json_u64(j, "failed", s->failed);
	json_u64(j, "peak_live", s->peak_live);
	json_u64(j, "peak_mapped", s->peak_mapped);
	json_decimal(j, "ratio", ratio(s));
	json_u64(j, "backend_calls", s->backend_calls);
	json_u64(j, "refills", s->refills);
	json_u64(j, "flushes", s->flushes);
	json_decimal(j, "ns_per_event", ns_per_event(s));
	if (key)
		json_close(j, '}');
}

static struct stretch sum(const struct stretch *a, const struct stretch *b)
{
	return (struct stretch){
		.loops = a->loops + b->loops,
		.allocs = a->allocs + b->allocs,
		.frees = a->frees + b->frees,
		.failed = a->failed + b->failed,
		.peak_live = higher(a->peak_live, b->peak_live),
		.peak_mapped = higher(a->peak_mapped, b->peak_mapped),
		.backend_calls = a->backend_calls + b->backend_calls,
		.refills = a->refills + b->refills,
		.flushes = a->flushes + b->flushes,
		.ns = a->ns + b->ns,
	};
}

void replay_view_json(FILE *out, const struct replay *r,
		      const struct replay_options *opt)
{
	struct stretch all = sum(&r->first, &r->later);
	struct json j = { .out = out };
	size_t i;

	json_open(&j, NULL, '{');
	json_u64(&j, "version", 1);
	json_open(&j, "traces", '[');
	for (i = 0; i < opt->nr_paths; i++)
		json_string(&j, NULL, opt->paths[i]);
	json_close(&j, ']');
	json_string(&j, "policy", policy());
	json_bool(&j, "touched", opt->touch);
	json_u64(&j, "limit", r->seen.limit);
	json_u64(&j, "host_bytes", r->seen.host_bytes);
	stretch_json(&j, NULL, &all);
	stretch_json(&j, "first_loop", &r->first);
	stretch_json(&j, "later_loops", &r->later);
	json_close(&j, '}');
	fputc('\n', out);
}
