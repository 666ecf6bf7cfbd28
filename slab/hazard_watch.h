/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hazard_watch.h - from the slow paths to hazard mode (hazard.h), and where in
 * the program they were called, which debug.h wants too.
 *
 * A space that is watched has no fast paths: no sheaves, and no frees that do
 * not ask. So all allocations end in class_alloc() or large_alloc(), all frees
 * pass free_ended(), and other spaces pay for nothing. Where the program called
 * is known further out: it is kept with the thread until then.
 */
#ifndef SLAB_HAZARD_WATCH_H
#define SLAB_HAZARD_WATCH_H

#include "slab/hazard.h"
#include "slab/slab.h"
#include "slab/stream.h"

/* A space is watched: the queues are, too. */
void hazard_begin(void) __cold;
void hazard_keep_site(const void *site) __cold;
void hazard_saw_alloc(struct slabdev *sd, const void *p, u64 usable,
		      const struct order *o) __cold;
void hazard_saw_free(struct slabdev *sd, u64 offset, const struct order *o,
		     bool held) __cold;
void hazard_saw_use(struct slabdev *sd, const void *p,
		    slabdev_stream_t stream) __cold;
void hazard_saw_arena(struct slabdev *sd, u64 addr, u64 size,
		      slabdev_stream_t stream) __cold;
void hazard_saw_rewind(struct slabdev *sd, u64 from, u64 to,
		       slabdev_stream_t stream) __cold;
void hazard_saw_join(struct slabdev *sd, slabdev_stream_t later,
		     slabdev_stream_t earlier) __cold;

/* Are the places of calls wanted? */
static inline bool is_watched(const struct slabdev *sd)
{
	return sd->hazard || READ_ONCE(sd->debugged) || sd->guards.every;
}

/* In functions that the program calls, or that are tail calls of those. */
static __always_inline void watch_site(const struct slabdev *sd)
{
	if (unlikely(sd && is_watched(sd)))
		hazard_keep_site(__builtin_return_address(0));
}

/* Passes on the object, or NULL. */
static inline void *watch_alloc(struct slabdev *sd, void *p, u64 usable,
				const struct order *o)
{
	if (unlikely(sd->hazard && p))
		hazard_saw_alloc(sd, p, usable, o);
	return p;
}

/* @held: a graph has it. */
static inline void watch_free(struct slabdev *sd, u64 offset,
			      const struct order *o, bool held)
{
	if (unlikely(sd->hazard))
		hazard_saw_free(sd, offset, o, held);
}

/* The stream's work so far is all that uses of it are waited for. */
static inline void watch_detach(const struct slabdev *sd,
				slabdev_stream_t stream)
{
	if (unlikely(sd->hazard))
		hazard_detach(sd, stream);
}

static inline void watch_capture(const struct slabdev *sd,
				 slabdev_stream_t stream, const void *graph)
{
	if (unlikely(sd->hazard))
		hazard_capture_begin(stream, graph);
}

static inline void watch_capture_end(const struct slabdev *sd,
				     const void *graph)
{
	if (unlikely(sd->hazard))
		hazard_capture_end(graph);
}

static inline void watch_release(const struct slabdev *sd, const void *graph)
{
	if (unlikely(sd->hazard))
		hazard_graph_release(graph);
}

static inline int watch_use(struct slabdev *sd, int err, const void *p,
			    slabdev_stream_t stream)
{
	if (unlikely(sd->hazard && !err))
		hazard_saw_use(sd, p, stream);
	return err;
}

/* An arena hands out, to work of @stream. */
static inline void watch_arena(struct slabdev *sd, u64 addr, u64 size,
			       slabdev_stream_t stream)
{
	if (unlikely(sd->hazard))
		hazard_saw_arena(sd, addr, size, stream);
}

/* And takes back all of that. */
static inline void watch_rewind(struct slabdev *sd, u64 from, u64 to,
				slabdev_stream_t stream)
{
	if (unlikely(sd->hazard && from < to))
		hazard_saw_rewind(sd, from, to, stream);
}

/* Its memory belonged to one object, which is not looked at as such. */
static inline void watch_arena_object(struct slabdev *sd, u64 from, u64 to)
{
	if (unlikely(sd->hazard))
		hazard_forget(from, to);
}

/* @later was made to wait for what is in @earlier. */
static inline void watch_join(struct slabdev *sd, slabdev_stream_t later,
			      slabdev_stream_t earlier)
{
	if (unlikely(sd->hazard))
		hazard_saw_join(sd, later, earlier);
}

#endif /* SLAB_HAZARD_WATCH_H */
