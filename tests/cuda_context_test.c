// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_context_test.c - what the caller has of the driver is as it was after
 * every call: the contexts of its thread, the mode of its captures, the flags
 * of the device, and the captures themselves.
 */
#include <errno.h>

#include "tests/crew.h"
#include "tests/cuda_tour.h"
#include "tests/sanitizers.h"

#define DEPTH_MAX 8u

static void describe_kind(const struct cuda_kind_param *kind, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", kind->name);
}
KUNIT_ARRAY_PARAM(kind, cuda_kinds, describe_kind);

/* ---- What the caller has ---------------------------------------------- */

struct belongings {
	CUcontext stack[DEPTH_MAX];	/* the current one first */
	u32 depth;
	CUstreamCaptureMode mode;
	unsigned int flags;
};

static CUstreamCaptureMode capture_mode(struct kunit *test)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED, found;

	MUST(test, cuThreadExchangeStreamCaptureMode(&mode));
	found = mode;
	MUST(test, cuThreadExchangeStreamCaptureMode(&mode));
	return found;
}

/* There is no other way to see what is below the current context. */
static void look_at_stack(struct kunit *test, struct belongings *b)
{
	CUcontext ctx;
	u32 i;

	b->depth = 0;
	while (!cu.cuCtxGetCurrent(&ctx) && ctx) {
		KUNIT_ASSERT_LT(test, b->depth, DEPTH_MAX);
		MUST(test, cuCtxPopCurrent(&b->stack[b->depth++]));
	}
	for (i = b->depth; i--;)
		MUST(test, cuCtxPushCurrent(b->stack[i]));
}

static void look_at_all(struct kunit *test, struct belongings *b)
{
	int active;

	memset(b, 0, sizeof(*b));
	look_at_stack(test, b);
	b->mode = capture_mode(test);
	MUST(test, cuDevicePrimaryCtxGetState(0, &b->flags, &active));
}

static void expect_unchanged(struct cuda_tour *tour, const char *call, int err)
{
	const struct belongings *before = tour->arg;
	struct belongings now;

	(void)err;
	look_at_all(tour->test, &now);
	if (memcmp(&now, before, sizeof(now)))
		KUNIT_FAIL(tour->test, "%s: %u contexts, mode %u; before %u, "
			   "%u", call, now.depth, now.mode, before->depth,
			   before->mode);
}

static void expect_unchanged_and_success(struct cuda_tour *tour,
					 const char *call, int err)
{
	expect_unchanged(tour, call, err);
	if (err && !strstr(call, "2 * TOUR_LIMIT"))
		KUNIT_FAIL(tour->test, "%s: %d: %s", call, err,
			   slabdev_last_error());
}

static void tour_with_what_there_is(struct kunit *test)
{
	struct belongings before;
	struct cuda_tour tour = {
		.test = test,
		.kind = test->param_value ?: CUDA_KIND_VMM,
		.look = expect_unchanged_and_success,
		.arg = &before,
	};

	look_at_all(test, &before);
	cuda_tour(&tour);
	EXPECT_NO_VIOLATION(test);
}

/* ---- Contexts --------------------------------------------------------- */

static void no_context(struct kunit *test)
{
	CUcontext ctx;

	MUST(test, cuCtxPopCurrent(&ctx));
	tour_with_what_there_is(test);
	MUST(test, cuCtxPushCurrent(ctx));
}

static void context_of_the_device(struct kunit *test)
{
	tour_with_what_there_is(test);
}

/* The space's own context among others, twice. */
static void several_contexts(struct kunit *test)
{
	CUcontext other, ctx;

	MUST(test, cuCtxCreate(&other, 0, 0));
	MUST(test, cuCtxPushCurrent(bench_of(test)->ctx));
	MUST(test, cuCtxPushCurrent(other));
	tour_with_what_there_is(test);
	MUST(test, cuCtxPopCurrent(&ctx));
	MUST(test, cuCtxPopCurrent(&ctx));
	MUST(test, cuCtxDestroy(other));
}

