// SPDX-License-Identifier: BSD-2-Clause
/*
 * rows.c - statements about fills and copies in rows, the 2-D forms.
 *
 * ROWS rows of at most PITCH bytes, PITCH apart, unless a case says otherwise.
 */
#include "tests/contract/driver.h"

#include <unistd.h>

#define ROWS 4u
#define PITCH 64u
#define A_WHILE_US 20000

/* ---- What is refused, and what is nothing ---------------------------- */

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
	char host[ROWS * PITCH];
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

/* A copy with a pitch that is smaller than a row is INVALID_VALUE. */
static void c205_copy2d_pitch(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);
	char host[ROWS * PITCH];
	CUDA_MEMCPY2D p = rectangle(a.ptr, host);

	p.srcPitch = 8;
	EXPECT_CU(test, cuMemcpy2D(&p), 1);
	p.srcPitch = PITCH;
	p.dstPitch = 8;
	EXPECT_CU(test, cuMemcpy2D(&p), 1);
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

/* The other copies have such a maximum; the unaligned one has none. */
static void c209_copy2d_unaligned_pitch(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);
	unsigned char host[PITCH] = { 0 };
	CUDA_MEMCPY2D p = rectangle(a.ptr, host);
	int most = 0;

	MUST(test, cuDeviceGetAttribute(&most,
			CU_DEVICE_ATTRIBUTE_MAX_PITCH, 0));
	MUST(test, cuMemsetD8(a.ptr, 209, PITCH));
	p.Height = 1;
	p.srcPitch = (size_t)most + 1;
	EXPECT_CU(test, cuMemcpy2DUnaligned(&p), 0);
	KUNIT_EXPECT_EQ(test, host[15], 209);
	area_close(test, &a);
}

/* A row beyond the mapping is INVALID_VALUE, or a fault. */
static void c211_rows_beyond(struct kunit *test)
{
	size_t g = bench_of(test)->g;
	CUdeviceptr ptr = reserve(test, 2 * g), last = ptr + g - PITCH;
	CUmemGenericAllocationHandle handle = create(test, g);
	char host[ROWS * PITCH];
	CUDA_MEMCPY2D p = rectangle(last, host);
	CUresult ret;

	MUST(test, cuMemMap(ptr, g, 0, handle, 0));
	grant(test, ptr, g);
	EXPECT_CU(test, cuMemcpy2D(&p), 1, 700);
	ret = cu.cuMemsetD2D8(last, PITCH, 1, 16, ROWS);
	if (!ret && !cu.is_model)
		ret = cu.cuCtxSynchronize();
	expect_result(test, "cuMemsetD2D8", __LINE__, ret,
		      (const int[]){ 1, 700, -1 });
	cu.cuMemUnmap(ptr, g);
	cu.cuMemRelease(handle);
	cu.cuMemAddressFree(ptr, 2 * g);
}

/* ---- What is written ------------------------------------------------- */

/* A fill in rows writes the rows, and nothing between them. */
static void c204_fill2d(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);
	unsigned char got[ROWS * PITCH];
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

/* A copy in rows copies the rectangle, in all three forms. */
static void c206_copy2d(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);
	unsigned char host[ROWS * PITCH] = { 0 };
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

static void clear(struct kunit *test, CUdeviceptr ptr)
{
	MUST(test, cuMemsetD8(ptr, 0, ROWS * PITCH));
	MUST(test, cuCtxSynchronize());
}

/* Rows of 16 bytes, of units of @unit bytes that are @value. */
static void expect_filled(struct kunit *test, CUdeviceptr ptr, uint32_t value,
			  unsigned int unit)
{
	unsigned char got[ROWS * PITCH];
	unsigned int row, i;

	MUST(test, cuMemcpyDtoH(got, ptr, sizeof(got)));
	for (row = 0; row < ROWS; row++) {
		for (i = 0; i < 16; i++)
			KUNIT_EXPECT_EQ(test, got[row * PITCH + i],
					value >> 8 * (i % unit) & 0xff);
		KUNIT_EXPECT_EQ(test, got[row * PITCH + i], 0);
	}
	clear(test, ptr);
}

