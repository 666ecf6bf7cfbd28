// SPDX-License-Identifier: BSD-2-Clause
/* access.c - statements about who may touch a mapping. */
#include "tests/contract/driver.h"

static unsigned long long access_at(struct kunit *test, CUdeviceptr ptr)
{
	unsigned long long flags = ~0ull;

	EXPECT_CU(test, cuMemGetAccess(&flags,
				       &bench_of(test)->prop.location, ptr),
		  0);
	return flags;
}

static CUmemAccessDesc desc_of(struct kunit *test, CUmemAccess_flags flags)
{
	CUmemAccessDesc desc = bench_of(test)->rw;

	desc.flags = flags;
	return desc;
}

static void cannot_grant(struct kunit *test, const struct area *a,
			 const CUmemAccessDesc *desc, size_t count, int first,
			 int second, int third)
{
	expect_result(test, "cuMemSetAccess", 0,
		      cu.cuMemSetAccess(a->ptr, a->size, desc, count),
		      (const int[]){ first, second, third, -1 });
}

/* Granted access, fills and copies work. */
static void c105_grant(struct kunit *test)
{
	struct area a = area_mapped(test, bench_of(test)->g);

	EXPECT_CU(test, cuMemSetAccess(a.ptr, a.size, &bench_of(test)->rw, 1),
		  0);
	EXPECT_CU(test, cuMemsetD32(a.ptr, 105, 16), 0);
	KUNIT_EXPECT_EQ(test, get_u32(test, a.ptr + 60), 105);
	area_close(test, &a);
}

/* Nothing can be granted where nothing is mapped. */
static void c106_grant_unmapped(struct kunit *test)
{
	struct bench *b = bench_of(test);
	struct area a = { .ptr = reserve(test, b->g), .size = b->g };

	cannot_grant(test, &a, &b->rw, 1, 1, -1, -1);
	unreserve(test, a.ptr, a.size);
}

/* Nor where half is mapped; nothing changes. */
static void c107_grant_half_mapped(struct kunit *test)
{
	struct bench *b = bench_of(test);
	struct area a = { .ptr = reserve(test, 2 * b->g), .size = 2 * b->g };

	a.handle = create(test, b->g);
	MUST(test, cuMemMap(a.ptr, b->g, 0, a.handle, 0));
	cannot_grant(test, &a, &b->rw, 1, 1, -1, -1);
	KUNIT_EXPECT_EQ(test, access_at(test, a.ptr), 0);
	EXPECT_CU(test, cuMemUnmap(a.ptr, b->g), 0);
	release(test, a.handle);
	unreserve(test, a.ptr, a.size);
}

/* Two mappings of one reservation, without access. */
static struct area two_mapped(struct kunit *test)
{
	size_t g = bench_of(test)->g;
	struct area a = { .ptr = reserve(test, 2 * g), .size = 2 * g };

	a.handle = create(test, g);
	MUST(test, cuMemMap(a.ptr, g, 0, a.handle, 0));
	MUST(test, cuMemMap(a.ptr + g, g, 0, a.handle, 0));
	return a;
}

/* One call grants access to two neighbours. */
static void c108_grant_two(struct kunit *test)
{
	size_t g = bench_of(test)->g;
	struct area a = two_mapped(test);

	EXPECT_CU(test, cuMemSetAccess(a.ptr, 2 * g, &bench_of(test)->rw, 1),
		  0);
	KUNIT_EXPECT_EQ(test, access_at(test, a.ptr), 3);
	KUNIT_EXPECT_EQ(test, access_at(test, a.ptr + g), 3);
	area_close(test, &a);
}

/* Growth grants access to the new tail only. */
static void c109_grant_second(struct kunit *test)
{
	size_t g = bench_of(test)->g;
	struct area a = two_mapped(test);

	EXPECT_CU(test, cuMemSetAccess(a.ptr + g, g, &bench_of(test)->rw, 1),
		  0);
	KUNIT_EXPECT_EQ(test, access_at(test, a.ptr), 0);
	KUNIT_EXPECT_EQ(test, access_at(test, a.ptr + g), 3);
	area_close(test, &a);
}

/* Half a mapping is INVALID_VALUE in the model; open on a GPU. */
static void c110_grant_half(struct kunit *test)
{
	struct area a, half;

	model_only(test);
	a = area_mapped(test, 2 * bench_of(test)->g);
	half = a;
	half.size /= 2;
	cannot_grant(test, &half, &bench_of(test)->rw, 1, 1, -1, -1);
	area_close(test, &a);
}

/* No descriptors: INVALID_VALUE, or nothing happens. */
static void c111_grant_no_count(struct kunit *test)
{
	struct area a = area_mapped(test, bench_of(test)->g);

	cannot_grant(test, &a, &bench_of(test)->rw, 0, 1, 0, -1);
	area_close(test, &a);
}

/* A count of descriptors that are not there: INVALID_VALUE. */
static void c112_grant_null(struct kunit *test)
{
	struct area a = area_mapped(test, bench_of(test)->g);

	cannot_grant(test, &a, NULL, 1, 1, -1, -1);
	area_close(test, &a);
}

/* Writing without reading does not exist. */
static void c113_grant_flags(struct kunit *test)
{
	struct area a = area_mapped(test, bench_of(test)->g);
	CUmemAccessDesc desc = desc_of(test, (CUmemAccess_flags)2);

	cannot_grant(test, &a, &desc, 1, 1, -1, -1);
	area_close(test, &a);
}

