/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * track.h - who allocated and who freed each object (SLABDEV_DEBUG=U).
 *
 * A *track* is what is known of one object, by its offset: the size that was
 * asked for, and of the last allocation and the last free each the thread, the
 * time, the stream, and the stack, as a handle (core/depot.h). It stays after
 * the free, until the object is used again, whose track then has the free of
 * the life before, or until its slab goes and track_forget() is called. What
 * stacks have allocated altogether is summed up beside it (origin.h).
 *
 * Tracks are in host memory, 64 bytes each, in hash tables by KiB of offset, so
 * that a slab's tracks are found without knowing where its objects begin. There
 * are SHARDS of them, each with a lock and buckets that grow in place, one at a
 * time (linear hashing). What there is no host memory for is not tracked, and
 * that is no error; nor is an object that was allocated before tracking began.
 *
 * Tracking begins with tracks_init(), at open or at any time later, and ends
 * when the space is closed. Whether an object is tracked, its class decides.
 *
 * Locking: internal, LOCK_TRACK; track_alloc() and track_free() may take the
 * heaps lock first, and ask the loader: no lock may be held. The others may be
 * called under any lock below LOCK_TRACK, but for track_tell() and
 * track_describe(), which look for names.
 *
 * Limits: times in milliseconds, 42 bits; threads with ids of 22 bits, which is
 * all that Linux has. Stacks have STACK_MAX frames, of which a report shows
 * TRACK_FRAMES.
 */
#ifndef SLAB_TRACK_H
#define SLAB_TRACK_H

#include "core/log.h"
#include "slab/origin.h"
#include "slab/stream.h"

#define TRACK_FRAMES 8u

/* What happened to an object once. */
struct track_event {
	bool known;
	u32 tid;
	u64 time;			/* milliseconds of CLOCK_MONOTONIC */
	u32 stack;			/* in the depot; 0: none */
	slabdev_stream_t stream;	/* NULL: the CPU */
};

struct track {
	u64 offset;
	u64 size;			/* asked for, last */
	u16 class;			/* number; CLASS_LARGE */
	bool live;
	struct track_event alloc, free;
};

/* Begin to track; again: nothing more. 0 or -ENOMEM. The space lock may be
 * held, and none below it. */
int __must_check tracks_init(struct slabdev *sd);

/* @c: NULL: a large object. @size: what was asked for. */
void track_alloc(struct slabdev *sd, const struct class *c, u64 offset,
		 u64 size, const struct order *o) __cold;
void track_free(struct slabdev *sd, const struct class *c, u64 offset,
		u64 size, const struct order *o) __cold;
/* Nothing that begins in this memory is remembered any more. */
void track_forget(struct slabdev *sd, u64 offset, u64 len);

/* What is known of the object at @offset; false: nothing. */
bool track_find(struct slabdev *sd, u64 offset, struct track *t);
/* A stream as it is called in such lines; NULL: the CPU. */
#define STREAM_NAME_MAX 32
void stream_name(slabdev_stream_t stream, char text[STREAM_NAME_MAX]);

/* Call @each for all tracks, under a lock. */
void track_each(struct slabdev *sd,
		void (*each)(const struct track *t, void *arg), void *arg);
/* NULL: nothing was ever tracked. */
struct origins *tracks_origins(struct slabdev *sd);
u64 track_now(void);
/* Of os_monotonic_ns(). */
static inline u64 track_time(u64 ns)
{
	return ns / 1000000;
}

/* ---- In every configuration ---------------------------------------------- */

#define TRACK_LINE_FRAMES 3u
#define TRACK_LINE_MAX 640

#if IS_ENABLED(CONFIG_SLAB_DEBUG)
/* Add "Allocated by ..." and "Freed by ..." with their stacks, or nothing. */
void track_tell(struct report *r, struct slabdev *sd, u64 offset);
void tracks_fini(struct slabdev *sd);
/* The live object has got another size, in place. */
void track_resize(struct slabdev *sd, u64 offset, u64 size) __cold;
/* A part of a line of @r: who allocated the object, with TRACK_LINE_FRAMES of
 * the stack; "" when that is not known. */
void track_describe(const struct report *r, struct slabdev *sd, u64 offset,
		    char text[TRACK_LINE_MAX]);
u64 tracks_host_bytes(const struct slabdev *sd);

void tracks_lock_for_fork(struct slabdev *sd);
void tracks_unlock_for_fork(struct slabdev *sd);
#else
static inline void track_tell(struct report *r, struct slabdev *sd, u64 offset)
{
	(void)r;
	(void)sd;
	(void)offset;
}

static inline void tracks_fini(struct slabdev *sd)
{
	(void)sd;
}

static inline void track_resize(struct slabdev *sd, u64 offset, u64 size)
{
	(void)sd;
	(void)offset;
	(void)size;
}

static inline void track_describe(const struct report *r, struct slabdev *sd,
				  u64 offset, char text[TRACK_LINE_MAX])
{
	(void)r;
	(void)sd;
	(void)offset;
	text[0] = '\0';
}

static inline u64 tracks_host_bytes(const struct slabdev *sd)
{
	(void)sd;
	return 0;
}

static inline void tracks_lock_for_fork(struct slabdev *sd)
{
	(void)sd;
}

static inline void tracks_unlock_for_fork(struct slabdev *sd)
{
	(void)sd;
}
#endif

#endif /* SLAB_TRACK_H */
