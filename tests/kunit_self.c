// SPDX-License-Identifier: BSD-2-Clause
/* kunit_self.c - runs the runner, see kunit_self.h. */
#include "tests/kunit_self.h"

#include <stdio.h>

#include "tests/ktap_check.h"

#define ARGS_MAX 8

void run_self(struct kunit *test, struct kunit_process *proc,
	      const char *const *args)
{
	const char *argv[ARGS_MAX + 2] = { kunit_self(test) };

	for (int i = 0; i < ARGS_MAX && args[i]; i++)
		argv[i + 1] = args[i];
	kunit_run_program(test, proc, argv);
}

void check_stream(struct kunit *test, const struct kunit_process *proc)
{
	struct ktap_verdicts v;
	const char *last;
	char closing[80];

	if (!ktap_check(proc->out, &v)) {
		kunit_show_process(test, proc);
		KUNIT_FAIL_AND_ABORT(test, "line %u breaks the rule '%s'",
				     v.line, ktap_rule_text(v.rule));
	}
	snprintf(closing, sizeof(closing), "%u passed, %u failed, %u skipped\n",
		 v.passed, v.failed, v.skipped);
	last = strstr(proc->out, closing);
	KUNIT_ASSERT_NOT_NULL(test, last);
	KUNIT_EXPECT_STREQ(test, last, closing);
	KUNIT_EXPECT_EQ(test, count_in(v.rest, "# failed: "), v.failed);
	KUNIT_EXPECT_EQ(test, count_in(v.rest, "\n"), v.failed + 1);
	KUNIT_EXPECT_EQ(test, proc->exit_code, v.failed || !v.passed);
	KUNIT_EXPECT_STREQ(test, proc->err, "");
}

unsigned int count_in(const char *text, const char *part)
{
	unsigned int nr = 0;

	for (; (text = strstr(text, part)); text += strlen(part))
		nr++;
	return nr;
}

void expect_order(struct kunit *test, const char *text,
		  const char *const *parts)
{
	for (; *parts; parts++) {
		const char *found = strstr(text, *parts);

		KUNIT_ASSERT_NOT_NULL_MSG(test, found,
					  "lacks, or not in its place: %s",
					  *parts);
		text = found + strlen(*parts);
	}
}
