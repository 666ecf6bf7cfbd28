/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * svd.h - singular value decomposition of one dense matrix
 */
#ifndef DMRG_SVD_H
#define DMRG_SVD_H

#include "tensor.h"

/* a = u diag(s) vt, with min(rows, cols) columns of u, falling s, rows of vt */
struct svd {
	struct block u, s, vt;
};

/*
 * @a is destroyed. On success all three blocks have memory, to be freed with
 * svd_free(). Return: 0; -ENOMEM; -EDOM when the iteration does not converge.
 */
int svd_fast(struct mem *mem, struct block *a, struct svd *svd);
int svd_robust(struct mem *mem, struct block *a, struct svd *svd);
void svd_free(struct mem *mem, struct svd *svd);

#endif
