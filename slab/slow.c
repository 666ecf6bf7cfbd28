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
#include "slab/health.h"
#include "slab/heap.h"
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

void *object_begin(struct heap *h, struct class *c, slot_t slot, u64 size)
{
	if (class_is_tiny(c))
		tiny_set_live(c, slot);
	else if (c->code <= NR_GENERAL)
		begin_general(c->sd, c->code, slot, size);
	else
		tag_store(&c->sd->tags[slot], tag_make(c->code));
	heap_count_alloc(h, c, size);
	return slot_ptr(c, slot);
}

void *class_alloc(struct class *c, u64 size, unsigned int flags)
{
	struct heap *h = heap_get(c->sd);
	struct bin *b = heap_bin(h, c);
	slot_t slot;
	int from;

	if (!b || !sheaf_pop(h, b, &slot)) {
		from = heap_alloc_slow(h, c, flags, &slot);
		if (from < 0)
			return alloc_failed(c->sd, c, from);
		if (from)
			shared_add(&c->rec->refills, 1);
	}
	return object_begin(h, c, slot, size);
}

static void *refused(int err)
{
	errno = -err;
	return NULL;
}

void *alloc_general(struct slabdev *sd, size_t class, u64 size,
		    unsigned int flags)
{
	int err = space_check(sd, "slabdev_alloc");

	if (err)
		return refused(err);
	return class_alloc(sd->class[class], size, flags);
}

void *alloc_unusual(struct slabdev *sd, size_t size)
{
	int err = space_check(sd, "slabdev_alloc");

	if (err || !size)
		return refused(err);
	return large_alloc(sd, size, SLICE_SIZE, 0);
}

void *cache_alloc_unusual(struct class *c)
{
	int err = cache_check(c, "slabdev_cache_alloc");

	if (err)
		return refused(err);
	return class_alloc(c, c->object_size, 0);
}

/* ---- Free ------------------------------------------------------------- */

int free_taken(struct class *c, slot_t slot, u64 size)
{
	struct heap *h = heap_get(c->sd);

	heap_count_free(h, c, size);
	heap_free_slow(h, c, slot);
	return 0;
}

/* The same for classes that the fast paths do not know. */
static void put_object(struct class *c, slot_t slot, u64 size)
{
	struct heap *h = heap_get(c->sd);
	struct bin *b = heap_bin(h, c);

	heap_count_free(h, c, size);
	if (!b || !sheaf_push(h, b, slot))
		heap_free_slow(h, c, slot);
}

/* End the life of the object at @at. 0, or what it is instead of live. */
static int take_place(struct slabdev *sd, const struct place *at)
{
	slot_t slot;

	if (at->kind == PLACE_GONE)
		return -EALREADY;
	if (at->kind != PLACE_OBJECT && at->kind != PLACE_LARGE)
		return -EINVAL;
	if (!at->start)
		return -EINVAL;
	if (at->kind == PLACE_OBJECT && class_is_tiny(at->class))
		return tiny_take(at->class, at->offset, &slot);
	if (!tag_is_live(tag_take(&sd->tags[at->object >> GRANULE_SHIFT])))
		return -EALREADY;
	return 0;
}

static void free_place(struct slabdev *sd, const struct place *at)
{
	u64 size = at->size;

	if (at->kind == PLACE_LARGE) {
		large_free(sd, at->object);
		return;
	}
	if (at->class->code <= CODE_DIRECT_LAST)
		size = end_coded(sd, at->class->code, at->slot);
	put_object(at->class, at->slot, size);
}

/* An object without a bin, whose life has ended. */
static void free_uncoded(struct slabdev *sd, const void *p, u32 tag)
{
	u64 offset = (u64)(uintptr_t)p - sd->base;
	struct slab *s = sd->slabs + (offset >> SLICE_SHIFT);
	struct class *c;

	if (tag_code(tag) == CODE_LARGE) {
		large_free(sd, offset);
		return;
	}
	c = sd->class[slab_class(s - READ_ONCE(s->back))];
	put_object(c, (slot_t)(offset >> GRANULE_SHIFT), c->object_size);
}

/* Free it, if it is a live object of a tiny cache: @only, or any (NULL). */
static bool free_tiny(struct slabdev *sd, const struct class *only, u64 offset)
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
	if (!c || (only && c != only) || tiny_take(c, offset, &slot))
		return false;
	put_object(c, slot, c->object_size);
	return true;
}

/* Free it, if it is a live object of cache @c, which shares its code. */
static bool free_shared(struct class *c, u64 offset)
{
	struct slabdev *sd = c->sd;
	struct slab *s = sd->slabs + (offset >> SLICE_SHIFT);
	slot_t slot = (slot_t)(offset >> GRANULE_SHIFT);

	if (!has_tag(sd, offset) || offset % GRANULE ||
	    tag_load(&sd->tags[slot]) != tag_make(CODE_SHARED) ||
	    load_acquire(&sd->class[slab_class(s - READ_ONCE(s->back))]) != c ||
	    !tag_is_live(tag_take(&sd->tags[slot])))
		return false;
	put_object(c, slot, c->object_size);
	return true;
}

static int free_checked(struct slabdev *sd, struct class *only, void *p)
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
		free_place(sd, &at);
	visit_end(sd, side);
	if (err)
		report_end(&r);
	return err;
}

int free_unusual(struct slabdev *sd, void *p, u32 tag)
{
	int err;

	if (tag_is_live(tag)) {
		free_uncoded(sd, p, tag);
		return 0;
	}
	if (!p)
		return 0;
	err = space_check(sd, "slabdev_free");
	if (err || free_tiny(sd, NULL, (u64)(uintptr_t)p - sd->base))
		return err;
	return free_checked(sd, NULL, p);
}

int cache_free_unusual(struct class *c, void *p)
{
	u64 offset;
	int err;

	if (!p)
		return 0;
	err = cache_check(c, "slabdev_cache_free");
	if (err)
		return err;
	offset = (u64)(uintptr_t)p - c->sd->base;
	if (free_tiny(c->sd, c, offset) || free_shared(c, offset))
		return 0;
	return free_checked(c->sd, c, p);
}
