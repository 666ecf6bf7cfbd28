// SPDX-License-Identifier: BSD-2-Clause
/*
 * dmrg_memory_test.c - what samples/dmrg does with memory: policies that change
 * from sweep to sweep, bonds that grow until memory is full, blocks in groups,
 * and its traces
 *
 * Figures are those of one thread, whose work repeats exactly. What must hold
 * for any number of threads is the energy.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/dmrg_run.h"
#include "tests/folder.h"

static const char *const blocks[] = { "--blocks=single", "--blocks=group" };

static void describe_blocks(const char *const *option, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", *option + 9);
}

KUNIT_ARRAY_PARAM(blocks, blocks, describe_blocks);

/* ---- Policies --------------------------------------------------------- */

/*
 * Goal: a run goes from giving back to keeping and back, and each sweep is as
 * its phase says. Method: a chain that needs several chunks and has converged
 * when it begins to keep.
 */
static void policy_changes_between_sweeps(struct kunit *test)
{
	static const char policy[] =
		"--policy=aggressive:5,retain:4,aggressive";
	const char *const *option = test->param_value;
	const char *const argv[] = { DMRG, "-L", "32", "-m", "128", "-s", "11",
				     "--threads=1", *option, "--json=-",
				     policy, NULL };
	struct sweep_figures f;
	struct program p;
	double calls = 0;
	int i;

	dmrg_energy(test, argv, &p);
	for (i = 1; i <= 5; i++)
		calls += sweep_figures(test, p.out, i).backend_calls;
	/* What grows and gives back calls again and again. */
	KUNIT_EXPECT_TRUE_MSG(test, calls > 10, "%.0f calls", calls);
	for (i = 1; i <= 11; i++) {
		f = sweep_figures(test, p.out, i);
		KUNIT_EXPECT_STREQ(test, f.phase, i > 5 && i < 10 ?
				   "retain" : "aggressive");
		KUNIT_EXPECT_TRUE(test, f.live + f.retained <= f.mapped);
		KUNIT_EXPECT_TRUE(test, f.mapped <= f.peak);
	}
	/* Those that are kept call nobody, once all is there. */
	f = sweep_figures(test, p.out, 8);
	KUNIT_EXPECT_TRUE(test, f.backend_calls == 0);
	f = sweep_figures(test, p.out, 9);
	KUNIT_EXPECT_TRUE(test, f.backend_calls == 0);
	KUNIT_EXPECT_TRUE_MSG(test, f.mapped == f.peak, "%.0f of %.0f",
			      f.mapped, f.peak);
}

static void policies_are_shown(struct kunit *test)
{
	const char *const argv[] = { DMRG, "-L", "16", "-m", "24", "-s", "3",
				     "--policy=aggressive:1,trim", NULL };
	struct program p;

	dmrg_energy(test, argv, &p);
	KUNIT_EXPECT_NOT_NULL(test, strstr(p.out, "memory in MiB after"));
	KUNIT_EXPECT_NOT_NULL(test, strstr(p.out, "\n    1  aggressive "));
	KUNIT_EXPECT_NOT_NULL(test, strstr(p.out, "\n    2  trim "));
	KUNIT_EXPECT_NOT_NULL(test, strstr(p.out, "\n    3  trim "));
}

/* With fewer sweeps in the list than there are. */
static void last_policy_goes_on(struct kunit *test)
{
	const char *const argv[] = { DMRG, "-L", "12", "-m", "24", "-s", "4",
				     "--policy=retain:1,trim:1", NULL };
	struct program p;

	dmrg_energy(test, argv, &p);
	KUNIT_EXPECT_NOT_NULL(test, strstr(p.out, "\n    1  retain "));
	KUNIT_EXPECT_NOT_NULL(test, strstr(p.out, "\n    2  trim "));
	KUNIT_EXPECT_NOT_NULL(test, strstr(p.out, "\n    4  trim "));
}

/* ---- Priming ---------------------------------------------------------- */

/*
 * Goal: what is primed is not mapped by the first sweep, or by any other.
 * Method: the same run twice, the second time primed with twice of what the
 * first one mapped at most: which pieces it takes is not quite the same.
 */
