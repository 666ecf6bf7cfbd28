/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * docs_names.h - pages, and the names on them.
 */
#ifndef TESTS_DOCS_NAMES_H
#define TESTS_DOCS_NAMES_H

#include <unistd.h>

#include "tests/docs_page.h"

#define TOKEN_MAX 256

struct page {
	const char *name;
	int nr_examples;
};

static inline bool begins_with(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

/*
 * Is the file in the tree? Programs are built, and need not be: their folder
 * must be there.
 */
static inline bool path_exists(struct kunit *test, const char *token)
{
	char *path = docs_path(test, token);
	bool built = begins_with(token, "tools/") ||
		     begins_with(token, "samples/") ||
		     begins_with(token, "tests/gpu/");

	if (built && !strchr(token, '.'))
		*strrchr(path, '/') = '\0';
	return !access(path, F_OK);
}

/* The cases of the suite that are in docs_names.c. */
void names_exist(struct kunit *test);

#endif /* TESTS_DOCS_NAMES_H */
