/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cache.h - named caches of objects of one size. Included by slabdev.h, whose
 * conventions hold here.
 */
#ifndef SLABDEV_CACHE_H
#define SLABDEV_CACHE_H

#include <slabdev/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The longest cache name, without its terminating zero. */
#define SLABDEV_NAME_MAX 31

/**
 * typedef slabdev_ctor_fn - prepares the objects of a new slab
 * @base: the first object
 * @stride: bytes from one object to the next
 * @count: how many there are
 * @stream: the stream to do it on; NULL in host spaces
 * @arg: ctor_arg of the cache
 *
 * Called once for each slab, without locks held, before any of its objects is
 * handed out. Objects are freed in the state the constructor left them in.
 *
 * Return: 0, or a negative errno that fails the allocation.
 */
typedef int (*slabdev_ctor_fn)(void *base, size_t stride, size_t count,
			       slabdev_stream_t stream, void *arg);

/** Cache flag: comm memory, see comm.h. */
#define SLABDEV_CACHE_COMM 0x1u

/**
 * struct slabdev_cache_args - how to create a cache
 * @size: sizeof(struct slabdev_cache_args), set by SLABDEV_CACHE_ARGS_INIT; all
 *        else may be zero, the default
 * @align: a power of two up to 1 MiB; 0: the largest power of two that
 *         divides the object size, at least 16 and at most 256
 * @ctor: called for each new slab; NULL: none
 * @ctor_arg: passed on
 * @sheaf_bytes: most bytes of one sheaf; 0: the space's choice
 * @flags: SLABDEV_CACHE_*
 * @reserved: 0
 */
struct slabdev_cache_args {
	size_t size;
	size_t align;
	slabdev_ctor_fn ctor;
	void *ctor_arg;
	size_t sheaf_bytes;
	uint32_t flags;
	uint32_t reserved;
};
#ifdef __cplusplus
#define SLABDEV_CACHE_ARGS_INIT \
	{ sizeof(struct slabdev_cache_args), 0, nullptr, nullptr, 0, 0, 0 }
#else
#define SLABDEV_CACHE_ARGS_INIT \
	{ sizeof(struct slabdev_cache_args), 0, NULL, NULL, 0, 0, 0 }
#endif

/**
 * slabdev_cache_create - a named cache of objects of one size
 * @cache: set to the cache; untouched on failure
 * @sd: the space
 * @name: 1 to SLABDEV_NAME_MAX printable characters without a blank, unique
 *        in the space; copied
 * @object_size: 1 to 64 MiB
 * @args: NULL for the defaults
 *
 * Objects below 256 bytes are packed at 16 bytes or their alignment, larger
 * ones at a multiple of 256: tighter than the general size classes. Those of
 * SLABDEV_CACHE_COMM have chunks of their own.
 *
 * Context: any thread. Driver: never.
 * Return: 0; -EINVAL bad name, size, alignment or flag, -EEXIST the name is
 * taken, -E2BIG unknown tail, -ENOSPC the space has 4,000 caches, -ENOMEM.
 */
SLABDEV_API SLABDEV_MUST_CHECK int
slabdev_cache_create(struct slabdev_cache **cache, struct slabdev *sd,
		     const char *name, size_t object_size,
		     const struct slabdev_cache_args *args);

/**
 * slabdev_cache_destroy - destroy an empty cache
 * @cache: the cache; NULL is fine
 *
 * Context: any thread, none of them in another call on @cache. Driver: slow
 * path.
 * Return: 0; -EBUSY with a report that lists the live objects, the cache
 * stays usable.
 */
SLABDEV_API int slabdev_cache_destroy(struct slabdev_cache *cache);

/**
 * slabdev_cache_alloc - allocate one object
 * @cache: the cache
 *
 * Context: any thread. Driver: slow path.
 * Return: the object; NULL with errno as slabdev_alloc(), or what the
 * constructor returned.
 */
SLABDEV_API SLABDEV_MUST_CHECK void *
slabdev_cache_alloc(struct slabdev_cache *cache);

/**
 * slabdev_cache_free - free one object
 * @cache: the cache it came from
 * @p: the object; NULL is fine
 *
 * Context: any thread. Driver: as slabdev_free().
 * Return: 0; -EINVAL @p is no object of @cache, -EALREADY it is free already.
 */
