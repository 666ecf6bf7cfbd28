// SPDX-License-Identifier: BSD-2-Clause
/* pointer.c - statements about what the driver says of an address. */
#include "tests/contract/driver.h"

static CUdeviceptr host_address(struct kunit *test)
{
	return (CUdeviceptr)(uintptr_t)kunit_kzalloc(test, 4096);
}

/* Any attribute, as a number of up to eight bytes. */
static uint64_t attribute(struct kunit *test, CUpointer_attribute which,
			  CUdeviceptr ptr)
{
	uint64_t value = 0;

	EXPECT_CU(test, cuPointerGetAttribute(&value, which, ptr), 0);
	return value;
}

/* Of memory of malloc one attribute is INVALID_VALUE. */
static void c137_attribute_of_malloc(struct kunit *test)
{
	unsigned int type;

	EXPECT_CU(test, cuPointerGetAttribute(&type,
			CU_POINTER_ATTRIBUTE_MEMORY_TYPE, host_address(test)),
		  1);
}

/* A list of attributes succeeds, and all are zero. */
static void c138_attributes_of_malloc(struct kunit *test)
{
	CUpointer_attribute which[] = {
		CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
	};
	uint64_t value[2] = { ~0ull, 0 };
	void *data[] = { &value[0], &value[1] };

	EXPECT_CU(test, cuPointerGetAttributes(2, which, data,
					       host_address(test)), 0);
	KUNIT_EXPECT_EQ(test, value[0], 0);
	KUNIT_EXPECT_EQ(test, value[1], 0);
}

/* A mapping is device memory of its owner, and not managed. */
static void c139_attributes(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);

	KUNIT_EXPECT_EQ(test, attribute(test, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
					a.ptr), CU_MEMORYTYPE_DEVICE);
	KUNIT_EXPECT_EQ(test, attribute(test,
			CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, a.ptr), 0);
	KUNIT_EXPECT_EQ(test, attribute(test, CU_POINTER_ATTRIBUTE_IS_MANAGED,
					a.ptr), 0);
	area_close(test, &a);
}

/* The range is that of the reservation; MAPPED says it of the address. */
static void c140_range(struct kunit *test)
{
	size_t g = bench_of(test)->g;
	CUdeviceptr ptr = reserve(test, 2 * g);
	CUmemGenericAllocationHandle handle = create(test, g);

	MUST(test, cuMemMap(ptr, g, 0, handle, 0));
	grant(test, ptr, g);
	KUNIT_EXPECT_EQ(test, attribute(test,
			CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, ptr + 5), ptr);
	KUNIT_EXPECT_EQ(test, attribute(test, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
					ptr + 5), 2 * g);
	KUNIT_EXPECT_NE(test, attribute(test, CU_POINTER_ATTRIBUTE_MAPPED,
					ptr), 0);
	KUNIT_EXPECT_EQ(test, attribute(test, CU_POINTER_ATTRIBUTE_MAPPED,
					ptr + g), 0);
	EXPECT_CU(test, cuMemUnmap(ptr, g), 0);
	release(test, handle);
	unreserve(test, ptr, 2 * g);
}

/* It belongs to no context. */
static void c141_context(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);
	CUcontext ctx = (CUcontext)0x5a;

	EXPECT_CU(test, cuPointerGetAttribute(&ctx,
			CU_POINTER_ATTRIBUTE_CONTEXT, a.ptr), 0, 1);
	if (cu.is_model)
		KUNIT_EXPECT_NULL(test, ctx);
	area_close(test, &a);
}

/* It has no handle of the older kind; what the attribute says is not reliable
 * on a GPU.
 */
static void c142_legacy_ipc(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);
	CUipcMemHandle handle;
	uint64_t capable;

	EXPECT_CU(test, cuIpcGetMemHandle(&handle, a.ptr), 1, 801, 400);
	capable = attribute(test,
			    CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
			    a.ptr);
	kunit_info(test, "capable: %d", (int)capable);
	if (cu.is_model)
		KUNIT_EXPECT_EQ(test, capable, 0);
	area_close(test, &a);
}

