// SPDX-License-Identifier: BSD-2-Clause
/*
 * driver_model_test.c - the model of the driver beyond the contract: what it
 * detects, what it aborts for, and its machines. driver_model_orders.c has what
 * a test can ask of it.
 *
 * Each case is a process of its own. What aborts does so in the child of a
 * fork that was made before the driver was initialised.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "tests/driver_model_cases.h"
#include "tests/kunit/spawn.h"

static int model_loaded(struct kunit *test)
{
	model_only(test);
	return 0;
}

/* ---- Violations ----------------------------------------------------- */

static void violated(struct kunit *test, const char *text)
{
	bench_of(test)->expects_violation = true;
	KUNIT_EXPECT_EQ(test, cu.model_violations(), 1);
	KUNIT_EXPECT_TRUE_MSG(test, strstr(cu.model_last_violation(), text),
			      "%s", cu.model_last_violation());
}

static void free_under_work(struct kunit *test)
{
	CUstream stream;
	CUdeviceptr ptr;

	bench_open(test);
	stream = new_stream(test, CU_STREAM_NON_BLOCKING);
	MUST(test, cuMemAlloc(&ptr, 1000));
	cu.model_stream_hold(stream);
	MUST(test, cuMemsetD8Async(ptr + 10, 0, 10, stream));
	EXPECT_CU(test, cuMemFree(ptr), 0);
	violated(test, "cuMemFree");
	cu.model_stream_release(stream);
	EXPECT_CU(test, cuStreamSynchronize(stream), 700);
}

/* A free in a stream waits for work of others only by events. */
static void free_async_without_order(struct kunit *test)
{
	CUstream stream, other;
	CUdeviceptr ptr[2];
	CUevent event;

	bench_open(test);
	stream = new_stream(test, CU_STREAM_NON_BLOCKING);
	other = new_stream(test, CU_STREAM_NON_BLOCKING);
	event = new_event(test);
	MUST(test, cuMemAllocAsync(&ptr[0], 1000, stream));
	MUST(test, cuMemAllocAsync(&ptr[1], 1000, stream));
	cu.model_stream_hold(other);
	MUST(test, cuMemsetD8Async(ptr[0], 0, 10, other));
	MUST(test, cuEventRecord(event, other));
	MUST(test, cuMemsetD8Async(ptr[1], 0, 10, other));
	MUST(test, cuStreamWaitEvent(stream, event, 0));
	MUST(test, cuMemFreeAsync(ptr[0], stream));
	KUNIT_EXPECT_EQ(test, cu.model_violations(), 0);
	MUST(test, cuMemFreeAsync(ptr[1], stream));
	violated(test, "does not wait");
	cu.model_stream_release(other);
	end_stream(test, other);
	end_stream(test, stream);
	EXPECT_CU(test, cuEventDestroy(event), 0);
	bench_close(test);
}

static void no_context_is_current(struct kunit *test)
{
	CUdeviceptr ptr;
	CUcontext ctx;

	bench_open(test);
	MUST(test, cuCtxPopCurrent(&ctx));
	ptr = reserve(test, bench_of(test)->g);
	violated(test, "no context");
	unreserve(test, ptr, bench_of(test)->g);
	MUST(test, cuCtxPushCurrent(ctx));
	bench_close(test);
}

/* What work does not touch can go. */
static void unmap_beside_work(struct kunit *test)
{
	CUstream stream;
	struct area a, b;

	bench_open(test);
	a = area_open(test, bench_of(test)->g);
	b = area_open(test, bench_of(test)->g);
	stream = new_stream(test, CU_STREAM_NON_BLOCKING);
	cu.model_stream_hold(stream);
	MUST(test, cuMemsetD8Async(a.ptr, 1, a.size, stream));
	area_close(test, &b);
	KUNIT_EXPECT_EQ(test, cu.model_violations(), 0);
	cu.model_stream_release(stream);
	end_stream(test, stream);
	area_close(test, &a);
	bench_close(test);
}

static void call_back(void *arg)
{
	CUresult *ret = arg;

	*ret = alloc_and_free();
}

