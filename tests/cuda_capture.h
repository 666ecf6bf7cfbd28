/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cuda_capture.h - a space with a stream that captures.
 */
#ifndef TESTS_CUDA_CAPTURE_H
#define TESTS_CUDA_CAPTURE_H

#include "tests/stream_space.h"

#define LIMIT (96 * MIB)

/* Calls that look at the device, wait, or give memory back. */
static const char *const forbidden[] = {
	"cuEventQuery", "cuEventSynchronize", "cuStreamSynchronize",
	"cuCtxSynchronize", "cuStreamQuery", "cuMemUnmap", "cuMemRelease",
};

static inline u64 forbidden_calls(void)
{
	u64 sum = 0;

	for (u32 i = 0; i < ARRAY_SIZE(forbidden); i++)
		sum += cu.model_calls(forbidden[i]);
	return sum;
}

/* The parameter, before test->param_value is anybody else's. */
static inline CUstreamCaptureMode mode_of(struct kunit *test)
{
	const CUstreamCaptureMode *mode = test->param_value;

	return mode ? *mode : CU_STREAM_CAPTURE_MODE_GLOBAL;
}

struct capture {
	struct stream_space s;
	CUstreamCaptureMode mode;
	CUstream stream;
	struct slabdev_graph *graph;
	u64 calls;		/* forbidden ones, at its begin */
};

static inline void capture_open(struct capture *c, struct kunit *test)
{
	*c = (struct capture){ .mode = mode_of(test) };
	stream_space_open(&c->s, test, NULL, LIMIT, SLABDEV_ORDER_STREAM);
	c->stream = c->s.lane[0];
}

static inline void declare(struct capture *c)
{
	KUNIT_ASSERT_EQ_MSG(c->s.test,
			    slabdev_capture_begin(c->s.sd, c->stream,
						  &c->graph), 0, "%s",
			    slabdev_last_error());
}

static inline void begin(struct capture *c)
{
	MUST(c->s.test, cuStreamBeginCapture(c->stream, c->mode));
	c->calls = forbidden_calls();
}

/* It was left alone, and makes a graph. */
static inline void end(struct capture *c)
{
	CUgraph graph = NULL;

	KUNIT_EXPECT_EQ(c->s.test, forbidden_calls(), c->calls);
	EXPECT_CU(c->s.test, cuStreamEndCapture(c->stream, &graph), 0);
	EXPECT_CU(c->s.test, cuGraphDestroy(graph), 0);
	EXPECT_NO_VIOLATION(c->s.test);
}

static inline void declare_end(struct capture *c)
{
	KUNIT_EXPECT_EQ(c->s.test, slabdev_capture_end(c->graph), 0);
}

static inline void release_graph(struct capture *c)
{
	KUNIT_EXPECT_EQ_MSG(c->s.test, slabdev_graph_release(c->graph), 0,
			    "%s", slabdev_last_error());
	c->graph = NULL;
}

static const size_t sizes[] = { 256, 5000, 300000, 3 * MIB };

/* What the graph has, whole or in part, is nobody else's. */
static inline void expect_apart(struct capture *c, void *const *p, u32 n)
{
	void *q[40];

	for (u32 i = 0; i < ARRAY_SIZE(q); i++) {
		size_t size = sizes[i % ARRAY_SIZE(sizes)];

		q[i] = i & 4 ? slabdev_alloc(c->s.sd, size) :
			       slabdev_alloc_async(c->s.sd, size,
						   c->s.lane[i % NR_LANES]);
		KUNIT_ASSERT_NOT_NULL_MSG(c->s.test, q[i], "%s",
					  slabdev_last_error());
		for (u32 k = 0; k < n; k++)
			KUNIT_EXPECT_PTR_NE(c->s.test, q[i], p[k]);
	}
	for (u32 i = 0; i < ARRAY_SIZE(q); i++)
		EXPECT_FREED(c->s.test, c->s.sd, q[i]);
}

/* The cases of the suite that are in cuda_capture_other.c. */
void two_captures_at_once(struct kunit *test);
void used_by_two_graphs(struct kunit *test);
void refusals(struct kunit *test);
void detach_in_a_capture(struct kunit *test);
void close_with_a_graph(struct kunit *test);
void undeclared_is_noticed_and_held(struct kunit *test);
void others_go_on(struct kunit *test);

#endif /* TESTS_CUDA_CAPTURE_H */
