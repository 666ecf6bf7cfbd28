// SPDX-License-Identifier: BSD-2-Clause
/*
 * split.c - two sites become two tensors again, with a bond of limited size
 *
 * The wave function of two sites, read as a matrix between (left bond, first
 * spin) and (second spin, right bond), is block-diagonal in the charge of the
 * bond between them: one matrix a charge, put together from up to four blocks.
 *
 *	             s2 = up          s2 = down
 *	s1 = up    theta(l, up, ..)  theta(l, up, ..)     l: charge - 1
 *	s1 = down  theta(l', dn, ..) theta(l', dn, ..)    l': charge + 1
 *
 * Its singular value decomposition gives both new sites; the singular values
 * say how much each state of the new bond matters. The largest of all charges
 * together are kept, and their squares, which sum up to 1, are scaled back to
 * that. What was cut off is the truncation error.
 *
 * Each charge is a task of the pool; the factors it makes are freed by the
 * caller's thread after the cut.
 *
 * All of it is work of the CPU, in its memory. Where the blocks are a GPU's,
 * the wave function comes from there first, and the sites go there at the end.
 */
#include "split.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "pool.h"
#include "svd.h"

/* Singular values below this are rounding errors of a state of norm 1. */
#define VALUE_MIN 1e-13

/* One charge of the new bond. */
struct channel {
	int charge;
	int left[SPINS];	/* sector by first spin, -1: none */
	int right[SPINS];	/* sector by second spin, -1: none */
	int rows, cols;
	int keep;
	struct svd svd;
};

struct split {
	struct mem *mem;	/* the CPU's */
	const struct bond *left, *right;
	const struct tensor *theta;
	struct channel *channels;
	struct tensor factors;	/* of all channels */
	int nr;
};

struct value {
	double value;
	int channel;
};

static int sector_dim(const struct bond *bond, int sector)
{
	return sector < 0 ? 0 : bond->sectors[sector].dim;
}

/* Append the channel of @charge, unless it is there or cannot be. */
static void split_add_channel(struct split *sp, int charge)
{
	struct channel *c = &sp->channels[sp->nr];
	int s;

	if (sp->nr && sp->channels[sp->nr - 1].charge >= charge)
		return;
	memset(c, 0, sizeof(*c));
	c->charge = charge;
	for (s = 0; s < SPINS; s++) {
		c->left[s] = bond_find(sp->left, charge - spin_charge[s]);
		c->right[s] = bond_find(sp->right, charge + spin_charge[s]);
		c->rows += sector_dim(sp->left, c->left[s]);
		c->cols += sector_dim(sp->right, c->right[s]);
	}
	if (c->rows && c->cols)
		sp->nr++;
}

/* Sectors rise by at least 2, so this visits the charges in rising order. */
static int split_find_channels(struct split *sp)
{
	int l;

	sp->channels = calloc((size_t)sp->left->nr * SPINS + 1,
			      sizeof(*sp->channels));
	if (!sp->channels)
		return -ENOMEM;
	for (l = 0; l < sp->left->nr; l++) {
		split_add_channel(sp, sp->left->sectors[l].charge - 1);
		split_add_channel(sp, sp->left->sectors[l].charge + 1);
	}
	return 0;
}

static int split_factors(struct split *sp)
{
	struct channel *c;
	int i, err;

	err = tensor_init(&sp->factors, sp->mem,
			  (size_t)sp->nr * SVD_BLOCKS);
	if (err)
		return err;
	for (i = 0; i < sp->nr; i++) {
		c = &sp->channels[i];
		svd_shape(&c->svd, &sp->factors.blocks[i * SVD_BLOCKS],
			  c->rows, c->cols);
	}
	return tensor_pack(&sp->factors);
}

/* Copy a block to (row, col) of a larger matrix, or from there. */
static void block_paste(struct block *to, int row, int col,
			const struct block *from)
{
	int j;

	for (j = 0; j < from->cols; j++)
		memcpy(to->data + (size_t)(col + j) * (size_t)to->rows + row,
		       from->data + (size_t)j * (size_t)from->rows,
		       (size_t)from->rows * sizeof(double));
}

static void block_cut(struct block *to, const struct block *from, int row,
		      int col)
{
	int j;

	for (j = 0; j < to->cols; j++)
		memcpy(to->data + (size_t)j * (size_t)to->rows,
		       from->data + (size_t)(col + j) * (size_t)from->rows +
		       row, (size_t)to->rows * sizeof(double));
}

static void channel_assemble(const struct split *sp, const struct channel *c,
			     struct block *a)
{
	int s1, s2, row = 0, col;

	for (s1 = 0; s1 < SPINS; s1++) {
		col = 0;
		for (s2 = 0; s2 < SPINS && c->left[s1] >= 0; s2++) {
			if (c->right[s2] < 0)
				continue;
			block_paste(a, row, col,
				    &sp->theta->blocks[
				    pair_index(c->left[s1], s1, s2)]);
			col += sector_dim(sp->right, c->right[s2]);
		}
		row += sector_dim(sp->left, c->left[s1]);
	}
}

static int channel_task(void *arg, int i)
{
	struct split *sp = arg;
	struct channel *c = &sp->channels[i];
	struct block a = { .rows = c->rows, .cols = c->cols };
	int err;

	err = block_alloc(sp->mem, &a);
	if (err)
		return err;
	channel_assemble(sp, c, &a);
	err = svd_fast(sp->mem, &a, &c->svd);
	if (err == -EDOM) {
		channel_assemble(sp, c, &a);
		err = svd_robust(sp->mem, &a, &c->svd);
	}
	block_free(sp->mem, &a);
	return err;
}

