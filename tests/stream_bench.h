/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stream_bench.h - a space and two queues that run when they are told to.
 */
#ifndef TESTS_STREAM_BENCH_H
#define TESTS_STREAM_BENCH_H

#include "tests/open_space.h"

#define LIMIT (32 * MIB)

struct bench {
	struct kunit *test;
	struct slabdev *sd;
	slabdev_stream_t a, b;	/* manual; not attached yet */
};

static inline void nothing(void *arg)
{
	(void)arg;
}

/* Work is in the queue, and stays until it is run. */
static inline void busy(struct bench *t, slabdev_stream_t q)
{
	KUNIT_ASSERT_EQ(t->test, slabdev_queue_submit(q, nothing, NULL), 0);
}

static inline void run_all(struct bench *t, slabdev_stream_t q)
{
	KUNIT_EXPECT_EQ(t->test, slabdev_queue_synchronize(q), 0);
}

static inline void *get(struct bench *t, size_t size, slabdev_stream_t q)
{
	void *p = slabdev_alloc_async(t->sd, size, q);

	KUNIT_ASSERT_NOT_NULL_MSG(t->test, p, "%s", slabdev_last_error());
	return p;
}

static inline void give(struct bench *t, void *p, slabdev_stream_t q)
{
	KUNIT_EXPECT_EQ_MSG(t->test, slabdev_free_async(t->sd, p, q), 0, "%s",
			    slabdev_last_error());
}

static inline void attach(struct bench *t, slabdev_stream_t q)
{
	KUNIT_ASSERT_EQ(t->test, slabdev_stream_attach(t->sd, q), 0);
}

static inline void detach(struct bench *t, slabdev_stream_t q)
{
	KUNIT_EXPECT_EQ_MSG(t->test, slabdev_stream_detach(t->sd, q), 0, "%s",
			    slabdev_last_error());
}

static inline struct slabdev_stats sums(struct bench *t)
{
	return expect_sound(t->test, t->sd);
}

typedef void (*free_fn)(struct bench *t, void *p);

/* The cases of the suite that are in stream_end.c. */
void attached_twice_detached_twice(struct kunit *test);
void strangers_are_refused(struct kunit *test);
void default_streams_are_the_cpu(struct kunit *test);
void fills_and_copies_run_on_the_stream(struct kunit *test);
void close_waits(struct kunit *test);
void a_forced_close_waits(struct kunit *test);
void a_child_has_nothing_pending(struct kunit *test);
void threads_strand_nothing(struct kunit *test);
void others_ask_meanwhile(struct kunit *test);

#endif /* TESTS_STREAM_BENCH_H */