static void priming_spares_the_first_sweep(struct kunit *test)
{
	const char *argv[] = { DMRG, "-L", "64", "-m", "128", "-s", "4",
			       "--threads=1", "--policy=retain", "--json=-",
			       NULL, NULL };
	struct program cold, primed;
	double calls = 0;
	char prime[64];
	int i;

	dmrg_energy(test, argv, &cold);
	KUNIT_EXPECT_TRUE(test, figure(test, cold.out, "bytes") == 0);
	for (i = 1; i <= 4; i++)
		calls += sweep_figures(test, cold.out, i).backend_calls;
	KUNIT_EXPECT_TRUE_MSG(test, calls > 5, "%.0f calls", calls);
	snprintf(prime, sizeof(prime), "--prime=%.0fM",
		 2 * figure(test, cold.out, "peak_mapped") / (1 << 20));
	argv[10] = prime;
	expect_near(test, dmrg_energy(test, argv, &primed),
		    figure(test, cold.out, "energy"), 1e-12);
	KUNIT_EXPECT_TRUE(test, figure(test, primed.out, "bytes") > 0);
	for (i = 1; i <= 4; i++)
		KUNIT_EXPECT_TRUE(test, sweep_figures(test, primed.out, i)
					.backend_calls == 0);
	KUNIT_EXPECT_TRUE(test, figure(test, strstr(primed.out, "\"prime\""),
				       "calls") < calls);
}

static void priming_is_shown(struct kunit *test)
{
	const char *const argv[] = { DMRG, "-L", "12", "-m", "24", "-s", "2",
				     "--prime=3072K", NULL };
	struct program p;

	dmrg_energy(test, argv, &p);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.out, "\nprimed 3.0 MiB: "),
				  "%s", p.out);
}

/* What does not fit is said, and nothing was computed. */
static void priming_beyond_the_limit(struct kunit *test)
{
	const char *const argv[] = { DMRG, "-L", "12", "-m", "24", "-s", "2",
				     "--prime=1G", NULL };
	struct program p;

	program_run(test, &p, argv, "SLABDEV_LIMIT=16M");
	KUNIT_EXPECT_EQ(test, p.status, 1);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, "dmrg: priming of "
				  "1073741824 bytes: "), "%s", p.err);
	KUNIT_EXPECT_NULL(test, strstr(p.out, "\nenergy "));
}

/* ---- Push ------------------------------------------------------------- */

struct push_param {
	const char *limit, *blocks, *threads;
};

static const struct push_param pushes[] = {
	{ "4M", "--blocks=single", "--threads=1" },
	{ "4M", "--blocks=group", "--threads=1" },
	{ "4M", "--blocks=single", "--threads=4" },
	{ "4M", "--blocks=group", "--threads=4" },
	{ "8M", "--blocks=single", "--threads=2" },
	{ "8M", "--blocks=group", "--threads=2" },
};

static void describe_push(const struct push_param *param, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s %s %s", param->limit,
		 param->blocks, param->threads);
}

KUNIT_ARRAY_PARAM(push, pushes, describe_push);

/* One sweep of a push: what comes after it follows from what became of it. */
static void expect_follows(struct kunit *test, const struct sweep_figures *f,
			   const struct sweep_figures *next)
{
	if (f->back_to > 0) {
		KUNIT_EXPECT_TRUE(test, f->back_to < f->states ||
					f->back_to == 1);
		if (strcmp(next->phase, "push"))
			KUNIT_EXPECT_TRUE(test, next->states == f->back_to);
	} else if (!strcmp(next->phase, "push")) {
		KUNIT_EXPECT_TRUE(test, next->states >= f->states);
	} else {
		KUNIT_EXPECT_TRUE(test, next->states == f->states);
	}
	KUNIT_EXPECT_TRUE_MSG(test, next->states <= f->states * 3 / 2 + 1,
			      "%.0f after %.0f", next->states, f->states);
}

/*
 * Goal: bonds grow until memory is full, the run goes back to what fitted,
 * stays there, and pushes once more; whatever did not fit has left no trace in
 * the result and none on standard error. Method: limits that a small chain
 * reaches with a few tens of states, which are enough for ten digits.
 */
