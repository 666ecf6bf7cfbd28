// SPDX-License-Identifier: BSD-2-Clause
/*
 * folder.c - a folder for the files that a case makes.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/folder.h"

static void remove_folder(void *folder)
{
	char command[PATH_MAX + 16];

	snprintf(command, sizeof(command), "rm -rf '%s'", (char *)folder);
	if (system(command))
		fprintf(stderr, "%s is left\n", (char *)folder);
}

char *new_folder(struct kunit *test)
{
	const char *tmp = getenv("TMPDIR");
	char *folder = kunit_kzalloc(test, PATH_MAX);

	snprintf(folder, PATH_MAX, "%s/slabdev-XXXXXX", tmp ? tmp : "/tmp");
	KUNIT_ASSERT_NOT_NULL(test, mkdtemp(folder));
	kunit_add_action(test, remove_folder, folder);
	return folder;
}
