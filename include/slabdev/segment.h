/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * segment.h - the live statistics of a process, as slabinfo maps them.
 *
 * Each space of a process publishes its numbers in *segments*: memfds of fixed
 * size, sealed so that nobody can resize them and nobody but the process can
 * write them. They are found through /proc/PID/fd as memfds of the name
 * SLABDEV_SEG_NAME, and vanish with the process. A space has
 *
 *   one SPACE segment     the space itself
 *   CLASSES segments      one record each: 128 classes, and the counters of
 *                         threads that are gone; segment number w holds the
 *                         class numbers 128 w .. 128 w + 127, its *window*.
 *                         There is no gap in the windows
 *   THREADS segments      16 thread blocks each; a block holds one thread's
 *                         counters for one window
 *   TRACES segments       256 records each, where objects are tracked: one for
 *                         each stack that allocated or freed some
 *
 * which belong together by open_id. There are no pointers in them.
 *
 * Writing. Every word is written whole, relaxed: a thread's counters by that
 * thread; what several threads count (backend calls, out_bytes and peak_out,
 * large_bytes and large_slack, trims, failed, refills, flushes, stolen, misses,
 * buffers, groups and arenas, the retired counters) by atomic additions;
 * host_bytes by whoever sums it up; the rest under a lock of the space. A
 * record is filled before its state becomes SLABDEV_SEG_USED (release).
 *
 * Counters move at two times: when a thread ends, from its block to the
 * window's retired ones, and the block becomes free; when a cache is
 * destroyed, from its class number to the retired ones of a number that stays.
 * Either happens between two increments of fold_seq in each window that it
 * touches: odd meanwhile.
 *
 * A trace is in use from then on until the space is closed. Its counters are
 * those of tracked objects, which are few where tracking began late; sums of
 * times are for averages.
 *
 * Counters of a class number that no record uses belong to caches that were
 * destroyed: they count toward the totals of the space.
 *
 * Reading. Check everything: magic, version, sizes against the file, counts
 * against sizes, names for their terminating zero. Sum a window's retired
 * counters and blocks between two equal, even readings of fold_seq; try again
 * a bounded number of times. What operations in flight make inconsistent is
 * the residual *in flight*: mapped bytes less everything else, never hidden
 * in another figure.
 *
 * The layout is versioned as a whole; a reader refuses a version it does not
 * know.
 */
#ifndef SLABDEV_SEGMENT_H
#define SLABDEV_SEGMENT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLABDEV_SEG_NAME "slabdev-stats"
#define SLABDEV_SEG_MAGIC UINT64_C(0x56454442414c5344)
#define SLABDEV_SEG_VERSION 6u
#define SLABDEV_SEG_WINDOW 128u
#define SLABDEV_SEG_THREADS_PER_SEGMENT 16u
#define SLABDEV_SEG_NR_OPS 12u
#define SLABDEV_SEG_MODULES 32u
#define SLABDEV_SEG_TRACES_PER_SEGMENT 256u
#define SLABDEV_SEG_FRAMES 16u

/** enum slabdev_seg_kind - what a segment holds after its header */
enum slabdev_seg_kind {
	SLABDEV_SEG_SPACE = 1,
	SLABDEV_SEG_CLASSES = 2,
	SLABDEV_SEG_THREADS = 3,
	SLABDEV_SEG_TRACES = 4,
};

/** enum slabdev_seg_state - of a record */
enum slabdev_seg_state {
	SLABDEV_SEG_FREE = 0,
	SLABDEV_SEG_USED = 1,
};

/**
 * struct slabdev_seg_header - the first 64 bytes of every segment
 * @magic: SLABDEV_SEG_MAGIC
 * @version: SLABDEV_SEG_VERSION
 * @kind: an enum slabdev_seg_kind
 * @size: bytes of the segment
 * @start_time: of the process, field 22 of /proc/PID/stat
 * @open_id: the n-th open of the process, from 1
 * @pid: of the process, in its own pid namespace
 * @index: CLASSES: the window; THREADS, TRACES: the n-th of them; SPACE: 0
 * @nr_records: records that follow
 * @record_size: bytes of one of them
 * @fold_seq: CLASSES: sequence count of the retired counters
 * @reserved: 0
 */
struct slabdev_seg_header {
	uint64_t magic;
	uint32_t version;
	uint32_t kind;
	uint64_t size;
	uint64_t start_time;
	uint64_t open_id;
	uint32_t pid;
	uint32_t index;
	uint32_t nr_records;
	uint32_t record_size;
	uint32_t fold_seq;
	uint32_t reserved;
};

