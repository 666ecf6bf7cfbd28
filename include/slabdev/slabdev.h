/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slabdev.h - a slab allocator for device memory: the whole public interface.
 *
 * A *space* (struct slabdev) is one kind of memory on one device. Its
 * addresses are reserved once and never move; physical memory is mapped under
 * them on demand and carved into slabs. Objects come from the general calls
 * (slabdev_alloc, any size) or from a named *cache* of one size.
 *
 * Conventions, true for every function below unless it says otherwise:
 *
 * - Sizes and offsets are bytes. Pointers are addresses in the space's memory;
 *   the library never reads or writes through them.
 * - A command returns 0 or a negative errno. An allocation returns NULL and
 *   sets errno. slabdev_last_error() then says in words what was wrong.
 * - In the child of a fork a host space is the child's own copy, usable at
 *   once. One that could not be copied fails each call with -EOWNERDEAD.
 * - "Context: any thread" means: may be called by any number of threads at
 *   once. "Driver: never" means that no memory-management call is made below
 *   it; "Driver: slow path" that one may be. Nothing here is safe in a signal
 *   handler. No call is a cancellation point, nor are the user's functions that
 *   it calls; asynchronous cancellation is not supported.
 * - A structure that the caller fills begins with its own size, set by its
 *   _INIT macro. A larger structure whose unknown tail is zero is accepted, an
 *   unknown tail that is not zero is -E2BIG. Structures that the library fills
 *   take their size as an argument and are filled as far as both sides know
 *   them.
 */
#ifndef SLABDEV_H
#define SLABDEV_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLABDEV_VERSION_MAJOR 0
#define SLABDEV_VERSION_MINOR 1
#define SLABDEV_VERSION_PATCH 0
#define SLABDEV_VERSION "0.1.0"

#if defined(__GNUC__)
#define SLABDEV_API __attribute__((visibility("default")))
#define SLABDEV_MUST_CHECK __attribute__((warn_unused_result))
#else
#define SLABDEV_API
#define SLABDEV_MUST_CHECK
#endif

struct slabdev;
struct slabdev_cache;
struct CUstream_st;

/**
 * typedef slabdev_stream_t - an execution stream, or a host queue
 *
 * The same type as CUstream and cudaStream_t, which pass without a cast.
 * NULL is the space's bound stream.
 */
typedef struct CUstream_st *slabdev_stream_t;

/** The alignment that every general allocation has at least, in bytes. */
#define SLABDEV_ALIGN ((size_t)256)

/** The longest cache name, without its terminating zero. */
#define SLABDEV_NAME_MAX 31

/* ---- The library ------------------------------------------------------ */

/**
 * slabdev_version - the version of the library that is running
 *
 * Compare it with SLABDEV_VERSION, the version that was compiled against.
 *
 * Context: any thread. Driver: never.
 * Return: a static string such as "0.1.0".
 */
SLABDEV_API const char *slabdev_version(void);

/**
 * slabdev_last_error - what the last failed call of this thread had to say
 *
 * Errno says which kind of failure it was; this says which argument, which
 * limit or which system call, and what to do about it.
 *
 * Context: any thread; the text belongs to the calling thread. Driver: never.
 * Return: a string, valid until the thread's next failing call; "" when
 * nothing has failed yet. Never NULL.
 */
SLABDEV_API const char *slabdev_last_error(void);

/** enum slabdev_log_level - how much a message matters */
enum slabdev_log_level {
	SLABDEV_LOG_NONE = 0,	/* silence, reports included */
	SLABDEV_LOG_ERROR = 1,	/* a caller's mistake, or memory that is lost */
	SLABDEV_LOG_WARN = 2,	/* the default; something is missing */
	SLABDEV_LOG_INFO = 3,	/* also spaces opened */
	SLABDEV_LOG_DEBUG = 4,	/* no more so far */
};

/**
 * typedef slabdev_log_fn - receives each message and report
 * @level: an enum slabdev_log_level
 * @text: one message; several lines for a report; no final newline
 * @arg: what was given to slabdev_set_log()
 *
 * Called without any lock of the library held, so it may call the library.
 */
