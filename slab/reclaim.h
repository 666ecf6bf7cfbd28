/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reclaim.h - finding memory when there is none, and the policy.
 *
 * A run of slices is looked for in this order, each step followed by a new
 * look: free slices; what streams have freed and is done; the empty slabs that
 * classes keep; if enough is free, but in pieces, what threads hold in their
 * sheaves and barns, which may join them; mapping more (where a huge object
 * begins that has found no free slices); vacant chunks elsewhere, whose
 * handles can be mapped where the run needs them, and what arenas have mapped
 * and do not use; all sheaves and barns, of streams too; waiting for the
 * device; the shrinkers, as long as they free something. Only then does the
 * request fail, with a report. The cheap steps come first; none of them holds a
 * lock while the backend or a shrinker works.
 */
#ifndef SLAB_RECLAIM_H
#define SLAB_RECLAIM_H

#include "slab/slab.h"

/*
 * reclaim_run - a run of @n slices, whatever it takes
 * @align: of its address, in bytes
 * @c: the class that wants a slab, or NULL
 * @flags: GET_NO_GROW, GET_NO_REPORT
 *
 * 0 with *@slice set; 1 when class @c has free objects again and needs no run;
 * or a negative errno.
 */
int __must_check reclaim_run(struct slabdev *sd, u32 n, u64 align,
			     struct class *c, unsigned int flags, u32 *slice);
/* The same for a handle of its own of @n slices. */
int __must_check reclaim_huge(struct slabdev *sd, u32 n, struct class *c,
			      unsigned int flags, u32 *slice);

/* Chunk numbers that an arena holds, where memory is wanted. */
struct held_run {
	u32 at, nr;
};
/* The same for memory there. */
int __must_check reclaim_held(struct slabdev *sd, const struct held_run *held,
			      unsigned int flags);

/* The empty slabs that classes keep become free slices. */
void reclaim_kept(struct slabdev *sd);
/* Give back what the policy does not want kept; called in slow paths. */
int reclaim_poll(struct slabdev *sd);
/* slabdev_trim() without its argument checks. */
int reclaim_trim(struct slabdev *sd, u64 keep);

#endif /* SLAB_RECLAIM_H */
