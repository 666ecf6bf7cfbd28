// SPDX-License-Identifier: BSD-2-Clause
/*
 * halo.c - heat that spreads in a ring of cells, a piece of which each rank
 * has, with a cell of each neighbour at either end.
 *
 *	cell	0  1 2 3 ... CELLS  CELLS + 1
 *		^  ^         ^      ^
 *		|  our own ones     the right neighbour's first
 *		the left neighbour's last
 *
 * After each step a rank writes its first and last cells where its neighbours
 * have their ends: into their memory, without a message. There are two fields,
 * the old and the new one, so that nobody writes what a neighbour reads. A
 * barrier says that everybody has written.
 *
 * All numbers are binary fractions that a double holds exactly, so the sum of
 * the pieces must be, bit for bit, what one process gets alone.
 */
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

#define CELLS 1000

struct fields {
	double cell[2][CELLS + 2];
};

static double start(int i)
{
	return i % 97 == 0 ? 1024 : i % 7;
}

static void step(const double *old, double *new, int n)
{
	int i;

	for (i = 1; i <= n; i++)
		new[i] = old[i] / 2 + (old[i - 1] + old[i + 1]) / 4;
}

/* ---- One rank's piece --------------------------------------------------- */

/* Our ends go where the neighbours have theirs. */
static void write_ends(const struct window *w, struct fields *f, int parity,
		       const double *cell)
{
	double *field = f->cell[parity];

	memory_put(w->memory, window_there(w, LEFT, &field[CELLS + 1]),
		   &cell[1], sizeof(double));
	memory_put(w->memory, window_there(w, RIGHT, &field[0]), &cell[CELLS],
		   sizeof(double));
	MPI_Barrier(MPI_COMM_WORLD);
}

static void run_piece(const struct window *w, struct fields *f, int steps,
		      double *cell)
{
	double old[CELLS + 2], new[CELLS + 2] = { 0 };
	const size_t bytes = CELLS * sizeof(double);
	int i, rank;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (i = 1; i <= CELLS; i++)
		new[i] = start(rank * CELLS + i - 1);
	for (i = 0; i <= steps; i++) {
		memory_put(w->memory, &f->cell[i % 2][1], &new[1], bytes);
		write_ends(w, f, i % 2, new);
		memory_get(w->memory, old, f->cell[i % 2], sizeof(old));
		if (i < steps)
			step(old, new, CELLS);
	}
	memcpy(cell, &old[1], bytes);
}

/* ---- The whole, by one -------------------------------------------------- */

static double *run_alone(int n, int steps)
{
	double *a = calloc(2 * ((size_t)n + 2), sizeof(double)), *b, *t;
	int i;

	if (!a)
		give_up("no memory");
	b = a + n + 2;
	for (i = 1; i <= n; i++)
		a[i] = start(i - 1);
	for (i = 0; i < steps; i++) {
		a[0] = a[n];
		a[n + 1] = a[1];
		step(a, b, n);
		t = a;
		a = b;
		b = t;
	}
	/* Where it began is what is to be freed. */
	if (a > b)
		memcpy(b, a, ((size_t)n + 2) * sizeof(double));
	return a > b ? b : a;
}

static void compare(const double *cell, int steps)
{
	double *all = NULL, *alone;
	int rank, ranks, n;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	n = ranks * CELLS;
	if (!rank) {
		all = calloc((size_t)n, sizeof(double));
		if (!all)
			give_up("no memory");
	}
	MPI_Gather(cell, CELLS, MPI_DOUBLE, all, CELLS, MPI_DOUBLE, 0,
		   MPI_COMM_WORLD);
	if (rank)
		return;
	alone = run_alone(n, steps);
	if (memcmp(all, alone + 1, (size_t)n * sizeof(double)))
		give_up("the pieces do not make up the whole");
	free(alone);
	free(all);
}

void halo_run(struct memory *m, int steps)
{
	double cell[CELLS];
	struct fields *f;
	struct window w;

	f = memory_alloc(m, sizeof(*f), SLABDEV_REQ_COMM);
	if (!m->pieces)
		give_up("comm memory that nobody was told of");
	window_open(&w, m, f);
	run_piece(&w, f, steps, cell);
	compare(cell, steps);
	window_close(&w);
	memory_free(m, f);
}
