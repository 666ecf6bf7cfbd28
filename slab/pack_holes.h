/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pack_holes.h - the blocks of a plan that live at one moment, by offset.
 *
 * A treap: a search tree by offset that is a heap by random priorities. Each
 * node is a block with the hole below it, down to the block before, and knows
 * the largest hole of its subtree, so that the lowest one with enough room is
 * found on one way down. One more node, beyond all offsets, has the hole above
 * the highest block. Nodes are in an array, by the number of their block: no
 * call fails, and each takes about log(n) looks.
 *
 * A hole with enough room may be a *miss*: no multiple of the alignment in it
 * leaves enough. As nothing says which are, a search goes from hole to hole and
 * gives up after HOLES_MISSES. It begins again twice, for holes with more room
 * than the bytes, by an eighth and by half of what alignment can add, of which
 * fewer are misses; then it takes the lowest with room for all of that, which
 * is none. The time is that of some ways down, whatever the holes are, and what
 * is found after misses may not be the lowest offset.
 *
 * Priorities are mixed from the number of the block and from where the
 * structures lie in memory, so that no plan, made to that end even, has its
 * offsets in their order, which would be a chain of all blocks: too deep for
 * the stack. They say what the treap looks like, and never what is found in it,
 * nor how many misses there are.
 */
#ifndef SLAB_PACK_HOLES_H
#define SLAB_PACK_HOLES_H

#include "slab/pack.h"

/* A search begins so many times, and has each time at most so many misses. */
#define HOLES_ROUNDS 3u
#define HOLES_MISSES 16u

struct hole {
	u64 from, to;		/* the block */
	u64 gap;		/* bytes free below it */
	u64 room;		/* the largest gap of the subtree */
	u32 left, right;
	u32 priority;
};

struct holes {
	struct hole *of;	/* one more than there are blocks */
	u32 nr;			/* blocks */
	u32 root;
	u64 secret;		/* what priorities are mixed with */
	u64 misses;		/* of all searches */
};

/* No block lives. The array is the caller's. */
void holes_init(struct holes *h, struct hole *of, u32 nr);
/* An offset with @bytes free, a multiple of @mask + 1: the lowest but for
 * misses. The end of the highest block and both fit 64 bits. */
u64 holes_find(struct holes *h, u64 bytes, u64 mask);
/* The block that a block there would overlap with, PACK_NONE: none. */
u32 holes_at(const struct holes *h, u64 from, u64 to);
/* Block @i lives there, where nothing does; and no more. */
void holes_add(struct holes *h, u32 i, u64 from, u64 bytes);
void holes_remove(struct holes *h, u32 i);

#endif /* SLAB_PACK_HOLES_H */