static void call_in_host_function(struct kunit *test)
{
	CUresult ret = CUDA_SUCCESS;

	bench_open(test);
	MUST(test, cuLaunchHostFunc(NULL, call_back, &ret));
	EXPECT_CU(test, cuCtxSynchronize(), 0);
	KUNIT_EXPECT_EQ(test, ret, CUDA_ERROR_NOT_PERMITTED);
	violated(test, "host function");
	bench_close(test);
}

static void call_in_child(struct kunit *test)
{
	(void)test;
	alloc_and_free();
}

static void pedantic_fork(struct kunit *test)
{
	int status;

	setenv("SLABDEV_MODEL_PEDANTIC", "1", 1);
	bench_open(test);
	status = in_fork(test, call_in_child);
	KUNIT_EXPECT_TRUE(test, WIFSIGNALED(status));
	KUNIT_EXPECT_EQ(test, WTERMSIG(status), SIGABRT);
	bench_close(test);
}

/* ---- What is undefined ---------------------------------------------- */

static void use_ended_stream(struct kunit *test)
{
	CUstream stream;

	bench_open(test);
	stream = new_stream(test, 0);
	end_stream(test, stream);
	cu.cuStreamQuery(stream);
}

static void use_ended_event(struct kunit *test)
{
	CUevent event;

	bench_open(test);
	event = new_event(test);
	EXPECT_CU(test, cuEventDestroy(event), 0);
	cu.cuEventQuery(event);
}

static void map_released_handle(struct kunit *test)
{
	struct area a;

	bench_open(test);
	a = area_open(test, bench_of(test)->g);
	release(test, a.handle);
	cu.cuMemMap(reserve(test, a.size), a.size, 0, a.handle, 0);
}

static void use_freed_async(struct kunit *test)
{
	CUstream stream;
	CUdeviceptr ptr;

	bench_open(test);
	stream = new_stream(test, 0);
	MUST(test, cuMemAllocAsync(&ptr, 1000, stream));
	MUST(test, cuMemFreeAsync(ptr, stream));
	cu.cuMemsetD8Async(ptr, 0, 1, stream);
}

static void call_first_interface(struct kunit *test)
{
	int (*fn)(void);

	bench_open(test);
	*(void **)&fn = dlsym(cu.lib, "cuMemAlloc");
	fn();
}

static void call_newer_signature(struct kunit *test)
{
	int (*fn)(void);

	bench_open(test);
	MUST(test, cuGetProcAddress("cuCtxGetDevice", (void **)&fn, 13000, 0,
				    NULL));
	fn();
}

static void read_device_address(struct kunit *test)
{
	struct area a;

	bench_open(test);
	a = area_open(test, bench_of(test)->g);
	*(volatile char *)(uintptr_t)a.ptr;
}

static const struct undefined_use {
	const char *what;
	void (*fn)(struct kunit *test);
	int signal;
} undefined_uses[] = {
	{ "a stream after its end", use_ended_stream, SIGABRT },
	{ "an event after its end", use_ended_event, SIGABRT },
	{ "a released handle is mapped", map_released_handle, SIGABRT },
	{ "memory after cuMemFreeAsync", use_freed_async, SIGABRT },
	{ "a name without its suffix", call_first_interface, SIGABRT },
	{ "a newer signature", call_newer_signature, SIGABRT },
	{ "the CPU reads device memory", read_device_address, SIGSEGV },
};

static void describe_use(const struct undefined_use *use, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", use->what);
}
KUNIT_ARRAY_PARAM(use, undefined_uses, describe_use);

static void undefined_use_ends(struct kunit *test)
{
	const struct undefined_use *use = test->param_value;
	int status = in_fork(test, use->fn);

	if (use->signal == SIGSEGV && !WIFSIGNALED(status))
		kunit_skip(test, "a sanitizer has the signal");
	KUNIT_ASSERT_TRUE_MSG(test, WIFSIGNALED(status), "status %#x", status);
	KUNIT_EXPECT_EQ(test, WTERMSIG(status), use->signal);
}

/* ---- Machines ------------------------------------------------------- */

