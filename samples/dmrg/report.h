/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.h - what the user sees of a run
 */
#ifndef DMRG_REPORT_H
#define DMRG_REPORT_H

#include <stdio.h>

#include "replay.h"
#include "run.h"

/* The last sweep's calls, made again. */
struct replayed {
	struct replay_result result;
	int err;		/* 0: there is a result */
};

void report_sweep(const struct run *run, double seconds);
void report_end(const struct run *run, const struct replayed *replayed);
void report_memory(const struct run *run);
/* What groups save; blocks were one by one in @single. */
void report_compare(const struct run *single, const struct run *grouped);
int report_json(const struct run *run, const struct replayed *replayed,
		FILE *out);

#endif
