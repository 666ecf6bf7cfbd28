/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ids.h - which ids of a trace are live, and where their objects are kept.
 *
 * Ids are any numbers of 64 bits; an id that was freed may be used again. Each
 * live one has a slot, a small number that the replay indexes its objects by.
 * Slots are used again as well, so memory goes with what is live at once, not
 * with the length of the trace.
 *
 * A hash table with linear probing, at most half full; what is taken out
 * closes its gap, so there are no tombstones to clean.
 */
#ifndef SLABREPLAY_IDS_H
#define SLABREPLAY_IDS_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct live_id - a live id
 * @id: the id
 * @bytes: of its object
 * @line: where it was allocated; 0: this entry is empty
 * @slot: its slot
 */
struct live_id {
	uint64_t id;
	uint64_t bytes;
	uint64_t line;
	uint32_t slot;
};

/**
 * struct ids - the live ids of one trace
 * @table: the hash table
 * @mask: its size less one
 * @nr: live ids
 * @free: slots that were used before, a stack
 * @nr_free: how many
 * @nr_slots: slots below this were ever used
 */
struct ids {
	struct live_id *table;
	size_t mask;
	size_t nr;
	uint32_t *free;
	size_t nr_free;
	uint32_t nr_slots;
};

void ids_init(struct ids *ids);
void ids_fini(struct ids *ids);
/* No id is live; every slot is free. */
void ids_clear(struct ids *ids);

/* The entry of @id, or NULL. Valid until the next change. */
const struct live_id *ids_find(const struct ids *ids, uint64_t id);
/* Its slot. @id is not live. */
uint32_t ids_add(struct ids *ids, uint64_t id, uint64_t bytes, uint64_t line);
/* @id is live. */
void ids_remove(struct ids *ids, uint64_t id);

#endif /* SLABREPLAY_IDS_H */
