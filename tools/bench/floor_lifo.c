// SPDX-License-Identifier: BSD-2-Clause
/*
 * floor_lifo.c - a stack of free objects for each thread and class, as high as
 * it gets.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "floor.h"
#include "subject.h"

#define CARVE 64u

struct stack {
	void **slot;
	uint32_t nr;
	uint32_t room;
};

static __thread struct stack stacks[FLOOR_CLASSES];

static bool stack_grow(struct stack *s)
{
	uint32_t room = s->room ? 2 * s->room : 4 * CARVE;
	void **slot = realloc(s->slot, room * sizeof(*slot));

	if (!slot)
		return false;
	s->slot = slot;
	s->room = room;
	return true;
}

static __attribute__((noinline, cold)) void *lifo_refill(unsigned int class)
{
	struct stack *s = &stacks[class];
	uint32_t nr = FLOOR_MAX / floor_class_size[class];

	if (!s->room && !stack_grow(s))
		return NULL;
	s->nr = floor_carve(class, s->slot, nr < CARVE ? nr : CARVE);
	return s->nr ? s->slot[--s->nr] : NULL;
}

/* Without memory for the stack the object is lost: this is a floor. */
static __attribute__((noinline, cold)) void lifo_spill(void *p)
{
	struct stack *s = &stacks[floor_class_of(p)];

	if (stack_grow(s))
		s->slot[s->nr++] = p;
}

static void *lifo_alloc(size_t size)
{
	unsigned int class = floor_class(size);
	struct stack *s = &stacks[class];

	if (unlikely(!s->nr))
		return lifo_refill(class);
	return s->slot[--s->nr];
}

static void lifo_free(void *p)
{
	struct stack *s = &stacks[floor_class_of(p)];

	if (unlikely(s->nr == s->room)) {
		lifo_spill(p);
		return;
	}
	s->slot[s->nr++] = p;
}

static bool lifo_open(const struct subject *s, struct calls *c, size_t size,
		      uint64_t limit, char *why)
{
	(void)s;
	(void)size;
	(void)limit;
	return floor_open(c, (struct plain_calls){ lifo_alloc, lifo_free },
			  why);
}

const struct subject floor_lifo = {
	.name = "lifo",
	.what = "floor: a stack a thread and size class",
	.kind = KIND_FLOOR,
	.one_way = true,
	.open = lifo_open,
};