typedef void (*slabdev_log_fn)(int level, const char *text, void *arg);

/**
 * slabdev_set_log - where messages and reports go
 * @fn: the receiver, or NULL for the default (standard error, or the file
 *      named by SLABDEV_LOG=level:file)
 * @arg: passed on to @fn
 *
 * Context: any thread. Driver: never.
 */
SLABDEV_API void slabdev_set_log(slabdev_log_fn fn, void *arg);

/* ---- Devices ---------------------------------------------------------- */

/**
 * struct slabdev_device_info - one device that was really discovered
 * @spec: what slabdev_open() takes to open a space on it
 * @name: the device's own name
 * @uuid: identity that is the same in every process, "" where there is none
 * @reason: "" when usable, else why not
 * @memory_total: bytes of memory
 * @memory_free: bytes free now, counting all processes
 * @granularity: bytes of the smallest piece that can be mapped
 * @usable: 1 when a space can be opened on it
 */
struct slabdev_device_info {
	char spec[64];
	char name[128];
	char uuid[48];
	char reason[192];
	uint64_t memory_total;
	uint64_t memory_free;
	uint64_t granularity;
	uint32_t usable;
	uint32_t reserved;
};

/**
 * slabdev_device_count - how many devices were discovered
 *
 * Context: any thread. Driver: discovery only.
 * Return: the number of devices, usable or not.
 */
SLABDEV_API int slabdev_device_count(void);

/**
 * slabdev_device_get - describe one discovered device
 * @index: 0 .. slabdev_device_count() - 1
 * @info: filled in
 * @size: sizeof(*@info)
 *
 * Context: any thread. Driver: discovery only.
 * Return: 0; -EINVAL for an index out of range, @info NULL or @size 0.
 */
SLABDEV_API int slabdev_device_get(int index, struct slabdev_device_info *info,
				   size_t size);

/* ---- Spaces ----------------------------------------------------------- */

/** enum slabdev_policy_mode - what happens to memory that nothing uses */
enum slabdev_policy_mode {
	/* Keep everything mapped until trim, close, or a lack of memory. */
	SLABDEV_RETAIN = 1,
	/* Keep keep_bytes; slow paths and slabdev_poll() give back more. */
	SLABDEV_TRIM = 2,
	/* Give back in the free that empties a handle; no sheaves. */
	SLABDEV_AGGRESSIVE = 3,
};

/**
 * struct slabdev_policy - retention, changeable while the job runs
 * @size: sizeof(struct slabdev_policy)
 * @keep_bytes: SLABDEV_TRIM: bytes without a live object that stay mapped
 * @mode: an enum slabdev_policy_mode
 * @reserved: 0
 */
struct slabdev_policy {
	size_t size;
	uint64_t keep_bytes;
	uint32_t mode;
	uint32_t reserved;
};
#define SLABDEV_POLICY_INIT \
	{ sizeof(struct slabdev_policy), 0, SLABDEV_RETAIN, 0 }

/** Open flag: do not publish statistics to slabinfo. */
#define SLABDEV_OPEN_PRIVATE_STATS 0x1u
/** Open flag: ask for huge pages (host spaces). */
#define SLABDEV_OPEN_HUGE_PAGES 0x2u
/** Open flag: every operation takes the locked path, as without membarrier. */
#define SLABDEV_OPEN_NO_SHEAVES 0x4u

/**
 * struct slabdev_attr - how to open a space
 * @size: sizeof(struct slabdev_attr), set by SLABDEV_ATTR_INIT; all else may be
 *        zero, the default
 * @limit: most bytes that may be mapped at once, rounded down to whole
 *         chunks; 0: what the device has
 * @reserve: bytes of address space to reserve; 0: adaptive, eight times the
 *           limit where there is room
 * @sheaf_bytes: most bytes of free objects that one thread keeps at hand; 0:
 *               8 MiB
 * @sheaf_total_bytes: the same for all threads together; 0: an eighth of the
 *                     limit
 * @name: shown by slabinfo; NULL: the spec
 * @policy: retention at the start; policy.mode 0: SLABDEV_RETAIN
 * @flags: SLABDEV_OPEN_*
 * @reserved: 0
 */
