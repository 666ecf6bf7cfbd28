// SPDX-License-Identifier: BSD-2-Clause
/* driver.c - the driver under test, see driver.h. */
#include "tests/contract/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/kunit/spawn.h"

#define GATE_SECONDS 60

struct driver cu;

/* ---- Loading -------------------------------------------------------- */

static void *symbol(const char *name)
{
	return dlsym(cu.lib, name);
}

#define FIND_FUNCTION(need, base, suffix, version, args, names) \
	*(void **)&cu.base = symbol(#base #suffix);
#define FIND_CONTROL(name, type, args) *(void **)&cu.name = symbol(#name);

void driver_load(struct kunit *test)
{
	const char *path = getenv("SLABDEV_LIBCUDA");
	int version;

	if (cu.is_loaded)
		return;
	if (!path || !*path)
		path = kunit_built_path(test, "tests/model/libcuda.so.1");
	cu.lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!cu.lib)
		kunit_skip(test, "no driver: %s", dlerror());
	SLABDEV_CUDA_FUNCS(FIND_FUNCTION)
	if (!cu.cuDriverGetVersion ||
	    cu.cuDriverGetVersion(&version) == CUDA_ERROR_STUB_LIBRARY)
		kunit_skip(test, "%s is no driver, or the toolkit's stub",
			   path);
	MODEL_CONTROLS(FIND_CONTROL)
	cu.is_model = cu.model_reset;
	cu.is_loaded = true;
}

void driver_profile(struct kunit *test, const char *name)
{
	driver_load(test);
	if (cu.is_model)
		setenv("SLABDEV_MODEL_PROFILE", name, 1);
}

void model_only(struct kunit *test)
{
	driver_load(test);
	if (!cu.is_model)
		kunit_skip(test, "for the model only");
}

/* ---- Results -------------------------------------------------------- */

static const char *name_of(CUresult code)
{
	const char *name = NULL;

	if (cu.cuGetErrorName(code, &name) || !name)
		return "?";
	return name;
}

void expect_result(struct kunit *test, const char *what, int line,
		   CUresult got, const int *accepted)
{
	bool ok = (int)got == accepted[0];
	int i;

	for (i = 0; !cu.is_model && accepted[i] >= 0; i++)
		ok |= (int)got == accepted[i];
	if (!cu.is_model && accepted[1] >= 0)
		kunit_info(test, "line %d: %s: %d %s", line, what, got,
			   name_of(got));
	/* Names are calls, too: of none that an order of a test may strike. */
	if (!ok)
		KUNIT_FAIL(test, "line %d: %s: %d %s, wanted %d %s", line,
			   what, got, name_of(got), accepted[0],
			   name_of((CUresult)accepted[0]));
}

void must_result(struct kunit *test, const char *what, int line, CUresult got)
{
	if (got)
		KUNIT_FAIL_AND_ABORT(test, "line %d: %s: %d %s", line, what,
				     got, name_of(got));
}

