// SPDX-License-Identifier: BSD-2-Clause
/* report_json.c - see report_json.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/report_json.h"

#define NO_CHARACTER 0xfffdu

/* Locking: none, it is the caller's. Its buffer is long enough by design; what
 * would not fit all the same is left out. */
struct writer {
	char *at;
	size_t room;	/* with the final zero */
};

static void __printf(2, 3) put(struct writer *w, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(w->at, w->room, fmt, args);
	va_end(args);
	if (n < 0 || (size_t)n >= w->room) {
		*w->at = '\0';
		return;
	}
	w->at += n;
	w->room -= (size_t)n;
}

/* ---- UTF-8 ------------------------------------------------------------ */

/* How many bytes the character that begins with @c has, and the bits of it. */
static size_t lead_bits(unsigned char c, u32 *bits)
{
	if (c < 0xc0 || c >= 0xf8)
		return 0;
	if (c < 0xe0) {
		*bits = c & 0x1f;
		return 2;
	}
	if (c < 0xf0) {
		*bits = c & 0xf;
		return 3;
	}
	*bits = c & 0x7;
	return 4;
}

/* Too long for what it says, half of a pair, or beyond the last one. */
static bool is_bad(u32 c, size_t n)
{
	static const u32 least[] = { 0, 0, 0x80, 0x800, 0x10000 };

	return c < least[n] || (c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff;
}

/* The character at @text, of @len bytes that are left: bytes taken. */
static size_t take_character(const char *text, size_t len, u32 *character)
{
	size_t n = lead_bits((unsigned char)*text, character), i;

	if (!n || n > len)
		goto none;
	for (i = 1; i < n; i++) {
		unsigned char c = (unsigned char)text[i];

		if ((c & 0xc0) != 0x80)
			goto none;
		*character = *character << 6 | (c & 0x3f);
	}
	if (is_bad(*character, n))
		goto none;
	return n;

none:
	*character = NO_CHARACTER;
	return 1;
}

static void put_character(struct writer *w, u32 c)
{
	if (c < 0x10000) {
		put(w, "\\u%04x", c);
		return;
	}
	c -= 0x10000;
	put(w, "\\u%04x\\u%04x", 0xd800 | c >> 10, 0xdc00 | (c & 0x3ff));
}

/* ---- Strings and the line --------------------------------------------- */

static void put_string(struct writer *w, const char *text, size_t len)
{
	u32 character;
	size_t i = 0;

	put(w, "\"");
	while (i < len) {
		unsigned char c = (unsigned char)text[i];

		if (c >= 0x80) {
			i += take_character(text + i, len - i, &character);
			put_character(w, character);
			continue;
		}
		i++;
		if (c == '"' || c == '\\')
			put(w, "\\%c", c);
		else if (c < ' ' || c == 0x7f)
			put(w, "\\u%04x", c);
		else
			put(w, "%c", c);
	}
	put(w, "\"");
}

void report_json_string(char *buf, size_t room, const char *text)
{
	struct writer w = { .at = buf, .room = room };

	put_string(&w, text, strlen(text));
}

static void put_lines(struct writer *w, const struct report *r)
{
	/* The end has taken the last line's newline away. */
	const char *line = r->text + r->body_at, *end = r->text + r->len + 1;
	size_t len;

	put(w, ",\"lines\":[");
	while (line < end) {
		len = strcspn(line, "\n");
		put_string(w, line, len);
		line += len + 1;
		if (line < end)
			put(w, ",");
	}
	put(w, "]");
}

void report_json(char *buf, const struct report *r,
		 const struct report_moment *m)
{
	struct writer w = { .at = buf, .room = REPORT_JSON_MAX };

	put(&w, "{\"kind\":\"%s\",\"space\":", report_kind_name(r->kind));
	put_string(&w, r->text + r->space_at, r->space_len);
	put(&w, ",\"headline\":");
	put_string(&w, r->text + r->headline_at, r->headline_len);
	put_lines(&w, r);
	put(&w, ",\"time\":%llu.%09llu,\"pid\":%d,\"tid\":%d,\"left_out\":%u}",
	    (unsigned long long)(m->time_ns / 1000000000),
	    (unsigned long long)(m->time_ns % 1000000000), m->pid, m->tid,
	    m->left_out);
}
