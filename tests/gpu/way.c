// SPDX-License-Identifier: BSD-2-Clause
/*
 * way.c - libslabdev over each backing, and the driver's own calls: see
 * retention.h.
 */
#include <stdio.h>
#include <string.h>

#include <slabdev/slabdev.h>

#include "tests/gpu/retention.h"

static u64 nr_waits;		/* for memory of the driver's pool */

u64 way_pool_waits(void)
{
	return nr_waits;
}

u64 way_driver_calls(void)
{
	static const char *const names[] = {
		"cuMemCreate", "cuMemRelease", "cuMemMap", "cuMemUnmap",
		"cuMemSetAccess", "cuMemAddressReserve", "cuMemAddressFree",
		"cuMemAlloc_v2", "cuMemFree_v2", "cuMemAllocAsync",
		"cuMemAllocFromPoolAsync", "cuMemFreeAsync", "cuMemPoolTrimTo",
	};
	u64 sum = 0;

	for (size_t i = 0; gpu.is_model && i < ARRAY_SIZE(names); i++)
		sum += gpu.model_calls(names[i]);
	return sum;
}

static inline void *pointer(CUdeviceptr ptr)
{
	return (void *)(uintptr_t)ptr;
}

/* ---- libslabdev ----------------------------------------------------- */

static struct slabdev *space;
static CUstream bound;

/* In a replay the device is behind until the program waits for it: or else
 * what goes back would depend on how fast the model's thread is. */
static void hold_bound(void)
{
	if (gpu.is_model)
		gpu.model_stream_hold(bound);
}

static void release_bound(void)
{
	if (gpu.is_model)
		gpu.model_stream_release(bound);
}

struct slabdev *way_space(void)
{
	return space;
}

static int said(const char *what)
{
	fprintf(stderr, "retention: %s: %s\n", what, slabdev_last_error());
	return -1;
}

static struct slabdev_policy policy_of(const struct setup *s, u64 loop)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;

	policy.mode = setup_policy(s, loop);
	policy.keep_bytes = s->keep;
	policy.flags = s->waits ? SLABDEV_POLICY_STREAM_WAITS : 0;
	return policy;
}

void way_set_policy(const struct setup *s, u64 loop)
{
	struct slabdev_policy policy = policy_of(s, loop);

	if (space && slabdev_set_policy(space, &policy))
		said("slabdev_set_policy");
}

static void close_space(void)
{
	if (space && slabdev_close(space, 0))
		said("slabdev_close");
	space = NULL;
	release_bound();
	GPU_MUST(cuStreamDestroy(bound));
}

static int open_backing(const struct setup *s, u32 backing)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	GPU_MUST(cuStreamCreate(&bound, CU_STREAM_NON_BLOCKING));
	attr.stream = bound;
	attr.backing = backing;
	attr.limit = s->limit;
	attr.pending_bytes = s->pending;
	attr.pool_threshold = s->threshold;
	attr.policy = policy_of(s, 0);
	if (slabdev_open(&space, "cuda:0", &attr)) {
		said("cuda:0");
		goto close;
	}
	if (s->prime && slabdev_prime(space, s->prime)) {
		said("--prime");
		goto close;
	}
	if (s->nr_paths)
		hold_bound();
	return 0;

close:
	close_space();
	return -1;
}

static int vmm_open(const struct setup *s)
{
	return open_backing(s, SLABDEV_BACKING_VMM);
}

static int regions_of_pool_open(const struct setup *s)
{
	return open_backing(s, SLABDEV_BACKING_POOL);
}

static int regions_open(const struct setup *s)
{
	return open_backing(s, SLABDEV_BACKING_MALLOC);
}

static CUdeviceptr space_alloc(u64 size, CUstream stream)
{
	void *p = stream ? slabdev_alloc_async(space, size, stream) :
			   slabdev_alloc(space, size);

	return (CUdeviceptr)(uintptr_t)p;
}

static void space_release(CUdeviceptr ptr, CUstream stream)
{
	if (stream)
		slabdev_free_async(space, pointer(ptr), stream);
	else
		slabdev_free(space, pointer(ptr));
}

static void space_attach(CUstream stream)
{
	if (slabdev_stream_attach(space, stream))
		said("slabdev_stream_attach");
}

static void space_detach(CUstream stream)
{
	slabdev_stream_detach(space, stream);
}

/* What fell idle waits for an event, which the first poll records, or, where
 * one is under way, the second. */
static void space_pause(void)
{
	for (int i = 0; i < 2; i++) {
		slabdev_poll(space);
		release_bound();
		GPU_MUST(cuCtxSynchronize());
		hold_bound();
	}
	slabdev_poll(space);
}

