// SPDX-License-Identifier: BSD-2-Clause
/* hazard_report.c - see hazard_report.h. A site is the return address of the
 * call. */
#include <stdio.h>

#include "core/log.h"
#include "core/symbol.h"
#include "slab/hazard_report.h"

#define STREAM_TEXT_MAX 64

struct words {
	char site[SYMBOL_TEXT_MAX];
	char stream[STREAM_TEXT_MAX];
};

static void name_stream(struct hazard_stream s, char *text)
{
	if (s.handle == SLABDEV_HAZARD_HOST)
		snprintf(text, STREAM_TEXT_MAX, "the CPU");
	else if (s.handle == SLABDEV_STREAM_LEGACY)
		snprintf(text, STREAM_TEXT_MAX, "the legacy default stream");
	else if (s.handle == SLABDEV_STREAM_PER_THREAD)
		snprintf(text, STREAM_TEXT_MAX, "the default stream of "
			 "thread %d", (int)s.thread);
	else
		snprintf(text, STREAM_TEXT_MAX, "stream %p", (void *)s.handle);
}

static struct words words_of(const struct deed *d)
{
	struct words w = { .site = "" };

	symbol_describe(d->site, w.site, sizeof(w.site));
	name_stream(d->stream, w.stream);
	return w;
}

/* How @later would come after @earlier. */
static void tell_order(struct report *r, const struct deed *later,
		       const char *what_later, const struct deed *earlier,
		       const char *what_earlier)
{
	struct words l = words_of(later), e = words_of(earlier);

	report_line(r, "missing: order %s behind %s", l.stream, e.stream);
	if (later->stream.handle == SLABDEV_HAZARD_HOST)
		report_line(r, "  (%s synchronized after the %s, before the "
			    "%s)", e.stream, what_earlier, what_later);
	else
		report_line(r, "  (an event recorded in %s after the %s, "
			    "waited for in %s before the %s)", e.stream,
			    what_earlier, l.stream, what_later);
}

static void tell_object(struct report *r, const struct finding *f)
{
	struct words w = words_of(&f->alloc);

	report_line(r, "%s %#llx of %llu bytes",
		    f->is_arena ? "allocation in an arena," : "object",
		    (unsigned long long)f->start,
		    (unsigned long long)f->size);
	report_line(r, "allocated on %s at %s", w.stream, w.site);
}

/* What ends it: "free", or, as one event for many, "rewind". */
static const char *end_of(const struct finding *f)
{
	return f->is_arena ? "rewind" : "free";
}

static void tell_end(struct report *r, const struct finding *f)
{
	struct words d = words_of(&f->free);

	report_line(r, "%s on %s at %s", f->is_arena ? "rewound  " :
		    "freed    ", d.stream, d.site);
}

static void tell_early_access(struct report *r, const struct finding *f)
{
	struct words a = words_of(&f->access);

	tell_object(r, f);
	report_line(r, "accessed  on %s at %s", a.stream, a.site);
	tell_order(r, &f->access, "access", &f->alloc, "allocation");
}

static void tell_early_free(struct report *r, const struct finding *f)
{
	struct words a = words_of(&f->access);

	tell_object(r, f);
	if (!f->by_alloc)
		report_line(r, "accessed  on %s at %s", a.stream, a.site);
	tell_end(r, f);
	tell_order(r, &f->free, end_of(f), &f->access,
		   f->by_alloc ? "allocation" : "access");
	report_line(r, "  or %s, %s) before the %s", f->is_arena ?
		    "slabdev_arena_use(arena" : "slabdev_use(object", a.stream,
		    end_of(f));
	if (f->others)
		report_line(r, "and %u more of what was given back with it",
			    f->others);
}

static void tell_freed_under_graph(struct report *r, const struct finding *f)
{
	struct words a = words_of(&f->access);

	tell_object(r, f);
	report_line(r, "captured  on %s at %s", a.stream, a.site);
	tell_end(r, f);
	if (f->is_arena) {
		report_line(r, "missing: slabdev_graph_release() before the "
			    "rewind");
		return;
	}
	report_line(r, "missing: slabdev_use(object, %s) in the capture",
		    a.stream);
	report_line(r, "  (or slabdev_graph_release() before the free)");
}

static void tell_access_freed(struct report *r, const struct finding *f)
{
	struct words a = words_of(&f->access);

	tell_object(r, f);
	tell_end(r, f);
	report_line(r, "accessed  on %s at %s", a.stream, a.site);
	report_line(r, "missing: the access must be submitted before the %s",
		    end_of(f));
}

static void tell_no_object(struct report *r, const struct finding *f)
{
	struct words a = words_of(&f->access);

	report_line(r, "no object was ever at %#llx",
		    (unsigned long long)f->addr);
	report_line(r, "accessed on %s at %s", a.stream, a.site);
}

static const struct {
	const char *headline;
	const char *of_arena;	/* the same, if other words are needed */
	void (*tell)(struct report *r, const struct finding *f);
} kinds[] = {
	[HAZARD_EARLY_ACCESS] = {
		"Stream hazard: accessed on a stream that is not ordered "
		"behind the allocation", NULL, tell_early_access
	},
	[HAZARD_EARLY_FREE] = {
		"Stream hazard: freed while another stream may still use it",
		"Stream hazard: rewound while another stream may still use it",
		tell_early_free
	},
	[HAZARD_FREED_UNDER_GRAPH] = {
		"Stream hazard: freed while a graph may still use it",
		"Stream hazard: rewound while a graph may still use it",
		tell_freed_under_graph
	},
	[HAZARD_ACCESS_FREED] = {
		"Stream hazard: accessed after the free",
		"Stream hazard: accessed after the rewind", tell_access_freed
	},
	[HAZARD_NO_OBJECT] = {
		"Stream hazard: accessed where there is no object", NULL,
		tell_no_object
	},
};

void hazard_tell(const char *space, const struct finding *f)
{
	const char *headline = kinds[f->kind].headline;
	struct report r;

	if (f->is_arena && kinds[f->kind].of_arena)
		headline = kinds[f->kind].of_arena;
	report_start(&r, REPORT_HAZARD, space, "%s", headline);
	kinds[f->kind].tell(&r, f);
	report_end(&r);
}
