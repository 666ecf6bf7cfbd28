// SPDX-License-Identifier: BSD-2-Clause
/* create.c - statements about handles of physical memory. */
#include "tests/contract/driver.h"

/* What the driver may move of its own account beside a test. */
#define NOISE_BYTES ((size_t)2 << 20)

/* A granule can be created; as much less is free. */
static void c054_create(struct kunit *test)
{
	size_t g = bench_of(test)->g, before = free_bytes(test);
	CUmemGenericAllocationHandle handle = create(test, g);

	KUNIT_EXPECT_GE(test, before - min(before, free_bytes(test)), g);
	release(test, handle);
}

static void refused(struct kunit *test, size_t size,
		    const CUmemAllocationProp *prop, unsigned long long flags,
		    const int *codes)
{
	CUmemGenericAllocationHandle handle = 0;
	CUresult ret = cu.cuMemCreate(&handle, size, prop, flags);

	expect_result(test, "cuMemCreate", 0, ret, codes);
	if (!ret)
		cu.cuMemRelease(handle);
}

#define REFUSED(test, size, prop, flags, ...) \
	refused(test, size, prop, flags, (const int[]){ __VA_ARGS__, -1 })

/* A size that is no multiple of the granularity is INVALID_VALUE. */
static void c055_create_odd_size(struct kunit *test)
{
	struct bench *b = bench_of(test);

	REFUSED(test, b->g + b->page, &b->prop, 0, 1);
}

/* So is size 0. */
static void c056_create_nothing(struct kunit *test)
{
	REFUSED(test, 0, &bench_of(test)->prop, 0, 1);
}

/* So are flags. */
static void c057_create_flags(struct kunit *test)
{
	struct bench *b = bench_of(test);

	REFUSED(test, b->g, &b->prop, 1, 1);
}

/* So are no properties, and no place for the handle. */
static void c058_create_null(struct kunit *test)
{
	struct bench *b = bench_of(test);

	REFUSED(test, b->g, NULL, 0, 1);
	EXPECT_CU(test, cuMemCreate(NULL, b->g, &b->prop, 0), 1);
}

/* So is type 0. */
static void c059_create_type(struct kunit *test)
{
	struct bench *b = bench_of(test);

	b->prop.type = CU_MEM_ALLOCATION_TYPE_INVALID;
	REFUSED(test, b->g, &b->prop, 0, 1);
}

/* So is a location of type 0. */
static void c060_create_location(struct kunit *test)
{
	struct bench *b = bench_of(test);

	b->prop.location.type = CU_MEM_LOCATION_TYPE_INVALID;
	REFUSED(test, b->g, &b->prop, 0, 1);
}

/* A device that does not exist is INVALID_DEVICE, or INVALID_VALUE. */
static void c061_create_device(struct kunit *test)
{
	struct bench *b = bench_of(test);

	MUST(test, cuDeviceGetCount(&b->prop.location.id));
	REFUSED(test, b->g, &b->prop, 0, 101, 1);
}

/* Memory of the host cannot be shared: INVALID_VALUE. */
static void c062_create_host_shared(struct kunit *test)
{
	struct bench *b = bench_of(test);

	b->prop.location.type = CU_MEM_LOCATION_TYPE_HOST;
	b->prop.requestedHandleTypes =
		CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	REFUSED(test, b->g, &b->prop, 0, 1);
}

/* HOST_NUMA_CURRENT is INVALID_VALUE. */
static void c063_create_numa_current(struct kunit *test)
{
	struct bench *b = bench_of(test);

	b->prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
	REFUSED(test, b->g, &b->prop, 0, 1);
}

/* Handles of Windows are NOT_SUPPORTED, or INVALID_VALUE. */
static void c065_create_windows(struct kunit *test)
{
	struct bench *b = bench_of(test);

	b->prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_WIN32;
	REFUSED(test, b->g, &b->prop, 0, 801, 1);
}

/* FABRIC without an IMEX channel is refused in one of four ways. */
static void c066_create_fabric(struct kunit *test)
{
	struct bench *b = bench_of(test);

	b->prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
	REFUSED(test, b->g, &b->prop, 0, 800, 801, 1, 101);
}

/* Reserved bytes that are not 0 are INVALID_VALUE; a GPU may not look. */
static void c067_create_reserved(struct kunit *test)
{
	struct bench *b = bench_of(test);

	b->prop.allocFlags.reserved[2] = 1;
	REFUSED(test, b->g, &b->prop, 0, 1, 0);
}

