// SPDX-License-Identifier: BSD-2-Clause
/* copy.c - statements about fills and copies, plain and in rows. */
#include "tests/contract/driver.h"

#define PITCH 64

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

/* ---- In rows -------------------------------------------------------- */

/* A pitch that is smaller than a row is INVALID_VALUE. */
static void c201_fill2d_pitch(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);

	EXPECT_CU(test, cuMemsetD2D8(a.ptr, 16, 1, 32, 4), 1);
	EXPECT_CU(test, cuMemsetD2D32(a.ptr, 16, 1, 8, 4), 1);
	area_close(test, &a);
}

static CUDA_MEMCPY2D rectangle(CUdeviceptr src, void *host)
{
	CUDA_MEMCPY2D p = {
		.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = src, .srcPitch = PITCH,
		.dstMemoryType = CU_MEMORYTYPE_HOST,
		.dstHost = host, .dstPitch = PITCH,
		.WidthInBytes = 16, .Height = 4,
	};

	return p;
}

/* No rows, or rows of nothing, succeed. */
static void c202_rows_of_nothing(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);
	char host[4 * PITCH];
	CUDA_MEMCPY2D p = rectangle(a.ptr, host);

	EXPECT_CU(test, cuMemsetD2D8(a.ptr, PITCH, 1, 0, 4), 0);
	EXPECT_CU(test, cuMemsetD2D8(a.ptr, PITCH, 1, 16, 0), 0);
	p.Height = 0;
	EXPECT_CU(test, cuMemcpy2D(&p), 0);
	area_close(test, &a);
}

/* Units at an odd address or pitch are INVALID_VALUE. */
static void c203_fill2d_misaligned(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);

	EXPECT_CU(test, cuMemsetD2D32(a.ptr + 2, PITCH, 1, 4, 4), 1, 716);
	EXPECT_CU(test, cuMemsetD2D16(a.ptr, PITCH + 1, 1, 4, 4), 1, 716);
	cu.cuMemUnmap(a.ptr, a.size);
	cu.cuMemRelease(a.handle);
	cu.cuMemAddressFree(a.ptr, a.size);
}

/* A fill in rows writes the rows, and nothing between them. */
static void c204_fill2d(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);
	unsigned char got[4 * PITCH];
	int i;

	MUST(test, cuMemsetD8(a.ptr, 0, sizeof(got)));
	EXPECT_CU(test, cuMemsetD2D16(a.ptr, PITCH, 0x2040, 8, 4), 0);
	MUST(test, cuMemcpyDtoH(got, a.ptr, sizeof(got)));
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, got[i * PITCH], 0x40);
		KUNIT_EXPECT_EQ(test, got[i * PITCH + 15], 0x20);
		KUNIT_EXPECT_EQ(test, got[i * PITCH + 16], 0);
	}
	area_close(test, &a);
}

/* A copy with a pitch that is smaller than a row is INVALID_VALUE. */
static void c205_copy2d_pitch(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);
	char host[4 * PITCH];
	CUDA_MEMCPY2D p = rectangle(a.ptr, host);

	p.srcPitch = 8;
	EXPECT_CU(test, cuMemcpy2D(&p), 1);
	p.srcPitch = PITCH;
	p.dstPitch = 8;
	EXPECT_CU(test, cuMemcpy2D(&p), 1);
	area_close(test, &a);
}

/* A copy in rows copies the rectangle, in all three forms. */
static void c206_copy2d(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);
	unsigned char host[4 * PITCH] = { 0 };
	CUDA_MEMCPY2D p = rectangle(a.ptr, host);
	int i;

	for (i = 0; i < 4; i++)
		MUST(test, cuMemsetD8(a.ptr + (unsigned int)i * PITCH,
				      (unsigned char)(i + 1), PITCH));
	p.srcXInBytes = 4;
	p.dstXInBytes = 8;
	EXPECT_CU(test, cuMemcpy2D(&p), 0);
	for (i = 0; i < 4; i++) {
		KUNIT_EXPECT_EQ(test, host[i * PITCH + 7], 0);
		KUNIT_EXPECT_EQ(test, host[i * PITCH + 8], i + 1);
		KUNIT_EXPECT_EQ(test, host[i * PITCH + 23], i + 1);
		KUNIT_EXPECT_EQ(test, host[i * PITCH + 24], 0);
	}
	p.dstXInBytes = 32;
	EXPECT_CU(test, cuMemcpy2DUnaligned(&p), 0);
	KUNIT_EXPECT_EQ(test, host[3 * PITCH + 32], 4);
	p.dstXInBytes = 48;
	EXPECT_CU(test, cuMemcpy2DAsync(&p, NULL), 0);
	EXPECT_CU(test, cuCtxSynchronize(), 0);
	KUNIT_EXPECT_EQ(test, host[3 * PITCH + 48], 4);
	area_close(test, &a);
}

/* A pitch above the device's maximum is INVALID_VALUE. */
static void c207_copy2d_max_pitch(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);
	char host[PITCH];
	CUDA_MEMCPY2D p = rectangle(a.ptr, host);
	int most = 0;

	MUST(test, cuDeviceGetAttribute(&most,
			CU_DEVICE_ATTRIBUTE_MAX_PITCH, 0));
	p.Height = 1;
	p.srcPitch = (size_t)most + 1;
	EXPECT_CU(test, cuMemcpy2D(&p), 1);
	area_close(test, &a);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_ISOLATED(c162_misaligned),
	KUNIT_CASE(c163_nothing),
	KUNIT_CASE(c164_fill_across),
	KUNIT_CASE(c165_copy_beyond),
	KUNIT_CASE(c166_copy_waits),
	KUNIT_CASE_ISOLATED(c167_copy_in_dead_context),
	KUNIT_CASE(c201_fill2d_pitch),
	KUNIT_CASE(c202_rows_of_nothing),
	KUNIT_CASE_ISOLATED(c203_fill2d_misaligned),
	KUNIT_CASE(c204_fill2d),
	KUNIT_CASE(c205_copy2d_pitch),
	KUNIT_CASE(c206_copy2d),
	KUNIT_CASE(c207_copy2d_max_pitch),
	{ 0 }
};

static const struct kunit_suite suite = {
	.name = "contract_copy",
	.init = bench_init,
	.exit = bench_exit,
	.cases = cases,
};
kunit_test_suite(suite);