static void context_of_another_device(struct kunit *test)
{
	CUcontext other, ctx;

	cuda_model(test, "two");
	bench_open(test);
	MUST(test, cuDevicePrimaryCtxRetain(&other, 1));
	MUST(test, cuCtxPushCurrent(other));
	tour_with_what_there_is(test);
	MUST(test, cuCtxPopCurrent(&ctx));
	KUNIT_EXPECT_PTR_EQ(test, ctx, other);
	MUST(test, cuDevicePrimaryCtxRelease(1));
	bench_close(test);
}

/* A context that was destroyed is still current to whoever had it. */
static void context_that_is_gone(struct kunit *test)
{
	CUcontext other, ctx;

	MUST(test, cuCtxCreate(&other, 0, 0));
	MUST(test, cuCtxPushCurrent(other));
	MUST(test, cuCtxDestroy(other));
	tour_with_what_there_is(test);
	MUST(test, cuCtxPopCurrent(&ctx));
}

static const CUstreamCaptureMode modes[] = {
	CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
	CU_STREAM_CAPTURE_MODE_RELAXED,
};

static void describe_mode(const CUstreamCaptureMode *mode, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "mode %u", *mode);
}
KUNIT_ARRAY_PARAM(mode, modes, describe_mode);

static void mode_of_the_thread(struct kunit *test)
{
	CUstreamCaptureMode mode =
		*(const CUstreamCaptureMode *)test->param_value;

	test->param_value = NULL;
	MUST(test, cuThreadExchangeStreamCaptureMode(&mode));
	tour_with_what_there_is(test);
	MUST(test, cuThreadExchangeStreamCaptureMode(&mode));
}

/* The primary context is retained as often as it is released. */
static void context_is_given_back(struct kunit *test)
{
	struct cuda_tour tour = { .test = test, .kind = CUDA_KIND_VMM };
	unsigned int flags;
	int active = -1;
	CUcontext ctx;

	MUST(test, cuCtxPopCurrent(&ctx));
	MUST(test, cuDevicePrimaryCtxRelease(0));
	cuda_tour(&tour);
	MUST(test, cuDevicePrimaryCtxGetState(0, &flags, &active));
	KUNIT_EXPECT_EQ(test, active, 0);
	KUNIT_EXPECT_EQ(test, cu.model_calls("cuDevicePrimaryCtxRetain"),
			cu.model_calls("cuDevicePrimaryCtxRelease_v2"));
	KUNIT_EXPECT_EQ(test, cu.model_calls("cuCtxSetCurrent"), 0);
	MUST(test, cuDevicePrimaryCtxRetain(&ctx, 0));
	MUST(test, cuCtxPushCurrent(ctx));
}

/* ---- Failures --------------------------------------------------------- */

#define SYMBOL(need, base, suffix, version, args, names) #base #suffix,
static const char *const symbols[] = { SLABDEV_CUDA_FUNCS(SYMBOL) };

/* What the visitor itself calls, and what sets back: no library could. */
static bool is_left_out(const char *symbol)
{
	static const char *const out[] = {
		"cuCtxPopCurrent_v2", "cuThreadExchangeStreamCaptureMode",
		"cuCtxGetCurrent", "cuCtxPushCurrent_v2",
		"cuDevicePrimaryCtxGetState",
	};

	for (u32 i = 0; i < ARRAY_SIZE(out); i++)
		if (!strcmp(symbol, out[i]))
			return true;
	return false;
}

/* Reports of what is lost are no concern here. */
static void ignore_report(int level, int kind, const char *text, void *arg)
{
	(void)level;
	(void)kind;
	(void)text;
	(void)arg;
}