static const struct machine {
	const char *name;
	int devices, vmm, pools, integrated, numa;
	size_t reserve;		/* that must not succeed, 0: any does */
} machines[] = {
	{ "h200", 1, 1, 1, 0, 1, 0 },
	{ "two", 2, 1, 1, 0, 1, 0 },
	{ "twonopeer", 2, 1, 1, 0, 0, 0 },
	{ "novmm", 1, 0, 1, 0, 0, 2 << 20 },
	{ "plain", 1, 0, 0, 0, 0, 2 << 20 },
	{ "smallva", 1, 1, 1, 1, 0, (size_t)32 << 30 },
	{ "wsl", 1, 1, 1, 0, 0, 0 },
	{ "mig", 1, 1, 1, 0, 0, 0 },
};

static void describe_machine(const struct machine *m, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", m->name);
}
KUNIT_ARRAY_PARAM(machine, machines, describe_machine);

static int attribute_of(struct kunit *test, CUdevice_attribute which)
{
	int value = -1;

	MUST(test, cuDeviceGetAttribute(&value, which, 0));
	return value;
}

static void check_machine(struct kunit *test)
{
	const struct machine *m = test->param_value;
	CUdeviceptr ptr = 0;
	char name[64];
	int count;

	driver_profile(test, m->name);
	bench_open(test);
	KUNIT_EXPECT_STREQ(test, cu.model_profile(), m->name);
	MUST(test, cuDeviceGetCount(&count));
	KUNIT_EXPECT_EQ(test, count, m->devices);
	MUST(test, cuDeviceGetName(name, sizeof(name), 0));
	KUNIT_EXPECT_STRNEQ(test, name, "");
	KUNIT_EXPECT_EQ(test, strncmp(name, "MODEL ", 6), 0);
	KUNIT_EXPECT_EQ(test, attribute_of(test,
		CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED),
			m->vmm);
	KUNIT_EXPECT_EQ(test, attribute_of(test,
		CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED), m->pools);
	KUNIT_EXPECT_EQ(test, attribute_of(test,
		CU_DEVICE_ATTRIBUTE_INTEGRATED), m->integrated);
	KUNIT_EXPECT_EQ(test, attribute_of(test,
	    CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED),
			m->numa);
	if (m->reserve)
		EXPECT_CU(test, cuMemAddressReserve(&ptr, m->reserve, 0, 0, 0),
			  m->vmm ? 2 : 801);
	alloc_and_free();
	KUNIT_EXPECT_EQ(test, ptr, 0);
	bench_close(test);
}

static void machine_has(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, in_fork(test, check_machine), 0);
}

static void machine_without_device(struct kunit *test)
{
	int count;

	driver_profile(test, "nodevice");
	EXPECT_CU(test, cuInit(0), 100);
	EXPECT_CU(test, cuDeviceGetCount(&count), 3);
}

static void new_memory_is_garbage(struct kunit *test)
{
	struct area a;
	CUdeviceptr ptr;

	bench_open(test);
	a = area_open(test, 32 * bench_of(test)->g);
	KUNIT_EXPECT_NE(test, get_u32(test, a.ptr), 0);
	KUNIT_EXPECT_NE(test, get_u32(test, a.ptr + a.size - 4), 0);
	MUST(test, cuMemAlloc(&ptr, 4096));
	KUNIT_EXPECT_NE(test, get_u32(test, ptr), 0);
	EXPECT_CU(test, cuMemFree(ptr), 0);
	area_close(test, &a);
	bench_close(test);
}

/* A pool without a maximum takes twice the device's memory of addresses. */
static void pool_takes_addresses(struct kunit *test)
{
	CUmemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
	};
	CUmemoryPool pool;

	driver_profile(test, "smallva");
	bench_open(test);
	EXPECT_CU(test, cuMemPoolCreate(&pool, &props), 2);
	props.maxSize = 64 << 20;
	EXPECT_CU(test, cuMemPoolCreate(&pool, &props), 0);
	EXPECT_CU(test, cuMemPoolDestroy(pool), 0);
	bench_close(test);
}

