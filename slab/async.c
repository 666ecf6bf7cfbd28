// SPDX-License-Identifier: BSD-2-Clause
/*
 * async.c - allocations and frees on a stream; stream.h has the theory.
 *
 * The fast halves are those of alloc.c on the heap that the thread has for the
 * stream: one comparison finds it, if it was the last one used.
 */
#include <errno.h>

#include "core/log.h"
#include "slab/class.h"
#include "slab/debug.h"
#include "slab/fast.h"
#include "slab/graph.h"
#include "slab/hazard_watch.h"
#include "slab/heap.h"
#include "slab/note.h"
#include "slab/pending.h"
#include "slab/probe.h"
#include "slab/tiny.h"
#include "slab/visit.h"

static void *fail(int err)
{
	errno = -err;
	return NULL;
}

/* The heap of the stream that was used last; false: it is another's. */
static __always_inline bool recent_heap(const struct heap *own,
					slabdev_stream_t stream,
					struct heap **h)
{
	*h = own->recent;
	return likely(READ_ONCE((*h)->key) == stream);
}

/* ---- General objects ---------------------------------------------------- */

static void *alloc_other(struct slabdev *sd, size_t size,
			 slabdev_stream_t stream)
{
	struct order o;
	int err = space_check(sd, "slabdev_alloc_async");

	if (!err)
		err = order_of(sd, stream, "slabdev_alloc_async", &o);
	if (err || !sd || !size)
		return fail(err);
	if (order_is_bound(&o) && !is_watched(sd))
		return slabdev_alloc(sd, size);
	watch_site(sd);
	return alloc_any(sd, size, 0, 0, &o);
}

#undef slabdev_alloc_async
void *slabdev_alloc_async(struct slabdev *sd, size_t size,
			  slabdev_stream_t stream)
{
	struct heap *own, *h;
	size_t class;
	slot_t slot;

	if (unlikely(size - 1 >= GENERAL_MAX || !sd))
		return alloc_other(sd, size, stream);
	class = layout_class(size);
	own = thread_self->heap[sd->id];
	if (unlikely(!recent_heap(own, stream, &h) ||
		     !sheaf_pop(h, &h->bin[class], &slot)))
		return alloc_other(sd, size, stream);
	begin_general(sd, class, slot, size);
	count_alloc(&own->count[class], size);
	return fast_ptr(sd, slot, size);
}

static int free_other(struct slabdev *sd, void *p, slabdev_stream_t stream)
{
	struct order o;
	int err;

	if (!p)
		return 0;
	err = space_check(sd, "slabdev_free_async");
	if (!err)
		err = order_of(sd, stream, "slabdev_free_async", &o);
	if (err)
		return err;
	watch_site(sd);
	if (order_is_bound(&o) && !sd->hazard)
		return slabdev_free(sd, p);
	return free_in_order(sd, p, &o);
}

/* The life has ended, but the sheaf is full. */
static int push_slowly(struct heap *h, struct class *c, slot_t slot, u64 size)
{
	struct order o = { h->key, h->stream };

	watch_site(c->sd);
	debug_ending(c->sd, c, slot_offset(c, slot), size, &o);
	heap_count_free(h->own, c, size);
	probe_free(c->sd, slot_ptr(c, slot), size);
	heap_free_slow(h, c, slot);
	return 0;
}

#undef slabdev_free_async
int slabdev_free_async(struct slabdev *sd, void *p, slabdev_stream_t stream)
{
	struct heap *own, *h;
	slot_t slot;
	size_t class;
	u32 tag;
	u64 size;

	if (unlikely(!sd || !fast_slot(sd, p, &slot)))
		return free_other(sd, p, stream);
	own = thread_self->heap[sd->id];
	tag = tag_load(&sd->tags[slot]);
	class = tag_code(tag);
	if (unlikely(!recent_heap(own, stream, &h) || !code_has_bin(class)))
		return free_other(sd, p, stream);
	size = coded_size(sd, class, slot);
	if (unlikely(tag_take(&sd->tags[slot]) != tag))
		return free_other(sd, p, stream);
	end_rounding(sd, class, slot, size);
	if (unlikely(!sheaf_push(h, &h->bin[class], slot)))
		return push_slowly(h, sd->class[class], slot, size);
	count_free(&own->count[class], size);
	probe_free(sd, p, size);
	return 0;
}

