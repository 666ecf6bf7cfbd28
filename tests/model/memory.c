// SPDX-License-Identifier: BSD-2-Clause
/*
 * memory.c - memory that comes without mapping: classic, pinned, managed.
 *
 * cuMemFree may wait for the device, and so it must not be relied on: the
 * model does not wait, and what still uses the memory faults.
 */
#include <sys/mman.h>

#include "tests/model/internal.h"

CUresult do_cuMemGetInfo(size_t *free_bytes, size_t *total)
{
	struct device *d = &model.devices[max(context_device(), 0)];
	u64 all = profile_bytes(model.profile, d->ordinal);

	REFUSE_IF(!free_bytes || !total, 0, INVALID_VALUE, "no place for it");
	*free_bytes = all - d->used_bytes;
	*total = broken(27) ? all + GIB : all;
	return CUDA_SUCCESS;
}

/* ---- Of the device -------------------------------------------------- */

CUresult do_cuMemAlloc(CUdeviceptr *out, size_t size)
{
	struct context *ctx = context_current();
	struct part *part;

	REFUSE_IF(!out, 0, INVALID_VALUE, "no place for the address");
	REFUSE_IF(!size, 149, INVALID_VALUE, "the size is 0");
	REFUSE_IF(!ctx, 0, OUT_OF_MEMORY, "broken");
	part = arena_alloc(&ctx->arena, REGION_CLASSIC, ctx->device,
			   max(size, (size_t)1));
	if (!part)
		return refuse(0, CUDA_ERROR_OUT_OF_MEMORY,
			      "less than that is free");
	part->ctx = ctx;
	*out = part->span.start;
	thread_self()->cost_bytes = size;
	return CUDA_SUCCESS;
}

static void free_managed(struct part *part)
{
	struct region *region = part->region;

	munmap((void *)(uintptr_t)region->span.start, region->span.size);
	part_destroy(part);
	region_destroy(region);
}

CUresult do_cuMemFree(CUdeviceptr ptr)
{
	struct part *part = part_at(ptr);
	bool ours = part && (part->region->kind == REGION_CLASSIC ||
			     part->region->kind == REGION_MANAGED ||
			     part->region->kind == REGION_POOL);

	REFUSE_IF(!ptr && broken(151), 0, INVALID_VALUE, "no address");
	if (!ptr)
		return CUDA_SUCCESS;
	REFUSE_IF(!ours || part->span.start != ptr || part->freed, 152,
		  INVALID_VALUE, "not the start of a live allocation");
	if (!ours)
		return CUDA_SUCCESS;
	thread_self()->cost_bytes = part->span.size;
	queue_doom(part->span.start, part->span.size, "cuMemFree");
	if (part->region->kind == REGION_MANAGED)
		free_managed(part);
	else if (part->region->kind == REGION_POOL)
		pool_free(part);
	else
		arena_free(part, false);
	return CUDA_SUCCESS;
}

/* ---- Of the host ---------------------------------------------------- */

static u64 pages(u64 size)
{
	return (size + model.page - 1) / model.page * model.page;
}

/* Memory that both sides see at one address. */
static struct part *host_create(enum region_kind kind, void *p, u64 size)
{
	u64 start = (u64)(uintptr_t)p;
	struct region *region = region_create(kind, start, size);
	struct part *part;

	if (!region)
		return NULL;
	part = part_create(region, start, size);
	if (!part) {
		region_destroy(region);
		return NULL;
	}
	part->device = max(context_device(), 0);
	part->ctx = context_current();
	return part;
}

