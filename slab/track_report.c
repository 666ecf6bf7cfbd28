// SPDX-License-Identifier: BSD-2-Clause
/*
 * track_report.c - what is known of an object, in the words of a report.
 *
 * As the kernel's reports have it: who allocated the object, with the stack,
 * and who freed it. Of a live object the free is the one of the life before.
 */
#include <stdio.h>
#include <string.h>

#include "core/depot.h"
#include "core/symbol.h"
#include "slab/track.h"

void stream_name(slabdev_stream_t stream, char text[STREAM_NAME_MAX])
{
	if (!stream)
		snprintf(text, STREAM_NAME_MAX, "CPU");
	else if (stream == SLABDEV_STREAM_LEGACY)
		snprintf(text, STREAM_NAME_MAX, "legacy");
	else if (stream == SLABDEV_STREAM_PER_THREAD)
		snprintf(text, STREAM_NAME_MAX, "per-thread");
	else
		snprintf(text, STREAM_NAME_MAX, "%p", (void *)stream);
}

/* Looking for names takes long: all ages are those when the report began. */
static u64 age_of(const struct report *r, const struct track_event *e)
{
	u64 now = track_time(r->time);

	return now > e->time ? now - e->time : 0;
}

static void tell_event(struct report *r, const char *what,
		       const struct track_event *e, const char *size)
{
	char stream[STREAM_NAME_MAX];
	const void *const *pc = NULL;
	u64 age = age_of(r, e);
	u32 n;

	if (!e->known)
		return;
	stream_name(e->stream, stream);
	report_line(r, "%s by thread %u age %llu.%03llu s stream %s%s:", what,
		    e->tid, (unsigned long long)age / 1000,
		    (unsigned long long)age % 1000, stream, size);
	n = depot_fetch(e->stack, &pc);
	report_stack(r, pc, n, TRACK_FRAMES);
}

void track_tell(struct report *r, struct slabdev *sd, u64 offset)
{
	char size[32];
	struct track t;

	if (!track_find(sd, offset, &t))
		return;
	snprintf(size, sizeof(size), ", size %llu",
		 (unsigned long long)t.size);
	tell_event(r, "Allocated", &t.alloc, size);
	tell_event(r, t.live ? "Freed before that" : "Freed", &t.free, "");
}

/* "a < b < c", the innermost first; what does not fit is left out. */
static void describe_stack(u32 stack, char *text, size_t len)
{
	char name[SYMBOL_TEXT_MAX];
	const void *const *pc = NULL;
	u32 i, n = depot_fetch(stack, &pc);
	size_t at;

	snprintf(text, len, "%s", n ? "" : "an unknown place");
	for (i = 0; i < n && i < TRACK_LINE_FRAMES; i++) {
		symbol_describe(pc[i], name, sizeof(name));
		at = strlen(text);
		snprintf(text + at, len - at, "%s%s", i ? " < " : "", name);
	}
}

void track_describe(const struct report *r, struct slabdev *sd, u64 offset,
		    char text[TRACK_LINE_MAX])
{
	struct track t;
	u64 age;
	int n;

	text[0] = '\0';
	if (!track_find(sd, offset, &t) || !t.alloc.known)
		return;
	age = age_of(r, &t.alloc);
	n = snprintf(text, TRACK_LINE_MAX, "age %llu.%03llu s thread %u in ",
		     (unsigned long long)age / 1000,
		     (unsigned long long)age % 1000, t.alloc.tid);
	describe_stack(t.alloc.stack, text + n, TRACK_LINE_MAX - (size_t)n);
}
