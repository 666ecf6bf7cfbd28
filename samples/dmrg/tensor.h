/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tensor.h - dense blocks, and tables of them
 */
#ifndef DMRG_TENSOR_H
#define DMRG_TENSOR_H

#include <stdbool.h>
#include <stddef.h>

#include "device.h"

struct mem;
struct slabdev_buf;
struct slabdev_group;

/*
 * A matrix, stored column by column. rows == 0: symmetry forbids the block.
 * data == NULL with rows > 0: allowed, but it has no memory at the moment.
 */
struct block {
	double *data;
	int rows, cols;
};

/* Who holds the memory: each block its own, or one of these all of them. */
struct tensor {
	struct mem *mem;
	struct block *blocks;
	int nr;
	struct slabdev_group *group;
	struct slabdev_buf **views;
};

int block_alloc(struct mem *mem, struct block *b);
int block_ready(struct mem *mem, struct block *b);
int block_ready_zero(struct mem *mem, struct block *b);
void block_free(struct mem *mem, struct block *b);
size_t block_elems(const struct block *b);
void block_axpy(struct mem *mem, double a, const struct block *x,
		struct block *y);
void block_gemm(struct mem *mem, double alpha, const struct block *a,
		enum trans ta, const struct block *b, enum trans tb,
		double beta, struct block *c);

int tensor_init(struct tensor *t, struct mem *mem, size_t nr);
int tensor_init_like(struct tensor *t, const struct tensor *shape);
int tensor_pack(struct tensor *t);
int tensor_alloc(struct tensor *t);
int tensor_alloc_shared(struct tensor *t);
void tensor_drop(struct tensor *t, struct block *b);
void tensor_release(struct tensor *t);
void tensor_free(struct tensor *t);

int tensor_share(struct tensor *to, const struct tensor *from);
int tensor_move(struct tensor *t, struct mem *mem);

double tensor_dot(const struct tensor *x, const struct tensor *y);
double tensor_norm(const struct tensor *x);
void tensor_axpy(double a, const struct tensor *x, struct tensor *y);
void tensor_scale(double a, struct tensor *x);

#endif
