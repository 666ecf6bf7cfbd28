// SPDX-License-Identifier: BSD-2-Clause
/* map.c - statements about mapping and unmapping. */
#include "tests/contract/driver.h"

/* A handle is mapped into a reservation. */
static void c075_map(struct kunit *test)
{
	size_t g = bench_of(test)->g;
	CUdeviceptr ptr = reserve(test, g);
	CUmemGenericAllocationHandle handle = create(test, g);

	EXPECT_CU(test, cuMemMap(ptr, g, 0, handle, 0), 0);
	EXPECT_CU(test, cuMemUnmap(ptr, g), 0);
	release(test, handle);
	unreserve(test, ptr, g);
}

static void cannot_map(struct kunit *test, CUdeviceptr ptr, size_t size,
		       size_t offset, size_t created, unsigned long long flags)
{
	CUmemGenericAllocationHandle handle = create(test, created);
	CUresult ret = cu.cuMemMap(ptr, size, offset, handle, flags);

	expect_result(test, "cuMemMap", 0, ret, (const int[]){ 1, -1 });
	if (!ret)
		cu.cuMemUnmap(ptr, size);
	release(test, handle);
}

/* Not into addresses that are not reserved. */
static void c076_map_unreserved(struct kunit *test)
{
	size_t g = bench_of(test)->g;
	CUdeviceptr ptr = reserve(test, g);

	unreserve(test, ptr, g);
	cannot_map(test, ptr, g, 0, g, 0);
}

/* Not beyond the end of the reservation. */
static void c077_map_beyond(struct kunit *test)
{
	size_t g = bench_of(test)->g;
	CUdeviceptr room = reserve(test, 4 * g), ptr;

	unreserve(test, room, 4 * g);
	MUST(test, cuMemAddressReserve(&ptr, g, 0, room, 0));
	cannot_map(test, ptr, 2 * g, 0, 2 * g, 0);
	unreserve(test, ptr, g);
}

/* Not where something is mapped. */
static void c078_map_twice(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);

	cannot_map(test, a.ptr, a.size, 0, a.size, 0);
	area_close(test, &a);
}

/* Nor where a part is mapped; the old mapping stays as it was. */
static void c079_map_overlap(struct kunit *test)
{
	size_t g = bench_of(test)->g;
	CUdeviceptr ptr = reserve(test, 3 * g);
	CUmemGenericAllocationHandle handle = create(test, 2 * g);

	MUST(test, cuMemMap(ptr, 2 * g, 0, handle, 0));
	grant(test, ptr, 2 * g);
	put_u32(test, ptr + g, 79);
	cannot_map(test, ptr + g, 2 * g, 0, 2 * g, 0);
	KUNIT_EXPECT_EQ(test, get_u32(test, ptr + g), 79);
	EXPECT_CU(test, cuMemUnmap(ptr, 2 * g), 0);
	release(test, handle);
	unreserve(test, ptr, 3 * g);
}

/* The address is a multiple of the granularity. */
static void c080_map_odd_address(struct kunit *test)
{
	struct bench *b = bench_of(test);
	CUdeviceptr ptr = reserve(test, 2 * b->g);

	cannot_map(test, ptr + b->page, b->g, 0, b->g, 0);
	unreserve(test, ptr, 2 * b->g);
}

/* So is the size. */
static void c081_map_odd_size(struct kunit *test)
{
	struct bench *b = bench_of(test);
	CUdeviceptr ptr = reserve(test, 2 * b->g);

	cannot_map(test, ptr, b->g + b->page, 0, 2 * b->g, 0);
	unreserve(test, ptr, 2 * b->g);
}

/* Not more than the handle has. */
static void c082_map_too_much(struct kunit *test)
{
	size_t g = bench_of(test)->g;
	CUdeviceptr ptr = reserve(test, 2 * g);

	cannot_map(test, ptr, 2 * g, 0, g, 0);
	unreserve(test, ptr, 2 * g);
}

