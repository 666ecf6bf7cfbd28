// SPDX-License-Identifier: BSD-2-Clause
/*
 * slow.c - what the fast paths cannot do.
 *
 * Allocations that miss their sheaf, frees that find it full, and frees of
 * something that is not a live object with a bin: objects of caches without a
 * code of their own, tiny objects, large ones, and the caller's mistakes, which
 * are reported here.
 */
#include <errno.h>

#include "core/log.h"
#include "slab/alloc.h"
#include "slab/badfree.h"
#include "slab/class.h"
#include "slab/comm.h"
#include "slab/debug.h"
#include "slab/graph.h"
#include "slab/guard.h"
#include "slab/hazard_watch.h"
#include "slab/health.h"
#include "slab/heap.h"
#include "slab/miss.h"
#include "slab/note.h"
#include "slab/pending.h"
#include "slab/probe.h"
#include "slab/tiny.h"
#include "slab/visit.h"

void *alloc_failed(struct slabdev *sd, struct class *c, int err)
{
	shared_add(&sd->rec->failed, 1);
	if (c)
		shared_add(&c->rec->failed, 1);
	errno = -space_failed(sd, err);
	return NULL;
}

int cache_check(const struct class *c, const char *call)
{
	if (!c)
		return error_set(-EINVAL, "%s: the cache is NULL", call);
	return space_check(c->sd, call);
}

/* ---- Alloc ------------------------------------------------------------ */

/* The tag is the last: from there on others find a live object. */
static void begin_tagged(struct class *c, slot_t slot, u64 size, bool noted)
{
	u32 code = c->code;

	if (code <= NR_GENERAL || c->sized)
		resize_object(c, slot, size);
	/* No fast free may take it. */
	if (class_is_debugged(c))
		code = CODE_DEBUG;
	if (noted)
		code = CODE_NOTED;
	tag_store(&c->sd->tags[slot], tag_make(code));
}

void *object_begin(struct heap *h, struct class *c, slot_t slot, u64 size,
		   bool noted)
{
	if (class_is_tiny(c))
		tiny_set_live(c, slot);
	else
		begin_tagged(c, slot, size, noted);
	heap_count_alloc(h, c, size);
	return slot_ptr(c, slot);
}

static __always_inline void *find_object(struct class *c, u64 size,
					 unsigned int flags,
					 const struct order *o, bool debugged)
{
	struct order have = order_to_have(c->sd, o);
	struct heap *own = heap_get(c->sd);
	bool noted = false;
	slot_t slot;
	int from;

	if (o->stream && load_acquire(&o->stream->graph))
		return graph_alloc(o->stream->graph, c, size, flags);
	from = order_get_one(own, c, flags, &have, &slot);
	if (from < 0)
		return alloc_failed(c->sd, c, from);
	if (from)
		shared_add(&c->rec->refills, 1);
	if (debugged && debug_prepare_new(c, slot, size, o, &noted)) {
		order_put(own, c, slot, &have);
		return alloc_failed(c->sd, c, -ENOMEM);
	}
	return object_begin(own, c, slot, size, noted);
}

static __cold void *alloc_debugged(struct class *c, u64 size,
				   unsigned int flags, const struct order *o)
{
	void *p;

	if (failslab_refuses(c->sd, c, size))
		return alloc_failed(c->sd, c, -ENOMEM);
	p = find_object(c, size, flags, o, true);
	debug_began(c->sd, c, p, size, o);
	return p;
}

void *class_alloc(struct class *c, u64 size, unsigned int flags,
		  const struct order *o)
{
	u32 before = miss_begin(c->sd);
	void *p = class_is_debugged(c) ?
		  alloc_debugged(c, size, flags, o) :
		  find_object(c, size, flags, o, false);

	if (p) {
		miss_end(c->sd, before, size);
		probe_alloc(c->sd, p, size);
	}
	return watch_alloc(c->sd, p, c->object_size, o);
}

static void *comm_alloc(struct slabdev *sd, u64 size, u64 align,
			unsigned int flags, const struct order *o)
{
	struct class *c;
	int err = comm_class(sd, size, align, &c);

	return err ? alloc_failed(sd, NULL, err) :
		     class_alloc(c, size, flags, o);
}

void *alloc_any(struct slabdev *sd, u64 size, u64 align, unsigned int flags,
		const struct order *o)
{
	unsigned int class = 0;
	void *p;

	if (sd->comm_only || (flags & SLABDEV_REQ_COMM))
		return comm_alloc(sd, size, align, flags, o);
	if (size <= GENERAL_MAX && align <= SLICE_SIZE)
		class = sd->zoned ? zone_class(sd, size, max(align, GRANULE)) :
			layout_class_aligned(size, max(align, GRANULE));
	if (guard_alloc(sd, sd->class[class], size, align, flags, o, &p))
		return p;
	if (class)
		return class_alloc(sd->class[class], size, flags, o);
	return large_alloc(sd, size, max(align, SLICE_SIZE), flags, o);
}

