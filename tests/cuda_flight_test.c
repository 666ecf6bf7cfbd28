// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_flight_test.c - memory that was freed while work on it is in flight.
 *
 * A stream of the model is held, so that what was put into it stays pending for
 * as long as a case wants. A driver would unmap under that work, which then
 * faults with 700 and takes the process with it; the model counts it as a
 * violation, and faults too. So each case ends with a wait for all the work,
 * which must succeed.
 */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "core/os.h"
#include "slab/slab.h"
#include "tests/clock.h"
#include "tests/crew.h"
#include "tests/cuda_space.h"

#define LIMIT (160 * MIB)
#define OBJECT (5 * MIB)
#define WAIT_NS (60ull * 1000000000)

static void describe_kind(const struct cuda_kind_param *kind, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", kind->name);
}
KUNIT_ARRAY_PARAM(kind, cuda_kinds, describe_kind);

/* A space with a bound stream that is held. */
struct flight {
	struct kunit *test;
	struct slabdev *sd;
	CUstream stream;
	struct crew *crew;
	int err;		/* of the call in the other thread */
	void *p;
	u32 is_done;		/* atomic: it has returned */
};

static void flight_begin(struct flight *f, struct kunit *test)
{
	const struct cuda_kind_param *kind = test->param_value ?: CUDA_KIND_VMM;

	*f = (struct flight){ .test = test };
	f->crew = crew_new(test, 1);
	f->stream = new_stream(test, CU_STREAM_NON_BLOCKING);
	f->sd = cuda_open_kind(test, kind, LIMIT, f->stream);
}

static void hold(struct flight *f)
{
	KUNIT_ASSERT_EQ(f->test, cu.model_stream_hold(f->stream), 0);
}

static void let_go(struct flight *f)
{
	KUNIT_ASSERT_EQ(f->test, cu.model_stream_release(f->stream), 0);
}

/* All that was submitted runs through. */
static void flight_land(struct flight *f)
{
	let_go(f);
	EXPECT_CU(f->test, cuStreamSynchronize(f->stream), 0);
	EXPECT_NO_VIOLATION(f->test);
}

static void flight_end(struct flight *f)
{
	flight_land(f);
	expect_sound(f->test, f->sd);
	KUNIT_EXPECT_EQ(f->test, slabdev_trim(f->sd, 0), 0);
	KUNIT_EXPECT_EQ(f->test, stats_of(f->test, f->sd).mapped, 0);
	cuda_close(f->test, f->sd);
	end_stream(f->test, f->stream);
}

/* An object with work in flight, that is freed. */
static void *free_in_flight(struct flight *f, size_t size)
{
	void *p = must_alloc(f->test, f->sd, size);

	cuda_submit_fill(f->test, p, size, 0x11, f->stream);
	EXPECT_FREED(f->test, f->sd, p);
	return p;
}

static u64 mapped(struct flight *f)
{
	return stats_of(f->test, f->sd).mapped;
}

/* ---- Another thread in a call ----------------------------------------- */

static void trim_all(void *arg)
{
	struct flight *f = arg;

	f->err = slabdev_trim(f->sd, 0);
	store_release(&f->is_done, 1);
}

static void close_space_there(void *arg)
{
	struct flight *f = arg;

	f->err = slabdev_close(f->sd, 0);
	store_release(&f->is_done, 1);
}

static void alloc_huge_there(void *arg)
{
	struct flight *f = arg;

	f->p = slabdev_alloc(f->sd, 94 * MIB);
	store_release(&f->is_done, 1);
}

/* Until the other thread waits in the driver for an event. */
static void await_wait(struct flight *f, u64 before)
{
	u64 end = now_ns() + WAIT_NS;

	while (cu.model_calls("cuEventSynchronize") == before &&
	       !load_acquire(&f->is_done)) {
		KUNIT_ASSERT_TRUE_MSG(f->test, now_ns() < end,
				      "nobody waits for the device");
		os_yield();
	}
}

