/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * progress.h - one line on a terminal that says how far it is.
 */
#ifndef SLABBENCH_PROGRESS_H
#define SLABBENCH_PROGRESS_H

#include <stdbool.h>

#include "workload.h"

struct progress {
	bool shown;
	unsigned int at;
	unsigned int end;
};

/* Nothing is shown when standard error is no terminal. */
void progress_begin(struct progress *p, unsigned int steps);
/* The next step begins. */
void progress_step(struct progress *p, const struct cell *cell,
		   const char *subject);
void progress_end(struct progress *p);

#endif /* SLABBENCH_PROGRESS_H */
