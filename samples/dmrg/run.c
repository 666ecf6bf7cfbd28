// SPDX-License-Identifier: BSD-2-Clause
/*
 * run.c - one run of the solver, sweep by sweep
 *
 * The phases of the schedule (policy.c) change what the library does with free
 * memory while the run goes on: one call between two sweeps.
 *
 * Push. Each sweep of a push allows half as many states more than the last that
 * fitted, or, once it is known what does not fit, the middle between both. The
 * state is kept before each sweep; where a sweep runs out of memory, the run
 * goes back to it, and on with the next phase, with the states that fitted. If
 * they do not fit any more, because bonds that were narrow have grown, the
 * same happens once again with an eighth fewer.
 *
 * Whatever fails, everything is given back on the way out: closing the space
 * with a block alive is an error.
 */
#include "run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pool.h"

/* What happens while it runs. */
struct course {
	struct run *run;
	struct mem *mem;
	struct dmrg *dmrg;
	struct trace *trace;
	run_sweep_fn report;
	int phase;
	int phase_sweeps;	/* so many has it had */
	int fits, too_many;	/* states; 0: not known */
	bool show_progress;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* One line that rewrites itself, and goes when the sweep's own line comes. */
static void progress(void *arg, int done, int nr_pairs, double energy)
{
	const struct course *d = arg;
	struct sweep_memory *row = &d->run->sweeps[d->run->nr_sweeps];
	struct mem_counts c;

	mem_counts(d->mem, &c);
	if (c.mapped > row->peak_mapped)
		row->peak_mapped = c.mapped;
	if (!d->show_progress)
		return;
	fprintf(stderr, "\r  pair %d of %d, energy %.10f ", done, nr_pairs,
		energy);
	if (done == nr_pairs)
		fputs("\r\033[K", stderr);
}

static const struct phase *phase_now(const struct course *d)
{
	return &d->run->opt->schedule.phases[d->phase];
}

/* The last one goes on, whatever its number. */
static bool phase_is_over(const struct course *d)
{
	return d->phase + 1 < d->run->opt->schedule.nr &&
	       phase_now(d)->sweeps && d->phase_sweeps >= phase_now(d)->sweeps;
}

/* Tell the library what holds from now on. */
static int next_phase(struct course *d)
{
	d->phase++;
	d->phase_sweeps = 0;
	return mem_set_policy(d->mem, phase_now(d)->mode);
}

/* How many states the next sweep may have. */
static int next_bond(const struct course *d)
{
	if (!d->fits)
		return d->run->opt->max_dim;
	if (!phase_now(d)->push)
		return d->fits;
	return d->too_many ? (d->fits + d->too_many) / 2
			   : d->fits + (d->fits + 1) / 2;
}

/* The figures of the sweep that has ended. */
static void fill_row(struct course *d, const struct mem_counts *before,
		     struct sweep_memory *row)
{
	const struct mem_counts *end = &d->run->end;

