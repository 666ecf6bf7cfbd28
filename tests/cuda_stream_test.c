// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_stream_test.c - memory in the order of CUDA streams, on the model.
 *
 * What stream.h promises of all streams is tested on host queues (stream_test);
 * here is what CUDA adds: the default streams, the bound stream, where fills
 * and copies run, failures of the driver, and which of its calls are made.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "core/log.h"
#include "core/os.h"
#include "tests/clock.h"
#include "tests/crew.h"
#include "tests/stream_space.h"

#define LIMIT (64 * MIB)
#define WAIT_NS (60ull * 1000000000)

static void describe_kind(const struct cuda_kind_param *kind, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", kind->name);
}
KUNIT_ARRAY_PARAM(kind, cuda_kinds, describe_kind);

static void begin(struct stream_space *s, struct kunit *test)
{
	stream_space_open(s, test, test->param_value, LIMIT,
			  SLABDEV_ORDER_STREAM);
}

/* ---- Reuse ----------------------------------------------------------- */

static const size_t sizes[] = { 1, 256, 5000, 300000, 3 * MIB, 20 * MIB };

/* What a held stream has freed: itself has it again, nobody else has. */
static void only_the_stream_itself(struct kunit *test)
{
	struct stream_space s;
	void *p, *q, *r;

	begin(&s, test);
	attach(&s, s.lane[0]);
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++) {
		hold(&s, s.lane[0]);
		p = get_on(&s, sizes[i], s.lane[0]);
		give_on(&s, p, s.lane[0]);
		q = get_on(&s, sizes[i], s.lane[1]);
		r = must_alloc(test, s.sd, sizes[i]);
		KUNIT_EXPECT_PTR_NE(test, q, p);
		KUNIT_EXPECT_PTR_NE(test, r, p);
		KUNIT_EXPECT_PTR_EQ(test, get_on(&s, sizes[i], s.lane[0]), p);
		give_on(&s, p, s.lane[0]);
		give_on(&s, q, s.lane[1]);
		EXPECT_FREED(test, s.sd, r);
		let_go(&s, s.lane[0]);
		MUST(test, cuCtxSynchronize());
		expect_sound(test, s.sd);
		KUNIT_EXPECT_EQ(test, slabdev_trim(s.sd, 0), 0);
	}
	detach(&s, s.lane[0]);
	stream_space_close(&s);
}

/* Work of the bound stream on what it freed is not met by another stream. */
static void after_the_bound_stream(struct kunit *test)
{
	struct stream_space s;
	void *p, *q;

	begin(&s, test);
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++) {
		hold(&s, s.bound);
		p = must_alloc(test, s.sd, sizes[i]);
		cuda_submit_fill(test, p, sizes[i], 0x33, s.bound);
		EXPECT_FREED(test, s.sd, p);
		q = get_on(&s, sizes[i], s.lane[0]);
		run_through(&s, s.lane[0]);
		let_go(&s, s.bound);
		run_through(&s, s.bound);
		KUNIT_EXPECT_EQ_MSG(test, cuda_byte(test, q), 0x11,
				    "%zu bytes", sizes[i]);
		give_on(&s, q, s.lane[0]);
		KUNIT_EXPECT_EQ(test, slabdev_trim(s.sd, 0), 0);
	}
	stream_space_close(&s);
}

static void steady_state_asks_for_nothing(struct kunit *test)
{
	struct stream_space s;
	struct slabdev_stats before, after;
	u64 calls;

	begin(&s, test);
	for (u32 i = 0; i < NR_LANES; i++) {
		attach(&s, s.lane[i]);
		give_on(&s, get_on(&s, 5000, s.lane[i]), s.lane[i]);
	}
	before = sums(&s);
	calls = cuda_management_calls();
	for (u32 i = 0; i < 3000; i++)
		give_on(&s, get_on(&s, 5000, s.lane[i % 3]), s.lane[i % 3]);
	after = sums(&s);
	KUNIT_EXPECT_EQ(test, cuda_management_calls(), calls);
	KUNIT_EXPECT_EQ(test, after.event_records, before.event_records);
	KUNIT_EXPECT_EQ(test, after.event_queries, before.event_queries);
	for (u32 i = 0; i < NR_LANES; i++)
		detach(&s, s.lane[i]);
	stream_space_close(&s);
}

/* ---- The limit ------------------------------------------------------- */

struct waiting {
	struct stream_space *s;
	void *p;
	u32 is_done;		/* atomic */
};