/* More than the device has is OUT_OF_MEMORY. */
static void c068_create_too_much(struct kunit *test)
{
	struct bench *b = bench_of(test);
	size_t total;

	MUST(test, cuDeviceTotalMem(&total, 0));
	REFUSED(test, (total / b->g + 1) * b->g, &b->prop, 0, 2);
}

/* Running out of memory does not stick: something smaller succeeds. */
static void c069_create_after_failure(struct kunit *test)
{
	struct bench *b = bench_of(test);
	CUmemGenericAllocationHandle handle;
	size_t total;

	MUST(test, cuDeviceTotalMem(&total, 0));
	REFUSED(test, (total / b->g + 1) * b->g, &b->prop, 0, 2);
	handle = create(test, b->g);
	release(test, handle);
}

/* Release of the only reference to what is not mapped gives it back. */
static void c070_release(struct kunit *test)
{
	size_t size = 8 * bench_of(test)->g, before;
	CUmemGenericAllocationHandle handle = create(test, size);

	before = free_bytes(test);
	release(test, handle);
	KUNIT_EXPECT_GE(test, free_bytes(test), before + size);
}

/* Release while mapped succeeds, and the data stays. */
static void c071_release_mapped(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);

	put_u32(test, a.ptr, 71);
	EXPECT_CU(test, cuMemRelease(a.handle), 0);
	KUNIT_EXPECT_EQ(test, get_u32(test, a.ptr), 71);
	EXPECT_CU(test, cuMemUnmap(a.ptr, a.size), 0);
	unreserve(test, a.ptr, a.size);
}

/* After Release and Unmap as much is free as before Create. */
static void c072_release_and_unmap(struct kunit *test)
{
	size_t size = 8 * bench_of(test)->g, before = free_bytes(test);
	struct area a = area_open(test, size);

	release(test, a.handle);
	EXPECT_CU(test, cuMemUnmap(a.ptr, a.size), 0);
	unreserve(test, a.ptr, a.size);
	KUNIT_EXPECT_GE(test, free_bytes(test) + NOISE_BYTES, before);
}

/* Unmap alone gives nothing back. */
static void c073_unmap_keeps(struct kunit *test)
{
	size_t size = 8 * bench_of(test)->g, before = free_bytes(test);
	struct area a = area_open(test, size);

	EXPECT_CU(test, cuMemUnmap(a.ptr, a.size), 0);
	KUNIT_EXPECT_LE(test, free_bytes(test), before - size + NOISE_BYTES);
	release(test, a.handle);
	unreserve(test, a.ptr, a.size);
}

/* A thousand times create, map, unmap, and release leave nothing behind. */
static void c200_thousand_cycles(struct kunit *test)
{
	struct bench *b = bench_of(test);
	CUdeviceptr ptr = reserve(test, b->g);
	CUmemGenericAllocationHandle handle;
	size_t before = free_bytes(test), after;
	int i;

	for (i = 0; i < 1000; i++) {
		handle = create(test, b->g);
		MUST(test, cuMemMap(ptr, b->g, 0, handle, 0));
		MUST(test, cuMemUnmap(ptr, b->g));
		MUST(test, cuMemRelease(handle));
	}
	after = free_bytes(test);
	KUNIT_EXPECT_LE(test, max(before, after) - min(before, after),
			NOISE_BYTES);
	unreserve(test, ptr, b->g);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(c054_create),
	KUNIT_CASE(c055_create_odd_size),
	KUNIT_CASE(c056_create_nothing),
	KUNIT_CASE(c057_create_flags),
	KUNIT_CASE(c058_create_null),
	KUNIT_CASE(c059_create_type),
	KUNIT_CASE(c060_create_location),
	KUNIT_CASE(c061_create_device),
	KUNIT_CASE(c062_create_host_shared),
	KUNIT_CASE(c063_create_numa_current),
	KUNIT_CASE(c065_create_windows),
	KUNIT_CASE(c066_create_fabric),
	KUNIT_CASE(c067_create_reserved),
	KUNIT_CASE(c068_create_too_much),
	KUNIT_CASE(c069_create_after_failure),
	KUNIT_CASE(c070_release),
	KUNIT_CASE(c071_release_mapped),
	KUNIT_CASE(c072_release_and_unmap),
	KUNIT_CASE(c073_unmap_keeps),
	KUNIT_CASE(c200_thousand_cycles),
	{ 0 }
};

static const struct kunit_suite suite = {
	.name = "contract_create",
	.init = vmm_bench_init,
	.exit = bench_exit,
	.cases = cases,
};
kunit_test_suite(suite);
