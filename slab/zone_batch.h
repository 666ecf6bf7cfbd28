/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * zone_batch.h - which of many objects have to be looked at?
 *
 * To look at memory of a device costs a wait for each picture of it (peek.h).
 * Some backends can have the device look itself, at the zones and poison of
 * many objects in one call. That is a filter, and no more: an object whose
 * bytes are all as they should be is done with; each other one is a *suspect*,
 * and looked at as ever, for a report shows bytes. As a rule there is none.
 *
 * Objects are numbered by the caller, from 0 to below what the batch is begun
 * with; the suspects are a bitmap of these numbers. Where the backend does not
 * look, or fails, all are suspects.
 *
 * Memory must stay mapped meanwhile, as for a peek; whose memory the batch
 * borrows, so that the peek shows nothing until the batch has ended.
 *
 * Locking: none may be held.
 */
#ifndef SLAB_ZONE_BATCH_H
#define SLAB_ZONE_BATCH_H

#include "slab/zone.h"

struct zone_batch {
	struct peek *peek;
	u64 *suspects;
	u32 nr;			/* objects */
	struct vmm_check *range;
	u32 nr_ranges;
	bool works;		/* so far: else all are suspects */
};

void zone_batch_begin(struct zone_batch *b, struct peek *k, u64 *suspects,
		      u32 nr);
/* Adding objects is worth while. */
static inline bool zone_batch_works(const struct zone_batch *b)
{
	return b->works;
}

/* As zone_check() and zone_check_free(), of object number @i. */
void zone_batch_add(struct zone_batch *b, u32 i, const struct class *c,
		    slot_t slot, u64 size);
void zone_batch_add_free(struct zone_batch *b, u32 i, const struct class *c,
			 slot_t slot);
/* Now the suspects are known. */
void zone_batch_end(struct zone_batch *b);

#endif /* SLAB_ZONE_BATCH_H */
