// SPDX-License-Identifier: BSD-2-Clause
/*
 * floor_arena.c - the floor of arenas: a top that is rounded, compared with an
 * end, and moved. It knows one arena, has no names, and counts nothing.
 */
#include "floor.h"
#include "subject.h"

static struct bare {
	uintptr_t top;
	uintptr_t end;
	uintptr_t mask;
	uintptr_t begin;
} bare;

/* As if it were called through a library's interface: an arena is given. */
static void *bare_alloc(struct slabdev_arena *arena, size_t size)
{
	struct bare *b = (struct bare *)(void *)arena;
	uintptr_t p = (b->top + b->mask) & ~b->mask;

	if (unlikely(size - 1 >= b->end - p))
		return NULL;
	b->top = p + size;
	return (void *)p;
}

static int bare_reset(struct slabdev_arena *arena)
{
	struct bare *b = (struct bare *)(void *)arena;

	b->top = b->begin;
	return 0;
}

static bool bare_open(const struct subject *s, struct calls *c, size_t size,
		      uint64_t limit, char *why)
{
	uint64_t bytes;

	(void)s;
	(void)size;
	(void)limit;
	if (!floor_open(c, (struct plain_calls){ 0 }, why))
		return false;
	bare.begin = bare.top = floor_take_part(&bytes);
	bare.end = bare.begin + bytes;
	bare.mask = 255;
	c->shape = SHAPE_ARENA;
	c->arena = (struct arena_calls){
		bare_alloc, bare_reset, (void *)&bare,
	};
	return bare.begin;
}

const struct subject floor_bare = {
	.name = "bare",
	.what = "floor of arena: the next address, and a reset for all",
	.kind = KIND_FLOOR,
	.groups = true,
	.open = bare_open,
};
