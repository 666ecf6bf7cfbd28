// SPDX-License-Identifier: BSD-2-Clause
/*
 * main.c - a density-matrix renormalisation group solver
 *
 * The job that libslabdev was written for, small enough to read: the ground
 * state of the spin-1/2 Heisenberg chain, with every tensor block in memory of
 * the library. Read on in this order:
 *
 *	mem.c		where blocks come from
 *	tensor.c	blocks, and tables of them
 *	mps.c, mpo.c	the state, and the Hamiltonian
 *	env.c, heff.c	what the chain does to two sites
 *	lanczos.c	the lowest state of two sites
 *	split.c, svd.c	two sites apart again
 *	sweep.c		along the chain and back
 *	pool.c		threads
 *	trace.c, replay.c, report.c	what it cost
 *
 * The last sweep's calls of the allocator are recorded and replayed at the
 * end, against slabdev and against malloc. Whatever fails, everything is given
 * back on the way out: closing the space with a block alive is an error.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "blas.h"
#include "options.h"
#include "pool.h"
#include "report.h"
#include "sweep.h"
#include "trace.h"

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* One line that rewrites itself, and goes when the sweep's own line comes. */
static void progress(void *arg, int done, int nr_pairs, double energy)
{
	(void)arg;
	fprintf(stderr, "\r  pair %d of %d, energy %.10f ", done, nr_pairs,
		energy);
	if (done == nr_pairs)
		fputs("\r\033[K", stderr);
}

static int run_sweeps(struct run *run, struct dmrg *d, struct mem *mem,
		      struct trace *trace)
{
	const struct options *opt = run->opt;
	double start, before;
	int nr, err;

	for (nr = 1; nr <= opt->sweeps; nr++) {
		start = now();
		before = run->sweep.energy;
		if (nr == opt->sweeps) {
			mem_counts(mem, &run->before_last);
			mem_set_trace(mem, trace);
		}
		err = dmrg_sweep(d, &run->sweep);
		mem_set_trace(mem, NULL);
		if (err)
			return err;
		run->change = run->sweep.energy - before;
		run->seconds += now() - start;
		mem_counts(mem, &run->end);
		if (!opt->quiet)
			report_sweep(run, nr, now() - start);
	}
	return 0;
}

static int run_solver(struct run *run, struct mem *mem, struct trace *trace)
{
	const struct options *opt = run->opt;
	struct pool *pool;
	struct dmrg *d;
	int err;

	err = pool_create(&pool, opt->threads);
	if (err)
		return err;
	err = dmrg_create(&d, mem, pool, opt->sites, opt->max_dim);
	if (err)
		goto destroy_pool;
	if (!opt->quiet && isatty(STDOUT_FILENO) && isatty(STDERR_FILENO))
		dmrg_set_progress(d, progress, NULL);
	err = run_sweeps(run, d, mem, trace);
	dmrg_destroy(d);
destroy_pool:
	pool_destroy(pool);
	return err;
}

/* From an open space to a closed one. */
static int run_all(struct run *run, struct trace *trace)
{
	char why[512];
	struct mem *mem;
	int err, close_err;

	err = mem_open(&mem, &run->opt->mem, why, sizeof(why));
	if (err) {
		fprintf(stderr, "dmrg: cannot open a memory space: %s\n", why);
		return err;
	}
	err = run_solver(run, mem, trace);
	if (!err && mem_error(mem)[0])
		err = -EIO;
	if (err)
		fprintf(stderr, "dmrg: %s\n", mem_error(mem)[0] ?
			mem_error(mem) : strerror(-err));
	close_err = mem_close(mem, why, sizeof(why));
	if (close_err)
		fprintf(stderr, "dmrg: cannot close the memory space: %s\n",
			why);
	return err ? err : close_err;
}

static int write_json(const struct run *run)
{
	FILE *out;
	int err;

	if (!strcmp(run->opt->json, "-"))
		return report_json(run, stdout);
	out = fopen(run->opt->json, "w");
	if (!out)
		return -errno;
	err = report_json(run, out);
	/* What is still buffered may fail too. */
	if (fclose(out) && !err)
		err = -errno;
	return err;
}

/* What is printed last: the report, unless quiet, and the energy. */
static int finish(struct run *run, const struct trace *trace)
{
	const struct options *opt = run->opt;
	int err;

	if (!opt->quiet || opt->json)
		run->replay_err = replay_run(trace, opt->mem.policy,
					     &run->replay);
	err = opt->json ? write_json(run) : 0;
	if (err) {
		fprintf(stderr, "dmrg: %s: %s\n", opt->json, strerror(-err));
		return EXIT_FAILURE;
	}
	if (!opt->quiet)
		report_end(run);
	printf("energy %.12f\n", run->sweep.energy);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "dmrg: standard output: %s\n",
			strerror(errno));
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct options opt;
	struct run run = { .opt = &opt };
	struct trace *trace;
	int err, status = EXIT_FAILURE;

	err = options_parse(&opt, argc, argv);
	if (err)
		return err > 0 ? EXIT_SUCCESS : 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	openblas_set_num_threads(1);
	trace = trace_create();
	if (!trace) {
		fprintf(stderr, "dmrg: %s\n", strerror(ENOMEM));
		return status;
	}
	if (!opt.quiet)
		report_head(&run);
	if (!run_all(&run, trace))
		status = finish(&run, trace);
	trace_destroy(trace);
	return status;
}
