// SPDX-License-Identifier: BSD-2-Clause
/*
 * ids.c - which ids of a trace are live, and where their objects are kept.
 */
#include <stdlib.h>

#include "memory.h"
#include "ids.h"

#define FIRST_SIZE 1024

void ids_init(struct ids *ids)
{
	*ids = (struct ids){ .mask = FIRST_SIZE - 1 };
	ids->table = zalloc(FIRST_SIZE * sizeof(*ids->table));
}

void ids_fini(struct ids *ids)
{
	free(ids->table);
	free(ids->free);
}

void ids_clear(struct ids *ids)
{
	ids_fini(ids);
	ids_init(ids);
}

/* Ids are often consecutive, or addresses: multiples of a power of two. */
static size_t home_of(const struct ids *ids, uint64_t id)
{
	return (size_t)(id * UINT64_C(0x9e3779b97f4a7c15) >> 32) & ids->mask;
}

/* Where @id is, or the empty entry where it would go. */
static size_t place_of(const struct ids *ids, uint64_t id)
{
	size_t at = home_of(ids, id);

	while (ids->table[at].line && ids->table[at].id != id)
		at = (at + 1) & ids->mask;
	return at;
}

const struct live_id *ids_find(const struct ids *ids, uint64_t id)
{
	const struct live_id *found = &ids->table[place_of(ids, id)];

	return found->line ? found : NULL;
}

static void grow(struct ids *ids)
{
	struct live_id *old = ids->table;
	size_t i, size = ids->mask + 1;

	ids->mask = 2 * size - 1;
	ids->table = zalloc(2 * size * sizeof(*ids->table));
	for (i = 0; i < size; i++)
		if (old[i].line)
			ids->table[place_of(ids, old[i].id)] = old[i];
	free(old);
}

uint32_t ids_add(struct ids *ids, uint64_t id, uint64_t bytes, uint64_t line)
{
	uint32_t slot;

	if (2 * ids->nr > ids->mask)
		grow(ids);
	slot = ids->nr_free ? ids->free[--ids->nr_free] : ids->nr_slots++;
	ids->table[place_of(ids, id)] = (struct live_id){
		.id = id, .bytes = bytes, .line = line, .slot = slot,
	};
	ids->nr++;
	return slot;
}

static void push_free(struct ids *ids, uint32_t slot)
{
	ids->free = grow_array(ids->free, ids->nr_free, sizeof(*ids->free));
	ids->free[ids->nr_free++] = slot;
}

/* Entries after a gap move into it unless that is before their home. */
void ids_remove(struct ids *ids, uint64_t id)
{
	size_t gap = place_of(ids, id), at = gap, way;

	push_free(ids, ids->table[gap].slot);
	ids->nr--;
	for (;;) {
		at = (at + 1) & ids->mask;
		if (!ids->table[at].line)
			break;
		way = (at - home_of(ids, ids->table[at].id)) & ids->mask;
		if (way < ((at - gap) & ids->mask))
			continue;
		ids->table[gap] = ids->table[at];
		gap = at;
	}
	ids->table[gap].line = 0;
}
