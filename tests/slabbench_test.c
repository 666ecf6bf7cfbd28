// SPDX-License-Identifier: BSD-2-Clause
/*
 * slabbench_test.c - what slabbench does, whatever the figures are
 *
 * How fast something is cannot be tested on a machine that others use. So this
 * is about the rest: that the workloads are what they claim to be (--check
 * looks at every object that they get), that what is missing is named, and,
 * in slabbench_shown.c, that each figure is there, in order, in all forms.
 */
#include <limits.h>
#include <stdio.h>

#include "tests/kunit/spawn.h"
#include "tests/sanitizers.h"
#include "tests/slabbench_run.h"

#define MODEL "tests/model/libcuda.so.1"
#define OWN "--subject=slabdev,cache,bump,lifo,mag,cursor,glibc"
#define STREAMS "--subject=stream,across,loose"

static int count(const char *text, const char *what)
{
	int n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

/* ---- The workloads ---------------------------------------------------- */

/* Goal: no workload has two live objects that overlap, or frees one twice. */
static void workloads_keep_to_the_rules(struct kunit *test)
{
	static const struct {
		const char *subjects;
		const char *workloads;
		int nr;		/* cells times subjects that can do them */
	} part[] = {
		/* A cache has one size only. */
		{ OWN, "pair,lifo,fifo,random", 6 * 7 + 3 * (7 + 6) },
		{ OWN, "replace,teardown,bulk", 2 * 6 + 6 + 7 },
		/* From bump and lifo, memory never comes back. */
		{ OWN, "pair2,neighbours2,replace2,handoff2",
		  7 + 7 + 2 * 6 + 5 + 4 },
		{ STREAMS, "pair,fifo,replace,bulk", 3 * (6 + 2 + 2 + 1) },
		{ STREAMS, "pair2,neighbours2,handoff2", 3 * (1 + 1 + 2) },
	};
	struct program p;
	char option[80];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(part); i++) {
		snprintf(option, sizeof(option), "--workload=%s",
			 part[i].workloads);
		bench_run(test, &p, "--check", part[i].subjects, option);
		KUNIT_EXPECT_STREQ(test, p.err, "");
		KUNIT_EXPECT_EQ(test, p.status, 0);
		KUNIT_EXPECT_EQ_MSG(test, count(p.out, "ok "), part[i].nr,
				    "%s", p.out);
		expect_no_text(test, p.out, ": 0 objects");
	}
}

/* Goal: the check finds what it looks for. null always gives one address. */
static void check_finds_overlaps(struct kunit *test)
{
	struct program p;

	bench_run(test, &p, "--check", "--subject=null", "--workload=fifo",
		  "--size=256");
	KUNIT_EXPECT_EQ(test, p.status, 1);
	expect_text(test, p.err, "slabbench: fifo/256 null: failed: 256 bytes "
		    "at 0x1000: overlaps a live object (256 bytes at 0x1000)");
	/* Where only one object lives, it is right. */
	bench_run(test, &p, "--check", "--subject=null", "--workload=pair",
		  "--size=256");
	KUNIT_EXPECT_EQ(test, p.status, 0);
}

/* ---- Events ----------------------------------------------------------- */

/* The figure of the only size, in the row of a subject. */
static double figure_of(struct kunit *test, const char *table,
			const char *subject)
{
	const char *row = strstr(table, subject);
	double x = -1;

	KUNIT_ASSERT_NOT_NULL_MSG(test, row, "%s in %s", subject, table);
	KUNIT_EXPECT_EQ(test, sscanf(row + strlen(subject), "%lf", &x), 1);
	return x;
}

/*
 * Goal: what the documentation says of events: at most one for a sheaf, and as
 * many queries; one for each object where a stream is not attached. Sheaves of
 * 256 bytes have 64 objects. A stream that uses again what it freed keeps two
 * sheaves back.
 */