/* ---- Caches ------------------------------------------------------------- */

static void *cache_alloc_other(struct class *c, slabdev_stream_t stream)
{
	struct order o;
	int err = cache_check(c, "slabdev_cache_alloc_async");

	if (!err)
		err = order_of(c->sd, stream, "slabdev_cache_alloc_async", &o);
	if (err)
		return fail(err);
	watch_site(c->sd);
	return cache_object(c, &o);
}

#undef slabdev_cache_alloc_async
void *slabdev_cache_alloc_async(struct slabdev_cache *cache,
				slabdev_stream_t stream)
{
	struct class *c = cache_class(cache);
	struct heap *own, *h;
	slot_t slot;

	if (unlikely(!c || c->code > CODE_DIRECT_LAST))
		return cache_alloc_other(c, stream);
	own = thread_self->heap[c->sd->id];
	if (unlikely(!recent_heap(own, stream, &h) ||
		     !sheaf_pop(h, &h->bin[c->code], &slot)))
		return cache_alloc_other(c, stream);
	tag_store(&c->sd->tags[slot], tag_make(c->code));
	count_alloc(&own->count[c->code], c->object_size);
	return fast_ptr(c->sd, slot, c->object_size);
}

static int cache_free_other(struct class *c, void *p, slabdev_stream_t stream)
{
	struct order o;
	int err;

	if (!p)
		return 0;
	err = cache_check(c, "slabdev_cache_free_async");
	if (!err)
		err = order_of(c->sd, stream, "slabdev_cache_free_async", &o);
	if (err)
		return err;
	watch_site(c->sd);
	return cache_free_in_order(c, p, &o);
}

#undef slabdev_cache_free_async
int slabdev_cache_free_async(struct slabdev_cache *cache, void *p,
			     slabdev_stream_t stream)
{
	struct class *c = cache_class(cache);
	struct heap *own, *h;
	slot_t slot;
	tag_t *tag;

	if (unlikely(!c || !fast_slot(c->sd, p, &slot)))
		return cache_free_other(c, p, stream);
	own = thread_self->heap[c->sd->id];
	tag = &c->sd->tags[slot];
	if (unlikely(!recent_heap(own, stream, &h) ||
		     tag_load(tag) != tag_make(c->code) ||
		     c->code > CODE_DIRECT_LAST ||
		     !tag_is_live(tag_take(tag))))
		return cache_free_other(c, p, stream);
	if (unlikely(!sheaf_push(h, &h->bin[c->code], slot)))
		return push_slowly(h, c, slot, c->object_size);
	count_free(&own->count[c->code], c->object_size);
	probe_free(c->sd, p, c->object_size);
	return 0;
}

/* ---- Uses --------------------------------------------------------------- */

#undef slabdev_use
int slabdev_use(struct slabdev *sd, void *p, slabdev_stream_t stream)
{
	struct place at;
	struct order o;
	int err = space_check(sd, "slabdev_use");

	if (!err)
		err = order_of(sd, stream, "slabdev_use", &o);
	if (err)
		return err;
	if (!lookup_live(sd, p, &at))
		return error_set(-EINVAL, "slabdev_use: no live object of %s "
				 "begins at %p", sd->name, p);
	/* The bound stream is among those of a plain free, not of others. */
	if (order_is_bound(&o)) {
		if (!sd->stream)
			return 0;
		o.handle = sd->stream;
	}
	return watch_use(sd, note_use(sd, at.object, &o), p, o.handle);
}
