/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vmm.h - device addresses and physical memory, as slab/ sees them.
 *
 * A *chunk* is the unit: one granularity of the backend, at least 2 MiB. The
 * vmm numbers the chunks of its reservations 0, 1, 2, ... in one *chunk space*:
 * adjacent numbers are adjacent addresses within a reservation; between two
 * reservations one number is left out, so that no run of chunks spans two. An
 * *offset* is chunk number * chunk size + offset in the chunk: slab/ indexes
 * its tables by it. Offsets are below VMM_MAX_OFFSET.
 *
 * A *handle* is a piece of physical memory of one or more chunks. It is
 * mapped whole, and given back whole: the unit of giving back. Single-chunk
 * handles are interchangeable, and fill any hole.
 *
 * Idle memory is kept in two caches, cheapest to reuse first:
 *   - *idle mappings*: handles that are still mapped and accessible; a request
 *     of the same shape takes one without any backend call;
 *   - *spare handles*: single-chunk handles that are not mapped; a request
 *     maps them where it needs them.
 * vmm_map() uses both before it creates, and gives idle mappings back when
 * the limit or the device refuses more.
 *
 * Failure: every call that fails has changed nothing that the caller can see;
 * backend steps taken are undone in reverse order. A step that cannot be
 * undone makes its chunks *lost*: counted, reported, their addresses not used
 * again, retried by vmm_reclaim() and vmm_close().
 *
 * Locking: internal (LOCK_VMM, held over backend calls). The fields that fast
 * paths read are constant after vmm_open().
 */
#ifndef VMM_VMM_H
#define VMM_VMM_H

#include "core/list.h"
#include "core/lock.h"
#include "core/metapool.h"
#include "core/range.h"
#include "core/resv.h"
#include "vmm/ops.h"

/* 32-bit numbers of 256-byte granules bound what a space can address. */
#define VMM_MAX_OFFSET (TIB)
#define VMM_MIN_CHUNK (2 * MIB)
#define VMM_MAX_RANGES 64

/* Counters, in memory that other processes may read: single words, relaxed. */
struct vmm_counters {
	u64 calls[VMM_NR_OPS];
	u64 fails[VMM_NR_OPS];
	u64 reserved;		/* bytes of addresses */
	u64 created;		/* bytes of physical memory, all states */
	u64 idle;		/* bytes in idle mappings and spare handles */
	u64 lost;		/* bytes */
	u64 peak_created;	/* bytes */
	u64 handles;		/* handles that exist */
	u64 spare_handles;	/* of those, unmapped and usable */
	u64 limit;		/* bytes */
};

struct vmm_config {
	u64 limit;		/* bytes, 0: what the device has */
	u32 limit_permille;	/* instead, thousandths of that; 0: all */
	u32 ranks;		/* divide the limit by; 0: 1 */
	u64 reserve;		/* bytes, 0: adaptive */
	bool same_layout;	/* the same calls give the same numbers */
	struct vmm_counters *counters;	/* zeroed, outlives the vmm */
	const char *name;	/* of the space, for reports; outlives it */
};

struct vmm_reservation {
	u64 addr;		/* aligned to a chunk */
	u64 raw_addr, raw_size;	/* as the backend gave it */
	u32 first_chunk;
	u32 nr_chunks;
	u32 nr_open;		/* the first so many may be allocated */
	u32 nr_used;		/* of them, so many are mapped */
	bool is_vacant;		/* given back; its numbers may come again */
};

#define VMM_DETAIL_MAX 160
/* What went wrong in the call that runs, told after the lock is dropped. */
struct vmm_incident {
	enum vmm_op op;		/* that failed; VMM_NR_OPS: none */
	char detail[VMM_DETAIL_MAX];	/* what the backend said of it */
	u64 size;		/* bytes it was asked for */
	const char *what;	/* no backend call: what was lacking */
	u64 in_use;		/* -EDQUOT: bytes that cannot go back */
	bool closing;		/* nothing will be retried */
	enum vmm_op lost_op;	/* the undo that failed first, */
	int lost_err;		/* its error, */
	char lost_detail[VMM_DETAIL_MAX];	/* what the backend said, */
	u64 lost_addr;		/* and where: 0 when it had no address */
	u64 lost_bytes;
	u32 nr_lost;		/* handles */
};

