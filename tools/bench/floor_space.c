// SPDX-License-Identifier: BSD-2-Clause
/*
 * floor_space.c - addresses for the floors, and the tables of their classes.
 *
 * The classes are those of libslabdev: eight a doubling, multiples of 256
 * bytes. A class is carved from pages of 64 KiB, or from as many of them as
 * one object needs, and keeps what it got.
 */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <sys/mman.h>

#include "floor.h"
#include "subject.h"

#define PAGE ((uint64_t)1 << FLOOR_PAGE_SHIFT)
#define MOST_BYTES ((uint64_t)1 << 40)
#define LEAST_BYTES ((uint64_t)1 << 34)
#define PARTS 16u

uint8_t floor_class_table[(FLOOR_MAX >> FLOOR_GRANULE_SHIFT) + 1];
uint32_t floor_class_size[FLOOR_CLASSES];
uint8_t *floor_page_class;
uintptr_t floor_base;
static uint64_t space_bytes;
static uint64_t carved;		/* atomic */

static void *reserve(uint64_t bytes, int access)
{
	void *p = mmap(NULL, bytes, access,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void make_classes(void)
{
	uint32_t size = 0, granule = 0, step;
	unsigned int class;

	for (class = 1; class < FLOOR_CLASSES; class++) {
		step = size < 2048 ? 256 :
				     (1u << (31 - __builtin_clz(size))) / 8;
		size += step;
		floor_class_size[class] = size;
		for (; granule <= size >> FLOOR_GRANULE_SHIFT; granule++)
			floor_class_table[granule] = (uint8_t)class;
	}
}

static bool reserve_all(void)
{
	void *base;

	space_bytes = MOST_BYTES;
	while (!(base = reserve(space_bytes, PROT_NONE))) {
		space_bytes /= 2;
		if (space_bytes < LEAST_BYTES)
			return false;
	}
	floor_base = (uintptr_t)base;
	floor_page_class = reserve(space_bytes >> FLOOR_PAGE_SHIFT,
				   PROT_READ | PROT_WRITE);
	return floor_page_class;
}

bool floor_open(struct calls *c, struct plain_calls calls, char *why)
{
	c->shape = SHAPE_PLAIN;
	c->plain = calls;
	make_classes();
	if (reserve_all())
		return true;
	snprintf(why, SUBJECT_TEXT, "cannot reserve addresses");
	return false;
}

uint32_t floor_carve(unsigned int class, void **slot, uint32_t nr)
{
	uint64_t size = floor_class_size[class], bytes, at;
	uint32_t i;

	bytes = (nr * size + PAGE - 1) & -PAGE;
	at = __atomic_fetch_add(&carved, bytes, __ATOMIC_RELAXED);
	if (at + bytes > space_bytes)
		return 0;
	for (i = 0; i < bytes >> FLOOR_PAGE_SHIFT; i++)
		floor_page_class[(at >> FLOOR_PAGE_SHIFT) + i] =
			(uint8_t)class;
	/* The last one first: they are popped from the end. */
	for (i = 0; i < nr; i++)
		slot[i] = (void *)(floor_base + at + (nr - 1 - i) * size);
	return nr;
}

uintptr_t floor_take_part(uint64_t *bytes)
{
	uint64_t at;

	*bytes = space_bytes / PARTS;
	at = __atomic_fetch_add(&carved, *bytes, __ATOMIC_RELAXED);
	return at + *bytes > space_bytes ? 0 : floor_base + at;
}
