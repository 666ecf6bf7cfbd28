/* SPDX-License-Identifier: BSD-2-Clause */
/* hazard_report.h - a hazard in words, for hazard.c. */
#ifndef SLAB_HAZARD_REPORT_H
#define SLAB_HAZARD_REPORT_H

#include "slab/hazard_tree.h"

enum hazard_kind {
	HAZARD_NONE,
	HAZARD_EARLY_ACCESS,	/* not behind the allocation */
	HAZARD_EARLY_FREE,	/* not behind an access, or the allocation */
	HAZARD_FREED_UNDER_GRAPH, /* which may be launched */
	HAZARD_ACCESS_FREED,
	HAZARD_NO_OBJECT,
};

/* A copy of all that a report says; not all of it in all kinds. */
struct finding {
	enum hazard_kind kind;
	u64 start, size;	/* of the object */
	u64 addr;		/* of the access */
	struct deed alloc, free, access;
	bool by_alloc;		/* the free is not behind the allocation */
	bool is_arena;		/* an arena's object; the free is a rewind */
	u32 others;		/* that the rewind has ended the same way */
};

void hazard_tell(const char *space, const struct finding *f) __cold;

#endif /* SLAB_HAZARD_REPORT_H */
