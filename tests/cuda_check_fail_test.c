// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_check_fail_test.c - where the kernel that looks at memory cannot.
 *
 * A driver that does not take its text, a kernel that lies, calls that fail,
 * captures, faults, forks. Whatever it is, damage is found all the same, and
 * nothing is left behind.
 */
#include <errno.h>
#include <stdio.h>

#include "core/log.h"
#include "tests/check_yard.h"
#include "vmm/cuda_dev.h"

/* ---- What goes wrong ---------------------------------------------------- */

struct refusal {
	const char *call;
	CUresult code;
	int err;		/* of the first check */
	int then;		/* of the next one */
};

static const struct refusal refusals[] = {
	{ "cuModuleLoadData", CUDA_ERROR_INVALID_IMAGE, -ENOTSUP, -ENOTSUP },
	{ "cuModuleLoadData", CUDA_ERROR_NO_BINARY_FOR_GPU, -ENOTSUP,
	  -ENOTSUP },
	{ "cuModuleLoadData", CUDA_ERROR_INVALID_PTX, -ENOTSUP, -ENOTSUP },
	{ "cuModuleLoadData", CUDA_ERROR_JIT_COMPILER_NOT_FOUND, -ENOTSUP,
	  -ENOTSUP },
	{ "cuModuleLoadData", CUDA_ERROR_UNSUPPORTED_PTX_VERSION, -ENOTSUP,
	  -ENOTSUP },
	{ "cuModuleLoadData", CUDA_ERROR_JIT_COMPILATION_DISABLED, -ENOTSUP,
	  -ENOTSUP },
	{ "cuModuleLoadData", CUDA_ERROR_INVALID_SOURCE, -ENOTSUP, -ENOTSUP },
	{ "cuModuleLoadData", CUDA_ERROR_OUT_OF_MEMORY, -ENOMEM, 0 },
	{ "cuModuleGetFunction", CUDA_ERROR_NOT_FOUND, -ENOTSUP, -ENOTSUP },
	{ "cuModuleGetFunction", CUDA_ERROR_OUT_OF_MEMORY, -ENOMEM, 0 },
	{ "cuMemHostAlloc", CUDA_ERROR_OUT_OF_MEMORY, -ENOMEM, 0 },
	{ "cuMemHostAlloc", CUDA_ERROR_NOT_SUPPORTED, -ENOTSUP, -ENOTSUP },
	{ "cuLaunchKernel", CUDA_ERROR_INVALID_PTX, -ENOTSUP, -ENOTSUP },
	{ "cuLaunchKernel", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, -ENOTSUP,
	  -ENOTSUP },
	{ "cuStreamSynchronize", CUDA_ERROR_UNKNOWN, -ENOTSUP, -ENOTSUP },
	{ "cuStreamIsCapturing", CUDA_ERROR_UNKNOWN, -EIO, 0 },
	{ "cuThreadExchangeStreamCaptureMode", CUDA_ERROR_UNKNOWN, -EIO, 0 },
	{ "cuCtxPushCurrent_v2", CUDA_ERROR_UNKNOWN, -EIO, 0 },
	{ "cuCtxGetId", CUDA_ERROR_UNKNOWN, -EIO, 0 },
};

static void describe_refusal(const struct refusal *r, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s, %d", r->call, (int)r->code);
}
KUNIT_ARRAY_PARAM(refusal, refusals, describe_refusal);

static const struct refusal *refusal_of(struct kunit *test)
{
	const struct refusal *r = test->param_value;

	test->param_value = NULL;
	return r;
}

static u32 told;

static void count_words(int level, int kind, const char *text, void *arg)
{
	(void)level;
	(void)arg;
	if (kind == LOG_PLAIN && strstr(text, "no kernel looks at red zones"))
		told++;
}

