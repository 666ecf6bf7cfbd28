/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pending_private.h - what the files pending*.c share.
 */
#ifndef SLAB_PENDING_PRIVATE_H
#define SLAB_PENDING_PRIVATE_H

#include "slab/pending.h"

/* A record without objects; it may have events to be recorded again. NULL: no
 * host memory. */
struct pending *pending_new(struct slabdev *sd);
/* It has no objects any more. */
void pending_retire(struct slabdev *sd, struct pending *p);

/* Books of a large object; those of a class are in pending.h. */
void pending_book_large(struct slabdev *sd, u32 slice);
void pending_unbook_large(struct slabdev *sd, u32 slice);

void pending_append_locked(struct slabdev *sd, struct pending *p);
void pending_prepend_locked(struct slabdev *sd, struct pending *p);
void pending_append(struct slabdev *sd, struct pending *p);
/* Who has records taken out is counted in pendings.nr_asked, so that whoever
 * waits for all can wait for those, too. */
void pending_begin_asking_locked(struct slabdev *sd);
/* The first of a stream's queue, to be asked; counted. */
struct pending *pending_take_first(struct slabdev *sd, struct stream *st);
/* Not done: back to the front of its queue, or to what a capture has (@err is
 * -EXDEV). */
void pending_put_back(struct slabdev *sd, struct pending *p, int err);
void pending_push_locked(struct pending **list, struct pending *p);
/* A record of any queue that has objects of the class; NULL: none. Counted as
 * above; *@queue is held, or NULL. */
struct pending *pending_take_match(const struct class *c,
				   struct stream **queue);
/* It is back, or free. */
void pending_end_asking(struct slabdev *sd);
/* Ask, or wait for, a record's events: 0, all are done; -EBUSY one is not; or
 * the backend's error. */
int pending_ask(struct slabdev *sd, struct pending *p, bool wait);
/* All work on it is done: what the record has is free. */
void pending_complete(struct slabdev *sd, struct pending *p);
/* Which of the loose lists a record belongs to. */
struct pending_list *pending_loose_list(struct slabdev *sd,
					slabdev_stream_t handle);
/* Ask the records of a loose list, of the first @looks those that may be done;
 * or wait for them. The first error. */
int pending_drain_loose(struct slabdev *sd, struct pending_list *list,
			u32 looks, bool wait);

#endif /* SLAB_PENDING_PRIVATE_H */
