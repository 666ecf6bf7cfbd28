// SPDX-License-Identifier: BSD-2-Clause
/*
 * trace.c - what an allocator was asked for
 *
 * Recording must cost little and change nothing, so an event is only an
 * address and a size, appended to an array from the heap; size 0 is a free.
 * The order is the one in which the calls were recorded, whatever thread made
 * them. trace_compile() later gives each object a slot number in place of its
 * address, and balances the sequence: a free of what was allocated before the
 * recording is left out, what was live at its end is freed there. The file
 * that trace_write() makes is for slabreplay, which does the last by itself.
 *
 * Failure. When the array cannot grow, the recording ends there and is still
 * a true prefix. Locking is the caller's.
 */
#include "trace.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

struct event {
	void *p;
	size_t size;
};

struct trace {
	struct event *events;
	size_t nr, capacity, nr_allocs;
	bool full;		/* no memory for more: the rest is missing */
};

/* Address to slot; an address that is freed keeps its place. */
struct slot_map {
	struct {
		void *p;
		uint32_t slot;
	} *entries;
	size_t mask;
};

#define SLOT_NONE UINT32_MAX

struct trace *trace_create(void)
{
	return calloc(1, sizeof(struct trace));
}

void trace_destroy(struct trace *t)
{
	if (!t)
		return;
	free(t->events);
	free(t);
}

static void trace_append(struct trace *t, void *p, size_t size)
{
	size_t capacity = t->capacity ? 2 * t->capacity : 4096;
	struct event *events;

	if (t->full)
		return;
	if (t->nr == t->capacity) {
		events = reallocarray(t->events, capacity, sizeof(*events));
		if (!events) {
			t->full = true;
			return;
		}
		t->events = events;
		t->capacity = capacity;
	}
	t->events[t->nr++] = (struct event){ p, size };
	t->nr_allocs += size > 0;
}

void trace_alloc(struct trace *t, void *p, size_t size)
{
	trace_append(t, p, size);
}

void trace_free(struct trace *t, void *p)
{
	trace_append(t, p, 0);
}

static int map_init(struct slot_map *map, size_t nr_addresses)
{
	size_t size = 16;

	while (size < 2 * nr_addresses)
		size *= 2;
	map->entries = calloc(size, sizeof(*map->entries));
	map->mask = size - 1;
	return map->entries ? 0 : -ENOMEM;
}

/* The slot of @p; a new address begins with none. */
static uint32_t *map_find(struct slot_map *map, void *p)
{
	size_t i = (size_t)((uintptr_t)p * 0x9e3779b97f4a7c15u >> 20);

	for (i &= map->mask; map->entries[i].p; i = (i + 1) & map->mask)
		if (map->entries[i].p == p)
			return &map->entries[i].slot;
	map->entries[i].p = p;
	map->entries[i].slot = SLOT_NONE;
	return &map->entries[i].slot;
}

/* @unused is a stack of the slots that were freed. */
static void script_fill(struct script *s, const struct trace *t,
			struct slot_map *map, uint32_t *unused)
{
	const struct event *e;
	uint32_t *slot;
	size_t i, nr_unused = 0;

	for (i = 0; i < t->nr; i++) {
		e = &t->events[i];
		slot = map_find(map, e->p);
		if (e->size) {
			*slot = nr_unused ? unused[--nr_unused] : s->slots++;
			s->ops[s->nr++] = (struct op){ *slot, e->size };
		} else if (*slot != SLOT_NONE) {
			s->ops[s->nr++] = (struct op){ *slot, 0 };
			unused[nr_unused++] = *slot;
			*slot = SLOT_NONE;
		}
	}
	s->nr_called = s->nr;
	for (i = 0; i <= map->mask; i++)
		if (map->entries[i].p && map->entries[i].slot != SLOT_NONE)
			s->ops[s->nr++] =
				(struct op){ map->entries[i].slot, 0 };
}

int trace_compile(const struct trace *t, struct script *s)
{
	struct slot_map map;
	uint32_t *unused;
	int err = -ENOMEM;

	*s = (struct script){ .pairs = t->nr_allocs };
	if (t->nr_allocs >= SLOT_NONE)
		return -EOVERFLOW;
	if (map_init(&map, t->nr))
		return err;
	unused = calloc(t->nr_allocs + 1, sizeof(*unused));
	s->ops = calloc(2 * t->nr_allocs + 1, sizeof(*s->ops));
	if (unused && s->ops) {
		script_fill(s, t, &map, unused);
		err = 0;
	} else {
		free(s->ops);
		s->ops = NULL;
	}
	free(unused);
	free(map.entries);
	return err;
}

int trace_write(const struct trace *t, FILE *out)
{
	struct script s;
	size_t i;
	int err;

	err = trace_compile(t, &s);
	if (err)
		return err;
	fputs("# what one sweep of dmrg asked its allocator for\n", out);
	for (i = 0; i < s.nr_called; i++) {
		if (s.ops[i].size)
			fprintf(out, "a %u %zu\n", s.ops[i].slot,
				s.ops[i].size);
		else
			fprintf(out, "f %u\n", s.ops[i].slot);
	}
	free(s.ops);
	return ferror(out) ? -EIO : 0;
}