struct slabdev_attr {
	size_t size;
	uint64_t limit;
	uint64_t reserve;
	uint64_t sheaf_bytes;
	uint64_t sheaf_total_bytes;
	const char *name;
	struct slabdev_policy policy;
	uint32_t flags;
	uint32_t reserved;
};
#ifdef __cplusplus
#define SLABDEV_ATTR_INIT \
	{ sizeof(struct slabdev_attr), 0, 0, 0, 0, nullptr, \
	  { sizeof(struct slabdev_policy), 0, 0, 0 }, 0, 0 }
#else
#define SLABDEV_ATTR_INIT \
	{ sizeof(struct slabdev_attr), 0, 0, 0, 0, NULL, \
	  { sizeof(struct slabdev_policy), 0, 0, 0 }, 0, 0 }
#endif

/**
 * slabdev_open - open a memory space
 * @sd: set to the space; untouched on failure
 * @spec: "host": memory of this machine. A space is opened on exactly what
 *        was asked for, or not at all
 * @attr: NULL for the defaults
 *
 * Reserves addresses; maps nothing yet.
 *
 * Context: any thread. Driver: slow path.
 * Return: 0; -EINVAL unknown spec or bad attribute, -E2BIG unknown attribute,
 * -ENOTSUP a kind of memory that this build lacks, -ENODEV no such device,
 * -ENOMEM no host memory or no address space, -EDQUOT a limit below one chunk,
 * -ENFILE 256 spaces are open already, -EAGAIN no thread-specific key is left.
 */
SLABDEV_API SLABDEV_MUST_CHECK int
slabdev_open(struct slabdev **sd, const char *spec,
	     const struct slabdev_attr *attr);

/** Close flag: close even though objects are live; their memory is gone. */
#define SLABDEV_CLOSE_FORCE 0x1u

/**
 * slabdev_close - give everything back
 * @sd: the space; NULL is fine
 * @flags: 0 or SLABDEV_CLOSE_FORCE
 *
 * Takes back what other threads hold in their sheaves. No other thread may
 * still be inside a call on @sd.
 *
 * Context: one thread. Driver: slow path.
 * Return: 0; -EBUSY with a report that lists what is live, the space stays
 * open and usable; -EINVAL unknown flag or a pointer that is no open space;
 * -EIO some memory could not be given back and is lost (the space is closed).
 */
SLABDEV_API int slabdev_close(struct slabdev *sd, unsigned int flags);

/**
 * slabdev_set_policy - change retention while the job runs
 * @sd: the space
 * @policy: the new policy; takes effect before the call returns
 *
 * Context: any thread. Driver: slow path.
 * Return: 0; -EINVAL unknown mode, -E2BIG unknown tail.
 */
SLABDEV_API int slabdev_set_policy(struct slabdev *sd,
				   const struct slabdev_policy *policy);

/**
 * slabdev_trim - give back memory that no object uses
 * @sd: the space
 * @keep_bytes: leave this much of it mapped, to the size of one handle
 *
 * Takes back what all threads hold in their sheaves first. A handle goes back
 * whole or not at all: one of 2 MiB, that of one object above 64 MiB, or one of
 * up to 1 GiB that slabdev_prime() made.
 *
 * Context: any thread. Driver: slow path.
 * Return: 0; -EIO what could not be given back is lost and was reported.
 */
SLABDEV_API int slabdev_trim(struct slabdev *sd, uint64_t keep_bytes);

/**
 * slabdev_prime - map memory now rather than at first use
 * @sd: the space
 * @bytes: at least this much is mapped and unused afterwards
 *
 * Context: any thread. Driver: slow path.
 * Return: 0; -ENOMEM or -EDQUOT: nothing was added.
 */
SLABDEV_API SLABDEV_MUST_CHECK int slabdev_prime(struct slabdev *sd,
						 uint64_t bytes);

/**
 * slabdev_poll - do the deferred work that is ready
 * @sd: the space
 *
 * Applies SLABDEV_TRIM. Call it where the job has time, between two steps say.
 *
 * Context: any thread. Driver: slow path.
 * Return: 0 or -EIO as slabdev_trim().
 */
