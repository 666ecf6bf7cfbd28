/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * comm.h - memory for communication libraries. Included by slabdev.h, whose
 * conventions hold here.
 *
 * MPI, UCX, NCCL and verbs register memory, map it into peers, and remember
 * addresses; a buffer whose physical memory changes under its address breaks
 * them. *Comm* memory does not change: an object has chunks of its own, in one
 * physical handle, and they stay mapped until the cache is destroyed or the
 * space is closed. A free keeps the memory for the next object of the same
 * number of chunks; slabdev_trim(), every retention policy, and a lack of
 * memory leave it alone. What a destroyed cache had is ordinary idle memory of
 * the space: still mapped, used again for anything, or unmapped, as the policy
 * and slabdev_trim() say.
 *
 * It is asked for by SLABDEV_CACHE_COMM for a cache, SLABDEV_REQ_COMM for one
 * allocation, or SLABDEV_OPEN_COMM for all of a space. An object begins at a
 * chunk and takes whole ones (2 MiB, on some devices more), so that a small
 * one wastes most of its chunk; an export of it (share.h) shows nothing else.
 * Memory that does not come in handles ("cuda-host:N", "cuda-managed:N",
 * SLABDEV_BACKING_POOL and _MALLOC) gives chunks of its own inside a region
 * that other objects share.
 *
 * A space has one class of objects for each number of chunks that was asked
 * for: with caches at most about 4,000, after which an allocation of a new size
 * fails with ENOSPC.
 */
#ifndef SLABDEV_COMM_H
#define SLABDEV_COMM_H

#include <slabdev/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * typedef slabdev_mapped_fn - comm memory can be used from now on
 * @sd: the space
 * @p: its first address
 * @bytes: whole chunks
 * @arg: as registered
 *
 * The place to register it with a communication library. No lock of the library
 * is held; one call of a space's callbacks runs at a time.
 *
 * Return: 0, or a negative errno that fails the allocation for which the memory
 * was mapped; it goes back to the space, as that of a destroyed cache does.
 */
typedef int (*slabdev_mapped_fn)(struct slabdev *sd, void *p, size_t bytes,
				 void *arg);

/**
 * typedef slabdev_will_unmap_fn - what was mapped is comm memory no more
 * @sd: the space
 * @p: as told to slabdev_mapped_fn
 * @bytes: the same
 * @arg: as registered
 *
 * From its return on, other objects may get the memory, and it may be unmapped
 * at any time; until then it can be accessed. No object is there any more, but
 * for slabdev_close() with SLABDEV_CLOSE_FORCE, and when the callbacks are set
 * to NULL. While the space closes it may not be used in the callback.
 */
typedef void (*slabdev_will_unmap_fn)(struct slabdev *sd, void *p,
				      size_t bytes, void *arg);

/**
 * slabdev_set_mapping_callbacks - be told of a space's comm memory
 * @sd: the space
 * @mapped: called for each piece of comm memory that there is already, and
 *          then for each that is mapped, before an allocation hands it out
 * @will_unmap: called once for each piece that @mapped accepted: before it goes
 *              back to the space, or when the callbacks are set to NULL
 * @arg: passed on
 *
 * Both NULL ends it; a space has one pair at a time. Callbacks must not
 * allocate comm memory of the space (EDEADLK), destroy its caches, detach
 * streams, begin captures or close it.
 *
 * Context: any thread, not from a callback; waits for callbacks that run.
 * Driver: never.
 * Return: 0; -EINVAL one of both is NULL; -EBUSY there is a pair already;
 * -EDEADLK called from a callback; or what @mapped returned: then @will_unmap
 * was called for each piece that it had accepted, and nothing is set.
 */
SLABDEV_API int slabdev_set_mapping_callbacks(struct slabdev *sd,
					      slabdev_mapped_fn mapped,
					      slabdev_will_unmap_fn will_unmap,
					      void *arg);

#ifdef __cplusplus
}
#endif

#endif /* SLABDEV_COMM_H */
