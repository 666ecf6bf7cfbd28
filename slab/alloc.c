// SPDX-License-Identifier: BSD-2-Clause
/*
 * alloc.c - the fast paths: what an allocation and a free do on a hit.
 *
 *   alloc   class of the size, by table; pop a slot from the main sheaf; write
 *           rounding and tag; count; the slot's address
 *   free    offset of the address; its rounding; end the life by exchange of
 *           the tag: was it live, and of a class with a bin?; push; count
 *
 * Everything else is a tail call into a slow path (slow.c), so that the
 * compiler saves no register on the way of a hit.
 */
#include "slab/fast.h"
#include "slab/probe.h"

void *slabdev_alloc(struct slabdev *sd, size_t size)
{
	size_t class;
	struct heap *h;
	slot_t slot;

	if (unlikely(size - 1 >= GENERAL_MAX || !sd))
		return alloc_unusual(sd, size);
	class = layout_class(size);
	h = thread_self->heap[sd->id];
	if (unlikely(!sheaf_pop(h, &h->bin[class], &slot)))
		return alloc_general(sd, class, size);
	begin_general(sd, class, slot, size);
	count_alloc(&h->count[class], size);
	return fast_ptr(sd, slot, size);
}

int slabdev_free(struct slabdev *sd, void *p)
{
	u32 tag, rounding;
	struct heap *h;
	size_t class;
	slot_t slot;
	u64 size;

	if (unlikely(!sd || !fast_slot(sd, p, &slot)))
		return free_unusual(sd, p, 0);
	/* Before the exchange: loads behind one wait for its end. */
	rounding = READ_ONCE(*rounding_pair(sd, slot));
	tag = tag_take(&sd->tags[slot]);
	class = tag_code(tag);
	if (likely(code_has_pair(class)))
		size = sd->code_size[class] - rounding;
	else if (likely(code_has_bin(class)))
		size = end_coded(sd, class, slot);
	else
		return free_unusual(sd, p, tag);
	h = thread_self->heap[sd->id];
	if (unlikely(!sheaf_push(h, &h->bin[class], slot)))
		return free_taken(sd->class[class], slot, size);
	count_free(&h->count[class], size);
	probe_free(sd, p, size);
	return 0;
}

void *slabdev_cache_alloc(struct slabdev_cache *cache)
{
	struct class *c = cache_class(cache);
	struct heap *h;
	slot_t slot;

	if (unlikely(!c || c->code > CODE_DIRECT_LAST))
		return cache_alloc_unusual(c);
	h = thread_self->heap[c->sd->id];
	if (unlikely(!sheaf_pop(h, &h->bin[c->code], &slot)))
		return cache_alloc_unusual(c);
	tag_store(&c->sd->tags[slot], tag_make(c->code));
	count_alloc(&h->count[c->code], c->object_size);
	return fast_ptr(c->sd, slot, c->object_size);
}

int slabdev_cache_free(struct slabdev_cache *cache, void *p)
{
	struct class *c = cache_class(cache);
	struct slabdev *sd;
	struct heap *h;
	slot_t slot;
	tag_t *tag;

	if (unlikely(!c || !fast_slot(c->sd, p, &slot)))
		return cache_free_unusual(c, p);
	tag = &c->sd->tags[slot];
	if (unlikely(tag_load(tag) != tag_make(c->code) ||
		     c->code > CODE_DIRECT_LAST ||
		     !tag_is_live(tag_take(tag))))
		return cache_free_unusual(c, p);
	sd = c->sd;
	h = thread_self->heap[sd->id];
	if (unlikely(!sheaf_push(h, &h->bin[c->code], slot)))
		return free_taken(c, slot, c->object_size);
	count_free(&h->count[c->code], c->object_size);
	probe_free(sd, p, c->object_size);
	return 0;
}
