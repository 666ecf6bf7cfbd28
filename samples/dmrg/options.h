/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * options.h - what the command line asked for
 */
#ifndef DMRG_OPTIONS_H
#define DMRG_OPTIONS_H

#include <stdbool.h>

#include "mem.h"
#include "policy.h"

struct options {
	int sites;
	int max_dim;
	int sweeps;
	int threads;
	struct mem_config mem;
	struct schedule schedule;
	const char *policy;	/* its text */
	bool compare;		/* blocks one by one, then grouped */
	bool quiet;
	const char *json;	/* a file, "-", or NULL */
	const char *trace;	/* the same */
};

/* Return: 0; 1 when the program is done (help); -EINVAL, with a message. */
int options_parse(struct options *opt, int argc, char **argv);

#endif
