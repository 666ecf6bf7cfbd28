// SPDX-License-Identifier: BSD-2-Clause
/*
 * driver_graph_test.c - graphs of the model beyond the contract: what it
 * detects, what it aborts for, and what it refuses because it cannot do it.
 */
#include <signal.h>
#include <sys/wait.h>

#include "tests/contract/driver.h"

#define MODE CU_STREAM_CAPTURE_MODE_RELAXED
#define NR_NODES 3u

struct stage {
	struct kunit *test;
	CUstream stream;
	struct area area;
	CUgraph graph;
	CUgraphExec exec;
};

static struct stage stage_open(struct kunit *test)
{
	struct stage t = { .test = test };

	bench_open(test);
	t.stream = new_stream(test, CU_STREAM_NON_BLOCKING);
	t.area = area_open(test, bench_of(test)->g);
	return t;
}

static void destroy(struct stage *t)
{
	EXPECT_CU(t->test, cuGraphExecDestroy(t->exec), 0);
	EXPECT_CU(t->test, cuGraphDestroy(t->graph), 0);
}

static void stage_close(struct stage *t)
{
	destroy(t);
	end_stream(t->test, t->stream);
	area_close(t->test, &t->area);
	bench_close(t->test);
}

static void capture_end(struct stage *t)
{
	MUST(t->test, cuStreamEndCapture(t->stream, &t->graph));
	MUST(t->test, cuGraphInstantiateWithFlags(&t->exec, t->graph, 0));
}

/* Fills of one number each. */
static void capture(struct stage *t)
{
	MUST(t->test, cuStreamBeginCapture(t->stream, MODE));
	for (u32 i = 0; i < NR_NODES; i++)
		MUST(t->test, cuMemsetD32Async(t->area.ptr + 4 * i, i, 1,
					       t->stream));
	capture_end(t);
}

/* ---- Launches are work ---------------------------------------------- */

/* A launch is its nodes, and what is before and behind them. */
static void launch_is_pending(struct kunit *test)
{
	struct stage t = stage_open(test);

	capture(&t);
	KUNIT_EXPECT_EQ(test, cu.model_pending(), 0);
	KUNIT_ASSERT_EQ(test, cu.model_stream_hold(t.stream), 0);
	MUST(test, cuGraphLaunch(t.exec, t.stream));
	KUNIT_EXPECT_EQ(test, cu.model_pending(), NR_NODES + 2);
	KUNIT_ASSERT_EQ(test, cu.model_stream_release(t.stream), 0);
	EXPECT_CU(test, cuStreamSynchronize(t.stream), 0);
	KUNIT_EXPECT_EQ(test, cu.model_pending(), 0);
	KUNIT_EXPECT_EQ(test, get_u32(test, t.area.ptr + 8), 2);
	stage_close(&t);
}

static void hold_stream(void *arg)
{
	struct stage *t = arg;

	cu.model_stream_hold(t->stream);
}

/* Also by the host, in the middle. */
static void stream_is_held_between_nodes(struct kunit *test)
{
	struct stage t = stage_open(test);
	CUstream other = new_stream(test, CU_STREAM_NON_BLOCKING);

	put_u32(test, t.area.ptr, 1);
	put_u32(test, t.area.ptr + 4, 1);
	MUST(test, cuStreamBeginCapture(other, MODE));
	MUST(test, cuMemsetD32Async(t.area.ptr, 7, 1, other));
	MUST(test, cuLaunchHostFunc(other, hold_stream, &t));
	MUST(test, cuMemsetD32Async(t.area.ptr + 4, 8, 1, other));
	MUST(test, cuStreamEndCapture(other, &t.graph));
	MUST(test, cuGraphInstantiateWithFlags(&t.exec, t.graph, 0));
	MUST(test, cuGraphLaunch(t.exec, t.stream));
	cu.model_run();
	EXPECT_CU(test, cuStreamQuery(t.stream), 600);
	KUNIT_EXPECT_EQ(test, cu.model_pending(), 2);
	KUNIT_ASSERT_EQ(test, cu.model_stream_release(t.stream), 0);
	EXPECT_CU(test, cuStreamSynchronize(t.stream), 0);
	KUNIT_EXPECT_EQ(test, get_u32(test, t.area.ptr), 7);
	KUNIT_EXPECT_EQ(test, get_u32(test, t.area.ptr + 4), 8);
	end_stream(test, other);
	stage_close(&t);
}

