// SPDX-License-Identifier: BSD-2-Clause
/* stream_model.c - see stream_model.h. */
#include "tests/stream_model.h"

#include "tests/random.h"

struct model_program {
	struct stream_model *model;
	CUevent event;
};

static const char ptx[] =
".version 6.4\n"
".target sm_50\n"
".address_size 64\n"
".visible .entry program_step(.param .u64 object, .param .u64 kernel)\n"
"{\n"
"	ret;\n"
"}\n"
".visible .entry program_nothing(.param .u64 object)\n"
"{\n"
"	ret;\n"
"}\n";

static struct model_program *of(const struct program *p)
{
	return p->priv;
}

static CUstream handle_of(const struct program *p, u32 stream)
{
	return p->stream[stream].handle;
}

/* A failure that a program has ordered strikes once. */
#define TRIES 4u

#define TRY(p, call)							\
do {									\
	CUresult ret_ = cu.call;					\
									\
	for (u32 i_ = 1; ret_ && (p)->failing && i_ < TRIES; i_++)	\
		ret_ = cu.call;						\
	KUNIT_ASSERT_EQ_MSG((p)->test, ret_, CUDA_SUCCESS,		\
			    "step %llu: " #call " (%s)",		\
			    (unsigned long long)(p)->step,		\
			    cu.model_last_violation());			\
} while (0)

/* ---- Kernels ------------------------------------------------------------- */

static void model_step(const uint64_t *params)
{
	struct program_kernel *k = (struct program_kernel *)(uintptr_t)params[1];

	program_kernel_run(k);
	free(k);
}

static void model_nothing(const uint64_t *params)
{
	(void)params;
}

static void model_access(u64 addr, u64 *word, bool writes)
{
	(void)cu.model_access(addr, word, sizeof(*word),
			      writes ? MODEL_WRITE : MODEL_READ);
}

static void model_submit(struct program *p, struct program_kernel *k,
			 u32 stream)
{
	u64 addr = k->addr, number = (u64)(uintptr_t)k;
	void *params[] = { &addr, &number };

	TRY(p, cuLaunchKernel(of(p)->model->step, 1, 1, 1, 1, 1, 1, 0,
			      handle_of(p, stream), params, NULL));
}

/* A node of the graph; what it does is done by the replays. */
static void model_record(struct program *p, const struct program_kernel *k,
			 u32 stream)
{
	u64 addr = k->addr;
	void *params[] = { &addr };

	TRY(p, cuLaunchKernel(of(p)->model->nothing, 1, 1, 1, 1, 1, 1, 0,
			      handle_of(p, stream), params, NULL));
}

/* ---- Streams ------------------------------------------------------------- */

static void hold(struct program *p, CUstream stream)
{
	KUNIT_ASSERT_EQ(p->test, cu.model_stream_hold(stream), 0);
}

static void let_go(struct program *p, CUstream stream)
{
	KUNIT_ASSERT_EQ(p->test, cu.model_stream_release(stream), 0);
}

