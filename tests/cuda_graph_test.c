// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_graph_test.c - graphs that are launched while everything else goes on,
 * on the model of the driver.
 *
 * What a graph has is nobody else's until it is released; launches.h has how
 * that shows. Captures as such are the business of cuda_capture_test.c.
 */
#include <errno.h>
#include <stdio.h>

#include "core/log.h"
#include "tests/launches.h"

#define LIMIT (128 * MIB)
#define ROUNDS 40u

static const CUstreamCaptureMode modes[] = {
	CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
	CU_STREAM_CAPTURE_MODE_RELAXED,
};

static void describe_mode(const CUstreamCaptureMode *mode, char *desc)
{
	static const char *const names[] = { "global", "thread", "relaxed" };

	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", names[*mode]);
}
KUNIT_ARRAY_PARAM(mode, modes, describe_mode);

static void describe_kind(const struct cuda_kind_param *kind, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", kind->name);
}
KUNIT_ARRAY_PARAM(kind, cuda_kinds, describe_kind);

static const size_t sizes[] = { 256, 5000, 300000, 3 * MIB };

/* Some memory that it frees, and some that stays live: @live. */
static void capture_some(struct replay *g, void **live)
{
	void *p[ARRAY_SIZE(sizes)];

	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++)
		p[i] = replay_get(g, sizes[i]);
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++)
		replay_give(g, p[i]);
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++)
		live[i] = replay_get(g, sizes[i]);
}

static void free_all(struct launches *l, void **live)
{
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++)
		EXPECT_FREED(l->s.test, l->s.sd, live[i]);
}

/* Launched in any stream; whatever others do meanwhile. */
static void launch_beside_others(struct launches *l, struct replay *g)
{
	for (u32 i = 0; i < ROUNDS; i++) {
		replay_launch(g, i % 3 ? g->stream : l->s.bound);
		disturb(l, i);
		replay_launch(g, l->s.lane[i % NR_LANES]);
	}
	MUST(l->s.test, cuCtxSynchronize());
	expect_no_stranger(l->s.test);
}

static void launch_in_mode(struct kunit *test,
			   const struct cuda_kind_param *kind,
			   CUstreamCaptureMode mode)
{
	void *live[ARRAY_SIZE(sizes)];
	struct launches l;
	struct replay g;

	launches_open(&l, test, kind, LIMIT);
	replay_begin(&g, &l, l.s.lane[0], mode, true);
	capture_some(&g, live);
	replay_end(&g);
	launch_beside_others(&l, &g);
	free_all(&l, live);
	KUNIT_EXPECT_GT(test, sums(&l.s).held, 3 * MIB);
	launch_beside_others(&l, &g);
	replay_release(&g);
	KUNIT_EXPECT_EQ(test, sums(&l.s).held, 0);
	launches_close(&l);
}

static void launches_share_no_byte(struct kunit *test)
{
	const CUstreamCaptureMode *mode = test->param_value;

	launch_in_mode(test, NULL, *mode);
}

static void launches_on_any_memory(struct kunit *test)
{
	launch_in_mode(test, test->param_value,
		       CU_STREAM_CAPTURE_MODE_GLOBAL);
}

/* A launch stands in the middle of its graph while others have the device. */
static void launch_that_stands_still(struct kunit *test)
{
	void *live[ARRAY_SIZE(sizes)];
	struct launches l;
	struct replay g;

	launches_open(&l, test, NULL, LIMIT);
	replay_begin(&g, &l, l.s.lane[0],
		      CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, true);
	capture_some(&g, live);
	replay_end(&g);
	free_all(&l, live);
	hold(&l.s, l.s.lane[2]);
	replay_launch(&g, l.s.lane[2]);
	for (u32 i = 0; i < ROUNDS; i++)
		pass_by(&l, i % 3 ? l.s.lane[i % 2] : NULL);
	let_go(&l.s, l.s.lane[2]);
	run_through(&l.s, l.s.lane[2]);
	replay_release(&g);
	launches_close(&l);
}