/* What is refused for ever is not asked for again, and told of once. */
static void the_first_check_fails(struct kunit *test)
{
	const struct refusal *r = refusal_of(test);
	struct yard *y = yard_open(test);
	struct vmm_check range = yard_range(y, 0, 1000);
	u64 loads;

	KUNIT_ASSERT_EQ(test, log_configure(LOG_INFO, NULL), 0);
	told = 0;
	log_set_sink(count_words, NULL);
	cu.model_fail(r->call, 1, r->code, 0);
	KUNIT_EXPECT_EQ_MSG(test, yard_look(y, &range, 1), r->err, "%s",
			    slabdev_last_error());
	loads = cu.model_calls("cuModuleLoadData");
	KUNIT_EXPECT_EQ(test, yard_look(y, &range, 1), r->then);
	KUNIT_EXPECT_EQ(test, yard_look(y, &range, 1), r->then);
	KUNIT_EXPECT_EQ(test, told, r->then ? 1 : 0);
	KUNIT_EXPECT_EQ(test, cu.model_calls("cuModuleLoadData") - loads,
			r->then ? 0 : 1);
	yard_close(y);
}

/* What fails for once, when all is loaded, does not refuse it. */
static void the_proof_fails(struct kunit *test)
{
	static const char *const calls[] = {
		"cuLaunchKernel", "cuStreamSynchronize",
	};
	struct yard *y = yard_open(test);
	struct vmm_check range = yard_range(y, 0, 1000);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		cu.model_fail(calls[i], 1, CUDA_ERROR_OUT_OF_MEMORY, 0);
		KUNIT_EXPECT_EQ(test, yard_look(y, &range, 1), -ENOMEM);
	}
	KUNIT_EXPECT_EQ(test, yard_look(y, &range, 1), 0);
	KUNIT_EXPECT_EQ(test, range.first_bad, VMM_CHECK_CLEAN);
	KUNIT_EXPECT_EQ(test, cu.model_calls("cuModuleLoadData"), 1);
	yard_close(y);
}

/* Once it has worked, a failure is one of this call. */
static void a_later_check_fails(struct kunit *test)
{
	static const struct refusal later[] = {
		{ "cuLaunchKernel", CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, -EIO,
		  0 },
		{ "cuStreamSynchronize", CUDA_ERROR_OUT_OF_MEMORY, -ENOMEM, 0 },
		{ "cuLaunchKernel", CUDA_ERROR_INVALID_PTX, -ENOTSUP,
		  -ENOTSUP },
	};
	struct yard *y = yard_open(test);
	struct vmm_check range = yard_range(y, 0, 1000);
	u32 i;

	KUNIT_ASSERT_EQ(test, yard_look(y, &range, 1), 0);
	for (i = 0; i < ARRAY_SIZE(later); i++) {
		cu.model_fail(later[i].call, 1, later[i].code, 0);
		KUNIT_EXPECT_EQ(test, yard_look(y, &range, 1), later[i].err);
		KUNIT_EXPECT_EQ(test, yard_look(y, &range, 1), later[i].then);
	}
	yard_close(y);
}

/* Of launches that may not have ended nothing is used again, nor freed. */
static void waits_that_fail(struct kunit *test)
{
	struct yard *y = yard_open(test);
	struct vmm_check range = yard_range(y, 0, 1000);
	u32 i;

	KUNIT_ASSERT_EQ(test, yard_look(y, &range, 1), 0);
	for (i = 0; i < 4; i++) {
		cu.model_fail("cuStreamSynchronize", 1, CUDA_ERROR_UNKNOWN, 0);
		KUNIT_EXPECT_EQ(test, yard_look(y, &range, 1), -EIO);
	}
	KUNIT_EXPECT_EQ(test, yard_look(y, &range, 1), -EBUSY);
	yard_close(y);
}

/* What fails once is tried again where there is no later. */
static void the_end_fails_once(struct kunit *test)
{
	struct yard *y = yard_open(test);
	struct vmm_check range = yard_range(y, 0, 1000);

	KUNIT_ASSERT_EQ(test, yard_look(y, &range, 1), 0);
	cu.model_fail("cuModuleUnload", 1, CUDA_ERROR_UNKNOWN, 0);
	cu.model_fail("cuMemFreeHost", 1, CUDA_ERROR_UNKNOWN, 0);
	yard_close(y);
	KUNIT_EXPECT_EQ(test, cu.model_calls("cuModuleUnload"), 2);
}

