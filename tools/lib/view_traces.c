// SPDX-License-Identifier: BSD-2-Clause
/*
 * view_traces.c - who allocated what is live, or freed what is free, by stack.
 *
 * As the kernel's alloc_traces and free_traces: the number of objects, the
 * function, the bytes, the age, and the stack; most bytes first. Ages are
 * averages, since the process publishes sums.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "json.h"
#include "memory.h"
#include "origin.h"
#include "symbols.h"
#include "text.h"
#include "view.h"

#define JSON_VERSION 1
#define FRAME_TEXT (2 * TEXT_ESCAPED)

/* What all of a view has in common. */
struct tracing {
	FILE *out;
	struct json json;
	const struct options *opt;
	uint32_t kind;		/* enum slabdev_seg_trace_kind */
	uint64_t now;		/* milliseconds of CLOCK_MONOTONIC */
	struct symbols symbols;
};

/* ---- Which, in which order ----------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct origin *x = *(const struct origin *const *)a;
	const struct origin *y = *(const struct origin *const *)b;

	if (x->rec.bytes != y->rec.bytes)
		return x->rec.bytes > y->rec.bytes ? -1 : 1;
	if (x->rec.objects != y->rec.objects)
		return x->rec.objects > y->rec.objects ? -1 : 1;
	return (x > y) - (x < y);
}

static void invert(const struct origin **list, size_t nr)
{
	size_t i;

	for (i = 0; i < nr / 2; i++) {
		const struct origin *o = list[i];

		list[i] = list[nr - 1 - i];
		list[nr - 1 - i] = o;
	}
}

/* Pointers to those to be shown, to be freed. */
static const struct origin **choose(const struct tracing *t,
				    const struct space *s, size_t *nr)
{
	const struct origin **list = zalloc((s->nr_origins + 1) *
					    sizeof(struct origin *));
	size_t i;

	*nr = 0;
	for (i = 0; i < s->nr_origins; i++)
		if (s->origins[i].rec.kind == t->kind &&
		    s->origins[i].rec.objects)
			list[(*nr)++] = &s->origins[i];
	qsort(list, *nr, sizeof(struct origin *), compare);
	if (t->opt->inverted)
		invert(list, *nr);
	if (t->opt->first && *nr > t->opt->first)
		*nr = t->opt->first;
	return list;
}

static double seconds(uint64_t milliseconds)
{
	return (double)milliseconds / 1000;
}

static double average_age(const struct tracing *t, const struct origin *o)
{
	return seconds(less(t->now, o->rec.time_sum / o->rec.objects));
}

/* ---- For people ---------------------------------------------------------- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "function+0x12 [module+0x345]", or what of it is known. */
static void name_frame(struct tracing *t, const struct space *s,
		       const struct origin *o, uint64_t frame, char *text)
{
	const struct slabdev_seg_module *m = origin_module(o, frame);
	uint64_t address = origin_address(frame), into = 0;
	const char *name;

	if (!m) {
		snprintf(text, FRAME_TEXT, "0x%" PRIx64, address);
		return;
	}
	name = symbols_find(&t->symbols, s->pid, m->path, address, &into);
	if (name)
		snprintf(text, FRAME_TEXT, "%.200s+0x%" PRIx64
			 " [%.200s+0x%" PRIx64 "]", escaped(name).text, into,
			 escaped(base_name(m->path)).text, address);
	else
		snprintf(text, FRAME_TEXT, "[%.200s+0x%" PRIx64 "]",
			 escaped(base_name(m->path)).text, address);
}

static void print_origin(struct tracing *t, const struct space *s,
			 const struct origin *o)
{
	const struct slabdev_seg_trace *rec = &o->rec;
	char text[FRAME_TEXT] = "unknown";
	uint32_t i;

	if (rec->nr_frames)
		name_frame(t, s, o, rec->frame[0], text);
	fprintf(t->out, "%7" PRIu64 " %s bytes=%s age=%.3f last=%.3f pid=%"
		PRIu32, rec->objects, text,
		size_text(rec->bytes, t->opt->bytes).text, average_age(t, o),
		seconds(less(t->now, rec->last)), rec->tid_low);
	if (rec->tid_high != rec->tid_low)
		fprintf(t->out, "-%" PRIu32, rec->tid_high);
	fputc('\n', t->out);
	for (i = 0; i < rec->nr_frames; i++) {
		name_frame(t, s, o, rec->frame[i], text);
		fprintf(t->out, "        %s\n", text);
	}
	fputc('\n', t->out);
}

