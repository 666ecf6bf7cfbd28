// SPDX-License-Identifier: BSD-2-Clause
/*
 * ktap_check.c - a checker of KTAP streams, see ktap_check.h.
 *
 * Recursive descent over classified lines, one function for a level of tests.
 * As in the kernel's parser the form of a line decides what it is; indentation
 * only tells which of two mistakes was made.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "tests/ktap_check.h"

#define NAME_MAX_LEN 256
#define DEPTH_MAX 16

enum line_kind {
	LINE_END,
	LINE_VERSION,
	LINE_SUBTEST,
	LINE_PLAN,
	LINE_RESULT,
	LINE_BROKEN,	/* would be a result if it were right */
	LINE_MISSPELT,	/* a result whose directive is not quite "SKIP" */
	LINE_DIAG,
	LINE_OTHER,
};

struct line {
	enum line_kind kind;
	unsigned int indent;
	unsigned int number;	/* a result's, or a plan's N */
	bool ok;
	bool skip;
	char name[NAME_MAX_LEN];	/* a result's, or a subtest's */
};

struct checker {
	const char *next;
	size_t prefix_len;
	char prefix[64];
	struct line line;	/* the one to look at */
	struct ktap_verdicts *v;
};

const char *ktap_rule_text(enum ktap_rule rule)
{
	static const char *const texts[] = {
		[KTAP_RULE_NONE] = "none",
		[KTAP_RULE_VERSION] = "version",
		[KTAP_RULE_PREFIX] = "prefix",
		[KTAP_RULE_SUBTEST] = "subtest",
		[KTAP_RULE_PLAN] = "plan",
		[KTAP_RULE_EMPTY] = "empty",
		[KTAP_RULE_COUNT] = "count",
		[KTAP_RULE_NUMBER] = "number",
		[KTAP_RULE_RESULT] = "result",
		[KTAP_RULE_SKIP] = "skip",
		[KTAP_RULE_NAME] = "name",
		[KTAP_RULE_CLASH] = "clash",
		[KTAP_RULE_PARENT] = "parent",
		[KTAP_RULE_INDENT] = "indent",
		[KTAP_RULE_LOG] = "log",
		[KTAP_RULE_STOP] = "stop",
	};

	return texts[rule];
}

static bool broken(struct checker *c, enum ktap_rule rule)
{
	if (c->v->rule == KTAP_RULE_NONE)
		c->v->rule = rule;
	return false;
}

/* ---- Lines ------------------------------------------------------------ */

static const char *after(const char *s, const char *start)
{
	size_t len = strlen(start);

	return strncmp(s, start, len) ? NULL : s + len;
}

static const char *number_in(const char *s, unsigned int *number)
{
	unsigned int n = 0;

	if (!isdigit((unsigned char)*s))
		return NULL;
	for (; isdigit((unsigned char)*s); s++)
		n = n * 10 + (unsigned int)(*s - '0');
	*number = n;
	return s;
}

/* NUMBER " " ["- "] NAME [" # " COMMENT], the NAME without a '#'. */
static enum line_kind classify_result(struct line *line, const char *s)
{
	size_t len;

	s = number_in(s, &line->number);
	if (!s || *s++ != ' ')
		return LINE_BROKEN;
	if (after(s, "- "))
		s += 2;
	len = strcspn(s, "#");
	if (s[len]) {
		if (!len || s[len - 1] != ' ' || s[len + 1] != ' ')
			return LINE_BROKEN;
		line->skip = after(s + len, "# SKIP");
		if (!line->skip && !strncasecmp(s + len, "# skip", 6))
			return LINE_MISSPELT;
		len--;
	}
	if (!len || len >= NAME_MAX_LEN)
		return LINE_BROKEN;
	memcpy(line->name, s, len);
	line->name[len] = '\0';
	return LINE_RESULT;
}

static enum line_kind classify(struct line *line, const char *s)
{
	const char *rest;

	rest = after(s, "KTAP version ");
	if (!rest)
		rest = after(s, "TAP version ");
	if (rest && number_in(rest, &line->number))
		return LINE_VERSION;
	rest = after(s, "# Subtest: ");
	if (rest) {
		snprintf(line->name, sizeof(line->name), "%s", rest);
		return LINE_SUBTEST;
	}
	rest = after(s, "1..");
	if (rest && number_in(rest, &line->number))
		return LINE_PLAN;
	rest = after(s, "ok ");
	line->ok = rest;
	if (!rest)
		rest = after(s, "not ok ");
	if (rest)
		return classify_result(line, rest);
	return *s == '#' ? LINE_DIAG : LINE_OTHER;
}

static bool has_stop_phrase(const char *s)
{
	return strstr(s, "List of all partitions:") ||
	       strstr(s, "Kernel panic - not syncing: VFS:") ||
	       strstr(s, "reboot: System halted");
}

/* Copies the next line without its blank end; false when there is none. */
static bool take_line(struct checker *c, char *text, size_t size)
{
	size_t whole = strcspn(c->next, "\n");
	size_t len = whole;

	if (!*c->next)
		return false;
	while (len && isspace((unsigned char)c->next[len - 1]))
		len--;
	if (len >= size)
		len = size - 1;
	memcpy(text, c->next, len);
	text[len] = '\0';
	c->next += whole + (c->next[whole] == '\n');
	c->v->line++;
	return true;
}