static void start_and_await_wait(struct flight *f, crew_job_fn job)
{
	u64 before = cu.model_calls("cuEventSynchronize");

	f->is_done = 0;
	crew_start(f->crew, 0, job, f);
	await_wait(f, before);
	KUNIT_EXPECT_FALSE(f->test, load_acquire(&f->is_done));
}

/* ---- Cases ------------------------------------------------------------ */

static void trim_waits_for_the_work(struct kunit *test)
{
	struct flight f;
	u64 before;

	flight_begin(&f, test);
	hold(&f);
	free_in_flight(&f, OBJECT);
	before = mapped(&f);
	start_and_await_wait(&f, trim_all);
	KUNIT_EXPECT_EQ(test, mapped(&f), before);
	let_go(&f);
	crew_wait(f.crew, 0);
	KUNIT_EXPECT_EQ(test, f.err, 0);
	KUNIT_EXPECT_EQ(test, mapped(&f), 0);
	flight_end(&f);
}

/* An event that is not reached when it is asked for is a matter of one more
 * poll, as is what was freed behind it. */
static void poll_until_empty(struct flight *f)
{
	u64 end = now_ns() + WAIT_NS;

	/* One poll that fails is said once: the next ones would, too. */
	while (mapped(f) && now_ns() < end)
		KUNIT_ASSERT_EQ(f->test, slabdev_poll(f->sd), 0);
	KUNIT_EXPECT_EQ(f->test, mapped(f), 0);
}

static void poll_does_not_wait(struct kunit *test)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	struct flight f;
	u64 before;

	flight_begin(&f, test);
	policy.mode = SLABDEV_TRIM;
	KUNIT_EXPECT_EQ(test, slabdev_set_policy(f.sd, &policy), 0);
	hold(&f);
	free_in_flight(&f, OBJECT);
	before = mapped(&f);
	KUNIT_EXPECT_GT(test, before, 0);
	KUNIT_EXPECT_EQ(test, slabdev_poll(f.sd), 0);
	KUNIT_EXPECT_EQ(test, mapped(&f), before);
	KUNIT_EXPECT_EQ(test, cu.model_calls("cuEventSynchronize"), 0);
	flight_land(&f);
	poll_until_empty(&f);
	flight_end(&f);
}

/*
 * Goal: what a capture has got hold of proves nothing. Method: while the space
 * waits for its event, the event is recorded once more, in a capture.
 */
static void captured_event_is_given_up(struct kunit *test)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	CUgraph graph = NULL;
	struct flight f;
	CUstream other;
	u64 before, event;

	flight_begin(&f, test);
	other = new_stream(test, CU_STREAM_NON_BLOCKING);
	policy.mode = SLABDEV_TRIM;
	KUNIT_EXPECT_EQ(test, slabdev_set_policy(f.sd, &policy), 0);
	hold(&f);
	free_in_flight(&f, OBJECT);
	KUNIT_EXPECT_EQ(test, slabdev_poll(f.sd), 0);
	before = mapped(&f);
	event = f.sd->vmm.event;
	EXPECT_CU(test, cuStreamBeginCapture(other,
					CU_STREAM_CAPTURE_MODE_RELAXED), 0);
	EXPECT_CU(test, cuEventRecord((CUevent)(uintptr_t)event, other), 0);
	EXPECT_CU(test, cuStreamEndCapture(other, &graph), 0);
	EXPECT_CU(test, cuGraphDestroy(graph), 0);
	KUNIT_EXPECT_EQ(test, slabdev_poll(f.sd), 0);
	KUNIT_EXPECT_NE(test, f.sd->vmm.event, event);
	KUNIT_EXPECT_EQ(test, mapped(&f), before);
	flight_land(&f);
	poll_until_empty(&f);
	flight_end(&f);
}

