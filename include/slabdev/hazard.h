/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hazard.h - finding uses of memory that no stream order protects. Included by
 * slabdev.h, whose conventions hold here.
 *
 * With SLABDEV_DEBUG=H a space follows who allocated, used and freed each
 * object, where, and on which stream, and what is ordered before what. It
 * reports
 *
 * - an access on one stream that is not ordered behind the allocation on
 *   another one: the memory's last user may still be working there;
 * - a free that is not ordered behind the allocation, or behind an access on
 *   another stream, which slabdev_use() was not told of: the next owner may get
 *   the memory while the access still runs;
 * - a free of what a captured graph uses and does not have (slabdev_use);
 * - an access after the free, or to memory that a slab never handed out;
 * - and the same of what an arena hands out, of which a rewind, a reset or the
 *   end is the free, and slabdev_arena_use() what it has to be told.
 *
 * Each report names both places in the program, both streams, and the order
 * that is missing. Nothing is reported of what is ordered.
 *
 * The library knows what it was told: allocations, frees, slabdev_use(); of
 * host queues also slabdev_queue_wait(), slabdev_queue_synchronize(), a query
 * that finds a queue done, and a run of all that was there. Of CUDA streams it
 * has to be told the rest by the calls below, which cost a load and a branch
 * when the letter is off: also of a query that found an event or a stream done,
 * which is a wait of the CPU.
 *
 * All threads of the CPU count as one, whose calls come one after another. The
 * legacy default stream counts as ordered with all others, and NULL is it, but
 * for a space of host memory, where both are the CPU. 256 streams and 8,192
 * events are followed at a time, those left out that the CPU has waited for;
 * of what is beyond nothing is reported, which is said once.
 *
 * While a capture is declared on a stream, what it does is captured, and so is
 * what the streams do that wait for its events. Order is asked for within the
 * capture. What a launch of a graph uses need not be told: the graph has it
 * until slabdev_graph_release().
 */
#ifndef SLABDEV_HAZARD_H
#define SLABDEV_HAZARD_H

#include <slabdev/base.h>
#include <slabdev/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The CPU, where a stream is asked for below. */
#define SLABDEV_HAZARD_HOST ((slabdev_stream_t)~(uintptr_t)0)

/**
 * slabdev_hazard_access - work that was just put into @stream uses @p
 * @sd: the space
 * @p: an address in an object, or in what once was one
 * @stream: the stream, or SLABDEV_HAZARD_HOST for the CPU itself
 *
 * Context: any thread. Driver: never.
 * Return: 0 all is well, or the letter is off; 1 a hazard was reported;
 * -EINVAL @sd is NULL, -ENOMEM no host memory to follow it.
 */
SLABDEV_API int slabdev_hazard_access(struct slabdev *sd, const void *p,
				      slabdev_stream_t stream);

/**
 * slabdev_hazard_record - an event was recorded in a stream
 * @event: any number that names the event, its handle say
 * @stream: the stream
 *
 * Context: any thread. Driver: never.
 */
SLABDEV_API void slabdev_hazard_record(uint64_t event,
				       slabdev_stream_t stream);

/**
 * slabdev_hazard_wait - a stream, or the CPU, waits for an event
 * @stream: what is submitted to it from now on, or SLABDEV_HAZARD_HOST: what
 *          the CPU does from now on, comes after
 * @event: what was before its last record; an event that never was recorded
 *         orders nothing
 *
 * Context: any thread. Driver: never.
 */
SLABDEV_API void slabdev_hazard_wait(slabdev_stream_t stream, uint64_t event);

/**
 * slabdev_hazard_sync - the CPU has waited for all that was put into a stream
 * @stream: the stream; SLABDEV_HAZARD_HOST: for all streams of all devices
 *
 * Context: any thread. Driver: never.
 */
SLABDEV_API void slabdev_hazard_sync(slabdev_stream_t stream);

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define slabdev_hazard_access(sd, p, stream) \
	slabdev_hazard_access(sd, p, slabdev_stream_or_default(stream))
#define slabdev_hazard_record(event, stream) \
	slabdev_hazard_record(event, slabdev_stream_or_default(stream))
#define slabdev_hazard_wait(stream, event) \
	slabdev_hazard_wait(slabdev_stream_or_default(stream), event)
#define slabdev_hazard_sync(stream) \
	slabdev_hazard_sync(slabdev_stream_or_default(stream))
#endif

#ifdef __cplusplus
}
#endif

#endif /* SLABDEV_HAZARD_H */