SLABDEV_API int slabdev_poll(struct slabdev *sd);

/**
 * typedef slabdev_shrinker_fn - asked to free memory before a call fails
 * @sd: the space that lacks memory
 * @bytes: how much is missing
 * @arg: what was registered
 *
 * Called by the thread whose allocation would fail, without locks held; may
 * free objects of @sd, may not allocate from it.
 *
 * Return: bytes freed, 0 when there is nothing left to free.
 */
typedef uint64_t (*slabdev_shrinker_fn)(struct slabdev *sd, uint64_t bytes,
					void *arg);

/**
 * slabdev_register_shrinker - have @fn called before an allocation fails
 * @sd: the space
 * @fn: the shrinker
 * @arg: passed on
 *
 * Context: any thread. Driver: never.
 * Return: 0; -EINVAL @fn NULL, -EEXIST the same pair is registered, -ENOSPC
 * 16 are registered.
 */
SLABDEV_API int slabdev_register_shrinker(struct slabdev *sd,
					  slabdev_shrinker_fn fn, void *arg);

/**
 * slabdev_unregister_shrinker - the opposite
 * @sd: the space
 * @fn: as registered
 * @arg: as registered
 *
 * When it returns, no thread is inside @fn any more; it must therefore not be
 * called from @fn.
 *
 * Context: any thread. Driver: never.
 * Return: 0; -ENOENT not registered; -EDEADLK called from a shrinker.
 */
SLABDEV_API int slabdev_unregister_shrinker(struct slabdev *sd,
					    slabdev_shrinker_fn fn, void *arg);

/* ---- General allocations ---------------------------------------------- */

/** Request flag: the memory reads as zero. */
#define SLABDEV_REQ_ZERO 0x1u
/** Request flag: use only memory that is mapped already; never the driver. */
#define SLABDEV_REQ_NO_GROW 0x2u
/** Request flag: no out-of-memory report; the caller can do without. */
#define SLABDEV_REQ_NO_REPORT 0x4u

/**
 * struct slabdev_req - the details of one request
 * @size: sizeof(struct slabdev_req), set by SLABDEV_REQ_INIT; all else may be
 *        zero, the default
 * @align: a power of two up to 1 GiB; 0: SLABDEV_ALIGN. One above 2 MiB may map
 *         up to that much more than the object has
 * @stream: the stream that uses the memory first; host spaces: NULL
 * @tag: the caller's own mark, for debug reports; 0: none
 * @flags: SLABDEV_REQ_*
 * @reserved: 0
 */
struct slabdev_req {
	size_t size;
	size_t align;
	slabdev_stream_t stream;
	uint64_t tag;
	uint32_t flags;
	uint32_t reserved;
};
#ifdef __cplusplus
#define SLABDEV_REQ_INIT \
	{ sizeof(struct slabdev_req), 0, nullptr, 0, 0, 0 }
#else
#define SLABDEV_REQ_INIT { sizeof(struct slabdev_req), 0, NULL, 0, 0, 0 }
#endif

/**
 * slabdev_alloc - allocate @size bytes
 * @sd: the space
 * @size: bytes; 0 returns NULL with errno 0
 *
 * The address is a multiple of SLABDEV_ALIGN. Free it with slabdev_free(), on
 * any thread.
 *
 * Context: any thread. Driver: slow path (never in a steady state).
 * Return: the address; NULL with errno ENOMEM the device (or the host) is
 * full, EDQUOT the space's limit is reached, EOVERFLOW the size cannot be
 * rounded, EINVAL @sd NULL.
 */
SLABDEV_API SLABDEV_MUST_CHECK void *slabdev_alloc(struct slabdev *sd,
						   size_t size);

/**
 * slabdev_alloc_ex - allocate with alignment, flags and stream
 * @sd: the space
 * @size: bytes; 0 returns NULL with errno 0
 * @req: the details; NULL for the defaults
 *
 * Context: any thread. Driver: slow path; never with SLABDEV_REQ_NO_GROW.
 * Return: as slabdev_alloc(); also EINVAL bad alignment or flag, E2BIG unknown
 * tail, ENOTSUP a stream on a space that has none.
 */
