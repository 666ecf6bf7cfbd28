// SPDX-License-Identifier: BSD-2-Clause
/*
 * ktap.c - prints KTAP version 1 that the kernel's kunit_parser.py accepts.
 *
 * That parser ignores indentation and knows a line by its form alone. So no
 * line of free text may look like a result, a plan or a version: each one
 * begins with "# name: ". It stops at three phrases of a dying kernel wherever
 * they stand, so these are broken. A result's name ends at the first '#'.
 */
#include <ctype.h>
#include <stdio.h>

#include "tests/kunit/runner.h"

static void indent(struct text *out, unsigned int depth)
{
	text_addf(out, "%*s", 4 * (int)depth, "");
}

void ktap_header(struct text *out, unsigned int depth, const char *name,
		 unsigned int nr)
{
	indent(out, depth);
	text_addf(out, "KTAP version 1\n");
	indent(out, depth);
	text_addf(out, "# Subtest: %s\n", name);
	indent(out, depth);
	text_addf(out, "1..%u\n", nr);
}

static void break_phrases(char *line)
{
	static const char *const phrases[] = {
		"List of all partitions:",
		"Kernel panic - not syncing: VFS:",
		"reboot: System halted",
	};

	for (unsigned int i = 0; i < ARRAY_SIZE(phrases); i++)
		for (char *p; (p = strstr(line, phrases[i]));)
			*strchr(p, ' ') = '_';
}

static void add_line(struct text *out, const char *line, size_t len)
{
	size_t from = out->len;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)line[i];

		if (c == '\t' || !iscntrl(c))
			text_add(out, line + i, 1);
		else if (c != '\r')
			text_addf(out, "\\x%02x", c);
	}
	text_add(out, "\n", 1);
	break_phrases(out->data + from);
}

void ktap_diag(struct text *out, unsigned int depth, const char *name,
	       const char *text)
{
	do {
		size_t len = strcspn(text, "\n");

		indent(out, depth);
		text_addf(out, "# %s: ", name);
		add_line(out, text, len);
		text += len + (text[len] == '\n');
	} while (*text);
}

/* A name or a reason: one line, no '#', no blank at an end. */
static void add_phrase(struct text *out, const char *phrase)
{
	size_t len = strlen(phrase);
	size_t from = out->len;

	while (len && isspace((unsigned char)phrase[len - 1]))
		len--;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)phrase[i];
		char plain = c == '#' ? '_' : iscntrl(c) ? ' ' : phrase[i];

		text_add(out, &plain, 1);
	}
	text_add(out, "", 0);
	break_phrases(out->data + from);
}

void ktap_result(struct text *out, const struct ktap_line *line)
{
	const char *directive = line->directive;

	if (line->verdict == KTAP_SKIP)
		directive = "SKIP";
	indent(out, line->depth);
	text_addf(out, "%s %u ", line->verdict == KTAP_FAIL ? "not ok" : "ok",
		  line->number);
	add_phrase(out, line->name);
	if (directive)
		text_addf(out, " # %s", directive);
	if (directive && line->reason && *line->reason) {
		text_add(out, " ", 1);
		add_phrase(out, line->reason);
	}
	text_add(out, "\n", 1);
}

void ktap_counts(struct text *out, unsigned int depth, const char *label,
		 const struct ktap_counts *counts)
{
	const unsigned int *nr = counts->nr;

	indent(out, depth);
	text_addf(out, "# %s: pass:%u fail:%u skip:%u total:%u\n", label,
		  nr[KTAP_OK], nr[KTAP_FAIL], nr[KTAP_SKIP],
		  nr[KTAP_OK] + nr[KTAP_FAIL] + nr[KTAP_SKIP]);
}

void ktap_count_add(struct ktap_counts *to, const struct ktap_counts *from)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(to->nr); i++)
		to->nr[i] += from->nr[i];
}

enum ktap_verdict ktap_parent(const struct ktap_counts *counts)
{
	if (counts->nr[KTAP_FAIL])
		return KTAP_FAIL;
	return counts->nr[KTAP_OK] ? KTAP_OK : KTAP_SKIP;
}
