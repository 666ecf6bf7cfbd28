// SPDX-License-Identifier: BSD-2-Clause
/*
 * probe.c - questions that only hardware can answer.
 *
 * Each probe says what it sees and judges nothing. On the model it sees the
 * model's strict reading, which shows that the probe itself works. A probe may
 * ruin its process, and leaves everything where it is.
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "tests/contract/driver.h"

static void saw(struct kunit *test, const char *what, CUresult ret)
{
	const char *name = NULL;

	cu.cuGetErrorName(ret, &name);
	kunit_info(test, "%s: %d %s", what, (int)ret, name ? name : "?");
}

#define SEE(test, call) saw(test, #call, cu.call)

static void note_log(void *data, CUlogLevel level, char *message,
		     size_t length)
{
	(void)level;
	kunit_info(data, "log: %.*s", (int)length, message);
}

static struct bench *probe_open(struct kunit *test)
{
	struct bench *b = bench_open(test);
	CUlogsCallbackHandle log;

	if (cu.cuLogsRegisterCallback)
		cu.cuLogsRegisterCallback(note_log, test, &log);
	return b;
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* ---- Captures ----------------------------------------------------------- */

/* What one call of each kind returns, and what it does to the capture. */
struct captured {
	struct area a;
	CUdeviceptr spare;
	CUmemGenericAllocationHandle handle;
};

static CUresult reserve_in(struct kunit *test, struct captured *c)
{
	return cu.cuMemAddressReserve(&c->spare, bench_of(test)->g, 0, 0, 0);
}

static CUresult create_in(struct kunit *test, struct captured *c)
{
	return cu.cuMemCreate(&c->handle, bench_of(test)->g,
			      &bench_of(test)->prop, 0);
}

static CUresult map_in(struct kunit *test, struct captured *c)
{
	(void)test;
	return cu.cuMemMap(c->a.ptr, c->a.size, 0, c->a.handle, 0);
}

static CUresult grant_in(struct kunit *test, struct captured *c)
{
	return cu.cuMemSetAccess(c->a.ptr, c->a.size, &bench_of(test)->rw, 1);
}

static CUresult unmap_in(struct kunit *test, struct captured *c)
{
	(void)test;
	return cu.cuMemUnmap(c->a.ptr, c->a.size);
}

static CUresult release_in(struct kunit *test, struct captured *c)
{
	(void)test;
	return cu.cuMemRelease(c->a.handle);
}

static CUresult free_in(struct kunit *test, struct captured *c)
{
	(void)test;
	return cu.cuMemAddressFree(c->a.ptr, c->a.size);
}

static const struct captured_call {
	const char *name;
	CUresult (*fn)(struct kunit *test, struct captured *c);
	bool mapped;		/* beforehand */
} captured_calls[] = {
	{ "cuMemAddressReserve", reserve_in, false },
	{ "cuMemCreate", create_in, false },
	{ "cuMemMap", map_in, false },
	{ "cuMemSetAccess", grant_in, true },
	{ "cuMemUnmap", unmap_in, true },
	{ "cuMemRelease", release_in, false },
	{ "cuMemAddressFree", free_in, false },
};

struct captured_try {
	const struct captured_call *call;
	struct captured *c;
	CUresult ret;
};

static void call_elsewhere(struct kunit *test, void *arg)
{
	struct captured_try *t = arg;

	t->ret = t->call->fn(test, t->c);
}

static void try_captured(struct kunit *test, const struct captured_call *call,
			 CUstreamCaptureMode mode, bool elsewhere)
{
	size_t g = bench_of(test)->g;
	struct captured c = { .a = { .size = g } };
	struct captured_try t = { call, &c, CUDA_SUCCESS };
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUstream stream = new_stream(test, CU_STREAM_NON_BLOCKING);
	CUgraph graph = NULL;

	c.a.ptr = reserve(test, g);
	c.a.handle = create(test, g);
	if (call->mapped)
		MUST(test, cuMemMap(c.a.ptr, g, 0, c.a.handle, 0));
	MUST(test, cuStreamBeginCapture(stream, mode));
	if (elsewhere)
		in_thread(test, call_elsewhere, &t);
	else
		call_elsewhere(test, &t);
	cu.cuStreamIsCapturing(stream, &status);
	kunit_info(test, "%s, mode %d, %s thread: %d, capture %s", call->name,
		   (int)mode, elsewhere ? "another" : "the same", (int)t.ret,
		   status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? "goes on" :
		   "is broken");
	cu.cuStreamEndCapture(stream, &graph);
}

