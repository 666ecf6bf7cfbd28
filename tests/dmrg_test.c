// SPDX-License-Identifier: BSD-2-Clause
/*
 * dmrg_test.c - the solver in samples/dmrg, run as its users run it
 *
 * The energies decide: a block that is freed too early, handed out twice or
 * overrun by its neighbour changes the digits. So the solver is compared with
 * exact values, with itself on other numbers of threads and on malloc, and the
 * figures that it reports about the library are checked against the promises.
 * Skipped where it was not built, for lack of OpenBLAS.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/dmrg_run.h"
#include "tests/heisenberg.h"

struct chain_param {
	const char *sites, *bond;
	double energy;
};

static void describe_chain(struct chain_param *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "L=%s m=%s", c->sites, c->bond);
}

/* Published values; for 16 sites, 64 states are fewer than exact (256). */
static struct chain_param published[] = {
	{ "8", "64", -3.374932598688 },
	{ "10", "64", -4.258035207283 },
	{ "12", "64", -5.142090632841 },
	{ "16", "64", -6.911737145575 },
};

KUNIT_ARRAY_PARAM(published, published, describe_chain);

static void dmrg_published(struct kunit *test)
{
	const struct chain_param *c = test->param_value;
	const char *const argv[] = { DMRG, "-L", c->sites, "-m", c->bond,
				     "-s", "8", "--quiet", NULL };
	struct program p;

	expect_near(test, dmrg_energy(test, argv, &p), c->energy, 1e-9);
}

static const char *const exact_sites[] = {
	"2", "3", "4", "5", "6", "7", "8", "10", "12"
};

static void describe_sites(const char *const *sites, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "L=%s", *sites);
}

KUNIT_ARRAY_PARAM(exact, exact_sites, describe_sites);

/* With bonds as wide as they can get, nothing is cut off. */
static void dmrg_exact(struct kunit *test)
{
	const char *const *sites = test->param_value;
	const char *const argv[] = { DMRG, "-L", *sites, "-m", "64", "-s", "6",
				     "--threads=1", "--quiet", NULL };
	const double exact = heisenberg_energy(atoi(*sites));
	struct program p;

	expect_near(test, dmrg_energy(test, argv, &p), exact, 1e-10);
}

/* A narrower bond gives a higher energy, and never one below the exact. */
static void dmrg_variational(struct kunit *test)
{
	static const char *const bonds[] = { "2", "4", "8", "16", "32" };
	const double exact = heisenberg_energy(12);
	double energy, wider = 0;
	struct program p;
	size_t i;

	for (i = 0; i < sizeof(bonds) / sizeof(bonds[0]); i++) {
		const char *const argv[] = { DMRG, "-L", "12", "-m", bonds[i],
					     "-s", "8", "--quiet", NULL };

		energy = dmrg_energy(test, argv, &p);
		KUNIT_EXPECT_TRUE_MSG(test, energy >= exact - 1e-11,
				      "m=%s: %.12f", bonds[i], energy);
		KUNIT_EXPECT_TRUE_MSG(test, energy <= wider + 1e-11,
				      "m=%s: %.12f", bonds[i], energy);
		wider = energy;
	}
}

/* Every way to run one small chain that must not change its result. */
static const char *const variants[] = {
	"--threads=2", "--threads=3", "--threads=8", "--alloc=malloc",
	"--policy=retain", "--policy=trim", "--policy=aggressive",
	"--policy=aggressive:1,retain:2,trim", "--blocks=group",
};

static void describe_variant(const char *const *option, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", *option);
}

KUNIT_ARRAY_PARAM(variants, variants, describe_variant);

static void dmrg_same_result(struct kunit *test)
{
	const char *const *option = test->param_value;
	const char *const first[] = { DMRG, "-L", "20", "-m", "24", "-s", "4",
				      "--threads=1", "--quiet", NULL };
	const char *const other[] = { DMRG, "-L", "20", "-m", "24", "-s", "4",
				      *option, "--quiet", NULL };
	struct program p;
	double want;

	want = dmrg_energy(test, first, &p);
	expect_near(test, dmrg_energy(test, other, &p), want, 1e-10);
}

static void dmrg_quiet_is_one_line(struct kunit *test)
{
	const char *const argv[] = { DMRG, "-L", "6", "-m", "8", "-s", "2",
				     "--quiet", NULL };
	struct program p;

	dmrg_energy(test, argv, &p);
	KUNIT_EXPECT_PTR_EQ(test, strchr(p.out, '\n'),
			    p.out + strlen(p.out) - 1);
}

/* What a user reads at the end, on slabdev and on malloc. */
static void dmrg_report(struct kunit *test)
{
	const char *const argv[] = { DMRG, "-L", "16", "-m", "32", "-s", "5",
				     NULL };
	const char *const heap[] = { DMRG, "-L", "16", "-m", "32", "-s", "5",
				     "--alloc=malloc", NULL };
	struct program p;

	dmrg_energy(test, argv, &p);
	KUNIT_EXPECT_NOT_NULL(test, strstr(p.out, "block allocations in"));
	KUNIT_EXPECT_NOT_NULL(test, strstr(p.out, "own sheaves"));
	KUNIT_EXPECT_NOT_NULL(test, strstr(p.out, "peak mapped / peak live"));
	KUNIT_EXPECT_NOT_NULL(test, strstr(p.out, "times slabdev"));
	dmrg_energy(test, heap, &p);
	KUNIT_EXPECT_NULL(test, strstr(p.out, "own sheaves"));
	KUNIT_EXPECT_NOT_NULL(test, strstr(p.out, "times slabdev"));
}