static void expect_events(struct kunit *test, const char *workload,
			  const char *device, const char *env)
{
	struct program p;
	double x;

	program_run(test, &p, (const char *const[]){ BENCH, "--rounds=1",
		    STREAMS, workload, "--size=256", device, NULL }, env);
	KUNIT_ASSERT_EQ_MSG(test, p.status, 0, "%s", p.err);
	x = figure_of(test, p.out, "\n  stream ");
	KUNIT_EXPECT_TRUE_MSG(test, x > 0.5 && x <= 1, "%s", p.out);
	x = figure_of(test, p.out, "\n  across ");
	KUNIT_EXPECT_TRUE_MSG(test, x > 0.9 && x <= 1, "%s", p.out);
	x = figure_of(test, p.out, "\n  loose ");
	KUNIT_EXPECT_TRUE_MSG(test, x == 64, "%s", p.out);
}

static void events_are_one_a_sheaf(struct kunit *test)
{
	expect_events(test, "--workload=events", "--device=host", NULL);
	expect_events(test, "--workload=queries", "--device=host", NULL);
}

/* Goal: a trial does not claim to have as many objects as the workload. */
static void trial_says_that_it_has_less(struct kunit *test)
{
	struct program p;

	bench_run(test, &p, "--quick", "--subject=mag,slabdev,stream",
		  "--size=256", "--workload=pair,lifo,events");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_text(test, p.out, "1,000 objects at once; a sheaf; this trial: "
		    "1/100 of it\n");
	expect_text(test, p.out, "the last one freed first; ns a pair\n");
	expect_text(test, p.out, "pair: allocate an object and free it; "
		    "ns a pair\n");
}

/* Goal: no table without a figure, and the reason is said. */
static void nothing_measured_shows_no_table(struct kunit *test)
{
	struct program p;

	program_run(test, &p, (const char *const[]){ BENCH, "--quick",
		    "--subject=slabdev", "--workload=pair,lifo", "--size=256",
		    "--device=cuda:0", NULL },
		    "SLABDEV_LIBCUDA=/nowhere/libcuda.so.1");
	KUNIT_EXPECT_EQ(test, p.status, 1);
	expect_text(test, p.err, "slabbench: slabdev is left out: ");
	expect_no_text(test, p.out, "pair:");
	expect_no_text(test, p.out, "lifo:");
}

/* Goal: ratios to the plain calls, in both forms. */
static void streams_are_compared_with_plain_calls(struct kunit *test)
{
	struct program p;

	bench_run(test, &p, "--quick", "--subject=slabdev,stream,loose",
		  "--workload=pair", "--size=256");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	KUNIT_EXPECT_GT(test, figure_of(test, p.out, "\n  stream/plain "), 0);
	KUNIT_EXPECT_GT(test, figure_of(test, p.out, "\n  loose/plain "), 1);
	bench_run(test, &p, "--quick", "--subject=slabdev,stream",
		  "--workload=pair", "--size=256", "--json");
	expect_text(test, p.out, "\"plain_ratio\":{\"median\":");
	expect_text(test, p.out, "\"device\":\"host\",\"device_name\":\"\"");
}

/* Goal: letters are measured when they are asked for, and cost something. */
static void letters_are_compared_with_none(struct kunit *test)
{
	struct program p;

	if (!IS_ENABLED(CONFIG_SLAB_DEBUG))
		kunit_skip(test, "the letters were not built");
	bench_run(test, &p, "--quick", "--subject=slabdev,cache,debug",
		  "--workload=pair", "--size=256");
	KUNIT_EXPECT_EQ_MSG(test, p.status, 0, "%s", p.err);
	KUNIT_EXPECT_GT(test, figure_of(test, p.out, "\n  +FZPU/plain "), 1);
	KUNIT_EXPECT_GT(test, figure_of(test, p.out, "\n  c+FZPU/plain "), 1);
	bench_run(test, &p, "--quick", "--subject=slabdev,+Z",
		  "--workload=device", "--size=4K");
	KUNIT_EXPECT_GT(test, figure_of(test, p.out, "\n  +Z "),
			figure_of(test, p.out, "\n  slabdev "));
	bench_run(test, &p, "--quick", "--subject=slabdev,+U",
		  "--workload=host", "--size=4K");
	KUNIT_EXPECT_GT(test, figure_of(test, p.out, "\n  +U "),
			figure_of(test, p.out, "\n  slabdev "));
}

