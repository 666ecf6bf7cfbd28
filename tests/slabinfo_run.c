// SPDX-License-Identifier: BSD-2-Clause
/*
 * slabinfo_run.c - run slabinfo on one process and look at what it said
 */
#include "tests/slabinfo_run.h"

#include <stdio.h>

#include "tests/syntax.h"

const char *decimal(struct kunit *test, pid_t pid)
{
	char *text = kunit_kzalloc(test, 16);

	snprintf(text, 16, "%d", (int)pid);
	return text;
}

void expect_text(struct kunit *test, const char *text, const char *part)
{
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, part),
				  "\"%s\" is not in\n%s", part, text);
}

void expect_no_text(struct kunit *test, const char *text, const char *part)
{
	KUNIT_EXPECT_NULL_MSG(test, strstr(text, part), "\"%s\" is in\n%s",
			      part, text);
}

void expect_in_order(struct kunit *test, const char *text,
		  const char *const *parts)
{
	for (; *parts; parts++) {
		text = strstr(text, *parts);
		KUNIT_ASSERT_NOT_NULL_MSG(test, text, "%s comes too early",
					  *parts);
	}
}

void expect_readable(struct kunit *test, const char *view, const char *text)
{
	const char *where = text, *why;

	if (!strcmp(view, "--json"))
		why = json_wrong(text, &where);
	else if (!strcmp(view, "--prometheus"))
		why = prometheus_wrong(text, &where);
	else
		why = print_wrong(text, false, &where);
	KUNIT_EXPECT_NULL_MSG(test, why, "%s: %s: %.60s", view, why, where);
}

void expect_survived(struct kunit *test, const struct program *p,
		     const char *view)
{
	KUNIT_EXPECT_TRUE_MSG(test, p->status == 0 || p->status == 1 ||
			      p->status == 3, "%s: %d %s", view, p->status,
			      p->err);
	KUNIT_EXPECT_EQ_MSG(test, !p->status, !*p->err, "%d %s", p->status,
			    p->err);
	expect_readable(test, view, p->out);
	expect_readable(test, "", p->err);
}
