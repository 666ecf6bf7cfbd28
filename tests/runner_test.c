// SPDX-License-Identifier: BSD-2-Clause
/*
 * runner_test.c - the runner's options, order, and processes.
 *
 * As in kunit_test.c, on demonstration suites that a child runs.
 */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/kunit/kunit.h"
#include "tests/kunit/runner.h"
#include "tests/kunit_self.h"

/* ---- Selection -------------------------------------------------------- */

static void filter_selects(struct kunit *test)
{
	struct kunit_process proc;

	RUN(test, &proc, "--demo", "--list", "--filter=demo_many.[ac]");
	KUNIT_EXPECT_STREQ(test, proc.out, "demo_many.a\ndemo_many.c\n");
	RUN(test, &proc, "--demo", "--list", "--filter=demo_l*");
	KUNIT_EXPECT_STREQ(test, proc.out, "demo_life.aborts\n");
	RUN(test, &proc, "--demo", "--list", "--filter=demo_init.*",
	    "--filter=demo_life");
	KUNIT_EXPECT_EQ(test, count_in(proc.out, "\n"), 2);
	KUNIT_EXPECT_EQ(test, proc.exit_code, 0);

	DEMO(test, &proc, "--filter=demo_many.d");
	EXPECT_IN(test, proc.out, "1 passed, 0 failed, 0 skipped\n");
}

static void unset_spec(void *arg)
{
	(void)arg;
	unsetenv("SLABDEV_TEST_SPEC");
}

static void spec_selects_the_suites_of_spaces(struct kunit *test)
{
	struct kunit_process proc;

	KUNIT_EXPECT_STREQ(test, test_spec(), "host");
	kunit_add_action(test, unset_spec, NULL);
	setenv("SLABDEV_TEST_SPEC", "cuda:0", 1);
	KUNIT_EXPECT_STREQ(test, test_spec(), "cuda:0");
	RUN(test, &proc, "--demo", "--list");
	KUNIT_EXPECT_EQ(test, count_in(proc.out, "\n"), 8);
	KUNIT_EXPECT_EQ(test, count_in(proc.out, "demo_many."), 8);
	setenv("SLABDEV_TEST_SPEC", "", 1);
	KUNIT_EXPECT_STREQ(test, test_spec(), "host");
	RUN(test, &proc, "--demo", "--list");
	KUNIT_EXPECT_GT(test, count_in(proc.out, "\n"), 8);
}

static void nothing_selected_is_no_success(struct kunit *test)
{
	struct kunit_process proc;

	RUN(test, &proc, "--demo", "--filter=no_such_suite");
	KUNIT_EXPECT_EQ(test, proc.exit_code, 1);
	KUNIT_EXPECT_STREQ(test, proc.out, "");
	EXPECT_IN(test, proc.err, "no case matches");

	DEMO(test, &proc, "--filter=demo.skips");
	EXPECT_IN(test, proc.out, "0 passed, 0 failed, 1 skipped\n");
	KUNIT_EXPECT_EQ(test, proc.exit_code, 1);
}

static void long_and_slow_cases(struct kunit *test)
{
	struct kunit_process proc;

	RUN(test, &proc, "--demo", "--list", "--filter=demo");
	EXPECT_NOT_IN(test, proc.out, "demo.needs_long\n");
	EXPECT_IN(test, proc.out, "demo.hangs\n");
	RUN(test, &proc, "--demo", "--list", "--filter=demo", "--long");
	EXPECT_IN(test, proc.out, "demo.needs_long\n");
	RUN(test, &proc, "--demo", "--list", "--filter=demo", "--quick");
	EXPECT_NOT_IN(test, proc.out, "demo.hangs\n");

	DEMO(test, &proc, "--filter=demo", "--quick");
	EXPECT_IN(test, proc.out, "left out, without --long: 1\n");
}

static void repeat_runs_again(struct kunit *test)
{
	struct kunit_process proc;

	DEMO(test, &proc, "--filter=demo_many", "--repeat=3");
	KUNIT_EXPECT_EQ(test, count_in(proc.out, "    ok 8 h\n"), 3);
	EXPECT_ORDER(test, proc.out, "\n1..3\n", "\nok 1 demo_many\n",
		     "\nok 2 demo_many\n", "\nok 3 demo_many\n",
		     "24 passed, 0 failed, 0 skipped\n");
}

