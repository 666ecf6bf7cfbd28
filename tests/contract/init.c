// SPDX-License-Identifier: BSD-2-Clause
/*
 * init.c - statements about the driver before and at its initialisation.
 *
 * Each case is a process of its own: cuInit is once a process.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "tests/contract/driver.h"

static int load_only(struct kunit *test)
{
	driver_load(test);
	return 0;
}

/* Any call before cuInit returns NOT_INITIALIZED, the out-parameter as it was,
 * but for the version, the names of errors, and cuGetProcAddress.
 */
static void c001_not_initialised(struct kunit *test)
{
	CUcontext ctx = (CUcontext)0x5a5a;
	CUdeviceptr ptr;
	size_t n;
	int count;

	EXPECT_CU(test, cuDeviceGetCount(&count), 3);
	EXPECT_CU(test, cuCtxGetCurrent(&ctx), 3);
	EXPECT_CU(test, cuMemGetInfo(&n, &n), 3);
	EXPECT_CU(test, cuMemAlloc(&ptr, 100), 3);
	EXPECT_CU(test, cuMemAddressReserve(&ptr, 2 << 20, 0, 0, 0), 3);
	EXPECT_CU(test, cuMemRelease(1), 3);
	EXPECT_CU(test, cuStreamSynchronize(NULL), 3);
	KUNIT_EXPECT_PTR_EQ(test, ctx, (CUcontext)0x5a5a);
}

/* cuInit(1) returns INVALID_VALUE. */
static void c002_init_flags(struct kunit *test)
{
	EXPECT_CU(test, cuInit(1), 1);
	EXPECT_CU(test, cuInit(0), 0);
}

/* cuInit(0) twice succeeds twice. */
static void c003_init_twice(struct kunit *test)
{
	EXPECT_CU(test, cuInit(0), 0);
	EXPECT_CU(test, cuInit(0), 0);
}

/* cuDriverGetVersion works before cuInit (or says that it does not), and after
 * it; a driver that is of use is 10020 or newer.
 */
static void c004_version(struct kunit *test)
{
	int version = 0;

	EXPECT_CU(test, cuDriverGetVersion(&version), 0, 3);
	MUST(test, cuInit(0));
	EXPECT_CU(test, cuDriverGetVersion(&version), 0);
	KUNIT_EXPECT_GE(test, version, 10020);
	kunit_info(test, "version %d", version);
}

/* cuDriverGetVersion(NULL) returns INVALID_VALUE. */
static void c005_version_null(struct kunit *test)
{
	MUST(test, cuInit(0));
	EXPECT_CU(test, cuDriverGetVersion(NULL), 1);
}

/* cuGetErrorName(700) gives CUDA_ERROR_ILLEGAL_ADDRESS, always the same
 * pointer.
 */
static void c006_error_name(struct kunit *test)
{
	const char *first, *second;

	MUST(test, cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &first));
	MUST(test, cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &second));
	KUNIT_EXPECT_STREQ(test, first, "CUDA_ERROR_ILLEGAL_ADDRESS");
	KUNIT_EXPECT_PTR_EQ(test, first, second);
}

/* cuGetErrorName of no error returns INVALID_VALUE and sets NULL. */
static void c007_error_name_unknown(struct kunit *test)
{
	const char *name = "before";

	EXPECT_CU(test, cuGetErrorName((CUresult)12345, &name), 1);
	KUNIT_EXPECT_NULL(test, name);
}

static void *by_name(struct kunit *test, const char *name, int version,
		     CUdriverProcAddressQueryResult *status)
{
	void *fn = test;

	if (!cu.cuGetProcAddress)
		kunit_skip(test, "the driver has no cuGetProcAddress_v2");
	EXPECT_CU(test, cuGetProcAddress(name, &fn, version, 0, status), 0);
	return fn;
}

/* cuGetProcAddress("cuMemAlloc", 3020) is cuMemAlloc_v2. */
static void c008_proc_address(struct kunit *test)
{
	CUdriverProcAddressQueryResult status;
	cuda_pfn_cuMemAlloc alloc;
	CUdeviceptr ptr = 0;
	CUcontext ctx;

	MUST(test, cuInit(0));
	*(void **)&alloc = by_name(test, "cuMemAlloc", 3020, &status);
	KUNIT_ASSERT_NOT_NULL(test, alloc);
	KUNIT_EXPECT_EQ(test, status, CU_GET_PROC_ADDRESS_SUCCESS);
	MUST(test, cuDevicePrimaryCtxRetain(&ctx, 0));
	MUST(test, cuCtxPushCurrent(ctx));
	KUNIT_EXPECT_EQ(test, alloc(&ptr, 1000), CUDA_SUCCESS);
	EXPECT_CU(test, cuMemFree(ptr), 0);
	MUST(test, cuCtxPopCurrent(&ctx));
	MUST(test, cuDevicePrimaryCtxRelease(0));
}

