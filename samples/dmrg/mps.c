// SPDX-License-Identifier: BSD-2-Clause
/*
 * mps.c - the state of the chain as a matrix product
 *
 * Concepts. The amplitude of a spin configuration is a product of matrices,
 * one a site, chosen by the site's spin. Where two sites meet is a *bond*; the
 * length of the matrices there is its dimension, and what can be entangled
 * across it. The total S^z is conserved, so each state of a bond has a charge:
 * 2 S^z of everything to its left. Bonds are lists of *sectors*, and matrices
 * split into blocks that lead from one sector to another.
 *
 * Boundaries. Left of the first site is one state of charge 0, right of the
 * last one state of the total charge: 0, or 1 for an odd number of sites. That
 * fixes the total of every state that can be written.
 *
 * Start. The Neel state, up down up down: every bond has one state. Bonds grow
 * as sweep.c joins two sites and splits them again.
 */
#include "mps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"

struct bond *bond_create(int nr)
{
	struct bond *bond;

	bond = calloc(1, sizeof(*bond) +
			 (size_t)nr * sizeof(bond->sectors[0]));
	if (bond)
		bond->nr = nr;
	return bond;
}

/* Return: the number of the sector with @charge, or -1. */
int bond_find(const struct bond *bond, int charge)
{
	int i;

	for (i = 0; i < bond->nr; i++)
		if (bond->sectors[i].charge == charge)
			return i;
	return -1;
}

int bond_dim(const struct bond *bond)
{
	int i, dim = 0;

	for (i = 0; i < bond->nr; i++)
		dim += bond->sectors[i].dim;
	return dim;
}

int mps_max_dim(const struct mps *psi)
{
	int i, dim, max = 0;

	for (i = 0; i <= psi->sites; i++) {
		dim = bond_dim(psi->bonds[i]);
		if (dim > max)
			max = dim;
	}
	return max;
}

static void block_shape(struct block *b, const struct sector *left,
			const struct bond *right, int charge)
{
	int r = bond_find(right, charge);

	if (r < 0)
		return;
	b->rows = left->dim;
	b->cols = right->sectors[r].dim;
}

/* The table of a site tensor: shapes, no memory yet. */
int site_shape(struct tensor *site, struct mem *mem, const struct bond *left,
	       const struct bond *right)
{
	const struct sector *sec;
	int l, s, err;

	err = tensor_init(site, mem, (size_t)left->nr * SPINS);
	if (err)
		return err;
	for (l = 0; l < left->nr; l++) {
		sec = &left->sectors[l];
		for (s = 0; s < SPINS; s++)
			block_shape(&site->blocks[l * SPINS + s], sec, right,
				    sec->charge + spin_charge[s]);
	}
	return 0;
}

/* The same for the wave function of two sites. */
int pair_shape(struct tensor *theta, struct mem *mem, const struct bond *left,
	       const struct bond *right)
{
	const struct sector *sec;
	int l, s1, s2, err;

	err = tensor_init(theta, mem, (size_t)left->nr * SPINS * SPINS);
	if (err)
		return err;
	for (l = 0; l < left->nr; l++) {
		sec = &left->sectors[l];
		for (s1 = 0; s1 < SPINS; s1++)
			for (s2 = 0; s2 < SPINS; s2++)
				block_shape(&theta->blocks[pair_index(l, s1,
								      s2)],
					    sec, right, sec->charge +
					    spin_charge[s1] + spin_charge[s2]);
	}
	return 0;
}

/* Multiply sites i and i + 1 into a table made by pair_shape(). */
int mps_pair(const struct mps *psi, int i, struct tensor *theta)
{
	const struct bond *left = psi->bonds[i], *mid = psi->bonds[i + 1];
	const struct block *a, *b;
	int l, m, s1, s2, err;

	err = tensor_alloc(theta);
	if (err)
		return err;
	for (l = 0; l < left->nr; l++) {
		for (s1 = 0; s1 < SPINS; s1++) {
			m = bond_find(mid, left->sectors[l].charge +
					   spin_charge[s1]);
			if (m < 0)
				continue;
			a = &psi->site[i].blocks[l * SPINS + s1];
			for (s2 = 0; s2 < SPINS; s2++) {
				b = &psi->site[i + 1].blocks[m * SPINS + s2];
				if (b->rows)
					block_gemm(psi->mem, 1, a, PLAIN, b,
						   PLAIN, 0, &theta->blocks[
						   pair_index(l, s1, s2)]);
			}
		}
	}
	return 0;
}

static int neel_site(struct mps *psi, int i)
{
	struct tensor *site = &psi->site[i];
	const double one = 1;
	int b, err;

	err = site_shape(site, psi->mem, psi->bonds[i], psi->bonds[i + 1]);
	if (err)
		return err;
	err = tensor_alloc_shared(site);
	if (err)
		return err;
	for (b = 0; b < site->nr; b++)
		if (site->blocks[b].rows)
			mem_device(psi->mem)->write(site->blocks[b].data,
						    &one, sizeof(one));
	return 0;
}

/* The tables: bonds and sites are to be filled in. */
static int mps_init(struct mps *psi, struct mem *mem, int sites)
{
	*psi = (struct mps){ .mem = mem, .sites = sites };
	psi->bonds = calloc((size_t)sites + 1, sizeof(struct bond *));
	psi->site = calloc((size_t)sites, sizeof(*psi->site));
	if (psi->bonds && psi->site)
		return 0;
	mps_free(psi);
	return -ENOMEM;
}

int mps_create_neel(struct mps *psi, struct mem *mem, int sites)
{
	int i, err;

	err = mps_init(psi, mem, sites);
	if (err)
		return err;
	for (i = 0; !err && i <= sites; i++) {
		psi->bonds[i] = bond_create(1);
		if (psi->bonds[i])
			psi->bonds[i]->sectors[0] = (struct sector){ i % 2, 1 };
		else
			err = -ENOMEM;
	}
	for (i = 0; !err && i < sites; i++)
		err = neel_site(psi, i);
	if (err)
		mps_free(psi);
	return err;
}

static struct bond *bond_copy(const struct bond *from)
{
	struct bond *bond = bond_create(from->nr);

	if (bond)
		memcpy(bond->sectors, from->sectors,
		       (size_t)from->nr * sizeof(bond->sectors[0]));
	return bond;
}

/* The same state once more; the solver replaces tensors, and changes none. */
int mps_share(struct mps *to, const struct mps *from)
{
	int i, err;

	err = mps_init(to, from->mem, from->sites);
	if (err)
		return err;
	for (i = 0; !err && i <= to->sites; i++) {
		to->bonds[i] = bond_copy(from->bonds[i]);
		if (!to->bonds[i])
			err = -ENOMEM;
	}
	for (i = 0; !err && i < to->sites; i++)
		err = tensor_share(&to->site[i], &from->site[i]);
	if (err)
		mps_free(to);
	return err;
}

void mps_free(struct mps *psi)
{
	int i;

	for (i = 0; psi->site && i < psi->sites; i++)
		tensor_free(&psi->site[i]);
	for (i = 0; psi->bonds && i <= psi->sites; i++)
		free(psi->bonds[i]);
	free(psi->site);
	free(psi->bonds);
	psi->site = NULL;
	psi->bonds = NULL;
}
