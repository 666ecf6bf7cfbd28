// SPDX-License-Identifier: BSD-2-Clause
/* barn.c - the exchange of sheaves; see barn.h. */
#include "core/overflow.h"
#include "slab/barn.h"
#include "slab/class.h"
#include "slab/debug.h"

#define BARN_BYTES (256 * KIB)
#define BARN_MAX_FULL 16u
#define BARN_MAX_EMPTY 16u

struct sheaf sheaf_none;

/* Capacities of the three kinds of sheaf memory. */
static const u32 pool_cap[NR_SHEAF_POOLS] = { 12, 28, SHEAF_MAX_OBJECTS };

u32 barn_limit(u64 stride, u32 sheaf_cap)
{
	u64 bytes = stride * sheaf_cap;

	return (u32)min(max(BARN_BYTES / max(bytes, (u64)1), (u64)1),
			(u64)BARN_MAX_FULL);
}

void sheaf_pools_init(struct slabdev *sd)
{
	u32 i;

	for (i = 0; i < NR_SHEAF_POOLS; i++)
		metapool_init(&sd->sheaf_pool[i], sizeof(struct sheaf) +
			      pool_cap[i] * sizeof(slot_t), "sheaves");
}

void sheaf_pools_fini(struct slabdev *sd)
{
	u32 i;

	for (i = 0; i < NR_SHEAF_POOLS; i++)
		metapool_fini(&sd->sheaf_pool[i]);
}

static struct metapool *pool_for(struct class *c)
{
	u32 i = 0;

	while (pool_cap[i] < c->sheaf_cap)
		i++;
	return &c->sd->sheaf_pool[i];
}

struct sheaf *sheaf_new(struct class *c)
{
	struct sheaf *s;

	lock_acquire(&c->barn_lock);
	s = c->empty;
	if (s) {
		c->empty = s->next;
		c->nr_empty--;
		WRITE_ONCE(c->rec->barn_empty, c->nr_empty);
	}
	lock_release(&c->barn_lock);
	if (s)
		return s;
	s = metapool_alloc(pool_for(c));
	if (!s)
		return NULL;
	s->cap = c->sheaf_cap;
	s->class = c->id;
	return s;
}

static bool put_empty_locked(struct class *c, struct sheaf *s)
{
	if (c->nr_empty >= BARN_MAX_EMPTY)
		return false;
	s->next = c->empty;
	c->empty = s;
	c->nr_empty++;
	WRITE_ONCE(c->rec->barn_empty, c->nr_empty);
	return true;
}

void sheaf_drop(struct class *c, struct sheaf *s)
{
	bool kept;

	if (s == &sheaf_none)
		return;
	lock_acquire(&c->barn_lock);
	kept = put_empty_locked(c, s);
	lock_release(&c->barn_lock);
	if (!kept)
		metapool_free(pool_for(c), s);
}

/* The first full sheaf; of those with complete objects if @complete. */
static struct sheaf *unlink_full_locked(struct class *c, bool complete)
{
	struct sheaf **at = &c->full, *s;

	while ((s = *at) && complete && s->domain != DOMAIN_COMPLETE)
		at = &s->next;
	if (s)
		*at = s->next;
	return s;
}

struct sheaf *barn_take_full(struct class *c, struct sheaf *empty,
			     bool complete)
{
	struct sheaf *full;
	bool kept = true;

	/* A look without the lock: a miss costs no more than it must. */
	if (!READ_ONCE(c->nr_full))
		return NULL;
	lock_acquire(&c->barn_lock);
	full = unlink_full_locked(c, complete);
	if (full) {
		WRITE_ONCE(c->nr_full, c->nr_full - 1);
		WRITE_ONCE(c->rec->barn_full, c->nr_full);
		if (empty != &sheaf_none)
			kept = put_empty_locked(c, empty);
	}
	lock_release(&c->barn_lock);
	if (!kept)
		metapool_free(pool_for(c), empty);
	return full;
}

bool barn_put_full(struct class *c, struct sheaf *full)
{
	bool room;

	if (READ_ONCE(c->nr_full) >= c->barn_max)
		return false;
	lock_acquire(&c->barn_lock);
	/* Whoever switches checks on looks here after that. */
	room = c->nr_full < c->barn_max && !class_is_debugged(c);
	if (room) {
		full->next = c->full;
		c->full = full;
		WRITE_ONCE(c->nr_full, c->nr_full + 1);
		WRITE_ONCE(c->rec->barn_full, c->nr_full);
	}
	lock_release(&c->barn_lock);
	return room;
}

void barn_flush(struct class *c)
{
	struct sheaf *full, *empty, *s;

	lock_acquire(&c->barn_lock);
	full = c->full;
	empty = c->empty;
	c->full = c->empty = NULL;
	WRITE_ONCE(c->nr_full, 0);
	c->nr_empty = 0;
	WRITE_ONCE(c->rec->barn_full, 0);
	WRITE_ONCE(c->rec->barn_empty, 0);
	lock_release(&c->barn_lock);
	while ((s = full)) {
		full = s->next;
		class_put(c, s->slot, s->n, s->domain);
		metapool_free(pool_for(c), s);
	}
	while ((s = empty)) {
		empty = s->next;
		metapool_free(pool_for(c), s);
	}
}

void barn_forget(struct class *c)
{
	struct sheaf *s;

	for (s = c->full; s; s = s->next)
		s->n = 0;
	barn_flush(c);
}
