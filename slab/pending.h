/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pending.h - free objects that wait for events.
 *
 * What leaves a stream's sheaves, and what is freed on a stream that is not
 * attached, belongs to nobody until the work that was in the stream by then is
 * done. A *pending* record has such objects, and the events that were recorded
 * after their free: one for a sheaf, one for each single object, one
 * more for each stream that slabdev_use() was told of.
 *
 * The records of an attached stream are queued in the order of their events: if
 * one is not done, those behind it are not asked. The stream itself may take
 * what it has freed out again, since what it does next comes later. A
 * free that adds a record asks for one other: so a steady stream of frees costs
 * one record and one query a sheaf. All other records are in one list
 * (pending_loose.c). Slow paths ask for all.
 *
 * No proof. Where no event can be recorded the objects are not lost and not
 * handed out: *unproven* ones (no host memory for the record, an error of the
 * driver, a thread's own stream that another thread would have to reach) wait
 * until the whole device has been waited for, which trim and close do, and an
 * allocation that would fail. Those that were freed on a stream that is being
 * captured without a word to the library are *held* until the space is closed:
 * a graph may use them at any time.
 *
 * Locking: the pending lock for lists; never over a call of the backend. A
 * record that is being asked is in no list.
 */
#ifndef SLAB_PENDING_H
#define SLAB_PENDING_H

#include "slab/stream.h"

#define PENDING_EVENTS 16u

struct use;

struct pending {
	struct pending *next;
	struct stream *stream;	/* whose queue it is for; NULL: none */
	slabdev_stream_t handle;	/* that event[0] is in; STREAM_NONE: not
					 * one stream's */
	struct sheaf *sheaf;	/* what it has: a sheaf, .. */
	struct class *class;	/* .. or one object of a class, .. */
	slot_t slot;
	u32 large;		/* .. or a large object; RANGE_NONE */
	u32 nr_events;		/* that are not known to be done */
	u32 nr_made;		/* events that exist; those after nr_events
				 * can be recorded again */
	u64 event[PENDING_EVENTS];
};

void pendings_init(struct slabdev *sd, u64 budget);
void pendings_fini(struct slabdev *sd);
/* The space is closing, everything is done: what is pending, or becomes so, is
 * free. */
void pending_end(struct slabdev *sd);

/* A sheaf of the domain of a stream, which is nobody's any more. */
void pending_add_sheaf(struct slabdev *sd, struct sheaf *s);
/* An object that was freed on stream @o, and is used on @nr others too. */
void pending_add_slot(struct class *c, slot_t slot, const struct order *o,
		      const struct use *used, u32 nr);
void pending_add_large(struct slabdev *sd, u32 slice, const struct order *o,
		       const struct use *used, u32 nr);
/* A sheaf with objects of @c that @st itself has pending; NULL. */
struct sheaf *pending_take_sheaf(struct class *c, struct stream *st);
/* One such object, which had no sheaf; false: there is none. */
bool pending_take_slot(struct class *c, struct stream *st, slot_t *slot);
/* A large object of exactly @n slices, aligned; RANGE_NONE. */
u32 pending_take_large(struct slabdev *sd, struct stream *st, u32 n, u64 align);

/* Have the stream of @o wait for objects of class @c that others have pending:
 * how many, at most @most, are then in its order. */
u32 pending_adopt(struct class *c, const struct order *o, slot_t *to, u32 most);

/* Ask events; what is done is free. */
void pending_poll(struct slabdev *sd);
/*
 * Wait for the events of everything that is pending, and for the device where
 * there is no event. 0: nothing is pending but what is held; -EAGAIN: a capture
 * forbids to wait; or the first error of the backend.
 */
int pending_wait(struct slabdev *sd);
/* The queue of @st goes to those of no stream, and so does what comes later. */
void pending_orphan(struct slabdev *sd, struct stream *st);
/* Whoever looks into the queue of a stream without being on it holds it: NULL,
 * there is none with the number. It is freed with the last reference, of which
 * the table has one. */
struct stream *pending_hold_stream(struct slabdev *sd, u32 number);
void pending_drop_stream(struct slabdev *sd, struct stream *st);
/* Slow paths ask: is work on @stream captured, and nobody said so? */
void pending_notice_capture(struct slabdev *sd, slabdev_stream_t stream);
/* Is anything? */
bool pending_any(struct slabdev *sd);

/* Pending bytes and objects are booked by these. */
void pending_book(struct class *c, u64 objects);
void pending_unbook(struct class *c, u64 objects);

/* In the child of a fork. */
void pendings_forget(struct slabdev *sd);

#endif /* SLAB_PENDING_H */
