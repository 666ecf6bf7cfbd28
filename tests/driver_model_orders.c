// SPDX-License-Identifier: BSD-2-Clause
/* driver_model_orders.c - what a test can ask of the model of the driver. */
#include <stdio.h>

#include "tests/driver_model_cases.h"

void nth_call_fails(struct kunit *test)
{
	bench_open(test);
	KUNIT_EXPECT_EQ(test, cu.model_fail("cuMemAlloc_v2", 3,
					    CUDA_ERROR_OUT_OF_MEMORY, 0), 0);
	KUNIT_EXPECT_EQ(test, alloc_and_free(), CUDA_SUCCESS);
	KUNIT_EXPECT_EQ(test, alloc_and_free(), CUDA_SUCCESS);
	KUNIT_EXPECT_EQ(test, alloc_and_free(), CUDA_ERROR_OUT_OF_MEMORY);
	KUNIT_EXPECT_EQ(test, alloc_and_free(), CUDA_SUCCESS);
	KUNIT_EXPECT_EQ(test, cu.model_fail("cuNoSuch", 1, 1, 0), -1);
	bench_close(test);
}

void any_call_fails(struct kunit *test)
{
	size_t unused, total;

	bench_open(test);
	cu.model_fail("*", 2, CUDA_ERROR_UNKNOWN, 0);
	EXPECT_CU(test, cuMemGetInfo(&unused, &total), 0);
	EXPECT_CU(test, cuMemGetInfo(&unused, &total), 999);
	EXPECT_CU(test, cuMemGetInfo(&unused, &total), 0);
	bench_close(test);
}

void sticky_order(struct kunit *test)
{
	CUdeviceptr ptr;

	bench_open(test);
	cu.model_fail("cuMemAlloc_v2", 1, CUDA_ERROR_ECC_UNCORRECTABLE, 1);
	EXPECT_CU(test, cuMemAlloc(&ptr, 100), 214);
	EXPECT_CU(test, cuMemAlloc(&ptr, 100), 214);
	EXPECT_CU(test, cuCtxSynchronize(), 214);
	/* Not a call that may return errors of earlier work. */
	EXPECT_CU(test, cuMemAddressFree(1, 1), 1);
}

void calls_are_counted(struct kunit *test)
{
	uint64_t before;

	bench_open(test);
	before = cu.model_calls("*");
	alloc_and_free();
	alloc_and_free();
	KUNIT_EXPECT_EQ(test, cu.model_calls("cuMemAlloc_v2"), 2);
	KUNIT_EXPECT_EQ(test, cu.model_calls("*"), before + 4);
	cu.model_reset();
	KUNIT_EXPECT_EQ(test, cu.model_calls("*"), 0);
	bench_close(test);
}

/* The 2 MiB row, and between two rows. */
void calls_cost(struct kunit *test)
{
	struct bench *b = bench_open(test);
	CUmemGenericAllocationHandle handle = create(test, 2 << 20);

	KUNIT_EXPECT_EQ(test, cu.model_cost_ns("cuMemCreate"), 193000);
	release(test, handle);
	cu.model_reset();
	handle = create(test, 16 << 20);
	KUNIT_EXPECT_EQ(test, cu.model_cost_ns("cuMemCreate"), 400500);
	KUNIT_EXPECT_EQ(test, cu.model_clock_ns(), 400500);
	release(test, handle);
	KUNIT_EXPECT_EQ(test, b->g, 2 << 20);
	bench_close(test);
}

void held_stream(struct kunit *test)
{
	struct area a;
	CUstream held, other;

	bench_open(test);
	a = area_open(test, bench_of(test)->g);
	held = new_stream(test, CU_STREAM_NON_BLOCKING);
	other = new_stream(test, CU_STREAM_NON_BLOCKING);
	put_u32(test, a.ptr, 1);
	KUNIT_EXPECT_EQ(test, cu.model_stream_hold(held), 0);
	MUST(test, cuMemsetD32Async(a.ptr, 2, 1, held));
	EXPECT_CU(test, cuStreamQuery(held), 600);
	KUNIT_EXPECT_EQ(test, cu.model_pending(), 1);
	/* The others go on. */
	MUST(test, cuMemsetD32Async(a.ptr + 4, 3, 1, other));
	EXPECT_CU(test, cuStreamSynchronize(other), 0);
	EXPECT_CU(test, cuStreamQuery(held), 600);
	KUNIT_EXPECT_EQ(test, cu.model_stream_release(held), 0);
	end_stream(test, held);
	end_stream(test, other);
	KUNIT_EXPECT_EQ(test, get_u32(test, a.ptr), 2);
	area_close(test, &a);
	bench_close(test);
}