#define VMM_IDLE_BINS 32

/* Numbers that a guarded mapping had, kept without memory; see guard.c. */
#define VMM_HOLES 256u
struct vmm_hole {
	u32 first, nr;
};

struct vmm {
	/* Const after vmm_open(). */
	const struct vmm_ops *ops;
	void *dev;
	const char *name;
	u64 chunk_size;
	u32 chunk_shift;
	u32 max_chunks;		/* chunk numbers are below this */
	u64 base;		/* address of chunk 0 */
	u64 base_bytes;		/* length of the first reservation */
	bool same_layout;	/* of which there is one: slab/rank.h */
	struct vmm_counters *cnt;

	/* Locking: lock. */
	struct lock lock;
	u64 limit_chunks;
	u64 reserve_next;	/* bytes to try for the next reservation */
	struct range addresses;	/* free: chunk numbers without a handle */
	struct range idle_runs;	/* free: idle mappings of a single chunk, */
	struct list idle_singles;	/* least recently used first */
	struct list idle[VMM_IDLE_BINS]; /* those of several, by log2, */
	u32 nr_idle;		/* how many; most recently used first */
	struct resv chunks;	/* struct vmm_handle *, by chunk number */
	struct metapool handles;
	struct list spare;	/* unmapped single-chunk handles */
	struct list lost;
	u64 event;		/* see fence.c, also for what follows */
	u64 clock;
	u64 last_stamp;		/* newest of any idle handle */
	u64 fence_stamp;	/* covered by the recorded event; 0: none */
	u64 quiet;		/* stamps up to this one are quiet */
	u32 nr_waiting;		/* threads, for the event */
	bool is_still;		/* vmm_map_quiet(), just now, unmaps nothing */
	bool is_quiet;		/* nothing was handed out since vmm_quiesce() */
	struct vmm_hole hole[VMM_HOLES];	/* a ring, see guard.c */
	u32 first_hole, nr_holes;
	u32 hole_chunks;	/* numbers in holes */
	u32 nr_walls;		/* numbers that nothing is mapped at */
	u32 nr_held;		/* numbers that are held: hold.c; */
	u32 lowest_held;	/* and none was below, since there are any */
	struct vmm_incident incident;
	struct vmm_reservation res[VMM_MAX_RANGES];
	u32 nr_res;		/* released after res[] is filled */
	u32 res_seq;		/* odd while res[] changes; see region.c */
};

/*
 * 0; -ENODEV, -ENOMEM, -EDQUOT (limit below one chunk), -EINVAL (cfg->reserve
 * beyond VMM_MAX_OFFSET), or the backend's error. The error text is set.
 */
int __must_check vmm_open(struct vmm *v, const struct vmm_ops *ops, void *dev,
			  const struct vmm_config *cfg);
/*
 * Unmaps and releases everything, whatever its state. 0, or -EIO when the
 * backend refused, or it could not be proved that the device is done with it;
 * what stays mapped is then lost for good and was reported.
 */
int vmm_close(struct vmm *v);

/*
 * vmm_map - make chunks accessible
 * @nr: how many adjacent chunks
 * @handle_chunks: chunks of each handle; the last handle may be smaller. 1
 *                 for memory that may go back chunk by chunk, @nr for one
 *                 exact handle
 * @first: set to the first chunk number
 *
 * 0; -EINVAL @nr or @handle_chunks 0; -EDQUOT the limit; -ENOMEM device
 * memory, addresses or host memory; or the backend's error. Nothing is left
 * half done; the error text is set.
 */
int __must_check vmm_map(struct vmm *v, u32 nr, u32 handle_chunks, u32 *first);

/* The same from memory that no work uses any more: new, or quiet. @still:
 * rather fail than unmap anything, or wait. */
int __must_check vmm_map_quiet(struct vmm *v, u32 nr, u32 handle_chunks,
			       bool still, u32 *first);
/* What a chunk in use was stamped with when it was idle; 0: it is new. */
u64 vmm_chunk_stamp(struct vmm *v, u32 chunk);

