// SPDX-License-Identifier: BSD-2-Clause
/*
 * view_check.c - what a look from outside proves, and what not.
 */
#include <inttypes.h>

#include "check.h"
#include "json.h"
#include "text.h"
#include "view.h"

static const char unproved[] =
	"Not to be proved from outside: that bitmaps and tags of slabs agree, "
	"red\nzones and poison, and what is half done while the process works. "
	"In the\nprocess slabdev_validate() looks at all of that.\n";

static const struct space *space_of(const struct snapshot *snap,
				    const struct breach *b)
{
	size_t i;

	for (i = 0; i < snap->nr_spaces; i++)
		if (snap->spaces[i]->pid == b->pid &&
		    snap->spaces[i]->open_id == b->open_id)
			return snap->spaces[i];
	return NULL;
}

static void print_breach(FILE *out, const struct snapshot *snap,
			 const struct breach *b)
{
	const struct space *s = space_of(snap, b);

	fprintf(out, "Process %d, space %s%s%s: does not hold: %s\n",
		(int)b->pid, s ? escaped(s->rec.name).text : "(gone)",
		b->cache[0] ? ", cache " : "", escaped(b->cache).text,
		b->sentence);
}

static void print_text(FILE *out, const struct snapshot *snap,
		       const struct breaches *b)
{
	size_t i;

	for (i = 0; i < b->nr; i++)
		print_breach(out, snap, &b->of[i]);
	fprintf(out, "%zu statements looked at, %zu do not hold\n%s",
		b->looked_at, b->nr, unproved);
}

static void print_json(FILE *out, const struct breaches *b)
{
	struct json j = { .out = out };
	size_t i;

	json_open(&j, NULL, '{');
	json_u64(&j, "statements", b->looked_at);
	json_open(&j, "broken", '[');
	for (i = 0; i < b->nr; i++) {
		json_open(&j, NULL, '{');
		json_u64(&j, "pid", (uint64_t)b->of[i].pid);
		json_u64(&j, "open_id", b->of[i].open_id);
		json_string(&j, "cache", b->of[i].cache);
		json_string(&j, "statement", b->of[i].sentence);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	fputc('\n', out);
}

void view_check(FILE *out, const struct snapshot *snap,
		const struct breaches *b, const struct options *opt)
{
	if (opt->view == VIEW_JSON)
		print_json(out, b);
	else
		print_text(out, snap, b);
}
