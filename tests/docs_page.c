// SPDX-License-Identifier: BSD-2-Clause
/* docs_page.c - reading pages of the documentation; see docs_page.h. */
#include "tests/docs_page.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>

#include "tests/kunit/spawn.h"

#define TEXT_MAX (1 << 20)

static void append_file(struct kunit *test, char *text, const char *path)
{
	size_t used = strlen(text), n;
	FILE *f = fopen(path, "re");

	KUNIT_ASSERT_NOT_NULL_MSG(test, f, "%s", path);
	n = fread(text + used, 1, TEXT_MAX - 1 - used, f);
	fclose(f);
	KUNIT_ASSERT_LT_MSG(test, used + n, TEXT_MAX - 1, "%s", path);
	text[used + n] = '\0';
}

char *docs_path(struct kunit *test, const char *name)
{
	char *path = kunit_kzalloc(test, PATH_MAX);

	snprintf(path, PATH_MAX, "%s/%s", kunit_source_path(test, "."), name);
	return path;
}

char *docs_read_file(struct kunit *test, const char *path)
{
	char *text = kunit_kzalloc(test, TEXT_MAX);

	append_file(test, text, path);
	return text;
}

char *docs_read(struct kunit *test, const char *const *patterns)
{
	char *text = kunit_kzalloc(test, TEXT_MAX);
	glob_t found;
	size_t i;

	for (; *patterns; patterns++) {
		KUNIT_ASSERT_EQ_MSG(test, glob(docs_path(test, *patterns), 0,
					       NULL, &found), 0, "%s",
				    *patterns);
		for (i = 0; i < found.gl_pathc; i++)
			append_file(test, text, found.gl_pathv[i]);
		globfree(&found);
	}
	return text;
}

char *docs_read_one(struct kunit *test, const char *name)
{
	return docs_read(test, (const char *const[]){ name, NULL });
}

bool docs_next_line(struct kunit *test, struct docs_lines *l)
{
	size_t len = strcspn(l->next, "\n");

	if (!*l->next)
		return false;
	KUNIT_ASSERT_LT(test, len, sizeof(l->line));
	memcpy(l->line, l->next, len);
	l->line[len] = '\0';
	l->next += len + (l->next[len] == '\n');
	l->nr++;
	return true;
}

static bool language(const char *word, size_t len, enum docs_language *is)
{
	static const char *const names[] = {
		[DOCS_SHELL] = "sh", [DOCS_C] = "c", [DOCS_CXX] = "cpp",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strlen(names[i]) == len && !strncmp(word, names[i], len)) {
			*is = (enum docs_language)i;
			return true;
		}
	return false;
}

/* Is this line, and in a .rst file the next, the start of an example? */
static bool begins(struct kunit *test, struct docs_lines *l,
		   enum docs_language *is)
{
	static const char directive[] = ".. code-block:: ";
	const char *word = l->line + strlen("```");

	if (!strncmp(l->line, "```", 3))
		return language(word, strcspn(word, " "), is) &&
		       !strcmp(word + strcspn(word, " "), " example");
	if (strncmp(l->line, directive, strlen(directive)))
		return false;
	word = l->line + strlen(directive);
	return language(word, strlen(word), is) && docs_next_line(test, l) &&
	       !strcmp(l->line, "   :class: example");
}

bool docs_next_example(struct kunit *test, struct docs_lines *l,
		       struct docs_example *e)
{
	static const char indent[] = "   ";
	bool is_markdown;

	do {
		if (!docs_next_line(test, l))
			return false;
	} while (!begins(test, l, &e->language));
	is_markdown = l->line[0] == '`';
	e->line = l->nr;
	e->text = kunit_kzalloc(test, strlen(l->next) + 2);
	while (docs_next_line(test, l)) {
		const char *line = l->line;

		if (is_markdown && !strcmp(line, "```"))
			break;
		if (!is_markdown && *line) {
			if (strncmp(line, indent, strlen(indent)))
				break;
			line += strlen(indent);
		}
		sprintf(e->text + strlen(e->text), "%s\n", line);
	}
	return true;
}
