/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heff.h - the Hamiltonian as two sites of the chain see it
 */
#ifndef DMRG_HEFF_H
#define DMRG_HEFF_H

#include "env.h"

struct heff;

int heff_create(struct heff **h, const struct mps *psi, int i,
		const struct env *left, const struct env *right,
		const struct tensor *shape, struct pool *pool);
void heff_destroy(struct heff *h);

/* out = H in. @out is a table of the same shapes without memory. */
int heff_apply(struct heff *h, const struct tensor *in, struct tensor *out);

#endif
