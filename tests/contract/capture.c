// SPDX-License-Identifier: BSD-2-Clause
/* capture.c - statements about streams that capture. */
#include "tests/contract/driver.h"

/* A capture in the calling thread; the model counts what breaks it. */
static CUstream capture_begin(struct kunit *test, unsigned int flags,
			      CUstreamCaptureMode mode)
{
	CUstream stream = new_stream(test, flags);

	MUST(test, cuStreamBeginCapture(stream, mode));
	return stream;
}

static void capture_end(struct kunit *test, CUstream stream, CUresult expected)
{
	CUgraph graph = NULL;

	EXPECT_CU(test, cuStreamEndCapture(stream, &graph), expected);
	if (graph)
		EXPECT_CU(test, cuGraphDestroy(graph), 0);
	end_stream(test, stream);
}

static CUstreamCaptureMode exchange(struct kunit *test,
				    CUstreamCaptureMode mode)
{
	EXPECT_CU(test, cuThreadExchangeStreamCaptureMode(&mode), 0);
	return mode;
}

static CUstreamCaptureStatus status_of(struct kunit *test, CUstream stream)
{
	CUstreamCaptureStatus status = (CUstreamCaptureStatus)7;

	EXPECT_CU(test, cuStreamIsCapturing(stream, &status), 0);
	return status;
}

/* The mode of a thread is exchanged; it begins as GLOBAL. */
static void c176_exchange(struct kunit *test)
{
	CUstreamCaptureMode none = (CUstreamCaptureMode)3;

	KUNIT_EXPECT_EQ(test, exchange(test, CU_STREAM_CAPTURE_MODE_RELAXED),
			CU_STREAM_CAPTURE_MODE_GLOBAL);
	KUNIT_EXPECT_EQ(test, exchange(test, CU_STREAM_CAPTURE_MODE_GLOBAL),
			CU_STREAM_CAPTURE_MODE_RELAXED);
	EXPECT_CU(test, cuThreadExchangeStreamCaptureMode(&none), 1);
}

/* The status is ACTIVE in a capture, and NONE otherwise. */
static void c177_status(struct kunit *test)
{
	CUstream stream = new_stream(test, CU_STREAM_NON_BLOCKING);

	KUNIT_EXPECT_EQ(test, status_of(test, stream),
			CU_STREAM_CAPTURE_STATUS_NONE);
	MUST(test, cuStreamBeginCapture(stream,
					CU_STREAM_CAPTURE_MODE_GLOBAL));
	KUNIT_EXPECT_EQ(test, status_of(test, stream),
			CU_STREAM_CAPTURE_STATUS_ACTIVE);
	capture_end(test, stream, CUDA_SUCCESS);
}

/* Asked of the legacy stream while a blocking stream captures, it is an error
 * that leaves the capture alone.
 */
static void c178_status_legacy(struct kunit *test)
{
	CUstream stream = capture_begin(test, CU_STREAM_DEFAULT,
					CU_STREAM_CAPTURE_MODE_GLOBAL);
	CUstreamCaptureStatus status;

	EXPECT_CU(test, cuStreamIsCapturing(CU_STREAM_LEGACY, &status), 906);
	capture_end(test, stream, CUDA_SUCCESS);
}

