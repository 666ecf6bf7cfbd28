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
#include "slab/heap.h"
#include "slab/tiny.h"
#include "slab/visit.h"

void *alloc_failed(struct slabdev *sd, struct class *c, int err)
{
	shared_add(&sd->rec->failed, 1);
	if (c)
		shared_add(&c->rec->failed, 1);
	errno = -err;
	return NULL;
}

int space_check(const struct slabdev *sd, const char *call)
{
	if (!sd)
		return error_set(-EINVAL, "%s: the space is NULL", call);
	if (sd->dead)
		return error_set(-EOWNERDEAD, "%s: space %s did not survive "
				 "the fork: open a new one in this process",
				 call, sd->name);
	return 0;
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
		tag_general(c->sd, c->code, slot, size);
	else
		tag_store(&c->sd->tags[slot], tag_make(c->code, 0));
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

void *alloc_general(struct slabdev *sd, unsigned int class, u64 size,
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
	if (!tag_take(&sd->tags[at->object >> GRANULE_SHIFT]))
		return -EALREADY;
	return 0;
}

static void free_place(struct slabdev *sd, const struct place *at)
{
	if (at->kind == PLACE_LARGE)
		large_free(sd, at->object);
	else
		put_object(at->class, at->slot, at->size);
}

/*
 * The class of a live object without a code of its own, by the descriptor of
 * its slab: the usual case here. NULL when the address is anything else.
 */
static struct class *uncoded_class(struct slabdev *sd, u64 offset)
{
	struct slab *s;
	u32 tag;

	if (offset >= load_acquire(&sd->high))
		return NULL;
	s = sd->slabs + (offset >> SLICE_SHIFT);
	if (slab_state(s) == SLAB_TINY)
		return load_acquire(&sd->class[slab_class(s)]);
	tag = tag_load(&sd->tags[offset >> GRANULE_SHIFT]);
	if (offset % GRANULE || !tag_is_live(tag) ||
	    tag_code(tag) != CODE_SHARED)
		return NULL;
	return load_acquire(&sd->class[slab_class(s - s->back)]);
}

/* A large object that begins at @offset: ended and freed, if there is one. */
static bool free_large(struct slabdev *sd, u64 offset)
{
	tag_t *tag = &sd->tags[offset >> GRANULE_SHIFT];

	if (offset >= load_acquire(&sd->high) || offset % GRANULE ||
	    tag_load(tag) != tag_make(CODE_LARGE, 0) || !tag_take(tag))
		return false;
	large_free(sd, offset);
	return true;
}

/* Free it, if it is one: of cache @only, or of any (NULL). */
static bool free_uncoded(struct slabdev *sd, const struct class *only,
			 const void *p)
{
	u64 offset = (u64)(uintptr_t)p - sd->base;
	struct class *c = uncoded_class(sd, offset);
	slot_t slot = (slot_t)(offset >> GRANULE_SHIFT);

	if (!c || (only && c != only))
		return false;
	if (class_is_tiny(c) ? tiny_take(c, offset, &slot) != 0 :
			       !tag_take(&sd->tags[slot]))
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

int free_unusual(struct slabdev *sd, void *p)
{
	int err;

	if (!p)
		return 0;
	err = space_check(sd, "slabdev_free");
	if (err || free_uncoded(sd, NULL, p) ||
	    free_large(sd, (u64)(uintptr_t)p - sd->base))
		return err;
	return free_checked(sd, NULL, p);
}

int cache_free_unusual(struct class *c, void *p)
{
	int err;

	if (!p)
		return 0;
	err = cache_check(c, "slabdev_cache_free");
	if (err || free_uncoded(c->sd, c, p))
		return err;
	return free_checked(c->sd, c, p);
}
