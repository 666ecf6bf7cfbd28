// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_guard_test.c - guard mode on the model of the driver: when the memory of
 * guarded objects is unmapped, and what is said after an access to it.
 *
 * That nothing is unmapped under work the model watches in every case.
 */
#include "core/log.h"
#include "tests/guard_space.h"
#include "tests/stream_space.h"

#define LIMIT (128 * MIB)

/* The device has failed: nothing can be given back. Isolated cases only. */
static bool has_failed;

static void cuda_guard_exit(struct kunit *test)
{
	if (!has_failed)
		cuda_space_exit(test);
}

static void begin(struct stream_space *s, struct kunit *test, u32 ordering)
{
	stream_space_open(s, test, NULL, LIMIT, ordering);
	/* No object that was free before is handed out. */
	s->sd->use_sheaves = false;
	s->sd->bypass = true;
	guard_sizes(s->sd, 1, 0, UINT64_MAX);
}

static u64 nr_live(struct stream_space *s)
{
	return guard_stats(s->test, s->sd).live;
}

/* ---- When ---------------------------------------------------------------- */

static void the_bound_stream_is_waited_for(struct kunit *test)
{
	struct stream_space s;
	void *p;

	begin(&s, test, SLABDEV_ORDER_STREAM);
	p = must_alloc(test, s.sd, 1000);
	hold(&s, s.bound);
	cuda_submit_fill(test, p, 1000, 1, s.bound);
	EXPECT_FREED(test, s.sd, p);
	KUNIT_EXPECT_EQ(test, slabdev_poll(s.sd), 0);
	KUNIT_EXPECT_EQ(test, nr_live(&s), 1);
	KUNIT_EXPECT_NE(test, sums(&s).pending, 0);
	let_go(&s, s.bound);
	run_through(&s, s.bound);
	expect_nothing_pending(&s);
	KUNIT_EXPECT_EQ(test, nr_live(&s), 0);
	stream_space_close(&s);
}

static void other_streams_are_waited_for(struct kunit *test)
{
	struct stream_space s;
	void *p, *q;

	begin(&s, test, SLABDEV_ORDER_STREAM);
	attach(&s, s.lane[0]);
	p = get_on(&s, 1000, s.lane[0]);
	q = get_on(&s, 5 * MIB, s.lane[1]);
	KUNIT_EXPECT_EQ(test, slabdev_use(s.sd, p, s.lane[2]), 0);
	hold(&s, s.lane[2]);
	cuda_submit_fill(test, p, 1000, 2, s.lane[2]);
	give_on(&s, p, s.lane[0]);
	run_through(&s, s.lane[0]);
	KUNIT_EXPECT_EQ(test, slabdev_poll(s.sd), 0);
	KUNIT_EXPECT_EQ(test, nr_live(&s), 2);
	let_go(&s, s.lane[2]);
	run_through(&s, s.lane[2]);
	KUNIT_EXPECT_EQ(test, slabdev_poll(s.sd), 0);
	KUNIT_EXPECT_EQ(test, nr_live(&s), 1);
	/* Its own stream does not get it again, either. */
	hold(&s, s.lane[1]);
	give_on(&s, q, s.lane[1]);
	p = slabdev_alloc_async(s.sd, 5 * MIB, s.lane[1]);
	KUNIT_EXPECT_PTR_NE(test, p, q);
	give_on(&s, p, s.lane[1]);
	let_go(&s, s.lane[1]);
	run_through(&s, s.lane[1]);
	detach(&s, s.lane[0]);
	stream_space_close(&s);
}

/* Nothing was put into the stream that it was for: a free elsewhere, which says
 * nothing of it, is right. */
static void unused_objects_are_freed_anywhere(struct kunit *test)
{
	struct stream_space s;
	void *p;

	begin(&s, test, SLABDEV_ORDER_STREAM);
	hold(&s, s.lane[0]);
	p = slabdev_alloc_async(s.sd, 1000, s.lane[0]);
	KUNIT_ASSERT_NOT_NULL(test, p);
	EXPECT_FREED(test, s.sd, p);
	run_through(&s, s.bound);
	KUNIT_EXPECT_EQ(test, slabdev_poll(s.sd), 0);
	KUNIT_EXPECT_EQ(test, nr_live(&s), 0);
	let_go(&s, s.lane[0]);
	run_through(&s, s.lane[0]);
	stream_space_close(&s);
}

