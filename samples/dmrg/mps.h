/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mps.h - the state: bonds, and a tensor a site
 */
#ifndef DMRG_MPS_H
#define DMRG_MPS_H

#include "mpo.h"
#include "tensor.h"

/* The states of a bond that have one charge. */
struct sector {
	int charge;		/* 2 S^z of all sites to the left */
	int dim;
};

struct bond {
	int nr;
	struct sector sectors[];	/* by rising charge */
};

/*
 * Bond i lies left of site i. Block [l * SPINS + s] of a site has the rows of
 * sector l of the bond to its left, and as columns the sector to its right
 * with charge(l) + spin_charge[s].
 */
struct mps {
	struct mem *mem;
	int sites;
	struct bond **bonds;	/* sites + 1 */
	struct tensor *site;	/* sites */
};

/* Block of a two-site wave function: sector on the left and both spins. */
static inline int pair_index(int l, int s1, int s2)
{
	return (l * SPINS + s1) * SPINS + s2;
}

struct bond *bond_create(int nr);
int bond_find(const struct bond *bond, int charge);
int bond_dim(const struct bond *bond);

int mps_create_neel(struct mps *psi, struct mem *mem, int sites);
int mps_share(struct mps *to, const struct mps *from);
void mps_free(struct mps *psi);
int mps_max_dim(const struct mps *psi);

int site_shape(struct tensor *site, struct mem *mem, const struct bond *left,
	       const struct bond *right);
int pair_shape(struct tensor *theta, struct mem *mem, const struct bond *left,
	       const struct bond *right);
int mps_pair(const struct mps *psi, int i, struct tensor *theta);

#endif
