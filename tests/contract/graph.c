// SPDX-License-Identifier: BSD-2-Clause
/*
 * graph.c - statements about graphs: what is captured, and launches.
 *
 * A case that shows that work waits lets a later stream read the memory, and
 * waits for that one: the model would have run what does not wait by then.
 */
#include "tests/contract/driver.h"

#define MODE CU_STREAM_CAPTURE_MODE_RELAXED

/* Two streams, memory that begins as 1, and what a capture made. */
struct stage {
	struct kunit *test;
	CUstream s, other, reader;
	struct area area;
	uint32_t *read;		/* pinned */
	CUgraph graph;
	CUgraphExec exec;
};

static struct stage stage_open(struct kunit *test)
{
	struct stage t = { .test = test };

	if (!cu.cuGraphInstantiateWithFlags)
		kunit_skip(test, "the driver is older than 11.4");
	t.s = new_stream(test, CU_STREAM_NON_BLOCKING);
	t.other = new_stream(test, CU_STREAM_NON_BLOCKING);
	t.reader = new_stream(test, CU_STREAM_NON_BLOCKING);
	MUST(test, cuMemHostAlloc((void **)&t.read, 64, 0));
	t.area = area_open(test, bench_of(test)->g);
	put_u32(test, t.area.ptr, 1);
	return t;
}

static void stage_close(struct stage *t)
{
	if (t->exec)
		EXPECT_CU(t->test, cuGraphExecDestroy(t->exec), 0);
	if (t->graph)
		EXPECT_CU(t->test, cuGraphDestroy(t->graph), 0);
	end_stream(t->test, t->s);
	end_stream(t->test, t->other);
	end_stream(t->test, t->reader);
	EXPECT_CU(t->test, cuMemFreeHost(t->read), 0);
	area_close(t->test, &t->area);
}

static void begin(struct stage *t)
{
	MUST(t->test, cuStreamBeginCapture(t->s, MODE));
}

static void end(struct stage *t)
{
	MUST(t->test, cuStreamEndCapture(t->s, &t->graph));
	MUST(t->test, cuGraphInstantiateWithFlags(&t->exec, t->graph, 0));
}

static void fill(struct stage *t, uint32_t value, CUstream stream)
{
	MUST(t->test, cuMemsetD32Async(t->area.ptr, value, 1, stream));
}

/* A graph that stores @value. */
static void capture_fill(struct stage *t, uint32_t value)
{
	begin(t);
	fill(t, value, t->s);
	end(t);
}

static void launch(struct stage *t, CUstream stream)
{
	EXPECT_CU(t->test, cuGraphLaunch(t->exec, stream), 0);
}

/* What a stream reads that waits for nobody. */
static uint32_t peek(struct stage *t)
{
	MUST(t->test, cuMemcpyDtoHAsync(t->read, t->area.ptr, 4, t->reader));
	EXPECT_CU(t->test, cuStreamSynchronize(t->reader), 0);
	return *t->read;
}

/* What is there once the stream is done. */
static uint32_t final(struct stage *t, CUstream stream)
{
	EXPECT_CU(t->test, cuStreamSynchronize(stream), 0);
	return peek(t);
}

/* The work of @after comes behind what @before has. */
static void order(struct stage *t, CUstream before, CUstream after)
{
	CUevent event = new_event(t->test);

	MUST(t->test, cuEventRecord(event, before));
	EXPECT_CU(t->test, cuStreamWaitEvent(after, event, 0), 0);
	EXPECT_CU(t->test, cuEventDestroy(event), 0);
}

/* ---- Launching ------------------------------------------------------ */

/* What a stream captures does not run. */
static void c215_captured_does_not_run(struct kunit *test)
{
	struct stage t = stage_open(test);

	begin(&t);
	fill(&t, 215, t.s);
	KUNIT_EXPECT_EQ(test, peek(&t), 1);
	end(&t);
	KUNIT_EXPECT_EQ(test, final(&t, t.s), 1);
	stage_close(&t);
}

/* It runs with each launch. */
static void c216_each_launch_runs(struct kunit *test)
{
	struct stage t = stage_open(test);

	capture_fill(&t, 216);
	for (uint32_t i = 0; i < 3; i++) {
		put_u32(test, t.area.ptr, i);
		launch(&t, t.s);
		KUNIT_EXPECT_EQ(test, final(&t, t.s), 216);
	}
	stage_close(&t);
}