/* Each function fails in its first calls, and in its last. */
static void failures_change_nothing(struct kunit *test)
{
	struct belongings before;
	struct cuda_tour tour = {
		.test = test,
		.kind = test->param_value,
		.arg = &before,
	};
	const u32 step = IS_SANITIZED ? 7 : 1;
	u64 calls[ARRAY_SIZE(symbols)];
	u32 i;

	log_set_sink(ignore_report, NULL);
	look_at_all(test, &before);
	cu.model_reset();
	cuda_tour(&tour);
	for (i = 0; i < ARRAY_SIZE(symbols); i++)
		calls[i] = cu.model_calls(symbols[i]);
	tour.look = expect_unchanged;
	for (i = 0; i < ARRAY_SIZE(symbols); i++) {
		if (is_left_out(symbols[i]))
			continue;
		for (u64 n = 1; n <= calls[i]; n += n < 4 ? step : 11) {
			cu.model_fail(symbols[i], n, CUDA_ERROR_UNKNOWN, 0);
			cuda_tour(&tour);
			cu.model_fail(symbols[i], 0, 0, 0);
		}
	}
	KUNIT_EXPECT_GT(test, tour.failures, 10);
	EXPECT_NO_VIOLATION(test);
	/* What a failing call kept is lost, and said so; see cuda_fail. */
	bench_of(test)->leaks = cu.model_leaks(NULL);
}

/* ---- Captures --------------------------------------------------------- */

struct recording {
	struct kunit *test;
	CUstream stream;
	CUstreamCaptureMode mode;
	CUresult result;
};

static void begin_recording(void *arg)
{
	struct recording *r = arg;

	r->result = cu.cuStreamBeginCapture(r->stream, r->mode);
}

/* It must have been left alone, and makes a graph. */
static void end_recording(void *arg)
{
	struct recording *r = arg;
	CUgraph graph = NULL;

	r->result = cu.cuStreamEndCapture(r->stream, &graph);
	if (!r->result)
		r->result = cu.cuGraphDestroy(graph);
}

static void recording_of_this_thread(struct kunit *test)
{
	struct recording r = {
		.test = test,
		.mode = *(const CUstreamCaptureMode *)test->param_value,
		.stream = new_stream(test, CU_STREAM_NON_BLOCKING),
	};

	test->param_value = NULL;
	begin_recording(&r);
	KUNIT_EXPECT_EQ(test, r.result, 0);
	tour_with_what_there_is(test);
	end_recording(&r);
	KUNIT_EXPECT_EQ(test, r.result, 0);
	end_stream(test, r.stream);
}

static void recording_of_another_thread(struct kunit *test)
{
	struct crew *crew = crew_new(test, 1);
	struct recording r = {
		.test = test,
		.mode = *(const CUstreamCaptureMode *)test->param_value,
		.stream = new_stream(test, CU_STREAM_NON_BLOCKING),
	};

	test->param_value = NULL;
	crew_do(crew, 0, begin_recording, &r);
	KUNIT_EXPECT_EQ(test, r.result, 0);
	tour_with_what_there_is(test);
	crew_do(crew, 0, end_recording, &r);
	KUNIT_EXPECT_EQ(test, r.result, 0);
	end_stream(test, r.stream);
}

/* How a capture comes to be in the way of the space's stream. */
struct obstacle {
	const char *name;
	bool binds;		/* the stream that captures is the bound one */
	unsigned int flags;	/* of that stream */
};

static const struct obstacle obstacles[] = {
	{ "bound stream", true, CU_STREAM_NON_BLOCKING },
	{ "bound blocking stream", true, CU_STREAM_DEFAULT },
	{ "blocking stream beside legacy", false, CU_STREAM_DEFAULT },
};

static void describe_obstacle(const struct obstacle *o, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", o->name);
}
KUNIT_ARRAY_PARAM(obstacle, obstacles, describe_obstacle);

/* Work on memory would become part of the graph: it is refused. */
static void expect_work_refused(struct kunit *test, struct slabdev *sd)
{
	void *p = must_alloc(test, sd, 4000);

	KUNIT_EXPECT_ERRNO(test, slabdev_zalloc(sd, 3 * MIB), EBUSY);
	EXPECT_LAST_ERROR_HAS(test, "captur");
	KUNIT_EXPECT_ERRNO(test, slabdev_realloc(sd, p, 10 * MIB), EBUSY);
	EXPECT_LAST_ERROR_HAS(test, "captur");
	EXPECT_FREED(test, sd, p);
}

/*
 * Goal: a capture that is in the way of asking costs nothing but memory. While
 * it goes on the space grows and its objects come and go; nothing is given
 * back, and a close is refused for what cannot be proved, the space staying as
 * it is. After it everything goes.
 */