static void push_goes_back_to_what_fits(struct kunit *test)
{
	const struct push_param *param = test->param_value;
	const char *const argv[] = { DMRG, "-L", "32", "-m", "16", "-s", "12",
				     param->threads, param->blocks, "--json=-",
				     "--policy=push:8,retain:2,push:1,retain",
				     NULL };
	struct sweep_figures f, next;
	struct program p;
	int i, full = 0;
	char env[64];

	snprintf(env, sizeof(env), "SLABDEV_LIMIT=%s", param->limit);
	expect_near(test, dmrg_energy_in(test, argv, env, &p),
		    -13.997315618, 2e-9);
	f = sweep_figures(test, p.out, 1);
	KUNIT_EXPECT_TRUE(test, f.states == 16);
	KUNIT_EXPECT_STREQ(test, f.phase, "push");
	for (i = 1; i <= 12; i++) {
		next = sweep_figures(test, p.out, i);
		if (i > 1)
			expect_follows(test, &f, &next);
		f = next;
		full += f.back_to > 0;
		KUNIT_EXPECT_TRUE(test, f.peak <= atoi(param->limit) * 1048576);
	}
	KUNIT_EXPECT_STREQ(test, f.phase, "retain");
	KUNIT_EXPECT_GT_MSG(test, full, 0, "%s was never full", param->limit);
	KUNIT_EXPECT_TRUE(test, figure(test, p.out, "live") >= 0);
}

/* Nothing fits: an error, as of any run that has too little. */
static void push_with_nothing_to_go_back_to(struct kunit *test)
{
	const char *const argv[] = { DMRG, "-L", "48", "-m", "160", "-s", "8",
				     "--policy=push", "--quiet", NULL };
	const char *const few[] = { DMRG, "-L", "48", "-m", "1", "-s", "2",
				    "--policy=push", "--quiet", NULL };
	struct program p;

	/* Its first sweep fits, with the 4 states that it can have. */
	dmrg_energy_in(test, few, "SLABDEV_LIMIT=2M", &p);
	program_run(test, &p, argv, "SLABDEV_LIMIT=1M");
	KUNIT_EXPECT_EQ(test, p.status, 1);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, "dmrg: cannot open"),
				  "%s", p.err);
}

static void push_is_shown(struct kunit *test)
{
	const char *const argv[] = { DMRG, "-L", "32", "-m", "16", "-s", "9",
				     "--policy=push:8,retain", NULL };
	struct program p;

	dmrg_energy_in(test, argv, "SLABDEV_LIMIT=4M", &p);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.out, "no memory for bonds of"),
				  "%s", p.out);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.out, "states do not fit, "),
				  "%s", p.out);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.out, "|0        4 MiB|"),
				  "%s", p.out);
}

/* ---- Groups ----------------------------------------------------------- */

/* The same bits, a fraction of the calls, and nothing live at the end. */
static void groups_change_the_calls_only(struct kunit *test)
{
	static const char *const threads[] = { "--threads=1", "--threads=4" };
	double allocs[2], calls[2], made[2];
	struct program p[2];
	int i, t;

	for (t = 0; t < 2; t++) {
		for (i = 0; i < 2; i++) {
			const char *const argv[] = {
				DMRG, "-L", "24", "-m", "48", "-s", "5",
				threads[t], blocks[i], "--json=-", NULL };

			dmrg_energy(test, argv, &p[i]);
			allocs[i] = figure(test, p[i].out, "allocs");
			calls[i] = figure(test, p[i].out, "calls");
			made[i] = figure(test, p[i].out, "blocks_made");
			KUNIT_EXPECT_TRUE(test, figure(test, p[i].out,
						       "allocs") >=
						figure(test, p[i].out,
						       "frees"));
		}
		KUNIT_EXPECT_STREQ(test, program_last_line(test, p[0].out),
				   program_last_line(test, p[1].out));
		KUNIT_EXPECT_TRUE(test, made[0] == made[1]);
		KUNIT_EXPECT_TRUE(test, made[0] == allocs[0]);
		KUNIT_EXPECT_TRUE_MSG(test, 5 * allocs[1] < allocs[0],
				      "%.0f of %.0f", allocs[1], allocs[0]);
		KUNIT_EXPECT_TRUE_MSG(test, 4 * calls[1] < calls[0],
				      "%.0f of %.0f", calls[1], calls[0]);
	}
}

