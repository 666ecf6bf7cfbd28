/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ktap_check.h - is a text KTAP that the kernel's kunit_parser.py accepts?
 *
 * Written from the rules below, not from the printer in kunit/ktap.c, so that
 * one can test the other. The parser forgives some of it silently and loses
 * tests in doing so; here the first broken rule is an error.
 */
#ifndef TESTS_KTAP_CHECK_H
#define TESTS_KTAP_CHECK_H

enum ktap_rule {
	KTAP_RULE_NONE,
	/* The first line ends in "KTAP version 1". */
	KTAP_RULE_VERSION,
	/* What precedes that on the first line stands on every line. */
	KTAP_RULE_PREFIX,
	/* "# Subtest: NAME" is the line after a nested version line. */
	KTAP_RULE_SUBTEST,
	/* A plan "1..N" precedes the tests of a level. */
	KTAP_RULE_PLAN,
	/* N is not 0. */
	KTAP_RULE_EMPTY,
	/* Exactly N tests follow. */
	KTAP_RULE_COUNT,
	/* They are numbered 1 to N in this order. */
	KTAP_RULE_NUMBER,
	/* "ok N NAME" or "not ok N NAME", then nothing or " # COMMENT". */
	KTAP_RULE_RESULT,
	/* The directive to skip is "SKIP", in capitals. */
	KTAP_RULE_SKIP,
	/* The result after a subtest carries the subtest's name. */
	KTAP_RULE_NAME,
	/* No test is named like the subtest that it belongs to. */
	KTAP_RULE_CLASH,
	/* A subtest with a failed test has failed. */
	KTAP_RULE_PARENT,
	/* The lines of a subtest are indented alike, deeper than its result. */
	KTAP_RULE_INDENT,
	/* Free text begins with '#' and looks like nothing else. */
	KTAP_RULE_LOG,
	/* No line holds a phrase at which the parser stops. */
	KTAP_RULE_STOP,
};

/**
 * struct ktap_verdicts - what a text says
 * @passed: tests without subtests that are ok
 * @failed: that are not, and subtests that failed without a failed test
 * @skipped: that were skipped
 * @rule: the first broken rule, or KTAP_RULE_NONE
 * @line: the line that broke it, from 1
 * @rest: what follows the last test
 */
struct ktap_verdicts {
	unsigned int passed;
	unsigned int failed;
	unsigned int skipped;
	enum ktap_rule rule;
	unsigned int line;
	const char *rest;
};

/* Returns true when no rule is broken. */
bool ktap_check(const char *text, struct ktap_verdicts *verdicts);

const char *ktap_rule_text(enum ktap_rule rule);

#endif /* TESTS_KTAP_CHECK_H */