static void alloc_there(void *arg)
{
	struct waiting *w = arg;

	w->p = slabdev_alloc_async(w->s->sd, 40 * MIB, w->s->lane[1]);
	store_release(&w->is_done, 1);
}

/* The CPU waits for the other stream, and has its memory then. */
static void the_cpu_waits(struct kunit *test)
{
	struct stream_space s;
	struct waiting w = { .s = &s };
	struct crew *crew = crew_new(test, 1);
	u64 end = now_ns() + WAIT_NS;

	begin(&s, test);
	hold(&s, s.lane[0]);
	give_on(&s, get_on(&s, 40 * MIB, s.lane[0]), s.lane[0]);
	crew_start(crew, 0, alloc_there, &w);
	while (!stats_of(test, s.sd).host_waits && !load_acquire(&w.is_done) &&
	       now_ns() < end)
		os_yield();
	KUNIT_EXPECT_EQ(test, load_acquire(&w.is_done), 0);
	let_go(&s, s.lane[0]);
	crew_wait(crew, 0);
	KUNIT_EXPECT_NOT_NULL(test, w.p);
	KUNIT_EXPECT_GE(test, sums(&s).host_waits, 1);
	give_on(&s, w.p, s.lane[1]);
	stream_space_close(&s);
}

/* Where it may, the stream waits: it goes on behind the other one. */
static void the_stream_waits(struct kunit *test)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	struct stream_space s;
	void *p[LIMIT / MIB];
	u32 n, waited = 0;

	begin(&s, test);
	policy.flags = SLABDEV_POLICY_STREAM_WAITS;
	KUNIT_ASSERT_EQ(test, slabdev_set_policy(s.sd, &policy), 0);
	attach(&s, s.lane[0]);
	attach(&s, s.lane[1]);
	hold(&s, s.lane[0]);
	for (n = 0; n < 60; n++)
		p[n] = get_on(&s, MIB, s.lane[0]);
	while (n)
		give_on(&s, p[--n], s.lane[0]);
	for (n = 0; n < 40; n++) {
		p[n] = slabdev_alloc_async(s.sd, MIB, s.lane[1]);
		KUNIT_ASSERT_NOT_NULL(test, p[n]);
		cuda_submit_fill(test, p[n], MIB, 0x22, s.lane[1]);
	}
	waited = (u32)sums(&s).stream_waits;
	KUNIT_EXPECT_GT(test, waited, 0);
	KUNIT_EXPECT_EQ(test, sums(&s).host_waits, 0);
	EXPECT_CU(test, cuStreamQuery(s.lane[1]), CUDA_ERROR_NOT_READY);
	let_go(&s, s.lane[0]);
	run_through(&s, s.lane[1]);
	while (n) {
		KUNIT_EXPECT_EQ(test, cuda_byte(test, p[--n]), 0x22);
		give_on(&s, p[n], s.lane[1]);
	}
	detach(&s, s.lane[0]);
	detach(&s, s.lane[1]);
	stream_space_close(&s);
}

/* ---- Default streams ------------------------------------------------- */

static void default_streams(struct kunit *test)
{
	static const slabdev_stream_t streams[] = {
		NULL, SLABDEV_STREAM_LEGACY, SLABDEV_STREAM_PER_THREAD,
	};
	struct stream_space s;
	void *p[20];

	begin(&s, test);
	for (u32 k = 0; k < 2 * ARRAY_SIZE(streams); k++) {
		slabdev_stream_t stream = streams[k / 2];

		if (k % 2)
			attach(&s, stream);
		for (u32 i = 0; i < ARRAY_SIZE(p); i++)
			p[i] = get_on(&s, 5000, stream);
		for (u32 i = 0; i < ARRAY_SIZE(p); i++)
			give_on(&s, p[i], stream);
		(void)sums(&s);
		if (k % 2)
			detach(&s, stream);
	}
	stream_space_close(&s);
}

