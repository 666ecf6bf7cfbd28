// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_region.c - memory that comes with its addresses, a region at a time.
 *
 * Four kinds of memory cannot be mapped piece by piece: what cuMemAlloc() and a
 * stream-ordered pool give, pinned memory of this machine, and managed memory.
 * A reservation is then an allocation (ops->backed), and the operations between
 * reserving and unreserving only number handles. What is lost with them:
 * regions do not merge, a request that spans two cannot be met, and memory goes
 * back a region at a time.
 *
 * The pool is the space's own, so that its settings are nobody else's. Its
 * largest size is set to the device's memory, for a pool without one takes
 * addresses for twice that. An allocation is waited for, since any stream may
 * use the region; a free is not, since struct vmm has proved that the work in
 * the region is done.
 */
#include <errno.h>
#include <stdio.h>

#include "core/checker.h"
#include "core/os.h"
#include "vmm/cuda_dev.h"

/* CUDA 12.2 gave a pool a largest size. */
#define POOL_MAX_SIZE_VERSION 12020

/* ---- One allocation of each kind -------------------------------------- */

static int malloc_get(struct cuda_dev *d, u64 size, CUdeviceptr *ptr)
{
	return CUDA_CALL(d, cuMemAlloc, ptr, size);
}

static int malloc_put(struct cuda_dev *d, CUdeviceptr ptr)
{
	return CUDA_FREE(d, cuMemFree, ptr);
}

static int pool_put(struct cuda_dev *d, CUdeviceptr ptr)
{
	return CUDA_FREE(d, cuMemFreeAsync, ptr, d->own);
}

static int pool_get(struct cuda_dev *d, u64 size, CUdeviceptr *ptr)
{
	int err = CUDA_CALL(d, cuMemAllocFromPoolAsync, ptr, size, d->pool,
			    d->own);

	if (err)
		return err;
	err = CUDA_CALL(d, cuStreamSynchronize, d->own);
	if (err)
		(void)pool_put(d, *ptr);
	return err;
}

static int pinned_get(struct cuda_dev *d, u64 size, CUdeviceptr *ptr)
{
	void *p = NULL;
	int err = CUDA_CALL(d, cuMemHostAlloc, &p, size,
			    CU_MEMHOSTALLOC_PORTABLE |
			    CU_MEMHOSTALLOC_DEVICEMAP);

	*ptr = (CUdeviceptr)(uintptr_t)p;
	return err;
}

static int pinned_put(struct cuda_dev *d, CUdeviceptr ptr)
{
	return CUDA_FREE(d, cuMemFreeHost, (void *)(uintptr_t)ptr);
}

static int managed_get(struct cuda_dev *d, u64 size, CUdeviceptr *ptr)
{
	return CUDA_CALL(d, cuMemAllocManaged, ptr, size,
			 CU_MEM_ATTACH_GLOBAL);
}

/* ---- Regions ---------------------------------------------------------- */

static int region_get(struct cuda_dev *d, u64 size, u64 *addr,
		      int (*get)(struct cuda_dev *d, u64 size,
				 CUdeviceptr *ptr))
{
	CUdeviceptr ptr = 0;
	int err = CUDA_SCOPED(d, get(d, size, &ptr));

	if (!err)
		*addr = ptr;
	return err;
}

static int region_put(struct cuda_dev *d, u64 addr,
		      int (*put)(struct cuda_dev *d, CUdeviceptr ptr))
{
	return CUDA_SCOPED_FREE(d, put(d, addr));
}

#define REGION_OPS(kind, for_cpu, getter, putter)			\
static int kind##_reserve(void *dev, u64 size, u64 align, u64 *addr)	\
{									\
	(void)align;							\
	return region_get(dev, size, addr, getter);			\
}									\
									\
static int kind##_unreserve(void *dev, u64 addr, u64 size)		\
{									\
	if (for_cpu)							\
		checker_forget(addr, size);				\
	return region_put(dev, addr, putter);				\
}

REGION_OPS(malloc, false, malloc_get, malloc_put)
REGION_OPS(pool, false, pool_get, pool_put)
REGION_OPS(pinned, true, pinned_get, pinned_put)
REGION_OPS(managed, true, managed_get, malloc_put)

/* ---- What needs no driver --------------------------------------------- */

static int region_granularity(void *dev, u64 *bytes)
{
	(void)dev;
	*bytes = VMM_MIN_CHUNK;
	return 0;
}

static int region_create(void *dev, u64 size, u64 *handle)
{
	struct cuda_dev *d = dev;

	(void)size;
	*handle = __atomic_add_fetch(&d->next_handle, 1, __ATOMIC_RELAXED);
	return 0;
}

static int region_release(void *dev, u64 handle, u64 size)
{
	(void)dev;
	(void)handle;
	(void)size;
	return 0;
}

static int region_map(void *dev, u64 addr, u64 size, u64 handle)
{
	(void)dev;
	(void)addr;
	(void)size;
	(void)handle;
	return 0;
}

static int region_access(void *dev, u64 addr, u64 size)
{
	(void)addr;
	(void)size;
	/* Nothing is handed out any more once the driver cannot go on. */
	return cuda_health(dev);
}

static int region_unmap(void *dev, u64 addr, u64 size)
{
	(void)dev;
	(void)addr;
	(void)size;
	return 0;
}

/* ---- The pool --------------------------------------------------------- */

