// SPDX-License-Identifier: BSD-2-Clause
/*
 * view_json.c - what came of it, for programs: one object on one line. The
 * manual page has its keys.
 */
#include "../lib/json.h"
#include "device.h"
#include "view_json.h"

#define VERSION 1

static const char *const statuses[] = {
	[STATUS_NONE] = "none",
	[STATUS_MEASURED] = "measured",
	[STATUS_ABSENT] = "absent",
	[STATUS_FAILED] = "failed",
};

static const char *const kinds[] = {
	[KIND_OURS] = "ours",
	[KIND_FLOOR] = "floor",
	[KIND_PEER] = "peer",
};

static const char *const modes[] = {
	[MODE_TIME] = "time",
	[MODE_CALLGRIND] = "callgrind",
	[MODE_CHECK] = "check",
	[MODE_LIST] = "list",
};

static void put_machine(struct json *j, const struct machine *m)
{
	json_open(j, "machine", '{');
	json_string(j, "processor", m->processor);
	json_u64(j, "processors", m->processors);
	json_u64(j, "memory", m->memory);
	json_string(j, "system", m->system.sysname);
	json_string(j, "release", m->system.release);
	json_string(j, "architecture", m->system.machine);
	json_string(j, "glibc", m->libc);
	json_string(j, "compiler", m->compiler);
	json_close(j, '}');
}

static void put_method(struct json *j, const struct bench *b)
{
	const struct options *opt = b->opt;
	char name[SUBJECT_TEXT];

	device_name(name, sizeof(name));
	json_open(j, "method", '{');
	json_string(j, "mode", modes[opt->mode]);
	json_u64(j, "rounds", opt->rounds);
	json_u64(j, "samples", opt->samples);
	json_u64(j, "sample_ns", opt->sample_ns);
	json_u64(j, "divisor", opt->divisor);
	json_u64(j, "seed", opt->seed);
	json_bool(j, "quick", opt->quick);
	json_string(j, "device", device_spec());
	json_string(j, "device_name", name);
	json_string(j, "reference", REFERENCE);
	json_decimal(j, "best_reading", b->best_reading);
	json_close(j, '}');
}

static void put_subjects(struct json *j, const struct bench *b)
{
	unsigned int i;

	json_open(j, "subjects", '[');
	for (i = 0; i < b->nr_subjects; i++) {
		json_open(j, NULL, '{');
		json_string(j, "name", b->subjects[i]->name);
		json_string(j, "kind", kinds[b->subjects[i]->kind]);
		json_string(j, "what", b->subjects[i]->what);
		json_string(j, "version", b->version[i]);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_quartiles(struct json *j, const char *key,
			  const struct quartiles *q)
{
	json_open(j, key, '{');
	json_decimal(j, "median", q->median);
	json_decimal(j, "low", q->low);
	json_decimal(j, "high", q->high);
	json_close(j, '}');
}

static void put_samples(struct json *j, const struct result *r)
{
	unsigned int i;

	json_open(j, "samples", '[');
	for (i = 0; i < r->nr; i++) {
		json_open(j, NULL, '{');
		json_u64(j, "round", r->round[i]);
		json_decimal(j, "value", r->samples[i].value);
		json_decimal(j, "reading", r->samples[i].reading);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_result(struct json *j, const char *subject,
		       const struct result *r)
{
	json_open(j, NULL, '{');
	json_string(j, "subject", subject);
	json_string(j, "status", statuses[r->status]);
	json_string(j, "why", r->why);
	if (r->nr_checked)
		json_u64(j, "checked", r->nr_checked);
	if (r->nr) {
		put_quartiles(j, "value", &r->value);
		json_decimal(j, "reading", r->reading);
		json_u64(j, "nr_quiet", r->nr_quiet);
		if (r->nr_quiet)
			json_decimal(j, "quiet", r->quiet);
		if (r->nr_ratios)
			put_quartiles(j, "ratio", &r->ratio);
		if (r->nr_beside)
			put_quartiles(j, "plain_ratio", &r->beside);
		put_samples(j, r);
	}
	json_close(j, '}');
}

static void put_cell(struct json *j, const struct bench *b, unsigned int cell)
{
	const struct workload *w = b->cells[cell].workload;
	const struct variant *v = b->cells[cell].variant;
	unsigned int i;

	json_open(j, NULL, '{');
	json_string(j, "workload", w->name);
	json_string(j, "size", v->name);
	json_string(j, "unit", b->opt->mode == MODE_CALLGRIND ?
		    "instructions" : w->unit);
	json_u64(j, "threads", w->nr_workers);
	json_u64(j, "min_size", v->min);
	json_u64(j, "max_size", v->max);
	json_open(j, "results", '[');
	for (i = 0; i < b->nr_subjects; i++)
		put_result(j, b->subjects[i]->name, bench_result(b, cell, i));
	json_close(j, ']');
	json_close(j, '}');
}

void view_json(FILE *out, const struct bench *b)
{
	struct json j = { .out = out };
	unsigned int i;

	json_open(&j, NULL, '{');
	json_u64(&j, "version", VERSION);
	put_machine(&j, &b->machine);
	put_method(&j, b);
	put_subjects(&j, b);
	json_open(&j, "cells", '[');
	for (i = 0; i < b->nr_cells; i++)
		put_cell(&j, b, i);
	json_close(&j, ']');
	json_close(&j, '}');
	fputc('\n', out);
}