/* The allowed handle types are those that were asked for. */
static void c143_handle_types(struct kunit *test)
{
	struct bench *b = bench_of(test);
	struct area a;

	b->prop.requestedHandleTypes =
		CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
	a = area_open(test, b->g);
	KUNIT_EXPECT_EQ(test, attribute(test,
			CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, a.ptr),
			CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
	area_close(test, &a);
}

/* The access is that of the current context's device. */
static void c144_access_flags(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);

	KUNIT_EXPECT_EQ(test, attribute(test,
			CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, a.ptr),
			CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	area_close(test, &a);
}

/* Buffer ids are not zero, and never the same twice. */
static void c145_buffer_id(struct kunit *test)
{
	uint64_t id[2];
	int i;

	for (i = 0; i < 2; i++) {
		struct area a = area_open(test, bench_of(test)->g);

		id[i] = attribute(test, CU_POINTER_ATTRIBUTE_BUFFER_ID, a.ptr);
		area_close(test, &a);
	}
	KUNIT_EXPECT_NE(test, id[0], 0);
	KUNIT_EXPECT_NE(test, id[0], id[1]);
}

/* The address range is that of one mapping, also of the second of two. */
static void c146_address_range(struct kunit *test)
{
	size_t g = bench_of(test)->g, size = 0;
	CUdeviceptr ptr = reserve(test, 2 * g), base = 0;
	CUmemGenericAllocationHandle handle = create(test, g);

	MUST(test, cuMemMap(ptr, g, 0, handle, 0));
	MUST(test, cuMemMap(ptr + g, g, 0, handle, 0));
	grant(test, ptr, 2 * g);
	EXPECT_CU(test, cuMemGetAddressRange(&base, &size, ptr + g + 7), 0);
	KUNIT_EXPECT_EQ(test, base, ptr + g);
	KUNIT_EXPECT_EQ(test, size, g);
	EXPECT_CU(test, cuMemUnmap(ptr, 2 * g), 0);
	release(test, handle);
	unreserve(test, ptr, 2 * g);
}

/* Of memory of malloc: INVALID_VALUE, or NOT_FOUND. */
static void c147_address_range_of_malloc(struct kunit *test)
{
	CUdeviceptr base;
	size_t size;

	EXPECT_CU(test, cuMemGetAddressRange(&base, &size,
					     host_address(test)), 1, 500);
}

/* Without a context: INVALID_CONTEXT. */
static void c148_address_range_none(struct kunit *test)
{
	struct area a = area_open(test, bench_of(test)->g);
	CUdeviceptr base;
	CUcontext ctx;
	size_t size;

	MUST(test, cuCtxPopCurrent(&ctx));
	EXPECT_CU(test, cuMemGetAddressRange(&base, &size, a.ptr), 201);
	MUST(test, cuCtxPushCurrent(ctx));
	area_close(test, &a);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(c137_attribute_of_malloc),
	KUNIT_CASE(c138_attributes_of_malloc),
	KUNIT_CASE(c139_attributes),
	KUNIT_CASE(c140_range),
	KUNIT_CASE(c141_context),
	KUNIT_CASE(c142_legacy_ipc),
	KUNIT_CASE(c143_handle_types),
	KUNIT_CASE(c144_access_flags),
	KUNIT_CASE(c145_buffer_id),
	KUNIT_CASE(c146_address_range),
	KUNIT_CASE(c147_address_range_of_malloc),
	KUNIT_CASE(c148_address_range_none),
	{ 0 }
};

static const struct kunit_suite suite = {
	.name = "contract_pointer",
	.init = vmm_bench_init,
	.exit = bench_exit,
	.cases = cases,
};
kunit_test_suite(suite);
