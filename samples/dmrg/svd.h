/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * svd.h - singular value decomposition of one dense matrix
 */
#ifndef DMRG_SVD_H
#define DMRG_SVD_H

#include "tensor.h"

/* a = u diag(s) vt, with min(rows, cols) columns of u, falling s, rows of vt */
struct svd {
	struct block *u, *s, *vt;
};

#define SVD_BLOCKS 3

/* Name three blocks, and give them the shapes for a matrix of this size. */
void svd_shape(struct svd *svd, struct block blocks[SVD_BLOCKS], int rows,
	       int cols);

/*
 * @a is destroyed. The blocks get memory if they have none, whatever comes of
 * it. Return: 0; -ENOMEM; -EDOM when the iteration does not converge.
 */
int svd_fast(struct mem *mem, struct block *a, const struct svd *svd);
int svd_robust(struct mem *mem, struct block *a, const struct svd *svd);

#endif
