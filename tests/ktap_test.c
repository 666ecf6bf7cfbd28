// SPDX-License-Identifier: BSD-2-Clause
/*
 * ktap_test.c - the checker of KTAP, on texts that are right and wrong.
 *
 * Each wrong text differs from a right one in one place, and breaks one rule:
 * a checker without that rule would accept it.
 */
#include <stdio.h>

#include "tests/kunit/kunit.h"
#include "tests/ktap_check.h"

struct sample {
	const char *desc;
	const char *text;
	enum ktap_rule rule;
	unsigned int line;
};

static void sample_desc(const struct sample *sample, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", sample->desc);
}

/* ---- Texts that break no rule ----------------------------------------- */

static const struct sample good[] = {
	{ .desc = "one suite", .text =
	  "KTAP version 1\n"
	  "1..1\n"
	  "    KTAP version 1\n"
	  "    # Subtest: s\n"
	  "    1..3\n"
	  "    ok 1 a\n"
	  "    # b: what went wrong\n"
	  "    not ok 2 b\n"
	  "    ok 3 c # SKIP no reason\n"
	  "# s: pass:1 fail:1 skip:1 total:3\n"
	  "not ok 1 s\n"
	  "1 passed, 1 failed, 1 skipped\n" },
	{ .desc = "nested", .text =
	  "KTAP version 1\n"
	  "# a diagnostic\n"
	  "1..2\n"
	  "    KTAP version 1\n"
	  "    # Subtest: s\n"
	  "    # s: another\n"
	  "    1..1\n"
	  "        KTAP version 1\n"
	  "        # Subtest: a\n"
	  "        1..1\n"
	  "        ok 1 - s\n"
	  "    ok 1 a\n"
	  "ok 1 s\n"
	  "not ok 2 leaf # TIMEOUT 3 s\n"
	  "# trailing\n"
	  "1 passed, 1 failed, 0 skipped\n" },
	{ .desc = "a prefix", .text =
	  "log: KTAP version 1\n"
	  "log: 1..2\n"
	  "log: ok 1 a\n"
	  "log: not ok 2 b # SKIP\n"
	  "log: # only a comment: ok 3 c\n" },
	{ .desc = "a suite that failed by itself", .text =
	  "KTAP version 1\n"
	  "1..1\n"
	  "    KTAP version 1\n"
	  "    # Subtest: s\n"
	  "    1..1\n"
	  "    ok 1 a\n"
	  "    # s: exited with status 23\n"
	  "not ok 1 s\n" },
};

KUNIT_ARRAY_PARAM(good, good, sample_desc)

static void accepts(struct kunit *test)
{
	const struct sample *sample = test->param_value;
	struct ktap_verdicts v;

	KUNIT_EXPECT_TRUE_MSG(test, ktap_check(sample->text, &v),
			      "line %u, rule %s", v.line,
			      ktap_rule_text(v.rule));
}

/* ---- Texts that break one --------------------------------------------- */

#define OPENING "KTAP version 1\n1..1\n"
#define SUBTEST "    KTAP version 1\n    # Subtest: s\n"