/* ---- What the graph has of others ----------------------------------- */

/* Memory from before: used in the capture, or freed in it. */
static void memory_from_before(struct kunit *test)
{
	struct launches l;
	struct replay g;
	void *used, *freed;

	launches_open(&l, test, NULL, LIMIT);
	used = get_on(&l.s, 5000, l.s.lane[0]);
	freed = get_on(&l.s, 3 * MIB, l.s.lane[0]);
	replay_begin(&g, &l, l.s.lane[0], CU_STREAM_CAPTURE_MODE_GLOBAL,
		      true);
	replay_use(&g, used, 5000, g.stream);
	replay_use(&g, freed, 3 * MIB, g.stream);
	KUNIT_EXPECT_EQ(test, slabdev_use(l.s.sd, used, g.stream), 0);
	replay_give(&g, freed);
	replay_end(&g);
	launch_beside_others(&l, &g);
	give_on(&l.s, used, l.s.lane[1]);
	launch_beside_others(&l, &g);
	replay_release(&g);
	launches_close(&l);
}

/* The last that has an object keeps it. */
static void graphs_that_share_an_object(struct kunit *test)
{
	struct replay g[3];
	struct launches l;
	void *p;

	launches_open(&l, test, NULL, LIMIT);
	p = get_on(&l.s, 5000, l.s.lane[0]);
	for (u32 i = 0; i < ARRAY_SIZE(g); i++) {
		replay_begin(&g[i], &l, l.s.lane[0],
			      CU_STREAM_CAPTURE_MODE_GLOBAL, true);
		g[i].owner = g[0].owner;
		replay_use(&g[i], p, 5000, g[i].stream);
		KUNIT_EXPECT_EQ(test, slabdev_use(l.s.sd, p, g[i].stream), 0);
		replay_end(&g[i]);
	}
	EXPECT_FREED(test, l.s.sd, p);
	for (u32 i = 0; i < ARRAY_SIZE(g); i++) {
		/* The one in the middle comes last. */
		struct replay *next = &g[2 * i % ARRAY_SIZE(g)];

		launch_beside_others(&l, next);
		replay_release(next);
		KUNIT_EXPECT_EQ(test, sums(&l.s).held > 0, i < 2);
	}
	launches_close(&l);
}

/* Nor does a capture have it again that only one of them makes. */
static void capture_takes_only_its_own(struct kunit *test)
{
	struct replay g[2];
	struct launches l;
	void *p;

	launches_open(&l, test, NULL, LIMIT);
	p = get_on(&l.s, 5000, l.s.lane[0]);
	for (u32 i = 0; i < ARRAY_SIZE(g); i++) {
		replay_begin(&g[i], &l, l.s.lane[0],
			     CU_STREAM_CAPTURE_MODE_GLOBAL, true);
		g[i].owner = g[0].owner;
		replay_use(&g[i], p, 5000, g[i].stream);
		KUNIT_EXPECT_EQ(test, slabdev_use(l.s.sd, p, g[i].stream), 0);
		if (!i)
			replay_end(&g[i]);
	}
	replay_give(&g[1], p);
	g[1].owner = new_owner(&l);
	for (u32 i = 0; i < 8; i++)
		KUNIT_EXPECT_PTR_NE(test, replay_get(&g[1], 5000), p);
	g[1].n = 0;
	replay_end(&g[1]);
	replay_launch(&g[0], l.s.lane[0]);
	run_through(&l.s, l.s.lane[0]);
	replay_release(&g[0]);
	replay_release(&g[1]);
	KUNIT_EXPECT_EQ(test, slabdev_close(l.s.sd, SLABDEV_CLOSE_FORCE), 0);
	MUST(test, cuModuleUnload(l.module));
	stream_space_end(&l.s);
}