/* Nor can a device that does not exist: INVALID_DEVICE, or INVALID_VALUE. */
static void c114_grant_device(struct kunit *test)
{
	struct area a = area_mapped(test, bench_of(test)->g);
	CUmemAccessDesc desc = bench_of(test)->rw;

	MUST(test, cuDeviceGetCount(&desc.location.id));
	cannot_grant(test, &a, &desc, 1, 101, 1, -1);
	area_close(test, &a);
}

/* For reading only: copies from it work; copies to it and fills are
 * INVALID_VALUE, or fault.
 */
static void c115_grant_read(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);
	CUmemAccessDesc desc = desc_of(test, CU_MEM_ACCESS_FLAGS_PROT_READ);
	uint32_t value = 115;

	put_u32(test, a.ptr, value);
	MUST(test, cuMemSetAccess(a.ptr, a.size, &desc, 1));
	KUNIT_EXPECT_EQ(test, get_u32(test, a.ptr), 115);
	EXPECT_CU(test, cuMemcpyHtoD(a.ptr, &value, 4), 1, 700);
	EXPECT_CU(test, cuMemsetD8(a.ptr, 0, 4), 1, 700);
	cu.cuMemUnmap(a.ptr, a.size);
	cu.cuMemRelease(a.handle);
	cu.cuMemAddressFree(a.ptr, a.size);
}

/* Taken back, copies are INVALID_VALUE, or fault. */
static void c116_revoke(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);
	CUmemAccessDesc desc = desc_of(test, CU_MEM_ACCESS_FLAGS_PROT_NONE);
	uint32_t value = 116;

	put_u32(test, a.ptr, value);
	MUST(test, cuMemSetAccess(a.ptr, a.size, &desc, 1));
	EXPECT_CU(test, cuMemcpyDtoH(&value, a.ptr, 4), 1, 700);
	cu.cuMemUnmap(a.ptr, a.size);
	cu.cuMemRelease(a.handle);
	cu.cuMemAddressFree(a.ptr, a.size);
}

/* Granting twice is as once. */
static void c117_grant_twice(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);

	EXPECT_CU(test, cuMemSetAccess(a.ptr, a.size, &bench_of(test)->rw, 1),
		  0);
	KUNIT_EXPECT_EQ(test, access_at(test, a.ptr), 3);
	area_close(test, &a);
}

/* The host cannot have access to device memory: NOT_SUPPORTED, or
 * INVALID_VALUE.
 */
static void c118_grant_host(struct kunit *test)
{
	struct area a = area_mapped(test, bench_of(test)->g);
	CUmemAccessDesc desc = bench_of(test)->rw;

	desc.location.type = CU_MEM_LOCATION_TYPE_HOST;
	desc.location.id = 0;
	cannot_grant(test, &a, &desc, 1, 801, 1, -1);
	area_close(test, &a);
}

/* Nor a node of it: INVALID_VALUE, or NOT_SUPPORTED. */
static void c119_grant_numa(struct kunit *test)
{
	struct area a = area_mapped(test, bench_of(test)->g);
	CUmemAccessDesc desc = bench_of(test)->rw;

	desc.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
	cannot_grant(test, &a, &desc, 1, 1, 801, -1);
	area_close(test, &a);
}

/* Before a grant the access is 0, after it what was granted. */
static void c121_access(struct kunit *test)
{
	struct area a = area_mapped(test, bench_of(test)->g);

	KUNIT_EXPECT_EQ(test, access_at(test, a.ptr), 0);
	grant(test, a.ptr, a.size);
	KUNIT_EXPECT_EQ(test, access_at(test, a.ptr), 3);
	area_close(test, &a);
}

/* It can be asked at any address of the mapping. */
static void c122_access_inside(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);

	KUNIT_EXPECT_EQ(test, access_at(test, a.ptr + a.size / 2 + 1), 3);
	area_close(test, &a);
}

/* Of what is not mapped, or without a place or location: INVALID_VALUE. */
static void c123_access_unmapped(struct kunit *test)
{
	struct bench *b = bench_of(test);
	CUdeviceptr ptr = reserve(test, b->g);
	unsigned long long flags;

	EXPECT_CU(test, cuMemGetAccess(&flags, &b->prop.location, ptr), 1);
	EXPECT_CU(test, cuMemGetAccess(NULL, &b->prop.location, ptr), 1);
	EXPECT_CU(test, cuMemGetAccess(&flags, NULL, ptr), 1);
	unreserve(test, ptr, b->g);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(c105_grant),
	KUNIT_CASE(c106_grant_unmapped),
	KUNIT_CASE(c107_grant_half_mapped),
	KUNIT_CASE(c108_grant_two),
	KUNIT_CASE(c109_grant_second),
	KUNIT_CASE(c110_grant_half),
	KUNIT_CASE(c111_grant_no_count),
	KUNIT_CASE(c112_grant_null),
	KUNIT_CASE(c113_grant_flags),
	KUNIT_CASE(c114_grant_device),
	KUNIT_CASE_ISOLATED(c115_grant_read),
	KUNIT_CASE_ISOLATED(c116_revoke),
	KUNIT_CASE(c117_grant_twice),
	KUNIT_CASE(c118_grant_host),
	KUNIT_CASE(c119_grant_numa),
	KUNIT_CASE(c121_access),
	KUNIT_CASE(c122_access_inside),
	KUNIT_CASE(c123_access_unmapped),
	{ 0 }
};

static const struct kunit_suite suite = {
	.name = "contract_access",
	.init = vmm_bench_init,
	.exit = bench_exit,
	.cases = cases,
};
kunit_test_suite(suite);
