/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queue.h - host queues: streams of host spaces. Included by slabdev.h, whose
 * conventions hold here.
 *
 * A queue runs functions in the order in which they were submitted, as a
 * stream of a device does: in a thread of its own, or, if it is manual, when
 * somebody says slabdev_queue_run(), or has to wait for it. Host spaces take
 * queues wherever a stream is taken, so that a program for streams runs on a
 * machine without a device.
 *
 * A manual queue lets a test hold work back, as long as nobody waits for it. A
 * thread that does runs what is in it, itself: in slabdev_queue_synchronize()
 * and slabdev_queue_destroy(), and where the library waits for what streams
 * have freed or may still use: in slabdev_trim(), slabdev_set_policy(),
 * slabdev_close(), slabdev_stream_detach(), slabdev_cache_shrink(),
 * slabdev_cache_destroy() and slabdev_arena_destroy(), in an allocation when
 * memory is short, and where the letters Z and P look at an arena's memory.
 */
#ifndef SLABDEV_QUEUE_H
#define SLABDEV_QUEUE_H

#include <slabdev/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Queue flag: no thread; slabdev_queue_run(), or who waits, runs the work. */
#define SLABDEV_QUEUE_MANUAL 0x1u

/**
 * typedef slabdev_queue_fn - work for a queue
 * @arg: what was given to slabdev_queue_submit()
 *
 * Runs without locks held. May submit to queues; may not wait for its own.
 */
typedef void (*slabdev_queue_fn)(void *arg);

/**
 * slabdev_queue_create - make a queue
 * @queue: set to it; untouched on failure
 * @flags: 0 or SLABDEV_QUEUE_MANUAL
 *
 * Starts a thread, with all signals blocked, unless the queue is manual.
 *
 * Context: any thread. Driver: never.
 * Return: 0; -EINVAL @queue NULL or unknown flag, -ENOMEM no host memory,
 * -EAGAIN no thread can be started, -ENFILE 4,096 queues exist, -EOWNERDEAD in
 * the child of a fork of a process that had queues.
 */
SLABDEV_API SLABDEV_MUST_CHECK int
slabdev_queue_create(slabdev_stream_t *queue, unsigned int flags);

/**
 * slabdev_queue_destroy - run what is left, and end a queue
 * @queue: the queue; NULL is fine
 *
 * Spaces that it is attached to must have detached it (slabdev_stream_detach).
 *
 * Context: any thread but the queue's own. Driver: never; blocks.
 * Return: 0; -EINVAL no queue, -EDEADLK called from the queue itself, or what
 * is left waits for a manual queue that is held back: nothing has changed;
 * -EOWNERDEAD in the child of a fork.
 */
SLABDEV_API int slabdev_queue_destroy(slabdev_stream_t queue);

/**
 * slabdev_queue_submit - have the queue call a function
 * @queue: the queue
 * @fn: the function
 * @arg: passed on
 *
 * Context: any thread. Driver: never.
 * Return: 0; -EINVAL no queue or no function, -ENOMEM no host memory,
 * -EOWNERDEAD in the child of a fork.
 */
SLABDEV_API int slabdev_queue_submit(slabdev_stream_t queue,
				     slabdev_queue_fn fn, void *arg);

/**
 * slabdev_queue_wait - order one queue behind another
 * @queue: what is submitted to it from now on comes after
 * @other: all that was submitted to this one so far
 *
 * Context: any thread. Driver: never; the caller does not wait.
 * Return: as slabdev_queue_submit().
 */
SLABDEV_API int slabdev_queue_wait(slabdev_stream_t queue,
				   slabdev_stream_t other);

/**
 * slabdev_queue_run - run what a manual queue has, in the caller
 * @queue: a manual queue
 * @most: at most so many functions; waits for other queues count too
 *
 * Stops early where the queue waits for another one that has not got there.
 *
 * Context: any thread; one at a time runs a queue. Driver: never.
 * Return: how many were run, 0 if none could; -EINVAL no manual queue,
 * -EOWNERDEAD in the child of a fork.
 */
SLABDEV_API int slabdev_queue_run(slabdev_stream_t queue, unsigned int most);

/**
 * slabdev_queue_query - is all that was submitted done?
 * @queue: the queue
 *
 * Context: any thread. Driver: never.
 * Return: 0 yes; -EBUSY no; -EINVAL no queue, -EOWNERDEAD in the child of a
 * fork.
 */
SLABDEV_API int slabdev_queue_query(slabdev_stream_t queue);

/**
 * slabdev_queue_synchronize - wait until all that was submitted is done
 * @queue: the queue; a manual one is run by the caller
 *
 * Context: any thread but the queue's own. Driver: never; blocks.
 * Return: 0; -EINVAL no queue, -EDEADLK as slabdev_queue_destroy(), -EOWNERDEAD
 * in the child of a fork.
 */
SLABDEV_API int slabdev_queue_synchronize(slabdev_stream_t queue);

#ifdef __cplusplus
}
#endif

#endif /* SLABDEV_QUEUE_H */