static void *refused(int err)
{
	errno = -err;
	return NULL;
}

void *alloc_general(struct slabdev *sd, size_t class, u64 size)
{
	int err = space_check(sd, "slabdev_alloc");
	struct order o;

	watch_site(sd);
	if (err)
		return refused(err);
	o = order_plain(sd);
	if (unlikely(sd->comm_only || sd->zoned ||
		     guard_any(sd, sd->class[class])))
		return alloc_any(sd, size, 0, 0, &o);
	return class_alloc(sd->class[class], size, 0, &o);
}

void *alloc_unusual(struct slabdev *sd, size_t size)
{
	int err = space_check(sd, "slabdev_alloc");
	struct order o;

	watch_site(sd);
	if (err || !size)
		return refused(err);
	o = order_plain(sd);
	return alloc_any(sd, size, 0, 0, &o);
}

void *cache_object(struct class *c, const struct order *o)
{
	void *p;

	if (guard_alloc(c->sd, c, c->object_size, c->align, 0, o, &p))
		return p;
	return class_alloc(c, c->object_size, 0, o);
}

void *alloc_far(const struct slabdev *sd, slot_t slot)
{
	u64 offset = (u64)slot << GRANULE_SHIFT;
	void *p = to_ptr(space_addr(sd, offset));

	probe_alloc(sd, p, object_size(class_at(sd, offset), slot));
	return p;
}

void *cache_alloc_unusual(struct class *c)
{
	int err = cache_check(c, "slabdev_cache_alloc");
	struct order o;

	if (err)
		return refused(err);
	watch_site(c->sd);
	o = order_plain(c->sd);
	return cache_object(c, &o);
}

/* ---- Free ------------------------------------------------------------- */

static int free_checked(struct slabdev *sd, struct class *only, void *p,
			const struct order *o);

int free_taken(struct class *c, slot_t slot, u64 size)
{
	struct heap *h = heap_get(c->sd);
	struct order o;

	if (class_is_debugged(c)) {
		watch_site(c->sd);
		o = order_plain(c->sd);
		debug_ending(c->sd, c, slot_offset(c, slot), size, &o);
	}
	heap_count_free(h, c, size);
	probe_free(c->sd, slot_ptr(c, slot), size);
	heap_free_slow(h, c, slot);
	return 0;
}

/* The object's life has ended: it goes where the order says. */
static void put_object(struct class *c, slot_t slot, u64 size,
		       const struct order *o)
{
	struct heap *own = heap_get(c->sd);

	heap_count_free(own, c, size);
	order_put(own, c, slot, o);
}

/* The same, and there was a note on it, which goes. */
static void put_noted(struct class *c, slot_t slot, u64 size,
		      const struct order *o, struct note *n)
{
	struct graph *g = graph_of_free(o, n);

	heap_count_free(heap_get(c->sd), c, size);
	if (class_is_debugged(c) && n->work->zone)
		graph_zone_end(c, slot, n->work);
	if (g) {
		graph_put(g, o, slot_offset(c, slot), n);
		return;
	}
	pending_add_slot(c, slot, o, n->work->use, n->work->nr);
	note_free(c->sd, n);
}

/* End the life of the object at @at. 0, or what it is instead of live. */
static int take_place(struct slabdev *sd, const struct place *at)
{
	slot_t slot;
	int err;

	if (at->kind == PLACE_GONE)
		return -EALREADY;
	if (at->kind != PLACE_OBJECT && at->kind != PLACE_LARGE)
		return -EINVAL;
	if (!at->start)
		return -EINVAL;
	err = at->live ? note_refuses(sd, at->object) : 0;
	if (err)
		return err;
	if (at->kind == PLACE_OBJECT && class_is_tiny(at->class))
		return tiny_take(at->class, at->offset, &slot);
	if (!tag_is_live(tag_take(&sd->tags[at->object >> GRANULE_SHIFT])))
		return -EALREADY;
	return 0;
}

