// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_group_test.c - groups on CUDA streams, on the model of the driver: what
 * a stream still uses nobody else gets, whatever the memory comes from.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "tests/group_space.h"
#include "tests/stream_space.h"

#define LIMIT (64 * MIB)

static void describe_kind(const struct cuda_kind_param *kind, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", kind->name);
}
KUNIT_ARRAY_PARAM(kind, cuda_kinds, describe_kind);

static const size_t tails[] = { 200, 300000, 3 * MIB };

/* With work on both of its blocks put into the stream. */
static struct slabdev_group *group_on(struct stream_space *s, size_t tail,
				      CUstream stream, void **ptrs)
{
	const size_t sizes[] = { 400, tail };
	struct slabdev_group_attr attr = SLABDEV_GROUP_ATTR_INIT;
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct slabdev_group *g;

	req.stream = stream;
	attr.req = &req;
	g = must_group_ex(s->test, s->sd, sizes, 2, ptrs, &attr);
	cuda_submit_fill(s->test, ptrs[0], sizes[0], 0x22, stream);
	cuda_submit_fill(s->test, ptrs[1], sizes[1], 0x33, stream);
	return g;
}

/* What a held stream has freed another one does not get, and no work of it
 * meets the other's. */
static void free_waits_for_its_stream(struct kunit *test)
{
	struct slabdev_group *g, *other;
	struct stream_space s;
	void *ptrs[2], *its[2];
	u32 i;

	stream_space_open(&s, test, test->param_value, LIMIT,
			  SLABDEV_ORDER_STREAM);
	for (i = 0; i < ARRAY_SIZE(tails); i++) {
		hold(&s, s.lane[0]);
		g = group_on(&s, tails[i], s.lane[0], ptrs);
		KUNIT_EXPECT_EQ(test, slabdev_group_free_async(g, s.lane[0]),
				0);
		other = group_on(&s, tails[i], s.lane[1], its);
		KUNIT_EXPECT_PTR_NE(test, its[0], ptrs[0]);
		let_go(&s, s.lane[0]);
		MUST(test, cuCtxSynchronize());
		KUNIT_EXPECT_EQ(test, cuda_byte(test, its[0]), 0x22);
		KUNIT_EXPECT_EQ(test, cuda_byte(test, its[1]), 0x33);
		KUNIT_EXPECT_EQ(test, slabdev_group_free_async(other,
							       s.lane[1]), 0);
		MUST(test, cuCtxSynchronize());
		expect_nothing_pending(&s);
	}
	KUNIT_EXPECT_EQ(test, stats_of(test, s.sd).groups, 0);
	stream_space_close(&s);
}

/* The graph has it, and every launch finds it at the same place. */
static void capture_keeps_what_it_used(struct kunit *test)
{
	const size_t sizes[] = { 400, 200 };
	struct slabdev_group_attr attr = SLABDEV_GROUP_ATTR_INIT;
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct slabdev_group *g, *other;
	struct slabdev_graph *graph;
	struct stream_space s;
	void *ptrs[2], *its[2];

	stream_space_open(&s, test, NULL, LIMIT, SLABDEV_ORDER_STREAM);
	req.stream = s.lane[0];
	attr.req = &req;
	KUNIT_ASSERT_EQ(test, slabdev_capture_begin(s.sd, s.lane[0], &graph),
			0);
	g = must_group_ex(test, s.sd, sizes, 2, ptrs, &attr);
	KUNIT_EXPECT_EQ(test, slabdev_group_free_async(g, s.lane[0]), 0);
	KUNIT_EXPECT_EQ(test, slabdev_capture_end(graph), 0);
	other = must_group(test, s.sd, sizes, 2, 0, its);
	KUNIT_EXPECT_PTR_NE(test, its[0], ptrs[0]);
	KUNIT_EXPECT_NE(test, stats_of(test, s.sd).held, 0);
	KUNIT_EXPECT_EQ(test, slabdev_graph_release(graph), 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, s.sd).held, 0);
	EXPECT_GROUP_FREED(test, other);
	stream_space_close(&s);
}

/* The child cannot free what is the parent's, and says so each time. */
static void dead_space_keeps_its_groups(struct kunit *test)
{
	const size_t sizes[] = { 400, 200 };
	struct slabdev *sd = cuda_open(test, "cuda:0", NULL);
	struct slabdev_group *g = must_group(test, sd, sizes, 2, 0, NULL);
	struct slabdev_group *none = NULL;
	int status = -1;
	pid_t pid = fork();

	KUNIT_ASSERT_GE(test, pid, 0);
	if (!pid) {
		alarm(60);
		KUNIT_EXPECT_EQ(test, slabdev_group_free(g), -EOWNERDEAD);
		EXPECT_ERROR_HAS(test, "fork");
		KUNIT_EXPECT_EQ(test, slabdev_group_free_async(g, NULL),
				-EOWNERDEAD);
		KUNIT_EXPECT_EQ(test, slabdev_group_count(g), 2);
		KUNIT_EXPECT_EQ(test, slabdev_group_alloc(&none, sd, sizes, 2,
							  0, NULL),
				-EOWNERDEAD);
		_exit(0);
	}
	KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ(test, status, 0);
	EXPECT_GROUP_FREED(test, g);
	cuda_close(test, sd);
}

static const struct kunit_case cuda_group_cases[] = {
	KUNIT_CASE_PARAM(free_waits_for_its_stream, kind_gen_params),
	KUNIT_CASE(capture_keeps_what_it_used),
	KUNIT_CASE(dead_space_keeps_its_groups),
	{}
};

static const struct kunit_suite cuda_group_suite = {
	.name = "cuda_group",
	.init = cuda_space_init,
	.exit = cuda_space_exit,
	.cases = cuda_group_cases,
};
kunit_test_suite(cuda_group_suite);
