// SPDX-License-Identifier: BSD-2-Clause
/*
 * heff.c - the effective Hamiltonian of two sites
 *
 * Concepts. Applied to the wave function theta of two sites, H is
 *
 *	out(s1', s2') = sum of  c * L[w1] theta(s1, s2) R[w3]
 *
 * over the elements of the product of the two sites' W, and over the sectors
 * that fit. Which blocks meet is fixed while Lanczos works on one pair, so it
 * is written down once, as a plan: a list of *products* L theta, which several
 * terms share, and for each block of the result its *terms*.
 *
 * Implementation. heff_apply() is two runs of the pool. The first allocates
 * and computes the products. The second takes one block of the result a task:
 * it adds up the block's terms in the order of the plan, and each product is
 * freed by whichever thread used it last. So every application allocates and
 * frees some hundred blocks, and many of them change threads on the way. In
 * groups (pack.c) the products are one allocation, and so is the result.
 *
 * Unit environments (see env.c) need no multiplication: a term without L reads
 * theta itself, a term without R adds the product as it is.
 *
 * Failure. A task that gets no memory ends the run. What was made until then
 * is freed here; the caller frees the half-made result.
 */
#include "heff.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "mem.h"
#include "pool.h"

struct product {
	const struct block *env;
	int theta;		/* block of the input */
	int nr_users;		/* terms that read it */
	atomic_int users;	/* those that have not yet */
};

struct term {
	int product;		/* -1: the input's block itself */
	int theta;
	const struct block *env;	/* right; NULL: unit */
	double c;
};

struct heff {
	struct mem *mem;
	struct pool *pool;
	struct product *products;
	struct tensor made;	/* what each product is */
	struct term *terms;
	int *first_term;	/* of each block of the result, and the end */
	int nr_products, nr_terms, nr_blocks;
	const struct tensor *in;	/* during heff_apply() */
	struct tensor *out;
};

/* What the plan is made from. */
struct sources {
	const struct bond *left_bond, *right_bond;
	const struct env *left, *right;
	const struct tensor *shape;
	struct mpo_pair pairs[MPO_PAIRS_MAX];
	int nr_pairs;
	int *product_of;	/* [theta][w1]: number of the product, or -1 */
};

static int plan_product(struct heff *h, const struct sources *src, int l,
			int w, int theta)
{
	int *nr = &src->product_of[theta * MPO_STATES + w];
	struct product *p;

	if (*nr < 0) {
		*nr = h->nr_products++;
		p = &h->products[*nr];
		p->env = env_block(src->left, l, w);
		p->theta = theta;
		h->made.blocks[*nr].rows = p->env->rows;
		h->made.blocks[*nr].cols = src->shape->blocks[theta].cols;
	}
	h->products[*nr].nr_users++;
	return *nr;
}

/* Add the term that @pair gives the block with these outer charges, if any. */
static void plan_term(struct heff *h, const struct sources *src,
		      const struct mpo_pair *pair, int left_charge,
		      int right_charge)
{
	const bool left_unit = pair->left == src->left->unit;
	const bool right_unit = pair->right == src->right->unit;
	const int l = bond_find(src->left_bond,
				left_charge - mpo_charge[pair->left]);
	const int r = bond_find(src->right_bond,
				right_charge - mpo_charge[pair->right]);
	struct term *t = &h->terms[h->nr_terms];

	if (l < 0 || r < 0)
		return;
	if (!left_unit && !env_block(src->left, l, pair->left)->rows)
		return;
	if (!right_unit && !env_block(src->right, r, pair->right)->rows)
		return;
	t->theta = pair_index(l, pair->in[0], pair->in[1]);
	t->c = pair->c;
	t->env = right_unit ? NULL : env_block(src->right, r, pair->right);
	t->product = left_unit ? -1 :
		     plan_product(h, src, l, pair->left, t->theta);
	h->nr_terms++;
}

static void plan_block(struct heff *h, const struct sources *src, int block)
{
	const int s1 = block / SPINS % SPINS, s2 = block % SPINS;
	const int sector = block / (SPINS * SPINS);
	const int left = src->left_bond->sectors[sector].charge;
	const int right = left + spin_charge[s1] + spin_charge[s2];
	const struct mpo_pair *pair;
	int i;

	if (!src->shape->blocks[block].rows)
		return;
	for (i = 0; i < src->nr_pairs; i++) {
		pair = &src->pairs[i];
		if (pair->out[0] == s1 && pair->out[1] == s2)
			plan_term(h, src, pair, left, right);
	}
}