/**
 * struct slabdev_seg_counters - one class, one thread (or all retired ones)
 * @allocs: objects allocated
 * @frees: objects freed
 * @alloc_bytes: bytes asked for
 * @free_bytes: bytes of those that were freed
 */
struct slabdev_seg_counters {
	uint64_t allocs;
	uint64_t frees;
	uint64_t alloc_bytes;
	uint64_t free_bytes;
};

/**
 * struct slabdev_seg_vmm - physical memory and backend calls
 * @calls: backend calls by operation: reserve, unreserve, create, release,
 *         map, set_access, unmap, fill, read, copy, event, meminfo
 * @fails: those that failed
 * @reserved: bytes of address space
 * @created: bytes of physical memory held ("mapped")
 * @idle: bytes of it that are kept without a user: part of "retained"
 * @lost: bytes that could not be given back
 * @peak_created: highest @created
 * @handles: physical handles
 * @spare_handles: those that are not mapped
 * @limit: most bytes that may be held
 */
struct slabdev_seg_vmm {
	uint64_t calls[SLABDEV_SEG_NR_OPS];
	uint64_t fails[SLABDEV_SEG_NR_OPS];
	uint64_t reserved;
	uint64_t created;
	uint64_t idle;
	uint64_t lost;
	uint64_t peak_created;
	uint64_t handles;
	uint64_t spare_handles;
	uint64_t limit;
};

/**
 * struct slabdev_seg_space - the record of a SPACE segment
 * @name: of the space
 * @spec: what was opened
 * @vmm: physical memory
 * @chunk_size: bytes
 * @slice_size: bytes
 * @policy_mode: enum slabdev_policy_mode
 * @state: SLABDEV_SEG_USED until the space is closed
 * @policy_keep: keep_bytes
 * @pool_free: bytes of free slices in mapped chunks: part of "retained"
 * @large_bytes: bytes of slices that live large objects have
 * @large_slack: bytes of that beyond the rounding to slices
 * @out_bytes: bytes out of the slabs: live objects with rounding, and free
 *             ones in sheaves and barns
 * @peak_out: highest @out_bytes
 * @host_bytes: host memory committed for metadata
 * @failed: allocations that failed
 * @trims: trims so far
 * @nr_threads: threads with sheaves
 * @nr_caches: caches of the user
 * @nr_windows: CLASSES segments
 * @nr_thread_segments: THREADS segments
 * @backing: what the memory is, in a few words
 * @pending_bytes: bytes that streams have freed and nobody may have yet
 * @large_pending: those of them that are of large objects, without slack
 * @held_bytes: those of them that graphs hold
 * @event_records: events recorded for frees
 * @event_queries: times such an event was asked whether it is done
 * @stream_waits: times a stream was made to wait for an event
 * @host_waits: times the CPU waited for the device since memory was short
 * @nr_streams: streams that are attached
 * @nr_graphs: graphs that were not released
 * @nr_exported: objects that other processes may have
 * @nr_trace_segments: TRACES segments
 * @exported_bytes: bytes of those objects
 * @misses: allocations for which a slab was made or memory was mapped
 * @miss_bytes: what those asked for
 * @arena_bytes: bytes of memory that arenas have mapped: part of "live"
 * @nr_arenas: arenas
 * @nr_buffers: buffers, without their views
 * @nr_groups: groups
 * @reserved: 0
 */
struct slabdev_seg_space {
	char name[64];
	char spec[64];
	struct slabdev_seg_vmm vmm;
	uint64_t chunk_size;
	uint64_t slice_size;
	uint32_t policy_mode;
	uint32_t state;
	uint64_t policy_keep;
	uint64_t pool_free;
	uint64_t large_bytes;
	uint64_t large_slack;
	uint64_t out_bytes;
	uint64_t peak_out;
	uint64_t host_bytes;
	uint64_t failed;
	uint64_t trims;
	uint32_t nr_threads;
	uint32_t nr_caches;
	uint32_t nr_windows;
	uint32_t nr_thread_segments;
	char backing[64];
	uint64_t pending_bytes;
	uint64_t large_pending;
	uint64_t held_bytes;
	uint64_t event_records;
	uint64_t event_queries;
	uint64_t stream_waits;
	uint64_t host_waits;
	uint32_t nr_streams;
	uint32_t nr_graphs;
	uint32_t nr_exported;
	uint32_t nr_trace_segments;
	uint64_t exported_bytes;
	uint64_t misses;
	uint64_t miss_bytes;
	uint64_t arena_bytes;
	uint32_t nr_arenas;
	uint32_t nr_buffers;
	uint32_t nr_groups;
	uint32_t reserved;
};

