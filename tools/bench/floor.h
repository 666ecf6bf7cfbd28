/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * floor.h - what no allocator of this kind can go below.
 *
 * A floor does what an allocator must do and nothing else: no check, no
 * statistics, no way to give memory back. How much slower than a floor an
 * allocator is, says more than how many nanoseconds it takes: machines differ,
 * and one machine differs from minute to minute, but the floor beside it knew
 * the same machine at the same time.
 *
 * null		a call that returns a constant
 * bump		the next address
 * bare		the next address of one piece of memory, compared with its end;
 *		all goes back at once, as from an arena
 * lifo		a stack of free objects a thread and size class
 * mag		the same with at most 128 objects, and behind it a depot that
 *		all threads share under a lock, half a magazine at a time. This
 *		is what a thread-cached allocator comes down to, and what all
 *		are compared with
 * cursor	the same, written so that processors like it better
 *
 * Their objects are addresses of a reservation that nothing is mapped at, so
 * what they know of one lies elsewhere, as it has to for device memory: the
 * class of a size is one load from a table, that of an address another.
 */
#ifndef SLABBENCH_FLOOR_H
#define SLABBENCH_FLOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calls.h"

#define FLOOR_GRANULE_SHIFT 8u
#define FLOOR_MAX ((size_t)1 << 20)
#define FLOOR_CLASSES 81u	/* the first is not used */
#define FLOOR_PAGE_SHIFT 16u

/* By size in granules, rounded up; const after floor_open(). */
extern uint8_t floor_class_table[(FLOOR_MAX >> FLOOR_GRANULE_SHIFT) + 1];
extern uint32_t floor_class_size[FLOOR_CLASSES];
/* The class of each page that was carved. */
extern uint8_t *floor_page_class;
extern uintptr_t floor_base;

/*
 * What the floors do to open: reserves the addresses, and sets @c to @calls.
 * False: there are not enough, as @why says.
 */
bool floor_open(struct calls *c, struct plain_calls calls, char *why);
/*
 * New addresses: @nr objects of a class into @slot, the lowest last; how
 * many: @nr, or 0 when the addresses are used up.
 */
uint32_t floor_carve(unsigned int class, void **slot, uint32_t nr);
/* A part of the addresses for the calling thread alone, and its length. */
uintptr_t floor_take_part(uint64_t *bytes);

static inline unsigned int floor_class(size_t size)
{
	return floor_class_table[(size + 255) >> FLOOR_GRANULE_SHIFT];
}

static inline unsigned int floor_class_of(const void *p)
{
	return floor_page_class[((uintptr_t)p - floor_base) >>
				FLOOR_PAGE_SHIFT];
}

#endif /* SLABBENCH_FLOOR_H */
