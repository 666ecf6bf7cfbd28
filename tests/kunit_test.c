// SPDX-License-Identifier: BSD-2-Clause
/*
 * kunit_test.c - the harness tests itself.
 *
 * What holds is tested in place. What must fail cannot be: such cases stand in
 * kunit_demo*.c, and the tests here run tests/run --demo in a child and look
 * at its output (kunit_self.h).
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>

#include "core/static_stub.h"
#include "tests/kunit/kunit.h"
#include "tests/kunit_self.h"

/* ---- Checks that hold ------------------------------------------------- */

static const int one = 1, two = 2;
static const u8 bytes[] = { 1, 2, 3 };
static const u8 others[] = { 1, 2, 4 };

#define HOLDS(family, ...)						\
do {									\
	KUNIT_EXPECT_##family(test, __VA_ARGS__);			\
	KUNIT_EXPECT_##family##_MSG(test, __VA_ARGS__, "n %d", 1);	\
	KUNIT_ASSERT_##family(test, __VA_ARGS__);			\
	KUNIT_ASSERT_##family##_MSG(test, __VA_ARGS__, "n %d", 2);	\
} while (0)

static void each_family_holds(struct kunit *test)
{
	const void *nothing = NULL;

	HOLDS(TRUE, one < two);
	HOLDS(FALSE, one > two);
	HOLDS(EQ, one, 1);
	HOLDS(NE, one, two);
	HOLDS(LT, one, two);
	HOLDS(LE, one, one);
	HOLDS(GT, two, one);
	HOLDS(GE, two, two);
	HOLDS(PTR_EQ, &one, &one);
	HOLDS(PTR_NE, &one, &two);
	HOLDS(NULL, nothing);
	HOLDS(NOT_NULL, bytes);
	HOLDS(STREQ, "same", "same");
	HOLDS(STRNEQ, "one", "two");
	HOLDS(MEMEQ, bytes, others, 2);
	HOLDS(MEMNEQ, bytes, others, 3);
	KUNIT_SUCCEED(test);
}

enum colour { RED, GREEN };

/* Goal: numbers of any types compare as numbers, and without a warning. */
static void numbers_of_mixed_types(struct kunit *test)
{
	struct {
		unsigned int narrow : 3;
		int negative : 4;
	} bits = { 5, -3 };
	const size_t size = SIZE_MAX;
	const enum colour green = GREEN;
	const s64 least = INT64_MIN;
	const bool yes = true;
	const char letter = 'a';

	KUNIT_EXPECT_LT(test, -1, 1u);
	KUNIT_EXPECT_NE(test, -1, UINT_MAX);
	KUNIT_EXPECT_NE(test, -1, size);
	KUNIT_EXPECT_GT(test, size, least);
	KUNIT_EXPECT_EQ(test, size, UINT64_MAX);
	KUNIT_EXPECT_EQ(test, (u8)200, 200ll);
	KUNIT_EXPECT_EQ(test, bits.narrow, 5);
	KUNIT_EXPECT_EQ(test, bits.negative, -3);
	KUNIT_EXPECT_EQ(test, green, 1);
	KUNIT_EXPECT_EQ(test, yes, 1);
	KUNIT_EXPECT_EQ(test, letter, 'a');
	KUNIT_EXPECT_LT(test, 0.5f, 1);
	KUNIT_EXPECT_GT(test, 1e300, UINT64_MAX);
	KUNIT_EXPECT_NE(test, __builtin_nan(""), __builtin_nan(""));
	KUNIT_EXPECT_EQ(test, (void *)bytes, bytes);
}

static int calls;

static int call(int value)
{
	calls++;
	return value;
}

static const char *call_text(const char *text)
{
	calls++;
	return text;
}

