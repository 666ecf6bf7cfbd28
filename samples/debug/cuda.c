// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda.c - the kernels of a job on a GPU.
 *
 * Fills and copies only, which need no compiler for kernels; the driver is
 * found at run time, where libslabdev finds it, and declared as far as it is
 * used here, so that the sample builds without CUDA.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

typedef unsigned long long address_t;	/* on the device */

/* X(what it is called here, its name in the driver, its arguments) */
#define FUNCTIONS(X)							\
	X(init, cuInit, (unsigned int flags))				\
	X(device_get, cuDeviceGet, (int *device, int ordinal))		\
	X(retain, cuDevicePrimaryCtxRetain, (void **ctx, int device))	\
	X(set_current, cuCtxSetCurrent, (void *ctx))			\
	X(synchronize, cuCtxSynchronize, (void))			\
	X(fill, cuMemsetD8_v2, (address_t to, unsigned char value,	\
				size_t n))				\
	X(fetch, cuMemcpyDtoH_v2, (void *to, address_t from, size_t n))

#define MEMBER(name, symbol, args) int (*name) args;
static struct {
	FUNCTIONS(MEMBER)
} cu;

static char error[128];

const char *device_error(void)
{
	return *error ? error : slabdev_last_error();
}

/* What a call of the driver returned. */
static int check(int result, const char *call)
{
	if (!result)
		return 0;
	snprintf(error, sizeof(error), "%s: error %d of the driver", call,
		 result);
	return -1;
}

#define CALL(name, ...) check(cu.name(__VA_ARGS__), #name)

static int find(void *lib, const char *symbol, void *to)
{
	void *fn = dlsym(lib, symbol);

	if (!fn) {
		snprintf(error, sizeof(error), "the driver has no %s", symbol);
		return -1;
	}
	memcpy(to, &fn, sizeof(fn));
	return 0;
}

static int load(void)
{
	const char *path = getenv("SLABDEV_LIBCUDA");
	void *lib = dlopen(path ? path : "libcuda.so.1", RTLD_NOW);

	if (!lib) {
		snprintf(error, sizeof(error), "there is no CUDA driver");
		return -1;
	}
#define FIND(name, symbol, args)					\
	if (find(lib, #symbol, &cu.name))				\
		return -1;
	FUNCTIONS(FIND)
	return 0;
}

/* Has this build of the library memory of a GPU? Else it says what is missing,
 * and there is no use in a driver. */
static int check_build(const char *spec)
{
	struct slabdev *sd;
	int err = slabdev_open(&sd, spec, NULL);

	if (!err)
		return slabdev_close(sd, 0);
	return err == -ENOTSUP ? err : 0;
}

static int open_cuda(const char *spec)
{
	int ordinal, device;
	void *ctx;

	if (sscanf(spec, "cuda:%d", &ordinal) != 1) {
		snprintf(error, sizeof(error), "'%.32s' is not cuda:NUMBER",
			 spec);
		return -1;
	}
	if (check_build(spec) || load() || CALL(init, 0) ||
	    CALL(device_get, &device, ordinal) || CALL(retain, &ctx, device))
		return -1;
	return CALL(set_current, ctx);
}

static int fill(void *to, unsigned char value, size_t n)
{
	if (CALL(fill, (uintptr_t)to, value, n))
		return -1;
	return CALL(synchronize);
}

static int fetch(void *to, const void *from, size_t n)
{
	return CALL(fetch, to, (uintptr_t)from, n);
}

const struct device cuda_device = {
	.open = open_cuda,
	.fill = fill,
	.fetch = fetch,
};