/** enum slabdev_seg_class_type - what a class record describes */
enum slabdev_seg_class_type {
	SLABDEV_SEG_GENERAL = 1,	/* slabdev_alloc() of one size class */
	SLABDEV_SEG_CACHE = 2,		/* a cache of the user */
	SLABDEV_SEG_LARGE = 3,		/* runs of slices; stride is 0 */
};

/**
 * struct slabdev_seg_class - one size class or cache
 * @name: zero-terminated
 * @state: enum slabdev_seg_state
 * @type: enum slabdev_seg_class_type
 * @generation: changes each time the record is reused
 * @per_slab: objects in a slab
 * @sheaf_objects: objects in a full sheaf
 * @flags: SLABDEV_SEG_CTOR ...
 * @object_size: bytes of an object, as asked for (cache) or given (general)
 * @stride: bytes from one object to the next
 * @align: bytes
 * @slab_bytes: bytes of a slab
 * @slabs: slabs that exist
 * @partial: slabs with free and with used objects (sheaves count as used)
 * @empty: slabs all of whose objects are free
 * @barn_full: full sheaves in the barn
 * @barn_empty: empty sheaves in the barn
 * @refills: allocations that left the thread's own sheaves
 * @flushes: frees that left the thread's own sheaves
 * @slab_allocs: slabs made since open
 * @slab_frees: slabs given back since open
 * @failed: allocations that failed
 * @stolen: objects taken back from other threads' sheaves
 * @pending: free objects that nobody may have yet
 *
 * In a record that is SLABDEV_SEG_FREE, refills and flushes (and the counters
 * of that number) are those of caches that are gone, and count on.
 */
struct slabdev_seg_class {
	char name[32];
	uint32_t state;
	uint32_t type;
	uint32_t generation;
	uint32_t per_slab;
	uint32_t sheaf_objects;
	uint32_t flags;
	uint64_t object_size;
	uint64_t stride;
	uint64_t align;
	uint64_t slab_bytes;
	uint64_t slabs;
	uint64_t partial;
	uint64_t empty;
	uint64_t barn_full;
	uint64_t barn_empty;
	uint64_t refills;
	uint64_t flushes;
	uint64_t slab_allocs;
	uint64_t slab_frees;
	uint64_t failed;
	uint64_t stolen;
	uint64_t pending;
};
#define SLABDEV_SEG_CTOR 0x1u

/**
 * struct slabdev_seg_window - the records of a CLASSES segment
 * @cls: by class number - 128 * window
 * @retired: counters of threads that are gone, under fold_seq
 */
struct slabdev_seg_window {
	struct slabdev_seg_class cls[SLABDEV_SEG_WINDOW];
	struct slabdev_seg_counters retired[SLABDEV_SEG_WINDOW];
};

/**
 * struct slabdev_seg_thread - one block of a THREADS segment
 * @state: enum slabdev_seg_state
 * @window: which window the counters belong to
 * @tid: of the thread
 * @generation: changes each time the block is reused
 * @sheaf_bytes: bytes that the thread's sheaves may hold as they are now
 * @reserved: 0
 * @c: by class number - 128 * window
 */
struct slabdev_seg_thread {
	uint32_t state;
	uint32_t window;
	uint32_t tid;
	uint32_t generation;
	uint64_t sheaf_bytes;
	uint64_t reserved[5];
	struct slabdev_seg_counters c[SLABDEV_SEG_WINDOW];
};

/**
 * struct slabdev_seg_module - a file that code is in
 * @base: what was added to the addresses that the file says
 * @path: zero-terminated; empty: the record is not used
 */
struct slabdev_seg_module {
	uint64_t base;
	char path[248];
};

/** enum slabdev_seg_trace_kind - what the objects of a trace have in common */
enum slabdev_seg_trace_kind {
	SLABDEV_SEG_TRACE_ALLOC = 1,	/* who allocated what is live */
	SLABDEV_SEG_TRACE_FREE = 2,	/* who freed last what is free */
};

