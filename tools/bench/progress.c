// SPDX-License-Identifier: BSD-2-Clause
/*
 * progress.c - one line on a terminal that says how far it is.
 */
#include <stdio.h>
#include <unistd.h>

#include "progress.h"

#define BAR 30u

void progress_begin(struct progress *p, unsigned int steps)
{
	*p = (struct progress){ .shown = isatty(STDERR_FILENO), .end = steps };
}

void progress_step(struct progress *p, const struct cell *cell,
		   const char *subject)
{
	static const char full[] = "##############################";
	static const char empty[] = "..............................";
	unsigned int permille = p->end ? p->at * 1000 / p->end : 0;
	unsigned int done = permille * BAR / 1000;

	if (p->shown)
		fprintf(stderr, "\r[%.*s%.*s] %3u%% %s/%s %s\033[K", (int)done,
			full, (int)(BAR - done), empty, permille / 10,
			cell->workload->name, cell->variant->name, subject);
	p->at++;
}

void progress_end(struct progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
}
