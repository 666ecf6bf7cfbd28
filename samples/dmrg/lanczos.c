// SPDX-License-Identifier: BSD-2-Clause
/*
 * lanczos.c - the lowest eigenvector of an effective Hamiltonian
 *
 * A few Lanczos steps from the wave function that the last pair left behind.
 * In the space spanned by theta, H theta, H H theta, ... H is a tridiagonal
 * matrix whose lowest eigenvector gives the best combination. A few steps are
 * enough: the sweep comes back to every pair, and the guess gets better.
 *
 * New vectors are orthogonalised against all earlier ones, not only the last
 * two: with so few of them that is cheap, and rounding cannot bring an old
 * direction back. The steps end early when the residual, which is known
 * without computing it (beta times the last component), is small; the error of
 * the energy is of the order of its square.
 */
#include "lanczos.h"

#include <errno.h>
#include <string.h>

#include "blas.h"
#include "heff.h"

#define STEPS_MAX 6
#define RESIDUAL_SMALL 1e-8
#define BETA_ZERO 1e-13		/* the space is exhausted */

struct krylov {
	struct tensor v[STEPS_MAX];	/* v[0] is borrowed from the caller */
	int nr;
	double alpha[STEPS_MAX], beta[STEPS_MAX];
	double value, vector[STEPS_MAX];	/* the lowest pair */
};

/* Lowest eigenpair of the tridiagonal matrix of the steps so far. */
static int krylov_solve(struct krylov *k)
{
	double d[STEPS_MAX], e[STEPS_MAX], z[STEPS_MAX * STEPS_MAX];
	double work[2 * STEPS_MAX];
	int info;

	memcpy(d, k->alpha, sizeof(d));
	memcpy(e, k->beta, sizeof(e));
	dstev_("V", &k->nr, d, e, z, &k->nr, work, &info, 1);
	if (info)
		return -EDOM;
	k->value = d[0];
	memcpy(k->vector, z, (size_t)k->nr * sizeof(double));
	return 0;
}

/* w = H v[last], made orthogonal to all vectors; beta is what remains. */
static int krylov_step(struct krylov *k, struct heff *h, struct tensor *w)
{
	const int last = k->nr++;
	double overlap;
	int i, err;

	err = heff_apply(h, &k->v[last], w);
	if (err)
		return err;
	for (i = last; i >= 0; i--) {
		overlap = tensor_dot(&k->v[i], w);
		tensor_axpy(-overlap, &k->v[i], w);
		if (i == last)
			k->alpha[last] = overlap;
	}
	/* Once more: the first pass leaves an error of eps |H| in each. */
	for (i = last; i >= 0; i--)
		tensor_axpy(-tensor_dot(&k->v[i], w), &k->v[i], w);
	k->beta[last] = tensor_norm(w);
	return krylov_solve(k);
}

static bool krylov_done(const struct krylov *k)
{
	const double beta = k->beta[k->nr - 1];
	const double last = k->vector[k->nr - 1];

	return k->nr == STEPS_MAX || beta < BETA_ZERO ||
	       (beta * last < RESIDUAL_SMALL && beta * last > -RESIDUAL_SMALL);
}

/* The caller's vector becomes the combination that the eigenvector says. */
static void krylov_combine(struct krylov *k)
{
	int i;

	tensor_scale(k->vector[0], &k->v[0]);
	for (i = 1; i < k->nr; i++)
		tensor_axpy(k->vector[i], &k->v[i], &k->v[0]);
	tensor_scale(1 / tensor_norm(&k->v[0]), &k->v[0]);
}

int lanczos_ground(struct heff *h, struct tensor *theta, double *energy)
{
	struct krylov k = { .v = { *theta } };
	struct tensor w = { 0 };
	int i, err;

	tensor_scale(1 / tensor_norm(theta), theta);
	for (;;) {
		err = tensor_init_like(&w, theta);
		if (!err)
			err = krylov_step(&k, h, &w);
		if (err || krylov_done(&k))
			break;
		tensor_scale(1 / k.beta[k.nr - 1], &w);
		k.v[k.nr] = w;
		w = (struct tensor){ 0 };
	}
	if (!err) {
		krylov_combine(&k);
		*energy = k.value;
	}
	tensor_free(&w);
	for (i = 1; i < STEPS_MAX; i++)
		tensor_free(&k.v[i]);
	return err;
}
