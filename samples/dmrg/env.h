/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * env.h - everything left, or right, of a bond, contracted
 */
#ifndef DMRG_ENV_H
#define DMRG_ENV_H

#include <stdbool.h>

#include "mps.h"

struct pool;

/*
 * Block [k * MPO_STATES + w]: ket sector k of the bond, operator state w. The
 * bra sector has charge(k) + mpo_charge[w]. A left environment has bra rows
 * and ket columns, a right one ket rows and bra columns. For w == unit the
 * blocks are identities and not stored.
 */
struct env {
	struct tensor t;
	int unit;
};

static inline const struct block *env_block(const struct env *env, int sector,
					    int w)
{
	return &env->t.blocks[sector * MPO_STATES + w];
}

int env_edge(struct env *env, struct mem *mem, int unit);
int env_grow_left(struct env *next, const struct env *env,
		  const struct mps *psi, int i, struct pool *pool);
int env_grow_right(struct env *next, const struct env *env,
		   const struct mps *psi, int i, struct pool *pool);
void env_free(struct env *env);

#endif
