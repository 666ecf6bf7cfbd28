/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * note.h - what is to be remembered of single objects.
 *
 * Most objects need no more than their tag. A *note* is for those that have an
 * owner (own.h) or a number (block.c), that another process may have (share.c),
 * that other streams use (slabdev_use), or that a graph has (graph.h). The tag
 * of a noted object has the code CODE_NOTED in place of its class's, so that
 * every free of it takes the slow path, where the note says whether it may be
 * freed, and what has to be done first; its class is found by its slab. Tiny
 * objects have no tag, and no fast free either: their notes are looked for when
 * there are any.
 *
 * Invariant: a live object of a granule or more has CODE_NOTED exactly if it
 * has a note. It is set last and taken away first, by whoever owns the object:
 * a note and a free of the same object at once is the caller's mistake. But a
 * fast free that must not be takes the tag before it asks, and puts it back.
 * What is noted from its first moment on has its note before it is live: walks
 * over others' objects leave alone what is noted, and would else find it bare.
 *
 * There may be as many notes as objects. A note is a cache line; what streams
 * and graphs do with the object is in a structure of its own, which few have.
 * Notes are found by a hash of the offset. The table grows by a bucket a note,
 * each time by splitting one (linear hashing): no note waits for all to be
 * moved, and a walk over all notes is no longer than they once were many.
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

/* Who uses the object besides the stream that will free it. */
struct note_work {
	u32 nr_graphs;		/* that have it */
	bool elsewhere;		/* held: others may be using it yet */
	u64 zone;		/* where the red zone begins, in the object; 0:
				 * behind its size (graph.h) */
	struct graph *graph[NOTE_GRAPHS];
	u32 nr;
	struct use use[NOTE_USES];
};

struct note {
	struct note *next;	/* in its bucket, or in a graph's list */
	u64 offset;		/* of the object */
	u64 number;		/* block.c; 0: none */
	const char *owner_kind;	/* "buffer", ...; NULL: nobody owns it */
	const void *owner;	/* its token */
	struct note_work *work;	/* NULL: nobody that is known */
	u32 exports;		/* to other processes */
};
static_assert(sizeof(struct note) <= CACHE_LINE, "a line a note");

void notes_init(struct slabdev *sd);
void notes_fini(struct slabdev *sd);
/* The space closes: no event is needed any more. */
void notes_end(struct slabdev *sd);
/* In the child of a fork, no lock held: there are no streams and no graphs. */
void notes_forget(struct slabdev *sd);

/* A note with work of an object that is about to be live; NULL: no memory. */
struct note *note_early_locked(struct slabdev *sd, u64 offset);
/* The same out of one that note_take() returned, of the same object: its next
 * life has nothing of the last one but the graphs. */
void note_again_locked(struct slabdev *sd, struct note *n);
/* The note of an object; NULL: it has none. */
struct note *note_find_locked(struct slabdev *sd, u64 offset);
/* The same, made if need be; NULL: no host memory. */
struct note *note_get_locked(struct slabdev *sd, u64 offset);
/* What it says of streams and graphs, made if need be; NULL: no host memory. */
struct note_work *note_work(struct slabdev *sd, struct note *n);
/* If the note says nothing any more, the object is like any other. */
void note_put_locked(struct slabdev *sd, struct note *n);

/* A note of no object yet, and a place for it; NULL: no host memory. */
struct note *note_new(struct slabdev *sd) __must_check;
/* The note of the object at @offset: @spare, unless it has one, and @spare is
 * freed. */
struct note *note_set_locked(struct slabdev *sd, u64 offset,
			     struct note *spare);

/* A live object is used on a stream too. 0, -ENOMEM or -ENOSPC. */
int __must_check note_use(struct slabdev *sd, u64 offset,
			  const struct order *o);
/* The same of an object that is about to be live: whoever finds it live finds
 * that it is noted (object_begin()). */
int __must_check note_use_early(struct slabdev *sd, u64 offset,
				const struct order *o);
/* The same of what @owner owns; of others nothing is noted. */
int __must_check note_use_owned(struct slabdev *sd, u64 offset,
				const void *owner, const struct order *o);

/* Of an object whose life has ended: NULL, or the note that has work, which is
 * the caller's then, to be freed or to be held by its graph. */
struct note *note_take(struct slabdev *sd, u64 offset);
/* The same of a note that is found already. */
struct note *note_take_locked(struct slabdev *sd, struct note *n);
void note_free(struct slabdev *sd, struct note *n);
/*
 * note_end - end the life of an object that is known by its note
 * @number: its number, and it has no owner; 0: its owner asks
 * @note: set to what note_take() would return
 *
 * Of several calls at once, and of frees by its address, one ends it. 0;
 * -EALREADY its life has ended; -EBUSY it is exported; -EINVAL it has an owner.
 */
int __must_check note_end(struct slabdev *sd, u64 offset, u64 number,
			  struct note **note);
/* It is not to wait for other streams any more. */
void note_forget_uses(struct slabdev *sd, struct note *n);

/* May the live object be freed by its address? 0; -EBUSY another process may
 * have it; -EINVAL its owner frees it. */
int note_refuses(struct slabdev *sd, u64 offset);
/* Other streams or graphs have it. */
bool note_is_used(struct slabdev *sd, u64 offset);
/* Another process may have it. */
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
