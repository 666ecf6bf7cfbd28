/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy.h - what becomes of memory that holds no block, sweep by sweep
 */
#ifndef DMRG_POLICY_H
#define DMRG_POLICY_H

#include <stdbool.h>

#define PHASES_MAX 16

/* Some sweeps with one policy. */
struct phase {
	const char *name;
	int mode;	/* an enum slabdev_policy_mode; 0: the default */
	bool push;	/* until memory is full: bonds grow with each sweep */
	int sweeps;	/* 0: as long as there are any */
};

struct schedule {
	struct phase phases[PHASES_MAX];
	int nr;
	bool push;	/* in any phase */
};

/*
 * schedule_parse - read PHASE[:SWEEPS][,PHASE[:SWEEPS]]...
 *
 * Return: 0; -EINVAL with the reason in @why.
 */
int schedule_parse(struct schedule *s, const char *text, char *why,
		   int why_len);
/* The first sweep, from 1, of the last phase. */
int schedule_last_begin(const struct schedule *s);

#endif
