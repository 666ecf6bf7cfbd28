// SPDX-License-Identifier: BSD-2-Clause
/*
 * policy.c - what becomes of memory that holds no block, sweep by sweep
 *
 * A run wants different things at different times. While it pushes the bonds
 * as far as the device has memory, what was freed should go back at once: each
 * sweep wants other sizes than the one before. When it has converged and does
 * the same again and again, nothing should go back, so that the driver is never
 * called. A schedule says which, for how many sweeps:
 *
 *	push:6,retain:3,push:2,retain
 *
 * retain, trim and aggressive are the library's policies; push is aggressive
 * and lets the bonds grow with each sweep until one runs out of memory
 * (run.c). A phase without a number lasts to the end of the run.
 */
#include "policy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <slabdev/slabdev.h>

#define SWEEPS_MAX 1000

static const struct phase kinds[] = {
	{ .name = "retain", .mode = SLABDEV_RETAIN },
	{ .name = "trim", .mode = SLABDEV_TRIM },
	{ .name = "aggressive", .mode = SLABDEV_AGGRESSIVE },
	{ .name = "push", .mode = SLABDEV_AGGRESSIVE, .push = true },
};

static const struct phase *kind_find(const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strlen(kinds[i].name) == len &&
		    !strncmp(kinds[i].name, text, len))
			return &kinds[i];
	return NULL;
}

/* One phase; @text is left at the comma or the end. */
static int phase_parse(struct phase *phase, const char **text, char *why,
		       int why_len)
{
	const size_t len = strcspn(*text, ":,");
	const struct phase *kind = kind_find(*text, len);
	const char *at = *text + len;
	char *end;
	long n = 0;

	if (!kind) {
		snprintf(why, (size_t)why_len,
			 "want retain, trim, aggressive or push, not \"%.*s\"",
			 (int)len, *text);
		return -EINVAL;
	}
	if (*at == ':') {
		n = strtol(at + 1, &end, 10);
		if (end == at + 1 || (*end && *end != ',') || n < 1 ||
		    n > SWEEPS_MAX) {
			snprintf(why, (size_t)why_len,
				 "want a number of sweeps from 1 to %d behind "
				 "\"%s:\"", SWEEPS_MAX, kind->name);
			return -EINVAL;
		}
		at = end;
	}
	*phase = *kind;
	phase->sweeps = (int)n;
	*text = at;
	return 0;
}

int schedule_parse(struct schedule *s, const char *text, char *why,
		   int why_len)
{
	struct phase *phase;
	int err;

	memset(s, 0, sizeof(*s));
	for (;; text++) {
		if (s->nr == PHASES_MAX) {
			snprintf(why, (size_t)why_len, "want at most %d "
				 "phases", PHASES_MAX);
			return -EINVAL;
		}
		phase = &s->phases[s->nr++];
		err = phase_parse(phase, &text, why, why_len);
		if (err)
			return err;
		s->push |= phase->push;
		if (!*text)
			return 0;
		if (!phase->sweeps) {
			snprintf(why, (size_t)why_len, "\"%s\" lasts to the "
				 "end, and nothing comes after it: want %s:"
				 "SWEEPS", phase->name, phase->name);
			return -EINVAL;
		}
	}
}

int schedule_last_begin(const struct schedule *s)
{
	int i, begin = 1;

	for (i = 0; i < s->nr - 1; i++)
		begin += s->phases[i].sweeps;
	return begin;
}
