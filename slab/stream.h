/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream.h - the streams of a space, and in whose order memory is used.
 *
 * 1. Domains. A free object is in the order of somebody: of nobody, when all
 *    work that used it is done (complete); of the bound stream, or of one of
 *    the streams that this file keeps. Whoever it is has it without waiting;
 *    for all others it has to become complete. A sheaf has objects of one
 *    domain.
 *
 *      freed on           is then in            and becomes complete
 *      the bound stream   slabs, own sheaves    by the vmm's fence (stamps)
 *      an attached one    the stream's sheaves  by the event of its sheaf
 *      any other          nowhere: pending      by an event of its own
 *
 *    In host spaces the bound stream is the CPU, which has nothing to wait for:
 *    what it frees is complete.
 *
 * 2. Attached streams. Each thread that uses one has a heap for it, with the
 *    same lock-free sheaves as its own heap: an allocation on a hit pops one
 *    word, a free pushes one. What it pushes is of the stream's domain; what it
 *    is filled with is complete, or of the domain. When a sheaf has to leave,
 *    because it is full, or stolen, or its thread or the stream ends, an event
 *    is recorded, and it is *pending* (pending.h).
 *
 *    The default stream of each thread is a stream a thread under one handle: a
 *    thief cannot record an event in it. Its sheaves then wait for the device.
 *
 * 3. An allocation for a stream looks: in its sheaves; in what the stream
 *    itself has pending; in the barn's complete sheaves; in slabs and free
 *    slices whose stamps are quiet; it maps more; it takes back what threads
 *    and streams have, and waits for their events, and for the bound stream's.
 *    Where SLABDEV_POLICY_STREAM_WAITS is set, it would rather take what the
 *    bound stream has, and have its own stream wait for that.
 *
 * 4. Locking: streams lock for the table; below it nothing. A stream's heaps
 *    are reached by the heaps lock. A stream that is detached is in no other
 *    call, which its user promises.
 */
#ifndef SLAB_STREAM_H
#define SLAB_STREAM_H

#include "slab/slab.h"

struct graph;

struct stream {
	slabdev_stream_t handle;	/* const */
	u16 domain;			/* const: DOMAIN_STREAM + its number */
	u32 users;			/* streams lock: times attached */
	struct graph *graph;		/* atomic: of a declared capture */
	struct pending_list queue;	/* pending lock: in order of time */
	u32 refs;			/* pending lock: the table, and who asks
					 * records of the queue */
	bool gone;			/* pending lock: no queue any more */
};

/* In whose order an allocation or a free is. */
struct order {
	slabdev_stream_t handle;	/* NULL: the bound stream */
	struct stream *stream;		/* attached, or captured; or NULL */
};

void streams_init(struct slabdev *sd);
void streams_fini(struct slabdev *sd);

/*
 * order_of - what a stream that the user names means
 * @call: the public function, for the message
 *
 * 0 or -EINVAL.
 */
int __must_check order_of(struct slabdev *sd, slabdev_stream_t stream,
			  const char *call, struct order *o);
/* What NULL and the default streams are in this space. NULL: the CPU. */
slabdev_stream_t stream_canonical(const struct slabdev *sd,
				  slabdev_stream_t stream);
/* Of calls that name none. */
struct order order_plain(const struct slabdev *sd);

/* The same for what an allocation may have: with host order the bound stream
 * only frees, and what is complete is everybody's. */
struct order order_to_have(const struct slabdev *sd, const struct order *o);

static inline bool order_is_bound(const struct order *o)
{
	return !o->handle;
}

/* The stream of a handle; NULL: none that is known. */
struct stream *stream_find(struct slabdev *sd, slabdev_stream_t handle);
/* The same, made if need be; @attach: for one more user. 0, -ENOSPC or
 * -ENOMEM. */
int __must_check stream_get(struct slabdev *sd, slabdev_stream_t handle,
			    bool attach, struct stream **st);
/* Forget it if nobody has it attached and no capture runs on it. */
void stream_put(struct slabdev *sd, struct stream *st);

static inline struct stream *stream_of_domain(const struct slabdev *sd,
					      u16 domain)
{
	return sd->streams.of[domain - DOMAIN_STREAM];
}

/* Does every thread have one of its own under this handle? */
static inline bool stream_is_per_thread(const struct stream *st)
{
	return st->handle == SLABDEV_STREAM_PER_THREAD;
}

/*
 * Where a free object of class @c is put that was freed in the order @o: a
 * sheaf of the thread, of the stream, a graph, or it is pending by itself.
 */
void order_put(struct heap *own, struct class *c, slot_t slot,
	       const struct order *o);
/* class_get() of what the order may have. */
int __must_check order_get(struct class *c, slot_t *to, u32 least, u32 most,
			   unsigned int flags, const struct order *o);
/* The same for one object, sheaves first. 0, 1 a refill, or a negative
 * errno. */
int __must_check order_get_one(struct heap *own, struct class *c,
			       unsigned int flags, const struct order *o,
			       slot_t *slot);
/* Whatever the bound stream did last to memory comes before what @o will do;
 * 0 or a negative errno. */
int __must_check order_after_bound(struct slabdev *sd, const struct order *o);

/* All sheaves of a stream, in all threads, become pending. False: a thread was
 * inside a call on it. */
bool stream_flush(struct slabdev *sd, struct stream *st);

/* Wait for all work of the device. -EAGAIN: a capture forbids it. */
int __must_check streams_quiesce(struct slabdev *sd);
/* Until nobody does, who began before a capture was declared. */
void streams_await_quiesce(struct slabdev *sd);

/* In the child of a fork: no stream, nothing pending. */
void streams_forget(struct slabdev *sd);

#endif /* SLAB_STREAM_H */
