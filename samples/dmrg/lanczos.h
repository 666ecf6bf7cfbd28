/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lanczos.h - the lowest eigenvector of an effective Hamiltonian
 */
#ifndef DMRG_LANCZOS_H
#define DMRG_LANCZOS_H

struct heff;
struct tensor;

/* Improve @theta, which comes out with norm 1, and tell its energy. */
int lanczos_ground(struct heff *h, struct tensor *theta, double *energy);

#endif
