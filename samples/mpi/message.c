// SPDX-License-Identifier: BSD-2-Clause
/*
 * message.c - MPI's own calls on memory of a space: messages around the ring,
 * and one-sided writes into comm memory.
 *
 * To MPI, memory of "host" is memory like any other. Memory of a device it
 * takes only if it was built for that, which Debian's was not.
 */
#include <string.h>

#include "ranks.h"

#define WORDS 5000

static void neighbours(int *left, int *right)
{
	int rank, ranks;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	*left = (rank + ranks - 1) % ranks;
	*right = (rank + 1) % ranks;
}

static void expect(const int *word, int n, int first)
{
	int i;

	for (i = 0; i < n; i++)
		if (word[i] != first + i)
			give_up("a message with the wrong numbers");
}

/* Right to the neighbour, from every size of object. */
static void pass_messages(struct memory *m)
{
	int left, right, n, i, *from, *to;

	neighbours(&left, &right);
	for (n = 1; n < 1 << 20; n *= 4) {
		from = memory_alloc(m, (size_t)n * sizeof(int), 0);
		to = memory_alloc(m, (size_t)n * sizeof(int), 0);
		for (i = 0; i < n; i++)
			from[i] = right + i;
		MPI_Sendrecv(from, n, MPI_INT, right, 0, to, n, MPI_INT, left,
			     0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Comm_rank(MPI_COMM_WORLD, &i);
		expect(to, n, i);
		memory_free(m, from);
		memory_free(m, to);
	}
}

/* A window stays where it is, and so must its memory: comm memory. */
static void write_one_sided(struct memory *m)
{
	int left, right, rank, i, word[WORDS], *p;
	MPI_Win win;

	neighbours(&left, &right);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	p = memory_alloc(m, sizeof(word), SLABDEV_REQ_COMM | SLABDEV_REQ_ZERO);
	if (MPI_Win_create(p, sizeof(word), sizeof(int), MPI_INFO_NULL,
			   MPI_COMM_WORLD, &win))
		give_up("MPI_Win_create");
	for (i = 0; i < WORDS; i++)
		word[i] = 100 * right + i;
	MPI_Win_fence(0, win);
	MPI_Put(word, WORDS, MPI_INT, right, 0, WORDS, MPI_INT, win);
	MPI_Win_fence(0, win);
	expect(p, WORDS, 100 * rank);
	MPI_Win_free(&win);
	memory_free(m, p);
}

void message_run(struct memory *m)
{
	if (!m->is_host)
		return;
	pass_messages(m);
	write_one_sided(m);
}