/* Threads begin without a context. */
static void use_own_stream(void *arg)
{
	struct stream_space *s = arg;
	void *p[40];

	MUST(s->test, cuCtxSetCurrent(bench_of(s->test)->ctx));
	for (u32 i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = get_on(s, 5000, SLABDEV_STREAM_PER_THREAD);
	for (u32 i = 0; i < ARRAY_SIZE(p); i++)
		give_on(s, p[i], SLABDEV_STREAM_PER_THREAD);
}

/* Threads with own streams, which end or idle, keep nothing for ever. */
static void threads_own_streams(struct kunit *test)
{
	struct stream_space s;
	struct crew *crew = crew_new(test, 30), *leaving = crew_new(test, 8);
	void *p;

	begin(&s, test);
	attach(&s, SLABDEV_STREAM_PER_THREAD);
	for (u32 i = 0; i < 30; i++)
		crew_do(crew, i, use_own_stream, &s);
	for (u32 i = 0; i < 8; i++)
		crew_do(leaving, i, use_own_stream, &s);
	crew_dismiss(leaving);
	(void)sums(&s);
	p = get_on(&s, LIMIT - 2 * MIB, s.lane[0]);
	give_on(&s, p, s.lane[0]);
	crew_dismiss(crew);
	detach(&s, SLABDEV_STREAM_PER_THREAD);
	stream_space_close(&s);
}

static void hold_own_stream(void *arg)
{
	struct stream_space *s = arg;

	MUST(s->test, cuCtxSetCurrent(bench_of(s->test)->ctx));
	hold(s, SLABDEV_STREAM_PER_THREAD);
}

static void let_own_stream_go(void *arg)
{
	let_go(arg, SLABDEV_STREAM_PER_THREAD);
}

/* An event in the thief's own stream would say nothing of the owner's. */
static void what_is_taken_from_own_streams(struct kunit *test)
{
	struct stream_space s;
	struct crew *crew = crew_new(test, 1);

	begin(&s, test);
	attach(&s, SLABDEV_STREAM_PER_THREAD);
	crew_do(crew, 0, hold_own_stream, &s);
	crew_do(crew, 0, use_own_stream, &s);
	detach(&s, SLABDEV_STREAM_PER_THREAD);
	KUNIT_EXPECT_EQ(test, slabdev_poll(s.sd), 0);
	KUNIT_EXPECT_GE(test, sums(&s).pending, 40 * 5000);
	crew_do(crew, 0, let_own_stream_go, &s);
	MUST(test, cuCtxSynchronize());
	KUNIT_EXPECT_EQ(test, slabdev_trim(s.sd, 0), 0);
	KUNIT_EXPECT_EQ(test, sums(&s).pending, 0);
	stream_space_close(&s);
}

/* The same of attached streams, which all do nothing any more. */
static void use_lanes(void *arg)
{
	struct stream_space *s = arg;
	void *p[8];

	MUST(s->test, cuCtxSetCurrent(bench_of(s->test)->ctx));
	for (u32 i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = get_on(s, 60000, s->lane[i % NR_LANES]);
	for (u32 i = 0; i < ARRAY_SIZE(p); i++)
		give_on(s, p[i], s->lane[i % NR_LANES]);
}

static void idle_threads_strand_nothing(struct kunit *test)
{
	struct stream_space s;
	struct crew *crew = crew_new(test, 30);
	void *p;

	begin(&s, test);
	for (u32 i = 0; i < NR_LANES; i++)
		attach(&s, s.lane[i]);
	for (u32 i = 0; i < 30; i++)
		crew_do(crew, i, use_lanes, &s);
	p = must_alloc(test, s.sd, LIMIT - 2 * MIB);
	EXPECT_FREED(test, s.sd, p);
	for (u32 i = 0; i < 30; i++)
		crew_do(crew, i, use_lanes, &s);
	for (u32 i = 0; i < NR_LANES; i++)
		detach(&s, s.lane[i]);
	crew_dismiss(crew);
	stream_space_close(&s);
}

/* ---- What runs on the stream ----------------------------------------- */

static void fills_and_copies(struct kunit *test)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct stream_space s;
	void *p, *q;

	begin(&s, test);
	hold(&s, s.bound);
	req.flags = SLABDEV_REQ_ZERO;
	req.stream = s.lane[0];
	p = slabdev_alloc_ex(s.sd, 5000, &req);
	KUNIT_ASSERT_NOT_NULL_MSG(test, p, "%s", slabdev_last_error());
	/* Not behind the bound stream, and in order. */
	run_through(&s, s.lane[0]);
	cuda_submit_fill(test, p, 5000, 0x44, s.lane[0]);
	q = slabdev_realloc_async(s.sd, p, 50000, s.lane[0]);
	KUNIT_ASSERT_NOT_NULL_MSG(test, q, "%s", slabdev_last_error());
	run_through(&s, s.lane[0]);
	let_go(&s, s.bound);
	KUNIT_EXPECT_EQ(test, cuda_byte(test, q), 0x44);
	KUNIT_EXPECT_EQ(test, cuda_byte(test, (char *)q + 4999), 0x44);
	give_on(&s, q, s.lane[0]);
	stream_space_close(&s);
}

static int construct(void *base, size_t stride, size_t count,
		     slabdev_stream_t stream, void *arg)
{
	struct kunit *test = arg;

	cuda_submit_fill(test, base, stride * count, 0x66, stream);
	return 0;
}

/* Whatever stream constructs, the stream that allocates sees it done. */
static void constructed_objects(struct kunit *test)
{
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	struct slabdev_cache *cache;
	struct stream_space s;
	unsigned char byte[200] = { 0 };
	void *p[200];

	begin(&s, test);
	args.ctor = construct;
	args.ctor_arg = test;
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&cache, s.sd, "made", 4000,
						   &args), 0);
	for (u32 i = 0; i < ARRAY_SIZE(p); i++) {
		p[i] = slabdev_cache_alloc_async(cache, s.lane[i % 2]);
		KUNIT_ASSERT_NOT_NULL_MSG(test, p[i], "%s",
					  slabdev_last_error());
		MUST(test, cuMemcpyDtoHAsync(&byte[i], device_ptr(p[i]), 1,
					     s.lane[i % 2]));
	}
	MUST(test, cuCtxSynchronize());
	for (u32 i = 0; i < ARRAY_SIZE(p); i++) {
		KUNIT_EXPECT_EQ(test, byte[i], 0x66);
		KUNIT_EXPECT_EQ(test, slabdev_cache_free_async(cache, p[i],
				s.lane[i % 2]), 0);
	}
	MUST(test, cuCtxSynchronize());
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	stream_space_close(&s);
}

