/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mpo.h - the Hamiltonian, as one small tensor that repeats on every site
 */
#ifndef DMRG_MPO_H
#define DMRG_MPO_H

#define SPINS 2			/* states of a site */
#define MPO_STATES 5		/* states of the bond between two sites' W */
#define MPO_START 0		/* nothing of H applied yet, to the left */
#define MPO_DONE (MPO_STATES - 1)	/* a whole term of H applied */

extern const int spin_charge[SPINS];	/* 2 S^z of up and of down */
extern const int mpo_charge[MPO_STATES];

/* W[left][right] maps spin @in to spin @out with factor @c. */
struct mpo_elem {
	int left, right;
	int out, in;
	double c;
};

/* The same for the product of two neighbouring W. */
struct mpo_pair {
	int left, right;
	int out[2], in[2];
	double c;
};

#define MPO_ELEMS 12
#define MPO_PAIRS_MAX (MPO_ELEMS * MPO_ELEMS)

extern const struct mpo_elem mpo_elems[MPO_ELEMS];

int mpo_make_pairs(struct mpo_pair pairs[MPO_PAIRS_MAX]);

#endif