/* A pool at its maximum still has what was freed in it, and what that cost. */
static void full_pool_uses_its_gaps(struct kunit *test)
{
	CUmemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
		.maxSize = 4 << 20,
	};
	cuuint64_t keep = UINT64_MAX;
	CUdeviceptr ptr, other, none;
	CUmemoryPool pool;

	bench_open(test);
	MUST(test, cuMemPoolCreate(&pool, &props));
	MUST(test, cuMemPoolSetAttribute(pool,
			CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
	cu.model_reset();
	MUST(test, cuMemAllocFromPoolAsync(&ptr, 4 << 20, pool, NULL));
	KUNIT_EXPECT_EQ(test, cu.model_clock_ns(), 1700);
	EXPECT_CU(test, cuMemAllocFromPoolAsync(&none, 512, pool, NULL), 2);
	MUST(test, cuMemFreeAsync(ptr, NULL));
	MUST(test, cuCtxSynchronize());
	MUST(test, cuMemAllocFromPoolAsync(&ptr, 3 << 20, pool, NULL));
	EXPECT_CU(test, cuMemAllocFromPoolAsync(&other, 1 << 20, pool, NULL),
		  0);
	EXPECT_CU(test, cuMemAllocFromPoolAsync(&none, 512, pool, NULL), 2);
	MUST(test, cuMemFreeAsync(ptr, NULL));
	MUST(test, cuMemFreeAsync(other, NULL));
	MUST(test, cuCtxSynchronize());
	MUST(test, cuMemPoolDestroy(pool));
	bench_close(test);
}

static void wsl_limits(struct kunit *test)
{
	struct bench *b;
	CUstream stream;
	struct area a;

	driver_profile(test, "wsl");
	b = bench_open(test);
	a = area_mapped(test, b->g);
	stream = new_stream(test, CU_STREAM_NON_BLOCKING);
	cu.model_stream_hold(stream);
	MUST(test, cuEventRecord(new_event(test), stream));
	EXPECT_CU(test, cuMemSetAccess(a.ptr, a.size, &b->rw, 1), 600);
	cu.model_stream_release(stream);
	EXPECT_CU(test, cuCtxSynchronize(), 0);
	EXPECT_CU(test, cuMemSetAccess(a.ptr, a.size, &b->rw, 1), 0);
	b->prop.allocFlags.gpuDirectRDMACapable = 1;
	a = area_mapped(test, b->g);
	EXPECT_CU(test, cuMemSetAccess(a.ptr, a.size, &b->rw, 1), 999);
}

/* ---- Ages ----------------------------------------------------------- */

static const struct age {
	const char *file;
	int version;
	const char *has, *has_not;
} ages[] = {
	{ "tests/model/libcuda.so.1", 13000, "cuStreamGetDevice", "cuNoSuch" },
	{ "tests/model/cuda-12.0/libcuda.so.1", 12000, "cuCtxGetId",
	  "cuStreamGetDevice" },
	{ "tests/model/cuda-11.0/libcuda.so.1", 11000,
	  "cuMemRetainAllocationHandle", "cuMemAllocAsync" },
	{ "tests/model/cuda-10.2/libcuda.so.1", 10020, "cuMemCreate",
	  "cuMemRetainAllocationHandle" },
};

static void describe_age(const struct age *age, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%d", age->version);
}
KUNIT_ARRAY_PARAM(age, ages, describe_age);

static void age_exports(struct kunit *test)
{
	const struct age *age = test->param_value;
	const char *path = kunit_built_path(test, age->file);
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	cuda_pfn_cuDriverGetVersion get_version;
	int version = 0;

	KUNIT_ASSERT_NOT_NULL_MSG(test, lib, "%s", dlerror());
	KUNIT_EXPECT_NOT_NULL(test, dlsym(lib, age->has));
	KUNIT_EXPECT_NULL(test, dlsym(lib, age->has_not));
	*(void **)&get_version = dlsym(lib, "cuDriverGetVersion");
	KUNIT_EXPECT_EQ(test, get_version(&version), CUDA_SUCCESS);
	KUNIT_EXPECT_EQ(test, version, age->version);
}

/* ---- The contract ------------------------------------------------------- */

static void need_contract(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_CONTRACT_KUNIT_TEST))
		kunit_skip(test, "CONFIG_CONTRACT_KUNIT_TEST is not set");
}