/* It waits for no other stream. */
static void host_order_waits_for_the_bound_one(struct kunit *test)
{
	struct stream_space s;
	void *p;

	begin(&s, test, SLABDEV_ORDER_HOST);
	p = must_alloc(test, s.sd, 1000);
	cuda_submit_fill(test, p, 1000, 1, s.lane[0]);
	run_through(&s, s.lane[0]);
	hold(&s, s.lane[1]);
	EXPECT_FREED(test, s.sd, p);
	run_through(&s, s.bound);
	KUNIT_EXPECT_EQ(test, slabdev_poll(s.sd), 0);
	KUNIT_EXPECT_EQ(test, nr_live(&s), 0);
	let_go(&s, s.lane[1]);
	stream_space_close(&s);
}

/* What a graph may use for ever is an ordinary object; what it was freed in
 * keeps a guarded one. */
static void captures_are_left_alone(struct kunit *test)
{
	struct slabdev_graph *graph = NULL;
	struct stream_space s;
	void *p, *q;

	begin(&s, test, SLABDEV_ORDER_STREAM);
	p = must_alloc(test, s.sd, 70000);
	KUNIT_ASSERT_EQ(test, slabdev_capture_begin(s.sd, s.lane[0], &graph),
			0);
	q = slabdev_alloc_async(s.sd, 1000, s.lane[0]);
	KUNIT_ASSERT_NOT_NULL(test, q);
	KUNIT_EXPECT_EQ(test, guard_stats(test, s.sd).guarded, 1);
	give_on(&s, q, s.lane[0]);
	give_on(&s, p, s.lane[0]);
	KUNIT_EXPECT_EQ(test, nr_live(&s), 1);
	/* The graph hands out what it holds, but not that. */
	q = slabdev_alloc_async(s.sd, 70000, s.lane[0]);
	KUNIT_EXPECT_PTR_NE(test, q, p);
	give_on(&s, q, s.lane[0]);
	KUNIT_EXPECT_EQ(test, slabdev_capture_end(graph), 0);
	KUNIT_EXPECT_EQ(test, nr_live(&s), 1);
	sums(&s);
	KUNIT_EXPECT_EQ(test, slabdev_graph_release(graph), 0);
	KUNIT_EXPECT_EQ(test, nr_live(&s), 0);
	stream_space_close(&s);
}

/* ---- What is found ------------------------------------------------------- */

static void zones_are_looked_at(struct kunit *test)
{
	struct stream_space s;
	char *p;

	begin(&s, test, SLABDEV_ORDER_STREAM);
	p = must_alloc(test, s.sd, 1000);
	cuda_submit_fill(test, p, 1001, 0x77, s.bound);
	run_through(&s, s.bound);
	kunit_expect_report(test, REPORT_RED_ZONE);
	EXPECT_FREED(test, s.sd, p);
	run_through(&s, s.bound);
	KUNIT_EXPECT_EQ(test, slabdev_poll(s.sd), 0);
	KUNIT_EXPECT_REPORT_HAS(test, "Right Redzone overwritten");
	KUNIT_EXPECT_REPORT_HAS(test, "First byte 0x77 instead of 0xcc");
	p = get_on(&s, 1000, s.lane[0]);
	cuda_submit_fill(test, p - 3, 5, 0x66, s.lane[0]);
	run_through(&s, s.lane[0]);
	kunit_expect_report(test, REPORT_RED_ZONE);
	give_on(&s, p, s.lane[0]);
	run_through(&s, s.lane[0]);
	KUNIT_EXPECT_EQ(test, slabdev_poll(s.sd), 0);
	KUNIT_EXPECT_REPORT_HAS(test, "Left Redzone overwritten");
	KUNIT_EXPECT_REPORT_HAS(test, "1 byte before the start of the object");
	stream_space_close(&s);
}

static const char ptx[] =
".version 6.4\n"
".target sm_50\n"
".address_size 64\n"
".visible .entry guard_write(.param .u64 p)\n"
"{\n"
"	ret;\n"
"}\n";

static void model_write(const uint64_t *params)
{
	u8 byte = 1;

	cu.model_access(params[0], &byte, 1, MODEL_WRITE);
}

static void launch_write(struct stream_space *s, const char *p)
{
	u64 addr = (u64)(uintptr_t)p;
	void *params[] = { &addr };
	CUmodule module;
	CUfunction fn;

	cu.model_kernel("guard_write", model_write);
	MUST(s->test, cuModuleLoadData(&module, ptx));
	MUST(s->test, cuModuleGetFunction(&fn, module, "guard_write"));
	MUST(s->test, cuLaunchKernel(fn, 1, 1, 1, 1, 1, 1, 0, s->lane[0],
				     params, NULL));
	cu.model_run();
	EXPECT_CU(s->test, cuStreamSynchronize(s->lane[0]), 700);
	has_failed = true;
}