/* P01: which calls of virtual memory management a capture forbids. */
static void p01_capture(struct kunit *test)
{
	size_t i;

	bench_open(test);
	for (i = 0; i < ARRAY_SIZE(captured_calls); i++) {
		try_captured(test, &captured_calls[i],
			     CU_STREAM_CAPTURE_MODE_GLOBAL, false);
		try_captured(test, &captured_calls[i],
			     CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, false);
		try_captured(test, &captured_calls[i],
			     CU_STREAM_CAPTURE_MODE_GLOBAL, true);
	}
}

/* ---- Mapping ------------------------------------------------------------ */

/* P02: a mapping with an offset. */
static void p02_map_offset(struct kunit *test)
{
	struct bench *b = probe_open(test);
	CUdeviceptr ptr = reserve(test, 2 * b->g);
	CUmemGenericAllocationHandle handle = create(test, 2 * b->g);

	SEE(test, cuMemMap(ptr, b->g, b->g, handle, 0));
}

/* P03: a reservation is freed while mapped, and its address used then. */
static void p03_free_mapped(struct kunit *test)
{
	struct bench *b = probe_open(test);
	struct area a = area_open(test, b->g);
	uint32_t value = 0;

	SEE(test, cuMemAddressFree(a.ptr, a.size));
	SEE(test, cuMemcpyHtoD(a.ptr, &value, 4));
	SEE(test, cuCtxSynchronize());
	SEE(test, cuMemUnmap(a.ptr, a.size));
}

/* P04: one mapping over two adjacent reservations. */
static void p04_map_across(struct kunit *test)
{
	struct bench *b = probe_open(test);
	CUdeviceptr ptr;

	if (!reserve_pair(test, b->g, &ptr))
		kunit_skip(test, "the driver follows no hints");
	SEE(test, cuMemMap(ptr, 2 * b->g, 0, create(test, 2 * b->g), 0));
}

/* P05: access to half a mapping. */
static void p05_grant_half(struct kunit *test)
{
	struct bench *b = probe_open(test);
	struct area a = area_mapped(test, 2 * b->g);

	SEE(test, cuMemSetAccess(a.ptr, b->g, &b->rw, 1));
	SEE(test, cuMemSetAccess(a.ptr + b->g, b->g, &b->rw, 1));
}

/* P06: access to two mappings of which one is not whole. */
static void p06_grant_one_whole(struct kunit *test)
{
	struct bench *b = probe_open(test);
	CUdeviceptr ptr = reserve(test, 3 * b->g);

	MUST(test, cuMemMap(ptr, b->g, 0, create(test, b->g), 0));
	MUST(test, cuMemMap(ptr + b->g, 2 * b->g, 0, create(test, 2 * b->g),
			    0));
	SEE(test, cuMemSetAccess(ptr, 2 * b->g, &b->rw, 1));
}

/* P07: what bad arguments of a reservation return. */
static void p07_reserve_arguments(struct kunit *test)
{
	struct bench *b = probe_open(test);
	CUdeviceptr ptr = 0;

	SEE(test, cuMemAddressReserve(&ptr, 0, 0, 0, 0));
	SEE(test, cuMemAddressReserve(&ptr, b->page / 2, 0, 0, 0));
	SEE(test, cuMemAddressReserve(&ptr, b->g, 3, 0, 0));
	SEE(test, cuMemAddressReserve(&ptr, b->g, 0, 0, 1));
	SEE(test, cuMemAddressReserve(NULL, b->g, 0, 0, 0));
	SEE(test, cuMemAddressReserve(&ptr, b->g, 0, b->page / 2, 0));
}

/* ---- After a failure ---------------------------------------------------- */

/* P08: what is still possible after a fault. */
static void p08_after_fault(struct kunit *test)
{
	struct bench *b = probe_open(test);
	struct area a = area_open(test, b->g);
	struct kernel k = kernel_load(test);
	CUdeviceptr spare = reserve(test, b->g), ptr;
	CUevent event = new_event(test);
	size_t unused, total;
	void *host = NULL;

	MUST(test, cuMemHostAlloc(&host, 4096, 0));
	kernel_store(&k, spare, 8, NULL);
	SEE(test, cuCtxSynchronize());
	SEE(test, cuMemUnmap(a.ptr, a.size));
	SEE(test, cuMemRelease(a.handle));
	SEE(test, cuMemAddressFree(spare, b->g));
	SEE(test, cuMemAddressReserve(&ptr, b->g, 0, 0, 0));
	SEE(test, cuMemGetInfo(&unused, &total));
	SEE(test, cuMemFreeHost(host));
	SEE(test, cuEventDestroy(event));
	SEE(test, cuDevicePrimaryCtxRelease(0));
}