/* ---- Devices ---------------------------------------------------------- */

/* On the model of the driver; what it says of events holds as on the host. */
static void device_is_measured_and_named(struct kunit *test)
{
	char env[PATH_MAX + 32];
	struct program p;

	if (!IS_ENABLED(CONFIG_BACKEND_CUDA))
		kunit_skip(test, "this build has no CUDA");
	snprintf(env, sizeof(env), "SLABDEV_LIBCUDA=%s",
		 kunit_built_path(test, MODEL));
	expect_events(test, "--workload=events", "--device=cuda:0", env);
	program_run(test, &p, (const char *const[]){ BENCH, "--quick",
		    "--subject=slabdev,stream,mag", "--workload=pair",
		    "--size=256", "--device=cuda:0", NULL }, env);
	KUNIT_EXPECT_EQ_MSG(test, p.status, 0, "%s", p.err);
	expect_in_order(test, p.out, (const char *const[]){
		"\ndevice    cuda:0, MODEL H200\n", "\n  slabdev ",
		"\n  stream ", "\n  mag ", "\n  stream/plain ", NULL });
	program_run(test, &p, (const char *const[]){ BENCH, "--quick",
		    "--subject=slabdev", "--workload=pair", "--size=256",
		    "--device=cuda-host:0", "--json", NULL }, env);
	expect_text(test, p.out, "\"device\":\"cuda-host:0\","
		    "\"device_name\":\"MODEL H200\"");
}

/* Goal: a device that is not there is said, and nothing else is measured. */
static void device_that_is_missing_is_named(struct kunit *test)
{
	struct program p;

	bench_run(test, &p, "--quick", "--subject=slabdev,loose,mag",
		  "--workload=pair", "--size=256", "--device=cuda:77");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_text(test, p.err, "slabbench: slabdev is left out: ");
	expect_text(test, p.err, "slabbench: loose is left out: ");
	expect_no_text(test, p.out, "\n  slabdev ");
	expect_text(test, p.out, "\n  mag ");
}

/* ---- What is not there ------------------------------------------------ */

static void missing_peer_is_named_and_skipped(struct kunit *test)
{
	struct program p;

	bench_run(test, &p, "--quick", "--library=jemalloc=/nowhere.so",
		  "--subject=mag,jemalloc", "--workload=pair", "--size=64,256");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_text(test, p.out, "\n  mag ");
	expect_no_text(test, p.out, "\n  jemalloc ");
	/* Once, though there were two cells. */
	KUNIT_EXPECT_EQ(test, count(p.err, "jemalloc is left out: "), 1);
	expect_text(test, p.err, "/nowhere.so: cannot open");
	/* Nobody is left: that is a failure. */
	bench_run(test, &p, "--quick", "--library=jemalloc=/nowhere.so",
		  "--subject=jemalloc", "--workload=pair", "--size=64");
	KUNIT_EXPECT_EQ(test, p.status, 1);
}

/* Its malloc() would be that of libc, and be measured under a wrong name. */
static void library_without_malloc_is_refused(struct kunit *test)
{
	struct program p;

	bench_run(test, &p, "--quick", "--library=math=libm.so.6",
		  "--subject=math", "--workload=pair", "--size=64");
	KUNIT_EXPECT_EQ(test, p.status, 1);
	expect_text(test, p.err, "math is left out: libm.so.6: has no malloc");
}

/* Whatever peers this machine has, they pass the check. */
static void installed_peers_keep_to_the_rules(struct kunit *test)
{
	struct program p;

	if (IS_SANITIZED)
		kunit_skip(test, "a sanitizer has its own malloc");
	bench_run(test, &p, "--check", "--subject=jemalloc,mimalloc,tcmalloc",
		  "--workload=fifo,handoff2");
	expect_no_text(test, p.err, "failed");
	if (p.status)
		kunit_skip(test, "no peer is installed");
}

