// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_per_thread_test.c - NULL in sources for per-thread default streams.
 *
 * This file is compiled as those are: its NULL is the thread's own default
 * stream. A function's name in brackets is the function, whose NULL is the
 * legacy stream.
 */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM

#include <errno.h>

#include "tests/stream_space.h"

#define LIMIT (64 * MIB)
#define OWN SLABDEV_STREAM_PER_THREAD

static void begin(struct stream_space *s, struct kunit *test)
{
	stream_space_open(s, test, NULL, LIMIT, SLABDEV_ORDER_STREAM);
	KUNIT_ASSERT_EQ(test, slabdev_stream_attach(s->sd, NULL), 0);
	hold(s, OWN);
}

static void end(struct stream_space *s)
{
	let_go(s, OWN);
	KUNIT_EXPECT_EQ(s->test, slabdev_stream_detach(s->sd, NULL), 0);
	stream_space_close(s);
}

static void attach_and_detach(struct kunit *test)
{
	struct stream_space s;

	stream_space_open(&s, test, NULL, LIMIT, SLABDEV_ORDER_STREAM);
	KUNIT_ASSERT_EQ(test, slabdev_stream_attach(s.sd, NULL), 0);
	KUNIT_EXPECT_EQ(test, (slabdev_stream_detach)(s.sd, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, (slabdev_stream_detach)(s.sd, OWN), 0);
	KUNIT_ASSERT_EQ(test, (slabdev_stream_attach)(s.sd, OWN), 0);
	KUNIT_EXPECT_EQ(test, slabdev_stream_detach(s.sd, NULL), 0);
	stream_space_close(&s);
}

/* What a stream has freed is its own again at once, whatever it is called. */
static void allocations_and_frees(struct kunit *test)
{
	struct stream_space s;
	void *p, *q;

	begin(&s, test);
	p = slabdev_alloc_async(s.sd, 5000, NULL);
	cuda_submit_fill(test, p, 5000, 1, OWN);
	KUNIT_EXPECT_EQ(test, (slabdev_free_async)(s.sd, p, OWN), 0);
	q = slabdev_alloc_async(s.sd, 5000, NULL);
	KUNIT_EXPECT_PTR_EQ(test, q, p);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(s.sd, q, NULL), 0);
	q = (slabdev_alloc_async)(s.sd, 5000, OWN);
	KUNIT_EXPECT_PTR_EQ(test, q, p);
	/* And the other NULL is another one. */
	KUNIT_EXPECT_EQ(test, slabdev_free_async(s.sd, q, NULL), 0);
	q = (slabdev_alloc_async)(s.sd, 5000, NULL);
	KUNIT_EXPECT_PTR_NE(test, q, p);
	KUNIT_EXPECT_EQ(test, (slabdev_free_async)(s.sd, q, NULL), 0);
	end(&s);
}

static void caches(struct kunit *test)
{
	struct slabdev_cache *cache;
	struct stream_space s;
	void *p, *q;

	begin(&s, test);
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&cache, s.sd, "own", 3000,
						   NULL), 0);
	p = slabdev_cache_alloc_async(cache, NULL);
	cuda_submit_fill(test, p, 3000, 1, OWN);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free_async(cache, p, NULL), 0);
	q = (slabdev_cache_alloc_async)(cache, OWN);
	KUNIT_EXPECT_PTR_EQ(test, q, p);
	KUNIT_EXPECT_EQ(test, (slabdev_cache_free_async)(cache, q, OWN), 0);
	q = slabdev_cache_alloc_async(cache, NULL);
	KUNIT_EXPECT_PTR_EQ(test, q, p);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free_async(cache, q, NULL), 0);
	let_go(&s, OWN);
	MUST(test, cuCtxSynchronize());
	KUNIT_EXPECT_EQ(test, slabdev_trim(s.sd, 0), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	end(&s);
}

static void moving(struct kunit *test)
{
	struct stream_space s;
	void *p, *q;

	begin(&s, test);
	p = slabdev_alloc_async(s.sd, 5000, NULL);
	q = slabdev_realloc_async(s.sd, p, 300000, NULL);
	KUNIT_ASSERT_NOT_NULL(test, q);
	/* The copy waits in the thread's own stream. */
	EXPECT_CU(test, cuStreamQuery(OWN), CUDA_ERROR_NOT_READY);
	KUNIT_EXPECT_PTR_EQ(test, slabdev_alloc_async(s.sd, 5000, NULL), p);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(s.sd, p, NULL), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(s.sd, q, NULL), 0);
	end(&s);
}

/* A stream that is not attached is known by its uses. */
static void uses(struct kunit *test)
{
	struct stream_space s;
	void *p;

	stream_space_open(&s, test, NULL, LIMIT, SLABDEV_ORDER_STREAM);
	p = must_alloc(test, s.sd, 5000);
	KUNIT_EXPECT_EQ(test, slabdev_use(s.sd, p, NULL), 0);
	KUNIT_EXPECT_EQ(test, (slabdev_stream_detach)(s.sd, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, (slabdev_stream_detach)(s.sd, OWN), 0);
	EXPECT_FREED(test, s.sd, p);
	stream_space_close(&s);
}

static void captures(struct kunit *test)
{
	struct slabdev_graph *graph = NULL;
	struct stream_space s;

	stream_space_open(&s, test, NULL, LIMIT, SLABDEV_ORDER_STREAM);
	KUNIT_EXPECT_EQ(test, (slabdev_capture_begin)(s.sd, NULL, &graph),
			-EINVAL);
	KUNIT_ASSERT_EQ(test, slabdev_capture_begin(s.sd, NULL, &graph), 0);
	KUNIT_EXPECT_EQ(test, (slabdev_capture_begin)(s.sd, OWN, &graph),
			-EBUSY);
	KUNIT_EXPECT_EQ(test, slabdev_capture_end(graph), 0);
	KUNIT_EXPECT_EQ(test, slabdev_graph_release(graph), 0);
	stream_space_close(&s);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(attach_and_detach),
	KUNIT_CASE(allocations_and_frees),
	KUNIT_CASE(caches),
	KUNIT_CASE(moving),
	KUNIT_CASE(uses),
	KUNIT_CASE(captures),
	{ 0 }
};

static const struct kunit_suite cuda_per_thread_suite = {
	.name = "cuda_per_thread",
	.init = cuda_space_init,
	.exit = cuda_space_exit,
	.cases = cases,
};
kunit_test_suite(cuda_per_thread_suite);
