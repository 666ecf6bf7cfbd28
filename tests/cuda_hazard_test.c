// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_hazard_test.c - hazard mode and CUDA streams, on the driver model.
 *
 * The random programs of hazard_program.h, by calls of the driver and, beside
 * each, what hazard mode has to be told of it. The model is asked who is right:
 *
 * - A correct program has no report. Each object has a number that the first
 *   work on it writes there, and all later work must find it; streams are held
 *   back and let go at random, so that work of freed objects runs late.
 * - A program with a race has one report. It is then run once more, and the
 *   stream of the earlier work is held in front of that: the later work, which
 *   had to wait for it, is done meanwhile. So the race is one.
 */
#include <unistd.h>

#include "core/log.h"
#include "tests/cuda_space.h"
#include "tests/hazard_program.h"

#define PROGRAMS 1000u
#define BOUND 4u		/* that stream is the space's */
#define SIZE_MOST (256 * KIB)
#define NOBODY ~0u
#define WAIT_NS (60 * NSEC_PER_SEC)
#define NSEC_PER_SEC UINT64_C(1000000000)

/* What a kernel does; in its parameters. */
enum work {
	WORK_NOTHING,
	WORK_WRITE,
	WORK_CHECK,
};

struct machine {
	struct slabdev *sd;
	bool host_memory;	/* the CPU reads and writes it */
	CUmodule module;
	CUfunction fn;
	CUevent event[EVENTS];
	u64 number[OBJECTS];	/* that is in the object */
	u64 last_number;
	u64 random;		/* for what is held */
	bool disturbs;		/* correct programs: streams are held */
	bool held[STREAMS];
	bool handed_over[STREAMS];
	u32 early;		/* the stream is held in front of that step */
	u32 steps_done;		/* that the program may look at */
};

/* By kernels, under the lock of the model. */
static u64 nr_wrong;
static bool step_done[STEPS * 4];

static const char ptx[] =
".version 6.4\n"
".target sm_50\n"
".address_size 64\n"
".visible .entry hazard_step(.param .u64 p, .param .u64 work, "
".param .u64 number, .param .u64 step)\n"
"{\n"
"	ret;\n"
"}\n";

static void model_step(const uint64_t *params)
{
	u64 number = params[2], found = 0;

	if (params[1] == WORK_WRITE)
		cu.model_access(params[0], &number, sizeof(number),
				MODEL_WRITE);
	if (params[1] == WORK_CHECK)
		cu.model_access(params[0], &found, sizeof(found), MODEL_READ);
	if (params[1] == WORK_CHECK && found != number)
		__atomic_fetch_add(&nr_wrong, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&step_done[params[3]], true, __ATOMIC_RELEASE);
}

static bool is_done(u32 step)
{
	return __atomic_load_n(&step_done[step], __ATOMIC_ACQUIRE);
}

/* ---- Streams that are held ----------------------------------------------- */

static void hold(struct program *p, u32 stream)
{
	struct machine *m = p->arg;

	if (m->held[stream])
		return;
	KUNIT_ASSERT_EQ(p->test, cu.model_stream_hold(p->handle[stream]), 0);
	m->held[stream] = true;
}

static void let_go(struct program *p, u32 stream)
{
	struct machine *m = p->arg;

	if (!m->held[stream])
		return;
	KUNIT_ASSERT_EQ(p->test, cu.model_stream_release(p->handle[stream]), 0);
	m->held[stream] = false;
}

/* Before the CPU waits, for whatever. */
static void let_all_go(struct program *p)
{
	const struct machine *m = p->arg;

	for (u32 i = 1; i < STREAMS && m->disturbs; i++)
		let_go(p, i);
}

static void hold_or_let_go(struct program *p)
{
	struct machine *m = p->arg;
	u32 i = 1 + random_below(&m->random, STREAMS - 1);

	if (!m->disturbs || random_below(&m->random, 4))
		return;
	if (m->held[i])
		let_go(p, i);
	else
		hold(p, i);
}

/* ---- Steps --------------------------------------------------------------- */

static void launch(struct program *p, u64 addr, enum work work, u64 number,
		   u32 stream, u32 step)
{
	struct machine *m = p->arg;
	u64 what = work, nr = step;
	void *params[] = { &addr, &what, &number, &nr };

	if (step == m->early) {
		/* What was put into it before is not to be late. */
		MUST(p->test, cuStreamSynchronize(p->handle[stream]));
		hold(p, stream);
	}
	MUST(p->test, cuLaunchKernel(m->fn, 1, 1, 1, 1, 1, 1, 0,
				     p->handle[stream], params, NULL));
}

