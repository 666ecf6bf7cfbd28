/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tensor.h - dense blocks, and tables of them
 */
#ifndef DMRG_TENSOR_H
#define DMRG_TENSOR_H

#include <stddef.h>

struct mem;

/*
 * A matrix, stored column by column. rows == 0: symmetry forbids the block.
 * data == NULL with rows > 0: allowed, but it has no memory at the moment.
 */
struct block {
	double *data;
	int rows, cols;
};

struct tensor {
	struct mem *mem;
	struct block *blocks;
	int nr;
};

enum trans { PLAIN, TRANSPOSED };

int block_alloc(struct mem *mem, struct block *b);
int block_alloc_zero(struct mem *mem, struct block *b);
void block_free(struct mem *mem, struct block *b);
size_t block_elems(const struct block *b);
void block_axpy(double a, const struct block *x, struct block *y);
void block_gemm(double alpha, const struct block *a, enum trans ta,
		const struct block *b, enum trans tb, double beta,
		struct block *c);

int tensor_init(struct tensor *t, struct mem *mem, size_t nr);
int tensor_alloc(struct tensor *t);
int tensor_init_like(struct tensor *t, const struct tensor *shape);
void tensor_free(struct tensor *t);
double tensor_dot(const struct tensor *x, const struct tensor *y);
double tensor_norm(const struct tensor *x);
void tensor_axpy(double a, const struct tensor *x, struct tensor *y);
void tensor_scale(double a, struct tensor *x);

#endif