SLABDEV_API SLABDEV_MUST_CHECK void *
slabdev_alloc_ex(struct slabdev *sd, size_t size,
		 const struct slabdev_req *req);

/** slabdev_alloc_aligned - slabdev_alloc_ex() with req.align = @align */
SLABDEV_API SLABDEV_MUST_CHECK void *
slabdev_alloc_aligned(struct slabdev *sd, size_t size, size_t align);

/** slabdev_zalloc - slabdev_alloc_ex() with SLABDEV_REQ_ZERO */
SLABDEV_API SLABDEV_MUST_CHECK void *slabdev_zalloc(struct slabdev *sd,
						    size_t size);

/** slabdev_alloc_array - slabdev_alloc() of @n * @size, EOVERFLOW if it is */
SLABDEV_API SLABDEV_MUST_CHECK void *
slabdev_alloc_array(struct slabdev *sd, size_t n, size_t size);

/**
 * slabdev_realloc - change the size of an object
 * @sd: the space
 * @p: the object, general allocations only; NULL: slabdev_alloc()
 * @size: the new size; 0 frees @p and returns NULL with errno 0
 *
 * The new object has the alignment of slabdev_alloc(), whatever @p had.
 *
 * Stays in place when it grows within the memory that @p has, or shrinks to a
 * size that would get as much. Else allocates, copies the smaller of both sizes
 * through the backend, and frees @p. On failure @p is untouched.
 *
 * Context: any thread. Driver: slow path.
 * Return: the address; NULL with errno as slabdev_alloc(), or EINVAL, EALREADY
 * as slabdev_free().
 */
SLABDEV_API SLABDEV_MUST_CHECK void *slabdev_realloc(struct slabdev *sd,
						     void *p, size_t size);

/**
 * slabdev_free - free an object of any kind
 * @sd: the space it came from
 * @p: what an allocation returned; NULL is fine
 *
 * Errors are checked for in every build, reported once each, and change
 * nothing.
 *
 * Context: any thread. Driver: never; SLABDEV_AGGRESSIVE: slow path.
 * Return: 0; -EINVAL @p is not an address of @sd, or lies inside an object;
 * -EALREADY @p is free already.
 */
SLABDEV_API int slabdev_free(struct slabdev *sd, void *p);

/**
 * slabdev_usable_size - how many bytes the object may use
 * @sd: the space
 * @p: a live object
 *
 * Context: any thread. Driver: never.
 * Return: bytes, at least what was asked for; 0 when @p is no live object.
 */
SLABDEV_API size_t slabdev_usable_size(struct slabdev *sd, const void *p);

/**
 * slabdev_size_roundup - what slabdev_usable_size() of a new object would be
 * @sd: the space
 * @size: a request
 *
 * Context: any thread. Driver: never.
 * Return: bytes; 0 for 0 and for a size that cannot be rounded.
 */
SLABDEV_API size_t slabdev_size_roundup(struct slabdev *sd, size_t size);

/* ---- Caches ----------------------------------------------------------- */

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

/**
 * struct slabdev_cache_args - how to create a cache
 * @size: sizeof(struct slabdev_cache_args), set by SLABDEV_CACHE_ARGS_INIT; all
 *        else may be zero, the default
 * @align: a power of two up to 1 MiB; 0: the largest power of two that
 *         divides the object size, at least 16 and at most 256
 * @ctor: called for each new slab; NULL: none
 * @ctor_arg: passed on
 * @sheaf_bytes: most bytes of one sheaf; 0: the space's choice
 * @flags: 0
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
 * ones at a multiple of 256: tighter than the general size classes.
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
 * Slabs without a live object go back to the space, which keeps them mapped
 * or not as its policy says.
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

/* ---- What is going on ------------------------------------------------- */