static void operands_are_evaluated_once(struct kunit *test)
{
	int i = 0;

	calls = 0;
	KUNIT_EXPECT_TRUE(test, call(1));
	KUNIT_ASSERT_FALSE(test, call(0));
	KUNIT_EXPECT_EQ(test, call(3), call(3));
	KUNIT_ASSERT_PTR_EQ(test, call_text("t") + 1, call_text("t") + 1);
	KUNIT_EXPECT_STREQ(test, call_text("t"), call_text("t"));
	KUNIT_EXPECT_MEMEQ(test, call_text("t"), call_text("t"),
			   (size_t)call(2));
	KUNIT_EXPECT_NOT_NULL(test, call_text("t"));
	KUNIT_EXPECT_EQ(test, calls, 12);
	KUNIT_EXPECT_EQ(test, i++, 0);
	KUNIT_EXPECT_EQ(test, i, 1);
}

static void *failing_with(int err)
{
	errno = err;
	return NULL;
}

static void errno_holds(struct kunit *test)
{
	errno = EIO;
	KUNIT_EXPECT_ERRNO(test, NULL, 0);
	KUNIT_ASSERT_ERRNO(test, failing_with(ENOMEM), ENOMEM);
}

/* ---- Checks that fail ------------------------------------------------- */

static void each_family_fails(struct kunit *test)
{
	struct kunit_process proc;

	DEMO(test, &proc, "--filter=demo_expect");
	KUNIT_EXPECT_EQ(test, count_in(proc.out, "EXPECTATION FAILED at"), 32);
	KUNIT_EXPECT_EQ(test, count_in(proc.out, "ASSERTION FAILED at"), 32);
	KUNIT_EXPECT_EQ(test, count_in(proc.out, "went on"), 32);
	KUNIT_EXPECT_EQ(test, count_in(proc.out, ": message 5\n"), 32);
	EXPECT_NOT_IN(test, proc.out, "not reached");
	EXPECT_IN(test, proc.out, "0 passed, 64 failed, 0 skipped\n");

	EXPECT_IN(test, proc.out,
		  "    Expected one > two to be true, but is false\n");
	EXPECT_IN(test, proc.out,
		  "# expects:     Expected two <= one, but\n"
		  "        # expects:         two == 2 (0x2)\n"
		  "        # expects:         one == 1 (0x1)\n");
	EXPECT_IN(test, proc.out, "# expects:         nothing == 0x0\n");
	EXPECT_IN(test, proc.out,
		  "Expected left == right, but 1 of 4 bytes differ, "
		  "first byte 2\n");
	EXPECT_IN(test, proc.out, "01   02  <09>  04");
}

static void values_are_printed(struct kunit *test)
{
	struct kunit_process proc;

	DEMO(test, &proc, "--filter=demo_values");
	EXPECT_NOT_IN(test, proc.out, "not reached");
	EXPECT_IN(test, proc.out, "FAILED at tests/kunit_demo_expect.c:");
	EXPECT_IN(test, proc.out, "-one == -1 (0xffffffffffffffff)\n");
	EXPECT_IN(test, proc.out, "1u == 1 (0x1)\n");
	EXPECT_IN(test, proc.out,
		  "most == 18446744073709551615 (0xffffffffffffffff)\n");
	EXPECT_NOT_IN(test, proc.out, "# numbers:         -1 ==");
	EXPECT_IN(test, proc.out, "half == 0.5\n");
	EXPECT_IN(test, proc.out, "text == \"what it is\"\n");
	EXPECT_IN(test, proc.out, "no_text == NULL\n");
	EXPECT_IN(test, proc.out, "errno == 12 (");
	EXPECT_IN(test, proc.out, "to contain \"owner\", but\n");
}

/* ---- Life of a case --------------------------------------------------- */