static void capture_in_the_way(struct kunit *test)
{
	const struct obstacle *o = test->param_value;
	struct recording r = { .test = test };
	struct slabdev *sd;
	u64 mapped;
	void *p;

	r.stream = new_stream(test, o->flags);
	sd = cuda_open_kind(test, CUDA_KIND_VMM, 256 * MIB,
			    o->binds ? r.stream : NULL);
	begin_recording(&r);
	KUNIT_EXPECT_EQ(test, r.result, 0);
	if (o->binds)
		kunit_expect_report(test, REPORT_CAPTURE);
	p = must_alloc(test, sd, 9 * MIB);
	EXPECT_FREED(test, sd, must_alloc(test, sd, 100 * MIB));
	mapped = stats_of(test, sd).mapped;
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, slabdev_poll(sd), 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).mapped, mapped);
	expect_work_refused(test, sd);
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), -EBUSY);
	EXPECT_LAST_ERROR_HAS(test, "captur");
	EXPECT_FREED(test, sd, must_alloc(test, sd, 120 * MIB));
	expect_sound(test, sd);
	EXPECT_NO_VIOLATION(test);
	end_recording(&r);
	KUNIT_EXPECT_EQ(test, r.result, 0);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).mapped, 0);
	cuda_close(test, sd);
	end_stream(test, r.stream);
}

/* A limit that only idle memory would meet: no growth, no harm. */
static void capture_beside_a_full_space(struct kunit *test)
{
	const struct obstacle *o = test->param_value;
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct recording r = { .test = test };
	struct slabdev *sd;
	void *p;

	req.flags = SLABDEV_REQ_NO_REPORT;
	r.stream = new_stream(test, o->flags);
	sd = cuda_open_kind(test, CUDA_KIND_VMM, 200 * MIB,
			    o->binds ? r.stream : NULL);
	EXPECT_FREED(test, sd, must_alloc(test, sd, 150 * MIB));
	begin_recording(&r);
	if (o->binds)
		kunit_expect_report(test, REPORT_CAPTURE);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_ex(sd, 180 * MIB, &req),
			   ENOMEM);
	EXPECT_LAST_ERROR_HAS(test, "captur");
	p = must_alloc(test, sd, 150 * MIB);
	EXPECT_FREED(test, sd, p);
	EXPECT_NO_VIOLATION(test);
	end_recording(&r);
	KUNIT_EXPECT_EQ(test, r.result, 0);
	EXPECT_FREED(test, sd, must_alloc(test, sd, 180 * MIB));
	cuda_close(test, sd);
	end_stream(test, r.stream);
}

static const struct kunit_case context_cases[] = {
	KUNIT_CASE_PARAM(no_context, kind_gen_params),
	KUNIT_CASE_PARAM(context_of_the_device, kind_gen_params),
	KUNIT_CASE_PARAM(several_contexts, kind_gen_params),
	KUNIT_CASE(context_that_is_gone),
	KUNIT_CASE_PARAM(mode_of_the_thread, mode_gen_params),
	KUNIT_CASE(context_is_given_back),
	KUNIT_CASE_PARAM(failures_change_nothing, kind_gen_params,
			 .isolated = true, .slow = true),
	KUNIT_CASE_PARAM(recording_of_this_thread, mode_gen_params),
	KUNIT_CASE_PARAM(recording_of_another_thread, mode_gen_params),
	KUNIT_CASE_PARAM(capture_in_the_way, obstacle_gen_params),
	KUNIT_CASE_PARAM(capture_beside_a_full_space, obstacle_gen_params),
	{ 0 }
};

static const struct kunit_suite cuda_context_suite = {
	.name = "cuda_context",
	.init = cuda_space_init,
	.exit = cuda_space_exit,
	.cases = context_cases,
};

/* Of another machine, so without the bench of the first. */
static const struct kunit_case machine_cases[] = {
	KUNIT_CASE_PARAM(context_of_another_device, kind_gen_params,
			 .isolated = true),
	{ 0 }
};

static const struct kunit_suite cuda_context_two_suite = {
	.name = "cuda_context_two",
	.cases = machine_cases,
};
kunit_test_suites(&cuda_context_suite, &cuda_context_two_suite);
