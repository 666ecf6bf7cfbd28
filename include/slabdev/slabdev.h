/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slabdev.h - a slab allocator for device memory: the public interface.
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
 *   once. One that could not be copied, one that was opened with a handle type,
 *   and every CUDA space, fails each call with -EOWNERDEAD; so does a space
 *   whose device was reset. After an error that the driver cannot recover from
 *   each call fails with -EIO.
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

#include <slabdev/arena.h>
#include <slabdev/base.h>
#include <slabdev/block.h>
#include <slabdev/buf.h>
#include <slabdev/cache.h>
#include <slabdev/comm.h>
#include <slabdev/debug.h>
#include <slabdev/device.h>
#include <slabdev/group.h>
#include <slabdev/guard.h>
#include <slabdev/fault.h>
#include <slabdev/hazard.h>
#include <slabdev/manager.h>
#include <slabdev/pack.h>
#include <slabdev/queue.h>
#include <slabdev/rank.h>
#include <slabdev/report.h>
#include <slabdev/share.h>
#include <slabdev/stats.h>
#include <slabdev/stream.h>
#include <slabdev/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The alignment that every general allocation has at least, in bytes. */
#define SLABDEV_ALIGN ((size_t)256)

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
 * Policy flag: when memory is short, rather than have the CPU wait for memory
 * that a stream still uses, have the stream that asks for it wait. For objects
 * of caches, and others up to 1 MiB; for larger ones the CPU waits.
 */
#define SLABDEV_POLICY_STREAM_WAITS 0x1u

/**
 * struct slabdev_policy - retention, changeable while the job runs
 * @size: sizeof(struct slabdev_policy)
 * @keep_bytes: SLABDEV_TRIM: bytes without a live object that stay mapped
 * @mode: an enum slabdev_policy_mode
 * @flags: SLABDEV_POLICY_*
 */
struct slabdev_policy {
	size_t size;
	uint64_t keep_bytes;
	uint32_t mode;
	uint32_t flags;
};
#define SLABDEV_POLICY_INIT \
	{ sizeof(struct slabdev_policy), 0, SLABDEV_RETAIN, 0 }

/** Open flag: do not publish statistics to slabinfo. */
#define SLABDEV_OPEN_PRIVATE_STATS 0x1u
/** Open flag: ask for huge pages (host spaces). */
#define SLABDEV_OPEN_HUGE_PAGES 0x2u
/** Open flag: every operation takes the locked path, as without membarrier. */
#define SLABDEV_OPEN_NO_SHEAVES 0x4u
/** Open flag: let network cards reach the memory where the device can
 *  ("cuda:N"); where it cannot the space is opened without, and says so. */
#define SLABDEV_OPEN_RDMA 0x8u
/** Open flag: every object has comm memory, see comm.h. */
#define SLABDEV_OPEN_COMM 0x10u
/** Open flag: the same calls give the same offsets in every process; what that
 *  takes is in rank.h. */
#define SLABDEV_OPEN_SAME_LAYOUT 0x20u

/** enum slabdev_backing - what a space on "cuda:N" takes its memory from */
enum slabdev_backing {
	/* The first of those below that the device has, said in the log when
	 * it is not the first. */
	SLABDEV_BACKING_AUTO = 0,
	/* Mapped chunk by chunk under addresses that are reserved once. */
	SLABDEV_BACKING_VMM = 1,
	/* Regions from a stream-ordered pool of the space's own. */
	SLABDEV_BACKING_POOL = 2,
	/* Regions from cuMemAlloc(). */
	SLABDEV_BACKING_MALLOC = 3,
};

/** enum slabdev_handle_type - how memory can be shared with other processes */
enum slabdev_handle_type {
	SLABDEV_HANDLE_NONE = 0,	/* not at all */
	SLABDEV_HANDLE_FD = 1,		/* as a file descriptor */
	SLABDEV_HANDLE_FABRIC = 2,	/* as a fabric handle, across nodes */
	/* Fabric where that works, else a file descriptor, else not at all,
	 * said in the log. */
	SLABDEV_HANDLE_AUTO = 3,
};