/* A launch waits for what is in its stream. */
static void c217_behind_the_stream(struct kunit *test)
{
	struct stage t = stage_open(test);
	struct gate *gate;

	capture_fill(&t, 217);
	gate = gate_close(test, t.other);
	launch(&t, t.other);
	KUNIT_EXPECT_EQ(test, peek(&t), 1);
	gate_open(gate);
	KUNIT_EXPECT_EQ(test, final(&t, t.other), 217);
	stage_close(&t);
}

/* What is put into the stream then waits for all of the launch. */
static void c218_stream_behind_launch(struct kunit *test)
{
	struct stage t = stage_open(test);
	struct gate *gate;

	begin(&t);
	gate = gate_close(test, t.s);
	fill(&t, 1, t.s);
	end(&t);
	launch(&t, t.other);
	fill(&t, 218, t.other);
	gate_await(gate);
	KUNIT_EXPECT_EQ(test, peek(&t), 1);
	EXPECT_CU(test, cuStreamQuery(t.other), 600);
	gate_open(gate);
	KUNIT_EXPECT_EQ(test, final(&t, t.other), 218);
	stage_close(&t);
}

/* A launch waits for the one before of the same executable graph. */
static void c219_behind_last_launch(struct kunit *test)
{
	struct stage t = stage_open(test);
	struct gate *gate;

	capture_fill(&t, 219);
	gate = gate_close(test, t.s);
	launch(&t, t.s);
	launch(&t, t.other);
	KUNIT_EXPECT_EQ(test, peek(&t), 1);
	EXPECT_CU(test, cuStreamQuery(t.other), 600);
	gate_open(gate);
	KUNIT_EXPECT_EQ(test, final(&t, t.other), 219);
	stage_close(&t);
}

/* Not for one of another that was made of the same graph. */
static void c220_beside_another(struct kunit *test)
{
	struct stage t = stage_open(test);
	CUgraphExec twin = NULL;
	struct gate *gate;

	capture_fill(&t, 220);
	MUST(test, cuGraphInstantiateWithFlags(&twin, t.graph, 0));
	gate = gate_close(test, t.s);
	launch(&t, t.s);
	EXPECT_CU(test, cuGraphLaunch(twin, t.other), 0);
	peek(&t);
	/* A device may take its time, and may not run two at once. */
	EXPECT_CU(test, cuStreamQuery(t.other), 0, 600);
	gate_open(gate);
	KUNIT_EXPECT_EQ(test, final(&t, t.other), 220);
	EXPECT_CU(test, cuGraphExecDestroy(twin), 0);
	stage_close(&t);
}

/* ---- Several streams ------------------------------------------------ */

/* A stream that waits for an event of the capture is in it; the order is that
 * of the event.
 */
static void c221_fork_and_join(struct kunit *test)
{
	struct stage t = stage_open(test);
	struct gate *gate;

	begin(&t);
	gate = gate_close(test, t.s);
	order(&t, t.s, t.other);
	fill(&t, 221, t.other);
	order(&t, t.other, t.s);
	end(&t);
	launch(&t, t.s);
	gate_await(gate);
	KUNIT_EXPECT_EQ(test, peek(&t), 1);
	gate_open(gate);
	KUNIT_EXPECT_EQ(test, final(&t, t.s), 221);
	stage_close(&t);
}

/* One that does not come back makes the end of the capture fail. */
static void c222_unjoined(struct kunit *test)
{
	struct stage t = stage_open(test);

	begin(&t);
	order(&t, t.s, t.other);
	fill(&t, 222, t.other);
	EXPECT_CU(test, cuStreamEndCapture(t.s, &t.graph), 904);
	KUNIT_EXPECT_EQ(test, peek(&t), 1);
	stage_close(&t);
}