	mem_counts(d->mem, &d->run->end);
	row->live = end->live;
	row->mapped = end->mapped;
	row->retained = end->retained;
	row->backend_calls = end->backend_calls - before->backend_calls;
	row->calls = end->calls - before->calls;
	row->ns = end->ns - before->ns;
	if (row->mapped > row->peak_mapped)
		row->peak_mapped = row->mapped;
}

/* Out of memory, with a state to go back to. That ends a push. */
static int step_back(struct course *d, struct sweep_memory *row)
{
	d->too_many = row->bond;
	if (d->fits == row->bond)
		d->fits -= (d->fits + 7) / 8;
	if (!d->fits)
		return -ENOMEM;
	row->back_to = d->fits;
	if (phase_now(d)->push && phase_now(d)->sweeps)
		d->phase_sweeps = phase_now(d)->sweeps;
	mem_forgive(d->mem);
	return dmrg_undo(d->dmrg);
}

/* Keep the state; without memory for that, risk nothing. */
static int prepare(struct course *d, struct sweep_memory *row, bool *can_undo)
{
	int err;

	*can_undo = d->run->opt->schedule.push && d->fits;
	if (!*can_undo)
		return 0;
	err = dmrg_keep(d->dmrg);
	if (err != -ENOMEM)
		return err;
	*can_undo = false;
	mem_forgive(d->mem);
	if (row->bond > d->fits)
		row->bond = d->fits;
	return 0;
}

static int try_sweep(struct course *d, struct sweep_memory *row)
{
	struct sweep_result result = { 0 };
	bool can_undo;
	int err;

	err = prepare(d, row, &can_undo);
	if (err)
		return err;
	dmrg_set_max_dim(d->dmrg, row->bond);
	err = dmrg_sweep(d->dmrg, &result);
	if (err == -ENOMEM && can_undo)
		return step_back(d, row);
	if (can_undo)
		dmrg_drop(d->dmrg);
	if (err)
		return err;
	d->fits = row->bond;
	d->run->change = result.energy - d->run->sweep.energy;
	d->run->sweep = result;
	return 0;
}

static int run_sweep(struct course *d, struct sweep_memory *row)
{
	struct run *run = d->run;
	struct mem_counts before;
	int err;

	mem_counts(d->mem, &before);
	if (phase_is_over(d)) {
		err = next_phase(d);
		if (err)
			return err;
	}
	d->phase_sweeps++;
	row->policy = phase_now(d)->name;
	row->bond = next_bond(d);
	run->before_last = before;
	err = try_sweep(d, row);
	if (!err && mem_error(d->mem)[0])
		err = -EIO;
	if (!err)
		fill_row(d, &before, row);
	return err;
}

static int run_sweeps(struct course *d)
{
	struct run *run = d->run;
	double start;
	int err;

	while (run->nr_sweeps < run->opt->sweeps) {
		start = now();
		if (run->nr_sweeps == run->opt->sweeps - 1)
			mem_set_trace(d->mem, d->trace);
		err = run_sweep(d, &run->sweeps[run->nr_sweeps]);
		mem_set_trace(d->mem, NULL);
		if (err)
			return err;
		run->nr_sweeps++;
		run->seconds += now() - start;
		if (d->report)
			d->report(run, now() - start);
	}
	return 0;
}

static int run_solver(struct course *d)
{
	const struct options *opt = d->run->opt;
	struct pool *pool;
	int err;

	err = pool_create(&pool, opt->threads);
	if (err)
		return err;
	err = dmrg_create(&d->dmrg, d->mem, pool, opt->sites, opt->max_dim);
	if (err)
		goto destroy_pool;
	dmrg_set_progress(d->dmrg, progress, d);
	err = run_sweeps(d);
	mem_device(d->mem)->counts(&d->run->device);
	dmrg_destroy(d->dmrg);
destroy_pool:
	pool_destroy(pool);
	return err;
}

static int prime(struct run *run, struct mem *mem)
{
	struct mem_counts before, after;
	int err;

	if (!run->mem.prime)
		return 0;
	mem_counts(mem, &before);
	err = mem_prime(mem, run->mem.prime);
	mem_counts(mem, &after);
	run->prime_calls = after.backend_calls - before.backend_calls;
	run->prime_ns = after.ns - before.ns;
	return err;
}

int run_all(struct run *run, struct trace *trace, run_sweep_fn report)
{
	struct course d = { .run = run, .trace = trace, .report = report };
	const struct options *opt = run->opt;
	char why[512];
	int err, close_err;

	d.show_progress = report && isatty(STDOUT_FILENO) &&
			  isatty(STDERR_FILENO);
	run->sweeps = calloc((size_t)opt->sweeps, sizeof(*run->sweeps));
	if (!run->sweeps)
		return -ENOMEM;
	err = mem_open(&d.mem, &run->mem, why, sizeof(why));
	if (err) {
		fprintf(stderr, "dmrg: cannot open a memory space: %s\n", why);
		return err;
	}
	if (report)
		report(run, 0);
	err = prime(run, d.mem);
	if (!err)
		err = run_solver(&d);
	if (err)
		fprintf(stderr, "dmrg: %s\n", mem_error(d.mem)[0] ?
			mem_error(d.mem) : strerror(-err));
	close_err = mem_close(d.mem, why, sizeof(why));
	if (close_err)
		fprintf(stderr, "dmrg: cannot close the memory space: %s\n",
			why);
	return err ? err : close_err;
}

void run_free(struct run *run)
{
	free(run->sweeps);
	run->sweeps = NULL;
}