/* cuMemAlloc in the thread of a GLOBAL capture is refused, and breaks it. */
static void c179_alloc(struct kunit *test)
{
	CUstream stream = capture_begin(test, CU_STREAM_NON_BLOCKING,
					CU_STREAM_CAPTURE_MODE_GLOBAL);
	CUdeviceptr ptr = 0;

	bench_of(test)->expects_violation = true;
	EXPECT_CU(test, cuMemAlloc(&ptr, 1000), 900, 901);
	capture_end(test, stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

/* In mode RELAXED it succeeds, and the capture goes on. */
static void c180_alloc_relaxed(struct kunit *test)
{
	CUstream stream = capture_begin(test, CU_STREAM_NON_BLOCKING,
					CU_STREAM_CAPTURE_MODE_GLOBAL);
	CUdeviceptr ptr = 0;

	exchange(test, CU_STREAM_CAPTURE_MODE_RELAXED);
	EXPECT_CU(test, cuMemAlloc(&ptr, 1000), 0);
	EXPECT_CU(test, cuMemFree(ptr), 0);
	exchange(test, CU_STREAM_CAPTURE_MODE_GLOBAL);
	KUNIT_EXPECT_EQ(test, status_of(test, stream),
			CU_STREAM_CAPTURE_STATUS_ACTIVE);
	capture_end(test, stream, CUDA_SUCCESS);
}

static void alloc_elsewhere(struct kunit *test, void *arg)
{
	CUresult *ret = arg;
	CUcontext ctx;
	CUdeviceptr ptr;

	MUST(test, cuCtxPushCurrent(bench_of(test)->ctx));
	*ret = cu.cuMemAlloc(&ptr, 1000);
	if (!*ret)
		EXPECT_CU(test, cuMemFree(ptr), 0);
	MUST(test, cuCtxPopCurrent(&ctx));
}

/* In another thread it fails beside a GLOBAL capture, and succeeds beside one
 * that is THREAD_LOCAL.
 */
static void c181_alloc_elsewhere(struct kunit *test)
{
	CUresult ret = CUDA_SUCCESS;
	CUstream stream;

	bench_of(test)->expects_violation = true;
	stream = capture_begin(test, CU_STREAM_NON_BLOCKING,
			       CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	in_thread(test, alloc_elsewhere, &ret);
	KUNIT_EXPECT_EQ(test, ret, CUDA_SUCCESS);
	capture_end(test, stream, CUDA_SUCCESS);
	stream = capture_begin(test, CU_STREAM_NON_BLOCKING,
			       CU_STREAM_CAPTURE_MODE_GLOBAL);
	in_thread(test, alloc_elsewhere, &ret);
	KUNIT_EXPECT_NE(test, ret, CUDA_SUCCESS);
	capture_end(test, stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

/* The calls of virtual memory management are taken for unsafe by the model;
 * open on a GPU.
 */
static void c182_map(struct kunit *test)
{
	CUmemGenericAllocationHandle handle = 0;
	struct bench *b = bench_of(test);
	CUstream stream;

	model_only(test);
	need_vmm(test);
	b->expects_violation = true;
	stream = capture_begin(test, CU_STREAM_NON_BLOCKING,
			       CU_STREAM_CAPTURE_MODE_GLOBAL);
	EXPECT_CU(test, cuMemCreate(&handle, b->g, &b->prop, 0), 900);
	capture_end(test, stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

/* In mode RELAXED they succeed. */
static void c183_map_relaxed(struct kunit *test)
{
	CUstream stream = capture_begin(test, CU_STREAM_NON_BLOCKING,
					CU_STREAM_CAPTURE_MODE_GLOBAL);
	struct area a;

	exchange(test, CU_STREAM_CAPTURE_MODE_RELAXED);
	a = area_open(test, bench_of(test)->g);
	area_close(test, &a);
	exchange(test, CU_STREAM_CAPTURE_MODE_GLOBAL);
	capture_end(test, stream, CUDA_SUCCESS);
}

/* Waiting for a stream that captures is refused, and breaks the capture. */
static void c184_synchronize(struct kunit *test)
{
	CUstream stream = capture_begin(test, CU_STREAM_NON_BLOCKING,
					CU_STREAM_CAPTURE_MODE_RELAXED);

	bench_of(test)->expects_violation = true;
	EXPECT_CU(test, cuStreamSynchronize(stream), 900);
	capture_end(test, stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

/* An event that was last recorded in a capture cannot be asked, in any mode. */
static void c185_captured_event(struct kunit *test)
{
	CUstream stream = capture_begin(test, CU_STREAM_NON_BLOCKING,
					CU_STREAM_CAPTURE_MODE_RELAXED);
	CUevent event = new_event(test);
	CUgraph graph = NULL;

	MUST(test, cuEventRecord(event, stream));
	exchange(test, CU_STREAM_CAPTURE_MODE_RELAXED);
	KUNIT_EXPECT_NE(test, cu.cuEventQuery(event), CUDA_SUCCESS);
	exchange(test, CU_STREAM_CAPTURE_MODE_GLOBAL);
	/* Whether the question broke the capture is open. */
	cu.cuStreamEndCapture(stream, &graph);
	if (graph)
		cu.cuGraphDestroy(graph);
	cu.cuStreamDestroy(stream);
	EXPECT_CU(test, cuEventDestroy(event), 0);
}

/* The attributes of a pool cannot be asked in a capture, but in RELAXED. */
static void c186_pool_attribute(struct kunit *test)
{
	CUmemoryPool pool = NULL;
	CUstream stream;
	uint64_t value;

	if (!cu.cuDeviceGetDefaultMemPool ||
	    cu.cuDeviceGetDefaultMemPool(&pool, 0))
		kunit_skip(test, "the device has no pools");
	bench_of(test)->expects_violation = true;
	stream = capture_begin(test, CU_STREAM_NON_BLOCKING,
			       CU_STREAM_CAPTURE_MODE_GLOBAL);
	exchange(test, CU_STREAM_CAPTURE_MODE_RELAXED);
	EXPECT_CU(test, cuMemPoolGetAttribute(pool,
			CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value), 0);
	exchange(test, CU_STREAM_CAPTURE_MODE_GLOBAL);
	EXPECT_CU(test, cuMemPoolGetAttribute(pool,
			CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &value), 900, 901);
	capture_end(test, stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(c176_exchange),
	KUNIT_CASE(c177_status),
	KUNIT_CASE(c178_status_legacy),
	KUNIT_CASE(c179_alloc),
	KUNIT_CASE(c180_alloc_relaxed),
	KUNIT_CASE(c181_alloc_elsewhere),
	KUNIT_CASE(c182_map),
	KUNIT_CASE(c183_map_relaxed),
	KUNIT_CASE(c184_synchronize),
	KUNIT_CASE_ISOLATED(c185_captured_event),
	KUNIT_CASE(c186_pool_attribute),
	{ 0 }
};

static const struct kunit_suite suite = {
	.name = "contract_capture",
	.init = bench_init,
	.exit = bench_exit,
	.cases = cases,
};
kunit_test_suite(suite);
