/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * replay.h - ask several allocators for the same
 */
#ifndef DMRG_REPLAY_H
#define DMRG_REPLAY_H

#include <stddef.h>

struct trace;

enum replay_target {
	REPLAY_SLABDEV,		/* slabdev_alloc(): 256-byte aligned */
	REPLAY_ALIGNED,		/* posix_memalign() with the same alignment */
	REPLAY_MALLOC,		/* malloc(): 16-byte aligned */
	REPLAY_TARGETS
};

struct replay_result {
	size_t pairs;		/* of one allocation and one free */
	int rounds;
	double ns[REPLAY_TARGETS];	/* a pair, median of the rounds */
};

int replay_run(const struct trace *t, int policy, struct replay_result *r);

#endif