/* The contract in another process; what a machine lacks is skipped there. */
static void run_contract(struct kunit *test, const char *variable,
			 const char *value)
{
	struct kunit_process proc;

	need_contract(test);
	setenv(variable, value, 1);
	kunit_run_program(test, &proc, (const char *[]){ kunit_self(test),
			  "--filter=contract*", NULL });
	unsetenv(variable);
	if (proc.exit_code)
		kunit_show_process(test, &proc);
	KUNIT_EXPECT_EQ(test, proc.exit_code, 0);
}

static void machine_keeps_contract(struct kunit *test)
{
	const struct machine *m = test->param_value;

	run_contract(test, "SLABDEV_MODEL_PROFILE", m->name);
}

static void age_keeps_contract(struct kunit *test)
{
	const struct age *age = test->param_value;

	run_contract(test, "SLABDEV_LIBCUDA",
		     kunit_built_path(test, age->file));
}

/* ---- The contract can fail ------------------------------------------ */

static void every_statement_can_break(struct kunit *test)
{
	const char *script = kunit_source_path(test, "tests/model-mutants.sh");
	struct kunit_process proc;

	need_contract(test);
	kunit_run_program(test, &proc, (const char *[]){ "sh", script,
			  kunit_self(test), NULL });
	if (proc.exit_code)
		kunit_show_process(test, &proc);
	KUNIT_EXPECT_EQ(test, proc.exit_code, 0);
	KUNIT_EXPECT_NOT_NULL(test, strstr(proc.out, "\n0 survivors\n"));
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_ISOLATED(nth_call_fails),
	KUNIT_CASE_ISOLATED(any_call_fails),
	KUNIT_CASE_ISOLATED(sticky_order),
	KUNIT_CASE_ISOLATED(calls_are_counted),
	KUNIT_CASE_ISOLATED(calls_cost),
	KUNIT_CASE_ISOLATED(held_stream),
	KUNIT_CASE_ISOLATED(legacy_waits_for_held),
	KUNIT_CASE_ISOLATED(torn_down),
	KUNIT_CASE_ISOLATED(leaks_are_counted),
	KUNIT_CASE_ISOLATED(refusals_say_why),
	KUNIT_CASE_ISOLATED(free_under_work),
	KUNIT_CASE_ISOLATED(free_async_without_order),
	KUNIT_CASE_ISOLATED(no_context_is_current),
	KUNIT_CASE_ISOLATED(unmap_beside_work),
	KUNIT_CASE_ISOLATED(call_in_host_function),
	KUNIT_CASE_ISOLATED(pedantic_fork),
	KUNIT_CASE_PARAM(undefined_use_ends, use_gen_params,
			 .isolated = true),
	KUNIT_CASE_PARAM(machine_has, machine_gen_params, .isolated = true),
	KUNIT_CASE_ISOLATED(machine_without_device),
	KUNIT_CASE_ISOLATED(new_memory_is_garbage),
	KUNIT_CASE_ISOLATED(pool_takes_addresses),
	KUNIT_CASE_ISOLATED(full_pool_uses_its_gaps),
	KUNIT_CASE_ISOLATED(wsl_limits),
	KUNIT_CASE_PARAM(age_exports, age_gen_params, .isolated = true),
	KUNIT_CASE_PARAM(machine_keeps_contract, machine_gen_params,
			 .is_long = true, .isolated = true, .timeout_s = 300),
	KUNIT_CASE_PARAM(age_keeps_contract, age_gen_params, .is_long = true,
			 .isolated = true, .timeout_s = 300),
	KUNIT_CASE_SLOW(every_statement_can_break, .timeout_s = 600),
	{ 0 }
};

static const struct kunit_suite driver_model_suite = {
	.name = "driver_model",
	.init = model_loaded,
	.cases = cases,
};
kunit_test_suite(driver_model_suite);
