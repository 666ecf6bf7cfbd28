// SPDX-License-Identifier: BSD-2-Clause
/* trace.c - see trace.h. */
#include "core/log.h"
#include "core/symbol.h"
#include "core/thread.h"
#include "slab/trace.h"
#include "slab/track.h"

static void tell(const struct slabdev *sd, const struct class *c,
		 const char *what, u64 offset, u64 size, const struct order *o)
{
	char place[SYMBOL_TEXT_MAX] = "an unknown place";
	char stream[STREAM_NAME_MAX];
	const void *site = thread_self->site;

	if (!log_enabled(LOG_WARN))
		return;
	if (site)
		symbol_describe(site, place, sizeof(place));
	stream_name(o->handle ? o->handle : sd->stream, stream);
	pr_warn("TRACE slabdev %s: %s %s %p size=%llu stream=%s by %s",
		sd->name, what, c ? c->rec->name : "large",
		to_ptr(space_addr(sd, offset)), (unsigned long long)size,
		stream, place);
}

void trace_alloc(const struct slabdev *sd, const struct class *c, u64 offset,
		 u64 size, const struct order *o)
{
	tell(sd, c, "alloc", offset, size, o);
}

void trace_free(const struct slabdev *sd, const struct class *c, u64 offset,
		u64 size, const struct order *o)
{
	tell(sd, c, "free", offset, size, o);
}
