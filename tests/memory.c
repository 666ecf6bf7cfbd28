// SPDX-License-Identifier: BSD-2-Clause
/* memory.c - see memory.h. */
#include "tests/memory.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slab/slab.h"
#include "tests/kunit/kunit.h"
#include "vmm/cuda_abi.h"

static bool is_device(const char *spec)
{
	return !strncmp(spec, "cuda:", 5);
}

bool mem_is_reachable(const struct slabdev *sd)
{
	return !is_device(sd->spec);
}

bool mem_is_cheap(void)
{
	return !is_device(test_spec());
}

/* ---- The driver ------------------------------------------------------- */

/* What the library has opened a space with; loaded already. */
static struct driver {
	cuda_pfn_cuPointerGetAttribute cuPointerGetAttribute;
	cuda_pfn_cuDevicePrimaryCtxRetain cuDevicePrimaryCtxRetain;
	cuda_pfn_cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease;
	cuda_pfn_cuCtxPushCurrent cuCtxPushCurrent;
	cuda_pfn_cuCtxPopCurrent cuCtxPopCurrent;
	cuda_pfn_cuCtxSynchronize cuCtxSynchronize;
	cuda_pfn_cuMemsetD8 cuMemsetD8;
	cuda_pfn_cuMemcpyHtoD cuMemcpyHtoD;
	cuda_pfn_cuMemcpyDtoH cuMemcpyDtoH;
} cu;

static void must(const char *what, CUresult ret)
{
	if (!ret)
		return;
	fprintf(stderr, "tests/memory.c: %s: %d\n", what, (int)ret);
	abort();
}

#define MUST(name, ...) must(#name, cu.name(__VA_ARGS__))

static void load(void)
{
	const char *path = getenv("SLABDEV_LIBCUDA");
	void *lib = dlopen(path && *path ? path : "libcuda.so.1",
			   RTLD_NOW | RTLD_LOCAL);

#define FIND(name, suffix)						\
	do {								\
		*(void **)&cu.name = lib ? dlsym(lib, #name suffix) : NULL; \
		must("no " #name, cu.name ? 0 : CUDA_ERROR_NOT_FOUND);	\
	} while (0)
	FIND(cuPointerGetAttribute, "");
	FIND(cuDevicePrimaryCtxRetain, "");
	FIND(cuDevicePrimaryCtxRelease, "_v2");
	FIND(cuCtxPushCurrent, "_v2");
	FIND(cuCtxPopCurrent, "_v2");
	FIND(cuCtxSynchronize, "");
	FIND(cuMemsetD8, "_v2");
	FIND(cuMemcpyHtoD, "_v2");
	FIND(cuMemcpyDtoH, "_v2");
#undef FIND
}

/* With the primary context of the memory's device, which its space has. */
static CUdevice enter(const void *p)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	CUcontext ctx;
	int ordinal;

	pthread_once(&once, load);
	MUST(cuPointerGetAttribute, &ordinal,
	     CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, (CUdeviceptr)(uintptr_t)p);
	MUST(cuDevicePrimaryCtxRetain, &ctx, ordinal);
	MUST(cuCtxPushCurrent, ctx);
	return ordinal;
}

static void leave(CUdevice dev)
{
	CUcontext ctx;

	MUST(cuCtxPopCurrent, &ctx);
	MUST(cuDevicePrimaryCtxRelease, dev);
}

static CUdeviceptr device_address(const void *p)
{
	return (CUdeviceptr)(uintptr_t)p;
}

/* ---- Bytes ------------------------------------------------------------ */

void mem_fill(const struct slabdev *sd, void *p, size_t size, int byte)
{
	CUdevice dev;

	if (!size)
		return;
	if (mem_is_reachable(sd)) {
		memset(p, byte, size);
		return;
	}
	dev = enter(p);
	MUST(cuMemsetD8, device_address(p), (unsigned char)byte, size);
	MUST(cuCtxSynchronize, );
	leave(dev);
}

void mem_write(const struct slabdev *sd, void *p, const void *from,
	       size_t size)
{
	CUdevice dev;

	if (!size)
		return;
	if (mem_is_reachable(sd)) {
		memcpy(p, from, size);
		return;
	}
	dev = enter(p);
	MUST(cuMemcpyHtoD, device_address(p), from, size);
	MUST(cuCtxSynchronize, );
	leave(dev);
}

void mem_read(const struct slabdev *sd, void *to, const void *p, size_t size)
{
	CUdevice dev;

	if (!size)
		return;
	if (mem_is_reachable(sd)) {
		memcpy(to, p, size);
		return;
	}
	dev = enter(p);
	MUST(cuMemcpyDtoH, to, device_address(p), size);
	leave(dev);
}

static bool all_are(const unsigned char *c, size_t size, int byte)
{
	return !size || (c[0] == (unsigned char)byte &&
			 !memcmp(c, c + 1, size - 1));
}

bool mem_is(const struct slabdev *sd, const void *p, size_t size, int byte)
{
	unsigned char part[64 * KIB];
	const char *at = p;
	size_t n;

	if (mem_is_reachable(sd))
		return all_are(p, size, byte);
	for (; size; size -= n, at += n) {
		n = min(size, sizeof(part));
		mem_read(sd, part, at, n);
		if (!all_are(part, n, byte))
			return false;
	}
	return true;
}
