// SPDX-License-Identifier: BSD-2-Clause
/*
 * sweep.c - the optimisation: there and back along the chain
 *
 * The density-matrix renormalisation group minimises the energy two sites at a
 * time. For each pair: multiply the two sites, find the lowest state of the
 * effective Hamiltonian that the environments on both sides give, split it
 * again, and carry the environment one site further. A sweep visits all pairs
 * left to right and back.
 *
 * Invariant between pairs: sites left of the current one are left isometries,
 * those right of it right isometries, and envs[b] is the environment of what
 * lies outside the current site as seen from bond b: left ones up to it, right
 * ones after it. So each bond needs one environment only, and the new one takes
 * the place of the one that has just become useless.
 *
 * A sweep that runs out of memory can be undone, if the state was kept that it
 * began with. Keeping it takes no memory but for what the sweep replaces: its
 * tensors have two owners then (pack.c).
 *
 * Every energy is the expectation value of H in a state that was held, so each
 * is an upper bound, and the lowest of a sweep is the best.
 */
#include "sweep.h"

#include <errno.h>
#include <float.h>
#include <stdlib.h>

#include "env.h"
#include "heff.h"
#include "lanczos.h"
#include "split.h"

struct dmrg {
	struct mem *mem;
	struct pool *pool;
	struct mps psi;
	struct mps kept;	/* to go back to, or without sites */
	struct env *envs;	/* a bond, sites + 1 */
	int max_dim;
	double energy;		/* of the last pair */
	sweep_progress_fn progress;
	void *progress_arg;
};

static void dmrg_free_envs(struct dmrg *d)
{
	int i;

	for (i = 0; i <= d->psi.sites; i++)
		env_free(&d->envs[i]);
}

/* Those of the pair at the left end, with which a sweep begins. */
static int dmrg_make_envs(struct dmrg *d)
{
	const int sites = d->psi.sites;
	int i, err;

	err = env_edge(&d->envs[0], d->mem, MPO_START);
	if (!err)
		err = env_edge(&d->envs[sites], d->mem, MPO_DONE);
	for (i = sites - 1; !err && i >= 2; i--)
		err = env_grow_right(&d->envs[i], &d->envs[i + 1], &d->psi, i,
				     d->pool);
	if (err)
		dmrg_free_envs(d);
	return err;
}

int dmrg_create(struct dmrg **out, struct mem *mem, struct pool *pool,
		int sites, int max_dim)
{
	struct dmrg *d;
	int err;

	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->mem = mem;
	d->pool = pool;
	d->max_dim = max_dim;
	err = mps_create_neel(&d->psi, mem, sites);
	if (err)
		goto free_dmrg;
	err = -ENOMEM;
	d->envs = calloc((size_t)sites + 1, sizeof(*d->envs));
	if (!d->envs)
		goto free_psi;
	err = dmrg_make_envs(d);
	if (err)
		goto free_envs;
	*out = d;
	return 0;

free_envs:
	free(d->envs);
free_psi:
	mps_free(&d->psi);
free_dmrg:
	free(d);
	return err;
}

void dmrg_destroy(struct dmrg *d)
{
	if (!d)
		return;
	dmrg_free_envs(d);
	free(d->envs);
	mps_free(&d->psi);
	mps_free(&d->kept);
	free(d);
}

void dmrg_set_max_dim(struct dmrg *d, int max_dim)
{
	d->max_dim = max_dim;
}

int dmrg_keep(struct dmrg *d)
{
	return mps_share(&d->kept, &d->psi);
}

void dmrg_drop(struct dmrg *d)
{
	mps_free(&d->kept);
	d->kept.sites = 0;
}

/* The environments go first: they are most of the memory. */
int dmrg_undo(struct dmrg *d)
{
	dmrg_free_envs(d);
	mps_free(&d->psi);
	d->psi = d->kept;
	d->kept = (struct mps){ 0 };
	return dmrg_make_envs(d);
}

void dmrg_set_progress(struct dmrg *d, sweep_progress_fn fn, void *arg)
{
	d->progress = fn;
	d->progress_arg = arg;
}

/* The lowest state of sites i and i + 1, all else fixed. */
static int pair_optimise(struct dmrg *d, int i, struct tensor *theta)
{
	struct heff *h;
	int err;

	err = mps_pair(&d->psi, i, theta);
	if (err)
		return err;
	err = heff_create(&h, &d->psi, i, &d->envs[i], &d->envs[i + 2], theta,
			  d->pool);
	if (err)
		return err;
	err = lanczos_ground(h, theta, &d->energy);
	heff_destroy(h);
	return err;
}

/* The environment of bond i + 1, from the site that was left behind. */
static int pair_carry(struct dmrg *d, int i, enum direction dir)
{
	struct env *env = &d->envs[i + 1];

	env_free(env);
	if (dir == TO_RIGHT)
		return env_grow_left(env, &d->envs[i], &d->psi, i, d->pool);
	return env_grow_right(env, &d->envs[i + 2], &d->psi, i + 1, d->pool);
}

static int pair_update(struct dmrg *d, int i, enum direction dir,
		       struct sweep_result *r)
{
	struct tensor theta;
	double lost;
	int err;

	err = pair_shape(&theta, d->mem, d->psi.bonds[i], d->psi.bonds[i + 2]);
	if (err)
		return err;
	err = pair_optimise(d, i, &theta);
	if (!err)
		err = split_pair(&d->psi, i, &theta, d->max_dim, dir, d->pool,
				 &lost);
	tensor_free(&theta);
	if (err)
		return err;
	if (d->energy < r->energy)
		r->energy = d->energy;
	if (lost > r->lost)
		r->lost = lost;
	return pair_carry(d, i, dir);
}

int dmrg_sweep(struct dmrg *d, struct sweep_result *r)
{
	const int pairs = d->psi.sites - 1, nr = 2 * pairs - 1;
	enum direction dir;
	int i, err;

	r->energy = DBL_MAX;
	r->lost = 0;
	for (i = 0; i < nr; i++) {
		dir = i < pairs - 1 ? TO_RIGHT : TO_LEFT;
		err = pair_update(d, dir == TO_RIGHT ? i : nr - 1 - i, dir, r);
		if (err)
			return err;
		if (d->progress)
			d->progress(d->progress_arg, i + 1, nr, d->energy);
	}
	r->dim = mps_max_dim(&d->psi);
	return 0;
}