static u64 name_of(const struct machine *m, u32 event)
{
	return (u64)(uintptr_t)m->event[event];
}

/* Nothing is recorded by the CPU: it has an event that is done. */
static void record(struct program *p, u32 stream, u32 event)
{
	struct machine *m = p->arg;

	if (stream) {
		MUST(p->test, cuEventRecord(m->event[event],
					    p->handle[stream]));
	} else {
		MUST(p->test, cuEventDestroy(m->event[event]));
		MUST(p->test, cuEventCreate(&m->event[event],
					    CU_EVENT_DISABLE_TIMING));
	}
	slabdev_hazard_record(name_of(m, event), p->handle[stream]);
}

static void wait(struct program *p, u32 stream, u32 event)
{
	struct machine *m = p->arg;

	if (stream) {
		MUST(p->test, cuStreamWaitEvent(p->handle[stream],
						m->event[event], 0));
	} else {
		let_all_go(p);
		MUST(p->test, cuEventSynchronize(m->event[event]));
	}
	slabdev_hazard_wait(p->handle[stream], name_of(m, event));
}

static void synchronize(struct program *p, u32 stream)
{
	let_all_go(p);
	if (stream)
		MUST(p->test, cuStreamSynchronize(p->handle[stream]));
	else
		MUST(p->test, cuCtxSynchronize());
	slabdev_hazard_sync(p->handle[stream]);
}

static void *get(struct program *p, size_t size, u32 stream)
{
	const struct machine *m = p->arg;

	return stream ? slabdev_alloc_async(m->sd, size, p->handle[stream]) :
			slabdev_alloc(m->sd, size);
}

static void alloc(struct program *p, u32 object, u32 stream, u32 step)
{
	struct machine *m = p->arg;
	struct object *o = &p->object[object];
	u64 *at;

	o->size = random_size(&p->state, SIZE_MOST);
	at = get(p, o->size, stream);
	KUNIT_ASSERT_NOT_NULL_MSG(p->test, at, "%s", slabdev_last_error());
	o->addr = (u64)(uintptr_t)at;
	m->number[object] = ++m->last_number;
	stream = program_alloc_stream(p, stream);
	if (stream)
		launch(p, o->addr, WORK_WRITE, m->number[object], stream, step);
	else
		*at = m->number[object];
}

static bool use_memory(struct program *p, u32 object, u64 addr, u32 stream,
		       u32 step)
{
	struct machine *m = p->arg;
	u64 number = m->number[object];
	const u64 *at = (void *)(uintptr_t)p->object[object].addr;

	if (stream)
		launch(p, p->object[object].addr, m->disturbs ? WORK_CHECK :
		       WORK_NOTHING, number, stream, step);
	else if (m->host_memory && m->disturbs)
		KUNIT_EXPECT_EQ(p->test, *at, number);
	return slabdev_hazard_access(m->sd, (void *)(uintptr_t)addr,
				     p->handle[stream]) == 1;
}

static bool end_object(struct program *p, u32 object, u32 stream, u32 step)
{
	unsigned int before = kunit_report_count(p->test, REPORT_HAZARD);
	const struct machine *m = p->arg;
	void *at = (void *)(uintptr_t)p->object[object].addr;
	u32 as = stream ? stream : p->plain_free;

	KUNIT_EXPECT_EQ(p->test, stream ?
			slabdev_free_async(m->sd, at, p->handle[stream]) :
			slabdev_free(m->sd, at), 0);
	/* What the next owner of the memory does. */
	if (as && p->planted)
		launch(p, 0, WORK_NOTHING, 0, as, step);
	return kunit_report_count(p->test, REPORT_HAZARD) != before;
}

static void use(struct program *p, u32 object, u32 stream)
{
	const struct machine *m = p->arg;
	void *at = (void *)(uintptr_t)p->object[object].addr;

	KUNIT_EXPECT_EQ(p->test, slabdev_use(m->sd, at, p->handle[stream]), 0);
}

static const struct program_ops on_device = {
	.record = record,
	.wait = wait,
	.synchronize = synchronize,
	.alloc = alloc,
	.access = use_memory,
	.free = end_object,
	.use = use,
	.between = hold_or_let_go,
};

/* ---- One program --------------------------------------------------------- */