/* Bytes, halves, and words are filled alike, at once and in a stream. */
static void c208_fill2d_units(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);
	CUstream stream = new_stream(test, CU_STREAM_NON_BLOCKING);
	CUdeviceptr ptr = a.ptr;

	clear(test, ptr);
	EXPECT_CU(test, cuMemsetD2D8(ptr, PITCH, 0x21, 16, ROWS), 0);
	expect_filled(test, ptr, 0x21, 1);
	EXPECT_CU(test, cuMemsetD2D16(ptr, PITCH, 0x2221, 8, ROWS), 0);
	expect_filled(test, ptr, 0x2221, 2);
	EXPECT_CU(test, cuMemsetD2D32(ptr, PITCH, 0x24232221, 4, ROWS), 0);
	expect_filled(test, ptr, 0x24232221, 4);
	EXPECT_CU(test, cuMemsetD2D8Async(ptr, PITCH, 0x31, 16, ROWS, stream),
		  0);
	MUST(test, cuStreamSynchronize(stream));
	expect_filled(test, ptr, 0x31, 1);
	EXPECT_CU(test, cuMemsetD2D16Async(ptr, PITCH, 0x3231, 8, ROWS,
					   stream), 0);
	MUST(test, cuStreamSynchronize(stream));
	expect_filled(test, ptr, 0x3231, 2);
	EXPECT_CU(test, cuMemsetD2D32Async(ptr, PITCH, 0x34333231, 4, ROWS,
					   stream), 0);
	MUST(test, cuStreamSynchronize(stream));
	expect_filled(test, ptr, 0x34333231, 4);
	end_stream(test, stream);
	area_close(test, &a);
}

/* Copies go to the device and within it, from and to any row. */
static void c210_copy2d_places(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);
	unsigned char host[ROWS * PITCH], got[ROWS * PITCH];
	CUDA_MEMCPY2D in = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = host, .srcPitch = PITCH, .srcY = 1,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = a.ptr, .dstPitch = PITCH, .dstY = 2,
		.WidthInBytes = 16, .Height = 2,
	};
	CUDA_MEMCPY2D within = in;
	unsigned int i;

	for (i = 0; i < sizeof(host); i++)
		host[i] = (unsigned char)i;
	clear(test, a.ptr);
	EXPECT_CU(test, cuMemcpy2D(&in), 0);
	within.srcMemoryType = CU_MEMORYTYPE_DEVICE;
	within.srcDevice = a.ptr;
	within.srcY = 2;
	within.dstY = 0;
	EXPECT_CU(test, cuMemcpy2D(&within), 0);
	MUST(test, cuMemcpyDtoH(got, a.ptr, sizeof(got)));
	for (i = 0; i < 16; i++) {
		KUNIT_EXPECT_EQ(test, got[2 * PITCH + i], host[PITCH + i]);
		KUNIT_EXPECT_EQ(test, got[i], host[PITCH + i]);
		KUNIT_EXPECT_EQ(test, got[PITCH + i], host[2 * PITCH + i]);
	}
	KUNIT_EXPECT_EQ(test, got[16], 0);
	area_close(test, &a);
}

/* A fill in rows over two mappings writes both, also a row that has its ends
 * in both. */