/* P09: what a reset of the primary context leaves. */
static void p09_reset(struct kunit *test)
{
	struct bench *b = probe_open(test);
	struct area a = area_open(test, 16 * b->g);
	size_t before = free_bytes(test);
	CUcontext ctx;

	SEE(test, cuDevicePrimaryCtxReset(0));
	SEE(test, cuDevicePrimaryCtxRetain(&ctx, 0));
	kunit_info(test, "the context is %s", ctx == b->ctx ? "the same" :
		   "another");
	kunit_info(test, "free: %+lld bytes",
		   (long long)free_bytes(test) - (long long)before);
	SEE(test, cuMemUnmap(a.ptr, a.size));
	SEE(test, cuMemRelease(a.handle));
	SEE(test, cuMemAddressFree(a.ptr, a.size));
}

/* P10: virtual memory management with nothing retained. */
static void p10_no_context(struct kunit *test)
{
	const CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
	};
	const CUmemAccessDesc rw = {
		prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
	};
	CUmemGenericAllocationHandle handle = 0;
	CUdeviceptr ptr = 0;
	unsigned int flags;
	size_t g = 0;
	int active;

	driver_load(test);
	if (cu.cuInit(0))
		kunit_skip(test, "cuInit failed");
	SEE(test, cuMemGetAllocationGranularity(&g, &prop, 0));
	SEE(test, cuMemAddressReserve(&ptr, g, 0, 0, 0));
	SEE(test, cuMemCreate(&handle, g, &prop, 0));
	SEE(test, cuMemMap(ptr, g, 0, handle, 0));
	SEE(test, cuMemSetAccess(ptr, g, &rw, 1));
	SEE(test, cuDevicePrimaryCtxGetState(0, &flags, &active));
	kunit_info(test, "the primary context is %s", active ? "active" :
		   "not active");
	SEE(test, cuMemUnmap(ptr, g));
	SEE(test, cuMemRelease(handle));
	SEE(test, cuMemAddressFree(ptr, g));
}

/* ---- Answers ------------------------------------------------------------ */

/* P11: how many bytes a boolean attribute is. */
static void p11_boolean_width(struct kunit *test)
{
	static const CUpointer_attribute which[] = {
		CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_MAPPED,
		CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
		CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE,
	};
	struct bench *b = probe_open(test);
	struct area a = area_open(test, b->g);
	unsigned char bytes[8];
	size_t i, n;

	for (i = 0; i < ARRAY_SIZE(which); i++) {
		memset(bytes, 0xaa, sizeof(bytes));
		cu.cuPointerGetAttribute(bytes, which[i], a.ptr);
		for (n = 8; n && bytes[n - 1] == 0xaa; n--)
			;
		kunit_info(test, "attribute %d: %zu bytes", (int)which[i], n);
	}
}

