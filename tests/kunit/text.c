// SPDX-License-Identifier: BSD-2-Clause
/* text.c - growing and fixed text, see text.h. */
#include "tests/kunit/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_add(struct text *t, const char *data, size_t len)
{
	if (t->room - t->len <= len) {
		size_t room = 2 * (t->len + len) + 256;
		char *grown = realloc(t->data, room);

		if (!grown) {
			fputs("tests/run: out of memory\n", stderr);
			exit(2);
		}
		t->data = grown;
		t->room = room;
	}
	memcpy(t->data + t->len, data, len);
	t->len += len;
	t->data[t->len] = '\0';
}

void text_addf(struct text *t, const char *fmt, ...)
{
	char line[1024];
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (len > 0)
		text_add(t, line, min((size_t)len, sizeof(line) - 1));
}

void text_free(struct text *t)
{
	free(t->data);
	*t = (struct text){ 0 };
}

void note_vaddf(struct note *n, const char *fmt, va_list args)
{
	size_t room = sizeof(n->data) - n->len;
	int len = vsnprintf(n->data + n->len, room, fmt, args);

	if (len > 0)
		n->len += min((size_t)len, room - 1);
}

void note_addf(struct note *n, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	note_vaddf(n, fmt, args);
	va_end(args);
}