static void each_kind_of_case(struct kunit *test)
{
	struct kunit_process proc;

	DEMO(test, &proc, "--filter=demo");
	EXPECT_ORDER(test, proc.out,
		"KTAP version 1\n1..1\n    KTAP version 1\n",
		"    # Subtest: demo\n    1..7\n",
		"    ok 1 passes\n",
		"    # fails: EXPECTATION FAILED at tests/kunit_demo.c:",
		"    # fails: in round 7\n",
		"    # fails: printed by the case\n",
		"    # fails: printed on standard error\n",
		"    not ok 2 fails\n",
		"    ok 3 skips # SKIP this machine _ has no reason\n",
		"    # crashes: about to abort\n",
		"    # crashes: killed by signal 6 (SIGABRT, ",
		"    # crashes: last words\n",
		"    not ok 4 crashes\n",
		"    # exits: exited with status 0 in this case\n",
		"    not ok 5 exits\n",
		"    not ok 6 hangs # TIMEOUT\n",
		"        KTAP version 1\n        # Subtest: takes_sizes\n",
		"        ok 1 size 64\n",
		"        not ok 2 size 0\n",
		"        not ok 3 size 4096\n",
		"    # takes_sizes: pass:1 fail:2 skip:0 total:3\n",
		"    not ok 7 takes_sizes\n",
		"# Totals: pass:2 fail:6 skip:1 total:9\nnot ok 1 demo\n",
		"2 passed, 6 failed, 1 skipped\n");
	EXPECT_NOT_IN(test, proc.out, "nobody needs to see this");
	EXPECT_NOT_IN(test, proc.out, "not reached");
}

static void actions_run_in_reverse(struct kunit *test)
{
	struct kunit_process proc;

	DEMO(test, &proc, "--filter=demo_life");
	EXPECT_ORDER(test, proc.out,
		"aborts: init\n", "aborts: body\n", "on purpose\n",
		"aborts: exit\n", "in an action\n", "second action\n",
		"first action\n");
	EXPECT_NOT_IN(test, proc.out, "a removed action was called");
}

static void note_call(void *arg)
{
	*(bool *)arg = true;
}

static void action_can_be_released_early(struct kunit *test)
{
	bool *called = kunit_kzalloc(test, sizeof(*called));

	KUNIT_EXPECT_FALSE(test, *called);
	kunit_add_action(test, note_call, called);
	kunit_release_action(test, note_call, called);
	KUNIT_EXPECT_TRUE(test, *called);
	*called = false;
	kunit_release_action(test, note_call, called);
	KUNIT_EXPECT_FALSE(test, *called);
}

static void failed_init_fails_the_case(struct kunit *test)
{
	struct kunit_process proc;

	DEMO(test, &proc, "--filter=demo_init");
	EXPECT_IN(test, proc.out, "# must_not_run: init failed (-12)\n");
	EXPECT_IN(test, proc.out, "# must_not_run: exit\n");
	EXPECT_NOT_IN(test, proc.out, "ran without its init");
}

static void suite_fails_outside_its_cases(struct kunit *test)
{
	struct kunit_process proc;

	DEMO(test, &proc, "--filter=demo_suite_init");
	EXPECT_IN(test, proc.out, "    # h: suite_init failed (-19)\n");
	EXPECT_IN(test, proc.out, "\n0 passed, 8 failed, 0 skipped\n");

	DEMO(test, &proc, "--filter=demo_suite_init_crash");
	EXPECT_IN(test, proc.out, "(SIGABRT, Aborted) in suite_init\n");
	EXPECT_IN(test, proc.out, "\n0 passed, 8 failed, 0 skipped\n");

	DEMO(test, &proc, "--filter=demo_suite_exit_crash");
	EXPECT_IN(test, proc.out, "(SIGABRT, Aborted) in suite_exit\n");
	EXPECT_IN(test, proc.out, "\n8 passed, 1 failed, 0 skipped\n");

	DEMO(test, &proc, "--filter=demo_suite_leak");
	EXPECT_IN(test, proc.out, "exited with status 23 at exit");
	EXPECT_IN(test, proc.out, "# demo_suite_leak: found a leak\n");
	EXPECT_IN(test, proc.out, "\n8 passed, 1 failed, 0 skipped\n");

	DEMO(test, &proc, "--filter=demo_suite_report");
	EXPECT_IN(test, proc.out, "came in suite_exit\n");
	EXPECT_IN(test, proc.out, "\n8 passed, 1 failed, 0 skipped\n");
}

