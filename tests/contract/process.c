// SPDX-License-Identifier: BSD-2-Clause
/*
 * process.c - statements that need a process, or a machine, of their own:
 * faults, forks, contexts that end, two devices, nodes of the host.
 *
 * A device that has failed is of no more use to its process, so that such a
 * case leaves everything where it is.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/contract/driver.h"
#include "tests/kunit/spawn.h"

/* After this nothing can be given back, and nothing is asked. */
static void leave_it(struct kunit *test)
{
	test->priv = NULL;
}

/* Memory of a node of the host needs a driver that has it. */
static void c064_create_numa(struct kunit *test)
{
	CUmemGenericAllocationHandle handle = 0;
	struct bench *b;
	int has = 0;

	driver_profile(test, "twonopeer");
	b = bench_open(test);
	MUST(test, cuDeviceGetAttribute(&has,
	     CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
	     0));
	if (has)
		kunit_skip(test, "the driver has it");
	b->prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
	EXPECT_CU(test, cuMemCreate(&handle, b->g, &b->prop, 0), 801, 1, 101);
	bench_close(test);
}

/* Mapped without access, a kernel that touches it makes the device fail. */
static void c093_kernel_no_access(struct kunit *test)
{
	struct kernel k;
	struct area a;

	bench_open(test);
	k = kernel_load(test);
	a = area_mapped(test, bench_of(test)->g);
	KUNIT_EXPECT_EQ(test, kernel_store(&k, a.ptr, 93, NULL),
			CUDA_SUCCESS);
	EXPECT_CU(test, cuCtxSynchronize(), 700);
	leave_it(test);
}

/* Unmapping does not wait for a kernel that uses the range; it faults. */
static void c103_unmap_under_kernel(struct kunit *test)
{
	CUstream stream;
	struct gate *gate;
	struct kernel k;
	struct area a;

	bench_open(test);
	k = kernel_load(test);
	a = area_open(test, bench_of(test)->g);
	stream = new_stream(test, CU_STREAM_NON_BLOCKING);
	gate = gate_close(test, stream);
	KUNIT_EXPECT_EQ(test, kernel_store(&k, a.ptr, 103, stream),
			CUDA_SUCCESS);
	EXPECT_CU(test, cuMemUnmap(a.ptr, a.size), 0);
	gate_open(gate);
	EXPECT_CU(test, cuStreamSynchronize(stream), 700);
	leave_it(test);
}

/* Access for another device needs peers. */
static void c120_grant_peer(struct kunit *test)
{
	CUmemAccessDesc desc;
	struct bench *b;
	struct area a;
	int count;

	driver_profile(test, "twonopeer");
	b = bench_open(test);
	MUST(test, cuDeviceGetCount(&count));
	if (count < 2)
		kunit_skip(test, "one device");
	MUST(test, cuDeviceCanAccessPeer(&count, 1, 0));
	if (count)
		kunit_skip(test, "the devices are peers");
	a = area_open(test, b->g);
	desc = b->rw;
	desc.location.id = 1;
	EXPECT_CU(test, cuMemSetAccess(a.ptr, a.size, &desc, 1), 801, 1, 101);
	area_close(test, &a);
	bench_close(test);
}

/* Two devices that are peers, or the case is skipped. */
static struct bench *open_peers(struct kunit *test, CUcontext *other)
{
	struct bench *b;
	int count = 0;

	driver_profile(test, "two");
	b = bench_open(test);
	MUST(test, cuDeviceGetCount(&count));
	if (count < 2)
		kunit_skip(test, "one device");
	MUST(test, cuDeviceCanAccessPeer(&count, 1, 0));
	if (!count)
		kunit_skip(test, "the devices are no peers");
	MUST(test, cuDevicePrimaryCtxRetain(other, 1));
	return b;
}

static void close_peers(struct kunit *test)
{
	EXPECT_CU(test, cuDevicePrimaryCtxRelease(1), 0);
	bench_close(test);
}

/* Peer access is enabled once, without flags, and not for oneself. */
static void c187_enable_peer(struct kunit *test)
{
	CUcontext other;
	struct bench *b = open_peers(test, &other);

	EXPECT_CU(test, cuCtxEnablePeerAccess(other, 1), 1);
	EXPECT_CU(test, cuCtxEnablePeerAccess(b->ctx, 0), 201);
	EXPECT_CU(test, cuCtxEnablePeerAccess(other, 0), 0);
	EXPECT_CU(test, cuCtxEnablePeerAccess(other, 0), 704);
	EXPECT_CU(test, cuCtxDisablePeerAccess(other), 0);
	close_peers(test);
}

/* It does not make mappings visible: each device is granted access on its
 * own, and then both see the data.
 */