/* The space finds out with its next call of the driver. */
static void expect_suspects(struct stream_space *s)
{
	kunit_expect_report(s->test, REPORT_DEAD);
	kunit_expect_report(s->test, REPORT_GUARD);
	KUNIT_EXPECT_EQ(s->test, slabdev_prime(s->sd, 4 * MIB), -EIO);
	KUNIT_EXPECT_REPORT_HAS(s->test, "BUG slabdev test: Guarded memory "
				"when the device failed");
}

static void expect_told(struct kunit *test, const void *p, const char *what)
{
	char text[128];

	snprintf(text, sizeof(text), "Object %p of %s", p, what);
	KUNIT_EXPECT_REPORT_HAS(test, text);
}

static void a_kernel_writes_past_the_end(struct kunit *test)
{
	struct stream_space s;
	char *p, *q;

	begin(&s, test, SLABDEV_ORDER_STREAM);
	p = must_alloc(test, s.sd, 512);
	q = must_alloc(test, s.sd, 5000);
	EXPECT_FREED(test, s.sd, q);
	run_through(&s, s.bound);
	KUNIT_EXPECT_EQ(test, slabdev_poll(s.sd), 0);
	launch_write(&s, p + 512);
	expect_suspects(&s);
	expect_told(test, p, "alloc-512 size=512, guarded\n");
	expect_told(test, q, "alloc-5120 size=5000, guarded, freed and "
		    "unmapped\n");
	KUNIT_EXPECT_REPORT_HAS(test, "Allocated by thread");
	(void)slabdev_close(s.sd, SLABDEV_CLOSE_FORCE);
}

static void a_kernel_writes_after_the_free(struct kunit *test)
{
	struct stream_space s;
	char *p;

	begin(&s, test, SLABDEV_ORDER_STREAM);
	p = must_alloc(test, s.sd, 512);
	EXPECT_FREED(test, s.sd, p);
	run_through(&s, s.bound);
	KUNIT_EXPECT_EQ(test, slabdev_poll(s.sd), 0);
	launch_write(&s, p);
	expect_suspects(&s);
	KUNIT_EXPECT_REPORT_HAS(test, "freed lately, the latest first:");
	expect_told(test, p, "alloc-512 size=512, guarded, freed and "
		    "unmapped\n");
	KUNIT_EXPECT_REPORT_HAS(test, "Freed by thread");
	(void)slabdev_close(s.sd, SLABDEV_CLOSE_FORCE);
}

/* ---- Where it cannot be ------------------------------------------------- */

static void describe_kind(const struct cuda_kind_param *kind, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", kind->name);
}
KUNIT_ARRAY_PARAM(kind, cuda_kinds, describe_kind);

static void kinds_without_mappings(struct kunit *test)
{
	const struct cuda_kind_param *kind = test->param_value;
	struct slabdev *sd;
	void *p;

	setenv("SLABDEV_GUARD", "1", 1);
	sd = cuda_open_kind(test, kind, LIMIT, NULL);
	p = must_alloc(test, sd, 1000);
	KUNIT_EXPECT_EQ(test, guard_stats(test, sd).guarded,
			kind == CUDA_KIND_VMM);
	KUNIT_EXPECT_EQ(test, guard_stats(test, sd).refused, 0);
	EXPECT_FREED(test, sd, p);
	MUST(test, cuCtxSynchronize());
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, guard_stats(test, sd).live, 0);
	cuda_close(test, sd);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(the_bound_stream_is_waited_for),
	KUNIT_CASE(other_streams_are_waited_for),
	KUNIT_CASE(unused_objects_are_freed_anywhere),
	KUNIT_CASE(host_order_waits_for_the_bound_one),
	KUNIT_CASE(captures_are_left_alone),
	KUNIT_CASE(zones_are_looked_at),
	KUNIT_CASE_ISOLATED(a_kernel_writes_past_the_end),
	KUNIT_CASE_ISOLATED(a_kernel_writes_after_the_free),
	KUNIT_CASE_PARAM(kinds_without_mappings, kind_gen_params,
			 .isolated = true),
	{ 0 }
};

static const struct kunit_suite cuda_guard_suite = {
	.name = "cuda_guard",
	.init = cuda_space_init,
	.exit = cuda_guard_exit,
	.cases = cases,
};
kunit_test_suite(cuda_guard_suite);
