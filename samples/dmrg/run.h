/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * run.h - one run of the solver, and what it was like
 */
#ifndef DMRG_RUN_H
#define DMRG_RUN_H

#include "device.h"
#include "mem.h"
#include "options.h"
#include "sweep.h"

struct trace;

/* What one sweep did with memory: bytes at its end, and peaks in it. */
struct sweep_memory {
	const char *policy;
	int bond;		/* most states that were allowed */
	int back_to;		/* it did not fit, and was undone; 0: it did */
	uint64_t live, mapped, retained;
	uint64_t peak_mapped;	/* of what was seen after each pair */
	uint64_t backend_calls;
	uint64_t calls, ns;	/* of the solver to the allocator */
};

struct run {
	const struct options *opt;
	struct mem_config mem;
	struct sweep_result sweep;	/* the last one */
	double change;			/* of the energy, in the last sweep */
	double seconds;			/* all sweeps */
	uint64_t prime_calls, prime_ns;	/* mem.prime, before the first sweep */
	struct mem_counts before_last;	/* before the last sweep */
	struct mem_counts end;
	struct device_counts device;
	struct sweep_memory *sweeps;	/* opt->sweeps */
	int nr_sweeps;
};

/* Called when memory is open, before the first sweep, and after each one, which
 * took @seconds. */
typedef void (*run_sweep_fn)(const struct run *run, double seconds);

/*
 * run_all - from an open space to a closed one
 * @trace: gets the calls of the last sweep; NULL: nothing
 *
 * Return: 0; a negative errno, and the reason is on standard error. @run is to
 * be given to run_free() in any case.
 */
int run_all(struct run *run, struct trace *trace, run_sweep_fn report);
void run_free(struct run *run);

#endif