/* Whatever was submitted is done, and nothing is live. */
static void clean_up(struct program *p)
{
	struct machine *m = p->arg;

	for (u32 i = 1; i < STREAMS; i++)
		let_go(p, i);
	m->early = NOBODY;
	p->planted = false;
	synchronize(p, 0);
	for (u32 i = 0; i < OBJECTS; i++)
		if (p->object[i].live)
			KUNIT_EXPECT_FALSE(p->test, end_object(p, i, 0, 0));
}

/* The later work is done while the earlier one is not. */
static void look_at_race(struct program *p)
{
	u64 start = now_ns();

	while (p->late.stream && !is_done(p->late.step) &&
	       now_ns() - start < WAIT_NS)
		usleep(100);
	KUNIT_EXPECT_TRUE(p->test, !p->late.stream || is_done(p->late.step));
	KUNIT_EXPECT_FALSE(p->test, is_done(p->early.step));
}

struct outcome {
	bool planted;
	u32 early;
};

static struct outcome run_once(struct kunit *test, struct machine *m,
			       const struct program *like, u64 seed, bool race)
{
	struct program p = *like;
	struct outcome got;

	p.test = test;
	p.ops = &on_device;
	p.arg = m;
	memset(step_done, 0, sizeof(step_done));
	got.planted = hazard_program_run(&p, seed, race);
	got.early = p.early.step;
	if (m->early != NOBODY)
		look_at_race(&p);
	clean_up(&p);
	return got;
}

/* ---- A space of a kind --------------------------------------------------- */

struct kind {
	const char *name, *spec;
	u32 ordering;
	bool default_streams;	/* the bound one, and another one */
};

static const struct kind kinds[] = {
	{ "device", "cuda:0", SLABDEV_ORDER_STREAM, false },
	{ "default_streams", "cuda:0", SLABDEV_ORDER_STREAM, true },
	{ "host_order", "cuda-host:0", SLABDEV_ORDER_HOST, false },
};

static void describe_kind(const struct kind *kind, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", kind->name);
}
KUNIT_ARRAY_PARAM(kind, kinds, describe_kind);

static void begin(struct kunit *test, struct machine *m, struct program *p,
		  const struct kind *kind)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	u32 i;

	setenv("SLABDEV_DEBUG", "H", 1);
	*m = (struct machine){ .random = 1, .early = NOBODY };
	*p = (struct program){ .handle = { SLABDEV_HAZARD_HOST } };
	m->host_memory = kind->ordering == SLABDEV_ORDER_HOST;
	p->plain_alloc = m->host_memory ? 0 : BOUND;
	p->plain_free = BOUND;
	for (i = 1; i < STREAMS; i++)
		p->handle[i] = new_stream(test, CU_STREAM_NON_BLOCKING);
	if (kind->default_streams) {
		end_stream(test, p->handle[1]);
		p->handle[1] = SLABDEV_STREAM_PER_THREAD;
	}
	attr.stream = p->handle[BOUND];
	attr.ordering = kind->ordering;
	m->sd = cuda_open(test, kind->spec, &attr);
	/* One of them is not attached. */
	KUNIT_ASSERT_EQ(test, slabdev_stream_attach(m->sd, p->handle[1]), 0);
	KUNIT_ASSERT_EQ(test, slabdev_stream_attach(m->sd, p->handle[3]), 0);
	cu.model_kernel("hazard_step", model_step);
	MUST(test, cuModuleLoadData(&m->module, ptx));
	MUST(test, cuModuleGetFunction(&m->fn, m->module, "hazard_step"));
	for (i = 0; i < EVENTS; i++)
		MUST(test, cuEventCreate(&m->event[i],
					 CU_EVENT_DISABLE_TIMING));
	nr_wrong = 0;
}

static void end(struct kunit *test, struct machine *m, struct program *p)
{
	u32 i;

	KUNIT_EXPECT_EQ(test, nr_wrong, 0);
	KUNIT_EXPECT_EQ(test, slabdev_stream_detach(m->sd, p->handle[1]), 0);
	KUNIT_EXPECT_EQ(test, slabdev_stream_detach(m->sd, p->handle[3]), 0);
	/* It was used, perhaps. */
	(void)slabdev_stream_detach(m->sd, p->handle[2]);
	cuda_close(test, m->sd);
	for (i = 0; i < EVENTS; i++)
		MUST(test, cuEventDestroy(m->event[i]));
	EXPECT_CU(test, cuModuleUnload(m->module), 0);
	for (i = 1; i < STREAMS; i++)
		if (p->handle[i] != SLABDEV_STREAM_PER_THREAD)
			end_stream(test, p->handle[i]);
}