/* ---- Streams that end, and policies ---------------------------------- */

static void detach_then_destroy(struct kunit *test)
{
	struct stream_space s;
	void *used;

	begin(&s, test);
	for (u32 k = 0; k < 20; k++) {
		CUstream stream = new_stream(test, CU_STREAM_NON_BLOCKING);

		if (k % 2)
			attach(&s, stream);
		for (u32 i = 0; i < 20; i++)
			give_on(&s, get_on(&s, 5000 * (i + 1), stream), stream);
		used = must_alloc(test, s.sd, 5000);
		KUNIT_EXPECT_EQ(test, slabdev_use(s.sd, used, stream), 0);
		detach(&s, stream);
		end_stream(test, stream);
		EXPECT_FREED(test, s.sd, used);
	}
	KUNIT_EXPECT_EQ(test, sums(&s).streams, 0);
	stream_space_close(&s);
}

/* Aggressive gives back what is done, and only that. */
static void aggressive_after_the_event(struct kunit *test)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	struct stream_space s;

	begin(&s, test);
	policy.mode = SLABDEV_AGGRESSIVE;
	KUNIT_ASSERT_EQ(test, slabdev_set_policy(s.sd, &policy), 0);
	attach(&s, s.lane[0]);
	hold(&s, s.lane[0]);
	for (u32 i = 0; i < ARRAY_SIZE(sizes); i++)
		give_on(&s, get_on(&s, sizes[i], s.lane[0]), s.lane[0]);
	(void)sums(&s);
	let_go(&s, s.lane[0]);
	run_through(&s, s.lane[0]);
	detach(&s, s.lane[0]);
	stream_space_close(&s);
}

/* ---- Failures -------------------------------------------------------- */

static const char *const fallible[] = {
	"cuEventCreate", "cuEventRecord", "cuEventQuery", "cuEventSynchronize",
	"cuStreamWaitEvent", "cuMemsetD8Async", "cuMemcpyDtoDAsync_v2",
	"cuMemCreate", "cuMemMap", "cuMemSetAccess", "cuMemUnmap",
	"cuMemRelease", "cuCtxSynchronize", "cuEventDestroy_v2",
	"cuStreamIsCapturing", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2",
	"cuThreadExchangeStreamCaptureMode",
};

static void describe_name(const char *const *name, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", *name);
}
KUNIT_ARRAY_PARAM(name, fallible, describe_name);

/* A free that fails has left the object alive. */
static void give(struct stream_space *s, void *p, CUstream stream)
{
	if (slabdev_free_async(s->sd, p, stream))
		give_on(s, p, stream);
}

