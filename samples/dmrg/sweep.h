/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sweep.h - the optimisation: there and back along the chain
 */
#ifndef DMRG_SWEEP_H
#define DMRG_SWEEP_H

struct dmrg;
struct mem;
struct pool;

struct sweep_result {
	double energy;		/* the lowest of the sweep */
	double lost;		/* the largest truncation error */
	int dim;		/* the largest bond */
};

/* Told after each pair of sites: how many are done, and the energy now. */
typedef void (*sweep_progress_fn)(void *arg, int done, int nr_pairs,
				  double energy);

int dmrg_create(struct dmrg **d, struct mem *mem, struct pool *pool, int sites,
		int max_dim);
void dmrg_destroy(struct dmrg *d);
void dmrg_set_progress(struct dmrg *d, sweep_progress_fn fn, void *arg);
int dmrg_sweep(struct dmrg *d, struct sweep_result *result);

#endif
