/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * steady.h - SLABDEV_ASSERT_STEADY: a steady state is free of the driver.
 *
 * What the vmm is asked for is watched: a request for which it made calls, and
 * which did not lead beyond the most that was ever mapped, is a breach. Memory
 * that was there before was given back, or had to move. What other threads do
 * meanwhile may hide a breach, and does not make one up.
 */
#ifndef SLAB_STEADY_H
#define SLAB_STEADY_H

#include "slab/slab.h"

/* The books before a call of the vmm. */
struct steady {
	u64 calls;	/* memory-management calls so far */
	u64 peak;	/* bytes */
};

struct steady steady_note(struct slabdev *sd) __cold;
void steady_check(struct slabdev *sd, struct steady before) __cold;

static inline struct steady steady_begin(struct slabdev *sd)
{
	if (likely(!sd->assert_steady))
		return (struct steady){ 0, 0 };
	return steady_note(sd);
}

/* The call succeeded. */
static inline void steady_end(struct slabdev *sd, struct steady before)
{
	if (unlikely(sd->assert_steady))
		steady_check(sd, before);
}

#endif /* SLAB_STEADY_H */
