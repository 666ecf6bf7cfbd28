/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check.h - is what a process publishes possible?
 *
 * A *statement* is a sentence that holds of the records of every space, or of
 * every cache, at each moment when nothing is half done: of objects, slabs and
 * bytes that have to add up. What is read while the process works may be half
 * done. So what does not hold is read again, several times, and a statement is
 * *broken* only if it never held.
 *
 * Bitmaps, tags and red zones are memory of the process: of them nothing is
 * proved.
 */
#ifndef SLABINFO_CHECK_H
#define SLABINFO_CHECK_H

#include "model.h"
#include "options.h"

/* One that does not hold. */
struct breach {
	pid_t pid;
	uint64_t open_id;
	char cache[32];		/* "": of the space */
	const char *sentence;
};

struct breaches {
	struct breach *of;
	size_t nr;
	size_t looked_at;	/* statements, once for each they are made of */
	bool no_memory;		/* some could not be kept */
};

/* What does not hold of the spaces that @opt chooses. */
void breaches_find(struct breaches *b, const struct snapshot *snap,
		   const struct options *opt);
/* Of those in @b, the ones that are in @again too. */
void breaches_keep(struct breaches *b, const struct breaches *again);
void breaches_fini(struct breaches *b);

#endif /* SLABINFO_CHECK_H */