/* Regions are taken whole; elsewhere reserved addresses take nothing. */
static u64 regions_taken(void)
{
	struct slabdev_stats st = { .reserved = 0 };

	slabdev_stats(space, &st, sizeof(st));
	return st.reserved;
}

static u64 vmm_taken(void)
{
	struct slabdev_stats st = { .mapped = 0 };

	slabdev_stats(space, &st, sizeof(st));
	return st.mapped;
}

/* ---- The driver's ---------------------------------------------------- */

static void no_stream(CUstream stream)
{
	(void)stream;
}

static void driver_pause(void)
{
	GPU_MUST(cuCtxSynchronize());
}

static CUmemoryPool pool, before;

static void set_pool(const struct setup *s)
{
	CUmemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = gpu_prop().location,
		.maxSize = s->limit ? s->limit : gpu.total_bytes,
	};
	cuuint64_t keep = s->threshold;

	GPU_MUST(cuDeviceGetMemPool(&before, 0));
	GPU_MUST(cuMemPoolCreate(&pool, &props));
	GPU_MUST(cuMemPoolSetAttribute(pool,
			CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
	GPU_MUST(cuDeviceSetMemPool(0, pool));
}

static int pool_open(const struct setup *s)
{
	CUdeviceptr ptr;

	if (!gpu.has_pools || !gpu.cuDeviceSetMemPool) {
		fputs("retention: the device has no memory pools\n", stderr);
		return -1;
	}
	set_pool(s);
	if (s->prime) {
		GPU_MUST(cuMemAllocAsync(&ptr, s->prime, NULL));
		GPU_MUST(cuMemFreeAsync(ptr, NULL));
		driver_pause();
	}
	return 0;
}

/* What a program has to do when a pool is full: wait, and try once more. */
static CUdeviceptr pool_alloc(u64 size, CUstream stream)
{
	CUdeviceptr ptr;

	if (!gpu.cuMemAllocAsync(&ptr, size, stream))
		return ptr;
	nr_waits++;
	driver_pause();
	return gpu.cuMemAllocAsync(&ptr, size, stream) ? 0 : ptr;
}

static void pool_release(CUdeviceptr ptr, CUstream stream)
{
	GPU_MUST(cuMemFreeAsync(ptr, stream));
}

static u64 pool_taken(void)
{
	cuuint64_t bytes = 0;

	GPU_MUST(cuMemPoolGetAttribute(pool,
			CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &bytes));
	return bytes;
}

static void pool_close(void)
{
	driver_pause();
	GPU_MUST(cuDeviceSetMemPool(0, before));
	GPU_MUST(cuMemPoolDestroy(pool));
}

static int classic_open(const struct setup *s)
{
	if (!s->prime && !s->threshold && !s->limit)
		return 0;
	fputs("retention: driver-malloc has nothing to prime, keep, or limit\n",
	      stderr);
	return -1;
}

static u64 classic_bytes;

static CUdeviceptr classic_alloc(u64 size, CUstream stream)
{
	CUdeviceptr ptr;

	(void)stream;
	if (gpu.cuMemAlloc(&ptr, size))
		return 0;
	classic_bytes += size;
	return ptr;
}

static void classic_release(CUdeviceptr ptr, CUstream stream)
{
	size_t size;

	(void)stream;
	/* Freed at once, it might still be in use. */
	driver_pause();
	GPU_MUST(cuMemGetAddressRange(NULL, &size, ptr));
	classic_bytes -= size;
	GPU_MUST(cuMemFree(ptr));
}

static u64 classic_taken(void)
{
	return classic_bytes;
}

static void nothing(void)
{
}

/* ---- All -------------------------------------------------------------- */

#define SPACE_WAY(name, open, taken) {					\
	name, open, space_alloc, space_release, space_attach,		\
	space_detach, space_pause, taken, close_space			\
}

static const struct way ways[] = {
	SPACE_WAY("vmm", vmm_open, vmm_taken),
	SPACE_WAY("pool", regions_of_pool_open, regions_taken),
	SPACE_WAY("malloc", regions_open, regions_taken),
	{ "driver-pool", pool_open, pool_alloc, pool_release, no_stream,
	  no_stream, driver_pause, pool_taken, pool_close },
	{ "driver-malloc", classic_open, classic_alloc, classic_release,
	  no_stream, no_stream, driver_pause, classic_taken, nothing },
};

const struct way *way_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		if (!strcmp(ways[i].name, name))
			return &ways[i];
	return NULL;
}
