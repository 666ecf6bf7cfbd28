// SPDX-License-Identifier: BSD-2-Clause
/* driver.c - finds the driver and its first device, see driver.h. */
#include "tests/gpu/driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/clock.h"

struct gpu gpu;

static const char *error_text(CUresult code)
{
	const char *name = NULL;

	if (!gpu.cuGetErrorName || gpu.cuGetErrorName(code, &name) || !name)
		return "an unknown error";
	return name;
}

const char *gpu_error(CUresult code)
{
	static char text[80];

	snprintf(text, sizeof(text), "%d %s", (int)code, error_text(code));
	return text;
}

void gpu_must(const char *call, CUresult code)
{
	if (!code)
		return;
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, call,
		gpu_error(code));
	exit(1);
}

/* ---- The library ---------------------------------------------------- */

#define FIND_FUNCTION(need, base, suffix, version, args, names) \
	*(void **)&gpu.base = dlsym(lib, #base #suffix);
#define FIND_CONTROL(name, type, args) *(void **)&gpu.name = dlsym(lib, #name);
#define MISSING_FUNCTION(need, base, suffix, version, args, names) \
	if (#need[0] == 'E' && !gpu.base) \
		return #base #suffix;

static const char *missing_function(void)
{
	SLABDEV_CUDA_FUNCS(MISSING_FUNCTION)
	return NULL;
}

/* It stays: a driver that ran does not survive dlclose(). */
static bool load(char *why, size_t len)
{
	const char *path = getenv("SLABDEV_LIBCUDA"), *missing;
	void *lib;

	if (!path || !*path)
		path = "libcuda.so.1";
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		snprintf(why, len, "no driver: %s", dlerror());
		return false;
	}
	SLABDEV_CUDA_FUNCS(FIND_FUNCTION)
	MODEL_CONTROLS(FIND_CONTROL)
	missing = missing_function();
	if (missing)
		snprintf(why, len, "%s has no %s: it is too old, or no driver",
			 path, missing);
	gpu.is_model = gpu.model_reset;
	return !missing;
}

/* ---- The device ----------------------------------------------------- */

static int attribute(CUdevice_attribute what)
{
	int value = 0;

	/* One that the driver does not know is a feature that it lacks. */
	if (gpu.cuDeviceGetAttribute(&value, what, 0))
		return 0;
	return value;
}

CUmemAllocationProp gpu_prop(void)
{
	CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
	};

	return prop;
}

CUmemAccessDesc gpu_access(void)
{
	CUmemAccessDesc access = {
		gpu_prop().location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
	};

	return access;
}

static void ask_device(void)
{
	CUmemAllocationProp prop = gpu_prop();
	size_t total = 0;

	GPU_MUST(cuDriverGetVersion(&gpu.version));
	GPU_MUST(cuDeviceGetName(gpu.name, sizeof(gpu.name), 0));
	GPU_MUST(cuDeviceTotalMem(&total, 0));
	gpu.total_bytes = total;
	gpu.compute_major = attribute(
			CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
	gpu.compute_minor = attribute(
			CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
	gpu.is_exclusive = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE) ==
			   CU_COMPUTEMODE_EXCLUSIVE_PROCESS;
	gpu.has_pools = attribute(
			CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) &&
			gpu.cuMemAllocAsync && gpu.cuMemPoolTrimTo;
	gpu.has_vmm = attribute(
		CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
	if (gpu.has_vmm)
		GPU_MUST(cuMemGetAllocationGranularity(&gpu.granularity,
				&prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
}

bool gpu_open(char *why, size_t len)
{
	CUcontext ctx = NULL;
	int count = 0;
	CUresult ret;

	if (!load(why, len))
		return false;
	ret = gpu.cuInit(0);
	if (ret == CUDA_ERROR_STUB_LIBRARY) {
		snprintf(why, len, "no driver: this is the toolkit's stub");
		return false;
	}
	if (!ret)
		ret = gpu.cuDeviceGetCount(&count);
	if (!ret && !count)
		ret = CUDA_ERROR_NO_DEVICE;
	if (!ret)
		ret = gpu.cuDevicePrimaryCtxRetain(&ctx, 0);
	if (!ret)
		ret = gpu.cuCtxPushCurrent(ctx);
	if (ret) {
		snprintf(why, len, "no device can be used: %s",
			 gpu_error(ret));
		return false;
	}
	ask_device();
	return true;
}

void gpu_close(void)
{
	CUcontext ctx;

	GPU_MUST(cuCtxPopCurrent(&ctx));
	GPU_MUST(cuDevicePrimaryCtxRelease(0));
}

u64 gpu_clock_ns(void)
{
	return gpu.is_model ? gpu.model_clock_ns() : now_ns();
}

u64 gpu_free_bytes(void)
{
	size_t unused = 0, total;

	GPU_MUST(cuMemGetInfo(&unused, &total));
	return unused;
}