/*
 * Calls of the backend for one more chunk. Two threads hold back in their
 * sheaves what the other could use, now more and now less: they may find only
 * late how much they need at most (7 of 80 small runs: in the tenth sweep).
 */
#define ONE_GROWTH 3

/*
 * Goal: no memory-management call once the bonds have their size (promise P1),
 * and allocations served by the thread's own sheaves. Method: the figures of
 * the last of many sweeps, of one thread, whose work repeats exactly. A failure
 * most likely means that sheaves or slabs are given back too early.
 */
static void dmrg_steady_state(struct kunit *test)
{
	const char *const argv[] = { DMRG, "-L", "24", "-m", "32", "-s", "10",
				     "--threads=1", "--json=-", NULL };
	struct program p;

	dmrg_energy(test, argv, &p);
	KUNIT_EXPECT_TRUE(test, figure(test, p.out, "allocs") > 50000);
	KUNIT_EXPECT_TRUE(test, figure(test, p.out, "backend_calls") > 0);
	KUNIT_EXPECT_TRUE(test,
			  figure(test, p.out, "last_backend_calls") == 0);
	KUNIT_EXPECT_TRUE(test, figure(test, p.out, "last_hit_rate") > 0.9);
	KUNIT_EXPECT_TRUE(test, figure(test, p.out, "peak_mapped") >=
				figure(test, p.out, "peak_live"));
}

/* The run that the README shows: large enough, and steady at its end. */
static void dmrg_default_run(struct kunit *test)
{
	const char *const argv[] = { DMRG, "--json=-", NULL };
	struct program p;

	dmrg_energy(test, argv, &p);
	KUNIT_EXPECT_TRUE(test, figure(test, p.out, "allocs") >= 1e6);
	KUNIT_EXPECT_TRUE(test, figure(test, p.out, "last_backend_calls") <=
				ONE_GROWTH);
}

static const char *const limits[] = { "2M", "4M", "8M" };

static void describe_limit(const char *const *limit, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", *limit);
}

KUNIT_ARRAY_PARAM(limits, limits, describe_limit);

/*
 * Goal: running out of memory in the middle of the work is an error message
 * and a clean end. Method: a limit that the chain exceeds after some sweeps,
 * on four threads. A leak would show as a second message, from closing.
 */
static void dmrg_out_of_memory(struct kunit *test)
{
	const char *const *limit = test->param_value;
	const char *const argv[] = { DMRG, "-L", "48", "-m", "160", "-s", "8",
				     "--threads=4", "--quiet", NULL };
	char env[64];
	struct program p;

	snprintf(env, sizeof(env), "SLABDEV_LIMIT=%s", *limit);
	program_run(test, &p, argv, env);
	KUNIT_EXPECT_EQ(test, p.status, 1);
	KUNIT_EXPECT_STREQ(test, p.out, "");
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, "dmrg: allocation of"),
				  "%s", p.err);
	KUNIT_EXPECT_NULL_MSG(test, strstr(p.err, "cannot close"), "%s",
			      p.err);
}

static void dmrg_no_space(struct kunit *test)
{
	const char *const argv[] = { DMRG, "-L", "4", "--quiet", NULL };
	struct program p;

	program_run(test, &p, argv, "SLABDEV_LIMIT=some");
	KUNIT_EXPECT_EQ(test, p.status, 1);
	KUNIT_EXPECT_STREQ(test, p.out, "");
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, "dmrg: cannot open"),
				  "%s", p.err);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, "SLABDEV_LIMIT"), "%s",
				  p.err);
}

/* What is missing is a build of the library, whatever the machine has. */
static void dmrg_without_cuda(struct kunit *test)
{
	const char *const argv[] = { DMRG, "-L", "8", "-m", "8", "-s", "1",
				     "--device=cuda:0", "--quiet", NULL };
	struct program p;

	if (IS_ENABLED(CONFIG_BACKEND_CUDA))
		kunit_skip(test, "about builds without CUDA");
	program_run(test, &p, argv, NULL);
	KUNIT_EXPECT_EQ(test, p.status, 1);
	KUNIT_EXPECT_STREQ(test, p.out, "");
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, "built without CUDA"),
				  "%s", p.err);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, "make cuda_defconfig"),
				  "%s", p.err);
}

static void dmrg_unwritable_json(struct kunit *test)
{
	const char *const argv[] = { DMRG, "-L", "4", "--quiet",
				     "--json=/dev/full", NULL };
	struct program p;

	program_run(test, &p, argv, NULL);
	KUNIT_EXPECT_EQ(test, p.status, 1);
	KUNIT_EXPECT_STREQ(test, p.out, "");
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, "dmrg: /dev/full:"),
				  "%s", p.err);
}

