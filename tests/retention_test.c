// SPDX-License-Identifier: BSD-2-Clause
/*
 * retention_test.c - tests/gpu/retention and scripts/retention, which measure
 * what Documentation/retention.rst says.
 *
 * Small runs on the model of the driver: that the figures mean what they say,
 * and that the whole of the script works. What they are is the page's matter.
 */
#include <stdio.h>
#include <unistd.h>

#include "tests/folder.h"
#include "tests/kunit/kunit.h"
#include "tests/kunit/spawn.h"
#include "tests/program.h"

#define MODEL "tests/model/libcuda.so.1"
#define PROGRAM "tests/gpu/retention"
#define ARGS_MAX 12

/* A row of what the program prints, and the names of its columns. */
struct table {
	char *text;
	const char *row[8];
	unsigned int nr_rows;
};

static char *text(struct kunit *test, const char *a, const char *b)
{
	char *s = kunit_kzalloc(test, strlen(a) + strlen(b) + 1);

	return strcat(strcpy(s, a), b);
}

static void run(struct kunit *test, struct program *p,
		const char *const *options)
{
	const char *argv[ARGS_MAX + 2] = { PROGRAM };

	for (unsigned int i = 0; options[i]; i++)
		argv[i + 1] = options[i];
	program_run(test, p, argv, text(test, "SLABDEV_LIBCUDA=",
					program_path(test, MODEL)));
}

/* It must succeed, and say nothing but a table. */
static struct table measure(struct kunit *test, const char *const *options)
{
	struct table t = { .nr_rows = 0 };
	struct program p;
	char *at;

	run(test, &p, options);
	KUNIT_ASSERT_EQ_MSG(test, p.status, 0, "%s", p.err);
	KUNIT_EXPECT_STREQ(test, p.err, "");
	t.text = p.out;
	for (at = t.text; *at && t.nr_rows < ARRAY_SIZE(t.row); at++) {
		t.row[t.nr_rows++] = at;
		at = strchr(at, '\n');
		KUNIT_ASSERT_NOT_NULL(test, at);
	}
	return t;
}

/* The figure of a column in a row, of which the first is 1. */
static double figure(struct kunit *test, const struct table *t,
		     unsigned int row, const char *column)
{
	size_t len = strlen(column);
	const char *name = t->text, *value;

	KUNIT_ASSERT_LT_MSG(test, row, t->nr_rows, "%s", t->text);
	value = t->row[row];
	while (strncmp(name, column, len) || !strchr(",\n", name[len])) {
		name += strcspn(name, ",\n");
		value += strcspn(value, ",\n");
		KUNIT_ASSERT_EQ_MSG(test, *name, ',', "no column %s", column);
		name++;
		value++;
	}
	return strtod(value, NULL);
}

/* Eight blocks of 4 MiB, of which half are freed and one is left; and more. */
static const char *new_trace(struct kunit *test)
{
	const char *path = text(test, new_folder(test), "/some.trace");
	FILE *f = fopen(path, "we");
	int i;

	KUNIT_ASSERT_NOT_NULL(test, f);
	for (i = 0; i < 8; i++)
		fprintf(f, "a %d 4194304\n", i);
	for (i = 0; i < 4; i++)
		fprintf(f, "f %d\n", i);
	for (i = 8; i < 200; i++)
		fprintf(f, "a %d %d\nf %d\n", i, 1000 * i, i);
	KUNIT_ASSERT_EQ(test, fclose(f), 0);
	return path;
}

#define MEASURE(test, ...) \
	measure(test, (const char *const[]){ __VA_ARGS__, NULL })

/* ---- Replays ----------------------------------------------------------- */

/* The first loop maps what the others use. */
static void retain_calls_once(struct kunit *test)
{
	struct table t = MEASURE(test, new_trace(test), "--loops=3");

	KUNIT_EXPECT_EQ(test, t.nr_rows, 5);
	KUNIT_EXPECT_GT(test, (int)figure(test, &t, 2, "calls"), 0);
	KUNIT_EXPECT_GT(test, (int)figure(test, &t, 2, "us"), 0);
	KUNIT_EXPECT_EQ(test, (int)figure(test, &t, 4, "calls"), 0);
	KUNIT_EXPECT_EQ(test, (int)figure(test, &t, 4, "us"), 0);
	KUNIT_EXPECT_EQ(test, (int)figure(test, &t, 4, "back"), 0);
	KUNIT_EXPECT_EQ(test, (int)figure(test, &t, 4, "allocs"), 200);
	KUNIT_EXPECT_EQ(test, (int)figure(test, &t, 4, "live"), 8 << 22);
	KUNIT_EXPECT_GE(test, (int)figure(test, &t, 4, "taken"), 8 << 22);
}

/* What was primed need not be mapped later. */
static void prime_comes_first(struct kunit *test)
{
	struct table t = MEASURE(test, new_trace(test), "--prime=67108864");

	KUNIT_EXPECT_GT(test, (int)figure(test, &t, 1, "us"), 0);
	KUNIT_EXPECT_EQ(test, (int)figure(test, &t, 1, "taken"), 64 << 20);
	KUNIT_EXPECT_EQ(test, (int)figure(test, &t, 2, "calls"), 0);
}

