/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stats.h - what is going on in a space: figures, reports, checks. Included by
 * slabdev.h, whose conventions hold here.
 */
#ifndef SLABDEV_STATS_H
#define SLABDEV_STATS_H

#include <stdio.h>

#include <slabdev/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct slabdev_stats - where every mapped byte is, and what was done
 * @mapped: bytes of physical memory held; the sum of the eight figures that
 *          follow
 * @live: bytes that live objects asked for, and all that arenas have mapped
 * @cached: bytes of free objects, in sheaves, barns and slabs
 * @pending: bytes freed that nobody may have yet: a stream is not done with
 *           them, or a graph holds them
 * @retained: bytes held that no slab and no object has
 * @rounding: bytes that live objects have beyond what they asked for
 * @slack: tails of slabs and of large mappings that no object can use
 * @lost: bytes that could not be given back
 * @in_flight: what operations running just now have not booked yet; 0 at
 *             rest
 * @reserved: bytes of address space reserved; where memory comes in regions,
 *            bytes of memory taken, of which @mapped are in use
 * @limit: most bytes that may be mapped
 * @peak_mapped: the highest @mapped so far
 * @peak_live: the highest sum of bytes out of the slabs so far: live objects
 *             with rounding, what sheaves and barns hold, and what arenas have
 *             mapped
 * @live_objects: objects handed out
 * @allocs: successful allocations since open
 * @frees: frees since open
 * @failed: allocations that failed since open
 * @alloc_bytes: bytes asked for since open
 * @free_bytes: bytes of those that were freed since open
 * @refills: allocations that left the thread's own sheaves
 * @flushes: frees that left the thread's own sheaves
 * @backend_calls: memory-management calls of the backend since open: reserve,
 *                 unreserve, create, map, set_access, unmap, release
 * @backend_fails: those that failed
 * @handles: physical handles that exist now
 * @cached_handles: those of them that are not mapped
 * @threads: threads that have sheaves in this space
 * @caches: caches of the user
 * @host_bytes: host memory committed for metadata
 * @held: bytes of @pending that graphs hold
 * @streams: streams that are attached
 * @graphs: graphs that were not released
 * @event_records: events recorded for frees since open
 * @event_queries: times an event was asked whether it is done
 * @stream_waits: times a stream was made to wait for an event
 * @host_waits: times the CPU waited for the device since memory was short
 * @exported: objects that other processes may have
 * @exported_bytes: bytes of those objects
 * @reused: of @allocs, those that the space had memory for: no slab had to be
 *          made, and nothing to be mapped
 * @reused_bytes: of @alloc_bytes, what those asked for
 * @arenas: arenas
 * @arena_bytes: of @live, what arenas have mapped
 * @buffers: buffers, without their views
 * @groups: groups
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
	uint64_t held;
	uint64_t streams;
	uint64_t graphs;
	uint64_t event_records;
	uint64_t event_queries;
	uint64_t stream_waits;
	uint64_t host_waits;
	uint64_t exported;
	uint64_t exported_bytes;
	uint64_t reused;
	uint64_t reused_bytes;
	uint64_t arenas;
	uint64_t arena_bytes;
	uint64_t buffers;
	uint64_t groups;
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
 * @buf: filled with a line that says it: space, cache, object, live or free;
 *       and, for a live object, lines that say by which ways other processes,
 *       devices and network cards reach it, and why not: "export" and "comm"
 *       for all memory, "CUDA IPC" and "RDMA" for that of CUDA, "peers" for
 *       that of virtual memory management. 1,024 bytes hold all of it; what
 *       does not fit is left out
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
#endif /* SLABDEV_STATS_H */