/* Goal: a subject that fails is named, and the others are still measured. */
static void failure_is_named(struct kunit *test)
{
	struct kunit_process p;

	if (IS_SANITIZED)
		kunit_skip(test, "a sanitizer needs the addresses");
	kunit_run_program(test, &p, (const char *const[]){
		"sh", "-c", "ulimit -v 400000; exec \"$0\" --quick "
		"--subject=null,bump,glibc --workload=flat --size=1e7 "
		"--seed=3", program_path(test, BENCH), NULL });
	KUNIT_EXPECT_EQ(test, p.exit_code, 0);
	expect_text(test, p.err, "bump is left out: cannot reserve addresses");
	expect_text(test, p.out, "\n  null ");
	kunit_run_program(test, &p, (const char *const[]){
		"sh", "-c", "ulimit -v 60000; exec \"$0\" --quick "
		"--subject=null,glibc --workload=replace --size=mixed",
		program_path(test, BENCH), NULL });
	KUNIT_EXPECT_EQ(test, p.exit_code, 1);
	expect_text(test, p.err, "slabbench: replace/mixed glibc: failed: "
		    "Cannot allocate memory");
	expect_text(test, p.out, "\n  null ");
}

/* ---- Options ---------------------------------------------------------- */

static void bad_options(struct kunit *test)
{
	static const struct {
		const char *args[3];
		const char *complaint;
	} bad[] = {
		{ { "--workload=pair,pears" }, "there is no pears" },
		{ { "--size=3" }, "--size: there is no 3" },
		{ { "--subject=mallok" }, "there is no mallok" },
		{ { "--rounds=0" }, "--rounds=0: a number from 1 to" },
		{ { "--rounds=-1" }, "a number from 1 to" },
		{ { "--rounds=1x" }, "a number from 1 to" },
		{ { "--seed=" }, "a number from 0 to" },
		{ { "--library=x" }, "NAME=FILE is needed" },
		{ { "--library=mag=/a.so" }, "mag is not a library" },
		{ { "--check", "--callgrind" }, "exclude each other" },
		{ { "pair" }, "pair: only options are taken" },
		{ { "--fast" }, "unrecognized option" },
		{ { "--workload=" }, "nothing to measure: no chosen workload" },
		{ { "--workload=pair", "--size=1e7" }, "has a chosen size" },
		{ { "--subject=" }, "nothing to measure: no subject" },
		{ { "--child=a" }, "--child=a" },
		{ { "--child=mag:pair:3" }, "--child=mag:pair:3" },
	};
	struct program p;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		program_run(test, &p, (const char *const[]){
			    BENCH, bad[i].args[0], bad[i].args[1], NULL },
			    NULL);
		KUNIT_EXPECT_EQ_MSG(test, p.status, 2, "%s", bad[i].args[0]);
		expect_text(test, p.err, bad[i].complaint);
		expect_text(test, p.err, "Try 'slabbench --help'.\n");
		KUNIT_EXPECT_EQ(test, strncmp(p.err, "slabbench: ", 11), 0);
		KUNIT_EXPECT_STREQ(test, p.out, "");
	}
}

static void help_and_version(struct kunit *test)
{
	struct program p;

	bench_run(test, &p, "--help");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_text(test, p.out, "Usage: slabbench [OPTION]...\n");
	bench_run(test, &p, "--version");
	KUNIT_EXPECT_STREQ(test, p.out,
			   "slabbench (libslabdev) " SLABDEV_VERSION "\n");
}

static void output_that_cannot_be_written(struct kunit *test)
{
	struct kunit_process p;
	struct program own;

	kunit_run_program(test, &p, (const char *const[]){
			  "sh", "-c", "exec \"$0\" --list >/dev/full",
			  program_path(test, BENCH), NULL });
	KUNIT_EXPECT_EQ(test, p.exit_code, 3);
	expect_text(test, p.err, "standard output cannot be written");
	bench_run(test, &own, "--quick", "--subject=null", "--workload=pair",
		  "--size=64", "--svg=/nowhere/a.svg");
	KUNIT_EXPECT_EQ(test, own.status, 3);
	expect_text(test, own.err, "slabbench: /nowhere/a.svg: ");
	expect_text(test, own.out, "\n  null ");
}

