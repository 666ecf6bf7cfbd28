// SPDX-License-Identifier: BSD-2-Clause
/*
 * driver.c - a GPU as far as the driver alone can use it
 *
 * The driver is found at run time, where libslabdev finds it, and declared as
 * far as it is used here, so that the sample builds without CUDA.
 *
 * All work goes into one stream, which the space of the blocks is bound to:
 * work is done in the order in which it was submitted, whatever threads did
 * that, and what is freed is used again in that order. A thread that makes work
 * for another has handed it over by way of pool.c, and so submitted before.
 *
 * Failures are kept here for the whole device: the first one, in words.
 */
#include "driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NON_BLOCKING 1

typedef unsigned long long address_t;	/* on the device */

/* X(what it is called here, its name in the driver, its arguments) */
#define FUNCTIONS(X)							\
	X(init, cuInit, (unsigned int flags))				\
	X(device_get, cuDeviceGet, (int *device, int ordinal))		\
	X(retain, cuDevicePrimaryCtxRetain, (void **ctx, int device))	\
	X(release, cuDevicePrimaryCtxRelease_v2, (int device))		\
	X(set_current, cuCtxSetCurrent, (void *ctx))			\
	X(stream_create, cuStreamCreate,				\
	  (slabdev_stream_t *stream, unsigned int flags))		\
	X(stream_destroy, cuStreamDestroy_v2, (slabdev_stream_t stream)) \
	X(stream_sync, cuStreamSynchronize, (slabdev_stream_t stream))	\
	X(fill, cuMemsetD32Async, (address_t to, unsigned int value,	\
				   size_t n, slabdev_stream_t stream))	\
	X(copy, cuMemcpyDtoDAsync_v2, (address_t to, address_t from,	\
				       size_t bytes,			\
				       slabdev_stream_t stream))	\
	X(read, cuMemcpyDtoHAsync_v2, (void *to, address_t from,	\
				       size_t bytes,			\
				       slabdev_stream_t stream))	\
	X(write, cuMemcpyHtoDAsync_v2, (address_t to, const void *from,	\
					size_t bytes,			\
					slabdev_stream_t stream))

#define MEMBER(name, symbol, args) int (*name) args;
static struct {
	FUNCTIONS(MEMBER)
} cu;

static int device;
static void *context;
static slabdev_stream_t stream;
static _Atomic uint64_t nr_reads, read_bytes, nr_writes, written_bytes;

static pthread_mutex_t error_lock = PTHREAD_MUTEX_INITIALIZER;
static char error[448];			/* Locking: error_lock */

const char *driver_error(void)
{
	return error;
}

void driver_failed(const char *format, ...)
{
	va_list args;

	pthread_mutex_lock(&error_lock);
	if (!*error) {
		va_start(args, format);
		vsnprintf(error, sizeof(error), format, args);
		va_end(args);
	}
	pthread_mutex_unlock(&error_lock);
}

/* What a call of the driver returned. */
static int check(int result, const char *call)
{
	if (!result)
		return 0;
	driver_failed("%s: error %d of the driver", call, result);
	return -EIO;
}

#define CALL(name, ...) check(cu.name(__VA_ARGS__), #name)

int driver_find(void *lib, const char *symbol, void *fn)
{
	void *p = dlsym(lib, symbol);

	if (!p)
		return -ENOSYS;
	memcpy(fn, &p, sizeof(p));
	return 0;
}

static int load(void)
{
	const char *path = getenv("SLABDEV_LIBCUDA");
	void *lib = dlopen(path ? path : "libcuda.so.1", RTLD_NOW);

	if (!lib) {
		driver_failed("there is no CUDA driver: %s", dlerror());
		return -ENODEV;
	}
#define FIND(name, symbol, args)					\
	if (driver_find(lib, #symbol, &cu.name)) {			\
		driver_failed("the CUDA driver has no " #symbol "()");	\
		return -ENOTSUP;					\
	}
	FUNCTIONS(FIND)
	return 0;
}

int driver_open(const char *spec)
{
	char rest;
	int ordinal, err;

	error[0] = '\0';
	nr_reads = read_bytes = nr_writes = written_bytes = 0;
	if (sscanf(spec, "cuda:%d%c", &ordinal, &rest) != 1) {
		driver_failed("want cuda:NUMBER to compute on, not \"%.64s\"",
			    spec);
		return -EINVAL;
	}
	err = load();
	if (err)
		return err;
	if (CALL(init, 0))
		return -ENODEV;
	if (cu.device_get(&device, ordinal)) {
		driver_failed("the driver has no device %d", ordinal);
		return -ENODEV;
	}
	if (CALL(retain, &context, device))
		return -EIO;
	if (CALL(set_current, context) ||
	    CALL(stream_create, &stream, NON_BLOCKING)) {
		cu.release(device);
		return -EIO;
	}
	return 0;
}

void driver_close(void)
{
	CALL(stream_sync, stream);
	CALL(stream_destroy, stream);
	CALL(set_current, NULL);
	CALL(release, device);
}

slabdev_stream_t driver_stream(void)
{
	return stream;
}

void driver_enter(void)
{
	CALL(set_current, context);
}

static address_t on_device(const void *p)
{
	return (uintptr_t)p;
}

void driver_zero(void *p, size_t bytes)
{
	driver_enter();
	CALL(fill, on_device(p), 0, bytes / sizeof(uint32_t), stream);
}

void driver_copy(void *to, const void *from, size_t bytes)
{
	driver_enter();
	CALL(copy, on_device(to), on_device(from), bytes, stream);
}

void driver_read(void *to, const void *from, size_t bytes)
{
	driver_enter();
	CALL(read, to, on_device(from), bytes, stream);
	CALL(stream_sync, stream);
	nr_reads++;
	read_bytes += bytes;
}

void driver_write(void *to, const void *from, size_t bytes)
{
	driver_enter();
	CALL(write, on_device(to), from, bytes, stream);
	CALL(stream_sync, stream);
	nr_writes++;
	written_bytes += bytes;
}

void driver_counts(struct device_counts *c)
{
	*c = (struct device_counts){
		.reads = nr_reads, .read_bytes = read_bytes,
		.writes = nr_writes, .written_bytes = written_bytes,
	};
}
