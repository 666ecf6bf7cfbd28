// SPDX-License-Identifier: BSD-2-Clause
/*
 * lookup.c - what is at an address.
 *
 * The slow counterpart of the tags: for pointers that a free refuses, for
 * reports, for slabdev_usable_size() and slabdev_explain(). Reads descriptors
 * without the class lock: for the address of a live object that the caller
 * owns the answer is exact; for others it is a snapshot.
 */
#include "core/overflow.h"
#include "slab/alloc.h"
#include "slab/arena.h"
#include "slab/class.h"
#include "slab/guard.h"
#include "slab/tiny.h"
#include "slab/visit.h"

static void lookup_object(struct slabdev *sd, struct place *at)
{
	struct class *c = load_acquire(&sd->class[slab_class(at->slab)]);
	u64 in_slab = at->offset - slab_offset(sd, at->slab);
	u64 index, into = 0;
	u32 tag;

	if (!c)
		return;
	at->class = c;
	at->usable = c->stride;
	index = slab_index(c, in_slab, &into);
	if (index >= c->nr) {
		at->kind = PLACE_SLACK;
		return;
	}
	at->kind = PLACE_OBJECT;
	at->object = at->offset - into;
	at->start = !into;
	at->slot = (slot_t)(at->object >> c->shift);
	at->size = c->object_size;
	if (class_is_tiny(c)) {
		at->live = tiny_is_live(at->slab, (u32)index);
		return;
	}
	tag = tag_load(&sd->tags[at->slot]);
	at->live = tag_is_live(tag);
	if (at->live)
		at->size = object_size(c, at->slot);
}

static void lookup_large(struct slabdev *sd, struct place *at)
{
	at->object = large_offset(sd, (u32)(at->slab - sd->slabs));
	/* Before a guarded one there are bytes of nobody. */
	if (at->offset < at->object)
		return;
	at->kind = PLACE_LARGE;
	at->start = at->object == at->offset;
	at->live = tag_is_live(tag_load(&sd->tags[at->object >>
						  GRANULE_SHIFT]));
	at->size = READ_ONCE(at->slab->size);
	at->usable = large_usable(sd, at->size);
	if (!slab_is_guard(at->slab))
		return;
	at->usable = at->size;
	if (slab_class(at->slab) != CLASS_LARGE)
		at->class = load_acquire(&sd->class[slab_class(at->slab)]);
}

/* Did an object of the slab, or run, that was at @s last begin at the place? */
static bool began_in(const struct slabdev *sd, const struct slab *s,
		     const struct class *c, u64 offset)
{
	u64 in_slab = offset - slab_offset(sd, s), into = 0;

	/* A large one, or a guarded one of a cache. */
	if (c->id == CLASS_LARGE || !READ_ONCE(s->nr))
		return in_slab == READ_ONCE(s->begin) && READ_ONCE(s->size);
	return slab_index(c, in_slab, &into) < c->nr && !into;
}

/*
 * No object is there now. Descriptors outlive what they described, which tells
 * a second free from an address that never was an object's.
 */
static void lookup_gone(struct slabdev *sd, struct place *at)
{
	struct slab *s = sd->slabs + (at->offset >> SLICE_SHIFT);
	struct class *c;
	u16 back;

	/* has_tag() ends with the first reservation. */
	if (at->offset >= vmm_chunk_offset(&sd->vmm,
					   load_acquire(&sd->pool.end_chunk)))
		return;
	back = READ_ONCE(s->back);
	if (back <= s - sd->slabs)
		s -= back;
	c = load_acquire(&sd->class[slab_class(s)]);
	if (slab_state(s) != SLAB_NONE || !c || !began_in(sd, s, c, at->offset))
		return;
	at->kind = PLACE_GONE;
	at->class = c;
	at->object = at->offset;
	at->start = true;
}

void lookup(struct slabdev *sd, const void *p, struct place *at)
{
	u32 slice;

	*at = (struct place){ .kind = PLACE_FOREIGN };
	if (!vmm_offset(&sd->vmm, (u64)(uintptr_t)p, &at->offset))
		return;
	at->kind = PLACE_UNUSED;
	slice = pool_run_of(sd, (u32)(at->offset >> SLICE_SHIFT));
	if (slice != RANGE_NONE)
		at->slab = sd->slabs + slice;
	switch (at->slab ? slab_state(at->slab) : SLAB_NONE) {
	case SLAB_OBJECTS:
	case SLAB_TINY:
		lookup_object(sd, at);
		break;
	case SLAB_LARGE:
	case SLAB_HUGE:
	case SLAB_GUARD:
		lookup_large(sd, at);
		break;
	case SLAB_NONE:
		if (arenas_have(sd, p, &at->live))
			at->kind = PLACE_ARENA;
		else
			lookup_gone(sd, at);
		break;
	}
}

bool lookup_live(struct slabdev *sd, const void *p, struct place *at)
{
	u32 side = visit_begin(sd);

	lookup(sd, p, at);
	visit_end(sd, side);
	return (at->kind == PLACE_OBJECT || at->kind == PLACE_LARGE) &&
	       at->start && at->live;
}
