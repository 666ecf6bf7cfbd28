/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * calls.h - how an allocator is called.
 *
 * Allocators take different arguments: malloc() a size, the general calls a
 * space and a size, a cache only itself. An adapter around each of them would
 * cost as much as a good allocator does. So a *shape* says which arguments
 * there are, a workload is compiled once for each shape, and every allocator
 * is called by a pointer to its own functions, none through another.
 */
#ifndef SLABBENCH_CALLS_H
#define SLABBENCH_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include <slabdev/slabdev.h>

#define always_inline inline __attribute__((always_inline))
#define unlikely(x) __builtin_expect(!!(x), 0)

enum shape {
	SHAPE_PLAIN,		/* alloc(size), free(p) */
	SHAPE_SPACE,		/* alloc(space, size), free(space, p) */
	SHAPE_STREAM,		/* the same, and a stream each */
	SHAPE_CACHE,		/* alloc(cache), free(cache, p), and in bulk */
	SHAPE_GROUP,		/* many objects, and only together */
	SHAPE_ARENA,		/* one by one, and freed together */
	NR_SHAPES,
};

struct plain_calls {
	void *(*alloc)(size_t size);
	void (*free)(void *p);
};

struct space_calls {
	void *(*alloc)(struct slabdev *sd, size_t size);
	int (*free)(struct slabdev *sd, void *p);
	struct slabdev *sd;
};

struct stream_calls {
	void *(*alloc)(struct slabdev *sd, size_t size,
		       slabdev_stream_t stream);
	int (*free)(struct slabdev *sd, void *p, slabdev_stream_t stream);
	struct slabdev *sd;
	slabdev_stream_t from;	/* allocations */
	slabdev_stream_t to;	/* frees */
};

struct cache_calls {
	void *(*alloc)(struct slabdev_cache *cache);
	int (*free)(struct slabdev_cache *cache, void *p);
	int (*alloc_bulk)(struct slabdev_cache *cache, size_t n, void **p);
	int (*free_bulk)(struct slabdev_cache *cache, size_t n,
			 void *const *p);
	struct slabdev_cache *cache;
};

struct group_calls {
	int (*alloc)(struct slabdev_group **group, struct slabdev *sd,
		     const size_t *sizes, size_t n, size_t align, void **p);
	int (*free)(struct slabdev_group *group);
	struct slabdev *sd;
};

struct arena_calls {
	void *(*alloc)(struct slabdev_arena *arena, size_t size);
	int (*reset)(struct slabdev_arena *arena);
	struct slabdev_arena *arena;
};

/* One allocator, open. */
struct calls {
	enum shape shape;
	union {
		struct plain_calls plain;
		struct space_calls space;
		struct stream_calls stream;
		struct cache_calls cache;
		struct group_calls group;
		struct arena_calls arena;
	};
};

/*
 * @shape is a constant where speed matters, and @c a copy on the stack: so the
 * pointers stay in registers. Not for SHAPE_GROUP
 * and SHAPE_ARENA.
 */
static always_inline void *call_alloc(const struct calls *c, enum shape shape,
				      size_t size)
{
	if (shape == SHAPE_PLAIN)
		return c->plain.alloc(size);
	if (shape == SHAPE_SPACE)
		return c->space.alloc(c->space.sd, size);
	if (shape == SHAPE_STREAM)
		return c->stream.alloc(c->stream.sd, size, c->stream.from);
	return c->cache.alloc(c->cache.cache);
}

static always_inline void call_free(const struct calls *c, enum shape shape,
				    void *p)
{
	if (shape == SHAPE_PLAIN)
		c->plain.free(p);
	else if (shape == SHAPE_SPACE)
		c->space.free(c->space.sd, p);
	else if (shape == SHAPE_STREAM)
		c->stream.free(c->stream.sd, p, c->stream.to);
	else
		c->cache.free(c->cache.cache, p);
}

#endif /* SLABBENCH_CALLS_H */