static bool advance(struct checker *c)
{
	char text[1024];
	const char *s = text;

	c->line = (struct line){ .kind = LINE_END };
	if (!take_line(c, text, sizeof(text)))
		return true;
	if (has_stop_phrase(text))
		return broken(c, KTAP_RULE_STOP);
	if (strncmp(text, c->prefix, c->prefix_len))
		return broken(c, KTAP_RULE_PREFIX);
	s += c->prefix_len;
	while (*s == ' ')
		s++;
	c->line.indent = (unsigned int)(s - text - (long)c->prefix_len);
	c->line.kind = classify(&c->line, s);
	if (c->line.kind == LINE_BROKEN)
		return broken(c, KTAP_RULE_RESULT);
	if (c->line.kind == LINE_MISSPELT)
		return broken(c, KTAP_RULE_SKIP);
	return true;
}

/* To the next line that is not a diagnostic. */
static bool advance_past_diags(struct checker *c)
{
	do {
		if (!advance(c))
			return false;
	} while (c->line.kind == LINE_DIAG);
	return true;
}

/* ---- Tests ------------------------------------------------------------ */

static bool check_level(struct checker *c, const char *name,
			unsigned int depth, unsigned int *nr_failed);

static void count(struct checker *c, const struct line *line)
{
	if (line->skip)
		c->v->skipped++;
	else if (line->ok)
		c->v->passed++;
	else
		c->v->failed++;
}

/* The present line is a subtest's version line; ends on its result. */
static bool check_subtest(struct checker *c, unsigned int depth)
{
	unsigned int indent = c->line.indent;
	unsigned int nr_failed = 0;
	char name[NAME_MAX_LEN];

	if (depth == DEPTH_MAX || !advance(c))
		return broken(c, KTAP_RULE_SUBTEST);
	if (c->line.kind != LINE_SUBTEST)
		return broken(c, KTAP_RULE_SUBTEST);
	if (c->line.indent != indent)
		return broken(c, KTAP_RULE_INDENT);
	memcpy(name, c->line.name, sizeof(name));
	if (!check_level(c, name, depth, &nr_failed) ||
	    !advance_past_diags(c))
		return false;

	if (c->line.kind != LINE_RESULT)
		return broken(c, c->line.kind == LINE_END ? KTAP_RULE_NAME :
							    KTAP_RULE_LOG);
	if (strcmp(c->line.name, name))
		return broken(c, c->line.indent == indent ? KTAP_RULE_COUNT :
							    KTAP_RULE_NAME);
	if (c->line.indent >= indent)
		return broken(c, KTAP_RULE_INDENT);
	if (nr_failed && (c->line.ok || c->line.skip))
		return broken(c, KTAP_RULE_PARENT);
	if (!nr_failed && !c->line.ok && !c->line.skip)
		c->v->failed++;
	return true;
}

/* One test of the subtest @name, numbered @number; ends on its result. */
static bool check_test(struct checker *c, const char *name,
		       unsigned int indent, unsigned int number,
		       unsigned int depth)
{
	bool leaf = c->line.kind == LINE_RESULT;

	if (c->line.kind == LINE_END)
		return broken(c, KTAP_RULE_COUNT);
	if (c->line.kind == LINE_VERSION) {
		if (!check_subtest(c, depth + 1))
			return false;
	} else if (!leaf) {
		return broken(c, KTAP_RULE_LOG);
	}
	if (name && !strcmp(c->line.name, name))
		return broken(c, c->line.indent == indent ? KTAP_RULE_CLASH :
							    KTAP_RULE_COUNT);
	if (c->line.indent != indent)
		return broken(c, KTAP_RULE_INDENT);
	if (c->line.number != number)
		return broken(c, KTAP_RULE_NUMBER);
	if (leaf)
		count(c, &c->line);
	return true;
}

/* From the plan to the last test of a level. */
static bool check_level(struct checker *c, const char *name,
			unsigned int depth, unsigned int *nr_failed)
{
	unsigned int nr, indent;

	if (!advance_past_diags(c))
		return false;
	if (c->line.kind != LINE_PLAN)
		return broken(c, KTAP_RULE_PLAN);
	nr = c->line.number;
	indent = c->line.indent;
	if (!nr)
		return broken(c, KTAP_RULE_EMPTY);
	for (unsigned int i = 1; i <= nr; i++) {
		if (!advance_past_diags(c) ||
		    !check_test(c, name, indent, i, depth))
			return false;
		*nr_failed += !c->line.ok && !c->line.skip;
	}
	return true;
}

static bool check_opening(struct checker *c)
{
	static const char version[] = "KTAP version 1";
	const size_t len = sizeof(version) - 1;
	char text[1024];
	size_t got;

	if (!take_line(c, text, sizeof(text)))
		return broken(c, KTAP_RULE_VERSION);
	got = strlen(text);
	if (got < len || strcmp(text + got - len, version) ||
	    got - len >= sizeof(c->prefix))
		return broken(c, KTAP_RULE_VERSION);
	c->prefix_len = got - len;
	memcpy(c->prefix, text, c->prefix_len);
	return true;
}

bool ktap_check(const char *text, struct ktap_verdicts *verdicts)
{
	struct checker c = { .next = text, .v = verdicts };
	unsigned int nr_failed = 0;

	*verdicts = (struct ktap_verdicts){ 0 };
	if (!check_opening(&c) || !check_level(&c, NULL, 0, &nr_failed))
		return false;
	verdicts->rest = c.next;
	do {
		if (!advance(&c))
			return false;
		if (c.line.kind == LINE_RESULT || c.line.kind == LINE_VERSION)
			return broken(&c, KTAP_RULE_COUNT);
	} while (c.line.kind != LINE_END);
	return true;
}
