// SPDX-License-Identifier: BSD-2-Clause
/*
 * floor_simple.c - the floors without memory: a constant, and the next address.
 */
#include "floor.h"
#include "subject.h"

static void *null_alloc(size_t size)
{
	(void)size;
	return (void *)(uintptr_t)4096;
}

static void null_free(void *p)
{
	(void)p;
}

static bool null_open(const struct subject *s, struct calls *c, size_t size,
		      uint64_t limit, char *why)
{
	(void)s;
	(void)size;
	(void)limit;
	(void)why;
	c->shape = SHAPE_PLAIN;
	c->plain = (struct plain_calls){ null_alloc, null_free };
	return true;
}

const struct subject floor_null = {
	.name = "null",
	.what = "floor: a call, and nothing in it",
	.kind = KIND_FLOOR,
	.fake = true,
	.open = null_open,
};

/* A thread's part of the addresses; at its end it begins again. */
static __thread struct {
	uintptr_t next;
	uintptr_t end;
	uintptr_t begin;
} part;

static __attribute__((noinline, cold)) void *bump_turn(size_t size)
{
	uint64_t bytes;

	if (!part.begin) {
		part.begin = floor_take_part(&bytes);
		if (!part.begin)
			return NULL;
		part.end = part.begin + bytes;
	}
	part.next = part.begin + size;
	return (void *)part.begin;
}

static void *bump_alloc(size_t size)
{
	uintptr_t p = part.next;

	size = (size + 255) & ~(size_t)255;
	if (unlikely(p + size > part.end))
		return bump_turn(size);
	part.next = p + size;
	return (void *)p;
}

static bool bump_open(const struct subject *s, struct calls *c, size_t size,
		      uint64_t limit, char *why)
{
	(void)s;
	(void)size;
	(void)limit;
	return floor_open(c, (struct plain_calls){ bump_alloc, null_free },
			  why);
}

const struct subject floor_bump = {
	.name = "bump",
	.what = "floor: the next address; nothing is freed",
	.kind = KIND_FLOOR,
	.one_way = true,
	.open = bump_open,
};