/*
 * vmm_extend - make chunks accessible at given numbers
 * @at: the first chunk number, just behind memory that is to go on
 * @nr: how many, at least 1
 * @handle_chunks: as for vmm_map()
 *
 * As vmm_map(); also -EBUSY when some of the addresses are in use, or not
 * reserved.
 */
int __must_check vmm_extend(struct vmm *v, u32 at, u32 nr, u32 handle_chunks);

/* An idle mapping of that shape, without any backend call. 0, or -ENOENT. */
int __must_check vmm_reuse(struct vmm *v, u32 nr, u32 handle_chunks,
			   u32 *first);

/*
 * vmm_quiesce - wait until the device is done with all that was submitted
 *
 * 0; -EAGAIN when a stream capture forbids to ask; or the backend's error. The
 * error text is set. vmm_close() does the same where it was not done.
 */
int vmm_quiesce(struct vmm *v);

/* Every point is reached before it is passed: work is done at once. */
#define VMM_ALWAYS_QUIET (~(u64)0)

/*
 * The point of the bound stream (fence.c) that memory freed in its order by now
 * has to wait for, and the last one that is known to be reached. A caller that
 * has submitted work reads a clock that this work is covered by.
 */
static inline u64 vmm_clock(const struct vmm *v)
{
	return __atomic_load_n(&v->clock, __ATOMIC_SEQ_CST);
}

static inline u64 vmm_quiet(const struct vmm *v)
{
	return load_acquire(&v->quiet);
}

/*
 * vmm_settle - find out whether the device is past the present clock
 * @wait: until it is, instead of only looking
 *
 * 0; -EBUSY not yet; -EAGAIN a stream capture forbids to ask; or the backend's
 * error.
 */
int vmm_settle(struct vmm *v, bool wait);

/*
 * vmm_settle_briefly - look for a millisecond at most
 *
 * A device that has nothing to do still takes some time to say so: an event
 * that was recorded just now is not done yet. Returns as vmm_settle().
 */
int vmm_settle_briefly(struct vmm *v);

enum vmm_giveback {
	VMM_KEEP_MAPPED,	/* idle mapping: no backend call */
	VMM_KEEP_HANDLE,	/* spare handle if single-chunk, else release */
	VMM_RELEASE,		/* give back to the device */
};
/*
 * vmm_unmap - the handle that begins at chunk @first is not used any more
 *
 * Memory that the device may still be using becomes an idle mapping, whatever
 * @how; what was to be released goes back with a later call (fence.c).
 *
 * 0; -EINVAL no handle in use begins there; -EIO when the backend refused: the
 * chunks are lost (and still not the caller's any more).
 */
int vmm_unmap(struct vmm *v, u32 first, enum vmm_giveback how);

/*
 * Release idle mappings and spare handles until at most @keep bytes of them
 * are left; retry what is lost. Memory that the device may still be using is
 * waited for when @wait, else left. 0 or -EIO.
 */
int vmm_reclaim(struct vmm *v, u64 keep, bool wait);

/*
 * vmm_map_guarded - one handle of @nr chunks, with nothing mapped beside it
 *
 * The chunks before and behind it have addresses that fault. As vmm_map(), but
 * never waits for the device; -ENOTSUP where memory cannot be unmapped, or
 * would have to be found at the same place in every process.
 */
int __must_check vmm_map_guarded(struct vmm *v, u32 nr, u32 *first);
/*
 * vmm_unmap_guarded - the handle that vmm_map_guarded() has made
 *
 * The caller knows that no work uses it any more. Its addresses fault from now
 * on, and are not used again soon. With VMM_KEEP_MAPPED work may go on: it is
 * idle memory, and nothing faults. Returns as vmm_unmap().
 */
int vmm_unmap_guarded(struct vmm *v, u32 first, enum vmm_giveback how);

/*
 * vmm_hold - chunk numbers for memory that comes and goes in place
 * @nr: how many adjacent ones, at least 1
 * @first: set to the first
 *
 * Nobody else maps anything there until vmm_unhold(). 0; -ENOTSUP where memory
 * is not mapped by the library; -ENOMEM no such addresses, or too many held;
 * the error text is set.
 */