static int value_compare(const void *x, const void *y)
{
	const struct value *a = x, *b = y;

	if (a->value != b->value)
		return a->value < b->value ? 1 : -1;
	return a->channel - b->channel;
}

/* Decide how many states each channel keeps, and scale them to norm 1. */
static int split_cut(struct split *sp, int max_dim, double *lost)
{
	struct value *values;
	double kept = 0, scale;
	int i, k, nr = 0;

	for (i = 0; i < sp->nr; i++)
		nr += sp->channels[i].svd.s->rows;
	if (!nr)
		return -EDOM;
	values = calloc((size_t)nr, sizeof(*values));
	if (!values)
		return -ENOMEM;
	for (i = 0, nr = 0; i < sp->nr; i++)
		for (k = 0; k < sp->channels[i].svd.s->rows; k++)
			values[nr++] = (struct value){
				sp->channels[i].svd.s->data[k], i };
	qsort(values, (size_t)nr, sizeof(*values), value_compare);
	*lost = 0;
	for (i = 0; i < nr; i++) {
		if (i < max_dim && (!i || values[i].value > VALUE_MIN)) {
			sp->channels[values[i].channel].keep++;
			kept += values[i].value * values[i].value;
		} else {
			*lost += values[i].value * values[i].value;
		}
	}
	free(values);
	if (!(kept > 0))
		return -EDOM;
	scale = 1 / sqrt(kept);
	for (i = 0; i < sp->nr; i++)
		for (k = 0; k < sp->channels[i].keep; k++)
			sp->channels[i].svd.s->data[k] *= scale;
	return 0;
}

static struct bond *split_bond(const struct split *sp)
{
	struct bond *mid;
	int i, nr = 0;

	for (i = 0; i < sp->nr; i++)
		nr += sp->channels[i].keep > 0;
	mid = bond_create(nr);
	if (!mid)
		return NULL;
	for (i = 0, nr = 0; i < sp->nr; i++)
		if (sp->channels[i].keep > 0)
			mid->sectors[nr++] = (struct sector){
				sp->channels[i].charge, sp->channels[i].keep };
	return mid;
}

/* Multiply the singular values into the columns of u, or the rows of vt. */
static void channel_scale(struct channel *c, enum direction dir)
{
	double *col;
	int i, k;

	for (k = 0; dir == TO_LEFT && k < c->keep; k++) {
		col = c->svd.u->data + (size_t)k * (size_t)c->svd.u->rows;
		for (i = 0; i < c->svd.u->rows; i++)
			col[i] *= c->svd.s->data[k];
	}
	for (k = 0; dir == TO_RIGHT && k < c->svd.vt->cols; k++) {
		col = c->svd.vt->data + (size_t)k * (size_t)c->svd.vt->rows;
		for (i = 0; i < c->keep; i++)
			col[i] *= c->svd.s->data[i];
	}
}

/* Fill both sites, whose blocks have memory; @m is the new bond's sector. */
static void channel_store(const struct split *sp, const struct channel *c,
			  int m, struct tensor *first, struct tensor *second)
{
	int s, row = 0, col = 0;

	for (s = 0; s < SPINS; s++) {
		if (c->left[s] >= 0)
			block_cut(&first->blocks[c->left[s] * SPINS + s],
				  c->svd.u, row, 0);
		if (c->right[s] >= 0)
			block_cut(&second->blocks[m * SPINS + s], c->svd.vt,
				  0, col);
		row += sector_dim(sp->left, c->left[s]);
		col += sector_dim(sp->right, c->right[s]);
	}
}

/* Make the new bond and sites, and only then let go of the old ones. */
static int split_store(struct split *sp, struct mps *psi, int i,
		       enum direction dir)
{
	struct tensor first = { 0 }, second = { 0 };
	struct bond *mid;
	int c, m = 0, err = -ENOMEM;

	mid = split_bond(sp);
	if (!mid)
		return err;
	err = site_shape(&first, sp->mem, sp->left, mid);
	if (!err)
		err = site_shape(&second, sp->mem, mid, sp->right);
	if (!err)
		err = tensor_alloc_shared(&first);
	if (!err)
		err = tensor_alloc_shared(&second);
	if (err)
		goto free_sites;
	for (c = 0; c < sp->nr; c++) {
		if (!sp->channels[c].keep)
			continue;
		channel_scale(&sp->channels[c], dir);
		channel_store(sp, &sp->channels[c], m++, &first, &second);
	}
	err = tensor_move(&first, psi->mem);
	if (!err)
		err = tensor_move(&second, psi->mem);
	if (err)
		goto free_sites;
	tensor_free(&psi->site[i]);
	tensor_free(&psi->site[i + 1]);
	free(psi->bonds[i + 1]);
	psi->site[i] = first;
	psi->site[i + 1] = second;
	psi->bonds[i + 1] = mid;
	return 0;

free_sites:
	tensor_free(&first);
	tensor_free(&second);
	free(mid);
	return err;
}

int split_pair(struct mps *psi, int i, struct tensor *theta, int max_dim,
	       enum direction dir, struct pool *pool, double *lost)
{
	struct split sp = {
		.mem = mem_host(psi->mem), .left = psi->bonds[i],
		.right = psi->bonds[i + 2], .theta = theta,
	};
	int err;

	err = tensor_move(theta, sp.mem);
	if (err)
		return err;
	err = split_find_channels(&sp);
	if (err)
		return err;
	err = split_factors(&sp);
	if (!err)
		err = pool_run(pool, channel_task, &sp, sp.nr);
	if (!err)
		err = split_cut(&sp, max_dim, lost);
	if (!err)
		err = split_store(&sp, psi, i, dir);
	tensor_free(&sp.factors);
	free(sp.channels);
	return err;
}