static void print_space(struct tracing *t, const struct space *s)
{
	size_t i, nr;
	const struct origin **list = choose(t, s, &nr);

	fprintf(t->out, "%d %s: space %s ", (int)s->pid,
		escaped(s->command).text, escaped(s->rec.name).text);
	backing_print(t->out, &s->rec);
	fprintf(t->out, ", %s%s\n", t->kind == SLABDEV_SEG_TRACE_ALLOC ?
		"live objects by who allocated them" :
		"free objects by who freed them",
		s->complete ? "" : ", INCOMPLETE");
	if (!s->nr_origins)
		fputs("  none is tracked: SLABDEV_DEBUG=U in its environment "
		      "does that\n", t->out);
	for (i = 0; i < nr; i++)
		print_origin(t, s, list[i]);
	free(list);
}

/* ---- For programs -------------------------------------------------------- */

static void put_frame(struct tracing *t, const struct space *s,
		      const struct origin *o, uint64_t frame)
{
	const struct slabdev_seg_module *m = origin_module(o, frame);
	uint64_t address = origin_address(frame), into = 0;
	const char *name = NULL;

	if (m)
		name = symbols_find(&t->symbols, s->pid, m->path, address,
				    &into);
	json_open(&t->json, NULL, '{');
	json_string(&t->json, "module", m ? m->path : "");
	json_u64(&t->json, "address", address);
	json_string(&t->json, "function", name ? name : "");
	json_u64(&t->json, "offset", into);
	json_close(&t->json, '}');
}

static void put_origin(struct tracing *t, const struct space *s,
		       const struct origin *o)
{
	uint32_t i;

	json_open(&t->json, NULL, '{');
	json_u64(&t->json, "objects", o->rec.objects);
	json_u64(&t->json, "bytes", o->rec.bytes);
	json_u64(&t->json, "total", o->rec.total);
	json_decimal(&t->json, "age", average_age(t, o));
	json_decimal(&t->json, "last", seconds(less(t->now, o->rec.last)));
	json_u64(&t->json, "tid_low", o->rec.tid_low);
	json_u64(&t->json, "tid_high", o->rec.tid_high);
	json_open(&t->json, "stack", '[');
	for (i = 0; i < o->rec.nr_frames; i++)
		put_frame(t, s, o, o->rec.frame[i]);
	json_close(&t->json, ']');
	json_close(&t->json, '}');
}

static void put_space(struct tracing *t, const struct space *s)
{
	size_t i, nr;
	const struct origin **list = choose(t, s, &nr);

	json_open(&t->json, NULL, '{');
	json_u64(&t->json, "pid", (uint64_t)s->pid);
	json_string(&t->json, "command", s->command);
	json_u64(&t->json, "open_id", s->open_id);
	json_string(&t->json, "name", s->rec.name);
	json_bool(&t->json, "complete", s->complete);
	json_bool(&t->json, "tracked", s->nr_origins);
	json_open(&t->json, "traces", '[');
	for (i = 0; i < nr; i++)
		put_origin(t, s, list[i]);
	json_close(&t->json, ']');
	json_close(&t->json, '}');
	free(list);
}

/* ---- The view ------------------------------------------------------------ */

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void each_space(struct tracing *t, const struct snapshot *snap,
		       void (*show)(struct tracing *t, const struct space *s))
{
	size_t i;

	for (i = 0; i < snap->nr_spaces; i++)
		if (space_is_chosen(snap->spaces[i], t->opt))
			show(t, snap->spaces[i]);
}

void view_traces(FILE *out, const struct snapshot *snap,
		 const struct options *opt)
{
	struct tracing t = {
		.out = out,
		.json = { .out = out },
		.opt = opt,
		.kind = opt->traces == TRACES_FREE ? SLABDEV_SEG_TRACE_FREE :
						     SLABDEV_SEG_TRACE_ALLOC,
		.now = now_ms(),
	};

	if (opt->view != VIEW_JSON) {
		each_space(&t, snap, print_space);
	} else {
		json_open(&t.json, NULL, '{');
		json_u64(&t.json, "version", JSON_VERSION);
		json_string(&t.json, "kind", opt->traces == TRACES_FREE ?
			    "free" : "alloc");
		json_open(&t.json, "spaces", '[');
		each_space(&t, snap, put_space);
		json_close(&t.json, ']');
		json_close(&t.json, '}');
		fputc('\n', out);
	}
	symbols_fini(&t.symbols);
}
