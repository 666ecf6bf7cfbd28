/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * split.h - two sites become two tensors again, with a bond of limited size
 */
#ifndef DMRG_SPLIT_H
#define DMRG_SPLIT_H

#include "mps.h"

struct pool;

enum direction { TO_RIGHT, TO_LEFT };

/*
 * Replace sites @i and @i + 1 and the bond between them by the decomposition
 * of @theta that keeps at most @max_dim states. The singular values go along
 * with @dir, the other site becomes an isometry. @lost is set to the weight of
 * what was cut off. @theta is in the CPU's memory afterwards.
 */
int split_pair(struct mps *psi, int i, struct tensor *theta, int max_dim,
	       enum direction dir, struct pool *pool, double *lost);

#endif
