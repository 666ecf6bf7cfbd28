/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queue.h - host queues, as the host backend sees them; the public calls are in
 * include/slabdev/queue.h.
 *
 * A queue is named by a number that looks like a pointer and is never one: its
 * place in a table, and how often the place was used before, so that what was
 * never a queue, or is none any more, is told from one.
 *
 * What is submitted to a queue is counted. A *point* is a count: the queue has
 * reached it when as many items are done. That is all an event is here. A queue
 * that does not exist any more has reached every point, since it ran what it
 * had before it went.
 *
 * Locking: one lock for all queues (LOCK_QUEUE), with one condition: queues
 * wait for each other, and are few. What an item does is done without it. A
 * manual queue is run by one thread at a time.
 *
 * After a fork queues are the parent's: their threads are not here, and the
 * lock may be anybody's. The child does not take it: every queue is dead, and
 * has reached every point.
 */
#ifndef VMM_QUEUE_H
#define VMM_QUEUE_H

#include <slabdev/slabdev.h>

#include "vmm/vmm.h"

struct queue_point {
	slabdev_stream_t queue;	/* NULL: reached */
	u64 count;
};

/* Work of the backend: bytes are filled, or copied. */
struct queue_work {
	void (*run)(const struct queue_work *w);
	u64 to, from;
	u64 pitch, width, height;
	u8 byte;
};

/* 0; -EINVAL no queue, -ENOMEM, -EOWNERDEAD. */
int __must_check queue_submit_work(slabdev_stream_t queue,
				   const struct queue_work *w);
/* Where the queue will be when it has done what it has now. */
int __must_check queue_point_now(slabdev_stream_t queue,
				 struct queue_point *point);
/* What is submitted to @queue from now on comes after @point. */
int __must_check queue_wait_point(slabdev_stream_t queue,
				  const struct queue_point *point);
bool queue_has_reached(const struct queue_point *point);
/* Wait for it; a manual queue is run. 0, or -EDEADLK. */
int __must_check queue_await(const struct queue_point *point);
/* -EINVAL with the error text set, when it is no queue, or one of before a
 * fork. */
int __must_check queue_check(slabdev_stream_t queue);
/* Wait for all queues of the process. 0, or -EDEADLK. */
int __must_check queue_await_all(void);

#endif /* VMM_QUEUE_H */
