// SPDX-License-Identifier: BSD-2-Clause
/*
 * explore_test.c - every order of steps in which threads hand something over
 *
 * tests/explore runs scenarios of two or three threads in all schedules within
 * bounds, on the library's own code (tests/explore/explore.h). Here are the
 * bounds, and the proof that it would notice: with one thing of the protocol
 * broken, it has to find a schedule that fails, and that schedule has to fail
 * again.
 */
#include <stdio.h>

#include "tests/kunit/kunit.h"
#include "tests/program.h"

#define ARG_MAX_SIZE 64

struct bounds {
	const char *scenario;
	u32 preemptions, delays;
	const char *broken;	/* NULL: nothing is */
};

static void describe_bounds(const struct bounds *b, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s%s%s, preemptions %u, "
		 "delays %u", b->scenario, b->broken ? " without " : "",
		 b->broken ? b->broken : "", b->preemptions, b->delays);
}

/* About a millisecond a run where nothing else runs, and a thousand runs. */
static const struct bounds checked[] = {
	{ "steal", 1, 1, NULL },
	{ "steal-refill", 1, 0, NULL },
	{ "steal-flush", 1, 0, NULL },
	{ "thieves", 1, 0, NULL },
	{ "refused", 1, 0, NULL },
	{ "policy", 1, 0, NULL },
	{ "barn", 2, 0, NULL },
	{ "barn-takers", 1, 0, NULL },
	{ "barn-trim", 1, 0, NULL },
	{ "slabs", 2, 0, NULL },
	{ "begin", 1, 0, NULL },
	{ "end-steal", 1, 0, NULL },
	{ "end-end", 1, 0, NULL },
	{ "end-close", 1, 0, NULL },
	{ "destroy-trim", 1, 0, NULL },
	{ "destroy-end", 1, 0, NULL },
	{ "destroy-evict", 1, 0, NULL },
	{ "twice", 3, 0, NULL },
};

/* Up to some minutes each. */
static const struct bounds checked_long[] = {
	{ "steal", 2, 1, NULL },
	{ "steal-refill", 2, 0, NULL },
	{ "steal-flush", 2, 0, NULL },
	{ "thieves", 2, 0, NULL },
	{ "refused", 2, 0, NULL },
	{ "policy", 2, 0, NULL },
	{ "barn", 3, 1, NULL },
	{ "barn-takers", 2, 1, NULL },
	{ "barn-trim", 2, 0, NULL },
	{ "slabs", 3, 1, NULL },
	{ "begin", 2, 0, NULL },
	{ "end-steal", 2, 0, NULL },
	{ "end-end", 2, 0, NULL },
	{ "end-close", 2, 0, NULL },
	{ "destroy-trim", 2, 0, NULL },
	{ "destroy-end", 2, 0, NULL },
	{ "destroy-evict", 2, 0, NULL },
};

static const struct bounds broken[] = {
	{ "steal", 1, 1, "barrier" },
	{ "thieves", 1, 0, "busy" },
	{ "steal", 1, 0, "busy" },
	{ "steal", 1, 0, "sentinel" },
	{ "steal", 1, 0, "exchange" },
	{ "steal-refill", 1, 0, "exchange" },
	{ "end-steal", 1, 0, "exchange" },
	{ "policy", 0, 0, "bypass" },
	{ "policy", 1, 1, "barrier" },
	{ "barn", 2, 0, "barn" },
	{ "barn-takers", 1, 0, "barn" },
	{ "barn-trim", 1, 0, "barn" },
	{ "slabs", 1, 0, "class" },
	{ "thieves", 1, 0, "heaps" },
	{ "end-steal", 1, 0, "heaps" },
	{ "end-end", 1, 0, "heaps" },
	{ "end-close", 1, 0, "registry" },
	{ "destroy-trim", 1, 0, "visit" },
	{ "destroy-end", 1, 0, "visit" },
	{ "destroy-evict", 1, 0, "visit" },
	{ "twice", 1, 0, "tag" },
};
KUNIT_ARRAY_PARAM(checked, checked, describe_bounds)
KUNIT_ARRAY_PARAM(checked_long, checked_long, describe_bounds)
KUNIT_ARRAY_PARAM(broken, broken, describe_bounds)