/* What waits for a held stream waits, too: here the legacy stream. */
void legacy_waits_for_held(struct kunit *test)
{
	CUstream held;
	struct area a;

	bench_open(test);
	a = area_open(test, bench_of(test)->g);
	held = new_stream(test, CU_STREAM_DEFAULT);
	cu.model_stream_hold(held);
	MUST(test, cuMemsetD32Async(a.ptr, 2, 1, held));
	MUST(test, cuMemsetD32(a.ptr, 3, 1));
	EXPECT_CU(test, cuStreamQuery(CU_STREAM_LEGACY), 600);
	cu.model_stream_release(held);
	KUNIT_EXPECT_EQ(test, get_u32(test, a.ptr), 3);
	end_stream(test, held);
	area_close(test, &a);
	bench_close(test);
}

void torn_down(struct kunit *test)
{
	struct area a;

	bench_open(test);
	a = area_open(test, bench_of(test)->g);
	cu.model_teardown(1);
	EXPECT_CU(test, cuMemUnmap(a.ptr, a.size), 4);
	EXPECT_CU(test, cuMemRelease(a.handle), 4);
	EXPECT_CU(test, cuInit(0), 0);
	cu.model_teardown(0);
	area_close(test, &a);
	bench_close(test);
}

void leaks_are_counted(struct kunit *test)
{
	struct model_leaks leaks;
	CUdeviceptr ptr;
	struct area a;
	CUstream stream;
	CUevent event;

	bench_open(test);
	a = area_open(test, bench_of(test)->g);
	stream = new_stream(test, 0);
	event = new_event(test);
	MUST(test, cuMemAlloc(&ptr, 100));
	KUNIT_EXPECT_EQ(test, cu.model_leaks(&leaks), 6);
	KUNIT_EXPECT_EQ(test, leaks.reservations, 1);
	KUNIT_EXPECT_EQ(test, leaks.handles, 1);
	KUNIT_EXPECT_EQ(test, leaks.mappings, 1);
	KUNIT_EXPECT_EQ(test, leaks.allocations, 1);
	KUNIT_EXPECT_EQ(test, leaks.streams, 1);
	KUNIT_EXPECT_EQ(test, leaks.events, 1);
	KUNIT_EXPECT_EQ(test, leaks.bytes, 4 << 20);
	EXPECT_CU(test, cuMemFree(ptr), 0);
	EXPECT_CU(test, cuEventDestroy(event), 0);
	end_stream(test, stream);
	area_close(test, &a);
	KUNIT_EXPECT_EQ(test, cu.model_leaks(&leaks), 0);
	KUNIT_EXPECT_EQ(test, leaks.bytes, 0);
	bench_close(test);
}

static void note_log(void *data, CUlogLevel level, char *message,
		     size_t length)
{
	(void)level;
	snprintf(data, KUNIT_PARAM_DESC_SIZE, "%.*s", (int)length, message);
}

void refusals_say_why(struct kunit *test)
{
	char text[KUNIT_PARAM_DESC_SIZE] = "";
	CUlogsCallbackHandle log;

	bench_open(test);
	MUST(test, cuLogsRegisterCallback(note_log, text, &log));
	EXPECT_CU(test, cuMemAddressReserve(&(CUdeviceptr){ 0 }, 0, 0, 0, 0),
		  1);
	KUNIT_EXPECT_STREQ(test, text, "CUDA_ERROR_INVALID_VALUE (1): C034: "
			   "the size is 0");
	EXPECT_CU(test, cuLogsUnregisterCallback(log), 0);
	bench_close(test);
}