static void aggressive_free_does_not_wait(struct kunit *test)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	struct flight f;
	u64 before;

	flight_begin(&f, test);
	policy.mode = SLABDEV_AGGRESSIVE;
	KUNIT_EXPECT_EQ(test, slabdev_set_policy(f.sd, &policy), 0);
	hold(&f);
	free_in_flight(&f, OBJECT);
	before = mapped(&f);
	KUNIT_EXPECT_GE(test, before, OBJECT);
	KUNIT_EXPECT_EQ(test, cu.model_calls("cuEventSynchronize"), 0);
	flight_land(&f);
	poll_until_empty(&f);
	flight_end(&f);
}

/* Without work, too, the event that a free records may take its time. */
/*
 * What could not go back yet at the switch serves a request of several chunks,
 * in the order of the stream, and nothing is mapped beside it.
 */
static void switch_uses_what_is_in_flight(struct kunit *test)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	struct flight f;
	void *p[10], *q;
	u64 before;

	flight_begin(&f, test);
	policy.mode = SLABDEV_AGGRESSIVE;
	KUNIT_EXPECT_EQ(test, slabdev_set_policy(f.sd, &policy), 0);
	hold(&f);
	for (u32 i = 0; i < ARRAY_SIZE(p); i++) {
		p[i] = must_alloc(test, f.sd, 2 * MIB);
		cuda_submit_fill(test, p[i], 2 * MIB, 0x11, f.stream);
	}
	for (u32 i = 0; i < ARRAY_SIZE(p); i++)
		EXPECT_FREED(test, f.sd, p[i]);
	before = mapped(&f);
	KUNIT_EXPECT_EQ(test, before, 20 * MIB);
	policy.mode = SLABDEV_RETAIN;
	KUNIT_EXPECT_EQ(test, slabdev_set_policy(f.sd, &policy), 0);
	q = must_alloc(test, f.sd, 20 * MIB);
	KUNIT_EXPECT_EQ(test, mapped(&f), before);
	cuda_submit_fill(test, q, 20 * MIB, 0x22, f.stream);
	flight_land(&f);
	KUNIT_EXPECT_EQ(test, cuda_byte(test, q), 0x22);
	EXPECT_FREED(test, f.sd, q);
	hold(&f);
	flight_end(&f);
}

static void aggressive_free_gives_back(struct kunit *test)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	struct flight f;

	flight_begin(&f, test);
	policy.mode = SLABDEV_AGGRESSIVE;
	KUNIT_EXPECT_EQ(test, slabdev_set_policy(f.sd, &policy), 0);
	EXPECT_FREED(test, f.sd, must_alloc(test, f.sd, OBJECT));
	poll_until_empty(&f);
	KUNIT_EXPECT_EQ(test, cu.model_calls("cuEventSynchronize"), 0);
	flight_end(&f);
}

/* What the limit leaves is too little without memory that is free, but in use
 * by the device. */
static void pressure_waits_for_the_work(struct kunit *test)
{
	struct flight f;

	flight_begin(&f, test);
	hold(&f);
	free_in_flight(&f, 70 * MIB);
	start_and_await_wait(&f, alloc_huge_there);
	let_go(&f);
	crew_wait(f.crew, 0);
	KUNIT_EXPECT_NOT_NULL(test, f.p);
	EXPECT_FREED(test, f.sd, f.p);
	flight_end(&f);
}

static void close_waits_for_the_work(struct kunit *test)
{
	struct flight f;

	flight_begin(&f, test);
	hold(&f);
	free_in_flight(&f, OBJECT);
	start_and_await_wait(&f, close_space_there);
	let_go(&f);
	crew_wait(f.crew, 0);
	KUNIT_EXPECT_EQ(test, f.err, 0);
	EXPECT_CU(test, cuStreamSynchronize(f.stream), 0);
	EXPECT_NO_VIOLATION(test);
	end_stream(test, f.stream);
}

/* With an object that is live, and used: the caller insists. */
static void forced_close_waits_for_the_work(struct kunit *test)
{
	struct flight f;
	void *p;

	flight_begin(&f, test);
	p = must_alloc(test, f.sd, OBJECT);
	cuda_submit_fill(test, p, OBJECT, 1, f.stream);
	KUNIT_EXPECT_EQ(test, slabdev_close(f.sd, SLABDEV_CLOSE_FORCE), 0);
	EXPECT_CU(test, cuStreamSynchronize(f.stream), 0);
	EXPECT_NO_VIOLATION(test);
	end_stream(test, f.stream);
}

