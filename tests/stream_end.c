// SPDX-License-Identifier: BSD-2-Clause
/*
 * stream_end.c - streams are attached and detached; spaces and threads end
 * while work is pending.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "tests/stream_bench.h"

void attached_twice_detached_twice(struct kunit *test)
{
	struct bench *t = test->priv;

	attach(t, t->a);
	attach(t, t->a);
	attach(t, t->b);
	KUNIT_EXPECT_EQ(test, sums(t).streams, 2);
	give(t, get(t, 1000, t->a), t->a);
	detach(t, t->a);
	KUNIT_EXPECT_EQ(test, sums(t).streams, 2);
	detach(t, t->a);
	detach(t, t->b);
	KUNIT_EXPECT_EQ(test, sums(t).streams, 0);
	KUNIT_EXPECT_EQ(test, slabdev_stream_detach(t->sd, t->a), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_stream_detach(t->sd, NULL), 0);
}

void strangers_are_refused(struct kunit *test)
{
	struct bench *t = test->priv;
	slabdev_stream_t strange = (slabdev_stream_t)(uintptr_t)0x1000;
	struct slabdev_cache *cache;
	void *p = slabdev_alloc(t->sd, 1000), *q;

	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&cache, t->sd, "c", 500,
						   NULL), 0);
	q = slabdev_cache_alloc(cache);
	KUNIT_EXPECT_EQ(test, slabdev_stream_attach(t->sd, strange), -EINVAL);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_async(t->sd, 9, strange),
			   EINVAL);
	KUNIT_EXPECT_ERRNO(test, slabdev_cache_alloc_async(cache, strange),
			   EINVAL);
	KUNIT_EXPECT_ERRNO(test, slabdev_realloc_async(t->sd, p, 9, strange),
			   EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(t->sd, p, strange), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_use(t->sd, p, strange), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free_async(cache, q, strange),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, sums(t).live_objects, 2);
	KUNIT_EXPECT_EQ(test, slabdev_use(t->sd, &q, t->a), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(t->sd, NULL, strange), 0);
	EXPECT_FREED(test, t->sd, p);
	EXPECT_FREED(test, t->sd, q);
	kunit_expect_report(test, REPORT_DOUBLE_FREE);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(t->sd, p, t->a), -EALREADY);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
}

/* On host spaces the default streams are the CPU. */
void default_streams_are_the_cpu(struct kunit *test)
{
	static const slabdev_stream_t streams[] = {
		NULL, SLABDEV_STREAM_LEGACY, SLABDEV_STREAM_PER_THREAD,
	};
	struct bench *t = test->priv;
	void *p;

	for (u32 i = 0; i < ARRAY_SIZE(streams); i++) {
		attach(t, streams[i]);
		p = get(t, 1000, streams[i]);
		give(t, p, streams[i]);
		KUNIT_EXPECT_PTR_EQ(test, get(t, 1000, streams[i]), p);
		EXPECT_FREED(test, t->sd, p);
		detach(t, streams[i]);
	}
	KUNIT_EXPECT_EQ(test, sums(t).event_records, 0);
}

void fills_and_copies_run_on_the_stream(struct kunit *test)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct bench *t = test->priv;
	unsigned char *p, *q;

	p = slabdev_alloc(t->sd, 1000);
	memset(p, 0x5a, 1000);
	EXPECT_FREED(test, t->sd, p);
	req.flags = SLABDEV_REQ_ZERO;
	req.stream = t->a;
	p = slabdev_alloc_ex(t->sd, 1000, &req);
	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_EXPECT_EQ(test, slabdev_queue_query(t->a), -EBUSY);
	run_all(t, t->a);
	KUNIT_EXPECT_EQ(test, p[0] | p[999], 0);
	memset(p, 0x77, 1000);
	q = slabdev_realloc_async(t->sd, p, 5000, t->a);
	KUNIT_ASSERT_NOT_NULL(test, q);
	KUNIT_EXPECT_PTR_NE(test, q, p);
	KUNIT_EXPECT_EQ(test, slabdev_queue_query(t->a), -EBUSY);
	run_all(t, t->a);
	KUNIT_EXPECT_EQ(test, q[999], 0x77);
	give(t, q, t->a);
}

void close_waits(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev *sd;
	void *p;

	KUNIT_ASSERT_EQ(test, slabdev_open(&sd, "host", NULL), 0);
	KUNIT_ASSERT_EQ(test, slabdev_stream_attach(sd, t->a), 0);
	p = slabdev_alloc_async(sd, 5000, t->a);
	busy(t, t->a);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(sd, p, t->a), 0);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_query(t->a), 0);
}