static void dmrg_help(struct kunit *test)
{
	const char *const argv[] = { DMRG, "--help", NULL };
	struct program p;

	program_run(test, &p, argv, NULL);
	KUNIT_EXPECT_EQ(test, p.status, 0);
	KUNIT_EXPECT_STREQ(test, p.err, "");
	KUNIT_EXPECT_NOT_NULL(test, strstr(p.out, "usage: dmrg"));
}

struct refusal {
	const char *args[3];
	const char *says;
};

static struct refusal refusals[] = {
	{ { "-L", "1" }, "-L \"1\": want a number from 2 to" },
	{ { "-L", "ten" }, "-L \"ten\"" },
	{ { "-L", "8x" }, "-L \"8x\"" },
	{ { "-L", "" }, "-L \"\"" },
	{ { "-L", "99999999999999999999" }, "-L \"9999" },
	{ { "-m", "0" }, "-m \"0\": want a number from 1 to" },
	{ { "-m", "-3" }, "-m \"-3\"" },
	{ { "-s", "0" }, "-s \"0\"" },
	{ { "-s" }, "requires an argument" },
	{ { "--threads=0" }, "--threads \"0\"" },
	{ { "--threads=65" }, "--threads \"65\"" },
	{ { "--alloc=new" }, "--alloc \"new\": want slabdev or malloc" },
	{ { "--policy=keep" }, "--policy \"keep\": want retain" },
	{ { "--policy=" }, "or push, not \"\"" },
	{ { "--policy=retain:" }, "sweeps from 1 to 1000 behind \"retain:\"" },
	{ { "--policy=retain:0,trim" }, "sweeps from 1 to 1000 behind" },
	{ { "--policy=retain:2x" }, "sweeps from 1 to 1000 behind" },
	{ { "--policy=push,retain" }, "\"push\" lasts to the end" },
	{ { "--policy=push:3," }, "or push, not \"\"" },
	{ { "-s", "5", "--policy=push:5,trim" }, "would begin with sweep 6" },
	{ { "--blocks=many" }, "--blocks \"many\": want single or group" },
	{ { "--alloc=malloc", "--blocks=group" }, "are slabdev's" },
	{ { "--alloc=malloc", "--compare" }, "are slabdev's" },
	{ { "--alloc=malloc", "--device=cuda:0" }, "are slabdev's" },
	{ { "--alloc=malloc", "--policy=push" }, "are slabdev's" },
	{ { "--alloc=malloc", "--prime=1M" }, "are slabdev's" },
	{ { "--prime=much" }, "--prime \"much\": want bytes up to 1024G" },
	{ { "--prime=-1" }, "--prime \"-1\"" },
	{ { "--prime=" }, "--prime \"\"" },
	{ { "--prime=1MB" }, "--prime \"1MB\"" },
	{ { "--prime=1025G" }, "--prime \"1025G\"" },
	{ { "--prime=99999999999999999999" }, "--prime \"9999" },
	{ { "--frobnicate" }, "unrecognized option" },
	{ { "-L", "8", "more" }, "\"more\": unexpected argument" },
};

static void describe_refusal(struct refusal *r, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s %s", r->args[0],
		 r->args[1] ? r->args[1] : "");
}

KUNIT_ARRAY_PARAM(refusals, refusals, describe_refusal);

static void dmrg_refuses(struct kunit *test)
{
	const struct refusal *r = test->param_value;
	const char *const argv[] = { DMRG, r->args[0], r->args[1], r->args[1] ?
				     r->args[2] : NULL, NULL };
	struct program p;

	program_run(test, &p, argv, NULL);
	KUNIT_EXPECT_EQ(test, p.status, 2);
	KUNIT_EXPECT_STREQ(test, p.out, "");
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, r->says), "%s", p.err);
}

static const struct kunit_case dmrg_cases[] = {
	KUNIT_CASE_PARAM(dmrg_published, published_gen_params),
	KUNIT_CASE_PARAM(dmrg_exact, exact_gen_params),
	KUNIT_CASE(dmrg_variational),
	KUNIT_CASE_PARAM(dmrg_same_result, variants_gen_params),
	KUNIT_CASE(dmrg_quiet_is_one_line),
	KUNIT_CASE(dmrg_report),
	KUNIT_CASE_SLOW(dmrg_steady_state),
	KUNIT_CASE_LONG(dmrg_default_run, .timeout_s = 600),
	KUNIT_CASE_PARAM(dmrg_out_of_memory, limits_gen_params),
	KUNIT_CASE(dmrg_no_space),
	KUNIT_CASE(dmrg_without_cuda),
	KUNIT_CASE(dmrg_unwritable_json),
	KUNIT_CASE(dmrg_help),
	KUNIT_CASE_PARAM(dmrg_refuses, refusals_gen_params),
	{}
};

static const struct kunit_suite dmrg_suite = {
	.name = "dmrg",
	.cases = dmrg_cases,
};
kunit_test_suite(dmrg_suite);
