/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * metapool.h - host memory for descriptors of one size, never via malloc.
 *
 * A pool hands out zeroed objects, aligned to cache lines, from blocks of
 * anonymous memory that it keeps until it is destroyed: an address that was
 * once a descriptor of this pool stays one (type-stable), so that a stale
 * reader finds a wrong descriptor, never a fault. The library must not call
 * malloc, since it may be what malloc is made of.
 *
 * Locking: internal (LOCK_META). Failure: NULL.
 */
#ifndef CORE_METAPOOL_H
#define CORE_METAPOOL_H

#include "core/lock.h"

struct metapool {
	struct lock lock;
	size_t object_size;	/* rounded to CACHE_LINE */
	size_t block_size;	/* bytes taken from the system at once */
	void *free;		/* singly linked through the first word */
	char *bump, *bump_end;
	void *blocks;		/* list of blocks, for destroy */
	u64 bytes;		/* taken from the system; relaxed reads */
};

void metapool_init(struct metapool *m, size_t object_size, const char *name);
void metapool_fini(struct metapool *m);
void *metapool_alloc(struct metapool *m) __must_check;
/* The same, but it holds what its last owner left: zeroing is dear when it is
 * large and will be written anyway. */
void *metapool_alloc_stale(struct metapool *m) __must_check;
void metapool_free(struct metapool *m, void *object);

#endif /* CORE_METAPOOL_H */
