// SPDX-License-Identifier: BSD-2-Clause
/*
 * check.c - what EXPECT and ASSERT call.
 *
 * A check that holds costs a comparison. One that fails writes its account
 * into a note on the stack, sends it, and leaves the case when it is fatal.
 */
#include <stdarg.h>
#include <stdio.h>

#include "tests/kunit/internal.h"

static const char *const op_text[] = {
	[KUNIT_OP_EQ] = "==", [KUNIT_OP_NE] = "!=",
	[KUNIT_OP_LT] = "<",  [KUNIT_OP_LE] = "<=",
	[KUNIT_OP_GT] = ">",  [KUNIT_OP_GE] = ">=",
};

/* The path inside the project, wherever it was compiled. */
static const char *short_path(const char *path)
{
	const char *found = NULL;

	for (const char *p = path; (p = strstr(p, "/tests/")); p++)
		found = p + 1;
	return found ? found : path;
}

static void note_start(struct note *note, const struct kunit_site *site)
{
	note->len = 0;
	note_addf(note, "%s FAILED at %s:%d\n",
		  site->fatal ? "ASSERTION" : "EXPECTATION",
		  short_path(site->file), site->line);
}

static void note_send(struct kunit *test, const struct kunit_site *site,
		      struct note *note, const char *fmt, va_list args)
{
	if (fmt) {
		note_addf(note, "\n");
		note_vaddf(note, fmt, args);
	}
	run_fail(test->run, note->data);
	if (site->fatal)
		run_abort(test->run);
}

void kunit_check_fail(struct kunit *test, const struct kunit_site *site,
		      const char *fmt, ...)
{
	struct note note;
	va_list args;

	va_start(args, fmt);
	note_start(&note, site);
	note_vaddf(&note, fmt, args);
	note_send(test, site, &note, NULL, args);
	va_end(args);
}

void kunit_check_bool(struct kunit *test, const struct kunit_site *site,
		      bool value, bool wanted, const char *fmt, ...)
{
	struct note note;
	va_list args;

	if (likely(value == wanted))
		return;
	va_start(args, fmt);
	note_start(&note, site);
	note_addf(&note, "    Expected %s to be %s, but is %s", site->left,
		  wanted ? "true" : "false", value ? "true" : "false");
	note_send(test, site, &note, fmt, args);
	va_end(args);
}

static int sign_of(const struct kunit_value *v)
{
	return v->kind == KUNIT_SIGNED && v->s < 0 ? -1 : 1;
}

static unsigned long long bits_of(const struct kunit_value *v)
{
	if (v->kind == KUNIT_POINTER)
		return (uintptr_t)v->p;
	return v->kind == KUNIT_SIGNED ? (unsigned long long)v->s : v->u;
}

static double float_of(const struct kunit_value *v)
{
	if (v->kind == KUNIT_FLOAT)
		return v->f;
	return sign_of(v) < 0 ? (double)v->s : (double)bits_of(v);
}

/*
 * Two numbers of the same sign are ordered as their bits are, in two's
 * complement; of different sign, by the sign. A NaN is only unequal.
 */
static bool relation_holds(enum kunit_op op, const struct kunit_value *l,
			   const struct kunit_value *r)
{
	bool equal, less;

	if (l->kind == KUNIT_FLOAT || r->kind == KUNIT_FLOAT) {
		equal = float_of(l) == float_of(r);
		less = float_of(l) < float_of(r);
		if (!equal && !less && !(float_of(l) > float_of(r)))
			return op == KUNIT_OP_NE;
	} else if (sign_of(l) != sign_of(r)) {
		equal = false;
		less = sign_of(l) < sign_of(r);
	} else {
		equal = bits_of(l) == bits_of(r);
		less = bits_of(l) < bits_of(r);
	}
	switch (op) {
	case KUNIT_OP_EQ:
		return equal;
	case KUNIT_OP_NE:
		return !equal;
	case KUNIT_OP_LT:
		return less;
	case KUNIT_OP_LE:
		return less || equal;
	case KUNIT_OP_GT:
		return !less && !equal;
	default:
		return !less;
	}
}

/* A literal needs no line that says what its value is. */
static void note_value(struct note *note, const char *text,
		       const struct kunit_value *v)
{
	char number[64];

	switch (v->kind) {
	case KUNIT_SIGNED:
		snprintf(number, sizeof(number), "%lld", v->s);
		break;
	case KUNIT_UNSIGNED:
		snprintf(number, sizeof(number), "%llu", v->u);
		break;
	case KUNIT_FLOAT:
		snprintf(number, sizeof(number), "%.17g", v->f);
		break;
	case KUNIT_POINTER:
		if (!strcmp(text, "NULL"))
			return;
		note_addf(note, "\n        %s == 0x%llx", text, bits_of(v));
		return;
	}
	if (!strcmp(text, number))
		return;
	note_addf(note, "\n        %s == %s", text, number);
	if (v->kind != KUNIT_FLOAT)
		note_addf(note, " (0x%llx)", bits_of(v));
}

static void note_expected(struct note *note, const struct kunit_site *site)
{
	note_start(note, site);
	note_addf(note, "    Expected %s %s %s, but", site->left,
		  op_text[site->op], site->right);
}