/* ---- Order ------------------------------------------------------------ */

static const char *shuffled(struct kunit *test, const char *option)
{
	struct kunit_process proc;

	DEMO(test, &proc, "--filter=demo_many", "--repeat=2", option);
	return proc.out;
}

static void shuffle_repeats_by_seed(struct kunit *test)
{
	const char *seven = shuffled(test, "--shuffle=7");
	const char *chosen;
	char seed[64];

	KUNIT_EXPECT_STREQ(test, seven, shuffled(test, "--shuffle=7"));
	KUNIT_EXPECT_STRNEQ(test, strstr(seven, "1..8"),
			    strstr(shuffled(test, "--shuffle=8"), "1..8"));
	EXPECT_ORDER(test, seven, "KTAP version 1\n# shuffle seed: 7\n1..2\n");
	KUNIT_EXPECT_EQ(test, count_in(seven, " h\n"), 2);

	chosen = shuffled(test, "--shuffle");
	KUNIT_ASSERT_EQ(test, sscanf(chosen, "KTAP version 1\n"
				     "# shuffle seed: %40[0-9]", seed), 1);
	chosen = shuffled(test, "--shuffle");
	KUNIT_ASSERT_EQ(test, sscanf(chosen, "KTAP version 1\n"
				     "# shuffle seed: %40[0-9]", seed), 1);
	memmove(seed + strlen("--shuffle="), seed, strlen(seed) + 1);
	memcpy(seed, "--shuffle=", strlen("--shuffle="));
	KUNIT_EXPECT_STREQ(test, chosen, shuffled(test, seed));
}

/* Suites whose output is the same each time: no addresses, no races. */
#define STEADY "--filter=demo_[lmnrst]*"

static void jobs_do_not_change_the_output(struct kunit *test)
{
	struct kunit_process alone, many;

	DEMO(test, &alone, STEADY);
	DEMO(test, &many, STEADY, "--jobs=4");
	KUNIT_EXPECT_STREQ(test, many.out, alone.out);
	DEMO(test, &alone, STEADY, "--shuffle=3");
	DEMO(test, &many, STEADY, "--shuffle=3", "--jobs=16");
	KUNIT_EXPECT_STREQ(test, many.out, alone.out);
}

/* ---- Processes -------------------------------------------------------- */

static void remove_file(void *arg)
{
	unlink(arg);
}

static void forget_lock(void *arg)
{
	(void)arg;
	unsetenv("DEMO_LOCK");
}

/* A file that demonstration suites lock; it is open here too. */
static int make_lock(struct kunit *test)
{
	const char *dir = getenv("TMPDIR");
	char *path = kunit_kzalloc(test, 4096);
	int fd;

	snprintf(path, 4096, "%s/kunit-lock.XXXXXX", dir ? dir : "/tmp");
	fd = mkostemp(path, O_CLOEXEC);
	KUNIT_ASSERT_GE(test, fd, 0);
	kunit_add_action(test, remove_file, path);
	setenv("DEMO_LOCK", path, 1);
	kunit_add_action(test, forget_lock, NULL);
	return fd;
}

static void exclusive_suite_runs_alone(struct kunit *test)
{
	struct kunit_process proc;
	int fd = make_lock(test);

	DEMO(test, &proc, "--filter=demo_with_*", "--filter=demo_alone",
	     "--jobs=3");
	EXPECT_IN(test, proc.out, "3 passed, 0 failed, 0 skipped\n");

	/* Two that are not exclusive do get in each other's way. */
	DEMO(test, &proc, "--filter=demo_clash_*", "--jobs=2");
	EXPECT_IN(test, proc.out, "1 passed, 1 failed, 0 skipped\n");
	DEMO(test, &proc, "--filter=demo_clash_*");
	EXPECT_IN(test, proc.out, "2 passed, 0 failed, 0 skipped\n");
	close(fd);
}

static void sleep_ms(long ms)
{
	const struct timespec ts = { 0, ms * 1000000 };

	nanosleep(&ts, NULL);
}

static bool lock_within_seconds(int fd, int seconds)
{
	for (int i = 0; i < seconds * 100; i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return true;
		sleep_ms(10);
	}
	return false;
}

/*
 * Goal: a case that is out of time ends, with all that it started, and the
 * next one runs. The limit is long because it holds for the case that passes
 * too, and a busy machine may take its time to start a worker.
 */