/* A capture cannot wait for what is not captured. */
static void c223_event_from_outside(struct kunit *test)
{
	struct stage t = stage_open(test);
	CUevent event = new_event(test);
	CUgraph graph = NULL;

	bench_of(test)->expects_violation = true;
	MUST(test, cuEventRecord(event, t.other));
	begin(&t);
	EXPECT_CU(test, cuStreamWaitEvent(t.s, event, 0), 905);
	KUNIT_EXPECT_NE(test, cu.cuStreamEndCapture(t.s, &graph),
			CUDA_SUCCESS);
	EXPECT_CU(test, cuEventDestroy(event), 0);
	stage_close(&t);
}

/* Nor for what another capture has. */
static void c224_two_captures(struct kunit *test)
{
	struct stage t = stage_open(test);
	CUevent event = new_event(test);
	CUgraph graph = NULL;

	bench_of(test)->expects_violation = true;
	begin(&t);
	MUST(test, cuStreamBeginCapture(t.other, MODE));
	MUST(test, cuEventRecord(event, t.other));
	EXPECT_CU(test, cuStreamWaitEvent(t.s, event, 0), 902);
	/* Which of the two is broken then is open. */
	cu.cuStreamEndCapture(t.s, &t.graph);
	cu.cuStreamEndCapture(t.other, &graph);
	if (graph)
		cu.cuGraphDestroy(graph);
	EXPECT_CU(test, cuEventDestroy(event), 0);
	stage_close(&t);
}

/* ---- Lives ---------------------------------------------------------- */

/* An executable graph that runs can be destroyed; the launch goes on. */
static void c225_destroyed_in_flight(struct kunit *test)
{
	struct stage t = stage_open(test);
	struct gate *gate;

	capture_fill(&t, 225);
	gate = gate_close(test, t.s);
	launch(&t, t.s);
	EXPECT_CU(test, cuGraphExecDestroy(t.exec), 0);
	t.exec = NULL;
	gate_open(gate);
	KUNIT_EXPECT_EQ(test, final(&t, t.s), 225);
	stage_close(&t);
}

/* The graph that it was made of may be gone. */
static void c226_graph_destroyed(struct kunit *test)
{
	struct stage t = stage_open(test);

	capture_fill(&t, 226);
	EXPECT_CU(test, cuGraphDestroy(t.graph), 0);
	t.graph = NULL;
	launch(&t, t.s);
	KUNIT_EXPECT_EQ(test, final(&t, t.s), 226);
	stage_close(&t);
}

/* Flags of instantiation that do not exist are INVALID_VALUE. */
static void c227_flags(struct kunit *test)
{
	struct stage t = stage_open(test);
	CUgraphExec exec = NULL;

	capture_fill(&t, 227);
	EXPECT_CU(test, cuGraphInstantiateWithFlags(&exec, t.graph, 1u << 20),
		  1);
	stage_close(&t);
}

/* The stream that was captured is not needed for launches. */
static void c232_stream_destroyed(struct kunit *test)
{
	struct stage t = stage_open(test);

	capture_fill(&t, 232);
	end_stream(test, t.s);
	t.s = new_stream(test, CU_STREAM_DEFAULT);
	launch(&t, t.s);
	launch(&t, CU_STREAM_LEGACY);
	EXPECT_CU(test, cuStreamSynchronize(CU_STREAM_LEGACY), 0);
	KUNIT_EXPECT_EQ(test, peek(&t), 232);
	stage_close(&t);
}

/* ---- What is captured of an operation ------------------------------- */

/* The parameters of a kernel are those of the call. */
static void c228_parameters(struct kunit *test)
{
	struct stage t = stage_open(test);
	struct kernel k = kernel_load(test);
	uint32_t value = 228;
	void *params[] = { &t.area.ptr, &value };

	begin(&t);
	MUST(test, cuLaunchKernel(k.store, 1, 1, 1, 1, 1, 1, 0, t.s, params,
				  NULL));
	value = 7;
	end(&t);
	launch(&t, t.s);
	KUNIT_EXPECT_EQ(test, final(&t, t.s), 228);
	stage_close(&t);
	kernel_unload(test, &k);
}

