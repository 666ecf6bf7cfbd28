/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group_layout.h - where the blocks of a group lie; arithmetic, and no more.
 *
 * Block i begins where block i - 1 ends, rounded up to its alignment; one of 0
 * bytes has no place and takes no room. The group ends where its last block
 * does. Offsets count from a base that is aligned to .base_align.
 *
 * The work is done twice over the sizes: group_measure() has the sum and every
 * check, and only when there is memory for that sum group_place() writes
 * addresses, so that a group that fails has written nothing. Of a million
 * blocks that is all there is to do, so both are made for speed, in three ways,
 * the first that fits:
 *
 *   run	the blocks at the beginning that have one *pitch*, the size
 *		rounded up. Compared sixteen at a time; their addresses are
 *		counted and need no size. A group that is all run has a stride.
 *   plain	the rest, if all blocks have one alignment and some bytes. Sizes
 *		are rounded and added without a test of any: the union of the
 *		bits of all pitches less one bounds each of them, and is all
 *		ones if a size was 0 or rounded up to more than 64 bits. If so
 *		many blocks of the bound fit 64 bits then no sum has
 *		overflowed.
 *   careful	anything else, all of it: block by block, each step checked.
 *		What is wrong is found here, with its index.
 *
 * Sizes that another thread changes meanwhile give addresses that are wrong,
 * and nothing else.
 */
#ifndef SLAB_GROUP_LAYOUT_H
#define SLAB_GROUP_LAYOUT_H

#define GROUP_ALIGN_MAX GIB

struct group_layout {
	/* What is asked. */
	const size_t *sizes;
	const size_t *aligns;	/* NULL, or one a block; 0: .align */
	size_t n;		/* 1 to SLABDEV_GROUP_MAX */
	u64 align;		/* a power of two up to GROUP_ALIGN_MAX */
	/* What group_measure() finds. */
	u64 bytes;		/* from the base to the end of the last block */
	u64 base_align;		/* the largest of all alignments */
	u64 stride;		/* from block to block; 0: there is none */
	size_t odd;		/* without one: the first block that is off */
	bool careful;
	size_t run;		/* else: blocks with the pitch of the first */
	u64 pitch;
};

/* 0; -EINVAL an alignment, or no bytes at all; -EOVERFLOW. */
int __must_check group_measure(struct group_layout *l);
/* Write the address of each block, NULL for one of 0 bytes; with a base of 0,
 * its offset. @to has room for .n words of 64 bits, of any type. */
void group_place(const struct group_layout *l, u64 base, void *to);

#endif /* SLAB_GROUP_LAYOUT_H */
