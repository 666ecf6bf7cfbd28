// SPDX-License-Identifier: BSD-2-Clause
/*
 * other.c - another process that uses the driver.
 *
 * other LIBRARY import FD: prints the first number of the memory that the
 * descriptor stands for, and adds one to it there.
 * other LIBRARY exit: prints what Unmap and Release return in an exit handler
 * that was registered before cuInit.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vmm/cuda_abi.h"

#define REQUIRE(call)							\
	do {								\
		int code_ = (int)(call);				\
									\
		if (code_) {						\
			printf("%s: %d\n", #call, code_);		\
			exit(2);					\
		}							\
	} while (0)

static struct {
#define FIELD(need, base, suffix, version, args, names) cuda_pfn_##base base;
	SLABDEV_CUDA_FUNCS(FIELD)
} cu;

static size_t granularity;
static CUdeviceptr ptr;
static CUmemGenericAllocationHandle handle;

static void load(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!lib) {
		printf("%s\n", dlerror());
		exit(2);
	}
#define FIND(need, base, suffix, version, args, names) \
	*(void **)&cu.base = dlsym(lib, #base #suffix);
	SLABDEV_CUDA_FUNCS(FIND)
}

static void start(const CUmemAllocationProp *prop)
{
	CUcontext ctx;

	REQUIRE(cu.cuInit(0));
	REQUIRE(cu.cuDevicePrimaryCtxRetain(&ctx, 0));
	REQUIRE(cu.cuCtxPushCurrent(ctx));
	REQUIRE(cu.cuMemGetAllocationGranularity(&granularity, prop, 0));
}

static void map(const CUmemLocation *where)
{
	const CUmemAccessDesc rw = {
		*where, CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
	};

	REQUIRE(cu.cuMemAddressReserve(&ptr, granularity, 0, 0, 0));
	REQUIRE(cu.cuMemMap(ptr, granularity, 0, handle, 0));
	REQUIRE(cu.cuMemSetAccess(ptr, granularity, &rw, 1));
}

static void import_memory(void *fd, const CUmemAllocationProp *prop)
{
	uint32_t value;

	start(prop);
	REQUIRE(cu.cuMemImportFromShareableHandle(&handle, fd,
			CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	map(&prop->location);
	REQUIRE(cu.cuMemcpyDtoH(&value, ptr, sizeof(value)));
	printf("%u\n", value);
	value++;
	REQUIRE(cu.cuMemcpyHtoD(ptr, &value, sizeof(value)));
	REQUIRE(cu.cuCtxSynchronize());
	REQUIRE(cu.cuMemUnmap(ptr, granularity));
	REQUIRE(cu.cuMemRelease(handle));
	REQUIRE(cu.cuMemAddressFree(ptr, granularity));
	REQUIRE(cu.cuDevicePrimaryCtxRelease(0));
}

static void free_at_exit(void)
{
	int unmap = (int)cu.cuMemUnmap(ptr, granularity);

	printf("%d %d\n", unmap, (int)cu.cuMemRelease(handle));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
	};

	if (argc < 3)
		return 2;
	load(argv[1]);
	if (!strcmp(argv[2], "import") && argc == 4) {
		import_memory((void *)(intptr_t)atoi(argv[3]), &prop);
		return 0;
	}
	if (strcmp(argv[2], "exit"))
		return 2;
	atexit(free_at_exit);
	start(&prop);
	REQUIRE(cu.cuMemCreate(&handle, granularity, &prop, 0));
	map(&prop.location);
	return 0;
}
