// SPDX-License-Identifier: BSD-2-Clause
/* docs_names.c - each name on a page is that of something that exists. */
#include <ctype.h>
#include <stdio.h>

#include "core/param.h"
#include "tests/docs_names.h"

/* What the names on a page are looked up in. */
struct names {
	const char *page;
	const char *interface;	/* public headers, and the parameters */
	const char *headers;	/* of the whole library */
	const char *kconfig;
	const char *goals;
};

/* Is the first word of @name in @text, as a word? */
static bool has_word(const char *text, const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	const char *at = text;
	char word[TOKEN_MAX];

	snprintf(word, sizeof(word), "%.*s", (int)len, name);
	for (; (at = strstr(at, word)); at++) {
		bool open = word[len - 1] == '_';

		if ((at == text || !(isalnum(at[-1]) || at[-1] == '_')) &&
		    (open || !(isalnum(at[len]) || at[len] == '_')))
			return true;
	}
	return false;
}

static bool is_path(const char *token)
{
	return strchr(token, '/') && token[0] != '/' && token[0] != '<' &&
	       !strstr(token, "NAME") &&
	       !token[strspn(token, "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./-")];
}

static bool is_call(const char *token)
{
	size_t len = strspn(token, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return len && !strcmp(token + len, "()");
}

static bool is_not_ours(const char *token)
{
	return !strcmp(token, "assert()") || !strcmp(token, "abort()") ||
	       !strcmp(token, "exit()");
}

static void check_goals(struct kunit *test, const struct names *names,
			const char *words)
{
	char goal[TOKEN_MAX], wanted[TOKEN_MAX + 8];
	int n;

	for (; sscanf(words, " %255[^ ,;`\n]%n", goal, &n) == 1; words += n) {
		if (!strcmp(goal, "&&"))
			break;
		if (strpbrk(goal, "=-'$") || strstr(goal, "NAME") ||
		    !strcmp(goal, "help"))
			continue;
		snprintf(wanted, sizeof(wanted), "\n  %s ", goal);
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(names->goals, wanted),
					  "%s: make %s", names->page, goal);
	}
}

/* One literal of a page: if it looks like a name of ours, it must be one. */
static void check_token(struct kunit *test, const struct names *names,
			const char *token)
{
	bool found = true;

	if (begins_with(token, "make "))
		check_goals(test, names, token + strlen("make "));
	else if (begins_with(token, "slabdev_") ||
		 begins_with(token, "SLABDEV_"))
		found = has_word(names->interface, token);
	else if (begins_with(token, "CONFIG_") && strcmp(token, "CONFIG_X") &&
		 !strstr(token, "NAME"))
		found = has_word(names->kconfig, token + strlen("CONFIG_"));
	else if (is_path(token))
		found = path_exists(test, token);
	else if (is_call(token) && !is_not_ours(token))
		found = has_word(names->headers, token);
	KUNIT_EXPECT_TRUE_MSG(test, found, "%s: there is no %s", names->page,
			      token);
}

static void check_span(struct kunit *test, const struct names *names,
		       const char *from, size_t len)
{
	char token[TOKEN_MAX];

	if (len < 2 || len >= sizeof(token) || memchr(from, '\n', len))
		return;
	memcpy(token, from, len);
	token[len] = '\0';
	check_token(test, names, token);
}

/* `literals`, ``literals``, and [links](path). */
static void check_literals(struct kunit *test, const struct names *names,
			   const char *text)
{
	const char *end;
	size_t ticks;

	while ((text = strpbrk(text, "`]"))) {
		ticks = strspn(text, "`");
		if (ticks == 1 || ticks == 2) {
			text += ticks;
			end = strchr(text, '`');
			if (!end)
				return;
			check_span(test, names, text, (size_t)(end - text));
			text = end + strspn(end, "`");
		} else if (begins_with(text, "](")) {
			text += 2;
			check_span(test, names, text, strcspn(text, ")"));
		} else {
			text += ticks ? ticks : 1;
		}
	}
}

/* Indented lines that begin with make, or end in "&& make GOAL". */
static void check_commands(struct kunit *test, const struct names *names,
			   const char *text)
{
	struct docs_lines l = { .next = text };

	while (docs_next_line(test, &l)) {
		const char *line = l.line + strspn(l.line, " ");
		const char *make = strstr(line, "&& make ");

		if (line < l.line + 3)
			continue;
		if (begins_with(line, "make "))
			check_goals(test, names, line + strlen("make "));
		else if (make)
			check_goals(test, names, make + strlen("&& make "));
	}
}

/* Goal: each file, goal, function, parameter and symbol on a page exists. */
void names_exist(struct kunit *test)
{
	const struct page *page = test->param_value;
	struct names names = {
		.page = page->name,
		.interface = docs_read(test, (const char *const[]){
			"include/slabdev/*.h", "core/param.c",
			"tests/model/model.h", "tests/kunit/kunit.h", NULL }),
		.headers = docs_read(test, (const char *const[]){
			"include/slabdev/*.h", "include/slabdev/*.hpp",
			"core/*.h", "vmm/*.h",
			"slab/*.h", "tests/model/model.h", NULL }),
		.kconfig = docs_read(test, (const char *const[]){
			"*/Kconfig", NULL }),
		.goals = docs_read_one(test, "scripts/help.txt"),
	};
	const char *text = docs_read_one(test, page->name);

	check_literals(test, &names, text);
	check_commands(test, &names, text);
}