/* Of a name that does not exist: SUCCESS, NULL, SYMBOL_NOT_FOUND. */
static void c009_proc_address_unknown(struct kunit *test)
{
	CUdriverProcAddressQueryResult status;

	MUST(test, cuInit(0));
	KUNIT_EXPECT_NULL(test, by_name(test, "cuNoSuch", 10020, &status));
	KUNIT_EXPECT_EQ(test, status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

/* cuMemCreate for 9000: SUCCESS, NULL, VERSION_NOT_SUFFICIENT. */
static void c010_proc_address_too_old(struct kunit *test)
{
	CUdriverProcAddressQueryResult status;

	MUST(test, cuInit(0));
	KUNIT_EXPECT_NULL(test, by_name(test, "cuMemCreate", 9000, &status));
	KUNIT_EXPECT_EQ(test, status,
			CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

/* A version that is newer than the driver is INVALID_VALUE. */
static void c011_proc_address_too_new(struct kunit *test)
{
	CUdriverProcAddressQueryResult status;
	int version;
	void *fn;

	MUST(test, cuInit(0));
	MUST(test, cuDriverGetVersion(&version));
	by_name(test, "cuInit", 2000, &status);
	EXPECT_CU(test, cuGetProcAddress("cuInit", &fn, version + 10, 0,
					 &status), 1);
}

/* A name with its suffix finds nothing. */
static void c012_proc_address_suffix(struct kunit *test)
{
	CUdriverProcAddressQueryResult status;

	MUST(test, cuInit(0));
	KUNIT_EXPECT_NULL(test, by_name(test, "cuMemAlloc_v2", 3020,
					&status));
}

/* cuCtxGetDevice of 13000 is another function than that of 2000. */
static void c013_proc_address_versions(struct kunit *test)
{
	CUdriverProcAddressQueryResult status;
	int version;

	MUST(test, cuInit(0));
	MUST(test, cuDriverGetVersion(&version));
	if (version < 13000)
		kunit_skip(test, "the driver is %d", version);
	KUNIT_EXPECT_PTR_NE(test,
			    by_name(test, "cuCtxGetDevice", 2000, &status),
			    by_name(test, "cuCtxGetDevice", 13000, &status));
}

static void granularity_of_nothing(struct kunit *test)
{
	size_t g;

	cu.cuInit(0);
	cu.cuMemGetAllocationGranularity(&g, NULL, 0);
	(void)test;
}

/* Asking for the granularity without properties crashes the driver; the model
 * aborts and says so.
 */
static void c031_granularity_null_prop(struct kunit *test)
{
	int status;

	model_only(test);
	driver_profile(test, "h200");
	status = in_fork(test, granularity_of_nothing);
	KUNIT_EXPECT_TRUE(test, WIFSIGNALED(status));
	KUNIT_EXPECT_EQ(test, WTERMSIG(status), SIGABRT);
}

static void release_twice(struct kunit *test)
{
	const CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
	};
	CUmemGenericAllocationHandle handle = 0;

	(void)test;
	if (cu.cuInit(0) || cu.cuMemCreate(&handle, 2 << 20, &prop, 0))
		return;
	cu.cuMemRelease(handle);
	cu.cuMemRelease(handle);
}

/* Release of a dead handle is undefined; the model aborts. */
static void c074_release_twice(struct kunit *test)
{
	int status;

	model_only(test);
	driver_profile(test, "h200");
	status = in_fork(test, release_twice);
	KUNIT_EXPECT_TRUE(test, WIFSIGNALED(status));
	KUNIT_EXPECT_EQ(test, WTERMSIG(status), SIGABRT);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_ISOLATED(c001_not_initialised),
	KUNIT_CASE_ISOLATED(c002_init_flags),
	KUNIT_CASE_ISOLATED(c003_init_twice),
	KUNIT_CASE_ISOLATED(c004_version),
	KUNIT_CASE_ISOLATED(c005_version_null),
	KUNIT_CASE_ISOLATED(c006_error_name),
	KUNIT_CASE_ISOLATED(c007_error_name_unknown),
	KUNIT_CASE_ISOLATED(c008_proc_address),
	KUNIT_CASE_ISOLATED(c009_proc_address_unknown),
	KUNIT_CASE_ISOLATED(c010_proc_address_too_old),
	KUNIT_CASE_ISOLATED(c011_proc_address_too_new),
	KUNIT_CASE_ISOLATED(c012_proc_address_suffix),
	KUNIT_CASE_ISOLATED(c013_proc_address_versions),
	KUNIT_CASE_ISOLATED(c031_granularity_null_prop),
	KUNIT_CASE_ISOLATED(c074_release_twice),
	{ 0 }
};

static const struct kunit_suite suite = {
	.name = "contract_init",
	.init = load_only,
	.cases = cases,
};
kunit_test_suite(suite);
