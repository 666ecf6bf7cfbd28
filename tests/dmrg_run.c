// SPDX-License-Identifier: BSD-2-Clause
/* dmrg_run.c - see dmrg_run.h. */
#include "tests/dmrg_run.h"

#include <math.h>
#include <stdio.h>

double dmrg_energy_in(struct kunit *test, const char *const *argv,
		      const char *env, struct program *p)
{
	char again[64];
	double energy;

	program_run(test, p, argv, env);
	KUNIT_ASSERT_EQ_MSG(test, p->status, 0, "%s", p->err);
	KUNIT_EXPECT_STREQ(test, p->err, "");
	KUNIT_ASSERT_EQ(test, sscanf(program_last_line(test, p->out),
				     "energy %lf", &energy), 1);
	snprintf(again, sizeof(again), "energy %.12f", energy);
	KUNIT_EXPECT_STREQ(test, program_last_line(test, p->out), again);
	return energy;
}

double dmrg_energy(struct kunit *test, const char *const *argv,
		   struct program *p)
{
	return dmrg_energy_in(test, argv, NULL, p);
}

void expect_near(struct kunit *test, double got, double want, double error)
{
	KUNIT_EXPECT_TRUE_MSG(test, fabs(got - want) <= error,
			      "got %.12f, want %.12f", got, want);
}

double figure(struct kunit *test, const char *json, const char *name)
{
	char key[64];
	const char *at;
	double value;

	snprintf(key, sizeof(key), "\"%s\": ", name);
	at = strstr(json, key);
	KUNIT_ASSERT_NOT_NULL_MSG(test, at, "no %s in %s", name, json);
	KUNIT_ASSERT_EQ(test, sscanf(at + strlen(key), "%lf", &value), 1);
	return value;
}

struct sweep_figures sweep_figures(struct kunit *test, const char *json,
				   int nr)
{
	struct sweep_figures f;
	const char *at = strstr(json, "\"by_sweep\"");

	while (at && nr-- > 0)
		at = strstr(at + 1, "\"phase\": ");
	KUNIT_ASSERT_NOT_NULL_MSG(test, at, "no such sweep in %s", json);
	KUNIT_ASSERT_EQ(test, sscanf(at, "\"phase\": \"%15[a-z]\"", f.phase),
			1);
	f.states = figure(test, at, "states");
	f.back_to = figure(test, at, "back_to");
	f.live = figure(test, at, "live");
	f.mapped = figure(test, at, "mapped");
	f.retained = figure(test, at, "retained");
	f.peak = figure(test, at, "peak");
	f.backend_calls = figure(test, at, "backend_calls");
	return f;
}
