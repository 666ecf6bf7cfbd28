/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * docs_page.h - pages of the documentation, line by line and block by block
 *
 * A block is an example when it is marked: in Markdown by the word "example"
 * after the language, in reStructuredText by ":class: example" below the
 * directive. All text lives as long as the case.
 */
#ifndef TESTS_DOCS_PAGE_H
#define TESTS_DOCS_PAGE_H

#include "tests/kunit/kunit.h"

/* kunit_source_path() of a pattern, or of what may not be there. */
char *docs_path(struct kunit *test, const char *name);

char *docs_read_file(struct kunit *test, const char *path);
/* All files of the tree that match one of @patterns, one after the other. */
char *docs_read(struct kunit *test, const char *const *patterns);
/* One file of the tree. */
char *docs_read_one(struct kunit *test, const char *name);

/* A text from @next on; @line is the nr-th line, without its newline. */
struct docs_lines {
	const char *next;
	unsigned int nr;
	char line[1024];
};
bool docs_next_line(struct kunit *test, struct docs_lines *l);

enum docs_language { DOCS_SHELL, DOCS_C, DOCS_CXX };

struct docs_example {
	enum docs_language language;
	unsigned int line;	/* of the page */
	char *text;
};
/* The next one, and @l after it; false when there is no more. */
bool docs_next_example(struct kunit *test, struct docs_lines *l,
		       struct docs_example *e);

#endif /* TESTS_DOCS_PAGE_H */
