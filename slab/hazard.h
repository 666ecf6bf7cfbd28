/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hazard.h - SLABDEV_DEBUG=H: memory that no stream order protects.
 *
 * The engine is told what is done with objects and what is ordered, and says
 * where the order is missing. It knows objects by their addresses, so that one
 * engine serves all spaces, and nothing of slabs.
 *
 *   what is done               must come after
 *   an access on T             the allocation
 *   a free on F                the allocation, and every access, but for those
 *                              that come before what is in a used stream
 *                              (slabdev_use) by then
 *
 * and nothing may come after the free. An allocation is something that the
 * stream does: the memory may be what earlier work of it still uses. So is
 * whatever the CPU gives to another stream later ordered behind it only by an
 * event that is recorded after the allocation, or by the CPU's waiting. An
 * access that a later one comes after needs no memory: whoever comes after
 * that comes after both.
 *
 * What is captured (slabdev_capture_begin) is ordered within its capture only,
 * and there by the same rules: the capture uses again what it frees. With work
 * that runs it has no order, and none is asked for; but an object that a graph
 * uses and does not have (slabdev_use) must not be freed before the graph is
 * released. What a graph has is not given away before that, whatever still runs
 * at the free.
 *
 * An arena's allocations are objects here, each of its own; what a rewind, a
 * reset or the end gives back is freed at once, on the arena's stream, and one
 * report is made of it. Streams that it was told of (slabdev_arena_use) are
 * joined by the arena's before that: this the engine is told of as of any other
 * order.
 *
 * A space in this mode has no fast paths, and calls the hooks below without
 * locks held: of a free before anybody else can have the memory, of an
 * allocation before the caller has it.
 *
 * Reports are put together from copies, without the lock: to look up a name may
 * take the lock of the dynamic loader.
 *
 * Failure: what there is no host memory for is not judged.
 * Locking: hazard lock, one for all.
 */
#ifndef SLAB_HAZARD_H
#define SLAB_HAZARD_H

#include <slabdev/slabdev.h>

/* Where in the program, and on which stream (SLABDEV_HAZARD_HOST: the CPU). */
struct hazard_call {
	const void *space;	/* names it; never looked at */
	const char *name;	/* of the space */
	slabdev_stream_t stream;
	const void *site;
	bool is_arena;		/* what it allocates is an arena's */
};

#if IS_ENABLED(CONFIG_SLAB_HAZARD)
extern bool hazard_active;	/* relaxed: some space is in this mode */

static inline bool hazard_is_active(void)
{
	return unlikely(READ_ONCE(hazard_active));
}

void hazard_activate(void);
/* An object of @size usable bytes is handed out. */
void hazard_alloc(const struct hazard_call *by, u64 addr, u64 size);
/* Its life ends; @held: a graph has the memory. 1: a hazard was reported. */
int hazard_free(const struct hazard_call *by, u64 addr, bool held);
/* What an arena has handed out from @from up to @to has ended: 1 as above. */
int hazard_rewind(const struct hazard_call *by, u64 from, u64 to);
/* Nothing is known of that memory any more. */
void hazard_forget(u64 from, u64 to);
/* slabdev_use() */
void hazard_use(const struct hazard_call *by, u64 addr);
/* slabdev_stream_detach(): of objects that the stream uses. */
void hazard_detach(const void *space, slabdev_stream_t stream);
/* slabdev_hazard_access() */
int hazard_access(const struct hazard_call *by, u64 addr);
/* The space is gone. */
void hazard_forget_space(const void *space);
/* Around a fork; what the parent's streams did is done in the child. */
void hazard_lock_for_fork(void);
void hazard_unlock_for_fork(bool child);
/* For tests: nothing was done yet. */
void hazard_reset(void);

/* What the public calls of hazard.h are. */
void hazard_record(u64 event, slabdev_stream_t stream);
void hazard_wait(slabdev_stream_t stream, u64 event);
void hazard_sync(slabdev_stream_t stream);
/* All that is in the stream now: a name for it, which is given back. */
u64 hazard_mark(slabdev_stream_t stream);
/* What @later does from now on comes after the mark, which is gone; NULL:
 * nobody waited for it. */
void hazard_pass(u64 mark, slabdev_stream_t later);

/* What is put into the stream from now on is captured for the graph. */
void hazard_capture_begin(slabdev_stream_t stream, const void *graph);
void hazard_capture_end(const void *graph);
/* It is not launched any more, and no launch of it runs. */
void hazard_graph_release(const void *graph);
#else
static inline bool hazard_is_active(void)
{
	return false;
}

static inline void hazard_activate(void)
{
}

static inline void hazard_alloc(const struct hazard_call *by, u64 addr,
				u64 size)
{
	(void)by;
	(void)addr;
	(void)size;
}

static inline int hazard_free(const struct hazard_call *by, u64 addr,
			      bool held)
{
	(void)by;
	(void)addr;
	(void)held;
	return 0;
}

static inline int hazard_rewind(const struct hazard_call *by, u64 from, u64 to)
{
	(void)by;
	(void)from;
	(void)to;
	return 0;
}

static inline void hazard_forget(u64 from, u64 to)
{
	(void)from;
	(void)to;
}

static inline void hazard_use(const struct hazard_call *by, u64 addr)
{
	(void)by;
	(void)addr;
}

static inline void hazard_detach(const void *space, slabdev_stream_t stream)
{
	(void)space;
	(void)stream;
}

static inline int hazard_access(const struct hazard_call *by, u64 addr)
{
	(void)by;
	(void)addr;
	return 0;
}

static inline void hazard_forget_space(const void *space)
{
	(void)space;
}

static inline void hazard_lock_for_fork(void)
{
}

static inline void hazard_unlock_for_fork(bool child)
{
	(void)child;
}

static inline void hazard_record(u64 event, slabdev_stream_t stream)
{
	(void)event;
	(void)stream;
}

static inline void hazard_wait(slabdev_stream_t stream, u64 event)
{
	(void)stream;
	(void)event;
}

static inline void hazard_sync(slabdev_stream_t stream)
{
	(void)stream;
}

static inline u64 hazard_mark(slabdev_stream_t stream)
{
	(void)stream;
	return 0;
}

static inline void hazard_pass(u64 mark, slabdev_stream_t later)
{
	(void)mark;
	(void)later;
}

static inline void hazard_capture_begin(slabdev_stream_t stream,
					const void *graph)
{
	(void)stream;
	(void)graph;
}

static inline void hazard_capture_end(const void *graph)
{
	(void)graph;
}

static inline void hazard_graph_release(const void *graph)
{
	(void)graph;
}
#endif

#endif /* SLAB_HAZARD_H */