/* Unmapping what a launch is going to use; captured, it is nobody's mistake. */
static void unmap_under_a_launch(struct kunit *test)
{
	struct stage t = stage_open(test);

	capture(&t);
	KUNIT_ASSERT_EQ(test, cu.model_stream_hold(t.stream), 0);
	MUST(test, cuGraphLaunch(t.exec, t.stream));
	EXPECT_CU(test, cuMemUnmap(t.area.ptr, t.area.size), 0);
	KUNIT_EXPECT_GT(test, cu.model_violations(), 0);
	KUNIT_EXPECT_NOT_NULL(test, strstr(cu.model_last_violation(),
					   "in flight"));
	KUNIT_ASSERT_EQ(test, cu.model_stream_release(t.stream), 0);
	EXPECT_CU(test, cuStreamSynchronize(t.stream), 700);
}

static void unmap_before_a_launch(struct kunit *test)
{
	struct stage t = stage_open(test);

	capture(&t);
	area_close(test, &t.area);
	KUNIT_EXPECT_EQ(test, cu.model_violations(), 0);
	destroy(&t);
	end_stream(test, t.stream);
	bench_close(test);
}

static void graphs_are_counted(struct kunit *test)
{
	struct model_leaks leaks;
	struct stage t = stage_open(test);

	capture(&t);
	cu.model_leaks(&leaks);
	KUNIT_EXPECT_EQ(test, leaks.graphs, 2);
	stage_close(&t);
	cu.model_leaks(&leaks);
	KUNIT_EXPECT_EQ(test, leaks.graphs, 0);
}

/* ---- What it cannot do ---------------------------------------------- */

static void what_is_not_modelled(struct kunit *test)
{
	struct stage t = stage_open(test);
	CUgraphExec exec = NULL;
	CUevent event = new_event(test);
	CUgraph graph = NULL;

	capture(&t);
	EXPECT_CU(test, cuGraphInstantiateWithFlags(&exec, t.graph,
			CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH), 801);
	MUST(test, cuStreamBeginCapture(t.stream, MODE));
	EXPECT_CU(test, cuGraphLaunch(t.exec, t.stream), 801);
	EXPECT_CU(test, cuStreamWaitEvent(t.stream, event,
					  CU_EVENT_WAIT_EXTERNAL), 801);
	EXPECT_CU(test, cuStreamEndCapture(t.stream, &graph), 0);
	EXPECT_CU(test, cuGraphDestroy(graph), 0);
	EXPECT_CU(test, cuEventDestroy(event), 0);
	stage_close(&t);
}

/* ---- What is undefined ---------------------------------------------- */

static void use_ended_exec(struct kunit *test)
{
	struct stage t = stage_open(test);

	capture(&t);
	EXPECT_CU(test, cuGraphExecDestroy(t.exec), 0);
	cu.cuGraphLaunch(t.exec, t.stream);
}

static void use_ended_graph(struct kunit *test)
{
	struct stage t = stage_open(test);

	capture(&t);
	EXPECT_CU(test, cuGraphDestroy(t.graph), 0);
	cu.cuGraphInstantiateWithFlags(&t.exec, t.graph, 0);
}

static void launch_ended_kernel(struct kunit *test)
{
	struct stage t = stage_open(test);
	struct kernel k = kernel_load(test);

	MUST(test, cuStreamBeginCapture(t.stream, MODE));
	KUNIT_ASSERT_EQ(test, kernel_store(&k, t.area.ptr, 1, t.stream),
			CUDA_SUCCESS);
	capture_end(&t);
	kernel_unload(test, &k);
	cu.cuGraphLaunch(t.exec, t.stream);
}

static void undefined_use_ends(struct kunit *test)
{
	static void (*const uses[])(struct kunit *test) = {
		use_ended_exec, use_ended_graph, launch_ended_kernel,
	};

	model_only(test);
	for (u32 i = 0; i < ARRAY_SIZE(uses); i++) {
		int status = in_fork(test, uses[i]);

		KUNIT_ASSERT_TRUE_MSG(test, WIFSIGNALED(status), "%u: %#x", i,
				      status);
		KUNIT_EXPECT_EQ(test, WTERMSIG(status), SIGABRT);
	}
}

static int model_loaded(struct kunit *test)
{
	model_only(test);
	return 0;
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_ISOLATED(launch_is_pending),
	KUNIT_CASE_ISOLATED(stream_is_held_between_nodes),
	KUNIT_CASE_ISOLATED(unmap_under_a_launch),
	KUNIT_CASE_ISOLATED(unmap_before_a_launch),
	KUNIT_CASE_ISOLATED(graphs_are_counted),
	KUNIT_CASE_ISOLATED(what_is_not_modelled),
	KUNIT_CASE_ISOLATED(undefined_use_ends),
	{ 0 }
};

static const struct kunit_suite driver_graph_suite = {
	.name = "driver_graph",
	.init = model_loaded,
	.cases = cases,
};
kunit_test_suite(driver_graph_suite);
