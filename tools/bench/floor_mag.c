// SPDX-License-Identifier: BSD-2-Clause
/*
 * floor_mag.c - a bounded magazine for each thread and class, and a depot for
 * each class.
 *
 * A magazine has at most 128 objects and at most 4 MiB of them; when it is
 * empty half of it is filled from the depot, when it is full half of it goes
 * there. It comes in two forms, which differ in nothing but how it says where
 * its end is: mag by a number of objects, cursor by a pointer to the end.
 *
 * That is no trifle. In a loop that allocates and frees, each load is of what
 * was stored a moment ago. Some processors hand such a value on before they
 * know the address of either, but only where both are written as a register
 * and a constant: not for slot[nr].
 */
#define _GNU_SOURCE
#include "floor.h"
#include "floor_depot.h"
#include "subject.h"

/* ---- A number --------------------------------------------------------- */

/* @room is 0 before the first use, so that the first call takes a slow path. */
struct magazine {
	uint32_t nr;
	uint32_t room;
	void *slot[DEPOT_MAGAZINE];
};

static __thread struct magazine magazines[FLOOR_CLASSES];

static __attribute__((noinline, cold)) void *mag_refill(unsigned int class)
{
	struct magazine *m = &magazines[class];

	m->room = depot_room(class);
	m->nr = depot_get(class, m->slot, m->room / 2);
	return m->nr ? m->slot[--m->nr] : NULL;
}

static __attribute__((noinline, cold)) void mag_flush(void *p)
{
	unsigned int class = floor_class_of(p);
	struct magazine *m = &magazines[class];
	uint32_t half = m->room / 2;

	m->room = depot_room(class);
	m->nr -= half;
	depot_put(class, &m->slot[m->nr], half);
	m->slot[m->nr++] = p;
}

static void *mag_alloc(size_t size)
{
	unsigned int class = floor_class(size);
	struct magazine *m = &magazines[class];

	if (unlikely(!m->nr))
		return mag_refill(class);
	return m->slot[--m->nr];
}

static void mag_free(void *p)
{
	struct magazine *m = &magazines[floor_class_of(p)];

	if (unlikely(m->nr == m->room)) {
		mag_flush(p);
		return;
	}
	m->slot[m->nr++] = p;
}

/* ---- A pointer -------------------------------------------------------- */

/* All three are NULL before the first use. */
struct cursor {
	void **top;
	void **begin;
	void **end;
	void *slot[DEPOT_MAGAZINE];
};

static __thread struct cursor cursors[FLOOR_CLASSES];

static void cursor_open(struct cursor *c, unsigned int class)
{
	if (c->begin)
		return;
	c->top = c->begin = c->slot;
	c->end = c->slot + depot_room(class);
}

static __attribute__((noinline, cold)) void *cursor_refill(unsigned int class)
{
	struct cursor *c = &cursors[class];
	uint32_t nr;

	cursor_open(c, class);
	nr = depot_get(class, c->slot, depot_room(class) / 2);
	c->top = c->slot + nr;
	return nr ? *--c->top : NULL;
}

static __attribute__((noinline, cold)) void cursor_flush(void *p)
{
	unsigned int class = floor_class_of(p);
	struct cursor *c = &cursors[class];
	uint32_t half = depot_room(class) / 2;

	if (c->begin) {
		c->top -= half;
		depot_put(class, c->top, half);
	}
	cursor_open(c, class);
	*c->top++ = p;
}

static void *cursor_alloc(size_t size)
{
	unsigned int class = floor_class(size);
	struct cursor *c = &cursors[class];
	void **top = c->top;

	if (unlikely(top == c->begin))
		return cursor_refill(class);
	c->top = --top;
	return *top;
}

static void cursor_free(void *p)
{
	struct cursor *c = &cursors[floor_class_of(p)];
	void **top = c->top;

	if (unlikely(top == c->end)) {
		cursor_flush(p);
		return;
	}
	*top = p;
	c->top = top + 1;
}

/* ---- Subjects --------------------------------------------------------- */

static bool mag_open(const struct subject *s, struct calls *c, size_t size,
		     uint64_t limit, char *why)
{
	(void)s;
	(void)size;
	(void)limit;
	return floor_open(c, (struct plain_calls){ mag_alloc, mag_free }, why);
}

static bool cursor_open_subject(const struct subject *s, struct calls *c,
				size_t size, uint64_t limit, char *why)
{
	(void)s;
	(void)size;
	(void)limit;
	return floor_open(c, (struct plain_calls){ cursor_alloc, cursor_free },
			  why);
}

const struct subject floor_mag = {
	.name = "mag",
	.what = "floor: a magazine a thread and size class, and a depot",
	.kind = KIND_FLOOR,
	.open = mag_open,
};

const struct subject floor_cursor = {
	.name = "cursor",
	.what = "floor: the same, with a pointer to its end for a number",
	.kind = KIND_FLOOR,
	.open = cursor_open_subject,
};
