// SPDX-License-Identifier: BSD-2-Clause
/* reserve.c - statements about granularity and reservations. */
#include <sys/mman.h>
#include <unistd.h>

#include "tests/contract/driver.h"

/* The minimum is a power of two and a multiple of the host's page, and the
 * recommended granularity a multiple of it.
 */
static void c028_granularity(struct kunit *test)
{
	struct bench *b = bench_of(test);
	size_t recommended = 0;

	KUNIT_ASSERT_GT(test, b->g, 0);
	KUNIT_EXPECT_EQ(test, b->g & (b->g - 1), 0);
	KUNIT_EXPECT_EQ(test, b->g % b->page, 0);
	EXPECT_CU(test, cuMemGetAllocationGranularity(&recommended, &b->prop,
			CU_MEM_ALLOC_GRANULARITY_RECOMMENDED), 0);
	KUNIT_EXPECT_EQ(test, recommended % b->g, 0);
	kunit_info(test, "minimum %zu, recommended %zu", b->g, recommended);
}

/* Without a place for it: INVALID_VALUE. */
static void c029_granularity_null(struct kunit *test)
{
	EXPECT_CU(test, cuMemGetAllocationGranularity(NULL,
			&bench_of(test)->prop, 0), 1);
}

/* Of an option that does not exist: INVALID_VALUE. */
static void c030_granularity_option(struct kunit *test)
{
	size_t g;

	EXPECT_CU(test, cuMemGetAllocationGranularity(&g,
			&bench_of(test)->prop, 0xff), 1);
}

/* One granule can be reserved; the address is one of a page. */
static void c032_reserve(struct kunit *test)
{
	struct bench *b = bench_of(test);
	CUdeviceptr ptr = 0;

	EXPECT_CU(test, cuMemAddressReserve(&ptr, b->g, 0, 0, 0), 0);
	KUNIT_ASSERT_NE(test, ptr, 0);
	KUNIT_EXPECT_EQ(test, ptr % b->page, 0);
	unreserve(test, ptr, b->g);
}

/* With alignment 0 the address is a multiple of the granularity. */
static void c033_reserve_aligned(struct kunit *test)
{
	struct bench *b = bench_of(test);
	CUdeviceptr ptr[4];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ptr); i++) {
		ptr[i] = reserve(test, b->g * (2 * i + 1));
		KUNIT_EXPECT_EQ(test, ptr[i] % b->g, 0);
	}
	for (i = 0; i < ARRAY_SIZE(ptr); i++)
		cu.cuMemAddressFree(ptr[i], b->g * (2 * i + 1));
}

static void refused(struct kunit *test, size_t size, size_t align,
		    CUdeviceptr hint, unsigned long long flags)
{
	CUdeviceptr ptr = 0;

	EXPECT_CU(test, cuMemAddressReserve(&ptr, size, align, hint, flags),
		  1, 2);
}

/* Size 0 is INVALID_VALUE, or OUT_OF_MEMORY. */
static void c034_reserve_nothing(struct kunit *test)
{
	refused(test, 0, 0, 0, 0);
}

/* So is half a page. */
static void c035_reserve_half_page(struct kunit *test)
{
	refused(test, bench_of(test)->page / 2, 0, 0, 0);
}

/* So is an alignment of 3. */
static void c036_reserve_alignment(struct kunit *test)
{
	refused(test, bench_of(test)->g, 3, 0, 0);
}

/* Flags are INVALID_VALUE. */
static void c037_reserve_flags(struct kunit *test)
{
	CUdeviceptr ptr;

	EXPECT_CU(test, cuMemAddressReserve(&ptr, bench_of(test)->g, 0, 0, 1),
		  1);
}

/* Without a place for the address: INVALID_VALUE. */
static void c038_reserve_null(struct kunit *test)
{
	EXPECT_CU(test, cuMemAddressReserve(NULL, bench_of(test)->g, 0, 0, 0),
		  1);
}

/* A hint of half a page is INVALID_VALUE, or is not followed. */
static void c039_reserve_bad_hint(struct kunit *test)
{
	struct bench *b = bench_of(test);
	CUdeviceptr ptr = 0;

	EXPECT_CU(test, cuMemAddressReserve(&ptr, b->g, 0, b->page / 2, 0), 1,
		  0);
	if (ptr)
		unreserve(test, ptr, b->g);
}