static void do_nothing(const uint64_t *params)
{
	(void)params;
}

/* Memory is never clean because nobody looked. */
static void a_kernel_that_does_nothing(struct kunit *test)
{
	struct yard *y = yard_open(test);
	struct vmm_check range = yard_range(y, 0, 1000);

	KUNIT_ASSERT_EQ(test, cu.model_kernel("slabdev_check", do_nothing), 0);
	KUNIT_EXPECT_EQ(test, yard_look(y, &range, 1), -ENOTSUP);
	EXPECT_LAST_ERROR_HAS(test, "does not find");
	KUNIT_EXPECT_EQ(test, yard_look(y, &range, 1), -ENOTSUP);
	yard_close(y);
}

/* ---- Kernels that lie ---------------------------------------------------- */

struct record {
	u64 addr, size, wanted, first_bad;
};

/* What one does not see, or does not do. */
static const struct lie {
	const char *name;
	bool head, half[2], tail, first_step, most;
} lies[] = {
	{ .name = "head", .head = true },
	{ .name = "first half", .half = { true, false } },
	{ .name = "second half", .half = { false, true } },
	{ .name = "tail", .tail = true },
	{ .name = "second step", .first_step = true },
	{ .name = "least", .most = true },
};

static void describe_lie(const struct lie *l, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", l->name);
}
KUNIT_ARRAY_PARAM(lie, lies, describe_lie);

static const struct lie *told_lie;

static bool is_overlooked(const struct record *r, u64 i)
{
	u64 head = align_up(r->addr, 16), at = r->addr + i;
	u64 tail = (r->addr + r->size) & ~(u64)15;

	if (at < head)
		return told_lie->head;
	if (at >= tail)
		return told_lie->tail;
	return told_lie->half[at / 8 % 2] ||
	       (told_lie->first_step && at - head >= 512);
}

static void look_and_lie(const uint64_t *params)
{
	struct record *r = to_ptr(params[0]);
	u64 n = (u32)params[1], i;

	for (; n; n--, r++)
		for (i = 0; i < r->size; i++) {
			if (*(u8 *)to_ptr(r->addr + i) == (u8)r->wanted ||
			    is_overlooked(r, i))
				continue;
			r->first_bad = i;
			if (!told_lie->most)
				break;
		}
}

/* It is asked about each of its ways before it is believed. */
static void a_kernel_that_lies(struct kunit *test)
{
	struct yard *y;
	struct vmm_check range;

	told_lie = test->param_value;
	test->param_value = NULL;
	y = yard_open(test);
	range = yard_range(y, 0, 1000);
	KUNIT_ASSERT_EQ(test, cu.model_kernel("slabdev_check", look_and_lie),
			0);
	KUNIT_EXPECT_EQ(test, yard_look(y, &range, 1), -ENOTSUP);
	EXPECT_LAST_ERROR_HAS(test, "does not find");
	yard_close(y);
}

/* ---- Without a kernel ---------------------------------------------------- */

/* Damage is found whether the device looks or not. */
static void found_without_a_kernel(struct kunit *test)
{
	const struct refusal *r = refusal_of(test);
	struct stream_space s;
	u8 *p;

	need_debug(test);
	debug_letters_are("FZP");
	stream_space_open(&s, test, NULL, GIB, SLABDEV_ORDER_STREAM);
	p = must_alloc(test, s.sd, 5000);
	cuda_submit_fill(test, p, 5001, 0x5a, s.bound);
	cu.model_fail(r->call, 1, r->code, 0);
	EXPECT_TOLD(test, REPORT_RED_ZONE, expect_damaged(test, s.sd, 1));
	cu.model_fail(r->call, 0, 0, 0);
	EXPECT_FREED(test, s.sd, p);
	cuda_close(test, s.sd);
	stream_space_end(&s);
}