/* Whether a library could do with this driver at all. */
#define NEED_FUNCTION(need, base, suffix, version, args, names) \
	if (#need[0] == 'E' && !cu.base) \
		kunit_skip(test, "the driver has no " #base #suffix);

static void need_functions(struct kunit *test)
{
	SLABDEV_CUDA_FUNCS(NEED_FUNCTION)
}

/* ---- A bench -------------------------------------------------------- */

struct bench *bench_open(struct kunit *test)
{
	struct bench *b = kunit_kzalloc(test, sizeof(*b));
	CUresult ret;
	int has = 0;

	test->priv = b;
	driver_load(test);
	need_functions(test);
	b->page = (size_t)sysconf(_SC_PAGESIZE);
	ret = cu.cuInit(0);
	if (ret == CUDA_ERROR_NO_DEVICE || (!cu.is_model && ret))
		kunit_skip(test, "cuInit: %d %s", ret, name_of(ret));
	KUNIT_ASSERT_EQ(test, ret, CUDA_SUCCESS);
	if (cu.is_model) {
		cu.model_reset();
		b->leaks = cu.model_leaks(NULL);
	}
	MUST(test, cuDevicePrimaryCtxRetain(&b->ctx, 0));
	MUST(test, cuCtxPushCurrent(b->ctx));
	MUST(test, cuDeviceGetAttribute(&has,
			CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED,
			0));
	b->has_vmm = has;
	b->prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	b->prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	b->rw.location = b->prop.location;
	b->rw.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	if (cu.cuMemGetAllocationGranularity(&b->g, &b->prop, 0))
		b->g = 2 << 20;
	return b;
}

void bench_close(struct kunit *test)
{
	struct bench *b = bench_of(test);
	CUcontext ctx;

	if (!b || !b->ctx)
		return;
	EXPECT_CU(test, cuCtxPopCurrent(&ctx), 0);
	EXPECT_CU(test, cuDevicePrimaryCtxRelease(0), 0);
	/* A case that was skipped leaves what it had. */
	if (!cu.is_model || !b->has_vmm)
		return;
	KUNIT_EXPECT_EQ(test, cu.model_leaks(NULL), b->leaks);
	if (!b->expects_violation)
		KUNIT_EXPECT_EQ_MSG(test, cu.model_violations(), 0, "%s",
				    cu.model_last_violation());
}

int bench_init(struct kunit *test)
{
	bench_open(test);
	return 0;
}

void need_vmm(struct kunit *test)
{
	if (!bench_of(test)->has_vmm)
		kunit_skip(test, "the device has no virtual memory management");
}

int vmm_bench_init(struct kunit *test)
{
	bench_open(test);
	need_vmm(test);
	return 0;
}

void bench_exit(struct kunit *test)
{
	bench_close(test);
}

/* ---- Memory --------------------------------------------------------- */

CUdeviceptr reserve(struct kunit *test, size_t size)
{
	CUdeviceptr ptr = 0;

	need_vmm(test);
	MUST(test, cuMemAddressReserve(&ptr, size, 0, 0, 0));
	return ptr;
}

void unreserve(struct kunit *test, CUdeviceptr ptr, size_t size)
{
	EXPECT_CU(test, cuMemAddressFree(ptr, size), 0);
}

CUmemGenericAllocationHandle create(struct kunit *test, size_t size)
{
	CUmemGenericAllocationHandle handle = 0;

	need_vmm(test);
	MUST(test, cuMemCreate(&handle, size, &bench_of(test)->prop, 0));
	return handle;
}

void release(struct kunit *test, CUmemGenericAllocationHandle handle)
{
	EXPECT_CU(test, cuMemRelease(handle), 0);
}

void grant(struct kunit *test, CUdeviceptr ptr, size_t size)
{
	MUST(test, cuMemSetAccess(ptr, size, &bench_of(test)->rw, 1));
}

struct area area_mapped(struct kunit *test, size_t size)
{
	struct area a = { .size = size };

	a.ptr = reserve(test, size);
	a.handle = create(test, size);
	MUST(test, cuMemMap(a.ptr, size, 0, a.handle, 0));
	return a;
}

struct area area_open(struct kunit *test, size_t size)
{
	struct area a = area_mapped(test, size);

	grant(test, a.ptr, size);
	return a;
}

void area_close(struct kunit *test, const struct area *a)
{
	EXPECT_CU(test, cuMemUnmap(a->ptr, a->size), 0);
	release(test, a->handle);
	unreserve(test, a->ptr, a->size);
}

size_t free_bytes(struct kunit *test)
{
	size_t unused, total;

	MUST(test, cuMemGetInfo(&unused, &total));
	return unused;
}

bool reserve_pair(struct kunit *test, size_t size, CUdeviceptr *first)
{
	CUdeviceptr both = reserve(test, 4 * size), second;

	unreserve(test, both, 4 * size);
	MUST(test, cuMemAddressReserve(first, size, 0, both, 0));
	MUST(test, cuMemAddressReserve(&second, size, 0, both + size, 0));
	if (second == *first + size)
		return true;
	unreserve(test, *first, size);
	unreserve(test, second, size);
	return false;
}

void put_u32(struct kunit *test, CUdeviceptr ptr, uint32_t value)
{
	EXPECT_CU(test, cuMemcpyHtoD(ptr, &value, sizeof(value)), 0);
	EXPECT_CU(test, cuCtxSynchronize(), 0);
}

uint32_t get_u32(struct kunit *test, CUdeviceptr ptr)
{
	uint32_t value = 0;

	EXPECT_CU(test, cuMemcpyDtoH(&value, ptr, sizeof(value)), 0);
	return value;
}

/* ---- Streams -------------------------------------------------------- */

CUstream new_stream(struct kunit *test, unsigned int flags)
{
	CUstream stream = NULL;

	MUST(test, cuStreamCreate(&stream, flags));
	return stream;
}

void end_stream(struct kunit *test, CUstream stream)
{
	EXPECT_CU(test, cuStreamSynchronize(stream), 0);
	EXPECT_CU(test, cuStreamDestroy(stream), 0);
}

CUevent new_event(struct kunit *test)
{
	CUevent event = NULL;

	MUST(test, cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	return event;
}

struct gate {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool entered, open;
};

static void wait_at_gate(struct gate *gate, const bool *flag)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += GATE_SECONDS;
	while (!*flag)
		if (pthread_cond_timedwait(&gate->cond, &gate->lock, &end))
			break;
}

static void stand_in_gate(void *arg)
{
	struct gate *gate = arg;

	pthread_mutex_lock(&gate->lock);
	gate->entered = true;
	pthread_cond_broadcast(&gate->cond);
	wait_at_gate(gate, &gate->open);
	pthread_mutex_unlock(&gate->lock);
}

/* Also when the case ends before: nobody waits for a gate that is gone. */
void gate_open(struct gate *gate)
{
	pthread_mutex_lock(&gate->lock);
	gate->open = true;
	pthread_cond_broadcast(&gate->cond);
	pthread_mutex_unlock(&gate->lock);
}

void gate_await(struct gate *gate)
{
	pthread_mutex_lock(&gate->lock);
	wait_at_gate(gate, &gate->entered);
	pthread_mutex_unlock(&gate->lock);
}

/* Never freed: the host function may come to it late. */
struct gate *gate_close(struct kunit *test, CUstream stream)
{
	static struct gate gates[64];
	static unsigned int used;
	struct gate *gate = &gates[used++ % ARRAY_SIZE(gates)];

	*gate = (struct gate){ .lock = PTHREAD_MUTEX_INITIALIZER,
			       .cond = PTHREAD_COND_INITIALIZER };
	MUST(test, cuLaunchHostFunc(stream, stand_in_gate, gate));
	return gate;
}

/* ---- Kernels -------------------------------------------------------- */

static const char ptx[] =
".version 6.4\n"
".target sm_50\n"
".address_size 64\n"
".visible .entry contract_store(.param .u64 p, .param .u32 v)\n"
"{\n"
"	.reg .u64 %rd<2>;\n"
"	.reg .u32 %r<2>;\n"
"	ld.param.u64 %rd1, [p];\n"
"	ld.param.u32 %r1, [v];\n"
"	st.global.u32 [%rd1], %r1;\n"
"	ret;\n"
"}\n";

struct kernel kernel_load(struct kunit *test)
{
	struct kernel k;

	MUST(test, cuModuleLoadData(&k.module, ptx));
	MUST(test, cuModuleGetFunction(&k.store, k.module, "contract_store"));
	return k;
}

void kernel_unload(struct kunit *test, struct kernel *k)
{
	EXPECT_CU(test, cuModuleUnload(k->module), 0);
}

CUresult kernel_store(struct kernel *k, CUdeviceptr ptr, uint32_t value,
		      CUstream stream)
{
	void *params[] = { &ptr, &value };

	return cu.cuLaunchKernel(k->store, 1, 1, 1, 1, 1, 1, 0, stream,
				 params, NULL);
}

/* ---- Threads and processes ------------------------------------------ */

struct errand {
	struct kunit *test;
	void (*fn)(struct kunit *test, void *arg);
	void *arg;
};

static void *run_errand(void *arg)
{
	struct errand *errand = arg;

	errand->fn(errand->test, errand->arg);
	return NULL;
}

void in_thread(struct kunit *test, void (*fn)(struct kunit *test, void *arg),
	       void *arg)
{
	struct errand errand = { test, fn, arg };
	pthread_t thread;

	KUNIT_ASSERT_EQ(test, pthread_create(&thread, NULL, run_errand,
					     &errand), 0);
	pthread_join(thread, NULL);
}

int in_fork(struct kunit *test, void (*fn)(struct kunit *test))
{
	int status = -1;
	pid_t pid;

	pid = fork();
	KUNIT_ASSERT_GE(test, pid, 0);
	if (!pid) {
		alarm(GATE_SECONDS);
		fn(test);
		_exit(0);
	}
	KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
	return status;
}
