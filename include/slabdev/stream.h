/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.h - memory in the order of streams. Included by slabdev.h, whose
 * conventions hold here.
 *
 * A stream runs work in the order in which it was submitted, later than the
 * call that submits it. So memory is freed before the work that uses it has
 * run, and used again by work that must come after. Which work comes after is
 * a question of streams:
 *
 * - A call without a stream is a call on the space's *bound* stream
 *   (attr.stream). In a host space it is the CPU: what was freed may be used
 *   at once.
 * - What is freed on a stream may be used again on the same stream at once, and
 *   anywhere else after the work that was in the stream at the free is done.
 *   The library finds out by events.
 * - An allocation on a stream gets memory that nothing uses any more, or that
 *   only earlier work of this stream uses. Other streams are not made to wait,
 *   unless SLABDEV_POLICY_STREAM_WAITS allows it when memory is short.
 *
 * A stream is *attached* to make that cheap: frees on it are then collected,
 * and one event serves many of them. Streams need not be attached; each free
 * then records an event.
 *
 * Work on an object may be put into any stream that the caller has ordered
 * behind the stream of its allocation. A free on one stream says nothing of the
 * work in another one: order it, or say slabdev_use().
 *
 * Streams of "cuda:N" are CUDA streams of that device's primary context, or of
 * the runtime, which is the same. NULL means SLABDEV_STREAM_LEGACY, as for the
 * driver; in sources that are compiled with CUDA_API_PER_THREAD_DEFAULT_STREAM
 * it means SLABDEV_STREAM_PER_THREAD. Streams of host spaces are queues
 * (queue.h); NULL and the two default streams mean the CPU there.
 */
#ifndef SLABDEV_STREAM_H
#define SLABDEV_STREAM_H

#include <slabdev/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Attaching -------------------------------------------------------- */

/**
 * slabdev_stream_attach - make allocations and frees on a stream cheap
 * @sd: the space
 * @stream: a stream; attaching one a second time counts
 *
 * The default stream of each thread (SLABDEV_STREAM_PER_THREAD) is attached for
 * all threads at once. The bound stream needs no attaching, and takes it.
 *
 * Context: any thread. Driver: a query.
 * Return: 0; -EINVAL no stream of this kind of memory, -ENOSPC 1,000 streams
 * are attached, -ENOMEM no host memory.
 */
SLABDEV_API SLABDEV_MUST_CHECK int
slabdev_stream_attach(struct slabdev *sd, slabdev_stream_t stream);

/**
 * slabdev_stream_detach - a stream is about to be destroyed
 * @sd: the space
 * @stream: an attached stream, or one that slabdev_use() was told of
 *
 * What was freed on it, or is used on it, waits for one event that is recorded
 * now. Must come before the stream is destroyed; slabdev_close() does it for
 * those that are still attached, which so must exist. No thread may be in
 * another call on the stream.
 *
 * Context: any thread. Driver: an event; never waits.
 * Return: 0; -EINVAL nothing is known of @stream, -EBUSY a capture of it that
 * slabdev_capture_begin() declared has not ended, or it is being captured;
 * -ENOMEM, -EIO: no event can be recorded for an object that is used on it.
 */
SLABDEV_API int slabdev_stream_detach(struct slabdev *sd,
				      slabdev_stream_t stream);

/* ---- Objects ---------------------------------------------------------- */

/**
 * slabdev_alloc_async - slabdev_alloc() for work on @stream
 * @sd: the space
 * @size: bytes; 0 returns NULL with errno 0
 * @stream: where the object is used first
 *
 * Context: any thread. Driver: slow path.
 * Return: as slabdev_alloc(); also EINVAL no stream of this kind of memory.
 */
SLABDEV_API SLABDEV_MUST_CHECK void *
slabdev_alloc_async(struct slabdev *sd, size_t size, slabdev_stream_t stream);

/**
 * slabdev_realloc_async - slabdev_realloc() on @stream
 * @sd: the space
 * @p: the object, used on @stream only or ordered before
 * @size: the new size
 * @stream: copies, allocates and frees
 *
 * Context: any thread. Driver: slow path.
 * Return: as slabdev_realloc(); also EINVAL no stream of this kind of memory.
 */
SLABDEV_API SLABDEV_MUST_CHECK void *
slabdev_realloc_async(struct slabdev *sd, void *p, size_t size,
		      slabdev_stream_t stream);

/**
 * slabdev_free_async - free an object when the work of @stream is done
 * @sd: the space
 * @p: what an allocation returned, of any kind; NULL is fine
 * @stream: all work on @p was submitted to it, is ordered before it, or was
 *          told with slabdev_use()
 *
 * Context: any thread. Driver: on an attached stream at most one event for each
 * sheaf, on others one event.
 * Return: as slabdev_free(); also -EINVAL no stream of this kind of memory,
 * with the object still live.
 */
SLABDEV_API int slabdev_free_async(struct slabdev *sd, void *p,
				   slabdev_stream_t stream);