void kunit_check_values(struct kunit *test, const struct kunit_site *site,
			struct kunit_value left, struct kunit_value right,
			const char *fmt, ...)
{
	struct note note;
	va_list args;

	if (likely(relation_holds(site->op, &left, &right)))
		return;
	va_start(args, fmt);
	note_expected(&note, site);
	note_value(&note, site->left, &left);
	note_value(&note, site->right, &right);
	note_send(test, site, &note, fmt, args);
	va_end(args);
}

#define STRING_SHOWN 160

/* The part of @s around byte @at, on one line. */
static void note_excerpt(struct note *note, const char *s, size_t at)
{
	size_t from = at < STRING_SHOWN / 2 ? 0 : at - STRING_SHOWN / 2;
	size_t to = from + strnlen(s + from, STRING_SHOWN);

	note_addf(note, from ? "...\"" : "\"");
	for (size_t i = from; i < to; i++)
		note_addf(note, s[i] == '\n' ? "\\n" : "%c", s[i]);
	note_addf(note, s[to] ? "\"..." : "\"");
}

/* A literal that is shown whole in the first line is not shown again. */
static void note_string(struct note *note, const char *text, const char *s,
			size_t at)
{
	size_t len = strlen(text);

	if (!s) {
		note_addf(note, "\n        %s == NULL", text);
		return;
	}
	if (len >= 2 && strlen(s) == len - 2 && !strncmp(text + 1, s, len - 2))
		return;
	note_addf(note, "\n        %s == ", text);
	note_excerpt(note, s, at);
}

static void note_strings(struct note *note, const struct kunit_site *site,
			 const char *left, const char *right)
{
	size_t at = 0;

	while (left && right && left[at] && left[at] == right[at])
		at++;
	if (site->op == KUNIT_OP_EQ && at > STRING_SHOWN / 2)
		note_addf(note, " they differ at byte %zu", at);
	note_string(note, site->left, left, at);
	note_string(note, site->right, right, at);
}

void kunit_check_str(struct kunit *test, const struct kunit_site *site,
		     const char *left, const char *right, const char *fmt, ...)
{
	bool equal = left && right ? !strcmp(left, right) : left == right;
	struct note note;
	va_list args;

	if (likely(equal == (site->op == KUNIT_OP_EQ)))
		return;
	va_start(args, fmt);
	note_expected(&note, site);
	note_strings(&note, site, left, right);
	note_send(test, site, &note, fmt, args);
	va_end(args);
}

#define DUMP_ROW ((size_t)16)

/* The row of @p that holds byte @at; bytes that differ from @q in <>. */
static void note_bytes(struct note *note, const char *text, const u8 *p,
		       const u8 *q, size_t size, size_t at)
{
	size_t from = at - at % DUMP_ROW;
	size_t to = min(from + DUMP_ROW, size);

	note_addf(note, "\n        %s [%zu..%zu] ==", text, from, to - 1);
	for (size_t i = from; i < to; i++)
		note_addf(note, p[i] == q[i] ? "  %02x " : " <%02x>", p[i]);
}

static void note_mem(struct note *note, const struct kunit_site *site,
		     const u8 *left, const u8 *right, size_t size)
{
	size_t at = 0, differ = 0;

	if (!left || !right) {
		note_addf(note, "\n        %s == %p\n        %s == %p",
			  site->left, (const void *)left, site->right,
			  (const void *)right);
		return;
	}
	for (size_t i = size; i-- > 0;) {
		if (left[i] == right[i])
			continue;
		at = i;
		differ++;
	}
	if (differ)
		note_addf(note, " %zu of %zu bytes differ, first byte %zu",
			  differ, size, at);
	else
		note_addf(note, " all %zu bytes are equal", size);
	if (!size)
		return;
	note_bytes(note, site->left, left, right, size, at);
	note_bytes(note, site->right, right, left, size, at);
}

void kunit_check_mem(struct kunit *test, const struct kunit_site *site,
		     const void *left, const void *right, size_t size,
		     const char *fmt, ...)
{
	struct note note;
	va_list args;

	if (likely(left && right) &&
	    likely(!memcmp(left, right, size) == (site->op == KUNIT_OP_EQ)))
		return;
	va_start(args, fmt);
	note_expected(&note, site);
	note_mem(&note, site, left, right, size);
	note_send(test, site, &note, fmt, args);
	va_end(args);
}

static void check_done(struct kunit *test, const struct kunit_site *site,
		       const struct note *note)
{
	run_fail(test->run, note->data);
	if (site->fatal)
		run_abort(test->run);
}

void kunit_check_errno(struct kunit *test, const struct kunit_site *site,
		       const void *p, int err, int wanted)
{
	struct note note;

	if (likely(!p && err == wanted))
		return;
	note_start(&note, site);
	note_addf(&note, "    Expected %s to be NULL with errno %s, but",
		  site->left, site->right);
	if (p)
		note_addf(&note, "\n        it is %p", p);
	if (err != wanted)
		note_addf(&note, "\n        errno == %d (%s), not %d", err,
			  strerror(err), wanted);
	check_done(test, site, &note);
}

void kunit_check_report(struct kunit *test, const struct kunit_site *site,
			const char *wanted)
{
	const char *text = kunit_report_text(test);
	struct note note;

	if (likely(strstr(text, wanted)))
		return;
	note_start(&note, site);
	note_addf(&note, "    Expected the last report to contain %s, but",
		  site->left);
	if (*text)
		note_addf(&note, "\n        it is\n%s", text);
	else
		note_addf(&note, "\n        none came");
	check_done(test, site, &note);
}