/* The capture goes on, and the check comes later. */
static void a_capture_forbids_it(struct kunit *test)
{
	struct yard *y = yard_open(test);
	struct vmm_check range = yard_range(y, 0, 1000);
	CUgraph graph = NULL;
	u32 i;

	for (i = 0; i < 2; i++) {
		MUST(test, cuStreamBeginCapture(y->s.bound,
				CU_STREAM_CAPTURE_MODE_GLOBAL));
		KUNIT_EXPECT_EQ(test, yard_look(y, &range, 1), -EAGAIN);
		MUST(test, cuStreamEndCapture(y->s.bound, &graph));
		MUST(test, cuGraphDestroy(graph));
		KUNIT_EXPECT_EQ(test, yard_look(y, &range, 1), 0);
	}
	EXPECT_NO_VIOLATION(test);
	yard_close(y);
}

/* ---- In processes of their own ------------------------------------------ */

static struct cuda_driver caught_drv;
static CUresult (*launch_now)(CUfunction, unsigned int, unsigned int,
			      unsigned int, unsigned int, unsigned int,
			      unsigned int, unsigned int, CUstream, void **,
			      void **);

/* Another thread has begun one after the library asked. */
static CUresult launch_into_capture(CUfunction fn, unsigned int gx,
				    unsigned int gy, unsigned int gz,
				    unsigned int bx, unsigned int by,
				    unsigned int bz, unsigned int shared,
				    CUstream to, void **params, void **extra)
{
	CUresult result = cu.cuStreamBeginCapture(to,
					CU_STREAM_CAPTURE_MODE_RELAXED);

	return result ? result : launch_now(fn, gx, gy, gz, bx, by, bz, shared,
					    to, params, extra);
}

/* The look of @range goes into a graph. */
static CUgraph look_in_a_capture(struct yard *y, struct vmm_check *range)
{
	struct cuda_dev *d = y->s.sd->vmm.dev;
	const struct cuda_driver *drv = d->drv;
	CUgraph graph = NULL;

	caught_drv = *drv;
	launch_now = drv->cuLaunchKernel;
	caught_drv.cuLaunchKernel = launch_into_capture;
	d->drv = &caught_drv;
	KUNIT_EXPECT_EQ(y->s.test, yard_look(y, range, 1), -EAGAIN);
	d->drv = drv;
	MUST(y->s.test, cuStreamEndCapture(y->s.bound, &graph));
	return graph;
}

/* Neither is the kernel refused then, nor does it go while the graph is there. */
static void a_graph_has_the_proof(struct kunit *test)
{
	CUgraphExec exec = NULL;
	struct vmm_check range;
	CUstream stream;
	struct yard *y;
	CUgraph graph;

	cuda_space_init(test);
	y = yard_open(test);
	range = yard_range(y, 0, 1000);
	graph = look_in_a_capture(y, &range);
	KUNIT_EXPECT_EQ_MSG(test, yard_look(y, &range, 1), 0, "%s",
			    slabdev_last_error());
	KUNIT_EXPECT_EQ(test, range.first_bad, VMM_CHECK_CLEAN);
	KUNIT_EXPECT_EQ(test, cu.model_calls("cuModuleLoadData"), 1);
	yard_close(y);
	stream = new_stream(test, CU_STREAM_NON_BLOCKING);
	MUST(test, cuGraphInstantiateWithFlags(&exec, graph, 0));
	MUST(test, cuGraphLaunch(exec, stream));
	MUST(test, cuStreamSynchronize(stream));
	EXPECT_NO_VIOLATION(test);
}

static void a_capture_gets_a_launch(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, in_fork(test, a_graph_has_the_proof), 0);
}

static void fault_in_a_launch(struct kunit *test)
{
	struct vmm_check range;
	struct yard *y;

	cuda_space_init(test);
	y = yard_open(test);
	range = yard_range(y, 0, 1000);
	KUNIT_ASSERT_EQ(test, yard_look(y, &range, 1), 0);
	cu.model_fail("cuLaunchKernel", 1, CUDA_ERROR_ILLEGAL_ADDRESS, 1);
	KUNIT_EXPECT_EQ(test, yard_look(y, &range, 1), -EIO);
	KUNIT_EXPECT_EQ(test, yard_look(y, &range, 1), -EIO);
	kunit_expect_report(test, REPORT_DEAD);
	(void)slabdev_close(y->s.sd, SLABDEV_CLOSE_FORCE);
	EXPECT_NO_VIOLATION(test);
}