static void order_behind(struct launches *l, CUstream before, CUstream after)
{
	CUevent event = new_event(l->s.test);

	MUST(l->s.test, cuEventRecord(event, before));
	MUST(l->s.test, cuStreamWaitEvent(after, event, 0));
	MUST(l->s.test, cuEventDestroy(event));
}

/* A capture that spreads over two streams, both of which allocate. */
static void capture_of_two_streams(struct kunit *test)
{
	struct slabdev_graph *more = NULL;
	struct launches l;
	struct replay g;
	CUstream side;
	void *p, *q;

	launches_open(&l, test, NULL, LIMIT);
	side = l.s.lane[1];
	KUNIT_ASSERT_EQ(test, slabdev_capture_begin(l.s.sd, side, &more), 0);
	replay_begin(&g, &l, l.s.lane[0], CU_STREAM_CAPTURE_MODE_GLOBAL,
		      true);
	p = replay_get(&g, 5000);
	order_behind(&l, g.stream, side);
	q = slabdev_alloc_async(l.s.sd, 5000, side);
	KUNIT_ASSERT_NOT_NULL(test, q);
	replay_use(&g, q, 5000, side);
	replay_use(&g, p, 5000, side);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(l.s.sd, q, side), 0);
	order_behind(&l, side, g.stream);
	replay_give(&g, p);
	replay_end(&g);
	KUNIT_EXPECT_EQ(test, slabdev_capture_end(more), 0);
	launch_beside_others(&l, &g);
	KUNIT_EXPECT_EQ(test, slabdev_graph_release(more), 0);
	replay_release(&g);
	launches_close(&l);
}

/* Several at a time, each launched by itself. */
static void many_graphs(struct kunit *test)
{
	struct replay g[12];
	struct launches l;

	launches_open(&l, test, NULL, LIMIT);
	for (u32 i = 0; i < ARRAY_SIZE(g); i++) {
		replay_begin(&g[i], &l, l.s.lane[i % NR_LANES],
			      modes[i % ARRAY_SIZE(modes)], true);
		for (u32 k = 0; k < 4; k++)
			replay_give(&g[i], replay_get(&g[i], sizes[k % 3]));
		replay_end(&g[i]);
		for (u32 k = 0; k <= i; k++)
			replay_launch(&g[k], l.s.lane[k % 2]);
		disturb(&l, i);
	}
	for (u32 i = ARRAY_SIZE(g); i-- > 0;) {
		MUST(test, cuCtxSynchronize());
		replay_release(&g[i]);
		for (u32 k = 0; k < i; k++)
			replay_launch(&g[k], l.s.lane[k % 2]);
		disturb(&l, i);
	}
	launches_close(&l);
}

/* ---- Releases ------------------------------------------------------- */

static bool finds_again(struct launches *l, const void *wanted, size_t size)
{
	static void *p[4096];
	u32 most = (u32)min((u64)ARRAY_SIZE(p), 400 * MIB / size), n = 0;
	bool found = false;

	while (n < most && !found) {
		p[n] = must_alloc(l->s.test, l->s.sd, size);
		found = p[n++] == wanted;
	}
	while (n)
		EXPECT_FREED(l->s.test, l->s.sd, p[--n]);
	return found;
}

/* After the release it is memory like any other, and only then. */
static void released_memory_is_given_out(struct kunit *test)
{
	void *p[ARRAY_SIZE(sizes)];
	struct launches l;
	struct replay g;

	launches_open(&l, test, NULL, 1024 * MIB);
	replay_begin(&g, &l, l.s.lane[0], CU_STREAM_CAPTURE_MODE_GLOBAL,
		      true);
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++)
		p[i] = replay_get(&g, sizes[i]);
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++)
		replay_give(&g, p[i]);
	replay_end(&g);
	replay_launch(&g, g.stream);
	run_through(&l.s, g.stream);
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++)
		KUNIT_EXPECT_FALSE(test, finds_again(&l, p[i], sizes[i]));
	replay_release(&g);
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++)
		KUNIT_EXPECT_TRUE(test, finds_again(&l, p[i], sizes[i]));
	launches_close(&l);
}

