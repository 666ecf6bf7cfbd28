// SPDX-License-Identifier: BSD-2-Clause
/* context.c - statements about devices and contexts. */
#include "tests/contract/driver.h"

/* cuDeviceGet(-1) and cuDeviceGet(count) return INVALID_DEVICE, or
 * INVALID_VALUE.
 */
static void c014_device_ordinal(struct kunit *test)
{
	CUdevice dev;
	int count;

	MUST(test, cuDeviceGetCount(&count));
	EXPECT_CU(test, cuDeviceGet(&dev, -1), 101, 1);
	EXPECT_CU(test, cuDeviceGet(&dev, count), 101, 1);
	EXPECT_CU(test, cuDeviceGet(&dev, count - 1), 0);
}

/* An attribute that does not exist is INVALID_VALUE. */
static void c015_attribute_unknown(struct kunit *test)
{
	int value;

	EXPECT_CU(test, cuDeviceGetAttribute(&value,
					     (CUdevice_attribute)100000, 0),
		  1);
}

/* cuDeviceGetName writes at most as many bytes as it was given, with NUL. */
static void c016_device_name(struct kunit *test)
{
	char name[8] = "-------";

	MUST(test, cuDeviceGetName(name, 4, 0));
	KUNIT_EXPECT_EQ(test, strlen(name), 3);
	KUNIT_EXPECT_STREQ(test, name + 4, "---");
}

/* Release without Retain is INVALID_CONTEXT. */
static void c017_release_unretained(struct kunit *test)
{
	CUcontext ctx;

	MUST(test, cuCtxPopCurrent(&ctx));
	MUST(test, cuDevicePrimaryCtxRelease(0));
	EXPECT_CU(test, cuDevicePrimaryCtxRelease(0), 201);
	MUST(test, cuDevicePrimaryCtxRetain(&ctx, 0));
	MUST(test, cuCtxPushCurrent(ctx));
}

/* Retain does not change which context is current. */
static void c018_retain_not_current(struct kunit *test)
{
	CUcontext ctx, now = NULL;

	MUST(test, cuCtxPopCurrent(&ctx));
	MUST(test, cuDevicePrimaryCtxRetain(&ctx, 0));
	MUST(test, cuCtxGetCurrent(&now));
	KUNIT_EXPECT_NULL(test, now);
	MUST(test, cuDevicePrimaryCtxRelease(0));
	MUST(test, cuCtxSetCurrent(ctx));
}

/* Retained twice it has one handle, and is active until the second Release. */
static void c019_retain_twice(struct kunit *test)
{
	struct bench *b = bench_of(test);
	unsigned int flags;
	CUcontext again;
	int active = 0;

	MUST(test, cuDevicePrimaryCtxRetain(&again, 0));
	KUNIT_EXPECT_PTR_EQ(test, again, b->ctx);
	MUST(test, cuDevicePrimaryCtxRelease(0));
	MUST(test, cuDevicePrimaryCtxGetState(0, &flags, &active));
	KUNIT_EXPECT_EQ(test, active, 1);
}

/* With nothing current, cuCtxGetCurrent succeeds and gives NULL. */
static void c020_current_none(struct kunit *test)
{
	CUcontext ctx, now = (CUcontext)0x5a;

	MUST(test, cuCtxPopCurrent(&ctx));
	EXPECT_CU(test, cuCtxGetCurrent(&now), 0);
	KUNIT_EXPECT_NULL(test, now);
	MUST(test, cuCtxPushCurrent(ctx));
}

/* With nothing current, cuCtxGetDevice is INVALID_CONTEXT. */
static void c021_device_none(struct kunit *test)
{
	CUcontext ctx;
	CUdevice dev;

	MUST(test, cuCtxPopCurrent(&ctx));
	EXPECT_CU(test, cuCtxGetDevice(&dev), 201);
	MUST(test, cuCtxPushCurrent(ctx));
	EXPECT_CU(test, cuCtxGetDevice(&dev), 0);
	KUNIT_EXPECT_EQ(test, dev, 0);
}

/* Popping from nothing is INVALID_CONTEXT. */
static void c022_pop_none(struct kunit *test)
{
	CUcontext ctx, none;

	MUST(test, cuCtxPopCurrent(&ctx));
	EXPECT_CU(test, cuCtxPopCurrent(&none), 201);
	MUST(test, cuCtxPushCurrent(ctx));
}

/* Pushing NULL is INVALID_VALUE, or INVALID_CONTEXT. */
static void c023_push_null(struct kunit *test)
{
	EXPECT_CU(test, cuCtxPushCurrent(NULL), 1, 201);
}

/* Setting NULL when nothing is current succeeds. */
static void c024_set_null(struct kunit *test)
{
	CUcontext ctx;

	MUST(test, cuCtxPopCurrent(&ctx));
	EXPECT_CU(test, cuCtxSetCurrent(NULL), 0);
	MUST(test, cuCtxPushCurrent(ctx));
}

static void look(struct kunit *test, void *arg)
{
	CUcontext *now = arg;

	EXPECT_CU(test, cuCtxGetCurrent(now), 0);
}

/* The current context is one of the thread: a new thread has none. */
static void c025_current_per_thread(struct kunit *test)
{
	CUcontext now = (CUcontext)0x5a;

	in_thread(test, look, &now);
	KUNIT_EXPECT_NULL(test, now);
}

/* cuMemGetInfo without a context is INVALID_CONTEXT. */
static void c026_info_none(struct kunit *test)
{
	size_t unused, total;
	CUcontext ctx;

	MUST(test, cuCtxPopCurrent(&ctx));
	EXPECT_CU(test, cuMemGetInfo(&unused, &total), 201);
	MUST(test, cuCtxPushCurrent(ctx));
}

/* free <= total <= cuDeviceTotalMem. */
static void c027_info(struct kunit *test)
{
	size_t unused, total, all;

	MUST(test, cuMemGetInfo(&unused, &total));
	MUST(test, cuDeviceTotalMem(&all, 0));
	KUNIT_EXPECT_LE(test, unused, total);
	KUNIT_EXPECT_LE(test, total, all);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(c014_device_ordinal),
	KUNIT_CASE(c015_attribute_unknown),
	KUNIT_CASE(c016_device_name),
	KUNIT_CASE(c017_release_unretained),
	KUNIT_CASE(c018_retain_not_current),
	KUNIT_CASE(c019_retain_twice),
	KUNIT_CASE(c020_current_none),
	KUNIT_CASE(c021_device_none),
	KUNIT_CASE(c022_pop_none),
	KUNIT_CASE(c023_push_null),
	KUNIT_CASE(c024_set_null),
	KUNIT_CASE(c025_current_per_thread),
	KUNIT_CASE(c026_info_none),
	KUNIT_CASE(c027_info),
	{ 0 }
};

static const struct kunit_suite suite = {
	.name = "contract_context",
	.init = bench_init,
	.exit = bench_exit,
	.cases = cases,
};
kunit_test_suite(suite);
