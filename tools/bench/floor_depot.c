// SPDX-License-Identifier: BSD-2-Clause
/*
 * floor_depot.c - what is behind the magazines of all threads.
 */
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "floor.h"
#include "floor_depot.h"

#define MOST_BYTES ((uint32_t)4 << 20)

struct depot {
	uint32_t lock;
	uint32_t nr;
	uint32_t room;
	void **slot;
} __attribute__((aligned(128)));

static struct depot depots[FLOOR_CLASSES];

static void lock(struct depot *d)
{
	uint32_t spins = 0;

	while (__atomic_exchange_n(&d->lock, 1, __ATOMIC_ACQUIRE))
		while (__atomic_load_n(&d->lock, __ATOMIC_RELAXED))
			if (++spins % 1000 == 0)
				sched_yield();
}

static void unlock(struct depot *d)
{
	__atomic_store_n(&d->lock, 0, __ATOMIC_RELEASE);
}

uint32_t depot_room(unsigned int class)
{
	uint32_t room = MOST_BYTES / floor_class_size[class];

	return room < DEPOT_MAGAZINE ? room : DEPOT_MAGAZINE;
}

uint32_t depot_get(unsigned int class, void **slot, uint32_t nr)
{
	struct depot *d = &depots[class];
	uint32_t got;

	lock(d);
	got = nr < d->nr ? nr : d->nr;
	d->nr -= got;
	if (got)
		memcpy(slot, &d->slot[d->nr], got * sizeof(*slot));
	unlock(d);
	return got ? got : floor_carve(class, slot, nr);
}

static bool make_room(struct depot *d, uint32_t nr)
{
	uint32_t room = 2 * d->room + DEPOT_MAGAZINE;
	void **slot;

	if (d->nr + nr <= d->room)
		return true;
	slot = realloc(d->slot, room * sizeof(*slot));
	if (!slot)
		return false;
	d->slot = slot;
	d->room = room;
	return true;
}

void depot_put(unsigned int class, void *const *slot, uint32_t nr)
{
	struct depot *d = &depots[class];

	if (!nr)
		return;
	lock(d);
	if (make_room(d, nr)) {
		memcpy(&d->slot[d->nr], slot, nr * sizeof(*slot));
		d->nr += nr;
	}
	unlock(d);
}