/* The driver's graph is gone, the library was not told: the memory stays. */
static void destroyed_without_release(struct kunit *test)
{
	struct launches l;
	struct replay g;
	void *p;

	launches_open(&l, test, NULL, LIMIT);
	replay_begin(&g, &l, l.s.lane[0], CU_STREAM_CAPTURE_MODE_GLOBAL,
		      true);
	p = replay_get(&g, 5000);
	replay_give(&g, p);
	replay_end(&g);
	replay_launch(&g, g.stream);
	replay_destroy(&g);
	MUST(test, cuCtxSynchronize());
	KUNIT_EXPECT_EQ(test, slabdev_trim(l.s.sd, 0), 0);
	KUNIT_EXPECT_GT(test, sums(&l.s).held, 0);
	KUNIT_EXPECT_EQ(test, slabdev_close(l.s.sd, 0), -EBUSY);
	EXPECT_LAST_ERROR_HAS(test, "graph");
	KUNIT_EXPECT_FALSE(test, finds_again(&l, p, 5000));
	KUNIT_EXPECT_EQ(test, slabdev_graph_release(g.memory), 0);
	launches_close(&l);
}

/* Released while a launch runs, which is the caller's mistake: the kernels of
 * this suite see it.
 */
static void released_under_a_launch(struct kunit *test)
{
	struct launches l;
	struct replay g;

	launches_open(&l, test, NULL, LIMIT);
	replay_begin(&g, &l, l.s.lane[0], CU_STREAM_CAPTURE_MODE_GLOBAL,
		      true);
	replay_give(&g, replay_get(&g, 5000));
	replay_end(&g);
	hold(&l.s, g.stream);
	replay_launch(&g, g.stream);
	replay_release(&g);
	for (u32 i = 0; i < 40; i++)
		pass_by(&l, l.s.lane[1]);
	run_through(&l.s, l.s.lane[1]);
	let_go(&l.s, g.stream);
	run_through(&l.s, g.stream);
	KUNIT_EXPECT_GT(test, strangers(), 0);
	forget_strangers();
	launches_close(&l);
}

/* The same, and the memory is unmapped: the driver has it fault. */
static void unmapped_under_a_launch(struct kunit *test)
{
	struct launches l;
	struct replay g;

	launches_open(&l, test, NULL, LIMIT);
	replay_begin(&g, &l, l.s.lane[0], CU_STREAM_CAPTURE_MODE_GLOBAL,
		      true);
	replay_give(&g, replay_get(&g, 3 * MIB));
	replay_end(&g);
	hold(&l.s, g.stream);
	replay_launch(&g, g.stream);
	KUNIT_EXPECT_EQ(test, slabdev_trim(l.s.sd, 0), 0);
	EXPECT_NO_VIOLATION(test);
	replay_release(&g);
	KUNIT_EXPECT_EQ(test, slabdev_trim(l.s.sd, 0), 0);
	KUNIT_EXPECT_GT(test, cu.model_violations(), 0);
	KUNIT_EXPECT_TRUE(test, strstr(cu.model_last_violation(),
				       "in flight"));
	let_go(&l.s, g.stream);
	EXPECT_CU(test, cuStreamSynchronize(g.stream), 700);
	/* The device has failed: nothing can be given back. */
	test->priv = NULL;
}

/* ---- Threads -------------------------------------------------------- */

/* Other threads are at work while streams capture and graphs run. */
static void beside_threads(struct kunit *test)
{
	const CUstreamCaptureMode *mode = test->param_value;

	graphs_beside_threads(test, *mode);
}

/* Each captures, and launches, and allocates. */
static void every_thread_captures(struct kunit *test)
{
	graphs_of_every_thread(test);
}

/* ---- Forks, and captures that were not declared --------------------- */