static void a_fault_is_for_ever(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, in_fork(test, fault_in_a_launch), 0);
}

/* Each has a module of its own, for its own context. */
static void two_devices(struct kunit *test)
{
	struct slabdev *sd[2];
	struct vmm_check r;
	void *p[2];
	u32 i;

	cuda_model(test, "two");
	for (i = 0; i < 2; i++) {
		sd[i] = cuda_open(test, i ? "cuda:1" : "cuda:0", NULL);
		p[i] = slabdev_zalloc(sd[i], 5000);
		KUNIT_ASSERT_NOT_NULL(test, p[i]);
	}
	for (i = 0; i < 4; i++) {
		r = (struct vmm_check){ .addr = device_ptr(p[i % 2]) };
		r.size = 5000;
		KUNIT_ASSERT_EQ(test, vmm_check(&sd[i % 2]->vmm, &r, 1), 0);
		KUNIT_EXPECT_EQ(test, r.first_bad, VMM_CHECK_CLEAN);
		r.byte = 1;
		KUNIT_ASSERT_EQ(test, vmm_check(&sd[i % 2]->vmm, &r, 1), 0);
		KUNIT_EXPECT_EQ(test, r.first_bad, 0);
	}
	KUNIT_EXPECT_EQ(test, cu.model_calls("cuModuleLoadData"), 2);
	for (i = 0; i < 2; i++) {
		EXPECT_FREED(test, sd[i], p[i]);
		cuda_close(test, sd[i]);
	}
	KUNIT_EXPECT_EQ(test, cu.model_calls("cuModuleUnload"), 2);
}

static struct yard *parents;

static void look_in_the_child(struct kunit *test)
{
	u64 calls = cu.model_calls("*");

	KUNIT_EXPECT_EQ(test, slabdev_validate(parents->s.sd), -EOWNERDEAD);
	KUNIT_EXPECT_EQ(test, cu.model_calls("*"), calls);
}

/* A child never asks the device; its parent goes on. */
static void children_do_not_look(struct kunit *test)
{
	struct vmm_check range;

	parents = yard_open(test);
	range = yard_range(parents, 0, 1000);
	KUNIT_ASSERT_EQ(test, yard_look(parents, &range, 1), 0);
	KUNIT_EXPECT_EQ(test, in_fork(test, look_in_the_child), 0);
	KUNIT_EXPECT_EQ(test, yard_look(parents, &range, 1), 0);
	yard_close(parents);
}

static const struct kunit_case cuda_check_fail_cases[] = {
	KUNIT_CASE_PARAM(the_first_check_fails, refusal_gen_params,
			 .isolated = true),
	KUNIT_CASE(the_proof_fails),
	KUNIT_CASE(a_later_check_fails),
	KUNIT_CASE(waits_that_fail),
	KUNIT_CASE(the_end_fails_once),
	KUNIT_CASE_ISOLATED(a_kernel_that_does_nothing),
	KUNIT_CASE_PARAM(a_kernel_that_lies, lie_gen_params, .isolated = true),
	KUNIT_CASE_PARAM(found_without_a_kernel, refusal_gen_params),
	KUNIT_CASE(a_capture_forbids_it),
	KUNIT_CASE(children_do_not_look),
	{}
};

static const struct kunit_suite cuda_check_fail_suite = {
	.name = "cuda_check_fail",
	.init = cuda_space_init,
	.exit = cuda_space_exit,
	.cases = cuda_check_fail_cases,
};

static const struct kunit_case cuda_check_alone_cases[] = {
	KUNIT_CASE(a_capture_gets_a_launch),
	KUNIT_CASE(a_fault_is_for_ever),
	KUNIT_CASE_ISOLATED(two_devices),
	{}
};

static const struct kunit_suite cuda_check_alone_suite = {
	.name = "cuda_check_alone",
	.cases = cuda_check_alone_cases,
};
kunit_test_suites(&cuda_check_fail_suite, &cuda_check_alone_suite);
