// SPDX-License-Identifier: BSD-2-Clause
/*
 * kunit_demo.c - suites that show what the harness does, mostly by failing.
 *
 * `tests/run --demo` runs them; the self tests in kunit_test.c run chosen ones
 * that way and look at what is printed. So the names and texts here are part
 * of those tests.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/kunit/kunit.h"

static void sleep_ms(long ms)
{
	const struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

/* ---- demo: one case of each kind -------------------------------------- */

static void passes(struct kunit *test)
{
	puts("nobody needs to see this");
	KUNIT_EXPECT_EQ(test, 2 + 2, 4);
}

static void fails(struct kunit *test)
{
	int a = 3, b = 4;

	puts("printed by the case");
	fputs("printed on standard error\n", stderr);
	KUNIT_EXPECT_EQ(test, a, b);
	KUNIT_ASSERT_GT_MSG(test, a, b, "in round %d", 7);
	KUNIT_FAIL(test, "not reached");
}

static void skips(struct kunit *test)
{
	kunit_skip(test, "this machine # has no reason");
}

static void crashes(struct kunit *test)
{
	kunit_info(test, "about to abort");
	fputs("last words\n", stderr);
	abort();
}

static void exits(struct kunit *test)
{
	(void)test;
	exit(0);
}

static void hangs(struct kunit *test)
{
	(void)test;
	for (;;)
		pause();
}

static const int sizes[] = { 64, 0, 4096 };

static void size_desc(const int *size, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "size %d", *size);
}

KUNIT_ARRAY_PARAM(size, sizes, size_desc)

static void takes_sizes(struct kunit *test)
{
	const int *size = test->param_value;

	if (!*size)
		abort();
	KUNIT_EXPECT_LT(test, *size, 4096);
}

static void needs_long(struct kunit *test)
{
	KUNIT_SUCCEED(test);
}

static const struct kunit_case demo_cases[] = {
	KUNIT_CASE(passes),
	KUNIT_CASE(fails),
	KUNIT_CASE(skips),
	KUNIT_CASE(crashes),
	KUNIT_CASE_ISOLATED(exits),
	KUNIT_CASE_SLOW(hangs, .timeout_s = 1),
	KUNIT_CASE_PARAM(takes_sizes, size_gen_params),
	KUNIT_CASE_LONG(needs_long),
	{}
};

static const struct kunit_suite demo = {
	.name = "demo",
	.cases = demo_cases,
};

/* ---- demo_hang: no time limit of its own ------------------------------ */

/*
 * Whoever holds the lock can be seen from outside to have gone. It is waited
 * for: a child of the case before may have been killed but not be gone yet.
 */
static int take_lock(struct kunit *test)
{
	const char *path = getenv("DEMO_LOCK");
	int fd = path ? open(path, O_WRONLY | O_CLOEXEC) : -1;

	KUNIT_ASSERT_GE(test, fd, 0);
	KUNIT_ASSERT_EQ(test, flock(fd, LOCK_EX), 0);
	KUNIT_ASSERT_EQ(test, write(fd, "locked", 6), 6);
	return fd;
}

static void hangs_with_child(struct kunit *test)
{
	int fd = take_lock(test);

	if (fork())
		close(fd);
	hangs(test);
}

static void hangs_itself(struct kunit *test)
{
	take_lock(test);
	hangs(test);
}

static const struct kunit_case hang_cases[] = {
	KUNIT_CASE(hangs_with_child),
	KUNIT_CASE(hangs_itself),
	KUNIT_CASE(passes),
	{}
};

static const struct kunit_suite demo_hang = {
	.name = "demo_hang",
	.cases = hang_cases,
};

/* ---- demo_many: passing cases, to be put in order --------------------- */

static void a(struct kunit *test) { KUNIT_SUCCEED(test); }
static void b(struct kunit *test) { KUNIT_SUCCEED(test); }
static void c(struct kunit *test) { KUNIT_SUCCEED(test); }
static void d(struct kunit *test) { KUNIT_SUCCEED(test); }
static void e(struct kunit *test) { KUNIT_SUCCEED(test); }
static void f(struct kunit *test) { KUNIT_SUCCEED(test); }
static void g(struct kunit *test) { KUNIT_SUCCEED(test); }
static void h(struct kunit *test) { KUNIT_SUCCEED(test); }

static const struct kunit_case many_cases[] = {
	KUNIT_CASE(a), KUNIT_CASE(b), KUNIT_CASE(c), KUNIT_CASE(d),
	KUNIT_CASE(e), KUNIT_CASE(f), KUNIT_CASE(g), KUNIT_CASE(h),
	{}
};

static const struct kunit_suite demo_many = {
	.name = "demo_many",
	.cases = many_cases,
	.any_space = true,
};

/* ---- demo_life: what runs when, and whatever happens ------------------ */

static int life_suite_init(const struct kunit_suite *suite)
{
	(void)suite;
	return 0;
}

static int life_init(struct kunit *test)
{
	kunit_info(test, "init");
	return 0;
}

static void life_exit(struct kunit *test)
{
	kunit_info(test, "exit");
}

static void first_action(void *arg)
{
	kunit_info(arg, "first action");
}

