// SPDX-License-Identifier: BSD-2-Clause
/*
 * body_one.c - workloads whose threads, one or two, keep to themselves.
 *
 * pair	allocate, free: the shortest way through an allocator
 * batch	allocate many, free them in a given order
 * together	the same, in one call for a group
 * bulk	the same with 32, in one call where there is one
 * replace	free a random one of many, allocate another
 *
 * An allocation that fails ends the body. The test for it costs every subject
 * the same, and a program would have it too.
 */
#include <errno.h>

#include "random.h"
#include "workload.h"

#define BULK 32u

static always_inline int pair(struct worker *w, uint64_t n, enum shape shape)
{
	const struct calls c = w->calls;
	size_t size = w->size;
	void *p;

	for (; n; n--) {
		p = call_alloc(&c, shape, size);
		if (unlikely(!p))
			return -ENOMEM;
		call_free(&c, shape, p);
	}
	return 0;
}
DEFINE_BODIES(pair);

static always_inline int batch(struct worker *w, uint64_t n, enum shape shape)
{
	const struct calls c = w->calls;
	const uint32_t *sizes = w->sizes, *order = w->order;
	uint32_t i, nr = w->nr, next = w->next_size;
	void **object = w->object;

	for (; n >= nr; n -= nr) {
		for (i = 0; i < nr; i++) {
			object[i] = call_alloc(&c, shape,
					       sizes[next++ % NR_SIZES]);
			if (unlikely(!object[i]))
				return -ENOMEM;
		}
		for (i = 0; i < nr; i++)
			call_free(&c, shape, object[order[i]]);
	}
	w->next_size = next;
	return 0;
}
DEFINE_BODIES(batch);

static int group(struct worker *w, uint64_t n)
{
	const struct group_calls c = w->calls.group;
	struct slabdev_group *g;
	uint32_t nr = w->nr;

	for (; n >= nr; n -= nr) {
		if (unlikely(c.alloc(&g, c.sd, w->block, nr, 0, w->object)))
			return -ENOMEM;
		c.free(g);
	}
	return 0;
}

static int arena(struct worker *w, uint64_t n)
{
	const struct arena_calls c = w->calls.arena;
	const size_t *size = w->block;
	void **object = w->object;
	uint32_t i, nr = w->nr;

	for (; n >= nr; n -= nr) {
		for (i = 0; i < nr; i++) {
			object[i] = c.alloc(c.arena, size[i]);
			if (unlikely(!object[i]))
				return -ENOMEM;
		}
		c.reset(c.arena);
	}
	return 0;
}

const body_fn together_bodies[NR_SHAPES] = {
	[SHAPE_PLAIN] = batch_plain,
	[SHAPE_SPACE] = batch_space,
	[SHAPE_STREAM] = batch_stream,
	[SHAPE_CACHE] = batch_cache,
	[SHAPE_GROUP] = group,
	[SHAPE_ARENA] = arena,
};

static always_inline bool bulk_alloc(const struct calls *c, enum shape shape,
				     size_t size, void **p)
{
	uint32_t i;

	if (shape == SHAPE_CACHE)
		return !c->cache.alloc_bulk(c->cache.cache, BULK, p);
	for (i = 0; i < BULK; i++) {
		p[i] = call_alloc(c, shape, size);
		if (unlikely(!p[i]))
			return false;
	}
	return true;
}

static always_inline void bulk_free(const struct calls *c, enum shape shape,
				    void **p)
{
	uint32_t i;

	if (shape == SHAPE_CACHE)
		c->cache.free_bulk(c->cache.cache, BULK, p);
	else
		for (i = 0; i < BULK; i++)
			call_free(c, shape, p[i]);
}

static always_inline int bulk(struct worker *w, uint64_t n, enum shape shape)
{
	const struct calls c = w->calls;
	size_t size = w->size;
	void *p[BULK];

	for (; n >= BULK; n -= BULK) {
		if (unlikely(!bulk_alloc(&c, shape, size, p)))
			return -ENOMEM;
		bulk_free(&c, shape, p);
	}
	return 0;
}
DEFINE_BODIES(bulk);

static always_inline int replace(struct worker *w, uint64_t n,
				 enum shape shape)
{
	const struct calls c = w->calls;
	const uint32_t *sizes = w->sizes;
	uint32_t i, nr = w->nr, next = w->next_size;
	uint64_t random = w->random;
	void **object = w->object;

	for (; n; n--) {
		i = random_below(&random, nr);
		call_free(&c, shape, object[i]);
		object[i] = call_alloc(&c, shape, sizes[next++ % NR_SIZES]);
		if (unlikely(!object[i]))
			return -ENOMEM;
	}
	w->random = random;
	w->next_size = next;
	return 0;
}
DEFINE_BODIES(replace);