static void c188_peer_and_mapping(struct kunit *test)
{
	CUmemAccessDesc desc;
	CUcontext other, popped;
	struct bench *b = open_peers(test, &other);
	struct area a = area_open(test, b->g);
	uint32_t value = 0;

	put_u32(test, a.ptr, 188);
	MUST(test, cuCtxPushCurrent(other));
	MUST(test, cuCtxEnablePeerAccess(b->ctx, 0));
	EXPECT_CU(test, cuMemcpyDtoH(&value, a.ptr, 4), 1, 700);
	desc = b->rw;
	desc.location.id = 1;
	if (!cu.cuMemSetAccess(a.ptr, a.size, &desc, 1))
		KUNIT_EXPECT_EQ(test, get_u32(test, a.ptr), 188);
	MUST(test, cuCtxDisablePeerAccess(b->ctx));
	MUST(test, cuCtxPopCurrent(&popped));
	area_close(test, &a);
	close_peers(test);
}

/* No PTX, and PTX of a version to come, are errors of their own. */
static void c189_module_junk(struct kunit *test)
{
	CUmodule module;

	bench_open(test);
	EXPECT_CU(test, cuModuleLoadData(&module, "no module at all"), 218,
		  200, 300);
	EXPECT_CU(test, cuModuleLoadData(&module, ".version 99.0\n"
			".target sm_50\n.address_size 64\n"), 222);
	bench_close(test);
}

/* A function that a module does not have is NOT_FOUND. */
static void c190_function_missing(struct kunit *test)
{
	CUfunction fn;
	struct kernel k;

	bench_open(test);
	k = kernel_load(test);
	EXPECT_CU(test, cuModuleGetFunction(&fn, k.module, "missing"), 500);
	kernel_unload(test, &k);
	bench_close(test);
}

/* Parameters in both forms are INVALID_VALUE. */
static void c191_launch_both(struct kunit *test)
{
	CUdeviceptr ptr = 0;
	uint32_t value = 0;
	void *params[] = { &ptr, &value }, *extra[] = { NULL };
	struct kernel k;

	bench_open(test);
	k = kernel_load(test);
	EXPECT_CU(test, cuLaunchKernel(k.store, 1, 1, 1, 1, 1, 1, 0, NULL,
				       params, extra), 1);
	kernel_unload(test, &k);
	bench_close(test);
}

static void make_fault(struct kunit *test)
{
	struct kernel k = kernel_load(test);
	CUdeviceptr ptr = reserve(test, bench_of(test)->g);

	KUNIT_EXPECT_EQ(test, kernel_store(&k, ptr, 1, NULL), CUDA_SUCCESS);
	EXPECT_CU(test, cuCtxSynchronize(), 700);
}

/* After a fault every call returns it that returns errors of earlier work. */
static void c192_sticky(struct kunit *test)
{
	struct bench *b = bench_open(test);
	struct area a = area_open(test, b->g);
	CUdeviceptr ptr;
	size_t unused, total;

	make_fault(test);
	EXPECT_CU(test, cuCtxSynchronize(), 700);
	EXPECT_CU(test, cuMemAlloc(&ptr, 100), 700);
	EXPECT_CU(test, cuMemGetInfo(&unused, &total), 700);
	EXPECT_CU(test, cuMemUnmap(a.ptr, a.size), 700);
	leave_it(test);
}

/* But for the names of errors, and the version. */
static void c193_sticky_names(struct kunit *test)
{
	const char *name = NULL;
	int version = 0;

	bench_open(test);
	make_fault(test);
	EXPECT_CU(test, cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &name), 0);
	EXPECT_CU(test, cuDriverGetVersion(&version), 0);
	leave_it(test);
}

static void calls_in_child(struct kunit *test)
{
	CUdeviceptr ptr;
	int count;

	EXPECT_CU(test, cuInit(0), 3);
	EXPECT_CU(test, cuDeviceGetCount(&count), 3);
	EXPECT_CU(test, cuMemAlloc(&ptr, 100), 3);
}

/* In the child of a fork every call is NOT_INITIALIZED; the parent goes on. */
static void c194_fork(struct kunit *test)
{
	struct area a;

	bench_open(test);
	KUNIT_EXPECT_EQ(test, in_fork(test, calls_in_child), 0);
	a = area_open(test, bench_of(test)->g);
	put_u32(test, a.ptr, 194);
	KUNIT_EXPECT_EQ(test, get_u32(test, a.ptr), 194);
	area_close(test, &a);
	bench_close(test);
}

/* In an exit handler that was registered before cuInit, Unmap and Release
 * return DEINITIALIZED, or succeed. The model is down by then, as late as a
 * driver may be.
 */
static void c195_exit_handler(struct kunit *test)
{
	const char *program = kunit_built_path(test, "tests/contract/other");
	const char *lib = getenv("SLABDEV_LIBCUDA");
	struct kunit_process proc;

	driver_profile(test, "h200");
	if (!lib || !*lib)
		lib = kunit_built_path(test, "tests/model/libcuda.so.1");
	kunit_run_program(test, &proc, (const char *[]){ program, lib, "exit",
			  NULL });
	KUNIT_EXPECT_EQ(test, proc.exit_code, 0);
	if (cu.is_model || strcmp(proc.out, "0 0\n"))
		KUNIT_EXPECT_STREQ(test, proc.out, "4 4\n");
}

