/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * note.h - what is to be remembered of single objects.
 *
 * Most objects need no more than their tag. A *note* is for those that other
 * streams use (slabdev_use), that a graph has (graph.h), or that another
 * process may have (share.c). The tag of a noted object has the code
 * CODE_NOTED in place of its class's, so that every free of it takes the slow
 * path, where the note says what has to be done first; its class is found by
 * its slab. Tiny objects have no tag, and no fast free either: their notes are
 * looked for when there are any.
 *
 * Invariant: a live object of a granule or more has CODE_NOTED exactly if it
 * has a note. It is set last and taken away first, by whoever owns the object:
 * a note and a free of the same object at once is the caller's mistake.
 *
 * Locking: notes lock.
 */
#ifndef SLAB_NOTE_H
#define SLAB_NOTE_H

#include "slab/alloc.h"
#include "slab/slab.h"
#include "slab/stream.h"

#define NOTE_USES 14u
#define NOTE_GRAPHS 4u

/* Work that uses an object: what is in the stream at the free, or, if the
 * stream is gone, what was before the event. */
struct use {
	slabdev_stream_t stream;	/* NULL: .event */
	u64 event;			/* the note's own */
};

struct note {
	struct note *next;	/* in its bucket, or in a graph's list */
	u64 offset;		/* of the object */
	u32 nr_graphs;		/* that have it */
	struct graph *graph[NOTE_GRAPHS];
	u32 exports;		/* to other processes */
	bool elsewhere;		/* held: others may be using it yet */
	u32 nr;
	struct use use[NOTE_USES];
};

void notes_init(struct slabdev *sd);
void notes_fini(struct slabdev *sd);
/* The space closes: no event is needed any more. */
void notes_end(struct slabdev *sd);
/* In the child of a fork, no lock held: there are no streams and no graphs. */
void notes_forget(struct slabdev *sd);

/* The note of an object; NULL: it has none. */
struct note *note_find_locked(struct slabdev *sd, u64 offset);
/* The same, made if need be; NULL: no host memory. */
struct note *note_get_locked(struct slabdev *sd, const struct place *at);
/* If the note says nothing any more, the object is like any other. */
void note_put_locked(struct slabdev *sd, struct note *n);

/* A live object is used on a stream too. 0, -ENOMEM or -ENOSPC. */
int __must_check note_use(struct slabdev *sd, const struct place *at,
			  const struct order *o);

/* Of an object whose life has ended: NULL, or the note, which is the caller's
 * then, to be freed or to be held by its graph. */
struct note *note_take(struct slabdev *sd, u64 offset);
void note_free(struct slabdev *sd, struct note *n);
/* It is not to wait for other streams any more. */
void note_forget_uses(struct slabdev *sd, struct note *n);
/* Another process may have it: it must not be freed. */
bool note_is_exported(struct slabdev *sd, u64 offset);

/* A stream goes that may be among the uses. 1: it was, and events stand in for
 * it; 0: it was not; or the error of recording one. */
int notes_end_stream(struct slabdev *sd, slabdev_stream_t stream);

/* Call @each for every note; it may put it. */
void note_each_locked(struct slabdev *sd,
		      void (*each)(struct slabdev *sd, struct note *n,
				   void *arg), void *arg);

static inline bool notes_any(const struct slabdev *sd)
{
	return READ_ONCE(sd->notes.nr) != 0;
}

#endif /* SLAB_NOTE_H */