/* All that it has. */
static void c083_map_whole(struct kunit *test)
{
	size_t size = 4 * bench_of(test)->g;
	CUdeviceptr ptr = reserve(test, size);
	CUmemGenericAllocationHandle handle = create(test, size);

	EXPECT_CU(test, cuMemMap(ptr, size, 0, handle, 0), 0);
	EXPECT_CU(test, cuMemUnmap(ptr, size), 0);
	release(test, handle);
	unreserve(test, ptr, size);
}

/* The beginning of it. */
static void c084_map_half(struct kunit *test)
{
	size_t g = bench_of(test)->g;
	CUdeviceptr ptr = reserve(test, g);
	CUmemGenericAllocationHandle handle = create(test, 2 * g);

	EXPECT_CU(test, cuMemMap(ptr, g, 0, handle, 0), 0);
	EXPECT_CU(test, cuMemUnmap(ptr, g), 0);
	release(test, handle);
	unreserve(test, ptr, g);
}

/* The offset must be 0; in the model another is INVALID_VALUE. */
static void c085_map_offset(struct kunit *test)
{
	size_t g = bench_of(test)->g;
	CUdeviceptr ptr;

	model_only(test);
	ptr = reserve(test, g);
	cannot_map(test, ptr, g, g, 2 * g, 0);
	unreserve(test, ptr, g);
}

/* Flags are INVALID_VALUE. */
static void c086_map_flags(struct kunit *test)
{
	size_t g = bench_of(test)->g;
	CUdeviceptr ptr = reserve(test, g);

	cannot_map(test, ptr, g, 0, g, 1);
	unreserve(test, ptr, g);
}

/* So is size 0. */
static void c087_map_nothing(struct kunit *test)
{
	size_t g = bench_of(test)->g;
	CUdeviceptr ptr = reserve(test, g);

	cannot_map(test, ptr, 0, 0, g, 0);
	unreserve(test, ptr, g);
}

/* One mapping does not span two reservations; open on a GPU. */
static void c088_map_across(struct kunit *test)
{
	size_t g = bench_of(test)->g;
	CUdeviceptr ptr;

	model_only(test);
	KUNIT_ASSERT_TRUE(test, reserve_pair(test, g, &ptr));
	cannot_map(test, ptr, 2 * g, 0, 2 * g, 0);
	unreserve(test, ptr, g);
	unreserve(test, ptr + g, g);
}

/* A handle that is mapped twice is the same bytes at two addresses. */
static void c089_map_alias(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);
	CUdeviceptr other = reserve(test, a.size);

	EXPECT_CU(test, cuMemMap(other, a.size, 0, a.handle, 0), 0);
	grant(test, other, a.size);
	put_u32(test, a.ptr + 64, 89);
	KUNIT_EXPECT_EQ(test, get_u32(test, other + 64), 89);
	EXPECT_CU(test, cuMemUnmap(other, a.size), 0);
	unreserve(test, other, a.size);
	area_close(test, &a);
}

/* Two handles side by side in one reservation. */
struct pair {
	CUdeviceptr ptr;
	CUmemGenericAllocationHandle handle[2];
};

static struct pair pair_open(struct kunit *test)
{
	size_t g = bench_of(test)->g, i;
	struct pair p = { .ptr = reserve(test, 2 * g) };

	for (i = 0; i < 2; i++) {
		p.handle[i] = create(test, g);
		MUST(test, cuMemMap(p.ptr + i * g, g, 0, p.handle[i], 0));
		grant(test, p.ptr + i * g, g);
	}
	return p;
}

static void pair_close(struct kunit *test, const struct pair *p)
{
	size_t g = bench_of(test)->g;

	cu.cuMemUnmap(p->ptr, g);
	cu.cuMemUnmap(p->ptr + g, g);
	release(test, p->handle[0]);
	release(test, p->handle[1]);
	unreserve(test, p->ptr, 2 * g);
}

