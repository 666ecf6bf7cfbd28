// SPDX-License-Identifier: BSD-2-Clause
/*
 * ptx_lex.c - the tokens of PTX, and how a mistake is told.
 *
 * A text is ASCII, in its comments too. A word that follows a dot at once is
 * one token with it: directives, types, and modifiers.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#include "tests/model/ptx_text.h"

#define SHOWN_MAX 40	/* of a token in a message */

bool ptx_wrong(struct ptx_text *t, u32 line, const char *fmt, ...)
{
	va_list args;
	int n;

	if (t->code)
		return false;
	t->code = CUDA_ERROR_INVALID_PTX;
	n = snprintf(t->why, WHY_MAX, "line %u: ", line);
	va_start(args, fmt);
	vsnprintf(t->why + n, WHY_MAX - (size_t)n, fmt, args);
	va_end(args);
	return false;
}

bool ptx_unexpected(struct ptx_text *t, const char *wanted)
{
	const struct ptx_token *token = &t->token;

	if (token->kind == PTX_END)
		return ptx_wrong(t, token->line, "the text ends, %s wanted",
				 wanted);
	return ptx_wrong(t, token->line, "'%s%.*s', %s wanted",
			 token->kind == PTX_DOT ? "." : "",
			 (int)min(token->n, (size_t)SHOWN_MAX), token->start,
			 wanted);
}

/* ---- Characters ----------------------------------------------------- */

static bool is_name_start(char c)
{
	return isalpha((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

static bool is_name_part(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static bool skip_comment(struct ptx_text *t)
{
	u32 line = t->line;

	for (t->at += 2; *t->at; t->at++) {
		t->line += *t->at == '\n';
		if (t->at[0] == '*' && t->at[1] == '/') {
			t->at += 2;
			return true;
		}
	}
	return ptx_wrong(t, line, "a comment does not end");
}

static bool skip_blanks(struct ptx_text *t)
{
	for (;;) {
		if (t->at[0] == '/' && t->at[1] == '/') {
			while (*t->at && *t->at != '\n')
				t->at++;
		} else if (t->at[0] == '/' && t->at[1] == '*') {
			if (!skip_comment(t))
				return false;
		} else if (*t->at && strchr(" \t\r\n", *t->at)) {
			t->line += *t->at++ == '\n';
		} else {
			return true;
		}
	}
}

/* ---- Tokens --------------------------------------------------------- */

static void take_name(struct ptx_text *t)
{
	t->at++;
	while (is_name_part(*t->at))
		t->at++;
}

static u32 digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return (u32)(c - '0');
	if (isxdigit((unsigned char)c))
		return (u32)(tolower((unsigned char)c) - 'a') + 10;
	return UINT32_MAX;
}

static u32 base_of(const char **at)
{
	const char *s = *at;

	if (s[0] != '0' || !is_name_part(s[1]) || s[1] == 'U')
		return 10;
	if (s[1] == 'x' || s[1] == 'X') {
		*at += 2;
		return 16;
	}
	if (s[1] == 'b' || s[1] == 'B') {
		*at += 2;
		return 2;
	}
	++*at;
	return 8;
}

static bool take_number(struct ptx_text *t)
{
	u32 base = base_of(&t->at);
	const char *digits = t->at;
	u64 v = 0;

	for (; digit_of(*t->at) < base; t->at++)
		if (__builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, digit_of(*t->at), &v))
			return ptx_wrong(t, t->line,
					 "a number has more than 64 bits");
	if (t->at == digits)
		return ptx_wrong(t, t->line, "a number has no digits");
	t->at += *t->at == 'U';
	if (is_name_part(*t->at) || (*t->at == '.' && digit_of(t->at[1]) < 10))
		return ptx_wrong(t, t->line, "no integer");
	t->token.value = v;
	return true;
}

static bool take_token(struct ptx_text *t)
{
	struct ptx_token *token = &t->token;
	char c = *t->at;

	if (c == '.' && isalpha((unsigned char)t->at[1])) {
		token->kind = PTX_DOT;
		token->start = ++t->at;
		take_name(t);
	} else if (is_name_start(c) && is_name_part(t->at[1])) {
		token->kind = PTX_WORD;
		take_name(t);
	} else if (isalpha((unsigned char)c)) {
		token->kind = PTX_WORD;
		t->at++;
	} else if (isdigit((unsigned char)c)) {
		token->kind = PTX_NUMBER;
		if (!take_number(t))
			return false;
	} else if (c > ' ' && c < 127) {
		token->kind = PTX_MARK;
		t->at++;
	} else if (c) {
		return ptx_wrong(t, t->line, "a character %#x",
				 (unsigned char)c);
	}
	token->n = (size_t)(t->at - token->start);
	return true;
}

bool ptx_next(struct ptx_text *t)
{
	if (!skip_blanks(t))
		return false;
	t->token = (struct ptx_token){
		.kind = PTX_END, .start = t->at, .line = t->line,
	};
	return take_token(t);
}

bool ptx_next_version(struct ptx_text *t, u32 *version)
{
	u32 major = 0, digits = 0;

	if (!skip_blanks(t))
		return false;
	for (; digit_of(*t->at) < 10 && digits < 3; t->at++, digits++)
		major = 10 * major + digit_of(*t->at);
	if (!digits || *t->at != '.' || digit_of(t->at[1]) > 9 ||
	    is_name_part(t->at[2]))
		return ptx_wrong(t, t->line, "no version");
	*version = 10 * major + digit_of(t->at[1]);
	t->at += 2;
	return ptx_next(t);
}

/* ---- What the grammar asks ------------------------------------------ */

bool ptx_is_mark(const struct ptx_text *t, char c)
{
	return t->token.kind == PTX_MARK && *t->token.start == c;
}

bool ptx_is_dot(const struct ptx_text *t, const char *name)
{
	return t->token.kind == PTX_DOT && t->token.n == strlen(name) &&
	       !memcmp(t->token.start, name, t->token.n);
}

bool ptx_expect(struct ptx_text *t, char c)
{
	const char wanted[] = { '\'', c, '\'', 0 };

	if (!ptx_is_mark(t, c))
		return ptx_unexpected(t, wanted);
	return ptx_next(t);
}

bool ptx_take_mark(struct ptx_text *t, char c, bool *taken)
{
	*taken = ptx_is_mark(t, c);
	return !*taken || ptx_next(t);
}

bool ptx_take_number(struct ptx_text *t, u64 most, u64 *value)
{
	if (t->token.kind != PTX_NUMBER)
		return ptx_unexpected(t, "a number");
	if (t->token.value > most)
		return ptx_wrong(t, t->token.line,
				 "the number is larger than %llu",
				 (unsigned long long)most);
	*value = t->token.value;
	return ptx_next(t);
}
