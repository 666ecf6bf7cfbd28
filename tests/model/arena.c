// SPDX-License-Identifier: BSD-2-Clause
/*
 * arena.c - allocations in blocks, for cuMemAlloc and for pools.
 *
 * Physical memory comes in blocks of 2 MiB, so that what is free according to
 * the driver moves in steps; an allocation of that size or more has blocks of
 * its own. Small ones lie first fit, on multiples of 256 bytes. An allocation
 * ends where it was asked to end: the byte behind it is already an error.
 */
#include "tests/model/internal.h"

#define BLOCK_BYTES (2 * MIB)
#define ALIGN_BYTES 256

static u64 round_up(u64 n, u64 to)
{
	return (n + to - 1) / to * to;
}

static struct region *block_create(struct list *arena, enum region_kind kind,
				   int device, u64 size)
{
	const CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, device },
	};
	struct region *region;
	struct phys *phys;
	u64 start;

	phys = phys_create(size, &prop, device);
	if (!phys)
		return NULL;
	start = va_reserve(size, BLOCK_BYTES, 0);
	if (!start)
		goto put_phys;
	region = region_create(kind, start, size);
	if (!region)
		goto release_va;
	region->phys = phys;
	list_add_tail(&region->node, arena);
	return region;

release_va:
	va_release(start, size);
put_phys:
	phys_put(phys);
	return NULL;
}

static void block_destroy(struct region *region)
{
	va_release(region->span.start, region->span.size);
	phys_put(region->phys);
	region_destroy(region);
}

/* Where @size bytes are free in @region, 0: nowhere. */
static u64 find_gap(const struct region *region, u64 size)
{
	u64 at = region->span.start, end = at + region->span.size;
	size_t i;

	for (i = 0; i < region->parts.n; i++) {
		if (region->parts.v[i]->start - at >= size)
			return at;
		at = round_up(region->parts.v[i]->start +
			      region->parts.v[i]->size, ALIGN_BYTES);
	}
	return end > at && end - at >= size ? at : 0;
}

static struct part *place(struct region *region, u64 at, u64 size, int device)
{
	struct part *part;

	if (broken(150))
		at += 8;
	part = part_create(region, at, size);
	if (!part)
		return NULL;
	part->phys = region->phys;
	part->offset = at - region->span.start;
	part->device = device;
	return part;
}

/* The first block with room for @size bytes, at *@at; NULL: none has it. */
static struct region *find_block(const struct list *arena, u64 size, u64 *at)
{
	const struct list *node;
	struct region *region;

	for (node = arena->next; node != arena; node = node->next) {
		region = container_of(node, struct region, node);
		*at = find_gap(region, size);
		if (*at)
			return region;
	}
	return NULL;
}

bool arena_has_room(const struct list *arena, u64 size)
{
	u64 at;

	return find_block(arena, size, &at);
}

struct part *arena_alloc(struct list *arena, enum region_kind kind,
			 int device, u64 size)
{
	struct region *region;
	struct part *part;
	u64 at;

	region = find_block(arena, size, &at);
	if (region)
		return place(region, at, size, device);
	if (size > model.profile->total_bytes)
		return NULL;
	region = block_create(arena, kind, device,
			      round_up(size, BLOCK_BYTES));
	if (!region)
		return NULL;
	part = place(region, region->span.start, size, device);
	if (!part)
		block_destroy(region);
	return part;
}

void arena_free(struct part *part, bool keep_block)
{
	struct region *region = part->region;

	part_destroy(part);
	if (!region->parts.n && !keep_block)
		block_destroy(region);
}

u64 arena_bytes(const struct list *arena)
{
	const struct list *node;
	u64 sum = 0;

	for (node = arena->next; node != arena; node = node->next)
		sum += container_of(node, struct region, node)->span.size;
	return sum;
}

/* Gives back empty blocks while more than @keep bytes are left. */
u64 arena_trim(struct list *arena, u64 keep)
{
	struct region *region;
	struct list *node, *next;
	u64 bytes = arena_bytes(arena);

	for (node = arena->next; node != arena; node = next) {
		next = node->next;
		region = container_of(node, struct region, node);
		if (region->parts.n || bytes - region->span.size < keep)
			continue;
		bytes -= region->span.size;
		block_destroy(region);
	}
	return bytes;
}