static void compare_says_what_groups_save(struct kunit *test)
{
	const char *const argv[] = { DMRG, "-L", "16", "-m", "24", "-s", "4",
				     "--compare", NULL };
	const char *at;
	double single, grouped;
	struct program p;

	dmrg_energy(test, argv, &p);
	at = strstr(p.out, "\n  calls of the library");
	KUNIT_ASSERT_NOT_NULL_MSG(test, at, "%s", p.out);
	KUNIT_ASSERT_EQ(test, sscanf(at, "\n calls of the library %lf %lf",
				     &single, &grouped), 2);
	KUNIT_EXPECT_TRUE(test, grouped > 0 && 3 * grouped < single);
	KUNIT_EXPECT_NOT_NULL(test, strstr(p.out, "seconds in them"));
	KUNIT_EXPECT_NOT_NULL(test, strstr(p.out, "peak mapped, MiB"));
	KUNIT_EXPECT_NOT_NULL(test, strstr(p.out, "the same\n"));
	KUNIT_EXPECT_NULL(test, strstr(p.out, "DIFFERS"));
}

/* Out of memory in the middle, without a push: as one by one. */
static void groups_run_out_of_memory(struct kunit *test)
{
	static const char *const limits[] = {
		"SLABDEV_LIMIT=2M", "SLABDEV_LIMIT=4M", "SLABDEV_LIMIT=8M"
	};
	const char *const argv[] = { DMRG, "-L", "48", "-m", "160", "-s", "8",
				     "--threads=4", "--blocks=group",
				     "--quiet", NULL };
	struct program p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		program_run(test, &p, argv, limits[i]);
		KUNIT_EXPECT_EQ(test, p.status, 1);
		KUNIT_EXPECT_STREQ(test, p.out, "");
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, "dmrg: "
						       "allocation of"),
					  "%s", p.err);
		KUNIT_EXPECT_NULL_MSG(test, strstr(p.err, "cannot close"),
				      "%s", p.err);
	}
}

/* ---- Traces ----------------------------------------------------------- */

/* slabreplay reads what dmrg writes, and finds the events of one sweep. */
static void trace_can_be_replayed(struct kunit *test)
{
	const char *const *option = test->param_value;
	const char *folder = new_folder(test);
	char *trace = kunit_kmalloc(test, strlen(folder) + 32);
	const char *const argv[] = { DMRG, "-L", "12", "-m", "16", "-s", "3",
				     *option, "--quiet", trace, NULL };
	const char *replay[] = { "tools/slabreplay", NULL, NULL };
	struct program p;

	sprintf(trace, "--trace=%s/trace", folder);
	dmrg_energy(test, argv, &p);
	replay[1] = strchr(trace, '/');
	program_run(test, &p, replay, NULL);
	KUNIT_EXPECT_EQ_MSG(test, p.status, 0, "%s", p.err);
	KUNIT_EXPECT_STREQ(test, p.err, "");
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.out, "first loop"), "%s",
				  p.out);
}

static void trace_cannot_be_written(struct kunit *test)
{
	const char *const argv[] = { DMRG, "-L", "4", "--quiet",
				     "--trace=/dev/full", NULL };
	struct program p;

	program_run(test, &p, argv, NULL);
	KUNIT_EXPECT_EQ(test, p.status, 1);
	KUNIT_EXPECT_STREQ(test, p.out, "");
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, "dmrg: /dev/full:"),
				  "%s", p.err);
}

static const struct kunit_case dmrg_memory_cases[] = {
	KUNIT_CASE_PARAM(policy_changes_between_sweeps, blocks_gen_params),
	KUNIT_CASE(policies_are_shown),
	KUNIT_CASE(last_policy_goes_on),
	KUNIT_CASE(priming_spares_the_first_sweep),
	KUNIT_CASE(priming_is_shown),
	KUNIT_CASE(priming_beyond_the_limit),
	KUNIT_CASE_PARAM(push_goes_back_to_what_fits, push_gen_params),
	KUNIT_CASE(push_with_nothing_to_go_back_to),
	KUNIT_CASE(push_is_shown),
	KUNIT_CASE(groups_change_the_calls_only),
	KUNIT_CASE(compare_says_what_groups_save),
	KUNIT_CASE(groups_run_out_of_memory),
	KUNIT_CASE_PARAM(trace_can_be_replayed, blocks_gen_params),
	KUNIT_CASE(trace_cannot_be_written),
	{}
};

static const struct kunit_suite dmrg_memory_suite = {
	.name = "dmrg_memory",
	.cases = dmrg_memory_cases,
};
kunit_test_suite(dmrg_memory_suite);
