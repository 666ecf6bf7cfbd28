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
 * The table itself is small and comes from the heap; pack.c says where the data
 * of its blocks is. The device of that memory (device.h) does all arithmetic.
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

/* Memory for a block that has none yet. */
int block_ready(struct mem *mem, struct block *b)
{
	return b->data ? 0 : block_alloc(mem, b);
}

int block_ready_zero(struct mem *mem, struct block *b)
{
	int err = block_ready(mem, b);

	if (!err)
		mem_device(mem)->zero(b->data, block_elems(b) *
					       sizeof(double));
	return err;
}

void block_free(struct mem *mem, struct block *b)
{
	mem_free(mem, b->data, block_elems(b) * sizeof(double));
	b->data = NULL;
}

void block_axpy(struct mem *mem, double a, const struct block *x,
		struct block *y)
{
	mem_device(mem)->axpy((int)block_elems(y), a, x->data, y->data);
}

/* c = alpha * op(a) * op(b) + beta * c */
void block_gemm(struct mem *mem, double alpha, const struct block *a,
		enum trans ta, const struct block *b, enum trans tb,
		double beta, struct block *c)
{
	mem_device(mem)->gemm(ta, tb, c->rows, c->cols,
			      ta == TRANSPOSED ? a->rows : a->cols, alpha,
			      a->data, a->rows, b->data, b->rows, beta,
			      c->data, c->rows);
}

int tensor_init(struct tensor *t, struct mem *mem, size_t nr)
{
	*t = (struct tensor){ .mem = mem };
	if (nr > INT_MAX)
		return -EOVERFLOW;
	t->blocks = calloc(nr ? nr : 1, sizeof(*t->blocks));
	if (!t->blocks)
		return -ENOMEM;
	t->nr = (int)nr;
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
	tensor_release(t);
	free(t->blocks);
	t->blocks = NULL;
	t->nr = 0;
}

double tensor_dot(const struct tensor *x, const struct tensor *y)
{
	double sum = 0;
	int i, n;

	for (i = 0; i < x->nr; i++) {
		n = (int)block_elems(&x->blocks[i]);
		if (n)
			sum += mem_device(x->mem)->dot(n, x->blocks[i].data,
						       y->blocks[i].data);
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
			block_axpy(x->mem, a, &x->blocks[i], &y->blocks[i]);
}

void tensor_scale(double a, struct tensor *x)
{
	int i, n;

	for (i = 0; i < x->nr; i++) {
		n = (int)block_elems(&x->blocks[i]);
		if (n)
			mem_device(x->mem)->scale(n, a, x->blocks[i].data);
	}
}