/**
 * struct slabdev_seg_trace - one stack, and the objects that it brought about
 * @state: enum slabdev_seg_state
 * @kind: enum slabdev_seg_trace_kind
 * @nr_frames: of @frame; 0: the stacks that could not be told apart
 * @tid_low: the lowest thread id that was seen
 * @tid_high: the highest one
 * @reserved: 0
 * @frame: return addresses, that of the library's call first: number of the
 *         module in the same segment, and the address as the module's file
 *         says it; see slabdev_seg_frame()
 * @objects: live ones, or free ones, of which this was the last
 * @bytes: what was asked for, of those
 * @total: objects since open
 * @time_sum: sum of the times at which those of @objects were allocated, or
 *            freed: milliseconds of CLOCK_MONOTONIC
 * @last: the last time
 */
struct slabdev_seg_trace {
	uint32_t state;
	uint32_t kind;
	uint32_t nr_frames;
	uint32_t tid_low;
	uint32_t tid_high;
	uint32_t reserved;
	uint64_t frame[SLABDEV_SEG_FRAMES];
	uint64_t objects;
	uint64_t bytes;
	uint64_t total;
	uint64_t time_sum;
	uint64_t last;
};

/* A frame is the module's number above 48 bits of address. */
#define SLABDEV_SEG_FRAME_SHIFT 48
/* In no module that is known: the address is the process's. */
#define SLABDEV_SEG_NO_MODULE 0xffffu

static inline uint64_t slabdev_seg_frame(uint32_t module, uint64_t address)
{
	return (uint64_t)module << SLABDEV_SEG_FRAME_SHIFT |
	       (address & ((UINT64_C(1) << SLABDEV_SEG_FRAME_SHIFT) - 1));
}

/**
 * struct slabdev_seg_traces - the records of a TRACES segment
 * @module: those that the frames of this segment are in
 * @trace: the stacks
 */
struct slabdev_seg_traces {
	struct slabdev_seg_module module[SLABDEV_SEG_MODULES];
	struct slabdev_seg_trace trace[SLABDEV_SEG_TRACES_PER_SEGMENT];
};

/**
 * struct slabdev_seg_figures - the bytes of a class or of a space
 * @live: what live objects asked for
 * @rounding: what they have beyond that
 * @cached: free objects
 * @slack: tails of slabs
 * @pending: free objects that nobody may have yet
 * @live_objects: objects handed out
 * @cached_objects: free objects
 */
struct slabdev_seg_figures {
	uint64_t live;
	uint64_t rounding;
	uint64_t cached;
	uint64_t slack;
	uint64_t pending;
	uint64_t live_objects;
	uint64_t cached_objects;
};

/**
 * slabdev_seg_figures - the bytes of one class, from its record and counters
 * @c: the record
 * @sum: retired and thread counters, summed
 * @space: for a LARGE record
 * @f: added to
 *
 * Counters read while operations run can disagree by those operations; a
 * difference that would be negative then counts as 0 and shows in "in flight".
 */
static inline void
slabdev_seg_figures(const struct slabdev_seg_class *c,
		    const struct slabdev_seg_counters *sum,
		    const struct slabdev_seg_space *space,
		    struct slabdev_seg_figures *f)
{
	uint64_t objects = c->slabs * c->per_slab;
	uint64_t n = sum->allocs > sum->frees ? sum->allocs - sum->frees : 0;
	uint64_t live = sum->alloc_bytes > sum->free_bytes ?
			sum->alloc_bytes - sum->free_bytes : 0;
	uint64_t gone = space->large_slack + space->large_pending;
	uint64_t given, free_objects, pending;

	if (c->type == SLABDEV_SEG_LARGE) {
		given = space->large_bytes > gone ?
			space->large_bytes - gone : 0;
		free_objects = 0;
		f->slack += space->large_slack;
		f->pending += space->large_pending;
	} else {
		given = n * c->stride;
		free_objects = objects > n ? objects - n : 0;
		pending = c->pending < free_objects ? c->pending : free_objects;
		free_objects -= pending;
		f->pending += pending * c->stride;
		f->slack += c->slabs * (c->slab_bytes -
					(uint64_t)c->per_slab * c->stride);
	}
	f->live += live;
	f->rounding += given > live ? given - live : 0;
	f->cached += free_objects * c->stride;
	f->live_objects += n;
	f->cached_objects += free_objects;
}

#ifdef __cplusplus
}
#endif
#endif /* SLABDEV_SEGMENT_H */
