// SPDX-License-Identifier: BSD-2-Clause
/*
 * tensor.c - dense blocks, and tables of them
 *
 * A tensor with a symmetry is a table of blocks: one matrix for each
 * combination of the discrete labels (charges, spins, operators) that the
 * symmetry allows. The labels number the table directly, so that a block is
 * found by an index computation; forbidden combinations are entries of no
 * rows. What the labels of a table mean is said where it is made: site tensors
 * and wave functions in mps.h, environments in env.h.
 *
 * The table itself is small and comes from the heap. The data of each block is
 * one allocation from mem.h, made and freed one by one: this is the load that
 * the allocator below is meant for.
 *
 * Sizes are checked here, once, for all blocks: a block has at most INT_MAX
 * elements, so that every later product of dimensions fits an int, as BLAS
 * asks, and its bytes fit a size_t.
 */
#include "tensor.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blas.h"
#include "mem.h"

size_t block_elems(const struct block *b)
{
	return (size_t)b->rows * (size_t)b->cols;
}

int block_alloc(struct mem *mem, struct block *b)
{
	int elems;

	if (__builtin_mul_overflow(b->rows, b->cols, &elems))
		return -EOVERFLOW;
	b->data = mem_alloc(mem, (size_t)elems * sizeof(double));
	return b->data ? 0 : -ENOMEM;
}

int block_alloc_zero(struct mem *mem, struct block *b)
{
	int err = block_alloc(mem, b);

	if (!err)
		memset(b->data, 0, block_elems(b) * sizeof(double));
	return err;
}

void block_free(struct mem *mem, struct block *b)
{
	mem_free(mem, b->data, block_elems(b) * sizeof(double));
	b->data = NULL;
}

void block_axpy(double a, const struct block *x, struct block *y)
{
	const int n = (int)block_elems(y), one = 1;

	daxpy_(&n, &a, x->data, &one, y->data, &one);
}

/* c = alpha * op(a) * op(b) + beta * c */
void block_gemm(double alpha, const struct block *a, enum trans ta,
		const struct block *b, enum trans tb, double beta,
		struct block *c)
{
	const int k = ta == TRANSPOSED ? a->rows : a->cols;

	dgemm_(ta == TRANSPOSED ? "T" : "N", tb == TRANSPOSED ? "T" : "N",
	       &c->rows, &c->cols, &k, &alpha, a->data, &a->rows, b->data,
	       &b->rows, &beta, c->data, &c->rows, 1, 1);
}

int tensor_init(struct tensor *t, struct mem *mem, size_t nr)
{
	t->mem = mem;
	t->nr = 0;
	t->blocks = NULL;
	if (nr > INT_MAX)
		return -EOVERFLOW;
	t->blocks = calloc(nr ? nr : 1, sizeof(*t->blocks));
	if (!t->blocks)
		return -ENOMEM;
	t->nr = (int)nr;
	return 0;
}

/* Give memory, zeroed, to every block that has a shape. */
int tensor_alloc(struct tensor *t)
{
	int i, err;

	for (i = 0; i < t->nr; i++) {
		if (!t->blocks[i].rows)
			continue;
		err = block_alloc_zero(t->mem, &t->blocks[i]);
		if (err)
			return err;
	}
	return 0;
}

int tensor_init_like(struct tensor *t, const struct tensor *shape)
{
	int i, err;

	err = tensor_init(t, shape->mem, (size_t)shape->nr);
	if (err)
		return err;
	for (i = 0; i < t->nr; i++) {
		t->blocks[i].rows = shape->blocks[i].rows;
		t->blocks[i].cols = shape->blocks[i].cols;
	}
	return 0;
}

/* Also for a tensor that is all zero, or was freed before. */
void tensor_free(struct tensor *t)
{
	int i;

	for (i = 0; i < t->nr; i++)
		block_free(t->mem, &t->blocks[i]);
	free(t->blocks);
	t->blocks = NULL;
	t->nr = 0;
}

double tensor_dot(const struct tensor *x, const struct tensor *y)
{
	const int one = 1;
	double sum = 0;
	int i, n;

	for (i = 0; i < x->nr; i++) {
		n = (int)block_elems(&x->blocks[i]);
		if (n)
			sum += ddot_(&n, x->blocks[i].data, &one,
				     y->blocks[i].data, &one);
	}
	return sum;
}

double tensor_norm(const struct tensor *x)
{
	return sqrt(tensor_dot(x, x));
}

void tensor_axpy(double a, const struct tensor *x, struct tensor *y)
{
	int i;

	for (i = 0; i < x->nr; i++)
		if (x->blocks[i].rows)
			block_axpy(a, &x->blocks[i], &y->blocks[i]);
}

void tensor_scale(double a, struct tensor *x)
{
	const int one = 1;
	int i, n;

	for (i = 0; i < x->nr; i++) {
		n = (int)block_elems(&x->blocks[i]);
		if (n)
			dscal_(&n, &a, x->blocks[i].data, &one);
	}
}