int __must_check vmm_hold(struct vmm *v, u32 nr, u32 *first);
/* The opposite, of all or a part: nothing is mapped there, but what is lost. */
void vmm_unhold(struct vmm *v, u32 first, u32 nr);
/*
 * vmm_map_held - make chunks accessible at held numbers
 * @at, @nr: held, and nothing is mapped there
 * @handle_chunks: as for vmm_map()
 *
 * As vmm_map(); also -EBUSY memory that is lost is mapped there yet.
 */
int __must_check vmm_map_held(struct vmm *v, u32 at, u32 nr,
			      u32 handle_chunks);
/*
 * vmm_unmap_held - give back memory at held numbers, from the end on
 * @at, @nr: mapped; set to how many from @at on still are
 * @how: VMM_KEEP_HANDLE or VMM_RELEASE
 *
 * The caller knows that no work uses it any more. A handle that begins before
 * @at stays. 0; -EINVAL @at + @nr is not where a mapping ends; -EIO what the
 * backend did not take is lost, and nothing more was tried.
 */
int vmm_unmap_held(struct vmm *v, u32 at, u32 *nr, enum vmm_giveback how);
/* Of held numbers, so many from @at on are mapped and in use. */
u32 vmm_mapped_held(struct vmm *v, u32 at, u32 nr);
/* The first number from @at on, which is held, that no handle from before @at
 * has: what vmm_unmap_held() would leave. */
u32 vmm_held_seam(struct vmm *v, u32 at);

static inline u64 vmm_chunk_offset(const struct vmm *v, u32 chunk)
{
	return (u64)chunk << v->chunk_shift;
}

/* Address of an offset; @offset lies in a reservation. */
u64 vmm_addr(const struct vmm *v, u64 offset);
/* The opposite; false when @addr lies in no reservation. */
bool vmm_offset(const struct vmm *v, u64 addr, u64 *offset);
/* The reservation around @at: where it begins, and its bytes. */
bool vmm_reservation_at(const struct vmm *v, u64 at, u64 *addr, u64 *bytes);

/* NULL, or a static text that names the broken invariant. */
const char *vmm_validate(struct vmm *v);

/* ---- Work through the backend, counted -------------------------------- */

int vmm_fill(struct vmm *v, u64 addr, u64 size, u8 byte,
	     slabdev_stream_t stream);
int vmm_fill2d(struct vmm *v, u64 addr, u64 pitch, u64 width, u64 height,
	       u8 byte, slabdev_stream_t stream);
/* Of the space's own stream; returns when the bytes are there. */
int vmm_read(struct vmm *v, void *to, u64 addr, u64 size);
int vmm_copy(struct vmm *v, u64 to, u64 from, u64 size,
	     slabdev_stream_t stream);
/* ops.h says what it does; the caller reads where it fails. */
int __must_check vmm_check(struct vmm *v, struct vmm_check *ranges, u32 nr);
/* Events of the caller's own; ops.h says what they do. */
int __must_check vmm_event_create(struct vmm *v, u64 *event);
int __must_check vmm_event_record(struct vmm *v, u64 event,
				  slabdev_stream_t stream);
int __must_check vmm_event_query(struct vmm *v, u64 event);
int __must_check vmm_event_wait(struct vmm *v, u64 event);
void vmm_event_destroy(struct vmm *v, u64 event);
int __must_check vmm_stream_wait(struct vmm *v, slabdev_stream_t stream,
				 u64 event);
int __must_check vmm_check_stream(const struct vmm *v, slabdev_stream_t stream);
int vmm_is_captured(const struct vmm *v, slabdev_stream_t stream);
/* Make @stream wait for all that is in the bound one by now. */
int __must_check vmm_wait_for_bound(struct vmm *v, slabdev_stream_t stream);
/* All work of the device, in whatever stream, is done. */
int __must_check vmm_quiesce_device(struct vmm *v);
int vmm_meminfo(struct vmm *v, u64 *free_bytes, u64 *total_bytes);

/* ---- Between processes -------------------------------------------------- */

