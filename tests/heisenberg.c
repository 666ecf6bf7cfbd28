// SPDX-License-Identifier: BSD-2-Clause
/*
 * heisenberg.c - the Heisenberg chain solved exactly, to test against
 *
 * Written to share nothing with the solver it checks: no tensors, no LAPACK.
 * A state is a number whose bits are the spins; the Hamiltonian acts on the
 * list of all those with the right number of bits set. Lanczos with complete
 * reorthogonalisation makes a tridiagonal matrix, whose lowest eigenvalue is
 * found by bisection: a Sturm sequence counts the eigenvalues below a number.
 *
 * The ground state's amplitudes are known to have the sign of the parity of up
 * spins on odd sites (Marshall), and no zero among them. The start vector has
 * those signs, so it cannot be orthogonal to the ground state.
 */
#include "tests/heisenberg.h"

#include <math.h>
#include <stdlib.h>

#define STATES_MAX 924		/* 12 over 6 */
#define STEPS_MAX 120

struct chain {
	int sites, nr;
	unsigned int state[STATES_MAX];
	int index[1 << HEISENBERG_SITES_MAX];
	double v[STEPS_MAX + 1][STATES_MAX];
	double alpha[STEPS_MAX], beta[STEPS_MAX];
};

static void list_states(struct chain *c)
{
	unsigned int state;

	for (state = 0; state < 1u << c->sites; state++) {
		if (__builtin_popcount(state) != (c->sites + 1) / 2)
			continue;
		c->index[state] = c->nr;
		c->state[c->nr++] = state;
	}
}

static void apply_h(const struct chain *c, const double *in, double *out)
{
	unsigned int bond;
	int i, site;

	for (i = 0; i < c->nr; i++)
		out[i] = 0;
	for (i = 0; i < c->nr; i++) {
		for (site = 0; site + 1 < c->sites; site++) {
			bond = 3u << site;
			if ((c->state[i] & bond) == bond ||
			    !(c->state[i] & bond)) {
				out[i] += in[i] / 4;
			} else {
				out[i] -= in[i] / 4;
				out[c->index[c->state[i] ^ bond]] += in[i] / 2;
			}
		}
	}
}

static double dot(const struct chain *c, const double *x, const double *y)
{
	double sum = 0;
	int i;

	for (i = 0; i < c->nr; i++)
		sum += x[i] * y[i];
	return sum;
}

static void start_vector(struct chain *c)
{
	const double size = 1 / sqrt(c->nr);
	int i;

	for (i = 0; i < c->nr; i++)
		c->v[0][i] = __builtin_parity(c->state[i] & 0xaaaaaaaau) ?
			     -size : size;
}

/* Return: the number of steps, fewer when the space is exhausted. */
static int lanczos(struct chain *c)
{
	int step, i, j, pass;
	double *w, overlap;

	for (step = 0; step < STEPS_MAX && step < c->nr; step++) {
		w = c->v[step + 1];
		apply_h(c, c->v[step], w);
		c->alpha[step] = dot(c, c->v[step], w);
		for (pass = 0; pass < 2; pass++) {
			for (i = 0; i <= step; i++) {
				overlap = dot(c, c->v[i], w);
				for (j = 0; j < c->nr; j++)
					w[j] -= overlap * c->v[i][j];
			}
		}
		c->beta[step] = sqrt(dot(c, w, w));
		if (c->beta[step] < 1e-10)
			return step + 1;
		for (j = 0; j < c->nr; j++)
			w[j] /= c->beta[step];
	}
	return step;
}

/* How many eigenvalues of the tridiagonal matrix are below @x. */
static int sturm_count(const struct chain *c, int nr, double x)
{
	double d = 1, off;
	int i, below = 0;

	for (i = 0; i < nr; i++) {
		off = i ? c->beta[i - 1] * c->beta[i - 1] : 0;
		d = c->alpha[i] - x - off / d;
		if (d == 0)
			d = 1e-300;
		below += d < 0;
	}
	return below;
}

double heisenberg_energy(int sites)
{
	double low = -sites, high = sites, mid;
	struct chain *c;
	int nr;

	if (sites < 2 || sites > HEISENBERG_SITES_MAX)
		return NAN;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NAN;
	c->sites = sites;
	list_states(c);
	start_vector(c);
	nr = lanczos(c);
	while (high - low > 1e-14 * sites) {
		mid = (low + high) / 2;
		if (sturm_count(c, nr, mid) > 0)
			high = mid;
		else
			low = mid;
	}
	free(c);
	return (low + high) / 2;
}
