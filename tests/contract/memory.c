// SPDX-License-Identifier: BSD-2-Clause
/* memory.c - statements about classic, pinned, and stream-ordered memory. */
#include "tests/contract/driver.h"

static CUdeviceptr classic(struct kunit *test, size_t size)
{
	CUdeviceptr ptr = 0;

	MUST(test, cuMemAlloc(&ptr, size));
	return ptr;
}

/* Nothing to allocate is INVALID_VALUE. */
static void c149_alloc_nothing(struct kunit *test)
{
	CUdeviceptr ptr;

	EXPECT_CU(test, cuMemAlloc(&ptr, 0), 1);
}

/* Every address is a multiple of 256. */
static void c150_alloc_aligned(struct kunit *test)
{
	CUdeviceptr ptr[8];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ptr); i++) {
		ptr[i] = classic(test, 100 * i + 1);
		KUNIT_EXPECT_EQ(test, ptr[i] % 256, 0);
	}
	for (i = 0; i < ARRAY_SIZE(ptr); i++)
		EXPECT_CU(test, cuMemFree(ptr[i]), 0);
}

/* Freeing 0 succeeds, or is INVALID_VALUE. */
static void c151_free_zero(struct kunit *test)
{
	EXPECT_CU(test, cuMemFree(0), 0, 1);
}

/* An address inside, one of a mapping, and one that was freed are
 * INVALID_VALUE.
 */
static void c152_free_other(struct kunit *test)
{
	CUdeviceptr ptr = classic(test, 4096);
	struct area a = area_open(test, bench_of(test)->g);

	EXPECT_CU(test, cuMemFree(ptr + 256), 1);
	EXPECT_CU(test, cuMemFree(a.ptr), 1);
	EXPECT_CU(test, cuMemFree(ptr), 0);
	EXPECT_CU(test, cuMemFree(ptr), 1);
	area_close(test, &a);
}

/* Without a context: INVALID_CONTEXT. */
static void c153_alloc_none(struct kunit *test)
{
	CUdeviceptr ptr;
	CUcontext ctx;

	MUST(test, cuCtxPopCurrent(&ctx));
	EXPECT_CU(test, cuMemAlloc(&ptr, 100), 201);
	MUST(test, cuCtxPushCurrent(ctx));
}

/* Freeing no pinned memory succeeds. */
static void c154_free_host_null(struct kunit *test)
{
	void *p = NULL;

	EXPECT_CU(test, cuMemFreeHost(NULL), 0);
	MUST(test, cuMemHostAlloc(&p, 10000, 0));
	memset(p, 1, 10000);
	EXPECT_CU(test, cuMemFreeHost(p), 0);
}

/* Memory is registered once, and unregistered when it was. */
static void c155_register(struct kunit *test)
{
	size_t page = bench_of(test)->page;
	char *p = aligned_alloc(page, 2 * page);

	KUNIT_ASSERT_NOT_NULL(test, p);
	memset(p, 0, 2 * page);
	EXPECT_CU(test, cuMemHostRegister(p, 2 * page, 0), 0);
	EXPECT_CU(test, cuMemHostRegister(p, page, 0), 712);
	EXPECT_CU(test, cuMemHostUnregister(p), 0);
	EXPECT_CU(test, cuMemHostUnregister(p), 713);
	free(p);
}

static CUmemoryPool default_pool(struct kunit *test)
{
	CUmemoryPool pool = NULL;
	int has = 0;

	if (!cu.cuDeviceGetDefaultMemPool)
		kunit_skip(test, "the driver has no pools");
	MUST(test, cuDeviceGetAttribute(&has,
			CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0));
	if (!has)
		kunit_skip(test, "the device has no pools");
	MUST(test, cuDeviceGetDefaultMemPool(&pool, 0));
	return pool;
}

static uint64_t pool_number(struct kunit *test, CUmemoryPool pool,
			    CUmemPool_attribute attribute)
{
	uint64_t value = ~0ull;

	MUST(test, cuMemPoolGetAttribute(pool, attribute, &value));
	return value;
}