/**
 * slabdev_use - work on another stream uses an object
 * @sd: the space
 * @p: a live object
 * @stream: reads or writes it now, or will
 *
 * When the object is freed, on whatever stream, it waits for what is in @stream
 * by then too. Once is enough for an object and a stream. The stream must
 * exist until the free, or until slabdev_stream_detach(). On a stream whose
 * capture is declared the graph has the object: it is not given to anybody
 * before slabdev_graph_release().
 *
 * Context: any thread. Driver: never.
 * Return: 0; -EINVAL @p is no live object, or no stream of this kind of memory,
 * -ENOMEM no host memory, -ENOSPC the object is used on 14 streams, or 4 graphs
 * have it, already.
 */
SLABDEV_API int slabdev_use(struct slabdev *sd, void *p,
			    slabdev_stream_t stream);

/** slabdev_cache_alloc_async - slabdev_cache_alloc() for work on @stream */
SLABDEV_API SLABDEV_MUST_CHECK void *
slabdev_cache_alloc_async(struct slabdev_cache *cache, slabdev_stream_t stream);

/** slabdev_cache_free_async - slabdev_cache_free() when @stream is done */
SLABDEV_API int slabdev_cache_free_async(struct slabdev_cache *cache, void *p,
					 slabdev_stream_t stream);

/* ---- Captures --------------------------------------------------------- */

struct slabdev_graph;

/**
 * slabdev_capture_begin - what @stream does from now on goes into a graph
 * @sd: the space
 * @stream: any but the legacy default stream
 * @graph: set to what the graph will own
 *
 * Call it before the capture of the driver begins. Each launch of the graph
 * uses the same addresses. So what is allocated, used (slabdev_use) or freed on
 * @stream until slabdev_capture_end() belongs to the graph: it is handed out to
 * nobody else, even after it was freed, until slabdev_graph_release(). What
 * the capture frees it may use again. Memory for it is mapped if need be, but
 * nothing is asked or waited for: an allocation fails with EBUSY where a
 * cache's constructor would have to prepare new objects on a device.
 *
 * A capture that spans several streams needs one call for each of those that
 * allocate or free.
 *
 * A capture that was not declared is noticed where an event would have to be
 * recorded, and reported. What was freed in it is then held until the space is
 * closed.
 *
 * Context: any thread. Driver: an event; waits for a millisecond at most, to
 * learn what the space's stream is done with.
 * Return: 0; -EINVAL no stream that can be captured, -EBUSY a capture of it is
 * declared already, -ENOMEM no host memory.
 */
SLABDEV_API SLABDEV_MUST_CHECK int
slabdev_capture_begin(struct slabdev *sd, slabdev_stream_t stream,
		      struct slabdev_graph **graph);

/**
 * slabdev_capture_end - the capture is over; @stream runs again
 * @graph: from slabdev_capture_begin()
 *
 * Context: any thread. Driver: never.
 * Return: 0; -EINVAL @graph is NULL or ended already; -EOWNERDEAD in the child
 * of a fork.
 */
SLABDEV_API int slabdev_capture_end(struct slabdev_graph *graph);

/**
 * slabdev_graph_release - the graph will not be launched again
 * @graph: from slabdev_capture_begin(); NULL is fine
 *
 * What it held and was freed goes back to the space; what is live stays live
 * and becomes like any other object. The caller has seen to it that no launch
 * is running, nor any other work on what the graph held.
 *
 * Context: any thread. Driver: slow path.
 * Return: 0, and @graph is gone; -EBUSY the capture has not ended; -EOWNERDEAD
 * in the child of a fork.
 */
SLABDEV_API int slabdev_graph_release(struct slabdev_graph *graph);

/* ---- NULL, where each thread has a default stream of its own ------------ */

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
static inline slabdev_stream_t
slabdev_stream_or_default(slabdev_stream_t stream)
{
	return stream ? stream : SLABDEV_STREAM_PER_THREAD;
}
#define slabdev_stream_attach(sd, stream) \
	slabdev_stream_attach(sd, slabdev_stream_or_default(stream))
#define slabdev_stream_detach(sd, stream) \
	slabdev_stream_detach(sd, slabdev_stream_or_default(stream))
#define slabdev_alloc_async(sd, size, stream) \
	slabdev_alloc_async(sd, size, slabdev_stream_or_default(stream))
#define slabdev_realloc_async(sd, p, size, stream) \
	slabdev_realloc_async(sd, p, size, slabdev_stream_or_default(stream))
#define slabdev_free_async(sd, p, stream) \
	slabdev_free_async(sd, p, slabdev_stream_or_default(stream))
#define slabdev_use(sd, p, stream) \
	slabdev_use(sd, p, slabdev_stream_or_default(stream))
#define slabdev_cache_alloc_async(cache, stream) \
	slabdev_cache_alloc_async(cache, slabdev_stream_or_default(stream))
#define slabdev_cache_free_async(cache, p, stream) \
	slabdev_cache_free_async(cache, p, slabdev_stream_or_default(stream))
#define slabdev_capture_begin(sd, stream, graph) \
	slabdev_capture_begin(sd, slabdev_stream_or_default(stream), graph)
#endif

#ifdef __cplusplus
}
#endif

#endif /* SLABDEV_STREAM_H */