static void less_kept_is_more_given_back(struct kunit *test)
{
	const char *trace = new_trace(test);
	struct table all = MEASURE(test, trace, "--policy=trim", "--keep=64M");
	struct table none = MEASURE(test, trace, "--policy=trim");
	struct table hot = MEASURE(test, trace, "--policy=aggressive");

	KUNIT_EXPECT_EQ(test, (int)figure(test, &all, 4, "back"), 0);
	KUNIT_EXPECT_GE(test, (int)figure(test, &none, 4, "back"), 8 << 22);
	KUNIT_EXPECT_GE(test, (int)figure(test, &hot, 4, "calls"),
			(int)figure(test, &none, 4, "calls"));
}

/* What the last loop left is there when the next one begins. */
static void carried_objects_overlap(struct kunit *test)
{
	struct table t = MEASURE(test, new_trace(test), "--carry", "--loops=2",
				 "--scale=1,2");

	KUNIT_EXPECT_EQ(test, (int)figure(test, &t, 2, "live"), 8 << 22);
	KUNIT_EXPECT_GT(test, (int)figure(test, &t, 3, "live"), 16 << 22);
}

/* A run that pushes, converges, and pushes on. */
static void policy_changes_with_the_loop(struct kunit *test)
{
	struct table t = MEASURE(test, new_trace(test), "--loops=5",
				 "--policy=aggressive,retain,retain,retain,"
				 "trim");

	KUNIT_EXPECT_GE(test, (int)figure(test, &t, 2, "back"), 8 << 22);
	KUNIT_EXPECT_EQ(test, (int)figure(test, &t, 3, "back"), 0);
	KUNIT_EXPECT_EQ(test, (int)figure(test, &t, 5, "calls"), 0);
	KUNIT_EXPECT_GE(test, (int)figure(test, &t, 6, "back"), 8 << 22);
}

static const char *const ways[] = {
	"vmm", "pool", "malloc", "driver-pool", "driver-malloc",
};

static void describe_way(const char *const *way, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", *way);
}
KUNIT_ARRAY_PARAM(way, ways, describe_way);

static void each_way_works(struct kunit *test)
{
	const char *const *way = test->param_value;
	struct table t = MEASURE(test, new_trace(test),
				 text(test, "--way=", *way), "--pause=50");

	KUNIT_EXPECT_EQ(test, (int)figure(test, &t, 4, "failed"), 0);
	KUNIT_EXPECT_GE(test, (int)figure(test, &t, 4, "taken"), 8 << 22);
	/* The first region comes when the space is opened. */
	KUNIT_EXPECT_GE(test, (int)figure(test, &t, 1, "calls") +
			(int)figure(test, &t, 2, "calls"), 1);
}

/* Of the pool's default threshold all goes back, of the largest nothing. */
static void threshold_keeps(struct kunit *test)
{
	const char *trace = new_trace(test);
	struct table none = MEASURE(test, trace, "--way=driver-pool");
	struct table all = MEASURE(test, trace, "--way=driver-pool",
				   "--threshold=max");

	KUNIT_EXPECT_GE(test, (int)figure(test, &none, 4, "back"), 8 << 22);
	KUNIT_EXPECT_EQ(test, (int)figure(test, &all, 4, "back"), 0);
}

/* ---- Streams that lag --------------------------------------------------- */

/* One lane: 8 blocks of 256 KiB a step, in use for three steps. */
#define LAG "--lag=2", "--size=256K", "--steps=40", "--across"

static void pending_is_what_the_device_uses(struct kunit *test)
{
	struct table t = MEASURE(test, LAG);

	KUNIT_EXPECT_EQ(test, (int)figure(test, &t, 1, "pairs"), 20 * 8);
	KUNIT_EXPECT_EQ(test, (int)figure(test, &t, 1, "need"), 3 * 8 << 18);
	KUNIT_EXPECT_EQ(test, (int)figure(test, &t, 1, "pending"),
			3 * 8 << 18);
	KUNIT_EXPECT_EQ(test, (int)figure(test, &t, 1, "host_waits"), 0);
	KUNIT_EXPECT_GE(test, (int)figure(test, &t, 1, "records"), 20);
}

/* The same stream has it at once; but for the sheaf that left. */
static void same_stream_waits_for_nothing(struct kunit *test)
{
	struct table t = MEASURE(test, "--lag=16", "--steps=40");

	KUNIT_EXPECT_LE(test, (int)figure(test, &t, 1, "taken"), 2 << 20);
	KUNIT_EXPECT_EQ(test, (int)figure(test, &t, 1, "host_waits"), 0);
}

