// SPDX-License-Identifier: BSD-2-Clause
/* copy.c - statements about fills and copies of one piece; see also rows.c. */
#include "tests/contract/driver.h"

/* A fill of units at an odd address is INVALID_VALUE, or a fault. */
static void c162_misaligned(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);

	EXPECT_CU(test, cuMemsetD32(a.ptr + 2, 1, 4), 1, 716);
	cu.cuMemUnmap(a.ptr, a.size);
	cu.cuMemRelease(a.handle);
	cu.cuMemAddressFree(a.ptr, a.size);
}

/* Nothing to fill or copy succeeds. */
static void c163_nothing(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);
	char host;

	EXPECT_CU(test, cuMemsetD8(a.ptr, 1, 0), 0);
	EXPECT_CU(test, cuMemcpyDtoH(&host, a.ptr, 0), 0);
	EXPECT_CU(test, cuMemcpyHtoD(a.ptr, &host, 0), 0);
	area_close(test, &a);
}

/* A fill over two mappings writes both. */
static void c164_fill_across(struct kunit *test)
{
	size_t g = bench_of(test)->g, i;
	CUdeviceptr ptr = reserve(test, 2 * g);
	CUmemGenericAllocationHandle handle[2];

	for (i = 0; i < 2; i++) {
		handle[i] = create(test, g);
		MUST(test, cuMemMap(ptr + i * g, g, 0, handle[i], 0));
	}
	grant(test, ptr, 2 * g);
	EXPECT_CU(test, cuMemsetD32(ptr, 164, 2 * g / 4), 0);
	KUNIT_EXPECT_EQ(test, get_u32(test, ptr), 164);
	KUNIT_EXPECT_EQ(test, get_u32(test, ptr + g), 164);
	KUNIT_EXPECT_EQ(test, get_u32(test, ptr + 2 * g - 4), 164);
	EXPECT_CU(test, cuMemUnmap(ptr, 2 * g), 0);
	release(test, handle[0]);
	release(test, handle[1]);
	unreserve(test, ptr, 2 * g);
}

/* A range that goes beyond the mapping is INVALID_VALUE. */
static void c165_copy_beyond(struct kunit *test)
{
	size_t g = bench_of(test)->g;
	CUdeviceptr ptr = reserve(test, 2 * g);
	CUmemGenericAllocationHandle handle = create(test, g);
	char host[8];

	MUST(test, cuMemMap(ptr, g, 0, handle, 0));
	grant(test, ptr, g);
	EXPECT_CU(test, cuMemcpyDtoH(host, ptr + g - 4, 8), 1);
	EXPECT_CU(test, cuMemUnmap(ptr, g), 0);
	release(test, handle);
	unreserve(test, ptr, 2 * g);
}

/* A copy to the host returns when the data is there. */
static void c166_copy_waits(struct kunit *test)
{
	size_t n = 16 << 20, i;
	struct area a = area_open(test, n);
	unsigned char *host = kunit_kzalloc(test, n);

	for (i = 1; i < 4; i++) {
		EXPECT_CU(test, cuMemsetD8(a.ptr, (unsigned char)i, n), 0);
		EXPECT_CU(test, cuMemcpyDtoH(host, a.ptr, n), 0);
		KUNIT_EXPECT_EQ(test, host[0], i);
		KUNIT_EXPECT_EQ(test, host[n - 1], i);
	}
	EXPECT_CU(test, cuCtxSynchronize(), 0);
	area_close(test, &a);
}

/* In a context that was destroyed nothing is copied. */
static void c167_copy_in_dead_context(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);
	struct bench *b = bench_of(test);
	uint32_t value = 167;

	MUST(test, cuDevicePrimaryCtxRelease(0));
	EXPECT_CU(test, cuMemcpyHtoD(a.ptr, &value, 4), 709, 201);
	MUST(test, cuDevicePrimaryCtxRetain(&b->ctx, 0));
	area_close(test, &a);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_ISOLATED(c162_misaligned),
	KUNIT_CASE(c163_nothing),
	KUNIT_CASE(c164_fill_across),
	KUNIT_CASE(c165_copy_beyond),
	KUNIT_CASE(c166_copy_waits),
	KUNIT_CASE_ISOLATED(c167_copy_in_dead_context),
	{ 0 }
};

static const struct kunit_suite suite = {
	.name = "contract_copy",
	.init = bench_init,
	.exit = bench_exit,
	.cases = cases,
};
kunit_test_suite(suite);