/* The enum slabdev_handle_type by which this memory can be shared. */
u32 vmm_share_type(const struct vmm *v);
/* What the backend has to say of the ways to the memory at @offset: lines, each
 * after a newline; or nothing. */
void vmm_describe_ways(struct vmm *v, u64 offset, char *buf, size_t len);
/* Is all of it in one handle that is in use? */
bool vmm_in_one_handle(struct vmm *v, u64 offset, u64 bytes);
/*
 * vmm_share - fill in all of @share but its size
 * @offset, @bytes: of an object in use, which stays that
 *
 * 0; -ENOTSUP, -EXDEV in several handles, -EMFILE, or the backend's error; the
 * error text is set.
 */
int __must_check vmm_share(struct vmm *v, u64 offset, u64 bytes,
			   struct slabdev_share *share);

enum vmm_import_step {
	VMM_IMPORT_NOTHING,
	VMM_IMPORT_RESERVED,
	VMM_IMPORT_HANDLE,
	VMM_IMPORT_MAPPED,
	VMM_IMPORT_ACCESSIBLE,
};

/* A handle of another process, mapped here. Locking: the caller's. */
struct vmm_import {
	const struct vmm_ops *ops;
	void *dev;
	u64 addr;
	u64 bytes;
	u64 handle;
	enum vmm_import_step done;
};

/* 0, or the backend's error, with the error text set and nothing left. The
 * numbers in @share are consistent. */
int __must_check vmm_import_open(struct vmm_import *m,
				 const struct vmm_ops *ops, void *dev,
				 const struct slabdev_share *share);
/* 0; -EBUSY a capture forbids to ask whether the device is done, or -EIO: call
 * it again later. */
int vmm_import_close(struct vmm_import *m);

/* ---- Backends --------------------------------------------------------- */

/*
 * vmm_backend_find - the backend for what slabdev_open() was given
 * @spec: "host", "cuda:0", ...
 * @attr: of the space, checked; what it points to is copied. NULL: defaults
 *
 * 0; -EINVAL unknown, -ENOTSUP known but not built or not there, -ENODEV no
 * such device, -ENOMEM, -EIO, -EOWNERDEAD; the error text says which. *@dev
 * stays valid until vmm_backend_put(), which comes after vmm_close().
 */
int __must_check vmm_backend_find(const char *spec,
				  const struct slabdev_attr *attr,
				  const struct vmm_ops **ops, void **dev);
void vmm_backend_put(const struct vmm_ops *ops, void *dev);

int vmm_device_count(void);
int vmm_device_get(int index, struct slabdev_device_info *info);

/* True when the memory is the fork child's own copy, and the space may go on
 * there. */
bool vmm_survives_fork(const struct vmm *v);
/* 0; or -EIO, -EOWNERDEAD, which every call on this memory gives from now on,
 * with the error text set. */
int vmm_health(const struct vmm *v);
/* What the memory is, in a few words. */
void vmm_describe(const struct vmm *v, char *buf, size_t len);
/* The next handle in use, not at held numbers, that begins at or behind @chunk:
 * @chunk set to where, and @nr to its chunks. False: there is none. */
bool vmm_next_in_use(struct vmm *v, u32 *chunk, u32 *nr);

/* ---- Host queues (queue.h) ---------------------------------------------- */

/* Told of the order that the program makes, without locks held. */
struct queue_observer {
	/* What the queue has now, and perhaps not what comes: a name for it. */
	u64 (*mark)(slabdev_stream_t queue);
	/* Of each mark, once: what @later gets from now on comes after;
	 * SLABDEV_HAZARD_HOST: it is done; NULL: nothing is known of it. */
	void (*pass)(u64 mark, slabdev_stream_t later);
};

/* Of the streams of host spaces: the CPU itself, and no queue. */
static inline bool stream_is_cpu(slabdev_stream_t stream)
{
	return !stream || stream == SLABDEV_STREAM_LEGACY ||
	       stream == SLABDEV_STREAM_PER_THREAD;
}

/* Are there any queues? Asked where no other thread is: without the lock. */
bool vmm_queue_any(void);
/* From now on; there is one at most. */
void queue_observe(const struct queue_observer *observer);

#endif /* VMM_VMM_H */