/** enum slabdev_ordering - what a free without a stream says */
enum slabdev_ordering {
	/* SLABDEV_ORDER_HOST for "cuda-host:N" and "cuda-managed:N", else
	 * SLABDEV_ORDER_STREAM. */
	SLABDEV_ORDER_DEFAULT = 0,
	/* Nothing that is submitted later uses the memory, unless it is ordered
	 * behind the bound stream: it may be used there again at once. */
	SLABDEV_ORDER_STREAM = 1,
	/* The same, but memory is handed out for use anywhere, the CPU too: it
	 * waits for an event first. */
	SLABDEV_ORDER_HOST = 2,
};

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
 * @name: shown by slabinfo, without control characters; NULL: the spec
 * @policy: retention at the start; policy.mode 0: SLABDEV_RETAIN
 * @flags: SLABDEV_OPEN_*
 * @limit_permille: instead of @limit: thousandths of what the device has
 * @ranks: processes that share the device: each gets that part of the limit,
 *         however it is given; 0: one
 * @backing: an enum slabdev_backing, for "cuda:N"
 * @handle_type: an enum slabdev_handle_type, for "cuda:N" with VMM, and for
 *               "host" but for SLABDEV_HANDLE_FABRIC: see share.h
 * @nr_peers: how many @peers there are, at most 31
 * @peers: ordinals of CUDA devices that may access the memory too; copied.
 *         For "cuda:N" with VMM
 * @stream: the bound stream: memory is used and reused in its order, fills and
 *          copies run on it. It outlives the space. NULL: the legacy default
 *          stream, which waits for all streams that were not created as
 *          non-blocking, and they for it; SLABDEV_STREAM_PER_THREAD is refused
 * @pool_threshold: bytes that the pool of SLABDEV_BACKING_POOL keeps of what
 *                  was freed; 0: nothing, UINT64_MAX: all until slabdev_trim()
 * @pending_bytes: of what streams have freed, so much may wait for its event
 *                 before frees look which events are done; 0: 64 MiB
 * @ordering: an enum slabdev_ordering; a host space has one order, the CPU's
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
	uint32_t limit_permille;
	uint32_t ranks;
	uint32_t backing;
	uint32_t handle_type;
	uint32_t nr_peers;
	const int *peers;
	slabdev_stream_t stream;
	uint64_t pool_threshold;
	uint64_t pending_bytes;
	uint32_t ordering;
	uint32_t reserved;
};
#ifdef __cplusplus
#define SLABDEV_ATTR_INIT \
	{ sizeof(struct slabdev_attr), 0, 0, 0, 0, nullptr, \
	  { sizeof(struct slabdev_policy), 0, 0, 0 }, 0, 0, 0, 0, 0, 0, \
	  nullptr, nullptr, 0, 0, 0, 0 }
#else
#define SLABDEV_ATTR_INIT \
	{ sizeof(struct slabdev_attr), 0, 0, 0, 0, NULL, \
	  { sizeof(struct slabdev_policy), 0, 0, 0 }, 0, 0, 0, 0, 0, 0, \
	  NULL, NULL, 0, 0, 0, 0 }
#endif

