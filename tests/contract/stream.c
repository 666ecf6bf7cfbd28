// SPDX-License-Identifier: BSD-2-Clause
/* stream.c - statements about streams, events, and host functions. */
#include <unistd.h>

#include "tests/contract/driver.h"

/* Long enough for work to run that wrongly does not wait. */
#define A_WHILE_US 50000

/* Flags other than NON_BLOCKING are INVALID_VALUE. */
static void c168_stream_flags(struct kunit *test)
{
	CUstream stream = NULL;

	EXPECT_CU(test, cuStreamCreate(&stream, 2), 1);
}

/* A stream with pending work is NOT_READY. */
static void c169_query_pending(struct kunit *test)
{
	CUstream stream = new_stream(test, CU_STREAM_NON_BLOCKING);
	struct gate *gate = gate_close(test, stream);

	EXPECT_CU(test, cuStreamQuery(stream), 600);
	gate_open(gate);
	EXPECT_CU(test, cuStreamSynchronize(stream), 0);
	EXPECT_CU(test, cuStreamQuery(stream), 0);
	end_stream(test, stream);
}

/* An event that was never recorded is complete. */
static void c170_event_unrecorded(struct kunit *test)
{
	CUevent event = new_event(test);

	EXPECT_CU(test, cuEventQuery(event), 0);
	EXPECT_CU(test, cuEventSynchronize(event), 0);
	EXPECT_CU(test, cuEventDestroy(event), 0);
}

/* Event and stream of different contexts: INVALID_HANDLE. */
static void c171_event_other_context(struct kunit *test)
{
	CUcontext other = NULL;
	CUevent event;
	CUstream stream = new_stream(test, CU_STREAM_NON_BLOCKING);

	MUST(test, cuCtxCreate(&other, 0, 0));
	event = new_event(test);
	EXPECT_CU(test, cuEventRecord(event, stream), 400);
	EXPECT_CU(test, cuEventDestroy(event), 0);
	EXPECT_CU(test, cuCtxDestroy(other), 0);
	end_stream(test, stream);
}

/* Recorded again, an event stands for the newer place. */
static void c172_event_again(struct kunit *test)
{
	CUstream a = new_stream(test, CU_STREAM_NON_BLOCKING);
	CUstream b = new_stream(test, CU_STREAM_NON_BLOCKING);
	struct gate *gate = gate_close(test, a);
	CUevent event = new_event(test);

	MUST(test, cuEventRecord(event, a));
	EXPECT_CU(test, cuEventQuery(event), 600);
	MUST(test, cuEventRecord(event, b));
	EXPECT_CU(test, cuStreamSynchronize(b), 0);
	EXPECT_CU(test, cuEventQuery(event), 0);
	gate_open(gate);
	end_stream(test, a);
	end_stream(test, b);
	EXPECT_CU(test, cuEventDestroy(event), 0);
}

/* A stream waits for an event of another, which may be destroyed meanwhile. */
static void c173_wait_event(struct kunit *test)
{
	struct area area = area_open(test, bench_of(test)->g);
	CUstream a = new_stream(test, CU_STREAM_NON_BLOCKING);
	CUstream b = new_stream(test, CU_STREAM_NON_BLOCKING);
	CUevent event = new_event(test);
	uint32_t *got = NULL;
	struct gate *gate;

	MUST(test, cuMemHostAlloc((void **)&got, sizeof(*got), 0));
	put_u32(test, area.ptr, 1);
	gate = gate_close(test, a);
	MUST(test, cuMemsetD32Async(area.ptr, 173, 1, a));
	MUST(test, cuEventRecord(event, a));
	EXPECT_CU(test, cuStreamWaitEvent(b, event, 0), 0);
	EXPECT_CU(test, cuEventDestroy(event), 0);
	MUST(test, cuMemcpyDtoHAsync(got, area.ptr, 4, b));
	usleep(A_WHILE_US);
	gate_open(gate);
	end_stream(test, b);
	KUNIT_EXPECT_EQ(test, *got, 173);
	end_stream(test, a);
	EXPECT_CU(test, cuMemFreeHost(got), 0);
	area_close(test, &area);
}

/* Streams and events are destroyed at once, also with pending work. */
static void c174_destroy_pending(struct kunit *test)
{
	CUstream stream = new_stream(test, CU_STREAM_NON_BLOCKING);
	struct gate *gate = gate_close(test, stream);
	CUevent event = new_event(test);

	MUST(test, cuEventRecord(event, stream));
	EXPECT_CU(test, cuEventDestroy(event), 0);
	EXPECT_CU(test, cuStreamDestroy(stream), 0);
	gate_open(gate);
	EXPECT_CU(test, cuCtxSynchronize(), 0);
}

static void copy_number(void *arg)
{
	uint32_t *numbers = arg;

	numbers[1] = numbers[0];
	numbers[0] = 0;
}

/* A host function runs behind earlier and before later work of its stream. */
static void c175_host_function(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);
	CUstream stream = new_stream(test, CU_STREAM_NON_BLOCKING);
	uint32_t *numbers = NULL;

	MUST(test, cuMemHostAlloc((void **)&numbers, 64, 0));
	MUST(test, cuMemsetD32Async(a.ptr, 175, 1, stream));
	MUST(test, cuMemcpyDtoHAsync(&numbers[0], a.ptr, 4, stream));
	EXPECT_CU(test, cuLaunchHostFunc(stream, copy_number, numbers), 0);
	MUST(test, cuMemcpyHtoDAsync(a.ptr, &numbers[0], 4, stream));
	end_stream(test, stream);
	KUNIT_EXPECT_EQ(test, numbers[1], 175);
	KUNIT_EXPECT_EQ(test, get_u32(test, a.ptr), 0);
	EXPECT_CU(test, cuMemFreeHost(numbers), 0);
	area_close(test, &a);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(c168_stream_flags),
	KUNIT_CASE(c169_query_pending),
	KUNIT_CASE(c170_event_unrecorded),
	KUNIT_CASE(c171_event_other_context),
	KUNIT_CASE(c172_event_again),
	KUNIT_CASE(c173_wait_event),
	KUNIT_CASE(c174_destroy_pending),
	KUNIT_CASE(c175_host_function),
	{ 0 }
};

static const struct kunit_suite suite = {
	.name = "contract_stream",
	.init = bench_init,
	.exit = bench_exit,
	.cases = cases,
};
kunit_test_suite(suite);
