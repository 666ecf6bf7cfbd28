/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * text.h - text that grows, for the runner; and text that does not, for the
 * code that reports a failure and may not depend on malloc.
 */
#ifndef TESTS_KUNIT_TEXT_H
#define TESTS_KUNIT_TEXT_H

#include <stdarg.h>
#include <stddef.h>

struct text {
	char *data;
	size_t len;
	size_t room;
};

/* Out of memory ends the runner: it could not report anything any more. */
void text_add(struct text *t, const char *data, size_t len);
void text_addf(struct text *t, const char *fmt, ...) __printf(2, 3);
void text_free(struct text *t);

#define NOTE_MAX 4096

struct note {
	size_t len;
	char data[NOTE_MAX];
};

/* What does not fit is cut. */
void note_addf(struct note *n, const char *fmt, ...) __printf(2, 3);
void note_vaddf(struct note *n, const char *fmt, va_list args) __printf(2, 0);

#endif /* TESTS_KUNIT_TEXT_H */