static void threads_and_forks_may_check(struct kunit *test)
{
	struct kunit_process proc;

	DEMO(test, &proc, "--filter=demo_threads");
	EXPECT_IN(test, proc.out, "# has_threads: expected in a thread\n");
	EXPECT_IN(test, proc.out, "# has_threads: asserted in a thread\n");
	EXPECT_IN(test, proc.out, "# forks: in a child\n");
	EXPECT_IN(test, proc.out, "a process that the case forked returned\n");
	EXPECT_NOT_IN(test, proc.out, "not reached");
	KUNIT_EXPECT_EQ(test, count_in(proc.out, "went on"), 3);
	EXPECT_IN(test, proc.out, "\n0 passed, 3 failed, 0 skipped\n");
}

static void skip_and_fail_together(struct kunit *test)
{
	struct kunit_process proc;

	DEMO(test, &proc, "--filter=demo_verdicts");
	EXPECT_IN(test, proc.out,
		  "    # marked_skipped: went on\n"
		  "    ok 1 marked_skipped # SKIP marked in two lines\n");
	EXPECT_IN(test, proc.out, "    not ok 2 failed_and_skipped\n");
	EXPECT_IN(test, proc.out, "    ok 3 passes # SKIP no parameters\n");
}

static void output_cannot_break_the_stream(struct kunit *test)
{
	struct kunit_process proc;

	DEMO(test, &proc, "--filter=demo_nasty");
	EXPECT_IN(test, proc.out, "        not ok 1 param-0\n");
	EXPECT_IN(test, proc.out, "        not ok 2 param-1\n");
	EXPECT_IN(test, proc.out, "        not ok 3 a_b _ SKIP c\n");
	EXPECT_IN(test, proc.out, "        not ok 4 two lines\n");
	EXPECT_IN(test, proc.out, "        # prints: ok 1 x\n");
	EXPECT_IN(test, proc.out, "# prints: \\x1b[31mred\\x01\n");
	KUNIT_EXPECT_EQ(test, count_in(proc.out, "no newline at the end\n"), 7);
}

static const int tens[] = { 10, 20, 30 };

KUNIT_ARRAY_PARAM(tens, tens, NULL)

static void param_and_its_index(struct kunit *test)
{
	const int *ten = test->param_value;

	KUNIT_EXPECT_EQ(test, *ten, 10 * (test->param_index + 1));
}

static void memory_is_zeroed(struct kunit *test)
{
	static const u8 zeros[1000];

	KUNIT_EXPECT_MEMEQ(test, kunit_kzalloc(test, 1000), zeros, 1000);
	memset(kunit_kmalloc(test, 1000), 1, 1000);
	KUNIT_EXPECT_NOT_NULL(test, kunit_kmalloc(test, 0));
}

static int runs_in_this_process;

static int count_run(struct kunit *test)
{
	runs_in_this_process++;
	test->priv = &runs_in_this_process;
	return 0;
}

static void isolated_is_alone(struct kunit *test)
{
	KUNIT_EXPECT_PTR_EQ(test, test->priv, &runs_in_this_process);
	KUNIT_EXPECT_EQ(test, runs_in_this_process, 1);
}

/* ---- Static stubs ----------------------------------------------------- */

int kunit_test_twice(int n);

int kunit_test_twice(int n)
{
	STATIC_STUB_REDIRECT(kunit_test_twice, n);
	return 2 * n;
}

static int thrice(int n)
{
	return 3 * n;
}

/* Runs after the action that removes the stub, which was added later. */
static void expect_no_stub(void *arg)
{
	struct kunit *test = arg;

	KUNIT_EXPECT_EQ(test, kunit_test_twice(5), 10);
}

static void *expect_stub(void *arg)
{
	struct kunit *test = arg;

	KUNIT_EXPECT_EQ(test, kunit_test_twice(5), 15);
	return NULL;
}

static void stub_replaces_and_goes(struct kunit *test)
{
	pthread_t thread;

	KUNIT_EXPECT_EQ(test, kunit_test_twice(5), 10);
	kunit_add_action(test, expect_no_stub, test);
	kunit_activate_static_stub(test, kunit_test_twice, thrice);
	KUNIT_EXPECT_EQ(test, kunit_test_twice(5), 15);
	KUNIT_ASSERT_EQ(test, pthread_create(&thread, NULL, expect_stub, test),
			0);
	pthread_join(thread, NULL);

	kunit_deactivate_static_stub(test, kunit_test_twice);
	KUNIT_EXPECT_EQ(test, kunit_test_twice(5), 10);
	kunit_activate_static_stub(test, kunit_test_twice, thrice);
}