SLABDEV_API int slabdev_cache_free(struct slabdev_cache *cache, void *p);

/**
 * slabdev_cache_alloc_bulk - allocate @n objects, or none
 * @cache: the cache
 * @n: how many
 * @p: filled with @n addresses; on failure all of it is NULL
 *
 * Context: any thread. Driver: slow path.
 * Return: 0; -ENOMEM, -EDQUOT and what the constructor returned: nothing was
 * allocated.
 */
SLABDEV_API SLABDEV_MUST_CHECK int
slabdev_cache_alloc_bulk(struct slabdev_cache *cache, size_t n, void **p);

/**
 * slabdev_cache_free_bulk - free @n objects
 * @cache: the cache
 * @n: how many
 * @p: the objects, NULL among them is fine
 *
 * Frees every one that can be freed; each one that cannot is reported.
 *
 * Context: any thread. Driver: as slabdev_free().
 * Return: 0, else the first error as slabdev_cache_free().
 */
SLABDEV_API int slabdev_cache_free_bulk(struct slabdev_cache *cache, size_t n,
					void *const *p);

/**
 * slabdev_cache_prefill - have @n objects mapped and free
 * @cache: the cache
 * @n: how many the cache should be able to give without growing
 *
 * Context: any thread. Driver: slow path.
 * Return: 0; -ENOMEM, -EDQUOT, or what the constructor returned.
 */
SLABDEV_API SLABDEV_MUST_CHECK int
slabdev_cache_prefill(struct slabdev_cache *cache, size_t n);

/**
 * slabdev_cache_shrink - take back free objects of all threads
 * @cache: the cache
 *
 * Slabs without a live object go back to the space, which keeps them mapped or
 * not as its policy says; comm memory stays. Waits for what streams have
 * freed.
 *
 * Context: any thread. Driver: slow path.
 * Return: 0.
 */
SLABDEV_API int slabdev_cache_shrink(struct slabdev_cache *cache);

/**
 * slabdev_cache_validate - check every invariant of the cache, read-only
 * @cache: the cache
 *
 * Context: any thread; other threads may use the cache meanwhile, what they
 * hold in their sheaves is then not proven. Driver: never.
 * Return: 0; -EUCLEAN with a report of what disagrees.
 */
SLABDEV_API int slabdev_cache_validate(struct slabdev_cache *cache);

/**
 * struct slabdev_cache_stats - what one cache holds, in objects and bytes
 * @name: its name
 * @object_size: bytes asked for at creation
 * @stride: bytes from one object to the next
 * @slab_bytes: bytes of one slab
 * @objects_per_slab: objects in one slab
 * @sheaf_objects: objects in one full sheaf
 * @slabs: slabs that exist
 * @live: objects handed out
 * @cached: free objects, in sheaves, barn and slabs
 * @allocs: allocations since creation
 * @frees: frees since creation
 * @refills: allocations that had to leave the thread's own sheaves
 * @flushes: frees that had to leave the thread's own sheaves
 * @failed: allocations that failed
 * @pending: free objects that nobody may have yet: a stream is not done with
 *           them, or a graph holds them
 *
 * Source of all numbers: per-thread counters, summed; exact when no operation
 * is in flight.
 */
struct slabdev_cache_stats {
	char name[SLABDEV_NAME_MAX + 1];
	uint64_t object_size;
	uint64_t stride;
	uint64_t slab_bytes;
	uint64_t objects_per_slab;
	uint64_t sheaf_objects;
	uint64_t slabs;
	uint64_t live;
	uint64_t cached;
	uint64_t allocs;
	uint64_t frees;
	uint64_t refills;
	uint64_t flushes;
	uint64_t failed;
	uint64_t pending;
};

/**
 * slabdev_cache_stats - read the statistics of a cache
 * @cache: the cache
 * @st: filled in
 * @size: sizeof(*@st)
 *
 * Context: any thread. Driver: never.
 * Return: 0; -EINVAL @st NULL or @size 0.
 */
SLABDEV_API int slabdev_cache_stats(struct slabdev_cache *cache,
				    struct slabdev_cache_stats *st,
				    size_t size);

#ifdef __cplusplus
}
#endif
#endif /* SLABDEV_CACHE_H */
