/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report.h - what the user sees of a run
 */
#ifndef DMRG_REPORT_H
#define DMRG_REPORT_H

#include <stdio.h>

#include "mem.h"
#include "options.h"
#include "replay.h"
#include "sweep.h"

struct run {
	const struct options *opt;
	struct sweep_result sweep;	/* the last one */
	double change;			/* of the energy, in the last sweep */
	double seconds;			/* all sweeps */
	struct mem_counts before_last;	/* before the last sweep */
	struct mem_counts end;
	struct replay_result replay;
	int replay_err;			/* 0 when replay holds figures */
};

void report_head(const struct run *run);
void report_sweep(const struct run *run, int nr, double seconds);
void report_end(const struct run *run);
int report_json(const struct run *run, FILE *out);

#endif