/* The end of a context leaves memory of cuMemCreate alone. */
static void c196_context_destroyed(struct kunit *test)
{
	CUcontext other;
	struct area a;

	bench_open(test);
	MUST(test, cuCtxCreate(&other, 0, 0));
	a = area_open(test, bench_of(test)->g);
	put_u32(test, a.ptr, 196);
	EXPECT_CU(test, cuCtxDestroy(other), 0);
	KUNIT_EXPECT_EQ(test, get_u32(test, a.ptr), 196);
	area_close(test, &a);
	bench_close(test);
}

static void whole_sequence(struct kunit *test, void *arg)
{
	struct area a = area_open(test, bench_of(test)->g);

	(void)arg;
	area_close(test, &a);
}

/* The whole sequence works while no context is current. */
static void c197_no_context(struct kunit *test)
{
	CUcontext ctx;

	bench_open(test);
	/* It works, and some drivers are said to need one all the same. */
	bench_of(test)->expects_violation = true;
	MUST(test, cuCtxPopCurrent(&ctx));
	whole_sequence(test, NULL);
	MUST(test, cuCtxPushCurrent(ctx));
	bench_close(test);
}

/* And in a thread that never had one. */
static void c198_no_context_thread(struct kunit *test)
{
	bench_open(test)->expects_violation = true;
	in_thread(test, whole_sequence, NULL);
	bench_close(test);
}

/* Memory of a node of the host, granted to both, is at one address for both. */
static void c199_host_numa(struct kunit *test)
{
	struct bench *b = bench_open(test);
	CUmemAccessDesc desc[2];
	struct area a;
	int has = 0;

	MUST(test, cuDeviceGetAttribute(&has,
	     CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
	     0));
	if (!has)
		kunit_skip(test, "the driver has it not");
	desc[0] = desc[1] = b->rw;
	desc[1].location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
	b->prop.location = desc[1].location;
	MUST(test, cuMemGetAllocationGranularity(&b->g, &b->prop, 0));
	a = area_mapped(test, b->g);
	MUST(test, cuMemSetAccess(a.ptr, a.size, desc, 2));
	put_u32(test, a.ptr, 199);
	KUNIT_EXPECT_EQ(test, *(uint32_t *)(uintptr_t)a.ptr, 199);
	area_close(test, &a);
	bench_close(test);
}

/* A target that is newer than the device is not assembled for it. */
static void c235_newer_target(struct kunit *test)
{
	int major = 0, version = 0;
	CUmodule module;

	bench_open(test);
	MUST(test, cuDriverGetVersion(&version));
	MUST(test, cuDeviceGetAttribute(&major,
			CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
	if (major >= 10 || version < 12080)
		kunit_skip(test, "the device is newer, or the driver older");
	EXPECT_CU(test, cuModuleLoadData(&module, ".version 8.6\n"
			".target sm_100\n.address_size 64\n"), 209, 218);
	bench_close(test);
}

/* A kernel's access that is not aligned makes the device fail. */
static void c236_misaligned(struct kunit *test)
{
	struct kernel k;
	struct area a;

	bench_open(test);
	k = kernel_load(test);
	a = area_open(test, bench_of(test)->g);
	KUNIT_EXPECT_EQ(test, kernel_store(&k, a.ptr + 2, 1, NULL),
			CUDA_SUCCESS);
	EXPECT_CU(test, cuCtxSynchronize(), 716);
	leave_it(test);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_ISOLATED(c064_create_numa),
	KUNIT_CASE_ISOLATED(c093_kernel_no_access),
	KUNIT_CASE_ISOLATED(c103_unmap_under_kernel),
	KUNIT_CASE_ISOLATED(c120_grant_peer),
	KUNIT_CASE_ISOLATED(c187_enable_peer),
	KUNIT_CASE_ISOLATED(c188_peer_and_mapping),
	KUNIT_CASE_ISOLATED(c189_module_junk),
	KUNIT_CASE_ISOLATED(c190_function_missing),
	KUNIT_CASE_ISOLATED(c191_launch_both),
	KUNIT_CASE_ISOLATED(c192_sticky),
	KUNIT_CASE_ISOLATED(c193_sticky_names),
	KUNIT_CASE_ISOLATED(c194_fork),
	KUNIT_CASE_ISOLATED(c195_exit_handler),
	KUNIT_CASE_ISOLATED(c196_context_destroyed),
	KUNIT_CASE_ISOLATED(c197_no_context),
	KUNIT_CASE_ISOLATED(c198_no_context_thread),
	KUNIT_CASE_ISOLATED(c199_host_numa),
	KUNIT_CASE_ISOLATED(c235_newer_target),
	KUNIT_CASE_ISOLATED(c236_misaligned),
	{ 0 }
};

static const struct kunit_suite suite = {
	.name = "contract_process",
	.cases = cases,
};
kunit_test_suite(suite);