static void timeout_ends_a_case(struct kunit *test)
{
	struct kunit_process proc;
	int fd = make_lock(test);

	DEMO(test, &proc, "--filter=demo_hang", "--timeout=5");
	EXPECT_ORDER(test, proc.out,
		     "    # hangs_with_child: killed: out of time in this",
		     "    not ok 1 hangs_with_child # TIMEOUT\n",
		     "    not ok 2 hangs_itself # TIMEOUT\n",
		     "    ok 3 passes\n");
	/* Its child, which held the lock, goes with it; nobody waits for it. */
	KUNIT_EXPECT_TRUE(test, lock_within_seconds(fd, 5));
	close(fd);
}

/* Nobody can act on SIGKILL: then only the worker itself ends for certain. */
static const struct end {
	int signal;
	const char *name;
	const char *filter;
} ends[] = {
	{ SIGTERM, "SIGTERM", "--filter=demo_hang.hangs_with_child" },
	{ SIGINT, "SIGINT", "--filter=demo_hang.hangs_with_child" },
	{ SIGHUP, "SIGHUP", "--filter=demo_hang.hangs_with_child" },
	{ SIGKILL, "SIGKILL", "--filter=demo_hang.hangs_itself" },
};

static void end_desc(const struct end *end, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", end->name);
}

KUNIT_ARRAY_PARAM(end, ends, end_desc)

/* A runner that goes on by itself; its signals are as usual. */
static pid_t start_runner(struct kunit *test, const char *filter)
{
	const char *const argv[] = { kunit_self(test), "--demo", filter, NULL };
	posix_spawnattr_t attr;
	sigset_t all;
	pid_t pid;
	int ret;

	sigfillset(&all);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	ret = posix_spawn(&pid, argv[0], NULL, &attr,
			  (char *const *)(uintptr_t)argv, environ);
	posix_spawnattr_destroy(&attr);
	KUNIT_ASSERT_EQ(test, ret, 0);
	return pid;
}

/*
 * Goal: whatever ends the runner, no worker stays behind.
 * Method: when the case has written to the lock, so that there is a worker,
 * the signal is sent; then the lock must come free.
 */
static void ended_runner_leaves_nothing(struct kunit *test)
{
	const struct end *end = test->param_value;
	int fd = make_lock(test);
	pid_t pid = start_runner(test, end->filter);
	struct stat st;
	int status;

	do {
		sleep_ms(10);
		KUNIT_ASSERT_EQ(test, fstat(fd, &st), 0);
	} while (!st.st_size);
	KUNIT_EXPECT_EQ(test, kill(pid, end->signal), 0);
	KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_TRUE(test, WIFSIGNALED(status));
	KUNIT_EXPECT_EQ(test, WTERMSIG(status), end->signal);
	KUNIT_EXPECT_TRUE(test, lock_within_seconds(fd, 5));
	close(fd);
}

static void fail_fast_skips_the_rest(struct kunit *test)
{
	struct kunit_process proc;

	DEMO(test, &proc, "--filter=demo", "--fail-fast");
	EXPECT_ORDER(test, proc.out, "    ok 1 passes\n",
		     "    not ok 2 fails\n",
		     "    ok 3 skips # SKIP not run: an earlier case failed\n",
		     "\n# failed: demo.fails\n");
	EXPECT_IN(test, proc.out, "1 passed, 1 failed, 5 skipped\n");

	DEMO(test, &proc, "--filter=demo.takes_sizes", "--fail-fast",
	     "--repeat=2");
	EXPECT_ORDER(test, proc.out, "        not ok 2 size 0\n",
		     "        ok 3 param-2 # SKIP not run: ",
		     "\nok 2 demo # SKIP",
		     "\n# failed: demo.takes_sizes (size 0)\n");
}

static void verbose_shows_output(struct kunit *test)
{
	struct kunit_process proc;

	DEMO(test, &proc, "--filter=demo.passes", "--verbose");
	EXPECT_IN(test, proc.out, "# passes: nobody needs to see this\n");
}

/* ---- What it refuses -------------------------------------------------- */