void free_ended(struct slabdev *sd, struct class *c, u64 offset,
		const struct order *o, struct note *note)
{
	slot_t slot;
	u64 size;

	watch_free(sd, offset, o, graph_of_free(o, note));
	if (!c) {
		size = sd->slabs[offset >> SLICE_SHIFT].size;
		debug_ending(sd, NULL, offset, size, o);
		probe_free(sd, to_ptr(space_addr(sd, offset)), size);
		large_free(sd, offset, o, note);
		return;
	}
	slot = (slot_t)(offset >> c->shift);
	size = c->code <= CODE_DIRECT_LAST && !class_is_tiny(c) &&
	       !keeps_sizes(c) ?
	       end_coded(sd, c->code, slot) : object_size(c, slot);
	debug_ending(sd, c, offset, size, o);
	probe_free(sd, to_ptr(space_addr(sd, offset)), size);
	if (note)
		put_noted(c, slot, size, o, note);
	else
		put_object(c, slot, size, o);
}

/* An object without a bin, whose life was ended. */
static int free_uncoded(struct slabdev *sd, const void *p, u32 tag,
			const struct order *o)
{
	u64 offset = (u64)(uintptr_t)p - sd->base;

	if (tag_code(tag) == CODE_NOTED && note_refuses(sd, offset)) {
		/* Nobody else could have it meanwhile: see note_end(). */
		tag_store(&sd->tags[offset >> GRANULE_SHIFT], (tag_t)tag);
		return free_checked(sd, NULL, (void *)(uintptr_t)p, o);
	}
	free_ended(sd, tag_code(tag) == CODE_LARGE ? NULL :
						     class_at(sd, offset),
		   offset, o, note_take(sd, offset));
	return 0;
}

/* Free it, if it is a live object of a tiny cache: @only, or any (NULL). */
static bool free_tiny(struct slabdev *sd, const struct class *only, u64 offset,
		      const struct order *o)
{
	struct class *c;
	struct slab *s;
	slot_t slot;

	if (!has_tag(sd, offset))
		return false;
	s = sd->slabs + (offset >> SLICE_SHIFT);
	if (slab_state(s) != SLAB_TINY)
		return false;
	c = load_acquire(&sd->class[slab_class(s)]);
	if (!c || (only && c != only) || note_refuses(sd, offset) ||
	    tiny_take(c, offset, &slot))
		return false;
	free_ended(sd, c, offset, o, note_take(sd, offset));
	return true;
}

/* Free it, if it is a live object that begins a granule: of @only, or any. */
static bool free_tagged(struct slabdev *sd, const struct class *only,
			u64 offset, const struct order *o)
{
	struct class *c;
	tag_t *tag;

	if (!has_tag(sd, offset) || offset % GRANULE)
		return false;
	tag = &sd->tags[offset >> GRANULE_SHIFT];
	if (!tag_is_live(tag_load(tag)))
		return false;
	c = class_at(sd, offset);
	if ((only && c != only) || note_refuses(sd, offset) ||
	    !tag_is_live(tag_take(tag)))
		return false;
	free_ended(sd, c, offset, o, note_take(sd, offset));
	return true;
}

static int free_checked(struct slabdev *sd, struct class *only, void *p,
			const struct order *o)
{
	u32 side = visit_begin(sd);
	struct report r;
	struct place at;
	int err;

	lookup(sd, p, &at);
	err = only && at.class != only ? -EINVAL : take_place(sd, &at);
	if (err)
		err = bad_free(&r, sd, only, p, &at, err);
	else
		free_ended(sd, at.kind == PLACE_LARGE ? NULL : at.class,
			   at.object, o, note_take(sd, at.object));
	visit_end(sd, side);
	if (err)
		report_end(&r);
	return err;
}

static int free_found(struct slabdev *sd, struct class *only, void *p,
		      const struct order *o)
{
	u64 offset = (u64)(uintptr_t)p - sd->base;

	if (free_tagged(sd, only, offset, o) || free_tiny(sd, only, offset, o))
		return 0;
	return free_checked(sd, only, p, o);
}

int free_unusual(struct slabdev *sd, void *p, u32 tag)
{
	struct order o;
	int err;

	watch_site(sd);
	if (tag_is_live(tag)) {
		o = order_plain(sd);
		return free_uncoded(sd, p, tag, &o);
	}
	if (!p)
		return 0;
	err = space_check(sd, "slabdev_free");
	if (err)
		return err;
	o = order_plain(sd);
	return free_found(sd, NULL, p, &o);
}

int cache_free_unusual(struct class *c, void *p)
{
	struct order o;
	int err;

	if (!p)
		return 0;
	err = cache_check(c, "slabdev_cache_free");
	if (err)
		return err;
	watch_site(c->sd);
	o = order_plain(c->sd);
	return free_found(c->sd, c, p, &o);
}

int free_in_order(struct slabdev *sd, void *p, const struct order *o)
{
	return free_found(sd, NULL, p, o);
}

int cache_free_in_order(struct class *c, void *p, const struct order *o)
{
	return free_found(c->sd, c, p, o);
}