static int pool_trim_all(void *dev)
{
	struct cuda_dev *d = dev;
	struct cuda_scope scope;
	int err = cuda_enter(d, &scope);

	if (err)
		return err;
	/* What was freed in the stream goes back only after it has run. */
	err = CUDA_CALL(d, cuStreamSynchronize, d->own);
	if (!err)
		err = CUDA_CALL(d, cuMemPoolTrimTo, d->pool, 0);
	cuda_leave(d, &scope);
	return err;
}

static int make_pool(struct cuda_dev *d, u64 threshold)
{
	CUmemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {
			.type = CU_MEM_LOCATION_TYPE_DEVICE,
			.id = d->device,
		},
	};
	cuuint64_t keep = threshold;
	int err = 0;

	/* Before, these bytes had to be zero. */
	if (d->drv->version >= POOL_MAX_SIZE_VERSION)
		err = CUDA_CALL(d, cuDeviceTotalMem, &props.maxSize,
				d->device);
	if (!err)
		err = CUDA_CALL(d, cuMemPoolCreate, &d->pool, &props);
	if (err)
		return err;
	err = CUDA_CALL(d, cuMemPoolSetAttribute, d->pool,
			CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep);
	if (err)
		(void)CUDA_FREE_AT_LAST(d, cuMemPoolDestroy, d->pool);
	return err;
}

int cuda_pool_init(struct cuda_dev *d, u64 threshold)
{
	int err;

	err = CUDA_CALL(d, cuStreamCreate, &d->own, CU_STREAM_NON_BLOCKING);
	if (err)
		return err;
	err = make_pool(d, threshold);
	if (err) {
		(void)CUDA_FREE_AT_LAST(d, cuStreamDestroy, d->own);
		d->own = NULL;
		d->pool = NULL;
	}
	return err;
}

void cuda_pool_fini(struct cuda_dev *d)
{
	/* The pool lives until what was freed in the stream has gone. */
	(void)CUDA_FREE_AT_LAST(d, cuStreamSynchronize, d->own);
	(void)CUDA_FREE_AT_LAST(d, cuMemPoolDestroy, d->pool);
	(void)CUDA_FREE_AT_LAST(d, cuStreamDestroy, d->own);
}

/* ---- Operations ------------------------------------------------------- */

static int pinned_meminfo(void *dev, u64 *free_bytes, u64 *total_bytes)
{
	(void)dev;
	*free_bytes = os_memory_free();
	*total_bytes = os_memory_total();
	return 0;
}

static void malloc_describe(void *dev, char *buf, size_t len)
{
	(void)dev;
	snprintf(buf, len, "cuMemAlloc");
}

static void pool_describe(void *dev, char *buf, size_t len)
{
	(void)dev;
	snprintf(buf, len, "CUDA pool");
}

static void pinned_describe(void *dev, char *buf, size_t len)
{
	(void)dev;
	snprintf(buf, len, "pinned host memory");
}

static void managed_describe(void *dev, char *buf, size_t len)
{
	(void)dev;
	snprintf(buf, len, "managed memory");
}

/* ---- The ways to it ----------------------------------------------------- */

static void malloc_describe_ways(void *dev, u64 addr, char *buf, size_t len)
{
	(void)dev;
	snprintf(buf, len, "\n  CUDA IPC: yes, by the handle of its region, "
		 "which begins at %#llx\n  RDMA: as all memory of cuMemAlloc",
		 (unsigned long long)addr);
}

static void pool_describe_ways(void *dev, u64 addr, char *buf, size_t len)
{
	(void)dev;
	(void)addr;
	snprintf(buf, len, "\n  CUDA IPC: no, memory of a pool has no legacy "
		 "handle\n  RDMA: no promise for memory of a pool");
}

static void pinned_describe_ways(void *dev, u64 addr, char *buf, size_t len)
{
	(void)dev;
	(void)addr;
	snprintf(buf, len, "\n  CUDA IPC: no, it is memory of the host\n  "
		 "RDMA: as all memory of the host");
}

static void managed_describe_ways(void *dev, u64 addr, char *buf, size_t len)
{
	(void)dev;
	(void)addr;
	snprintf(buf, len, "\n  CUDA IPC: no, managed memory has no legacy "
		 "handle\n  RDMA: no promise for managed memory");
}

#define REGION_TABLE(kind, info)					\
	.backed = true,							\
	.explains = true,						\
	.granularity = region_granularity,				\
	.reserve = kind##_reserve,					\
	.unreserve = kind##_unreserve,					\
	.create = region_create,					\
	.release = region_release,					\
	.map = region_map,						\
	.set_access = region_access,					\
	.unmap = region_unmap,						\
	.meminfo = info,						\
	.describe = kind##_describe,					\
	.describe_ways = kind##_describe_ways,				\
	CUDA_SHARED_OPS

const struct vmm_ops vmm_cuda_malloc_ops = {
	.name = "cuda-malloc",
	.check = cuda_check_ranges,
	REGION_TABLE(malloc, cuda_meminfo),
};

const struct vmm_ops vmm_cuda_pool_ops = {
	.name = "cuda-pool",
	.trim = pool_trim_all,
	.check = cuda_check_ranges,
	REGION_TABLE(pool, cuda_meminfo),
};

const struct vmm_ops vmm_cuda_pinned_ops = {
	.name = "cuda-host",
	.for_cpu = true,
	REGION_TABLE(pinned, pinned_meminfo),
};

const struct vmm_ops vmm_cuda_managed_ops = {
	.name = "cuda-managed",
	.for_cpu = true,
	REGION_TABLE(managed, cuda_meminfo),
};
