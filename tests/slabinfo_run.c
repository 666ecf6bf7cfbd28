// SPDX-License-Identifier: BSD-2-Clause
/*
 * slabinfo_run.c - run slabinfo on one process and look at what it said
 */
#include "tests/slabinfo_run.h"

#include <stdio.h>

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