/* A copy from pinned memory reads it with each launch. */
static void c229_host_memory(struct kunit *test)
{
	struct stage t = stage_open(test);
	uint32_t *from = NULL;

	MUST(test, cuMemHostAlloc((void **)&from, 64, 0));
	*from = 7;
	begin(&t);
	MUST(test, cuMemcpyHtoDAsync(t.area.ptr, from, 4, t.s));
	end(&t);
	for (uint32_t i = 0; i < 2; i++) {
		*from = 229 + i;
		launch(&t, t.s);
		KUNIT_EXPECT_EQ(test, final(&t, t.s), 229 + i);
	}
	stage_close(&t);
	EXPECT_CU(test, cuMemFreeHost(from), 0);
}

/* Memory that is unmapped by then makes a launch fault. */
static void c230_unmapped(struct kunit *test)
{
	struct stage t = stage_open(test);

	capture_fill(&t, 230);
	area_close(test, &t.area);
	EXPECT_CU(test, cuGraphLaunch(t.exec, t.s), 0);
	EXPECT_CU(test, cuStreamSynchronize(t.s), 700);
	/* Nothing can be given back to a device that has failed. */
	test->priv = NULL;
}

static void count(void *arg)
{
	uint32_t *counter = arg;

	++*counter;
}

/* A host function is called with each launch. */
static void c231_host_function(struct kunit *test)
{
	struct stage t = stage_open(test);
	uint32_t counter = 0;

	begin(&t);
	MUST(test, cuLaunchHostFunc(t.s, count, &counter));
	end(&t);
	EXPECT_CU(test, cuStreamSynchronize(t.s), 0);
	KUNIT_EXPECT_EQ(test, counter, 0);
	for (uint32_t i = 0; i < 3; i++)
		launch(&t, t.s);
	EXPECT_CU(test, cuStreamSynchronize(t.s), 0);
	KUNIT_EXPECT_EQ(test, counter, 3);
	stage_close(&t);
}

/* ---- Open on a GPU -------------------------------------------------- */

/* No stream waits for an event that was last recorded in a capture, when that
 * has ended.
 */
static void c233_event_of_ended_capture(struct kunit *test)
{
	struct stage t = stage_open(test);
	CUevent event = new_event(test);

	model_only(test);
	begin(&t);
	MUST(test, cuEventRecord(event, t.s));
	end(&t);
	EXPECT_CU(test, cuStreamWaitEvent(t.other, event, 0), 907);
	EXPECT_CU(test, cuEventDestroy(event), 0);
	stage_close(&t);
}

/* Instantiation counts as unsafe in a capture. */
static void c234_instantiated_in_capture(struct kunit *test)
{
	struct stage t = stage_open(test);
	CUgraphExec exec = NULL;
	CUgraph graph = NULL;

	model_only(test);
	bench_of(test)->expects_violation = true;
	capture_fill(&t, 234);
	MUST(test, cuStreamBeginCapture(t.other,
					CU_STREAM_CAPTURE_MODE_GLOBAL));
	EXPECT_CU(test, cuGraphInstantiateWithFlags(&exec, t.graph, 0), 900);
	EXPECT_CU(test, cuStreamEndCapture(t.other, &graph), 901);
	stage_close(&t);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(c215_captured_does_not_run),
	KUNIT_CASE(c216_each_launch_runs),
	KUNIT_CASE(c217_behind_the_stream),
	KUNIT_CASE(c218_stream_behind_launch),
	KUNIT_CASE(c219_behind_last_launch),
	KUNIT_CASE(c220_beside_another),
	KUNIT_CASE(c221_fork_and_join),
	KUNIT_CASE(c222_unjoined),
	KUNIT_CASE(c223_event_from_outside),
	KUNIT_CASE(c224_two_captures),
	KUNIT_CASE(c225_destroyed_in_flight),
	KUNIT_CASE(c226_graph_destroyed),
	KUNIT_CASE(c227_flags),
	KUNIT_CASE(c228_parameters),
	KUNIT_CASE(c229_host_memory),
	KUNIT_CASE_ISOLATED(c230_unmapped),
	KUNIT_CASE(c231_host_function),
	KUNIT_CASE(c232_stream_destroyed),
	KUNIT_CASE(c233_event_of_ended_capture),
	KUNIT_CASE(c234_instantiated_in_capture),
	{ 0 }
};

static const struct kunit_suite suite = {
	.name = "contract_graph",
	.init = vmm_bench_init,
	.exit = bench_exit,
	.cases = cases,
};
kunit_test_suite(suite);