/**
 * struct slabdev_stats - where every mapped byte is, and what was done
 * @mapped: bytes of physical memory held; the sum of the nine figures that
 *          follow
 * @live: bytes that live objects asked for
 * @cached: bytes of free objects, in sheaves, barns and slabs
 * @pending: bytes freed, whose device work is not done yet
 * @retained: bytes held that no slab and no object has
 * @rounding: bytes that live objects have beyond what they asked for
 * @slack: tails of slabs and of large mappings that no object can use
 * @lost: bytes that could not be given back
 * @in_flight: what operations running just now have not booked yet; 0 at
 *             rest
 * @reserved: bytes of address space reserved
 * @limit: most bytes that may be mapped
 * @peak_mapped: the highest @mapped so far
 * @peak_live: the highest sum of bytes out of the slabs so far: live objects
 *             with rounding, and what sheaves and barns hold
 * @live_objects: objects handed out
 * @allocs: successful allocations since open
 * @frees: frees since open
 * @failed: allocations that failed since open
 * @alloc_bytes: bytes asked for since open
 * @free_bytes: bytes of those that were freed since open
 * @refills: allocations that left the thread's own sheaves
 * @flushes: frees that left the thread's own sheaves
 * @backend_calls: memory-management calls of the backend since open: reserve,
 *                 create, map, set_access, unmap, release
 * @backend_fails: those that failed
 * @handles: physical handles that exist now
 * @cached_handles: those of them that are not mapped
 * @threads: threads that have sheaves in this space
 * @caches: caches of the user
 * @host_bytes: host memory committed for metadata
 *
 * Source of all numbers: per-thread counters, summed, and counters under
 * locks; exact when no operation is in flight.
 */
struct slabdev_stats {
	uint64_t mapped;
	uint64_t live;
	uint64_t cached;
	uint64_t pending;
	uint64_t retained;
	uint64_t rounding;
	uint64_t slack;
	uint64_t lost;
	int64_t in_flight;
	uint64_t reserved;
	uint64_t limit;
	uint64_t peak_mapped;
	uint64_t peak_live;
	uint64_t live_objects;
	uint64_t allocs;
	uint64_t frees;
	uint64_t failed;
	uint64_t alloc_bytes;
	uint64_t free_bytes;
	uint64_t refills;
	uint64_t flushes;
	uint64_t backend_calls;
	uint64_t backend_fails;
	uint64_t handles;
	uint64_t cached_handles;
	uint64_t threads;
	uint64_t caches;
	uint64_t host_bytes;
};

/**
 * slabdev_stats - read the statistics of a space
 * @sd: the space
 * @st: filled in
 * @size: sizeof(*@st)
 *
 * Context: any thread. Driver: never.
 * Return: 0; -EINVAL @st NULL or @size 0.
 */
SLABDEV_API int slabdev_stats(struct slabdev *sd, struct slabdev_stats *st,
			      size_t size);

/**
 * slabdev_meminfo - what the device has, all processes counted
 * @sd: the space
 * @free_bytes: set, unless NULL
 * @total_bytes: set, unless NULL
 *
 * Context: any thread. Driver: a query.
 * Return: 0 or a negative errno of the backend.
 */
SLABDEV_API int slabdev_meminfo(struct slabdev *sd, uint64_t *free_bytes,
				uint64_t *total_bytes);

/**
 * slabdev_report - print where every byte of a space is
 * @sd: the space
 * @out: where to
 *
 * Context: any thread. Driver: never.
 * Return: 0; -EIO when @out could not be written.
 */
SLABDEV_API int slabdev_report(struct slabdev *sd, FILE *out);

/**
 * slabdev_validate - check every invariant of a space, read-only
 * @sd: the space
 *
 * Context: any thread; what other threads change meanwhile is not proven.
 * Driver: never.
 * Return: 0; -EUCLEAN with a report of what disagrees.
 */
SLABDEV_API int slabdev_validate(struct slabdev *sd);

/**
 * slabdev_explain - say in words what an address is
 * @p: any address
 * @buf: filled with one line: space, cache, object, live or free
 * @len: bytes in @buf
 *
 * Context: any thread. Driver: never.
 * Return: 0 when @p lies in a live object, 1 when it lies in memory of a
 * space that is free, -ENOENT when no open space has that address, -EINVAL
 * when @buf is NULL or @len 0.
 */
SLABDEV_API int slabdev_explain(const void *p, char *buf, size_t len);

#ifdef __cplusplus
}
#endif
#endif /* SLABDEV_H */
