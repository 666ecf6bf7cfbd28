// SPDX-License-Identifier: BSD-2-Clause
/*
 * env.c - environments: what the rest of the chain does to a bond
 *
 * Concepts. To optimise two sites, the state (ket), H and the state again
 * (bra) are contracted over all other sites, once: a *left environment* stands
 * for everything left of a bond, a *right environment* for everything right of
 * it. Each has three legs, ket, operator and bra. One site further, it is
 *
 *	L'[w'] = sum over W[w][w'] of  c * A(out)^T L[w] A(in)
 *	R'[w]  = sum over W[w][w'] of  c * B(in) R[w'] B(out)^T
 *
 * with the blocks of the site's tensor that the spins of the element choose.
 *
 * Unit blocks. Sites left of the pair in work are isometries (A^T A = 1), and
 * those on the right too (B B^T = 1), so the operator state START of a left
 * and DONE of a right environment is the identity. It is neither stored nor
 * multiplied with; this halves the work.
 *
 * Each block of the result is one task. Its temporary products live and die
 * within the task; the environment lives until the sweep comes back.
 */
#include "env.h"

#include "pool.h"

/* One site further: @from on the bond @near becomes @to on the bond @far. */
struct step {
	const struct env *from;
	struct env *to;
	const struct tensor *site;
	const struct bond *near, *far;
	struct mem *mem;
};

/* The edge of the chain: one state, and the operator state @unit only. */
int env_edge(struct env *env, struct mem *mem, int unit)
{
	env->unit = unit;
	return tensor_init(&env->t, mem, MPO_STATES);
}

void env_free(struct env *env)
{
	tensor_free(&env->t);
}

/* out += c * A(bra)^T L A(ket); @env NULL for a unit L. */
static int add_left(const struct step *st, double c, const struct block *env,
		    const struct block *bra, const struct block *ket,
		    struct block *out)
{
	struct block tmp;
	int err;

	if (!env) {
		block_gemm(st->mem, c, bra, TRANSPOSED, ket, PLAIN, 1, out);
		return 0;
	}
	tmp = (struct block){ .rows = env->rows, .cols = ket->cols };
	err = block_alloc(st->mem, &tmp);
	if (err)
		return err;
	block_gemm(st->mem, c, env, PLAIN, ket, PLAIN, 0, &tmp);
	block_gemm(st->mem, 1, bra, TRANSPOSED, &tmp, PLAIN, 1, out);
	block_free(st->mem, &tmp);
	return 0;
}

/* out += c * B(ket) R B(bra)^T; @env NULL for a unit R. */
static int add_right(const struct step *st, double c, const struct block *env,
		     const struct block *bra, const struct block *ket,
		     struct block *out)
{
	struct block tmp;
	int err;

	if (!env) {
		block_gemm(st->mem, c, ket, PLAIN, bra, TRANSPOSED, 1, out);
		return 0;
	}
	tmp = (struct block){ .rows = ket->rows, .cols = env->cols };
	err = block_alloc(st->mem, &tmp);
	if (err)
		return err;
	block_gemm(st->mem, c, ket, PLAIN, env, PLAIN, 0, &tmp);
	block_gemm(st->mem, 1, &tmp, PLAIN, bra, TRANSPOSED, 1, out);
	block_free(st->mem, &tmp);
	return 0;
}

static int left_task(void *arg, int index)
{
	const struct step *st = arg;
	struct block *out = &st->to->t.blocks[index];
	const int w = index % MPO_STATES;
	const int charge = st->far->sectors[index / MPO_STATES].charge;
	const struct mpo_elem *e;
	const struct block *env;
	int i, ket, bra, err;

	if (!out->rows)
		return 0;
	err = block_ready_zero(st->mem, out);
	for (i = 0; !err && i < MPO_ELEMS; i++) {
		e = &mpo_elems[i];
		if (e->right != w)
			continue;
		ket = bond_find(st->near, charge - spin_charge[e->in]);
		bra = bond_find(st->near, charge + mpo_charge[w] -
					  spin_charge[e->out]);
		if (ket < 0 || bra < 0)
			continue;
		env = env_block(st->from, ket, e->left);
		if (e->left == st->from->unit)
			env = NULL;
		else if (!env->rows)
			continue;
		err = add_left(st, e->c, env,
			       &st->site->blocks[bra * SPINS + e->out],
			       &st->site->blocks[ket * SPINS + e->in], out);
	}
	return err;
}

static int right_task(void *arg, int index)
{
	const struct step *st = arg;
	struct block *out = &st->to->t.blocks[index];
	const int w = index % MPO_STATES, ket = index / MPO_STATES;
	const int charge = st->far->sectors[ket].charge;
	const int bra = bond_find(st->far, charge + mpo_charge[w]);
	const struct mpo_elem *e;
	const struct block *env;
	int i, r, err;

	if (!out->rows)
		return 0;
	err = block_ready_zero(st->mem, out);
	for (i = 0; !err && i < MPO_ELEMS; i++) {
		e = &mpo_elems[i];
		if (e->left != w)
			continue;
		r = bond_find(st->near, charge + spin_charge[e->in]);
		if (r < 0 || bond_find(st->near, charge + mpo_charge[w] +
						 spin_charge[e->out]) < 0)
			continue;
		env = env_block(st->from, r, e->right);
		if (e->right == st->from->unit)
			env = NULL;
		else if (!env->rows)
			continue;
		err = add_right(st, e->c, env,
				&st->site->blocks[bra * SPINS + e->out],
				&st->site->blocks[ket * SPINS + e->in], out);
	}
	return err;
}

static int env_grow(struct step *st, bool left, struct pool *pool)
{
	const struct bond *far = st->far;
	struct block *b;
	int k, w, bra, err;

	st->to->unit = st->from->unit;
	err = tensor_init(&st->to->t, st->mem, (size_t)far->nr * MPO_STATES);
	if (err)
		return err;
	for (k = 0; k < far->nr; k++) {
		for (w = 0; w < MPO_STATES; w++) {
			bra = bond_find(far, far->sectors[k].charge +
					     mpo_charge[w]);
			if (w == st->to->unit || bra < 0)
				continue;
			b = &st->to->t.blocks[k * MPO_STATES + w];
			b->rows = far->sectors[left ? bra : k].dim;
			b->cols = far->sectors[left ? k : bra].dim;
		}
	}
	err = tensor_pack(&st->to->t);
	if (!err)
		err = pool_run(pool, left ? left_task : right_task, st,
			       st->to->t.nr);
	if (err)
		env_free(st->to);
	return err;
}

/* From bond @i, over site @i, to bond @i + 1. */
int env_grow_left(struct env *next, const struct env *env,
		  const struct mps *psi, int i, struct pool *pool)
{
	struct step st = {
		.from = env, .to = next, .site = &psi->site[i],
		.near = psi->bonds[i], .far = psi->bonds[i + 1],
		.mem = psi->mem,
	};

	return env_grow(&st, true, pool);
}

/* From bond @i + 1, over site @i, to bond @i. */
int env_grow_right(struct env *next, const struct env *env,
		   const struct mps *psi, int i, struct pool *pool)
{
	struct step st = {
		.from = env, .to = next, .site = &psi->site[i],
		.near = psi->bonds[i + 1], .far = psi->bonds[i],
		.mem = psi->mem,
	};

	return env_grow(&st, false, pool);
}
