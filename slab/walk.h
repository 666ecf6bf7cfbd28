/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walk.h - what the parts of the consistency walk share; see validate.c.
 */
#ifndef SLAB_WALK_H
#define SLAB_WALK_H

#include "slab/slab.h"

struct walk {
	struct slabdev *sd;
	struct class *class;		/* the one walked, or NULL for all */
	const char *broken;		/* the first sentence that fails */
	const char *off;		/* one that fails unless others work */
	u64 where;			/* offset it fails at */
	u32 slices;			/* the tables reach to here, or on */
	u64 out_bytes;			/* of slabs, and of large objects */
	u64 large_bytes;
	u64 large_pending;
	u64 empty_slices;		/* in slabs that classes keep */
	/* By class, as found. */
	u64 slabs[CLASS_MAX];
	u64 live[CLASS_MAX];		/* objects */
	u64 live_bytes[CLASS_MAX];	/* asked for */
	u64 in_slabs[CLASS_MAX];	/* free objects */
	u64 in_sheaves[CLASS_MAX];	/* of the caller, and in barns */
};

/* A sentence that holds at every moment under the lock that the walk has. */
static inline void check(struct walk *w, bool holds, u64 where,
			 const char *sentence)
{
	if (holds || w->broken)
		return;
	w->broken = sentence;
	w->where = where;
}

/* The same for what is certain only when nobody else works in the space. */
static inline void off(struct walk *w, bool holds, const char *sentence)
{
	if (!holds && !w->off)
		w->off = sentence;
}

/* Do the tables reach to a slice, now that they may have grown? */
static inline bool in_tables(struct walk *w, u64 slice)
{
	struct pool *p = &w->sd->pool;

	if (unlikely(slice >= w->slices)) {
		lock_acquire(&p->lock);
		w->slices = p->end_chunk * p->chunk_slices;
		lock_release(&p->lock);
	}
	return slice < w->slices;
}

/* ---- validate_slab.c -------------------------------------------------- */

/* All with the class lock held: a slab, the lists of a class, its record. */
void walk_slab_locked(struct walk *w, struct class *c, struct slab *s);
void walk_lists_locked(struct walk *w, struct class *c);
void walk_record(struct walk *w, const struct class *c);

#endif /* SLAB_WALK_H */
