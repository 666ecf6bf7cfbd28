/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * range.h - a set of integers, handed out in runs.
 *
 * Addresses of a reservation, slices of mapped memory: both are integers that
 * must be found in runs of adjacent ones, quickly, and that merge again when
 * they come back (Bonwick's vmem). A *range* covers the integers 0 .. max-1.
 * At first none of them is in the range; range_add() brings them in, free.
 * A *run* is a maximal group of adjacent free integers, or one allocation.
 *
 * Free runs hang in bins by length, eight to a doubling; a bitmap says which
 * bins are not empty. A request is served from the first bin in which every
 * run fits for certain, so a search is two bit scans, and only when there is
 * none does it look through the one bin where a run might fit. Among runs of
 * a bin, lower integers are preferred. What the search leaves over goes back
 * as a free run, so the waste is zero and the order of requests decides the
 * fragmentation.
 *
 * All state lies in host arrays indexed by the integers (core/resv.h): one
 * bit "a run begins here", one bit "that run is free", and for the first and
 * last integer of a free run its length and links. Nothing is allocated on
 * the way, so nothing here fails but range_add().
 *
 * Locking: the caller's lock.
 */
#ifndef CORE_RANGE_H
#define CORE_RANGE_H

#include "core/resv.h"

#define RANGE_NONE ((u32)-1)
#define RANGE_NR_BINS 256

struct range_node {
	u32 len;	/* first and last integer of a free run */
	u32 next, prev;	/* first integer of a free run; RANGE_NONE ends */
};

struct range {
	struct resv nodes;	/* struct range_node, by integer */
	struct resv heads;	/* u64: a run, free or allocated, begins here */
	struct resv is_free;	/* u64: the run that begins here is free */
	u64 bin_map[RANGE_NR_BINS / 64];
	u32 bin[RANGE_NR_BINS];	/* first run, RANGE_NONE when empty */
	u32 bin_tail[RANGE_NR_BINS];
	u32 max;
	u32 end;		/* one past the highest integer ever added */
	u32 nr_free;		/* integers */
	u32 nr_total;		/* integers added */
};

/* A range for integers below @max; reserves address space only. */
int __must_check range_init(struct range *r, u32 max);
void range_fini(struct range *r);

/* Commit the memory for integers below @n: range_add() there cannot fail any
 * more. 0 or -ENOMEM. */
int __must_check range_grow(struct range *r, u32 n);
/* Bring @n integers from @first on into the range, free. They were not in it.
 * They merge with free neighbours. 0 or -ENOMEM with nothing changed. */
int __must_check range_add(struct range *r, u32 first, u32 n);
/* Take @n integers, all in the range and free, out of it again. */
void range_remove(struct range *r, u32 first, u32 n);

/* Allocate @n integers, the first a multiple of @align (a power of two).
 * Return the first, or RANGE_NONE when no free run is long enough. */
u32 range_alloc(struct range *r, u32 n, u32 align);
/* Allocate exactly these, if they are all free; false and unchanged if not. */
bool range_alloc_at(struct range *r, u32 first, u32 n);
/* Free one whole allocation of @n integers. */
void range_free(struct range *r, u32 first, u32 n);
/* Make two allocations of one, the second beginning at @at. Nothing happens
 * where one begins already. */
void range_split(struct range *r, u32 at);

/* True when @i was added and not removed. */
bool range_has(const struct range *r, u32 i);
/* The first integer of the run that holds @i (in the range), free or not. */
u32 range_head(const struct range *r, u32 i);
/* Length of the run that begins at @head. */
u32 range_len(const struct range *r, u32 head);
bool range_is_free(const struct range *r, u32 head);
/* The free integers of the run around @i: true and [*first, *first + *n) when
 * @i is free. */
bool range_free_run(const struct range *r, u32 i, u32 *first, u32 *n);
/* The first allocation that begins at or after @from; RANGE_NONE: no more. */
u32 range_next(const struct range *r, u32 from);

/* Check every invariant; NULL or a static text that names the broken one. */
const char *range_validate(const struct range *r);

#endif /* CORE_RANGE_H */