/* What is freed in flight is handed out again at once, without the driver: the
 * stream orders the uses. */
static void reuse_is_ordered_by_the_stream(struct kunit *test)
{
	struct flight f;
	void *first, *second;
	u64 calls;

	flight_begin(&f, test);
	hold(&f);
	first = free_in_flight(&f, OBJECT);
	calls = cu.model_calls("*");
	second = must_alloc(test, f.sd, OBJECT);
	KUNIT_EXPECT_EQ(test, cu.model_calls("*"), calls);
	KUNIT_EXPECT_PTR_EQ(test, second, first);
	cuda_submit_fill(test, second, OBJECT, 0x22, f.stream);
	flight_land(&f);
	KUNIT_EXPECT_EQ(test, cuda_byte(test, second), 0x22);
	EXPECT_FREED(test, f.sd, second);
	flight_end(&f);
}

static void zalloc_there(void *arg)
{
	struct flight *f = arg;

	f->p = slabdev_zalloc(f->sd, 3 * MIB);
	store_release(&f->is_done, 1);
}

static void realloc_there(void *arg)
{
	struct flight *f = arg;

	f->p = slabdev_realloc(f->sd, f->p, 9 * MIB);
	store_release(&f->is_done, 1);
}

/* Memory that the CPU may have at once is ready when the call returns, so that
 * the call waits; else it has only been submitted. */
static void do_work_in_flight(struct flight *f, crew_job_fn job)
{
	const struct cuda_kind_param *kind = f->test->param_value;

	crew_start(f->crew, 0, job, f);
	if (!kind_is_for_the_cpu(kind))
		crew_wait(f->crew, 0);
	flight_land(f);
	crew_wait(f->crew, 0);
	KUNIT_ASSERT_NOT_NULL(f->test, f->p);
	EXPECT_CU(f->test, cuStreamSynchronize(f->stream), 0);
}

static void expect_byte(struct flight *f, size_t at, unsigned char byte)
{
	const unsigned char *p = f->p;

	KUNIT_EXPECT_EQ(f->test, cuda_byte(f->test, p + at), byte);
	if (kind_is_for_the_cpu(f->test->param_value))
		KUNIT_EXPECT_EQ(f->test, p[at], byte);
}

/* Zeroes come behind the work of the object that was there before. */
static void zeroes_come_in_the_order_of_the_stream(struct kunit *test)
{
	struct flight f;

	flight_begin(&f, test);
	hold(&f);
	free_in_flight(&f, 3 * MIB);
	do_work_in_flight(&f, zalloc_there);
	expect_byte(&f, 0, 0);
	expect_byte(&f, 3 * MIB - 1, 0);
	EXPECT_FREED(test, f.sd, f.p);
	flight_end(&f);
}

/* A move copies what work before it will have written. */
static void realloc_copies_in_the_order_of_the_stream(struct kunit *test)
{
	struct flight f;

	flight_begin(&f, test);
	f.p = must_alloc(test, f.sd, 300000);
	hold(&f);
	cuda_submit_fill(test, f.p, 300000, 0x33, f.stream);
	do_work_in_flight(&f, realloc_there);
	expect_byte(&f, 0, 0x33);
	expect_byte(&f, 299999, 0x33);
	EXPECT_FREED(test, f.sd, f.p);
	flight_end(&f);
}

/* The default: the legacy stream, which waits for blocking streams. */
static void blocking_stream_counts_for_the_default(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct flight f = { .test = test };
	u64 before;

	f.crew = crew_new(test, 1);
	f.stream = new_stream(test, CU_STREAM_DEFAULT);
	attr.limit = LIMIT;
	f.sd = cuda_open(test, "cuda:0", &attr);
	hold(&f);
	free_in_flight(&f, OBJECT);
	before = mapped(&f);
	start_and_await_wait(&f, trim_all);
	KUNIT_EXPECT_EQ(test, mapped(&f), before);
	let_go(&f);
	crew_wait(f.crew, 0);
	KUNIT_EXPECT_EQ(test, f.err, 0);
	flight_end(&f);
}

