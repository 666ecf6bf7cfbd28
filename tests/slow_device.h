/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * slow_device.h - a space over a device that is done when the test says so.
 *
 * The device is host memory with a clock. Each fill is work that was submitted,
 * an event that is recorded marks a point, and nothing is done before
 * device_reach() or device_finish() says up to where. The device itself looks
 * at each unmap: what work still uses must not go, whatever a case is about.
 */
#ifndef TESTS_SLOW_DEVICE_H
#define TESTS_SLOW_DEVICE_H

#include <pthread.h>

#include "tests/vmm_space.h"

#define SLOW_DEVICE_CHUNKS 4096u

/* One at a time, that of the case. Locking: lock. */
struct slow_device {
	struct kunit *test;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	u64 now;		/* points that were submitted */
	u64 done;		/* and reached */
	bool is_prompt;		/* reaches a point at once */
	bool captures;
	int record_err, query_err, wait_err, create_err, destroy_err;
	u64 event_at;
	u32 nr_events;
	u32 creates, records, queries, waits, waiting;
	u64 base;		/* of the space's first chunk */
	u64 used_at[SLOW_DEVICE_CHUNKS];	/* newest work on each chunk */
};

extern struct slow_device device;

/* Of a suite: test->priv is a struct space, not open yet. At the end everything
 * is done, and is to go back. */
int slow_device_init(struct kunit *test);
void slow_device_exit(struct kunit *test);
/* Open it with @limit chunks, all in one reservation. */
struct space *slow_device_space(struct kunit *test, u64 limit);

/* Everything up to point @at is done; everything that was submitted is. */
void device_reach(u64 at);
void device_finish(void);
/* From now on whatever is submitted is done at once, as all before; or not. */
void device_be_prompt(bool prompt);
/* Until @n threads wait for the device. */
void device_await_waiting(u32 n);

#endif /* TESTS_SLOW_DEVICE_H */
