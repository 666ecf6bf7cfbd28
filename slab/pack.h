/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pack.h - plans for blocks with different life-times, inside.
 *
 * Time. Only which blocks live together matters, not when. Time is therefore
 * cut into *sections*: one begins where a block begins to live after another
 * has ceased to, so that all blocks of a section live together, and two blocks
 * overlap in time if and only if they share a section. Blocks are numbered by
 * the section in which they begin; what begins behind a block and overlaps with
 * it are then the numbers that follow it. The caller's numbers are in @id.
 *
 * The *height* of a section is the sum of its blocks' bytes. The highest is the
 * *bound* that no plan is below. The *goal* is the total that is good enough:
 * the caller's capacity, or the bound. It rises when the search proves that
 * there is no plan so short.
 *
 * Ways to a plan, each taken only while the goal is not reached:
 *
 *	pack_sweep.c	first fit in the order of time, as an allocator that
 *			does not know the future: n * log(n) for any n
 *	pack_list.c	first fit in other orders, the largest first say: for
 *			the blocks that overlap with few enough others
 *	pack_search.c	search, for up to PACK_SEARCH_BLOCKS: finds the optimum
 *			or what is near it
 *
 * Each makes a *trial*, offsets by block, and pack_keep() keeps the best of
 * them. The work is counted in *looks*, each at one block or one section, and
 * the caller's effort says how many there may be.
 *
 * Memory is taken once for each stage (struct pack_mem); then nothing fails any
 * more. All sums fit: the bytes of all blocks with what alignment can add are
 * added up, checked, before anything else, and no plan that is made here is
 * longer than that.
 *
 * All arithmetic is of integers, and chance is a fixed sequence of numbers, so
 * that a plan is the same on each machine.
 */
#ifndef SLAB_PACK_H
#define SLAB_PACK_H

#include <slabdev/pack.h>

#include "core/resv.h"

#define PACK_NONE UINT32_MAX
/* Lists of what overlaps are made up to so many pairs: 32 MiB. */
#define PACK_PAIRS ((u64)1 << 22)
/* The search wants so few blocks and pairs. */
#define PACK_SEARCH_BLOCKS 4096u
#define PACK_SEARCH_PAIRS ((u64)1 << 20)

/* The memory of one stage: laid out twice, the first time to know the size. */
struct pack_mem {
	struct resv resv;
	u64 used;
};

/* A part of it of @count elements; NULL the first time. */
void *pack_take(struct pack_mem *m, u64 count, size_t size);
/* Between the two: takes the memory. 0 or -ENOMEM. */
int __must_check pack_mem_commit(struct pack_mem *m);
void pack_mem_fini(struct pack_mem *m);

/* Up to so many the least total counts to the byte. */
#define PACK_EXACT_BLOCKS 16u

struct pack {
	u32 nr;			/* blocks */
	u32 nr_sections;
	u64 nr_pairs;		/* of blocks that overlap in time */
	u64 unit;		/* each size and alignment is a multiple */
	u64 limit;		/* the bytes of all, with what alignment adds */
	u64 bound, goal;
	u64 capacity;		/* a longer plan is of no use */
	u64 best;		/* total of the best plan */
	u64 effort, looks;	/* looks that may be, and that were */
	u64 chance;		/* state of the random numbers */

	/* By block. */
	u64 *bytes;
	u64 *mask;		/* alignment - 1 */
	u64 *life;		/* how long, in the caller's time */
	u32 *begin, *end;	/* sections: begin .. end - 1 */
	u32 *id;		/* the caller's number */
	u64 *trial, *plan;	/* offsets */

	u64 *height;		/* by section */

	/* For sorting, twice the number of blocks each. */
	u64 *key, *key_tmp;
	u32 *order, *order_tmp;

	/* Blocks that overlap with block i: rival[first_rival[i] ..]. */
	u32 *rival, *first_rival;
	u64 *peak;		/* by block: the highest of its sections */

	struct pack_mem mem, pair_mem;
};

/* ---- pack_problem.c ------------------------------------------------------ */

/* 0; -EINVAL, -EOVERFLOW or -ENOMEM, said, and nothing to undo. */
int __must_check pack_init(struct pack *p,
			   const struct slabdev_pack_block *blocks, size_t n);
void pack_fini(struct pack *p);
/* Do the blocks make sense, and does their sum fit 64 bits? */
int __must_check pack_check_blocks(const struct slabdev_pack_block *blocks,
				   size_t n, u64 *limit);
/* The alignment that is meant. */
u64 pack_align(const struct slabdev_pack_block *b);
/* The lists of rivals and the peaks. 0 or -ENOMEM. */
int __must_check pack_pair(struct pack *p);

/* Keep the trial if it is shorter than the plan. */
void pack_keep(struct pack *p);
/* Good enough, or there is none that is. */
static inline bool pack_is_done(const struct pack *p)
{
	return p->best <= p->goal || p->goal > p->capacity;
}
static inline bool pack_is_spent(const struct pack *p)
{
	return p->looks >= p->effort;
}

/* ---- pack_order.c -------------------------------------------------------- */

/* Sort @order by the key beside each, smallest first; equal ones stay as they
 * are. Both are overwritten, and so are both _tmp. */
void pack_sort(struct pack *p, u32 n);
/* 0 .. n - 1. */
u32 pack_random(struct pack *p, u32 n);
/* The logarithm to the base 2 in 1/256, of @x + 1. */
u32 pack_log2(u64 x);

/*
 * What makes a block come early: how much its size, its life and its peak
 * count, in 1/256, and how much chance, in 1/65536 of a doubling.
 */
struct pack_taste {
	u32 bytes, life, peak, noise;
};
struct pack_taste pack_random_taste(struct pack *p);
/* How early block @i comes, in 1/65536 of a doubling. */
u64 pack_rate(struct pack *p, const struct pack_taste *t, u32 i);

/* ---- The ways ------------------------------------------------------------ */

/* 0 or -ENOMEM. */
int __must_check pack_sweep(struct pack *p);
/* Up to @rounds orders; pack_pair() was called. 0 or -ENOMEM. */
int __must_check pack_list(struct pack *p, u32 rounds);
/* Until the goal is reached, or proved impossible, or the effort is spent;
 * pack_pair() was called. 0 or -ENOMEM. */
int __must_check pack_search(struct pack *p);

#endif /* SLAB_PACK_H */