/* A hint of free addresses succeeds; whether it is followed is open. */
static void c040_reserve_hint(struct kunit *test)
{
	struct bench *b = bench_of(test);
	CUdeviceptr hint = reserve(test, 4 * b->g), ptr = 0;

	unreserve(test, hint, 4 * b->g);
	EXPECT_CU(test, cuMemAddressReserve(&ptr, b->g, 0, hint, 0), 0);
	kunit_info(test, "the hint was %sfollowed", ptr == hint ? "" : "not ");
	if (ptr)
		unreserve(test, ptr, b->g);
}

/* A hint of occupied addresses gives others, or an error; never a range that
 * overlaps.
 */
static void c041_reserve_occupied(struct kunit *test)
{
	struct bench *b = bench_of(test);
	CUdeviceptr first = reserve(test, 2 * b->g), ptr = 0;

	EXPECT_CU(test, cuMemAddressReserve(&ptr, b->g, 0, first + b->g, 0),
		  0, 1, 2);
	if (ptr) {
		KUNIT_EXPECT_TRUE(test, ptr + b->g <= first ||
				  ptr >= first + 2 * b->g);
		cu.cuMemAddressFree(ptr, b->g);
	}
	unreserve(test, first, 2 * b->g);
}

/* Live reservations do not overlap, nor does one overlap memory of the host. */
static void c042_reserve_disjoint(struct kunit *test)
{
	struct bench *b = bench_of(test);
	CUdeviceptr ptr[16];
	char *host = mmap(NULL, b->g, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i, k;

	KUNIT_ASSERT_TRUE(test, host != MAP_FAILED);
	for (i = 0; i < ARRAY_SIZE(ptr); i++) {
		ptr[i] = reserve(test, b->g);
		KUNIT_EXPECT_TRUE(test, ptr[i] + b->g <= (uintptr_t)host ||
				  ptr[i] >= (uintptr_t)host + b->g);
		for (k = 0; k < i; k++)
			KUNIT_EXPECT_TRUE(test, ptr[i] + b->g <= ptr[k] ||
					  ptr[i] >= ptr[k] + b->g);
	}
	for (i = 0; i < ARRAY_SIZE(ptr); i++)
		unreserve(test, ptr[i], b->g);
	munmap(host, b->g);
}

/* 2^60 bytes are OUT_OF_MEMORY. */
static void c043_reserve_too_much(struct kunit *test)
{
	CUdeviceptr ptr;

	EXPECT_CU(test, cuMemAddressReserve(&ptr, (size_t)1 << 60, 0, 0, 0),
		  2);
}

/* Four times the device's memory can be reserved on a data-centre GPU. */
static void c044_reserve_much(struct kunit *test)
{
	struct bench *b = bench_of(test);
	CUdeviceptr ptr = 0;
	int integrated = 0;
	size_t total;

	MUST(test, cuDeviceGetAttribute(&integrated,
			CU_DEVICE_ATTRIBUTE_INTEGRATED, 0));
	if (integrated)
		kunit_skip(test, "such devices have few addresses");
	MUST(test, cuDeviceTotalMem(&total, 0));
	total = 4 * (total / b->g + 1) * b->g;
	EXPECT_CU(test, cuMemAddressReserve(&ptr, total, 0, 0, 0), 0);
	if (ptr)
		unreserve(test, ptr, total);
}

/* A reservation takes no device memory. */
static void c045_reserve_is_free(struct kunit *test)
{
	struct bench *b = bench_of(test);
	size_t before = free_bytes(test);
	CUdeviceptr ptr = reserve(test, 512 * b->g);

	KUNIT_EXPECT_LE(test, before - min(before, free_bytes(test)),
			4 * b->g);
	unreserve(test, ptr, 512 * b->g);
}

/* It is freed by its address and size. */
static void c046_free(struct kunit *test)
{
	struct bench *b = bench_of(test);
	CUdeviceptr ptr = reserve(test, 3 * b->g);

	EXPECT_CU(test, cuMemAddressFree(ptr, 3 * b->g), 0);
}

/* Another size is INVALID_VALUE. */
static void c047_free_other_size(struct kunit *test)
{
	struct bench *b = bench_of(test);
	CUdeviceptr ptr = reserve(test, 3 * b->g);

	EXPECT_CU(test, cuMemAddressFree(ptr, 2 * b->g), 1);
	EXPECT_CU(test, cuMemAddressFree(ptr, 4 * b->g), 1);
	unreserve(test, ptr, 3 * b->g);
}

/* So is another address. */
static void c048_free_inside(struct kunit *test)
{
	struct bench *b = bench_of(test);
	CUdeviceptr ptr = reserve(test, 3 * b->g);

	EXPECT_CU(test, cuMemAddressFree(ptr + b->g, 2 * b->g), 1);
	unreserve(test, ptr, 3 * b->g);
}

/* Freeing twice is INVALID_VALUE the second time. */
static void c049_free_twice(struct kunit *test)
{
	struct bench *b = bench_of(test);
	CUdeviceptr ptr = reserve(test, b->g);

	EXPECT_CU(test, cuMemAddressFree(ptr, b->g), 0);
	EXPECT_CU(test, cuMemAddressFree(ptr, b->g), 1);
}

/* Freeing (0, 0) is INVALID_VALUE. */
static void c050_free_nothing(struct kunit *test)
{
	EXPECT_CU(test, cuMemAddressFree(0, 0), 1);
}

/* Two adjacent reservations cannot be freed by one call. */
static void c051_free_two(struct kunit *test)
{
	struct bench *b = bench_of(test);
	CUdeviceptr ptr;

	if (!reserve_pair(test, b->g, &ptr))
		kunit_skip(test, "the driver follows no hints");
	EXPECT_CU(test, cuMemAddressFree(ptr, 2 * b->g), 1);
	unreserve(test, ptr, b->g);
	unreserve(test, ptr + b->g, b->g);
}

/* Freeing a reservation with a mapping in it is INVALID_VALUE in the model. */
static void c052_free_mapped(struct kunit *test)
{
	struct area a;

	model_only(test);
	a = area_open(test, bench_of(test)->g);
	EXPECT_CU(test, cuMemAddressFree(a.ptr, a.size), 1);
	area_close(test, &a);
}

/* Freed addresses come back: more than there are can be reserved in turn. */
static void c053_free_comes_back(struct kunit *test)
{
	size_t size = (size_t)1 << 40;
	CUdeviceptr ptr;
	int i;

	while (size && cu.cuMemAddressReserve(&ptr, size, 0, 0, 0))
		size /= 2;
	unreserve(test, ptr, size);
	for (i = 0; i < 200; i++) {
		ptr = reserve(test, size);
		unreserve(test, ptr, size);
	}
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(c028_granularity),
	KUNIT_CASE(c029_granularity_null),
	KUNIT_CASE(c030_granularity_option),
	KUNIT_CASE(c032_reserve),
	KUNIT_CASE(c033_reserve_aligned),
	KUNIT_CASE(c034_reserve_nothing),
	KUNIT_CASE(c035_reserve_half_page),
	KUNIT_CASE(c036_reserve_alignment),
	KUNIT_CASE(c037_reserve_flags),
	KUNIT_CASE(c038_reserve_null),
	KUNIT_CASE(c039_reserve_bad_hint),
	KUNIT_CASE(c040_reserve_hint),
	KUNIT_CASE(c041_reserve_occupied),
	KUNIT_CASE(c042_reserve_disjoint),
	KUNIT_CASE(c043_reserve_too_much),
	KUNIT_CASE(c044_reserve_much),
	KUNIT_CASE(c045_reserve_is_free),
	KUNIT_CASE(c046_free),
	KUNIT_CASE(c047_free_other_size),
	KUNIT_CASE(c048_free_inside),
	KUNIT_CASE(c049_free_twice),
	KUNIT_CASE(c050_free_nothing),
	KUNIT_CASE(c051_free_two),
	KUNIT_CASE(c052_free_mapped),
	KUNIT_CASE(c053_free_comes_back),
	{ 0 }
};

static const struct kunit_suite suite = {
	.name = "contract_reserve",
	.init = vmm_bench_init,
	.exit = bench_exit,
	.cases = cases,
};
kunit_test_suite(suite);