static void model_begin(struct program *p, u32 i)
{
	struct program_stream *st = &p->stream[i];
	CUstream stream = NULL;

	if (of(p)->model->defaults && i + 2 >= p->nr_streams) {
		st->is_default = true;
		st->handle = i + 2 == p->nr_streams ?
			     SLABDEV_STREAM_LEGACY : SLABDEV_STREAM_PER_THREAD;
	} else {
		TRY(p, cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		st->handle = stream;
	}
	hold(p, st->handle);
}

static void model_end(struct program *p, u32 i)
{
	CUstream stream = handle_of(p, i);

	if (p->stream[i].is_default) {
		let_go(p, stream);
		return;
	}
	TRY(p, cuStreamSynchronize(stream));
	TRY(p, cuStreamDestroy(stream));
}

static void model_order(struct program *p, u32 before, u32 after)
{
	CUevent event = of(p)->event;

	TRY(p, cuEventRecord(event, handle_of(p, before)));
	TRY(p, cuStreamWaitEvent(handle_of(p, after), event, 0));
}

static void model_run_some(struct program *p)
{
	u32 i = random_below(&p->random, p->nr_streams);

	let_go(p, handle_of(p, i));
	cu.model_run();
	hold(p, handle_of(p, i));
}

static void model_run_all(struct program *p)
{
	for (u32 i = 0; i < p->nr_streams; i++)
		if (p->stream[i].handle && !p->stream[i].capturing)
			TRY(p, cuStreamSynchronize(handle_of(p, i)));
}

/* ---- Captures ------------------------------------------------------------ */

static void model_capture_begin(struct program *p, u32 i)
{
	CUstreamCaptureMode mode = random_below(&p->random, 3);

	TRY(p, cuStreamBeginCapture(handle_of(p, i), mode));
}

/* The library has not broken it. */
static void model_capture_end(struct program *p, u32 i)
{
	CUgraph graph = NULL;

	TRY(p, cuStreamEndCapture(handle_of(p, i), &graph));
	KUNIT_ASSERT_NOT_NULL(p->test, graph);
	TRY(p, cuGraphDestroy(graph));
}

/* ---- Failures ------------------------------------------------------------ */

static const char *const fallible[] = {
	"*", "cuMemCreate", "cuMemMap", "cuMemSetAccess", "cuMemUnmap",
	"cuMemRelease", "cuEventCreate", "cuEventRecord", "cuEventQuery",
	"cuEventSynchronize", "cuEventDestroy_v2", "cuStreamWaitEvent",
	"cuStreamIsCapturing", "cuMemsetD8Async", "cuMemcpyDtoDAsync_v2",
	"cuCtxSynchronize",
};

static const CUresult codes[] = {
	CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_OPERATING_SYSTEM,
	CUDA_ERROR_UNKNOWN,
};

static void model_fail(struct program *p, bool fails)
{
	u32 i;

	if (!fails) {
		for (i = 0; i < ARRAY_SIZE(fallible); i++)
			(void)cu.model_fail(fallible[i], 0, 0, 0);
		return;
	}
	i = random_below(&p->random, ARRAY_SIZE(fallible));
	(void)cu.model_fail(fallible[i], 1 + random_below(&p->random,
							  i ? 4 : 100),
			    codes[random_below(&p->random, ARRAY_SIZE(codes))],
			    0);
}

/* ---- The case, and its threads ------------------------------------------- */

void stream_model_begin(struct stream_model *m, struct kunit *test,
			bool legacy, bool defaults)
{
	*m = (struct stream_model){
		.test = test, .ctx = bench_of(test)->ctx,
		.bound = SLABDEV_STREAM_LEGACY, .defaults = defaults,
	};
	cu.model_kernel("program_step", model_step);
	cu.model_kernel("program_nothing", model_nothing);
	cu.model_holds_yield(1);
	MUST(test, cuModuleLoadData(&m->module, ptx));
	MUST(test, cuModuleGetFunction(&m->step, m->module, "program_step"));
	MUST(test, cuModuleGetFunction(&m->nothing, m->module,
				       "program_nothing"));
	if (!legacy)
		m->bound = new_stream(test, CU_STREAM_NON_BLOCKING);
	KUNIT_ASSERT_EQ(test, cu.model_stream_hold(m->bound), 0);
}

void stream_model_end(struct stream_model *m)
{
	KUNIT_ASSERT_EQ(m->test, cu.model_stream_release(m->bound), 0);
	if (m->bound != SLABDEV_STREAM_LEGACY)
		end_stream(m->test, m->bound);
	EXPECT_CU(m->test, cuModuleUnload(m->module), 0);
	EXPECT_NO_VIOLATION(m->test);
	cu.model_holds_yield(0);
}

void stream_model_enter(struct stream_model *m, struct program *p)
{
	struct model_program *mp = kunit_kzalloc(m->test, sizeof(*mp));

	mp->model = m;
	p->priv = mp;
	p->stream[0].handle = m->bound;
	MUST(m->test, cuCtxSetCurrent(m->ctx));
	MUST(m->test, cuEventCreate(&mp->event, CU_EVENT_DISABLE_TIMING));
}

void stream_model_leave(struct program *p)
{
	MUST(of(p)->model->test, cuEventDestroy(of(p)->event));
}

const struct program_driver model_driver = {
	.places = 6,
	.backlog = 200,
	.run_every = 12,
	.begin = model_begin,
	.end = model_end,
	.submit = model_submit,
	.order = model_order,
	.run_some = model_run_some,
	.run_all = model_run_all,
	.access = model_access,
	.capture_begin = model_capture_begin,
	.capture_end = model_capture_end,
	.record = model_record,
	.fail = model_fail,
};