static const struct refusal {
	const char *option;
	const char *says;
} refusals[] = {
	{ "--no-such-option", "no-such-option" },
	{ "stray", "'stray': no argument is taken" },
	{ "--jobs=0", "--jobs" },
	{ "--jobs=257", "from 1 to 256" },
	{ "--jobs=two", "--jobs=two: not a number" },
	{ "--jobs=", "--jobs=: not a number" },
	{ "--repeat=-1", "--repeat=-1: not a number" },
	{ "--timeout=0", "--timeout" },
	{ "--timeout=1s", "--timeout=1s: not a number" },
	{ "--shuffle=x", "--shuffle=x: not a number" },
	{ "--shuffle=99999999999999999999", "--shuffle=999" },
	{ "--filter=", "--filter: empty pattern" },
	{ "--filter", "requires an argument" },
	{ "--list=yes", "doesn't allow an argument" },
};

static void refusal_desc(const struct refusal *refusal, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", refusal->option);
}

KUNIT_ARRAY_PARAM(refusal, refusals, refusal_desc)

static void bad_option_is_refused(struct kunit *test)
{
	const struct refusal *refusal = test->param_value;
	struct kunit_process proc;

	RUN(test, &proc, "--demo", refusal->option);
	KUNIT_EXPECT_EQ(test, proc.exit_code, 2);
	KUNIT_EXPECT_STREQ(test, proc.out, "");
	EXPECT_IN(test, proc.err, refusal->says);
	EXPECT_IN(test, proc.err, "Try tests/run --help.\n");
}

static void help_helps(struct kunit *test)
{
	struct kunit_process proc;

	RUN(test, &proc, "--help");
	KUNIT_EXPECT_EQ(test, proc.exit_code, 0);
	KUNIT_EXPECT_STREQ(test, proc.err, "");
	EXPECT_ORDER(test, proc.out, "Usage:", "--list", "--filter=GLOB",
		     "--repeat=N", "--shuffle[=SEED]", "--jobs=N",
		     "--timeout=S", "Exit status");
}

static void named(struct kunit *test)
{
	KUNIT_SUCCEED(test);
}

/* Goal: names that KTAP cannot carry never reach the output. */
static void bad_names_are_refused(struct kunit *test)
{
	static const struct kunit_case fine[] = { KUNIT_CASE(named), {} };
	static const struct kunit_case twice[] = {
		KUNIT_CASE(named), KUNIT_CASE(named), {}
	};
	static const struct kunit_case sharp[] = {
		{ .name = "a#b", .run_case = named }, {}
	};
	static const struct kunit_case none[] = { {} };
	static const struct kunit_suite good = { .name = "g", .cases = fine };
	static const struct kunit_suite bad[] = {
		{ .name = "named", .cases = fine },
		{ .name = "s", .cases = twice },
		{ .name = "s", .cases = sharp },
		{ .name = "s", .cases = none },
		{ .name = "two words", .cases = fine },
		{ .name = "", .cases = fine },
		{ .cases = fine },
		{ .name = "g", .cases = fine },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const struct kunit_suite *suites[] = { &good, &bad[i] };
		const struct suite_range both = { suites, suites + 2 };
		const struct suite_range first = { suites, suites + 1 };

		KUNIT_EXPECT_EQ(test, suites_check(first), 0);
		KUNIT_EXPECT_EQ_MSG(test, suites_check(both), -1,
				    "suite %zu", i);
	}
}

static const struct kunit_case runner_cases[] = {
	KUNIT_CASE(filter_selects),
	KUNIT_CASE(spec_selects_the_suites_of_spaces),
	KUNIT_CASE(nothing_selected_is_no_success),
	KUNIT_CASE(long_and_slow_cases),
	KUNIT_CASE(repeat_runs_again),
	KUNIT_CASE(shuffle_repeats_by_seed),
	KUNIT_CASE_SLOW(jobs_do_not_change_the_output),
	KUNIT_CASE_SLOW(exclusive_suite_runs_alone),
	KUNIT_CASE_SLOW(timeout_ends_a_case),
	KUNIT_CASE_PARAM(ended_runner_leaves_nothing, end_gen_params),
	KUNIT_CASE(fail_fast_skips_the_rest),
	KUNIT_CASE(verbose_shows_output),
	KUNIT_CASE_PARAM(bad_option_is_refused, refusal_gen_params),
	KUNIT_CASE(help_helps),
	KUNIT_CASE(bad_names_are_refused),
	{}
};

static const struct kunit_suite runner_suite = {
	.name = "runner",
	.cases = runner_cases,
};

kunit_test_suite(runner_suite);
