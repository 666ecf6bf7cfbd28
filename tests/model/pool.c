// SPDX-License-Identifier: BSD-2-Clause
/*
 * pool.c - stream-ordered allocation.
 *
 * What is freed in a stream is free when the stream has come that far, and is
 * known to be free when the host has seen that: at a synchronisation, or when
 * a query says so. Until then only the same stream, or an allocation that
 * finds it done, has it again. At a synchronisation a pool gives back what is
 * above its release threshold. Memory in a capture is not modelled.
 */
#include <stdio.h>

#include "tests/model/internal.h"

#define REUSE_ATTRIBUTES 3
#define ROUND_BYTES 512

struct pool {
	struct list node;
	u64 handle;
	int device;
	CUmemPoolProps props;
	bool is_default, ended;
	struct list arena;
	u64 threshold, used, used_high, reserved_high;
	int reuse[REUSE_ATTRIBUTES];
	u8 access[DEVICES_MAX];
};

static struct list pools = LIST_INIT(pools);

static struct pool *pool_new(int device, const CUmemPoolProps *props)
{
	struct pool *pool = calloc(1, sizeof(*pool));
	int i;

	if (!pool)
		undefined(0, "the host has no memory for a pool");
	pool->device = device;
	pool->props = *props;
	pool->access[max(device, 0)] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	for (i = 0; i < REUSE_ATTRIBUTES; i++)
		pool->reuse[i] = !broken(157);
	list_init(&pool->arena);
	list_add_tail(&pool->node, &pools);
	pool->handle = handle_new(HANDLE_POOL, pool);
	return pool;
}

void pool_init_device(struct device *device)
{
	const CUmemPoolProps props = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { CU_MEM_LOCATION_TYPE_DEVICE, device->ordinal },
	};

	if (!model.profile->pools)
		return;
	device->default_pool = pool_new(device->ordinal, &props);
	device->default_pool->is_default = true;
	device->pool = device->default_pool;
}

static struct pool *pool_find(CUmemoryPool handle)
{
	return handle_find(HANDLE_POOL, (u64)handle);
}

u64 pool_handle(const struct pool *pool)
{
	return pool->handle;
}

bool pool_may(const struct pool *pool, int device, unsigned int what)
{
	return (pool->access[device] & what) == what;
}

u64 pool_count(void)
{
	struct list *node;
	u64 n = 0;

	for (node = pools.next; node != &pools; node = node->next)
		n += !container_of(node, struct pool, node)->is_default;
	return n;
}

/* ---- What is free --------------------------------------------------- */

static void note_high(struct pool *pool)
{
	pool->used_high = max(pool->used_high, pool->used);
	pool->reserved_high = max(pool->reserved_high,
				  arena_bytes(&pool->arena));
}

static void pool_settle(struct pool *pool)
{
	if (!pool->ended || !list_empty(&pool->arena))
		return;
	list_del(&pool->node);
	free(pool);
}

static void observe(struct pool *pool, bool *any_done)
{
	struct list *node, *next;
	struct region *region;
	struct part *part;
	size_t i;

	*any_done = false;
	for (node = pool->arena.next; node != &pool->arena; node = next) {
		next = node->next;
		region = container_of(node, struct region, node);
		for (i = region->parts.n; i-- > 0;) {
			part = part_of(region, i);
			if (!part->freed || !part->freed->done)
				continue;
			*any_done = true;
			arena_free(part, true);
		}
	}
}

void pools_observe(void)
{
	struct list *node, *next;
	struct pool *pool;
	bool any_done;

	for (node = pools.next; node != &pools; node = next) {
		next = node->next;
		pool = container_of(node, struct pool, node);
		observe(pool, &any_done);
		if (any_done || pool->ended)
			arena_trim(&pool->arena, pool->ended ? 0 :
				   pool->threshold);
		pool_settle(pool);
	}
}

/* ---- Allocation ----------------------------------------------------- */

/* One that was freed, and may be had again now: in the stream, or done. */
static struct part *reuse(struct pool *pool, u64 size, struct stream *stream)
{
	struct list *node;
	struct region *region;
	struct part *part;
	size_t i;

	for (node = pool->arena.next; node != &pool->arena;
	     node = node->next) {
		region = container_of(node, struct region, node);
		for (i = 0; i < region->parts.n; i++) {
			part = part_of(region, i);
			if (part->freed && part->span.size == size &&
			    (part->freed_by == stream ||
			     (part->freed->done && pool->reuse[1])))
				return part;
		}
	}
	return NULL;
}