static void second_action(void *arg)
{
	kunit_info(arg, "second action");
}

static void removed_action(void *arg)
{
	KUNIT_FAIL((struct kunit *)arg, "a removed action was called");
}

static void asserting_action(void *arg)
{
	struct kunit *test = arg;

	KUNIT_ASSERT_TRUE_MSG(test, false, "in an action");
}

static void aborts(struct kunit *test)
{
	kunit_add_action(test, first_action, test);
	kunit_add_action(test, removed_action, test);
	kunit_add_action(test, second_action, test);
	kunit_add_action(test, asserting_action, test);
	kunit_remove_action(test, removed_action, test);
	kunit_info(test, "body");
	KUNIT_FAIL_AND_ABORT(test, "on purpose");
}

static const struct kunit_case life_cases[] = { KUNIT_CASE(aborts), {} };

static const struct kunit_suite demo_life = {
	.name = "demo_life",
	.suite_init = life_suite_init,
	.init = life_init,
	.exit = life_exit,
	.cases = life_cases,
};

static int failing_init(struct kunit *test)
{
	(void)test;
	return -ENOMEM;
}

static void must_not_run(struct kunit *test)
{
	KUNIT_FAIL(test, "ran without its init");
}

static const struct kunit_case init_cases[] = {
	KUNIT_CASE(must_not_run),
	{}
};

static const struct kunit_suite demo_init = {
	.name = "demo_init",
	.init = failing_init,
	.exit = life_exit,
	.cases = init_cases,
};

/* ---- demo_suite_*: failures outside of any case ----------------------- */

static int failing_suite_init(const struct kunit_suite *suite)
{
	(void)suite;
	return -ENODEV;
}

static int crashing_suite_init(const struct kunit_suite *suite)
{
	(void)suite;
	abort();
}

static void crashing_suite_exit(const struct kunit_suite *suite)
{
	(void)suite;
	abort();
}

static void exit_like_a_sanitizer(void)
{
	fputs("found a leak\n", stderr);
	_exit(23);
}

static int suite_init_leaking(const struct kunit_suite *suite)
{
	(void)suite;
	return atexit(exit_like_a_sanitizer);
}

#define SUITE_WITH(suffix, ...)						\
	static const struct kunit_suite demo_##suffix = {		\
		.name = "demo_" #suffix,				\
		.cases = many_cases,					\
		__VA_ARGS__						\
	}

SUITE_WITH(suite_init, .suite_init = failing_suite_init);
SUITE_WITH(suite_init_crash, .suite_init = crashing_suite_init);
SUITE_WITH(suite_exit_crash, .suite_exit = crashing_suite_exit);
SUITE_WITH(suite_leak, .suite_init = suite_init_leaking);

/* ---- demo_threads: checks from threads and forked processes ----------- */

static void *expect_in_thread(void *arg)
{
	struct kunit *test = arg;

	KUNIT_EXPECT_TRUE_MSG(test, false, "expected in a thread");
	return NULL;
}

static void *assert_in_thread(void *arg)
{
	struct kunit *test = arg;

	KUNIT_ASSERT_TRUE_MSG(test, false, "asserted in a thread");
	KUNIT_FAIL(test, "not reached");
	return NULL;
}

static void run_thread(struct kunit *test, void *(*fn)(void *))
{
	pthread_t thread;

	KUNIT_ASSERT_EQ(test, pthread_create(&thread, NULL, fn, test), 0);
	pthread_join(thread, NULL);
}

static void has_threads(struct kunit *test)
{
	run_thread(test, expect_in_thread);
	run_thread(test, assert_in_thread);
	kunit_info(test, "went on");
}

static void forks(struct kunit *test)
{
	pid_t pid = fork();

	if (!pid)
		KUNIT_FAIL_AND_ABORT(test, "in a child");
	waitpid(pid, NULL, 0);
	kunit_info(test, "went on");
}

static void returns_from_fork(struct kunit *test)
{
	pid_t pid = fork();

	if (pid) {
		waitpid(pid, NULL, 0);
		kunit_info(test, "went on");
	}
}

static const struct kunit_case threads_cases[] = {
	KUNIT_CASE(has_threads),
	KUNIT_CASE(forks),
	KUNIT_CASE(returns_from_fork),
	{}
};

static const struct kunit_suite demo_threads = {
	.name = "demo_threads",
	.cases = threads_cases,
};

/* ---- demo_verdicts: skip and fail together ---------------------------- */

static void marked_skipped(struct kunit *test)
{
	kunit_mark_skipped(test, "marked\nin two lines");
	kunit_info(test, "went on");
}

static void failed_and_skipped(struct kunit *test)
{
	KUNIT_FAIL(test, "before the skip");
	kunit_skip(test, "too late");
}

static const void *no_gen_params(const void *prev, char *desc)
{
	(void)prev;
	(void)desc;
	return NULL;
}

static const struct kunit_case verdicts_cases[] = {
	KUNIT_CASE(marked_skipped),
	KUNIT_CASE(failed_and_skipped),
	KUNIT_CASE_PARAM(passes, no_gen_params),
	{}
};