/* The capture is the caller's, and is not broken by what fails beside it. */
static void try_capture(struct stream_space *s, CUstream stream)
{
	struct slabdev_graph *graph;
	CUgraph captured = NULL;
	void *p[8];

	if (slabdev_capture_begin(s->sd, stream, &graph))
		return;
	(void)cu.cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
	for (u32 i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = slabdev_alloc_async(s->sd, sizes[i % 5], stream);
	for (u32 i = 0; i < ARRAY_SIZE(p); i++)
		if (p[i])
			give(s, p[i], i % 2 ? stream : s->lane[0]);
	EXPECT_CU(s->test, cuStreamEndCapture(stream, &captured), 0);
	EXPECT_CU(s->test, cuGraphDestroy(captured), 0);
	KUNIT_EXPECT_EQ(s->test, slabdev_capture_end(graph), 0);
	run_through(s, stream);
	run_through(s, s->lane[0]);
	KUNIT_EXPECT_EQ(s->test, slabdev_graph_release(graph), 0);
}

static void try_all(struct stream_space *s)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	void *p[12] = { 0 }, *q;

	req.flags = SLABDEV_REQ_ZERO | SLABDEV_REQ_NO_REPORT;
	for (u32 i = 0; i < ARRAY_SIZE(p); i++) {
		size_t size = sizes[i % ARRAY_SIZE(sizes)];

		req.stream = s->lane[i % 2];
		p[i] = slabdev_alloc_ex(s->sd, size, &req);
		if (p[i] && !slabdev_use(s->sd, p[i], s->lane[2]))
			(void)cu.cuMemsetD8Async(device_ptr(p[i]), 1, size,
						 s->lane[2]);
		q = p[i] ? slabdev_realloc_async(s->sd, p[i], size * 3 / 2,
						 s->lane[2]) : NULL;
		p[i] = q ?: p[i];
	}
	for (u32 i = 0; i < ARRAY_SIZE(p); i++)
		if (p[i])
			give(s, p[i], s->lane[i % 2]);
	try_capture(s, s->lane[2]);
	(void)slabdev_poll(s->sd);
	(void)slabdev_trim(s->sd, 4 * MIB);
	(void)sums(s);
}

/* A lack of memory, and what is lost by it, is to be reported, nothing else. */
static void check_report(int level, int kind, const char *text, void *arg)
{
	(void)level;
	if (kind >= 0 && kind != REPORT_LOST && kind != REPORT_OUT_OF_MEMORY)
		KUNIT_FAIL((struct kunit *)arg, "%s", text);
}

/* The call fails once, the first time, the second, ... */
static void a_call_fails_once(struct kunit *test)
{
	const char *name = *(const char *const *)test->param_value;
	struct stream_space s;

	test->param_value = NULL;
	log_set_sink(check_report, test);
	for (u32 n = 1; n <= 12; n++) {
		stream_space_open(&s, test, NULL, 256 * MIB,
				  SLABDEV_ORDER_STREAM);
		attach(&s, s.lane[0]);
		KUNIT_ASSERT_EQ(test, cu.model_fail(name, n,
				CUDA_ERROR_OUT_OF_MEMORY, 0), 0);
		try_all(&s);
		KUNIT_ASSERT_EQ(test, cu.model_fail(name, 0, 0, 0), 0);
		MUST(test, cuCtxSynchronize());
		try_all(&s);
		detach(&s, s.lane[0]);
		MUST(test, cuCtxSynchronize());
		KUNIT_EXPECT_EQ(test, slabdev_trim(s.sd, 0), 0);
		KUNIT_EXPECT_EQ(test, sums(&s).live_objects, 0);
		KUNIT_EXPECT_EQ(test, slabdev_close(s.sd, 0), 0);
		stream_space_end(&s);
	}
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(only_the_stream_itself, kind_gen_params),
	KUNIT_CASE_PARAM(after_the_bound_stream, kind_gen_params),
	KUNIT_CASE_PARAM(steady_state_asks_for_nothing, kind_gen_params),
	KUNIT_CASE_PARAM(the_cpu_waits, kind_gen_params),
	KUNIT_CASE(the_stream_waits),
	KUNIT_CASE(default_streams),
	KUNIT_CASE(threads_own_streams),
	KUNIT_CASE(what_is_taken_from_own_streams),
	KUNIT_CASE(idle_threads_strand_nothing),
	KUNIT_CASE_PARAM(fills_and_copies, kind_gen_params),
	KUNIT_CASE(constructed_objects),
	KUNIT_CASE_PARAM(detach_then_destroy, kind_gen_params),
	KUNIT_CASE(aggressive_after_the_event),
	KUNIT_CASE_PARAM(a_call_fails_once, name_gen_params),
	{ 0 }
};

static const struct kunit_suite cuda_stream_suite = {
	.name = "cuda_stream",
	.init = cuda_space_init,
	.exit = cuda_space_exit,
	.cases = cases,
};
kunit_test_suite(cuda_stream_suite);