/* What was allocated in a stream can be used behind in it, without waiting. */
static void c156_alloc_async(struct kunit *test)
{
	unsigned char got = 0;
	CUdeviceptr ptr = 0;
	CUstream stream;

	default_pool(test);
	stream = new_stream(test, CU_STREAM_NON_BLOCKING);
	EXPECT_CU(test, cuMemAllocAsync(&ptr, 1000, stream), 0);
	EXPECT_CU(test, cuMemsetD8Async(ptr, 0x56, 1000, stream), 0);
	EXPECT_CU(test, cuMemcpyDtoHAsync(&got, ptr + 999, 1, stream), 0);
	EXPECT_CU(test, cuMemFreeAsync(ptr, stream), 0);
	end_stream(test, stream);
	KUNIT_EXPECT_EQ(test, got, 0x56);
}

/* The release threshold is 0, and the three reuse attributes are on. */
static void c157_pool_defaults(struct kunit *test)
{
	CUmemoryPool pool = default_pool(test);
	CUmemPool_attribute i;
	int on;

	KUNIT_EXPECT_EQ(test, pool_number(test, pool,
			CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), 0);
	for (i = CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES;
	     i <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES; i++) {
		MUST(test, cuMemPoolGetAttribute(pool, i, &on));
		KUNIT_EXPECT_EQ(test, on, 1);
	}
}

/* The high water marks can be set to 0 only. */
static void c158_pool_high(struct kunit *test)
{
	CUmemoryPool pool = default_pool(test);
	uint64_t one = 1, zero = 0;

	EXPECT_CU(test, cuMemPoolSetAttribute(pool,
			CU_MEMPOOL_ATTR_USED_MEM_HIGH, &one), 1);
	EXPECT_CU(test, cuMemPoolSetAttribute(pool,
			CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &one), 1);
	EXPECT_CU(test, cuMemPoolSetAttribute(pool,
			CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero), 0);
}

/* The default pool cannot be destroyed. */
static void c159_pool_destroy_default(struct kunit *test)
{
	EXPECT_CU(test, cuMemPoolDestroy(default_pool(test)), 1);
}

/* Trimmed after the free was seen, a pool keeps less. */
static void c160_pool_trim(struct kunit *test)
{
	CUmemoryPool pool = default_pool(test);
	CUstream stream = new_stream(test, CU_STREAM_NON_BLOCKING);
	uint64_t keep = UINT64_MAX, none = 0, full;
	CUdeviceptr ptr;

	MUST(test, cuMemPoolSetAttribute(pool,
			CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
	MUST(test, cuMemAllocAsync(&ptr, 64 << 20, stream));
	MUST(test, cuMemFreeAsync(ptr, stream));
	MUST(test, cuStreamSynchronize(stream));
	full = pool_number(test, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
	KUNIT_EXPECT_GE(test, full, 64 << 20);
	EXPECT_CU(test, cuMemPoolTrimTo(pool, 0), 0);
	KUNIT_EXPECT_LT(test, pool_number(test, pool,
			CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), full);
	MUST(test, cuMemPoolSetAttribute(pool,
			CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &none));
	end_stream(test, stream);
}

/* A pool of the host cannot be shared. */
static void c161_pool_host_shared(struct kunit *test)
{
	CUmemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = { CU_MEM_LOCATION_TYPE_HOST, 0 },
		.maxSize = 64 << 20,
	};
	CUmemoryPool pool = NULL;

	default_pool(test);
	EXPECT_CU(test, cuMemPoolCreate(&pool, &props), 1);
	if (pool)
		cu.cuMemPoolDestroy(pool);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(c149_alloc_nothing),
	KUNIT_CASE(c150_alloc_aligned),
	KUNIT_CASE(c151_free_zero),
	KUNIT_CASE(c152_free_other),
	KUNIT_CASE(c153_alloc_none),
	KUNIT_CASE(c154_free_host_null),
	KUNIT_CASE(c155_register),
	KUNIT_CASE(c156_alloc_async),
	KUNIT_CASE(c157_pool_defaults),
	KUNIT_CASE(c158_pool_high),
	KUNIT_CASE(c159_pool_destroy_default),
	KUNIT_CASE(c160_pool_trim),
	KUNIT_CASE(c161_pool_host_shared),
	{ 0 }
};

static const struct kunit_suite suite = {
	.name = "contract_memory",
	.init = bench_init,
	.exit = bench_exit,
	.cases = cases,
};
kunit_test_suite(suite);
