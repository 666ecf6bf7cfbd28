/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dmrg_run.h - run the solver in samples/dmrg, and read what it says.
 */
#ifndef TESTS_DMRG_RUN_H
#define TESTS_DMRG_RUN_H

#include "tests/kunit/kunit.h"
#include "tests/program.h"

#define DMRG "samples/dmrg/dmrg"

/* Run, expect success and a well-formed last line. Return: its energy. */
double dmrg_energy(struct kunit *test, const char *const *argv,
		   struct program *p);
/* The same with a variable of the environment. */
double dmrg_energy_in(struct kunit *test, const char *const *argv,
		      const char *env, struct program *p);

void expect_near(struct kunit *test, double got, double want, double error);

/* A figure of the --json output; the case ends where it is missing. */
double figure(struct kunit *test, const char *json, const char *name);

/* What --json says of one sweep. */
struct sweep_figures {
	char phase[16];
	double states, back_to;
	double live, mapped, retained, peak, backend_calls;
};

/* Of sweep @nr, from 1. */
struct sweep_figures sweep_figures(struct kunit *test, const char *json,
				   int nr);

#endif /* TESTS_DMRG_RUN_H */