static int plan(struct heff *h, struct sources *src)
{
	const size_t nr = (size_t)h->nr_blocks;
	size_t i;
	int err;

	src->nr_pairs = mpo_make_pairs(src->pairs);
	h->products = calloc(nr * MPO_STATES, sizeof(*h->products));
	h->terms = calloc(nr * (size_t)src->nr_pairs, sizeof(*h->terms));
	h->first_term = calloc(nr + 1, sizeof(*h->first_term));
	src->product_of = malloc(nr * MPO_STATES * sizeof(int));
	if (!h->products || !h->terms || !h->first_term || !src->product_of)
		return -ENOMEM;
	err = tensor_init(&h->made, h->mem, nr * MPO_STATES);
	if (err)
		return err;
	for (i = 0; i < nr * MPO_STATES; i++)
		src->product_of[i] = -1;
	for (i = 0; i < nr; i++) {
		plan_block(h, src, (int)i);
		h->first_term[i + 1] = h->nr_terms;
	}
	h->made.nr = h->nr_products;
	return 0;
}

int heff_create(struct heff **out, const struct mps *psi, int i,
		const struct env *left, const struct env *right,
		const struct tensor *shape, struct pool *pool)
{
	struct sources src = {
		.left_bond = psi->bonds[i], .right_bond = psi->bonds[i + 2],
		.left = left, .right = right, .shape = shape,
	};
	struct heff *h;
	int err;

	h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->mem = psi->mem;
	h->pool = pool;
	h->nr_blocks = shape->nr;
	err = plan(h, &src);
	free(src.product_of);
	if (err) {
		heff_destroy(h);
		return err;
	}
	*out = h;
	return 0;
}

void heff_destroy(struct heff *h)
{
	if (!h)
		return;
	tensor_free(&h->made);
	free(h->first_term);
	free(h->terms);
	free(h->products);
	free(h);
}

static int product_task(void *arg, int i)
{
	struct heff *h = arg;
	struct product *p = &h->products[i];
	struct block *out = &h->made.blocks[i];
	int err;

	err = block_ready(h->mem, out);
	if (err)
		return err;
	atomic_store_explicit(&p->users, p->nr_users, memory_order_relaxed);
	block_gemm(h->mem, 1, p->env, PLAIN, &h->in->blocks[p->theta], PLAIN,
		   0, out);
	return 0;
}

static void product_put(struct heff *h, int i)
{
	if (atomic_fetch_sub_explicit(&h->products[i].users, 1,
				      memory_order_acq_rel) == 1)
		tensor_drop(&h->made, &h->made.blocks[i]);
}

static void add_term(struct heff *h, const struct term *t, struct block *out)
{
	const struct block *in;

	if (t->product < 0)
		in = &h->in->blocks[t->theta];
	else
		in = &h->made.blocks[t->product];
	if (t->env)
		block_gemm(h->mem, t->c, in, PLAIN, t->env, PLAIN, 1, out);
	else
		block_axpy(h->mem, t->c, in, out);
}

static int result_task(void *arg, int i)
{
	struct heff *h = arg;
	struct block *out = &h->out->blocks[i];
	const struct term *t;
	int err;

	if (!out->rows)
		return 0;
	err = block_ready_zero(h->mem, out);
	if (err)
		return err;
	for (t = &h->terms[h->first_term[i]];
	     t < &h->terms[h->first_term[i + 1]]; t++) {
		add_term(h, t, out);
		if (t->product >= 0)
			product_put(h, t->product);
	}
	return 0;
}

int heff_apply(struct heff *h, const struct tensor *in, struct tensor *out)
{
	int err;

	h->in = in;
	h->out = out;
	err = tensor_pack(&h->made);
	if (!err)
		err = pool_run(h->pool, product_task, h, h->nr_products);
	if (!err)
		err = tensor_pack(out);
	if (!err)
		err = pool_run(h->pool, result_task, h, h->nr_blocks);
	tensor_release(&h->made);
	return err;
}
