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
 *	pack.c		one allocation a block, or one for many
 *	mps.c, mpo.c	the state, and the Hamiltonian
 *	env.c, heff.c	what the chain does to two sites
 *	lanczos.c	the lowest state of two sites
 *	split.c, svd.c	two sites apart again
 *	sweep.c		along the chain and back
 *	policy.c, run.c	sweep after sweep, and what is kept meanwhile
 *	cpu.c, cublas.c, driver.c	who computes
 *	pool.c		threads
 *	trace.c, replay.c, report.c	what it cost
 *
 * The last sweep's calls of the allocator are recorded and replayed at the
 * end, against slabdev and against malloc.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blas.h"
#include "report.h"
#include "trace.h"

/* What there is to tell at the end. */
struct outcome {
	struct run run;
	struct trace *trace;
	struct replayed replayed;
};

static int write_json(const struct outcome *o, FILE *out)
{
	return report_json(&o->run, &o->replayed, out);
}

static int write_trace(const struct outcome *o, FILE *out)
{
	return trace_write(o->trace, out);
}

/* Into the file of that name, where there is one to be written. */
static int write_file(const char *name, const struct outcome *o,
		      int (*write)(const struct outcome *o, FILE *out))
{
	FILE *out = stdout;
	int err;

	if (!name)
		return 0;
	if (strcmp(name, "-"))
		out = fopen(name, "w");
	err = out ? write(o, out) : -errno;
	/* What is still buffered may fail too. */
	if (out && out != stdout && fclose(out) && !err)
		err = -errno;
	if (err)
		fprintf(stderr, "dmrg: %s: %s\n", name, strerror(-err));
	return err;
}

/*
 * Make the last sweep's calls again. Not after a push: what fitted the limit in
 * many small steps need not fit it in one.
 */
static void replay(struct outcome *o)
{
	const struct schedule *s = &o->run.opt->schedule;

	o->replayed.err = -ENODATA;
	if (!s->push)
		o->replayed.err = replay_run(o->trace,
					     s->phases[s->nr - 1].mode,
					     &o->replayed.result);
}

/* What is printed last: the report, unless quiet, and the energy. */
static int finish(struct outcome *o)
{
	const struct options *opt = o->run.opt;

	if (!opt->quiet || opt->json)
		replay(o);
	if (write_file(opt->json, o, write_json) ||
	    write_file(opt->trace, o, write_trace))
		return -EIO;
	if (!opt->quiet && o->run.mem.kind == MEM_SLABDEV)
		report_memory(&o->run);
	if (!opt->quiet)
		report_end(&o->run, &o->replayed);
	return 0;
}

static int print_energy(const struct run *run)
{
	printf("energy %.12f\n", run->sweep.energy);
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	fprintf(stderr, "dmrg: standard output: %s\n", strerror(errno));
	return -EIO;
}

static int run_once(struct outcome *o)
{
	const bool quiet = o->run.opt->quiet;
	int err;

	o->trace = trace_create();
	if (!o->trace) {
		fprintf(stderr, "dmrg: %s\n", strerror(ENOMEM));
		return -ENOMEM;
	}
	err = run_all(&o->run, o->trace, quiet ? NULL : report_sweep);
	if (!err)
		err = finish(o);
	trace_destroy(o->trace);
	return err;
}

/* Twice the same, but for how blocks get their memory; files are of the 2nd. */
static int run_both(const struct options *opt, struct run *last)
{
	struct options first_opt = *opt;
	struct outcome single = { .run = { .opt = &first_opt } };
	struct outcome grouped = { .run = { .opt = opt } };
	int err;

	first_opt.json = NULL;
	first_opt.trace = NULL;
	single.run.mem = opt->mem;
	single.run.mem.grouped = false;
	grouped.run.mem = opt->mem;
	grouped.run.mem.grouped = true;
	err = run_once(&single);
	if (!err)
		err = run_once(&grouped);
	if (!err && !opt->quiet)
		report_compare(&single.run, &grouped.run);
	run_free(&single.run);
	*last = grouped.run;
	return err;
}

int main(int argc, char **argv)
{
	struct options opt;
	struct outcome o = { .run = { .opt = &opt } };
	int err;

	err = options_parse(&opt, argc, argv);
	if (err)
		return err > 0 ? EXIT_SUCCESS : 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	openblas_set_num_threads(1);
	o.run.mem = opt.mem;
	err = opt.compare ? run_both(&opt, &o.run) : run_once(&o);
	if (!err)
		err = print_energy(&o.run);
	run_free(&o.run);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