static void correct_programs(struct kunit *test)
{
	u64 seed = random_seed(test);
	struct machine m;
	struct program p;
	u32 i;

	begin(test, &m, &p, test->param_value);
	m.disturbs = true;
	for (i = 0; i < PROGRAMS / ARRAY_SIZE(kinds) + 1; i++)
		KUNIT_EXPECT_FALSE(test, run_once(test, &m, &p, seed + i,
						  false).planted);
	end(test, &m, &p);
}

static void programs_with_a_race(struct kunit *test)
{
	u64 seed = random_seed(test);
	struct machine m;
	struct program p;
	struct outcome got, again;
	u32 i, planted = 0;

	begin(test, &m, &p, test->param_value);
	for (i = 0; i < PROGRAMS / ARRAY_SIZE(kinds) + 1; i++) {
		got = run_once(test, &m, &p, seed + i, true);
		planted += got.planted;
		if (!got.planted)
			continue;
		m.early = got.early;
		again = run_once(test, &m, &p, seed + i, true);
		KUNIT_EXPECT_TRUE(test, again.planted);
		KUNIT_EXPECT_EQ(test, again.early, got.early);
	}
	KUNIT_EXPECT_GT(test, planted, i / 2);
	kunit_info(test, "%u races", planted);
	end(test, &m, &p);
}

/* ---- A capture ----------------------------------------------------------- */

/* Both streams are in it, and only one of them was declared. */
static void capture(struct program *p, void **in, void **out, bool joined)
{
	struct machine *m = p->arg;
	CUstream a = p->handle[1], b = p->handle[2];

	*in = slabdev_alloc_async(m->sd, 5000, a);
	launch(p, 0, WORK_NOTHING, 0, 1, 0);
	KUNIT_EXPECT_EQ(p->test, slabdev_hazard_access(m->sd, *in, a), 0);
	record(p, 1, 0);
	wait(p, 2, 0);
	launch(p, 0, WORK_NOTHING, 0, 2, 0);
	KUNIT_EXPECT_EQ(p->test, slabdev_hazard_access(m->sd, *in, b), 0);
	if (joined) {
		record(p, 2, 1);
		wait(p, 1, 1);
	} else {
		kunit_expect_report(p->test, REPORT_HAZARD);
	}
	KUNIT_EXPECT_EQ(p->test, slabdev_free_async(m->sd, *in, a), 0);
	/* The capture has its memory again, though it is another object. */
	*out = slabdev_alloc_async(m->sd, 5000, a);
	KUNIT_EXPECT_PTR_EQ(p->test, *in, *out);
	if (!joined) {
		record(p, 2, 1);
		wait(p, 1, 1);
	}
}

static void run_capture(struct program *p, bool joined)
{
	struct machine *m = p->arg;
	CUstream a = p->handle[1];
	struct slabdev_graph *graph;
	CUgraph cuda_graph;
	void *in, *out;

	KUNIT_ASSERT_EQ(p->test, slabdev_capture_begin(m->sd, a, &graph), 0);
	MUST(p->test, cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	capture(p, &in, &out, joined);
	MUST(p->test, cuStreamEndCapture(a, &cuda_graph));
	KUNIT_ASSERT_EQ(p->test, slabdev_capture_end(graph), 0);
	/* Whoever frees it, and in whatever order: the graph has it. */
	KUNIT_EXPECT_EQ(p->test, slabdev_free(m->sd, out), 0);
	KUNIT_ASSERT_EQ(p->test, slabdev_graph_release(graph), 0);
	MUST(p->test, cuGraphDestroy(cuda_graph));
}

static void a_capture_that_spreads(struct kunit *test)
{
	struct machine m;
	struct program p;

	begin(test, &m, &p, &kinds[0]);
	p.test = test;
	p.arg = &m;
	run_capture(&p, true);
	run_capture(&p, false);
	KUNIT_EXPECT_REPORT_HAS(test, "freed while another stream may");
	end(test, &m, &p);
}

static const struct kunit_case cuda_hazard_cases[] = {
	KUNIT_CASE_PARAM(correct_programs, kind_gen_params, .isolated = true),
	KUNIT_CASE_PARAM(programs_with_a_race, kind_gen_params,
			 .isolated = true),
	KUNIT_CASE(a_capture_that_spreads, .isolated = true),
	{ 0 }
};

static const struct kunit_suite cuda_hazard_suite = {
	.name = "cuda_hazard",
	.init = cuda_space_init,
	.exit = cuda_space_exit,
	.cases = cuda_hazard_cases,
};
kunit_test_suite(cuda_hazard_suite);
