/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pack.h - one buffer for blocks that do not all live at once. Included by
 * slabdev.h, whose conventions hold here.
 *
 * A code that does the same step again and again knows the sizes and the
 * life-times of its temporaries before it begins. A *plan* gives each of them
 * an offset in one buffer, so that two which live at the same time do not
 * overlap; the buffer is allocated once, and a step allocates nothing:
 *
 *	struct slabdev_pack_block b[] = {
 *		{ .bytes = 4096, .lower = 0, .upper = 2 },
 *		{ .bytes = 8192, .lower = 1, .upper = 3 },
 *		{ .bytes = 4096, .lower = 2, .upper = 4 },
 *	};
 *	uint64_t total;
 *
 *	if (!slabdev_pack(b, 3, NULL, &total))
 *		buffer = slabdev_alloc(sd, total);	(12288: 0 and 2 share)
 *
 * A block lives from @lower until just before @upper, in whatever counts the
 * program's steps: of two blocks with the upper of one equal to the lower of
 * the other the second may have the memory of the first.
 *
 * The least total is hard to find (the problem is NP-complete), and a lower
 * *bound* is easy: the most bytes that live at once. What is found for up to
 * some hundred blocks is most often the bound itself; Documentation/packing.rst
 * has measurements, and how the search works.
 *
 * Nothing here needs a space or touches device memory, and any number of
 * threads may call it at once. The same blocks and attributes give the same
 * plan on every machine: what limits the search is a number of steps, not a
 * time.
 */
#ifndef SLABDEV_PACK_H
#define SLABDEV_PACK_H

#include <slabdev/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Blocks that a plan can have. */
#define SLABDEV_PACK_MAX ((size_t)1 << 28)
/** The steps that slabdev_pack() takes at most if nobody says otherwise. */
#define SLABDEV_PACK_EFFORT ((uint64_t)1 << 33)

/**
 * struct slabdev_pack_block - a block that lives for a while
 * @bytes: its size, not 0
 * @align: its offset is a multiple of this power of two; 0: 256, as
 *         SLABDEV_ALIGN. The buffer has to be aligned to the largest
 * @lower: when it begins to live
 * @upper: when it lives no more, after @lower
 * @offset: where it is in the buffer: the plan
 */
struct slabdev_pack_block {
	uint64_t bytes;
	uint64_t align;
	int64_t lower;
	int64_t upper;
	uint64_t offset;
};

/**
 * struct slabdev_pack_attr - what plan is wanted
 * @size: sizeof(struct slabdev_pack_attr), set by SLABDEV_PACK_ATTR_INIT; all
 *        else may be zero, the default
 * @capacity: a plan of so many bytes is good enough, and a longer one is
 *            refused; 0: the shortest that is found
 * @effort: about so many steps to take at most, each a look at one block or one
 *          moment, a nanosecond or two; 0: SLABDEV_PACK_EFFORT. What takes
 *          about n * log(n) steps is always done
 * @steps: set to the steps that were taken, with those that always are; NULL:
 *         not wanted
 * @flags: 0
 */
struct slabdev_pack_attr {
	size_t size;
	uint64_t capacity;
	uint64_t effort;
	uint64_t *steps;
	uint64_t flags;
};
#ifdef __cplusplus
#define SLABDEV_PACK_ATTR_INIT \
	{ sizeof(struct slabdev_pack_attr), 0, 0, nullptr, 0 }
#else
#define SLABDEV_PACK_ATTR_INIT \
	{ sizeof(struct slabdev_pack_attr), 0, 0, NULL, 0 }
#endif

/**
 * slabdev_pack - make a plan
 * @blocks: the blocks; their offsets are set
 * @n: how many, at most SLABDEV_PACK_MAX; 0 is fine
 * @attr: what is wanted; NULL for the shortest plan
 * @total: set to the bytes of the buffer: the highest end of a block; NULL:
 *         not wanted
 *
 * Context: any thread. Driver: never.
 * Takes up to 160 bytes of host memory a block, and up to 192 MiB for the
 * search, until it returns.
 *
 * Return: 0; -ENOSPC no plan of attr.capacity bytes was found: offsets and
 * total are those of the shortest that was, and the error text says whether
 * there can be one; -EINVAL a block or an attribute makes no sense, -E2BIG
 * unknown attribute, -EOVERFLOW more blocks than SLABDEV_PACK_MAX, or their sum
 * cannot be counted, -ENOMEM no host memory: nothing was set.
 */
SLABDEV_API SLABDEV_MUST_CHECK int
slabdev_pack(struct slabdev_pack_block *blocks, size_t n,
	     const struct slabdev_pack_attr *attr, uint64_t *total);

/**
 * slabdev_pack_bound - what no plan can be shorter than
 * @blocks: the blocks; their offsets do not matter
 * @n: how many, at most SLABDEV_PACK_MAX
 * @bound: set to the most bytes that live at the same time, with what the
 *         smallest of all alignments adds between them
 *
 * Context: any thread. Driver: never.
 * Return: 0; -EINVAL, -EOVERFLOW, -ENOMEM as slabdev_pack(): nothing was set.
 */
SLABDEV_API SLABDEV_MUST_CHECK int
slabdev_pack_bound(const struct slabdev_pack_block *blocks, size_t n,
		   uint64_t *bound);

/**
 * slabdev_pack_check - is this a plan?
 * @blocks: the blocks with their offsets, from a file say
 * @n: how many, at most SLABDEV_PACK_MAX
 * @total: set to the bytes of the buffer; NULL: not wanted
 *
 * Context: any thread. Driver: never.
 * Return: 0; -EINVAL a block makes no sense, is misaligned, or overlaps another
 * that lives at the same time: the error text says which; -EOVERFLOW a block
 * ends beyond 64 bits, or as slabdev_pack(); -ENOMEM no host memory.
 */
SLABDEV_API SLABDEV_MUST_CHECK int
slabdev_pack_check(const struct slabdev_pack_block *blocks, size_t n,
		   uint64_t *total);

#ifdef __cplusplus
}
#endif

#endif /* SLABDEV_PACK_H */