static struct slabdev_graph *parents_graph;

static void release_in_child(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, slabdev_graph_release(parents_graph),
			-EOWNERDEAD);
	EXPECT_LAST_ERROR_HAS(test, "fork");
	KUNIT_EXPECT_EQ(test, cu.model_violations(), 0);
}

static void end_in_child(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, slabdev_capture_end(parents_graph),
			-EOWNERDEAD);
	KUNIT_EXPECT_EQ(test, cu.model_violations(), 0);
}

/* The child has none of it; the parent goes on. */
static void forked(struct kunit *test)
{
	struct launches l;
	struct replay g;

	launches_open(&l, test, NULL, LIMIT);
	replay_begin(&g, &l, l.s.lane[0], CU_STREAM_CAPTURE_MODE_GLOBAL,
		      true);
	parents_graph = g.memory;
	replay_give(&g, replay_get(&g, 5000));
	KUNIT_EXPECT_EQ(test, in_fork(test, end_in_child), 0);
	replay_end(&g);
	replay_launch(&g, g.stream);
	MUST(test, cuCtxSynchronize());
	KUNIT_EXPECT_EQ(test, in_fork(test, release_in_child), 0);
	launch_beside_others(&l, &g);
	replay_release(&g);
	launches_close(&l);
}

/* What is freed in a capture that nobody declared is nobody's, until the space
 * is closed.
 */
static void undeclared(struct kunit *test)
{
	const CUstreamCaptureMode *mode = test->param_value;
	struct launches l;
	struct replay g;
	void *p, *q;

	launches_open(&l, test, NULL, LIMIT);
	p = get_on(&l.s, 5000, l.s.lane[0]);
	q = get_on(&l.s, 3 * MIB, l.s.lane[0]);
	kunit_expect_report(test, REPORT_CAPTURE);
	replay_begin(&g, &l, l.s.lane[0], *mode, false);
	replay_use(&g, p, 5000, g.stream);
	replay_use(&g, q, 3 * MIB, g.stream);
	replay_give(&g, p);
	replay_give(&g, q);
	replay_end(&g);
	launch_beside_others(&l, &g);
	replay_destroy(&g);
	MUST(test, cuModuleUnload(l.module));
	KUNIT_EXPECT_EQ(test, slabdev_close(l.s.sd, 0), 0);
	expect_no_stranger(test);
	stream_space_end(&l.s);
}

/* ---- Random programs ------------------------------------------------ */

static void random_programs(struct kunit *test)
{
	graph_random(test, 30000);
}

static void long_random_programs(struct kunit *test)
{
	graph_random(test, 1000000);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(launches_share_no_byte, mode_gen_params),
	KUNIT_CASE_PARAM(launches_on_any_memory, kind_gen_params),
	KUNIT_CASE(launch_that_stands_still),
	KUNIT_CASE(memory_from_before),
	KUNIT_CASE(graphs_that_share_an_object),
	KUNIT_CASE(capture_takes_only_its_own),
	KUNIT_CASE(capture_of_two_streams),
	KUNIT_CASE(many_graphs),
	KUNIT_CASE(released_memory_is_given_out),
	KUNIT_CASE(destroyed_without_release),
	KUNIT_CASE(released_under_a_launch),
	KUNIT_CASE_ISOLATED(unmapped_under_a_launch),
	KUNIT_CASE_PARAM(beside_threads, mode_gen_params),
	KUNIT_CASE(every_thread_captures),
	KUNIT_CASE(forked),
	KUNIT_CASE_PARAM(undeclared, mode_gen_params),
	KUNIT_CASE(random_programs),
	KUNIT_CASE_LONG(long_random_programs, .timeout_s = 600),
	{ 0 }
};

static const struct kunit_suite cuda_graph_suite = {
	.name = "cuda_graph",
	.init = cuda_space_init,
	.exit = cuda_space_exit,
	.cases = cases,
};
kunit_test_suite(cuda_graph_suite);
