// SPDX-License-Identifier: BSD-2-Clause
/*
 * main.c - MPI ranks that write into each other's memory.
 *
 *	mpirun -n 2 samples/mpi/mpi [SPEC]
 *
 * SPEC is "host", the default, or "cuda:N". Open MPI is neither told of the
 * device nor needs to be: what crosses from rank to rank there goes through
 * memory that both have mapped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks.h"

void give_up(const char *what)
{
	const char *why = slabdev_last_error();
	int rank = -1;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	fprintf(stderr, "mpi: rank %d: %s%s%s\n", rank, what,
		*why ? ": " : "", why);
	MPI_Abort(MPI_COMM_WORLD, 1);
	exit(1);
}

int main(int argc, char **argv)
{
	struct memory memory;
	int rank, ranks;

	if (MPI_Init(&argc, &argv))
		return 1;
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	memory_open(&memory, argc > 1 ? argv[1] : "host");
	halo_run(&memory, 64);
	message_run(&memory);
	memory_close(&memory);
	if (!rank)
		printf("%d ranks, all is right\n", ranks);
	MPI_Finalize();
	return 0;
}