static void see_granularity(struct kunit *test, const char *what,
			    const CUmemAllocationProp *prop)
{
	size_t least = 0, recommended = 0;
	CUresult ret;

	ret = cu.cuMemGetAllocationGranularity(&least, prop,
			CU_MEM_ALLOC_GRANULARITY_MINIMUM);
	cu.cuMemGetAllocationGranularity(&recommended, prop,
			CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
	kunit_info(test, "%s: %d, %zu and %zu", what, (int)ret, least,
		   recommended);
}

/* P12: granularities. */
static void p12_granularity(struct kunit *test)
{
	CUmemAllocationProp prop = probe_open(test)->prop;

	see_granularity(test, "plain", &prop);
	prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	see_granularity(test, "descriptor", &prop);
	prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
	see_granularity(test, "fabric", &prop);
	prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
	prop.allocFlags.gpuDirectRDMACapable = 1;
	see_granularity(test, "rdma", &prop);
	prop.allocFlags.gpuDirectRDMACapable = 0;
	prop.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_GENERIC;
	see_granularity(test, "compressed", &prop);
	prop.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_NONE;
	prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
	see_granularity(test, "host node", &prop);
}

static void see_alignment(struct kunit *test, size_t align)
{
	CUdeviceptr ptr = 0;
	CUresult ret = cu.cuMemAddressReserve(&ptr, bench_of(test)->g, align,
					      0, 0);

	kunit_info(test, "alignment %#zx: %d, lowest bit %#llx", align,
		   (int)ret, ptr & -ptr);
}

/* P13: how much can be reserved, how often, and how aligned. */
static void p13_reserve_limits(struct kunit *test)
{
	struct bench *b = probe_open(test);
	size_t size = (size_t)1 << 48;
	CUdeviceptr ptr;
	int n = 0;

	while (size > b->g && cu.cuMemAddressReserve(&ptr, size, 0, 0, 0))
		size /= 2;
	kunit_info(test, "longest reservation (a power of two): %#zx", size);
	cu.cuMemAddressFree(ptr, size);
	while (n < 10000 && !cu.cuMemAddressReserve(&ptr, b->g, 0, 0, 0))
		n++;
	kunit_info(test, "reservations of one granule: %d%s", n,
		   n == 10000 ? " and more" : "");
	see_alignment(test, 0);
	see_alignment(test, (size_t)2 << 20);
	see_alignment(test, (size_t)512 << 20);
	see_alignment(test, (size_t)1 << 30);
}

/* P14: the time of each call, by the size of the handle. */
static void p14_times(struct kunit *test)
{
	struct bench *b = probe_open(test);
	CUmemGenericAllocationHandle handle;
	CUdeviceptr ptr = reserve(test, (size_t)1 << 30);
	uint64_t t[6];
	size_t size;

	for (size = b->g; size <= (size_t)1 << 30; size *= 8) {
		t[0] = now_us();
		handle = create(test, size);
		t[1] = now_us();
		MUST(test, cuMemMap(ptr, size, 0, handle, 0));
		t[2] = now_us();
		MUST(test, cuMemSetAccess(ptr, size, &b->rw, 1));
		t[3] = now_us();
		MUST(test, cuMemUnmap(ptr, size));
		t[4] = now_us();
		MUST(test, cuMemRelease(handle));
		t[5] = now_us();
		kunit_info(test, "%zu bytes: create %d, map %d, set access %d, "
			   "unmap %d, release %d us", size,
			   (int)(t[1] - t[0]), (int)(t[2] - t[1]),
			   (int)(t[3] - t[2]), (int)(t[4] - t[3]),
			   (int)(t[5] - t[4]));
	}
}

/* P15: whether unmapping waits for work that uses other memory. */
static void p15_unmap_beside_work(struct kunit *test)
{
	struct bench *b = probe_open(test);
	struct area a = area_open(test, b->g);
	CUstream stream = new_stream(test, CU_STREAM_NON_BLOCKING);
	struct gate *gate = gate_close(test, stream);
	CUevent event = new_event(test);

	MUST(test, cuEventRecord(event, stream));
	gate_await(gate);
	/* What waits here would wait forever, were the gate never opened. */
	SEE(test, cuEventQuery(event));
	SEE(test, cuMemUnmap(a.ptr, a.size));
	SEE(test, cuEventQuery(event));
	gate_open(gate);
	SEE(test, cuStreamSynchronize(stream));
}

/* P16: what an exported descriptor holds. */
static void p16_exported(struct kunit *test)
{
	struct bench *b = probe_open(test);
	CUmemGenericAllocationHandle handle;
	size_t before = free_bytes(test);
	int fd[2] = { -1, -1 };

	b->prop.requestedHandleTypes =
		CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	handle = create(test, 16 * b->g);
	MUST(test, cuMemExportToShareableHandle(&fd[0], handle, 1, 0));
	MUST(test, cuMemExportToShareableHandle(&fd[1], handle, 1, 0));
	kunit_info(test, "two exports: descriptors %d and %d", fd[0], fd[1]);
	SEE(test, cuMemRelease(handle));
	kunit_info(test, "released: %zd bytes are held",
		   (ssize_t)(before - free_bytes(test)));
	close(fd[0]);
	close(fd[1]);
	kunit_info(test, "closed: %zd bytes are held",
		   (ssize_t)(before - free_bytes(test)));
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_ISOLATED(p01_capture),
	KUNIT_CASE_ISOLATED(p02_map_offset),
	KUNIT_CASE_ISOLATED(p03_free_mapped),
	KUNIT_CASE_ISOLATED(p04_map_across),
	KUNIT_CASE_ISOLATED(p05_grant_half),
	KUNIT_CASE_ISOLATED(p06_grant_one_whole),
	KUNIT_CASE_ISOLATED(p07_reserve_arguments),
	KUNIT_CASE_ISOLATED(p08_after_fault),
	KUNIT_CASE_ISOLATED(p09_reset),
	KUNIT_CASE_ISOLATED(p10_no_context),
	KUNIT_CASE_ISOLATED(p11_boolean_width),
	KUNIT_CASE_ISOLATED(p12_granularity),
	KUNIT_CASE_ISOLATED(p13_reserve_limits),
	KUNIT_CASE_ISOLATED(p14_times),
	KUNIT_CASE_ISOLATED(p15_unmap_beside_work, .timeout_s = 120),
	KUNIT_CASE_ISOLATED(p16_exported),
	{ 0 }
};

static const struct kunit_suite suite = {
	.name = "contract_probe",
	.cases = cases,
};
kunit_test_suite(suite);