static void short_memory_waits(struct kunit *test)
{
	struct table cpu = MEASURE(test, LAG, "--limit=4M");
	struct table stream = MEASURE(test, LAG, "--limit=4M",
				      "--stream-waits");
	struct table pool = MEASURE(test, LAG, "--limit=4M",
				    "--way=driver-pool", "--threshold=max");

	KUNIT_EXPECT_GT(test, (int)figure(test, &cpu, 1, "host_waits"), 0);
	KUNIT_EXPECT_EQ(test, (int)figure(test, &stream, 1, "host_waits"), 0);
	KUNIT_EXPECT_GT(test, (int)figure(test, &stream, 1, "stream_waits"),
			0);
	KUNIT_EXPECT_GT(test, (int)figure(test, &pool, 1, "host_waits"), 0);
	KUNIT_EXPECT_EQ(test, (int)figure(test, &cpu, 1, "failed"), 0);
	KUNIT_EXPECT_EQ(test, (int)figure(test, &stream, 1, "failed"), 0);
	KUNIT_EXPECT_EQ(test, (int)figure(test, &pool, 1, "failed"), 0);
}

/* ---- What it refuses --------------------------------------------------- */

static const char *const wrong[][2] = {
	{ "--way=floppy", "--way=floppy: --help says" },
	{ "--keep=-1", "--keep=-1: --help says" },
	{ "--keep=1T", "--keep=1T: --help says" },
	{ "--keep=17179869184G", "--keep=17179869184G: --help says" },
	{ "--policy=retain,", "--policy=retain,: --help says" },
	{ "--policy=hot", "--policy=hot: --help says" },
	{ "--scale=1,", "--scale=1,: --help says" },
	{ "--scale=0", "--scale=0: --help says" },
	{ "--steps=0", "--steps=0: --help says" },
	{ "--pause=50", "either traces or --lag" },
};

static void describe_wrong(const char *const (*w)[2], char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", (*w)[0]);
}
KUNIT_ARRAY_PARAM(wrong, wrong, describe_wrong);

static void wrong_options_are_refused(struct kunit *test)
{
	const char *const (*w)[2] = test->param_value;
	struct program p;

	run(test, &p, (const char *const[]){ (*w)[0], NULL });
	KUNIT_EXPECT_EQ(test, p.status, 2);
	KUNIT_EXPECT_STREQ(test, p.out, "");
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, (*w)[1]), "%s", p.err);
}

static void bad_traces_are_refused(struct kunit *test)
{
	const char *path = text(test, new_folder(test), "/bad.trace");
	FILE *f = fopen(path, "we");
	struct program p;

	KUNIT_ASSERT_NOT_NULL(test, f);
	fputs("a 1 100\nf 2\n", f);
	KUNIT_ASSERT_EQ(test, fclose(f), 0);
	run(test, &p, (const char *const[]){ path, NULL });
	KUNIT_EXPECT_EQ(test, p.status, 1);
	KUNIT_EXPECT_STREQ(test, p.out, "");
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.err, "bad.trace:2: "), "%s",
				  p.err);
}

/* ---- The script -------------------------------------------------------- */

/* All of it, with few points. */
static void script_measures_and_draws(struct kunit *test)
{
	static const char *const pictures[] = {
		"keep", "prime", "grow", "limit", "lag",
	};
	const char *out = new_folder(test);
	struct kunit_process p;

	program_path(test, PROGRAM);
	if (access("/usr/bin/python3", X_OK))
		kunit_skip(test, "python3 is not installed");
	kunit_run_program(test, &p, (const char *const[]){
		"/usr/bin/python3",
		kunit_source_path(test, "scripts/retention/run"), "--quick",
		text(test, "--build=", kunit_built_path(test, ".")),
		text(test, "--out=", out),
		text(test, "--trace=some=", new_trace(test)), NULL });
	if (p.exit_code)
		kunit_show_process(test, &p);
	KUNIT_ASSERT_EQ(test, p.exit_code, 0);
	KUNIT_EXPECT_NOT_NULL(test, strstr(p.out, "\nbudget: "));
	for (size_t i = 0; i < ARRAY_SIZE(pictures); i++) {
		char path[256];

		snprintf(path, sizeof(path), "%s/retention-%s.svg", out,
			 pictures[i]);
		KUNIT_EXPECT_EQ_MSG(test, access(path, R_OK), 0, "%s", path);
	}
}

static const struct kunit_case retention_cases[] = {
	KUNIT_CASE(retain_calls_once),
	KUNIT_CASE(prime_comes_first),
	KUNIT_CASE(less_kept_is_more_given_back),
	KUNIT_CASE(carried_objects_overlap),
	KUNIT_CASE(policy_changes_with_the_loop),
	KUNIT_CASE_PARAM(each_way_works, way_gen_params),
	KUNIT_CASE(threshold_keeps),
	KUNIT_CASE(pending_is_what_the_device_uses),
	KUNIT_CASE(same_stream_waits_for_nothing),
	KUNIT_CASE(short_memory_waits),
	KUNIT_CASE_PARAM(wrong_options_are_refused, wrong_gen_params),
	KUNIT_CASE(bad_traces_are_refused),
	KUNIT_CASE_SLOW(script_measures_and_draws, .timeout_s = 300),
	{}
};

static const struct kunit_suite retention_suite = {
	.name = "retention",
	.cases = retention_cases,
};
kunit_test_suite(retention_suite);