/* ---- Instructions ----------------------------------------------------- */

/* Goal: the count is that of the loop and the calls, and of nothing else. */
static void callgrind_counts_instructions(struct kunit *test)
{
	struct kunit_process p;
	double null, bump;

	if (IS_SANITIZED)
		kunit_skip(test, "valgrind does not run sanitizers");
	kunit_run_program(test, &p, (const char *const[]){
		"sh", "-c", "command -v valgrind", NULL });
	if (p.exit_code)
		kunit_skip(test, "valgrind is not installed");
	kunit_run_program(test, &p, (const char *const[]){
		program_path(test, BENCH), "--callgrind", "--workload=pair",
		"--size=256", "--subject=null,bump", NULL });
	KUNIT_ASSERT_EQ_MSG(test, p.exit_code, 0, "%s", p.err);
	expect_text(test, p.out, "; instructions\n");
	KUNIT_ASSERT_NOT_NULL(test, strstr(p.out, "\n  null "));
	KUNIT_ASSERT_NOT_NULL(test, strstr(p.out, "\n  bump "));
	KUNIT_EXPECT_EQ(test, sscanf(strstr(p.out, "\n  null "),
				     "\n  null %lf", &null), 1);
	KUNIT_EXPECT_EQ(test, sscanf(strstr(p.out, "\n  bump "),
				     "\n  bump %lf", &bump), 1);
	KUNIT_EXPECT_TRUE_MSG(test, null > 4 && null < bump && bump < 100,
			      "%s", p.out);
}

static void valgrind_that_is_missing_is_named(struct kunit *test)
{
	struct kunit_process p;

	kunit_run_program(test, &p, (const char *const[]){
		"sh", "-c", "PATH=/nowhere; export PATH; exec \"$0\" "
		"--callgrind --workload=pair --size=64 --subject=null",
		program_path(test, BENCH), NULL });
	KUNIT_EXPECT_EQ(test, p.exit_code, 1);
	expect_text(test, p.err, "slabbench: valgrind is not installed\n");
}

static const struct kunit_case slabbench_cases[] = {
	KUNIT_CASE(workloads_keep_to_the_rules, .timeout_s = 300),
	KUNIT_CASE(check_finds_overlaps),
	KUNIT_CASE(events_are_one_a_sheaf, .timeout_s = 300),
	KUNIT_CASE(trial_says_that_it_has_less),
	KUNIT_CASE(nothing_measured_shows_no_table),
	KUNIT_CASE(letters_are_compared_with_none),
	KUNIT_CASE(streams_are_compared_with_plain_calls),
	KUNIT_CASE(device_is_measured_and_named, .timeout_s = 300),
	KUNIT_CASE(device_that_is_missing_is_named),
	KUNIT_CASE(table_has_rows_and_ratios),
	KUNIT_CASE(json_is_complete, .timeout_s = 300),
	KUNIT_CASE(picture_has_a_panel_for_each_cell),
	KUNIT_CASE(list_names_what_there_is),
	KUNIT_CASE(missing_peer_is_named_and_skipped),
	KUNIT_CASE(library_without_malloc_is_refused),
	KUNIT_CASE(installed_peers_keep_to_the_rules, .timeout_s = 300),
	KUNIT_CASE(failure_is_named),
	KUNIT_CASE(bad_options),
	KUNIT_CASE(help_and_version),
	KUNIT_CASE(output_that_cannot_be_written),
	KUNIT_CASE_SLOW(callgrind_counts_instructions, .timeout_s = 300),
	KUNIT_CASE(valgrind_that_is_missing_is_named),
	{}
};

static const struct kunit_suite slabbench_suite = {
	.name = "slabbench",
	.cases = slabbench_cases,
};
kunit_test_suite(slabbench_suite);