static void c212_fill2d_across(struct kunit *test)
{
	size_t g = bench_of(test)->g, i;
	CUdeviceptr ptr = reserve(test, 2 * g), edge = ptr + g;
	CUmemGenericAllocationHandle handle[2];

	for (i = 0; i < 2; i++) {
		handle[i] = create(test, g);
		MUST(test, cuMemMap(ptr + i * g, g, 0, handle[i], 0));
	}
	grant(test, ptr, 2 * g);
	EXPECT_CU(test, cuMemsetD2D32(edge - PITCH - 4, PITCH, 212, 2, ROWS),
		  0);
	KUNIT_EXPECT_EQ(test, get_u32(test, edge - PITCH - 4), 212);
	KUNIT_EXPECT_EQ(test, get_u32(test, edge - 4), 212);
	KUNIT_EXPECT_EQ(test, get_u32(test, edge), 212);
	KUNIT_EXPECT_EQ(test, get_u32(test, edge + PITCH), 212);
	EXPECT_CU(test, cuMemUnmap(ptr, 2 * g), 0);
	release(test, handle[0]);
	release(test, handle[1]);
	unreserve(test, ptr, 2 * g);
}

/* ---- When it is done ------------------------------------------------- */

/* A copy in rows to the host returns when the data is there. */
static void c213_copy2d_waits(struct kunit *test)
{
	size_t width = 1 << 20, rows = 16, n = width * rows, i;
	struct area a = area_open(test, n);
	unsigned char *host = kunit_kzalloc(test, n);
	CUDA_MEMCPY2D p = rectangle(a.ptr, host);

	p.srcPitch = p.dstPitch = p.WidthInBytes = width;
	p.Height = rows;
	for (i = 1; i < 4; i++) {
		EXPECT_CU(test, cuMemsetD8(a.ptr, (unsigned char)i, n), 0);
		EXPECT_CU(test, cuMemcpy2D(&p), 0);
		KUNIT_EXPECT_EQ(test, host[0], i);
		KUNIT_EXPECT_EQ(test, host[n - 1], i);
	}
	EXPECT_CU(test, cuCtxSynchronize(), 0);
	area_close(test, &a);
}

/* Fills and copies in rows that are asynchronous keep the stream's order. */
static void c214_rows_in_order(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);
	CUstream stream = new_stream(test, CU_STREAM_NON_BLOCKING);
	unsigned char *host = NULL;
	struct gate *gate;
	CUDA_MEMCPY2D p;

	MUST(test, cuMemHostAlloc((void **)&host, ROWS * PITCH, 0));
	memset(host, 1, ROWS * PITCH);
	clear(test, a.ptr);
	p = rectangle(a.ptr, host);
	gate = gate_close(test, stream);
	EXPECT_CU(test, cuMemsetD2D8Async(a.ptr, PITCH, 214, 16, ROWS, stream),
		  0);
	EXPECT_CU(test, cuMemcpy2DAsync(&p, stream), 0);
	usleep(A_WHILE_US);
	KUNIT_EXPECT_EQ(test, READ_ONCE(host[0]), 1);
	gate_open(gate);
	end_stream(test, stream);
	KUNIT_EXPECT_EQ(test, host[0], 214);
	KUNIT_EXPECT_EQ(test, host[(ROWS - 1) * PITCH + 15], 214);
	KUNIT_EXPECT_EQ(test, host[16], 1);
	EXPECT_CU(test, cuMemFreeHost(host), 0);
	area_close(test, &a);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(c201_fill2d_pitch),
	KUNIT_CASE(c202_rows_of_nothing),
	KUNIT_CASE_ISOLATED(c203_fill2d_misaligned),
	KUNIT_CASE(c204_fill2d),
	KUNIT_CASE(c205_copy2d_pitch),
	KUNIT_CASE(c206_copy2d),
	KUNIT_CASE(c207_copy2d_max_pitch),
	KUNIT_CASE(c208_fill2d_units),
	KUNIT_CASE(c209_copy2d_unaligned_pitch),
	KUNIT_CASE(c210_copy2d_places),
	KUNIT_CASE_ISOLATED(c211_rows_beyond),
	KUNIT_CASE(c212_fill2d_across),
	KUNIT_CASE(c213_copy2d_waits),
	KUNIT_CASE(c214_rows_in_order),
	{ 0 }
};

static const struct kunit_suite suite = {
	.name = "contract_rows",
	.init = bench_init,
	.exit = bench_exit,
	.cases = cases,
};
kunit_test_suite(suite);