/* ---- Reports ---------------------------------------------------------- */

static void report(enum report_kind kind, const char *headline)
{
	static struct report r;

	report_start(&r, kind, "kunit", "%s", headline);
	report_end(&r);
}

static void expected_reports_are_kept(struct kunit *test)
{
	const char *first;

	KUNIT_EXPECT_STREQ(test, kunit_report_text(test), "");
	kunit_expect_report(test, REPORT_LOST);
	kunit_expect_report(test, REPORT_DOUBLE_FREE);
	kunit_expect_report(test, REPORT_LOST);

	report(REPORT_LOST, "the first");
	first = kunit_report_text(test);
	KUNIT_EXPECT_REPORT_HAS(test, "BUG slabdev kunit: the first");
	report(REPORT_DOUBLE_FREE, "the second");
	KUNIT_ASSERT_REPORT_HAS(test, "the second");
	KUNIT_EXPECT_EQ(test, kunit_report_count(test, REPORT_LOST), 1);
	report(REPORT_LOST, "the third");
	KUNIT_EXPECT_EQ(test, kunit_report_count(test, REPORT_LOST), 2);
	KUNIT_EXPECT_EQ(test, kunit_report_count(test, REPORT_LOCK), 0);
	KUNIT_EXPECT_NOT_NULL(test, strstr(first, "the first"));
}

static void other_reports_fail(struct kunit *test)
{
	struct kunit_process proc;

	DEMO(test, &proc, "--filter=demo_reports");
	EXPECT_ORDER(test, proc.out,
		"# unexpected: unexpected report (double-free):\n",
		"# unexpected: BUG slabdev demo: came unasked\n",
		"# unexpected: a second line\n",
		"    not ok 1 unexpected\n",
		"# another_kind: BUG slabdev demo: is of another kind\n",
		"reports expected (double-free): 1, but came: 0\n",
		"    not ok 2 another_kind\n",
		"# one_too_many: BUG slabdev demo: is one too many\n",
		"    not ok 3 one_too_many\n",
		"reports expected (lost): 2, but came: 1\n",
		"    not ok 4 missing\n",
		"    # warns: log: a warning\n",
		"    ok 5 warns\n");
	EXPECT_NOT_IN(test, proc.out, "is the one expected");
	EXPECT_NOT_IN(test, proc.out, "of little interest");
}

static const struct kunit_case kunit_cases[] = {
	KUNIT_CASE(each_family_holds),
	KUNIT_CASE(numbers_of_mixed_types),
	KUNIT_CASE(operands_are_evaluated_once),
	KUNIT_CASE(errno_holds),
	KUNIT_CASE(each_family_fails),
	KUNIT_CASE(values_are_printed),
	KUNIT_CASE_SLOW(each_kind_of_case),
	KUNIT_CASE(actions_run_in_reverse),
	KUNIT_CASE(action_can_be_released_early),
	KUNIT_CASE(failed_init_fails_the_case),
	KUNIT_CASE(suite_fails_outside_its_cases),
	KUNIT_CASE(threads_and_forks_may_check),
	KUNIT_CASE(skip_and_fail_together),
	KUNIT_CASE(output_cannot_break_the_stream),
	KUNIT_CASE_PARAM(param_and_its_index, tens_gen_params),
	KUNIT_CASE(memory_is_zeroed),
	KUNIT_CASE_ISOLATED(isolated_is_alone),
	KUNIT_CASE(stub_replaces_and_goes),
	KUNIT_CASE(expected_reports_are_kept),
	KUNIT_CASE(other_reports_fail),
	{}
};

static const struct kunit_suite kunit_suite = {
	.name = "kunit",
	.init = count_run,
	.cases = kunit_cases,
};

kunit_test_suite(kunit_suite);
