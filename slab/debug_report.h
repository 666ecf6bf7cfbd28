/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * debug_report.h - a damaged object, as the kernel's slab allocator tells it.
 *
 * What was overwritten and where, by whom the object was allocated and freed,
 * its slab, the bytes around the damage, and what was done.
 */
#ifndef SLAB_DEBUG_REPORT_H
#define SLAB_DEBUG_REPORT_H

#include "slab/peek.h"
#include "slab/zone.h"

struct report;

enum found {
	FOUND_FREED,		/* when the object had been freed */
	FOUND_LEAVING,		/* when it left the quarantine */
	FOUND_REUSE,		/* when it was to be handed out again */
	FOUND_RESIZE,		/* when it got another size in place; live */
	FOUND_SLAB,		/* when its slab was given back */
	FOUND_FREE,		/* by a walk, free */
	FOUND_LIVE,		/* by a walk, live: it stays that */
};

void debug_report(struct peek *k, struct class *c, slot_t slot,
		  const struct damage *d, enum found found);

/* A large object: for its zone, or for its poison when it is free. */
struct large_found {
	u64 offset, size;
	u64 from, end;		/* what of it can be read, and is behind it */
	struct damage damage;
	enum found found;
};

/* The same for one, up to report_end(): that may wait until its memory is not
 * kept any more. */
void debug_describe_large(struct report *r, struct peek *k,
			  const struct large_found *f);

/* Lines of the bytes from offset @from to @to, those about the damage if it is
 * there. */
void debug_report_bytes(struct report *r, struct peek *k,
			const struct damage *d, const char *label, u64 from,
			u64 to);

#endif /* SLAB_DEBUG_REPORT_H */