static void *host_map(u64 size)
{
	void *p = mmap(NULL, pages(size), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static CUresult host_alloc(enum region_kind kind, u64 size, void **out)
{
	void *p = host_map(size);
	struct part *part = p ? host_create(kind, p, pages(size)) : NULL;

	if (p && !part)
		munmap(p, pages(size));
	if (!part)
		return refuse(0, CUDA_ERROR_OUT_OF_MEMORY,
			      "the host has no memory");
	*out = p;
	return CUDA_SUCCESS;
}

CUresult do_cuMemHostAlloc(void **out, size_t size, unsigned int flags)
{
	unsigned int known = CU_MEMHOSTALLOC_PORTABLE |
			     CU_MEMHOSTALLOC_DEVICEMAP |
			     CU_MEMHOSTALLOC_WRITECOMBINED;

	REFUSE_IF(!out || !size || flags & ~known, 0, INVALID_VALUE,
		  "no place, size 0, or unknown flags");
	return host_alloc(REGION_HOST, size, out);
}

/* A region of @kind that begins at @p. */
static struct region *host_find(const void *p, enum region_kind kind)
{
	struct region *region = region_at((u64)(uintptr_t)p);

	if (!region || region->kind != kind ||
	    region->span.start != (u64)(uintptr_t)p)
		return NULL;
	return region;
}

static void host_destroy(struct region *region, const char *what)
{
	queue_doom(region->span.start, region->span.size, what);
	part_destroy(part_of(region, 0));
	if (region->kind == REGION_HOST)
		munmap((void *)(uintptr_t)region->span.start,
		       region->span.size);
	region_destroy(region);
}

CUresult do_cuMemFreeHost(void *p)
{
	struct region *region = host_find(p, REGION_HOST);

	REFUSE_IF(!p && broken(154), 0, INVALID_VALUE, "no address");
	if (!p)
		return CUDA_SUCCESS;
	REFUSE_IF(!region, 0, INVALID_VALUE, "not from cuMemHostAlloc");
	host_destroy(region, "cuMemFreeHost");
	return CUDA_SUCCESS;
}

CUresult do_cuMemHostRegister(void *p, size_t size, unsigned int flags)
{
	u64 start = (u64)(uintptr_t)p;

	REFUSE_IF(!p || !size || flags & ~0xfu, 0, INVALID_VALUE,
		  "no address, size 0, or unknown flags");
	REFUSE_IF(!span_is_free(space_regions(), start, size), 155,
		  HOST_MEMORY_ALREADY_REGISTERED, "it is registered already");
	if (!span_is_free(space_regions(), start, size))
		return CUDA_SUCCESS;
	return host_create(REGION_REGISTERED, p, size) ? CUDA_SUCCESS :
	       CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult do_cuMemHostUnregister(void *p)
{
	struct region *region = host_find(p, REGION_REGISTERED);

	REFUSE_IF(!region, 155, HOST_MEMORY_NOT_REGISTERED,
		  "not the start of what is registered");
	if (region)
		host_destroy(region, "cuMemHostUnregister");
	return CUDA_SUCCESS;
}

CUresult do_cuMemHostGetDevicePointer(CUdeviceptr *out, void *p,
				      unsigned int flags)
{
	struct region *region = region_at((u64)(uintptr_t)p);

	REFUSE_IF(!out || flags, 0, INVALID_VALUE, "no place, or flags");
	REFUSE_IF(!region || (region->kind != REGION_HOST &&
			      region->kind != REGION_REGISTERED), 0,
		  INVALID_VALUE, "not pinned");
	*out = (CUdeviceptr)(uintptr_t)p;
	return CUDA_SUCCESS;
}

CUresult do_cuMemAllocManaged(CUdeviceptr *out, size_t size,
			      unsigned int flags)
{
	CUresult ret;
	void *p;

	REFUSE_IF(!out || !size, 0, INVALID_VALUE, "no place, or size 0");
	REFUSE_IF(flags != CU_MEM_ATTACH_GLOBAL &&
		  flags != CU_MEM_ATTACH_HOST, 0, INVALID_VALUE,
		  "neither GLOBAL nor HOST");
	ret = host_alloc(REGION_MANAGED, size, &p);
	if (!ret)
		*out = (CUdeviceptr)(uintptr_t)p;
	return ret;
}
