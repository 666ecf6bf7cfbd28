// SPDX-License-Identifier: BSD-2-Clause
/*
 * mpo.c - the Hamiltonian as a matrix product operator
 *
 *	H = sum over i of  S+(i) S-(i+1) / 2 + S-(i) S+(i+1) / 2
 *	                 + Sz(i) Sz(i+1)
 *
 * is written by a machine that walks along the chain and is in one of five
 * states on each bond. It starts in START, applies the first operator of a
 * term on some site, remembers which one on the next bond, applies the second,
 * and stays in DONE. The sum over all its walks is H:
 *
 *	        START   S+    S-     Sz     DONE
 *	START     1     S+    S-     Sz      .
 *	S+        .     .     .      .     S-/2
 *	S-        .     .     .      .     S+/2
 *	Sz        .     .     .      .      Sz
 *	DONE      .     .     .      .       1
 *
 * Charge. Each state has the charge that the operators left of its bond added
 * to the state below them: +2 after S+, -2 after S-, in units of S^z = 1/2. So
 * W conserves charge like every other tensor, and each of its blocks is one
 * number: it scales a block, and moves it to another place in the table.
 */
#include "mpo.h"

enum { UP, DOWN };
enum { START = MPO_START, RAISED, LOWERED, Z, DONE = MPO_DONE };

const int spin_charge[SPINS] = { [UP] = 1, [DOWN] = -1 };
const int mpo_charge[MPO_STATES] = { [RAISED] = 2, [LOWERED] = -2 };

const struct mpo_elem mpo_elems[MPO_ELEMS] = {
	/* left, right, out, in, c */
	{ START, START, UP, UP, 1 },
	{ START, START, DOWN, DOWN, 1 },
	{ START, RAISED, UP, DOWN, 1 },
	{ START, LOWERED, DOWN, UP, 1 },
	{ START, Z, UP, UP, 0.5 },
	{ START, Z, DOWN, DOWN, -0.5 },
	{ RAISED, DONE, DOWN, UP, 0.5 },
	{ LOWERED, DONE, UP, DOWN, 0.5 },
	{ Z, DONE, UP, UP, 0.5 },
	{ Z, DONE, DOWN, DOWN, -0.5 },
	{ DONE, DONE, UP, UP, 1 },
	{ DONE, DONE, DOWN, DOWN, 1 },
};

/* The sum over the bond between both sites; no two walks give equal labels. */
int mpo_make_pairs(struct mpo_pair pairs[MPO_PAIRS_MAX])
{
	const struct mpo_elem *a, *b;
	int i, j, nr = 0;

	for (i = 0; i < MPO_ELEMS; i++) {
		for (j = 0; j < MPO_ELEMS; j++) {
			a = &mpo_elems[i];
			b = &mpo_elems[j];
			if (a->right != b->left)
				continue;
			pairs[nr++] = (struct mpo_pair){
				.left = a->left,
				.right = b->right,
				.out = { a->out, b->out },
				.in = { a->in, b->in },
				.c = a->c * b->c,
			};
		}
	}
	return nr;
}
