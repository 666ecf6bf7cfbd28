// SPDX-License-Identifier: BSD-2-Clause
/*
 * report.c - reports, put together on the caller's stack.
 *
 * The text holds whole lines only, each ended by '\n'; the end takes the last
 * one off. TAIL_ROOM is kept free for the line that counts what was cut, so a
 * report can always be ended.
 *
 * Once a line did not fit no later one is added either, even if it would: a
 * report with a hole in it misleads.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "core/os.h"
#include "core/report_policy.h"

#define RULE_WIDTH 77
#define TAIL_ROOM 64
#define BUG "BUG slabdev "

static const char *const kind_names[] = {
	[REPORT_INVALID_POINTER] = "invalid-pointer",
	[REPORT_DOUBLE_FREE] = "double-free",
	[REPORT_WRONG_CACHE] = "wrong-cache",
	[REPORT_LIVE_OBJECTS] = "live-objects",
	[REPORT_OUT_OF_MEMORY] = "out-of-memory",
	[REPORT_LOST] = "lost",
	[REPORT_CORRUPT] = "corrupt",
	[REPORT_DEAD] = "dead",
	[REPORT_CAPTURE] = "capture",
	[REPORT_STEADY] = "steady",
	[REPORT_HAZARD] = "hazard",
	[REPORT_SIZE] = "size-mismatch",
	[REPORT_RED_ZONE] = "red-zone",
	[REPORT_POISON] = "use-after-free",
	[REPORT_GUARD] = "guard",
	[REPORT_LOCK] = "lock",
};
static_assert(ARRAY_SIZE(kind_names) == REPORT_NR_KINDS, "a name a kind");

const char *report_kind_name(enum report_kind kind)
{
	if ((unsigned int)kind >= REPORT_NR_KINDS)
		return "unknown";
	return kind_names[kind];
}

/* Add a line whose formatted text begins with @prefix. */
static void __printf(3, 0) add_line(struct report *r, const char *prefix,
				    const char *fmt, va_list args)
{
	size_t room = REPORT_TEXT_MAX - TAIL_ROOM - r->len;
	char *at = r->text + r->len;
	size_t prefix_len = strlen(prefix);
	int n;

	if (r->lines_cut || prefix_len >= room)
		goto cut;
	memcpy(at, prefix, prefix_len);
	n = vsnprintf(at + prefix_len, room - prefix_len, fmt, args);
	if (n < 0 || prefix_len + (size_t)n + 1 >= room)
		goto cut;
	at[prefix_len + (size_t)n] = '\n';
	r->len += (u32)(prefix_len + (size_t)n + 1);
	r->text[r->len] = '\0';
	return;

cut:
	*at = '\0';
	r->lines_cut++;
}

static void add_rule(struct report *r, char c)
{
	memset(r->text + r->len, c, RULE_WIDTH);
	r->len += RULE_WIDTH;
	r->text[r->len++] = '\n';
	r->text[r->len] = '\0';
}

void report_start(struct report *r, enum report_kind kind, const char *space,
		  const char *fmt, ...)
{
	char prefix[128];
	va_list args;

	memset(r, 0, offsetof(struct report, text));
	r->kind = kind;
	r->time = os_monotonic_ns();
	add_rule(r, '=');
	snprintf(prefix, sizeof(prefix), BUG "%s: ", space);
	r->space_at = r->len + (u32)strlen(BUG);
	r->headline_at = r->len + (u32)strlen(prefix);
	va_start(args, fmt);
	add_line(r, prefix, fmt, args);
	va_end(args);
	if (!r->lines_cut) {
		r->space_len = r->headline_at - r->space_at -
			       (u32)strlen(": ");
		r->headline_len = r->len - r->headline_at - 1;
		add_rule(r, '-');
	}
	r->body_at = r->len;
}

void report_line(struct report *r, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	add_line(r, "", fmt, args);
	va_end(args);
}

void report_distance(struct report *r, u64 bytes, const char *where)
{
	report_line(r, "%llu byte%s %s", (unsigned long long)bytes,
		    bytes == 1 ? "" : "s", where);
}

void report_end(struct report *r)
{
	if (r->lines_cut)
		r->len += (u32)snprintf(r->text + r->len, TAIL_ROOM,
					"(lines that did not fit: %u)\n",
					r->lines_cut);
	r->text[--r->len] = '\0';
	report_deliver(r);
}
