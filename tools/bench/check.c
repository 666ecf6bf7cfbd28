// SPDX-License-Identifier: BSD-2-Clause
/*
 * check.c - no two live objects overlap.
 *
 * The live objects are in a tree whose order calls two of them equal when they
 * have a byte in common: then inserting one finds the other. One lock is over
 * the allocator and the tree, so that an object that one thread frees cannot
 * be handed to another before the tree knows.
 */
#include <pthread.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

struct extent {
	uintptr_t at;
	size_t size;
};

static struct calls real;
static size_t cache_size;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *tree;		/* lock */
static uint64_t nr_checked;	/* lock */
static bool has_failed;		/* lock */
static char complaint[128];	/* lock */

static int compare(const void *a, const void *b)
{
	const struct extent *x = a, *y = b;

	if (x->at + x->size <= y->at)
		return -1;
	return y->at + y->size <= x->at;
}

static void complain(const char *what, const struct extent *e,
		     const struct extent *other)
{
	if (!has_failed)
		snprintf(complaint, sizeof(complaint), "%zu bytes at %#lx: %s "
			 "(%zu bytes at %#lx)", e->size, (unsigned long)e->at,
			 what, other->size, (unsigned long)other->at);
	has_failed = true;
}

static void insert(void *p, size_t size)
{
	struct extent key = { (uintptr_t)p, size }, *e, **found;

	e = malloc(sizeof(*e));
	if (!e) {
		complain("no memory to look at it", &key, &key);
		return;
	}
	*e = key;
	found = tsearch(e, &tree, compare);
	if (!found)
		complain("no memory to look at it", e, e);
	else if (*found != e)
		complain("overlaps a live object", e, *found);
	if (!found || *found != e)
		free(e);
	nr_checked++;
}

static void erase(void *p)
{
	struct extent key = { (uintptr_t)p, 1 }, **found, *e;

	found = tfind(&key, &tree, compare);
	if (!found || (*found)->at != key.at) {
		complain("freed, but not live", &key, found ? *found : &key);
		return;
	}
	e = *found;
	tdelete(e, &tree, compare);
	free(e);
}

/* ---- In front of the allocator ---------------------------------------- */

static void *alloc_by(const struct calls *c, size_t size)
{
	void *p;

	pthread_mutex_lock(&lock);
	p = call_alloc(c, c->shape, size);
	if (p)
		insert(p, size);
	pthread_mutex_unlock(&lock);
	return p;
}

static void free_by(const struct calls *c, void *p)
{
	pthread_mutex_lock(&lock);
	erase(p);
	call_free(c, c->shape, p);
	pthread_mutex_unlock(&lock);
}

static void *checked_alloc(size_t size)
{
	return alloc_by(&real, size);
}

static void checked_free(void *p)
{
	free_by(&real, p);
}

static void *space_alloc(struct slabdev *sd, size_t size)
{
	(void)sd;
	return checked_alloc(size);
}

static int space_free(struct slabdev *sd, void *p)
{
	(void)sd;
	checked_free(p);
	return 0;
}

static void *stream_alloc(struct slabdev *sd, size_t size,
			  slabdev_stream_t stream)
{
	struct calls c = real;

	(void)sd;
	c.stream.from = stream;
	return alloc_by(&c, size);
}

static int stream_free(struct slabdev *sd, void *p, slabdev_stream_t stream)
{
	struct calls c = real;

	(void)sd;
	c.stream.to = stream;
	free_by(&c, p);
	return 0;
}

static void *cache_alloc(struct slabdev_cache *cache)
{
	(void)cache;
	return checked_alloc(cache_size);
}

static int cache_free(struct slabdev_cache *cache, void *p)
{
	(void)cache;
	checked_free(p);
	return 0;
}

static int cache_alloc_bulk(struct slabdev_cache *cache, size_t n, void **p)
{
	size_t i;
	int err;

	pthread_mutex_lock(&lock);
	err = real.cache.alloc_bulk(cache, n, p);
	for (i = 0; !err && i < n; i++)
		insert(p[i], cache_size);
	pthread_mutex_unlock(&lock);
	return err;
}

static int cache_free_bulk(struct slabdev_cache *cache, size_t n,
			   void *const *p)
{
	size_t i;
	int err;

	pthread_mutex_lock(&lock);
	for (i = 0; i < n; i++)
		erase(p[i]);
	err = real.cache.free_bulk(cache, n, p);
	pthread_mutex_unlock(&lock);
	return err;
}

/* One group at a time, whose blocks are those of its last allocation. */
static void **blocks;
static size_t nr_blocks;

static int group_alloc(struct slabdev_group **group, struct slabdev *sd,
		       const size_t *sizes, size_t n, size_t align, void **p)
{
	int err = real.group.alloc(group, sd, sizes, n, align, p);
	size_t i;

	for (i = 0; !err && i < n; i++)
		insert(p[i], sizes[i]);
	blocks = p;
	nr_blocks = n;
	return err;
}

static int group_free(struct slabdev_group *group)
{
	size_t i;

	for (i = 0; i < nr_blocks; i++)
		erase(blocks[i]);
	return real.group.free(group);
}

/* What the arena has handed out since its last reset. */
static void **handed_out;
static size_t nr_handed_out, room;

static void *arena_alloc(struct slabdev_arena *arena, size_t size)
{
	void *p = real.arena.alloc(arena, size);
	void **more;

	if (nr_handed_out == room) {
		more = realloc(handed_out, 2 * (room + 1) * sizeof(*more));
		if (!more)
			return NULL;
		handed_out = more;
		room = 2 * (room + 1);
	}
	if (p) {
		insert(p, size);
		handed_out[nr_handed_out++] = p;
	}
	return p;
}

static int arena_reset(struct slabdev_arena *arena)
{
	while (nr_handed_out)
		erase(handed_out[--nr_handed_out]);
	return real.arena.reset(arena);
}

void check_begin(struct calls *c, size_t size)
{
	real = *c;
	cache_size = size;
	switch (c->shape) {
	case SHAPE_PLAIN:
		c->plain.alloc = checked_alloc;
		c->plain.free = checked_free;
		break;
	case SHAPE_SPACE:
		c->space.alloc = space_alloc;
		c->space.free = space_free;
		break;
	case SHAPE_STREAM:
		c->stream.alloc = stream_alloc;
		c->stream.free = stream_free;
		break;
	case SHAPE_GROUP:
		c->group.alloc = group_alloc;
		c->group.free = group_free;
		break;
	case SHAPE_ARENA:
		c->arena.alloc = arena_alloc;
		c->arena.reset = arena_reset;
		break;
	default:
		c->cache.alloc = cache_alloc;
		c->cache.free = cache_free;
		c->cache.alloc_bulk = cache_alloc_bulk;
		c->cache.free_bulk = cache_free_bulk;
	}
}

const char *check_result(uint64_t *nr)
{
	*nr = nr_checked;
	return has_failed ? complaint : NULL;
}