/* Handles mapped side by side are one range for fills and copies. */
static void c090_map_adjacent(struct kunit *test)
{
	size_t g = bench_of(test)->g;
	struct pair p = pair_open(test);
	unsigned char got[64];

	EXPECT_CU(test, cuMemsetD8(p.ptr, 0x90, 2 * g), 0);
	EXPECT_CU(test, cuMemcpyDtoH(got, p.ptr + g - 32, 64), 0);
	KUNIT_EXPECT_EQ(test, got[0], 0x90);
	KUNIT_EXPECT_EQ(test, got[63], 0x90);
	pair_close(test, &p);
}

/* Mapping takes no device memory. */
static void c091_map_is_free(struct kunit *test)
{
	size_t size = 8 * bench_of(test)->g, before;
	CUdeviceptr ptr = reserve(test, size);
	CUmemGenericAllocationHandle handle = create(test, size);

	before = free_bytes(test);
	MUST(test, cuMemMap(ptr, size, 0, handle, 0));
	KUNIT_EXPECT_LE(test, before - min(before, free_bytes(test)),
			(size_t)2 << 20);
	EXPECT_CU(test, cuMemUnmap(ptr, size), 0);
	release(test, handle);
	unreserve(test, ptr, size);
}

/* Without access a copy to it is INVALID_VALUE, or the context faults. */
static void c092_map_no_access(struct kunit *test)
{
	struct area a = area_mapped(test, bench_of(test)->g);
	uint32_t value = 92;

	EXPECT_CU(test, cuMemcpyHtoD(a.ptr, &value, 4), 1, 700);
	cu.cuMemUnmap(a.ptr, a.size);
	cu.cuMemRelease(a.handle);
	cu.cuMemAddressFree(a.ptr, a.size);
}

/* Unmapped, an address stays reserved: nothing else gets it, and it can be
 * mapped again.
 */
static void c094_unmap(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);
	CUdeviceptr other;

	EXPECT_CU(test, cuMemUnmap(a.ptr, a.size), 0);
	other = reserve(test, a.size);
	KUNIT_EXPECT_NE(test, other, a.ptr);
	unreserve(test, other, a.size);
	MUST(test, cuMemMap(a.ptr, a.size, 0, a.handle, 0));
	area_close(test, &a);
}

/* Half a mapping cannot be unmapped; it stays whole. */
static void c095_unmap_half(struct kunit *test)
{
	size_t g = bench_of(test)->g;
	struct area a = area_open(test, 2 * g);

	put_u32(test, a.ptr, 95);
	EXPECT_CU(test, cuMemUnmap(a.ptr, g), 1);
	KUNIT_EXPECT_EQ(test, get_u32(test, a.ptr), 95);
	area_close(test, &a);
}

/* One byte less is INVALID_VALUE. */
static void c096_unmap_odd_size(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);

	EXPECT_CU(test, cuMemUnmap(a.ptr, a.size - 1), 1);
	area_close(test, &a);
}

/* Two whole neighbours are unmapped by one call. */
static void c097_unmap_two(struct kunit *test)
{
	size_t g = bench_of(test)->g;
	struct pair p = pair_open(test);

	EXPECT_CU(test, cuMemUnmap(p.ptr, 2 * g), 0);
	pair_close(test, &p);
}

/* Not with a hole; every mapping stays. */
static void c098_unmap_hole(struct kunit *test)
{
	size_t g = bench_of(test)->g;
	CUdeviceptr ptr = reserve(test, 3 * g);
	CUmemGenericAllocationHandle handle = create(test, g);

	MUST(test, cuMemMap(ptr, g, 0, handle, 0));
	grant(test, ptr, g);
	MUST(test, cuMemMap(ptr + 2 * g, g, 0, handle, 0));
	put_u32(test, ptr, 98);
	EXPECT_CU(test, cuMemUnmap(ptr, 3 * g), 1);
	if (cu.is_model)
		KUNIT_EXPECT_EQ(test, get_u32(test, ptr), 98);
	cu.cuMemUnmap(ptr, g);
	cu.cuMemUnmap(ptr + 2 * g, g);
	release(test, handle);
	unreserve(test, ptr, 3 * g);
}