static CUresult pool_alloc(struct pool *pool, u64 size, struct stream *stream,
			   CUdeviceptr *out)
{
	u64 rounded = (size + ROUND_BYTES - 1) / ROUND_BYTES * ROUND_BYTES;
	struct part *part = reuse(pool, rounded, stream);

	if (part) {
		mark_put(part->freed);
		part->freed = NULL;
	} else {
		REFUSE_IF(pool->props.maxSize &&
			  !arena_has_room(&pool->arena, rounded) &&
			  arena_bytes(&pool->arena) + rounded >
			  pool->props.maxSize, 0, OUT_OF_MEMORY,
			  "more than the pool's maximum");
		part = arena_alloc(&pool->arena, REGION_POOL, pool->device,
				   rounded);
	}
	if (!part)
		return refuse(0, CUDA_ERROR_OUT_OF_MEMORY,
			      "less than that is free");
	part->pool = pool;
	part->freed_by = stream;
	pool->used += rounded;
	note_high(pool);
	*out = part->span.start;
	return CUDA_SUCCESS;
}

static CUresult alloc_async(CUdeviceptr *out, size_t size, struct pool *pool,
			    CUstream handle)
{
	struct stream *stream;
	CUresult ret;

	REFUSE_IF(!out || !size, 0, INVALID_VALUE, "no place, or size 0");
	stream = stream_find(handle, &ret);
	if (!stream)
		return ret;
	REFUSE_IF(capture_is_active(stream->capture), 0, NOT_SUPPORTED,
		  "the model has no memory in graphs");
	pool = pool ? pool : model.devices[stream->ctx->device].pool;
	REFUSE_IF(broken(156), 0, NOT_SUPPORTED, "broken");
	return pool_alloc(pool, size, stream, out);
}

CUresult do_cuMemAllocAsync(CUdeviceptr *out, size_t size, CUstream stream)
{
	return alloc_async(out, size, NULL, stream);
}

CUresult do_cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t size,
				    CUmemoryPool handle, CUstream stream)
{
	struct pool *pool = pool_find(handle);

	REFUSE_IF(!pool, 0, INVALID_VALUE, "not a pool");
	return alloc_async(out, size, pool, stream);
}

CUresult do_cuMemFreeAsync(CUdeviceptr ptr, CUstream handle)
{
	struct part *part = part_at(ptr);
	struct stream *stream;
	CUresult ret;
	struct op *op;

	stream = stream_find(handle, &ret);
	if (!stream)
		return ret;
	REFUSE_IF(capture_is_active(stream->capture), 0, NOT_SUPPORTED,
		  "the model has no memory in graphs");
	REFUSE_IF(!part || !part->pool || part->span.start != ptr ||
		  part->freed, 0, INVALID_VALUE,
		  "not the start of a live allocation of a pool");
	op = op_new(stream, OP_MARK);
	part->freed = mark_get(op->mark);
	part->freed_by = stream;
	part->pool->used -= part->span.size;
	queue_check_order(op, ptr, part->span.size);
	op_submit(op);
	return CUDA_SUCCESS;
}

void pool_free(struct part *part)
{
	part->pool->used -= part->span.size;
	arena_free(part, true);
	pools_observe();
}

/* ---- Pools ---------------------------------------------------------- */

static CUresult check_props(const CUmemPoolProps *props)
{
	static const unsigned char zero[54];
	const CUmemLocation *at = &props->location;

	REFUSE_IF(props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED, 0,
		  INVALID_VALUE, "the type is not PINNED");
	REFUSE_IF(memcmp(props->reserved, zero, sizeof(zero)) ||
		  props->win32SecurityAttributes, 0, INVALID_VALUE,
		  "a reserved byte is not 0");
	REFUSE_IF(at->type == CU_MEM_LOCATION_TYPE_HOST && props->handleTypes,
		  161, INVALID_VALUE, "memory of the host cannot be shared");
	REFUSE_IF(at->type == CU_MEM_LOCATION_TYPE_DEVICE &&
		  !device_is_valid(at->id), 0, INVALID_DEVICE,
		  "no such device");
	REFUSE_IF(at->type != CU_MEM_LOCATION_TYPE_DEVICE && !broken(161), 0,
		  NOT_SUPPORTED, "the model has pools of devices only");
	return CUDA_SUCCESS;
}

/* Without a maximum a pool reserves twice the device's memory of addresses. */
static u64 addresses_of(const CUmemPoolProps *props)
{
	return props->maxSize ? 0 : 2 * model.profile->total_bytes;
}

CUresult do_cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props)
{
	CUresult ret;

	REFUSE_IF(!out || !props, 0, INVALID_VALUE, "no place, or no props");
	ret = check_props(props);
	if (ret)
		return ret;
	REFUSE_IF(addresses_of(props) >
		  model.profile->va_bytes - model.va_used, 0, OUT_OF_MEMORY,
		  "no addresses for twice the device's memory: give a maximum");
	model.va_used += addresses_of(props);
	*out = (CUmemoryPool)pool_new(props->location.id, props)->handle;
	return CUDA_SUCCESS;
}

/* What is allocated from it keeps it, without its name. */
CUresult do_cuMemPoolDestroy(CUmemoryPool handle)
{
	struct pool *pool = pool_find(handle);

	REFUSE_IF(!pool, 0, INVALID_VALUE, "not a pool");
	REFUSE_IF(pool->is_default, 159, INVALID_VALUE,
		  "the default pool cannot be destroyed");
	if (pool->is_default)
		return CUDA_SUCCESS;
	if (model.devices[pool->device].pool == pool)
		model.devices[pool->device].pool =
			model.devices[pool->device].default_pool;
	handle_end(pool->handle);
	model.va_used -= addresses_of(&pool->props);
	pool->ended = true;
	pools_observe();
	return CUDA_SUCCESS;
}

