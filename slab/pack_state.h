/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pack_state.h - a partial plan of the search, and what follows from it.
 *
 * Blocks are placed from below: each on top of what is there, the *floor*. A
 * plan in which each block rests on the ground or on another is as short as
 * any, since what floats can be let down; so no others are looked at. They are
 * placed in the order of their offsets, so that what is placed later is never
 * below *now*, the offset placed last.
 *
 * So the *least* offset of a block that is not placed yet, on top of what is,
 * is all that can become of it if it is next: it is placed there, or it is
 * *passed over*, and then something has to come beneath it first, which
 * raises it. A block whose least offset is below now was passed over as well.
 *
 * What follows, for each moment:
 *
 * - A block that was passed over gets no lower than on top of the lowest of
 *   its rivals. If no rival is left to be placed, this is a dead end.
 * - All blocks of a section that are not placed lie above the lowest offset
 *   that any of them can get (its *base*), each on top of another: if that does
 *   not fit below the capacity, this is a dead end.
 * - A block is no candidate if another one would fit completely beneath its
 *   offset: that one is not next to be placed either, and would float.
 *
 * Each dead end adds to the *weight* of the blocks that it was about: the next
 * attempt places them earlier.
 *
 * All changes are logged, so that any earlier state can be had back.
 */
#ifndef SLAB_PACK_STATE_H
#define SLAB_PACK_STATE_H

#include "slab/pack.h"

enum undo_kind { UNDO_LEAST, UNDO_PASSED, UNDO_FLOOR, UNDO_PLACED };

struct undo {
	u64 value;		/* before */
	u32 index;		/* block or section */
	u32 kind;
};

struct state {
	struct pack *p;
	u64 capacity;

	/* By block. */
	u64 *least;
	u64 *passed;		/* over at one less than this; 0: never */
	u32 *weight;
	bool *placed;

	/* By section. */
	u64 *floor;
	u64 *rest;		/* bytes of blocks that are not placed */
	u64 *base;

	struct undo *log;
	u32 nr_log;
};

/* Blocks first .. last - 1 as far as they are not placed, which share no
 * section with others that are not; and how far the plan is. */
struct part {
	u32 first, last;
	u64 now;
	u64 roof;		/* no candidate at this offset or above */
};

void state_lay_out(struct state *s, struct pack_mem *m);
/* Nothing is placed. */
void state_reset(struct state *s, u64 capacity);
/* An eighth of what was learned of weights is forgotten. */
void state_forget(struct state *s);
/* Place block @i at its least offset. */
void state_place(struct state *s, u32 i);
void state_pass_over(struct state *s, u32 i);
void state_undo(struct state *s, u32 nr_log);
/* Is @i passed over when the plan is at @now? */
static inline bool state_is_passed(const struct state *s, u32 i, u64 now)
{
	return s->least[i] < now || s->least[i] < s->passed[i];
}
/* False: a dead end. Sets @part->roof. */
bool state_infer(struct state *s, struct part *part);

#endif /* SLAB_PACK_STATE_H */
