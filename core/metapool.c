// SPDX-License-Identifier: BSD-2-Clause
/*
 * metapool.c - host memory for descriptors of one size (core/metapool.h).
 *
 * A block is a reservation of its own, committed whole. Its first cache line
 * links it to the block before it; objects follow. An object is cut off the
 * newest block (which the system zeroed) when no freed one is there; a freed
 * one is zeroed when it is handed out again, not when it comes back, so that
 * a stale reader sees as little change as possible.
 */
#include <string.h>

#include "core/metapool.h"
#include "core/os.h"
#include "core/overflow.h"

#define BLOCK_MIN_BYTES (64 * KIB)
#define BLOCK_MIN_OBJECTS 8

void metapool_init(struct metapool *m, size_t object_size, const char *name)
{
	size_t object = align_up(max(object_size, sizeof(void *)), CACHE_LINE);
	u64 block = max(CACHE_LINE + BLOCK_MIN_OBJECTS * (u64)object,
			(u64)BLOCK_MIN_BYTES);

	*m = (struct metapool){
		.object_size = object,
		.block_size = align_up(block, os_page_size()),
	};
	lock_init(&m->lock, LOCK_META, name);
}

void metapool_fini(struct metapool *m)
{
	void *block, *next;

	for (block = m->blocks; block; block = next) {
		next = *(void **)block;
		os_unreserve(block, m->block_size);
	}
	lock_fini(&m->lock);
	*m = (struct metapool){ 0 };
}

static bool add_block_locked(struct metapool *m)
{
	void *block;

	assert_held(&m->lock);
	if (os_reserve(m->block_size, &block))
		return false;
	if (os_commit(block, m->block_size)) {
		os_unreserve(block, m->block_size);
		return false;
	}
	*(void **)block = m->blocks;
	m->blocks = block;
	m->bump = (char *)block + CACHE_LINE;
	m->bump_end = (char *)block + m->block_size;
	WRITE_ONCE(m->bytes, m->bytes + m->block_size);
	return true;
}

/* An object that was never used, zero as the system gave it; or NULL. */
static void *cut_locked(struct metapool *m)
{
	void *object;

	assert_held(&m->lock);
	if ((size_t)(m->bump_end - m->bump) < m->object_size &&
	    !add_block_locked(m))
		return NULL;
	object = m->bump;
	m->bump += m->object_size;
	return object;
}

static void *take(struct metapool *m, bool *recycled)
{
	void *object;

	lock_acquire(&m->lock);
	object = m->free;
	*recycled = object;
	if (*recycled)
		m->free = *(void **)object;
	else
		object = cut_locked(m);
	lock_release(&m->lock);
	return object;
}

void *metapool_alloc(struct metapool *m)
{
	bool recycled;
	void *object = take(m, &recycled);

	if (recycled)
		memset(object, 0, m->object_size);
	return object;
}

void *metapool_alloc_stale(struct metapool *m)
{
	bool recycled;

	return take(m, &recycled);
}

void metapool_free(struct metapool *m, void *object)
{
	lock_acquire(&m->lock);
	*(void **)object = m->free;
	m->free = object;
	lock_release(&m->lock);
}