static const struct sample bad[] = {
	{ "nothing", "", KTAP_RULE_VERSION, 0 },
	{ "another version", "KTAP version 2\n1..1\nok 1 a\n",
	  KTAP_RULE_VERSION, 1 },
	{ "text after the version", "KTAP version 1 !\n1..1\nok 1 a\n",
	  KTAP_RULE_VERSION, 1 },
	{ "prefix missing", "x: KTAP version 1\nx: 1..1\nok 1 a\n",
	  KTAP_RULE_PREFIX, 3 },
	{ "diagnostic before the subtest's name",
	  OPENING "    KTAP version 1\n    # module: m\n    # Subtest: s\n"
	  "    1..1\n    ok 1 a\nok 1 s\n", KTAP_RULE_SUBTEST, 4 },
	{ "no plan", "KTAP version 1\nok 1 a\n", KTAP_RULE_PLAN, 2 },
	{ "no plan in a subtest", OPENING SUBTEST "    ok 1 a\nok 1 s\n",
	  KTAP_RULE_PLAN, 5 },
	{ "empty plan", "KTAP version 1\n1..0\n", KTAP_RULE_EMPTY, 2 },
	{ "empty plan in a subtest", OPENING SUBTEST "    1..0\nok 1 s\n",
	  KTAP_RULE_EMPTY, 5 },
	{ "end before the plan's", "KTAP version 1\n1..2\nok 1 a\n",
	  KTAP_RULE_COUNT, 3 },
	{ "parent before the plan's end",
	  OPENING SUBTEST "    1..2\n    ok 1 a\nok 1 s\n",
	  KTAP_RULE_COUNT, 7 },
	{ "more than the plan", "KTAP version 1\n1..1\nok 1 a\nok 2 b\n",
	  KTAP_RULE_COUNT, 4 },
	{ "more than the plan in a subtest",
	  OPENING SUBTEST "    1..1\n    ok 1 a\n    ok 2 b\nok 1 s\n",
	  KTAP_RULE_COUNT, 7 },
	{ "number left out", "KTAP version 1\n1..2\nok 1 a\nok 3 b\n",
	  KTAP_RULE_NUMBER, 4 },
	{ "numbers from 0", OPENING "ok 0 a\n", KTAP_RULE_NUMBER, 3 },
	{ "no number", OPENING "ok a\n", KTAP_RULE_RESULT, 3 },
	{ "no name", OPENING "ok 1\n", KTAP_RULE_RESULT, 3 },
	{ "comment without blanks", OPENING "ok 1 a #SKIP\n",
	  KTAP_RULE_RESULT, 3 },
	{ "number sign in the name", OPENING "ok 1 a#b\n",
	  KTAP_RULE_RESULT, 3 },
	{ "skip in small letters", OPENING "ok 1 a # skip no GPU\n",
	  KTAP_RULE_SKIP, 3 },
	{ "another name", OPENING SUBTEST "    1..1\n    ok 1 a\nok 1 t\n",
	  KTAP_RULE_NAME, 7 },
	{ "no result for the subtest", OPENING SUBTEST "    1..1\n    ok 1 a\n",
	  KTAP_RULE_NAME, 6 },
	{ "a case named like its suite",
	  OPENING SUBTEST "    1..2\n    ok 1 a\n    ok 2 s\nok 1 s\n",
	  KTAP_RULE_CLASH, 7 },
	{ "a parameter named like its case",
	  OPENING SUBTEST "    1..1\n        KTAP version 1\n"
	  "        # Subtest: a\n        1..1\n        ok 1 a\n"
	  "    ok 1 a\nok 1 s\n", KTAP_RULE_CLASH, 9 },
	{ "ok with a failed test",
	  OPENING SUBTEST "    1..1\n    not ok 1 a\nok 1 s\n",
	  KTAP_RULE_PARENT, 7 },
	{ "test not indented",
	  OPENING SUBTEST "    1..1\nok 1 a\nok 1 s\n",
	  KTAP_RULE_INDENT, 6 },
	{ "result indented like its tests",
	  OPENING SUBTEST "    1..1\n    ok 1 a\n    ok 1 s\n",
	  KTAP_RULE_INDENT, 7 },
	{ "plain text", "KTAP version 1\n1..2\nok 1 a\nhello\nok 2 b\n",
	  KTAP_RULE_LOG, 4 },
	{ "a plan in the log", "KTAP version 1\n1..2\nok 1 a\n1..7\nok 2 b\n",
	  KTAP_RULE_LOG, 4 },
	{ "a subtest in the log",
	  "KTAP version 1\n1..2\nok 1 a\n# Subtest: x\nok 2 b\n",
	  KTAP_RULE_LOG, 4 },
	{ "a plan after a subtest's tests",
	  OPENING SUBTEST "    1..1\n    ok 1 a\n    1..1\nok 1 s\n",
	  KTAP_RULE_LOG, 7 },
	{ "a kernel's last words",
	  OPENING "# a: reboot: System halted\nok 1 a\n", KTAP_RULE_STOP, 3 },
};

KUNIT_ARRAY_PARAM(bad, bad, sample_desc)

static void refuses(struct kunit *test)
{
	const struct sample *sample = test->param_value;
	struct ktap_verdicts v;

	KUNIT_EXPECT_FALSE(test, ktap_check(sample->text, &v));
	KUNIT_EXPECT_STREQ(test, ktap_rule_text(v.rule),
			   ktap_rule_text(sample->rule));
	KUNIT_EXPECT_EQ(test, v.line, sample->line);
}

/* Goal: no rule is there without a text that only it refuses. */
static void has_a_text_for_each_rule(struct kunit *test)
{
	for (int rule = KTAP_RULE_NONE + 1; rule <= KTAP_RULE_STOP; rule++) {
		bool found = false;

		for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
			found |= bad[i].rule == (enum ktap_rule)rule;
		KUNIT_EXPECT_TRUE_MSG(test, found, "rule %s",
				      ktap_rule_text((enum ktap_rule)rule));
	}
}

static void counts_verdicts(struct kunit *test)
{
	struct ktap_verdicts v;

	KUNIT_ASSERT_TRUE(test, ktap_check(good[0].text, &v));
	KUNIT_EXPECT_EQ(test, v.passed, 1);
	KUNIT_EXPECT_EQ(test, v.failed, 1);
	KUNIT_EXPECT_EQ(test, v.skipped, 1);
	KUNIT_EXPECT_STREQ(test, v.rest, "1 passed, 1 failed, 1 skipped\n");

	KUNIT_ASSERT_TRUE(test, ktap_check(good[3].text, &v));
	KUNIT_EXPECT_EQ(test, v.passed, 1);
	KUNIT_EXPECT_EQ(test, v.failed, 1);
}

static const struct kunit_case ktap_cases[] = {
	KUNIT_CASE_PARAM(accepts, good_gen_params),
	KUNIT_CASE_PARAM(refuses, bad_gen_params),
	KUNIT_CASE(has_a_text_for_each_rule),
	KUNIT_CASE(counts_verdicts),
	{}
};

static const struct kunit_suite ktap_suite = {
	.name = "ktap",
	.cases = ktap_cases,
};

kunit_test_suite(ktap_suite);