/* Nothing to unmap is INVALID_VALUE. */
static void c099_unmap_reserved(struct kunit *test)
{
	size_t g = bench_of(test)->g;
	CUdeviceptr ptr = reserve(test, g);

	EXPECT_CU(test, cuMemUnmap(ptr, g), 1);
	unreserve(test, ptr, g);
}

/* So is unmapping again. */
static void c100_unmap_twice(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);

	EXPECT_CU(test, cuMemUnmap(a.ptr, a.size), 0);
	EXPECT_CU(test, cuMemUnmap(a.ptr, a.size), 1);
	release(test, a.handle);
	unreserve(test, a.ptr, a.size);
}

/* Access goes with the mapping. */
static void c101_map_again_no_access(struct kunit *test)
{
	struct bench *b = bench_of(test);
	struct area a = area_open(test, b->g);
	unsigned long long flags = 7;

	MUST(test, cuMemUnmap(a.ptr, a.size));
	MUST(test, cuMemMap(a.ptr, a.size, 0, a.handle, 0));
	EXPECT_CU(test, cuMemGetAccess(&flags, &b->prop.location, a.ptr), 0);
	KUNIT_EXPECT_EQ(test, flags, 0);
	area_close(test, &a);
}

/* The data stays with the handle. */
static void c102_map_again_same_data(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);

	put_u32(test, a.ptr, 102);
	MUST(test, cuMemUnmap(a.ptr, a.size));
	MUST(test, cuMemMap(a.ptr, a.size, 0, a.handle, 0));
	grant(test, a.ptr, a.size);
	KUNIT_EXPECT_EQ(test, get_u32(test, a.ptr), 102);
	area_close(test, &a);
}

/* Unmapping is safe when an event behind the last work has completed. */
static void c104_unmap_after_event(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);
	CUstream stream = new_stream(test, CU_STREAM_NON_BLOCKING);
	CUevent event = new_event(test);

	MUST(test, cuMemsetD8Async(a.ptr, 1, a.size, stream));
	MUST(test, cuEventRecord(event, stream));
	MUST(test, cuEventSynchronize(event));
	EXPECT_CU(test, cuMemUnmap(a.ptr, a.size), 0);
	EXPECT_CU(test, cuCtxSynchronize(), 0);
	release(test, a.handle);
	unreserve(test, a.ptr, a.size);
	EXPECT_CU(test, cuEventDestroy(event), 0);
	end_stream(test, stream);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(c075_map),
	KUNIT_CASE(c076_map_unreserved),
	KUNIT_CASE(c077_map_beyond),
	KUNIT_CASE(c078_map_twice),
	KUNIT_CASE(c079_map_overlap),
	KUNIT_CASE(c080_map_odd_address),
	KUNIT_CASE(c081_map_odd_size),
	KUNIT_CASE(c082_map_too_much),
	KUNIT_CASE(c083_map_whole),
	KUNIT_CASE(c084_map_half),
	KUNIT_CASE(c085_map_offset),
	KUNIT_CASE(c086_map_flags),
	KUNIT_CASE(c087_map_nothing),
	KUNIT_CASE(c088_map_across),
	KUNIT_CASE(c089_map_alias),
	KUNIT_CASE(c090_map_adjacent),
	KUNIT_CASE(c091_map_is_free),
	KUNIT_CASE_ISOLATED(c092_map_no_access),
	KUNIT_CASE(c094_unmap),
	KUNIT_CASE(c095_unmap_half),
	KUNIT_CASE(c096_unmap_odd_size),
	KUNIT_CASE(c097_unmap_two),
	KUNIT_CASE(c098_unmap_hole),
	KUNIT_CASE(c099_unmap_reserved),
	KUNIT_CASE(c100_unmap_twice),
	KUNIT_CASE(c101_map_again_no_access),
	KUNIT_CASE(c102_map_again_same_data),
	KUNIT_CASE(c104_unmap_after_event),
	{ 0 }
};

static const struct kunit_suite suite = {
	.name = "contract_map",
	.init = vmm_bench_init,
	.exit = bench_exit,
	.cases = cases,
};
kunit_test_suite(suite);
