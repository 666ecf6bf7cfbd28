// SPDX-License-Identifier: BSD-2-Clause
/*
 * syntax_json.c - whether a text is JSON.
 */
#include <ctype.h>
#include <string.h>

#include "tests/syntax.h"

#define DEEPEST 16
#define MOST_KEYS 128

struct parser {
	const char *at;
	const char *wrong;
	int depth;
};

static bool fail(struct parser *p, const char *why)
{
	if (!p->wrong)
		p->wrong = why;
	return false;
}

static bool skip(struct parser *p, char c)
{
	if (*p->at != c)
		return false;
	p->at++;
	return true;
}

static bool escape(struct parser *p)
{
	int i;

	if (!skip(p, 'u')) {
		if (!*p->at || !strchr("\"\\/bfnrt", *p->at))
			return fail(p, "an escape that does not exist");
		p->at++;
		return true;
	}
	for (i = 0; i < 4; i++, p->at++)
		if (!isxdigit((unsigned char)*p->at))
			return fail(p, "\\u without four digits");
	return true;
}

static bool string(struct parser *p)
{
	if (!skip(p, '"'))
		return fail(p, "no string");
	while (!skip(p, '"')) {
		unsigned char c = (unsigned char)*p->at;

		if (c < ' ' || c > '~')
			return fail(p, "a byte that must be escaped");
		p->at++;
		if (c == '\\' && !escape(p))
			return false;
	}
	return true;
}

static bool digits(struct parser *p)
{
	if (!isdigit((unsigned char)*p->at))
		return fail(p, "no digit");
	while (isdigit((unsigned char)*p->at))
		p->at++;
	return true;
}

static bool number(struct parser *p)
{
	skip(p, '-');
	if (!skip(p, '0') && !digits(p))
		return false;
	if (skip(p, '.') && !digits(p))
		return false;
	if (!skip(p, 'e') && !skip(p, 'E'))
		return true;
	if (!skip(p, '+'))
		skip(p, '-');
	return digits(p);
}

static bool word(struct parser *p, const char *text)
{
	size_t n = strlen(text);

	if (strncmp(p->at, text, n))
		return fail(p, "no value");
	p->at += n;
	return true;
}

static bool value(struct parser *p);

/* A key of the object that was there before, quotes included. */
static bool is_known(const char *const *keys, size_t nr, size_t n)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (!strncmp(keys[i], keys[nr], n))
			return true;
	return false;
}

static bool object(struct parser *p)
{
	const char *keys[MOST_KEYS];
	size_t nr;

	if (skip(p, '}'))
		return true;
	for (nr = 0; nr < MOST_KEYS; nr++) {
		keys[nr] = p->at;
		if (!string(p))
			return false;
		if (is_known(keys, nr, (size_t)(p->at - keys[nr])))
			return fail(p, "a key twice");
		if (!skip(p, ':'))
			return fail(p, "no colon");
		if (!value(p))
			return false;
		if (skip(p, '}'))
			return true;
		if (!skip(p, ','))
			return fail(p, "no comma in an object");
	}
	return fail(p, "more keys than anybody expects");
}

static bool array(struct parser *p)
{
	if (skip(p, ']'))
		return true;
	do
		if (!value(p))
			return false;
	while (skip(p, ','));
	return skip(p, ']') || fail(p, "no comma in an array");
}

static bool nested(struct parser *p, bool (*what)(struct parser *p))
{
	bool ok;

	if (p->depth == DEEPEST)
		return fail(p, "too deep");
	p->depth++;
	ok = what(p);
	p->depth--;
	return ok;
}

static bool value(struct parser *p)
{
	if (skip(p, '{'))
		return nested(p, object);
	if (skip(p, '['))
		return nested(p, array);
	switch (*p->at) {
	case '"': return string(p);
	case 't': return word(p, "true");
	case 'f': return word(p, "false");
	case 'n': return word(p, "null");
	default: return number(p);
	}
}

const char *json_wrong(const char *text, const char **where)
{
	struct parser p = { .at = text };

	if (value(&p) && (!skip(&p, '\n') || *p.at))
		fail(&p, "no newline, or something after it");
	*where = p.at;
	return p.wrong;
}