static void write_late(void *arg)
{
	memset(arg, 1, 5000);
}

/* By force also for what is still worked on, or not at all. */
void a_forced_close_waits(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev *sd;
	void *p;

	KUNIT_ASSERT_EQ(test, slabdev_open(&sd, "host", NULL), 0);
	p = slabdev_alloc_async(sd, 5000, t->a);
	KUNIT_ASSERT_EQ(test, slabdev_queue_submit(t->a, write_late, p), 0);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, SLABDEV_CLOSE_FORCE), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_query(t->a), 0);
}

static int child(struct bench *t)
{
	struct slabdev_stats st;
	void *p = slabdev_alloc(t->sd, 1000);

	if (!p || slabdev_free(t->sd, p) || slabdev_validate(t->sd) ||
	    slabdev_stats(t->sd, &st, sizeof(st)) || st.pending ||
	    st.in_flight || st.streams || st.live_objects ||
	    slabdev_trim(t->sd, 0) || slabdev_close(t->sd, 0))
		return 1;
	return 0;
}

void a_child_has_nothing_pending(struct kunit *test)
{
	struct bench *t = test->priv;
	void *p[100];
	pid_t pid;
	int status;
	u32 i;

	attach(t, t->a);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = get(t, 1000 * (i + 1), i % 2 ? t->a : t->b);
	busy(t, t->a);
	busy(t, t->b);
	for (i = 0; i < ARRAY_SIZE(p); i++) {
		KUNIT_EXPECT_EQ(test, slabdev_use(t->sd, p[i], t->b), 0);
		give(t, p[i], i % 2 ? t->a : t->b);
	}
	pid = fork();
	KUNIT_ASSERT_GE(test, pid, 0);
	if (!pid)
		_exit(child(t));
	KUNIT_EXPECT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ(test, status, 0);
	detach(t, t->a);
}

static void *fill_heaps(void *arg)
{
	struct bench *t = arg;
	void *p[64];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = slabdev_alloc_async(t->sd, 4000, t->a);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		if (slabdev_free_async(t->sd, p[i], t->a))
			return t;
	return NULL;
}

/* What threads leave behind when they end is found by all. */
void threads_strand_nothing(struct kunit *test)
{
	struct bench *t = test->priv;
	pthread_t thread[8];
	void *failed, *p;
	u32 i;

	attach(t, t->a);
	for (i = 0; i < ARRAY_SIZE(thread); i++)
		KUNIT_ASSERT_EQ(test, pthread_create(&thread[i], NULL,
						     fill_heaps, t), 0);
	for (i = 0; i < ARRAY_SIZE(thread); i++) {
		pthread_join(thread[i], &failed);
		KUNIT_EXPECT_NULL(test, failed);
	}
	p = slabdev_alloc(t->sd, LIMIT - 2 * MIB);
	KUNIT_EXPECT_NOT_NULL_MSG(test, p, "%s", slabdev_last_error());
	EXPECT_FREED(test, t->sd, p);
	detach(t, t->a);
	KUNIT_EXPECT_EQ(test, sums(t).pending, 0);
}

struct asker {
	struct slabdev *sd;
	bool end;
};

static void *ask_all_the_time(void *arg)
{
	struct asker *a = arg;

	while (!READ_ONCE(a->end))
		(void)slabdev_poll(a->sd);
	return NULL;
}

/* Whoever waits for all that is pending waits also for what others have taken
 * out to ask: nothing keeps the cache. */
void others_ask_meanwhile(struct kunit *test)
{
	struct bench *t = test->priv;
	struct asker asker = { t->sd, false };
	struct slabdev_cache *cache;
	pthread_t thread;
	void *p;
	u32 i, k;

	KUNIT_ASSERT_EQ(test, pthread_create(&thread, NULL, ask_all_the_time,
					     &asker), 0);
	for (i = 0; i < 1000; i++) {
		KUNIT_ASSERT_EQ(test, slabdev_cache_create(&cache, t->sd,
				"asked", 3 * MIB, NULL), 0);
		p = slabdev_cache_alloc_async(cache, t->a);
		KUNIT_EXPECT_NOT_NULL(test, p);
		/* Not done: so that it is asked again and again. */
		busy(t, t->a);
		KUNIT_EXPECT_EQ(test, slabdev_cache_free_async(cache, p, t->a),
				0);
		for (k = 0; k < 100000 && !READ_ONCE(t->sd->pendings.nr_asked);
		     k++)
			;
		KUNIT_EXPECT_EQ_MSG(test, slabdev_cache_destroy(cache), 0, "%s",
				    slabdev_last_error());
	}
	WRITE_ONCE(asker.end, true);
	pthread_join(thread, NULL);
}