/* ---- A host function that uses the library ---------------------------- */

static void alloc_and_free_cached(void *arg)
{
	struct flight *f = arg;
	struct slabdev_req req = SLABDEV_REQ_INIT;
	void *p;

	req.flags = SLABDEV_REQ_NO_GROW;
	for (u32 i = 0; i < 100; i++) {
		p = slabdev_alloc_ex(f->sd, 1000, &req);
		KUNIT_EXPECT_NOT_NULL(f->test, p);
		KUNIT_EXPECT_EQ(f->test, slabdev_free(f->sd, p), 0);
	}
}

/*
 * Goal: no deadlock when the device's work waits for a thread that needs the
 * library, while another waits for the device in it. Method: a trim waits
 * behind a host function that allocates what is cached.
 */
static void host_function_beside_a_trim(struct kunit *test)
{
	struct flight f;
	void *keep;

	flight_begin(&f, test);
	keep = must_alloc(test, f.sd, 1000);
	hold(&f);
	free_in_flight(&f, OBJECT);
	MUST(test, cuLaunchHostFunc(f.stream, alloc_and_free_cached, &f));
	start_and_await_wait(&f, trim_all);
	alloc_and_free_cached(&f);
	let_go(&f);
	crew_wait(f.crew, 0);
	KUNIT_EXPECT_EQ(test, f.err, 0);
	EXPECT_FREED(test, f.sd, keep);
	flight_end(&f);
}

/* Other threads are not held up by one that waits for the device. */
static void others_grow_beside_a_trim(struct kunit *test)
{
	struct flight f;
	void *p;

	flight_begin(&f, test);
	hold(&f);
	free_in_flight(&f, OBJECT);
	start_and_await_wait(&f, trim_all);
	p = must_alloc(test, f.sd, 2 * OBJECT);
	expect_sound(test, f.sd);
	EXPECT_FREED(test, f.sd, p);
	let_go(&f);
	crew_wait(f.crew, 0);
	KUNIT_EXPECT_EQ(test, f.err, 0);
	flight_end(&f);
}

static const struct kunit_case flight_cases[] = {
	KUNIT_CASE_PARAM(trim_waits_for_the_work, kind_gen_params),
	KUNIT_CASE_PARAM(poll_does_not_wait, kind_gen_params),
	KUNIT_CASE(captured_event_is_given_up),
	KUNIT_CASE_PARAM(aggressive_free_does_not_wait, kind_gen_params),
	KUNIT_CASE(switch_uses_what_is_in_flight),
	KUNIT_CASE_PARAM(aggressive_free_gives_back, kind_gen_params),
	KUNIT_CASE_PARAM(pressure_waits_for_the_work, kind_gen_params),
	KUNIT_CASE_PARAM(close_waits_for_the_work, kind_gen_params),
	KUNIT_CASE_PARAM(forced_close_waits_for_the_work, kind_gen_params),
	KUNIT_CASE_PARAM(reuse_is_ordered_by_the_stream, kind_gen_params),
	KUNIT_CASE_PARAM(zeroes_come_in_the_order_of_the_stream,
			 kind_gen_params),
	KUNIT_CASE_PARAM(realloc_copies_in_the_order_of_the_stream,
			 kind_gen_params),
	KUNIT_CASE(blocking_stream_counts_for_the_default),
	KUNIT_CASE_PARAM(host_function_beside_a_trim, kind_gen_params),
	KUNIT_CASE_PARAM(others_grow_beside_a_trim, kind_gen_params),
	{ 0 }
};

static const struct kunit_suite cuda_flight_suite = {
	.name = "cuda_flight",
	.init = cuda_space_init,
	.exit = cuda_space_exit,
	.cases = flight_cases,
};
kunit_test_suite(cuda_flight_suite);