static const struct kunit_suite demo_verdicts = {
	.name = "demo_verdicts",
	.cases = verdicts_cases,
};

/* ---- demo_nasty: text that could be taken for KTAP -------------------- */

static const char *const nasty_names[] = {
	"", "prints", "a#b # SKIP c", "two\nlines", "blank at the end ",
	"reboot: System halted", "1..9",
};

static void nasty_desc(const char *const *name, char *desc)
{
	strcpy(desc, *name);
}

KUNIT_ARRAY_PARAM(nasty, nasty_names, nasty_desc)

static void prints(struct kunit *test)
{
	kunit_info(test, "1..7\nok 1 prints\n# Subtest: prints\n");
	kunit_info(test, "KTAP version 1");
	puts("not ok 3 demo_nasty\nKTAP version 1\n1..1\nok 1 x\n\n"
	     "Kernel panic - not syncing: VFS: here\nreboot: System halted\r\n"
	     "\033[31mred\001\n# Subtest: y");
	putchar('\0');
	fputs("no newline at the end", stdout);
	KUNIT_FAIL(test, "KTAP version 1\n1..1");
}

static const struct kunit_case nasty_cases[] = {
	KUNIT_CASE_PARAM(prints, nasty_gen_params),
	{}
};

static const struct kunit_suite demo_nasty = {
	.name = "demo_nasty",
	.cases = nasty_cases,
};

/* ---- demo_reports: the library reports, expected or not --------------- */

static void report(enum report_kind kind, const char *headline)
{
	static struct report r;

	report_start(&r, kind, "demo", "%s", headline);
	report_line(&r, "a second line");
	report_end(&r);
}

static void unexpected(struct kunit *test)
{
	(void)test;
	report(REPORT_DOUBLE_FREE, "came unasked");
}

static void another_kind(struct kunit *test)
{
	kunit_expect_report(test, REPORT_DOUBLE_FREE);
	report(REPORT_LOST, "is of another kind");
}

static void one_too_many(struct kunit *test)
{
	kunit_expect_report(test, REPORT_LOST);
	report(REPORT_LOST, "is the one expected");
	report(REPORT_LOST, "is one too many");
}

static void missing(struct kunit *test)
{
	kunit_expect_report(test, REPORT_LOST);
	kunit_expect_report(test, REPORT_LOST);
	report(REPORT_LOST, "is the only one");
}

static void warns(struct kunit *test)
{
	(void)test;
	pr_warn("a warning");
	pr_info("of little interest");
}

static const struct kunit_case reports_cases[] = {
	KUNIT_CASE(unexpected),
	KUNIT_CASE(another_kind),
	KUNIT_CASE(one_too_many),
	KUNIT_CASE(missing),
	KUNIT_CASE(warns),
	{}
};

static const struct kunit_suite demo_reports = {
	.name = "demo_reports",
	.cases = reports_cases,
};

static void report_at_exit(const struct kunit_suite *suite)
{
	(void)suite;
	report(REPORT_LIVE_OBJECTS, "came in suite_exit");
}

SUITE_WITH(suite_report, .suite_exit = report_at_exit);

/* ---- demo_alone*: at the same time as others, or not ------------------ */

/*
 * Each suite locks the file that DEMO_LOCK names: the two common ones shared,
 * the exclusive one for itself, and two that should be exclusive and are not.
 * None of them waits for the lock.
 */
static void lock_for_a_while(struct kunit *test, int how)
{
	FILE *file = fopen(getenv("DEMO_LOCK"), "r");

	KUNIT_ASSERT_NOT_NULL(test, file);
	KUNIT_EXPECT_EQ(test, flock(fileno(file), how | LOCK_NB), 0);
	sleep_ms(400);
	fclose(file);
}

static void shares(struct kunit *test)
{
	lock_for_a_while(test, LOCK_SH);
}

static void excludes(struct kunit *test)
{
	lock_for_a_while(test, LOCK_EX);
}

static const struct kunit_case shares_cases[] = { KUNIT_CASE(shares), {} };
static const struct kunit_case excludes_cases[] = {
	KUNIT_CASE(excludes),
	{}
};

static const struct kunit_suite demo_with_1 = {
	.name = "demo_with_1", .cases = shares_cases,
};
static const struct kunit_suite demo_alone = {
	.name = "demo_alone", .cases = excludes_cases, .exclusive = true,
};
static const struct kunit_suite demo_with_2 = {
	.name = "demo_with_2", .cases = shares_cases,
};
static const struct kunit_suite demo_clash_1 = {
	.name = "demo_clash_1", .cases = excludes_cases,
};
static const struct kunit_suite demo_clash_2 = {
	.name = "demo_clash_2", .cases = excludes_cases,
};

kunit_demo_suites(&demo, &demo_hang, &demo_many, &demo_life, &demo_init,
		  &demo_suite_init, &demo_suite_init_crash,
		  &demo_suite_exit_crash, &demo_suite_leak, &demo_threads,
		  &demo_verdicts, &demo_nasty, &demo_reports,
		  &demo_suite_report, &demo_with_1, &demo_alone, &demo_with_2,
		  &demo_clash_1, &demo_clash_2);
