// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda.c - the pipeline's work on a GPU.
 *
 * Fills and copies only, which need no compiler for kernels; the driver is
 * found at run time, where libslabdev finds it, and declared as far as it is
 * used here, so that the sample builds without CUDA.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"

#define NON_BLOCKING 1
#define DISABLE_TIMING 2

typedef struct CUevent_st *event_t;
typedef unsigned long long address_t;	/* on the device */

/* X(what it is called here, its name in the driver, its arguments) */
#define FUNCTIONS(X)							\
	X(init, cuInit, (unsigned int flags))				\
	X(device_get, cuDeviceGet, (int *device, int ordinal))		\
	X(retain, cuDevicePrimaryCtxRetain, (void **ctx, int device))	\
	X(set_current, cuCtxSetCurrent, (void *ctx))			\
	X(stream_create, cuStreamCreate,				\
	  (slabdev_stream_t *stream, unsigned int flags))		\
	X(stream_destroy, cuStreamDestroy_v2, (slabdev_stream_t stream)) \
	X(stream_sync, cuStreamSynchronize, (slabdev_stream_t stream))	\
	X(stream_wait, cuStreamWaitEvent,				\
	  (slabdev_stream_t stream, event_t event, unsigned int flags))	\
	X(event_create, cuEventCreate, (event_t *event, unsigned int flags)) \
	X(event_record, cuEventRecord,					\
	  (event_t event, slabdev_stream_t stream))			\
	X(event_destroy, cuEventDestroy_v2, (event_t event))		\
	X(fill, cuMemsetD32Async, (address_t to, unsigned int value,	\
				   size_t n, slabdev_stream_t stream))	\
	X(copy, cuMemcpyDtoDAsync_v2, (address_t to, address_t from,	\
				       size_t bytes,			\
				       slabdev_stream_t stream))	\
	X(fetch, cuMemcpyDtoHAsync_v2, (void *to, address_t from,	\
					size_t bytes,			\
					slabdev_stream_t stream))

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

static int open_cuda(const char *spec)
{
	int ordinal, device;
	void *ctx;

	if (sscanf(spec, "cuda:%d", &ordinal) != 1) {
		snprintf(error, sizeof(error), "'%.32s' is not cuda:NUMBER",
			 spec);
		return -1;
	}
	if (load() || CALL(init, 0) || CALL(device_get, &device, ordinal) ||
	    CALL(retain, &ctx, device))
		return -1;
	return CALL(set_current, ctx);
}

static int create(slabdev_stream_t *stream, bool by_hand)
{
	(void)by_hand;
	return CALL(stream_create, stream, NON_BLOCKING);
}

static int destroy(slabdev_stream_t stream)
{
	return CALL(stream_destroy, stream);
}

/* The event may go at once: the streams keep what they need of it. */
static int order(slabdev_stream_t later, slabdev_stream_t earlier)
{
	event_t event;

	if (CALL(event_create, &event, DISABLE_TIMING))
		return -1;
	if (CALL(event_record, event, earlier) ||
	    CALL(stream_wait, later, event, 0))
		return -1;
	slabdev_hazard_record((uintptr_t)event, earlier);
	slabdev_hazard_wait(later, (uintptr_t)event);
	return CALL(event_destroy, event);
}

static int synchronize(slabdev_stream_t stream)
{
	if (CALL(stream_sync, stream))
		return -1;
	slabdev_hazard_sync(stream);
	return 0;
}

static int run(slabdev_stream_t stream)
{
	return CALL(stream_sync, stream);
}

static address_t on_device(const void *p)
{
	return (uintptr_t)p;
}

static int upload(slabdev_stream_t stream, struct step *s)
{
	return CALL(fill, on_device(s->in), s->number, COUNT, stream);
}

static int compute(slabdev_stream_t stream, struct step *s)
{
	return CALL(copy, on_device(s->out), on_device(s->in), BYTES, stream);
}

static int download(slabdev_stream_t stream, struct step *s)
{
	return CALL(fetch, s->result, on_device(s->out), BYTES, stream);
}

const struct device cuda_device = {
	.open = open_cuda,
	.create = create,
	.destroy = destroy,
	.order = order,
	.synchronize = synchronize,
	.run = run,
	.work = { upload, compute, download },
};