/* ---- Running it ------------------------------------------------------- */

struct args {
	char preemptions[ARG_MAX_SIZE], delays[ARG_MAX_SIZE];
	char what[ARG_MAX_SIZE];
};

static void explore(struct kunit *test, struct program *p,
		    const struct bounds *b)
{
	struct args a;
	const char *argv[] = { "tests/explore/explore", a.preemptions,
			       a.delays, a.what, b->scenario, NULL };

	snprintf(a.preemptions, ARG_MAX_SIZE, "--preemptions=%u",
		 b->preemptions);
	snprintf(a.delays, ARG_MAX_SIZE, "--delays=%u", b->delays);
	snprintf(a.what, ARG_MAX_SIZE, "--break=%s",
		 b->broken ? b->broken : "nothing");
	program_run(test, p, argv, NULL);
	KUNIT_EXPECT_STREQ(test, p->err, "");
}

/* What the output has after @label on its line. */
static char *text_behind(struct kunit *test, const char *out,
			 const char *label)
{
	const char *at = strstr(out, label);
	char *text;
	size_t len;

	KUNIT_ASSERT_NOT_NULL_MSG(test, at, "no %sin: %s", label, out);
	at += strlen(label);
	len = strcspn(at, "\n");
	text = kunit_kzalloc(test, len + 1);
	memcpy(text, at, len);
	return text;
}

/* ---- Cases ------------------------------------------------------------ */

static void expect_no_failure(struct kunit *test)
{
	struct program p;

	explore(test, &p, test->param_value);
	KUNIT_EXPECT_EQ_MSG(test, p.status, 0, "%s", p.out);
	kunit_info(test, "%s", program_last_line(test, p.out));
}

static void no_schedule_fails(struct kunit *test)
{
	expect_no_failure(test);
}

static void no_schedule_fails_long(struct kunit *test)
{
	expect_no_failure(test);
}

/*
 * It fails as often as the schedule is repeated. How a run ends that follows a
 * wild pointer depends on where the kernel has put things.
 */
static void expect_repeatable(struct kunit *test, const struct bounds *b,
			      const char *out)
{
	const char *schedule = text_behind(test, out, "schedule: ");
	char *replay = kunit_kzalloc(test, strlen(schedule) + 16);
	char what[ARG_MAX_SIZE];
	const char *argv[] = { "tests/explore/explore", replay, what,
			       b->scenario, NULL };
	struct program p;

	sprintf(replay, "--replay=%s", schedule);
	snprintf(what, ARG_MAX_SIZE, "--break=%s", b->broken);
	program_run(test, &p, argv, NULL);
	KUNIT_EXPECT_EQ_MSG(test, p.status, 1, "%s", p.out);
	KUNIT_EXPECT_NULL_MSG(test, strstr(p.out, "did not come about"),
			      "%s\n%s", out, p.out);
}

static void mistake_is_found(struct kunit *test)
{
	const struct bounds *b = test->param_value;
	struct program p;

	explore(test, &p, b);
	KUNIT_ASSERT_EQ_MSG(test, p.status, 1, "%s", p.out);
	kunit_info(test, "%s", text_behind(test, p.out, "reason: "));
	expect_repeatable(test, b, p.out);
}

static const struct kunit_case explore_cases[] = {
	KUNIT_CASE_PARAM(no_schedule_fails, checked_gen_params,
			 .timeout_s = 120),
	KUNIT_CASE_PARAM(mistake_is_found, broken_gen_params,
			 .timeout_s = 120),
	KUNIT_CASE_PARAM(no_schedule_fails_long, checked_long_gen_params,
			 .timeout_s = 3600, .is_long = true),
	{}
};

static const struct kunit_suite explore_suite = {
	.name = "explore",
	.cases = explore_cases,
};
kunit_test_suite(explore_suite);