/**
 * slabdev_open - open a memory space
 * @sd: set to the space; untouched on failure
 * @spec: what memory, see below. A space is opened on exactly what was asked
 *        for, or not at all
 * @attr: NULL for the defaults
 *
 *   "host"            memory of this machine
 *   "cuda:N"          memory of CUDA device N
 *   "cuda:GPU-uuid"   of the device with that uuid (or "cuda:MIG-uuid")
 *   "cuda-host:N"     pinned memory of this machine, which device N reaches
 *   "cuda-managed:N"  managed memory, which moves between this machine and N
 *
 * N counts as CUDA_VISIBLE_DEVICES says; a uuid may stand instead of each N.
 * Reserves addresses; takes no memory yet, but for the primary context of a
 * CUDA device, which is retained until the space is closed, and, where memory
 * comes in regions, for the first of 64 MiB or attr.reserve. The caller's
 * current context, device and capture are as they were after every call.
 *
 * Pointers of "cuda:N" are for the device: the CPU cannot touch them. Those of
 * the other kinds are for both. A free in a CUDA space says that the memory is
 * used no more by work submitted later; work that is already in the bound
 * stream may go on. What is freed in "cuda-host:N" and "cuda-managed:N" is
 * handed out again when that work is done, as the CPU waits for nothing, unless
 * attr.ordering says otherwise (SLABDEV_ORDER_HOST).
 *
 * Context: any thread. Driver: slow path.
 * Return: 0; -EINVAL unknown spec or bad attribute, -E2BIG unknown attribute,
 * -ENOTSUP a kind of memory or a feature that this build or the device lacks,
 * -ENODEV no such device, or no driver, -ENOMEM no memory or no address space,
 * -EDQUOT a limit below one chunk, -EOWNERDEAD the driver was used before this
 * process was forked, -EIO the driver failed, -ENFILE 256 spaces are open
 * already, -EAGAIN no thread-specific key is left.
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
 * Waits until the device is done with the memory.
 *
 * Return: 0; -EBUSY the space stays open and usable: something is live, which
 * a report lists, or, also with SLABDEV_CLOSE_FORCE, it cannot be told whether
 * the device is done, because the space's stream is captured, or the driver
 * failed; -EINVAL unknown flag or a pointer that is no open space; -EIO some
 * memory could not be given back and is lost (the space is closed).
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
 * Takes back what all threads hold in their sheaves first, and waits until the
 * device is done with what goes back; while the space's stream is captured
 * that cannot be told, and nothing goes back. A handle goes back whole or not
 * at all: one of 2 MiB, that of one object above 64 MiB, one of up to 1 GiB
 * that slabdev_prime() made, or in "cuda:N" under SLABDEV_RETAIN one of up to
 * 64 MiB.
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
/** Request flag: comm memory, see comm.h; aligned to its chunk, not more. */
#define SLABDEV_REQ_COMM 0x8u

/**
 * struct slabdev_req - the details of one request
 * @size: sizeof(struct slabdev_req), set by SLABDEV_REQ_INIT; all else may be
 *        zero, the default
 * @align: a power of two up to 1 GiB; 0: SLABDEV_ALIGN. One above 2 MiB may map
 *         up to that much more than the object has
 * @stream: the stream that uses the memory first, of the space's device; NULL:
 *          the bound stream. Host spaces: a host queue
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
 * rounded, EINVAL @sd NULL, EIO or EOWNERDEAD the space is dead, EBUSY the
 * driver grants no more memory while the device works (under WSL).
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
 * Return: as slabdev_alloc(); also EINVAL bad alignment or flag, or a stream of
 * another device, E2BIG unknown tail, EBUSY memory cannot be zeroed while the
 * space's stream is captured.
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
 * The new object has the alignment of slabdev_alloc(), whatever @p had, and
 * comm memory if @p has.
 *
 * Stays in place when it grows within the memory that @p has, or shrinks to a
 * size that would get as much. Else allocates, copies the smaller of both sizes
 * through the backend, and frees @p. On failure @p is untouched.
 *
 * Context: any thread. Driver: slow path.
 * Return: the address; NULL with errno as slabdev_alloc(), EINVAL, EALREADY as
 * slabdev_free(), or EBUSY when a copy is needed and the space's stream is
 * captured.
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
 * slabdev_free_sized - free an object, if it has the size that one believes
 * @sd: the space it came from
 * @p: what an allocation returned; NULL is fine
 * @size: the bytes that were asked for, or the object size of its cache
 *
 * Context: as slabdev_free().
 * Return: as slabdev_free(); -EINVAL also another size, with a report, and the
 * object is still live.
 */
SLABDEV_API int slabdev_free_sized(struct slabdev *sd, void *p, size_t size);

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

#ifdef __cplusplus
}
#endif
#endif /* SLABDEV_H */