CUresult do_cuMemPoolTrimTo(CUmemoryPool handle, size_t keep)
{
	struct pool *pool = pool_find(handle);

	REFUSE_IF(!pool, 0, INVALID_VALUE, "not a pool");
	if (!broken(160))
		arena_trim(&pool->arena, keep);
	return CUDA_SUCCESS;
}

/* ---- Attributes ----------------------------------------------------- */

CUresult do_cuMemPoolSetAttribute(CUmemoryPool handle,
				  CUmemPool_attribute attr, void *value)
{
	struct pool *pool = pool_find(handle);
	u64 *number = value;

	REFUSE_IF(!pool || !value, 0, INVALID_VALUE, "no pool, or no value");
	if (attr >= 1 && attr <= REUSE_ATTRIBUTES) {
		pool->reuse[attr - 1] = *(int *)value;
		return CUDA_SUCCESS;
	}
	if (attr == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
		pool->threshold = *number;
		return CUDA_SUCCESS;
	}
	REFUSE_IF(attr != CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH &&
		  attr != CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0, INVALID_VALUE,
		  "cannot be set");
	REFUSE_IF(*number, 158, INVALID_VALUE, "can be set to 0 only");
	if (attr == CU_MEMPOOL_ATTR_USED_MEM_HIGH)
		pool->used_high = pool->used;
	else
		pool->reserved_high = arena_bytes(&pool->arena);
	return CUDA_SUCCESS;
}

CUresult do_cuMemPoolGetAttribute(CUmemoryPool handle,
				  CUmemPool_attribute attr, void *value)
{
	struct pool *pool = pool_find(handle);
	u64 *number = value;

	REFUSE_IF(!pool || !value, 0, INVALID_VALUE, "no pool, or no place");
	switch (attr) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		*(int *)value = pool->reuse[attr - 1];
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		*number = pool->threshold;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		*number = arena_bytes(&pool->arena);
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		*number = pool->reserved_high;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		*number = pool->used;
		return CUDA_SUCCESS;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		*number = pool->used_high;
		return CUDA_SUCCESS;
	default:
		return refuse(0, CUDA_ERROR_INVALID_VALUE,
			      "no such attribute");
	}
}

CUresult do_cuMemPoolSetAccess(CUmemoryPool handle,
			       const CUmemAccessDesc *map, size_t count)
{
	struct pool *pool = pool_find(handle);
	size_t i;

	REFUSE_IF(!pool || !map || !count, 0, INVALID_VALUE,
		  "no pool, or no descriptors");
	for (i = 0; i < count; i++) {
		int id = map[i].location.id;

		REFUSE_IF(map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE,
			  0, INVALID_VALUE, "not a device");
		REFUSE_IF(!device_is_valid(id), 0, INVALID_DEVICE,
			  "no such device");
		REFUSE_IF(id == pool->device && map[i].flags !=
			  CU_MEM_ACCESS_FLAGS_PROT_READWRITE, 0,
			  INVALID_VALUE, "the owner's own access stays");
		REFUSE_IF(id != pool->device && !model.profile->peers, 0,
			  INVALID_DEVICE, "the devices are no peers");
	}
	for (i = 0; i < count; i++)
		pool->access[map[i].location.id] = (u8)map[i].flags;
	return CUDA_SUCCESS;
}

CUresult do_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool handle,
			       CUmemLocation *location)
{
	struct pool *pool = pool_find(handle);

	REFUSE_IF(!flags || !pool || !location, 0, INVALID_VALUE,
		  "no place, no pool, or no location");
	REFUSE_IF(location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
		  !device_is_valid(location->id), 0, INVALID_DEVICE,
		  "no such device");
	*flags = (CUmemAccess_flags)pool->access[location->id];
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice dev)
{
	REFUSE_IF(!out, 0, INVALID_VALUE, "no place for the pool");
	REFUSE_IF(!device_is_valid(dev), 0, INVALID_DEVICE, "no such device");
	*out = (CUmemoryPool)model.devices[dev].default_pool->handle;
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceGetMemPool(CUmemoryPool *out, CUdevice dev)
{
	REFUSE_IF(!out, 0, INVALID_VALUE, "no place for the pool");
	REFUSE_IF(!device_is_valid(dev), 0, INVALID_DEVICE, "no such device");
	*out = (CUmemoryPool)model.devices[dev].pool->handle;
	return CUDA_SUCCESS;
}

CUresult do_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool handle)
{
	struct pool *pool = pool_find(handle);

	REFUSE_IF(!pool || !device_is_valid(dev) || pool->device != dev, 0,
		  INVALID_VALUE, "not a pool of that device");
	model.devices[dev].pool = pool;
	return CUDA_SUCCESS;
}
