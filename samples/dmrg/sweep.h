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
/* From the next pair on. */
void dmrg_set_max_dim(struct dmrg *d, int max_dim);

/*
 * Keep the state as it is now; after a sweep that failed, dmrg_undo() is back
 * there, and otherwise dmrg_drop() gives it up. Between sweeps only.
 */
int dmrg_keep(struct dmrg *d);
int dmrg_undo(struct dmrg *d);
void dmrg_drop(struct dmrg *d);

int dmrg_sweep(struct dmrg *d, struct sweep_result *result);

#endif
