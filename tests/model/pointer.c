// SPDX-License-Identifier: BSD-2-Clause
/*
 * pointer.c - what the driver says about an address.
 *
 * One attribute of memory that the driver does not know is an error; of a list
 * of attributes each is zero, and the call succeeds. The bounds of a range are
 * those of its reservation, those of a mapping its own.
 */
#include "tests/model/internal.h"

/* What is at an address: a part, or a reservation with nothing there. */
struct place {
	struct region *region;
	struct part *part;
};

static struct place place_at(u64 addr)
{
	struct place at = { region_at(addr), part_at(addr) };

	if (at.region && !at.part && at.region->kind != REGION_RESERVED)
		at.region = NULL;
	return at;
}

static unsigned int memory_type(const struct region *region)
{
	if (broken(139))
		return CU_MEMORYTYPE_HOST;
	return region->kind == REGION_HOST ||
	       region->kind == REGION_REGISTERED ? CU_MEMORYTYPE_HOST :
	       CU_MEMORYTYPE_DEVICE;
}

static CUmemAccess_flags access_of(const struct place *at)
{
	int device = max(context_device(), 0);

	if (broken(144) || !at->part)
		return CU_MEM_ACCESS_FLAGS_PROT_NONE;
	return at->region->kind == REGION_RESERVED ?
	       (CUmemAccess_flags)at->part->access[device] :
	       CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

static struct span bounds(const struct place *at)
{
	if (at->region->kind == REGION_RESERVED)
		return at->region->span;
	return at->part->span;
}

static unsigned int handle_types(const struct place *at)
{
	if (broken(143) || !at->part || !at->part->memory)
		return 0;
	return at->part->phys->prop.requestedHandleTypes;
}

static bool is_rdma(const struct place *at)
{
	return at->part && at->part->memory &&
	       at->part->phys->prop.allocFlags.gpuDirectRDMACapable;
}

/* The numbers that a part has, and a hole of a reservation has not. */
static u64 part_number(const struct part *part, CUpointer_attribute attribute)
{
	if (!part)
		return 0;
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		if (broken(141) && !part->ctx)
			return 1;
		return part->ctx ? (u64)part->ctx->handle : 0;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		return part->buffer_id;
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		return part->span.size;
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		return part->span.start;
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		return part->phys ? part->phys->id : part->buffer_id;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		return part->pool ? pool_handle(part->pool) : 0;
	default:
		return 0;
	}
}

/* Of the size that the attribute has; booleans are one byte. */
static CUresult answer(const struct place *at, CUpointer_attribute attribute,
		       u64 addr, void *out)
{
	u64 *number = out;

	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*number = part_number(at->part, attribute);
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		*number = addr;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*number = bounds(at).start;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*number = bounds(at).size - (broken(140) ? 1 : 0);
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned int *)out = memory_type(at->region);
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)out = at->part ? at->part->device : -2;
		break;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		*(unsigned int *)out = handle_types(at);
		break;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*(CUmemAccess_flags *)out = access_of(at);
		break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(bool *)out = at->region->kind == REGION_MANAGED;
		break;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		*(bool *)out = false;
		break;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		*(bool *)out = at->region->kind == REGION_CLASSIC;
		break;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(bool *)out = at->part;
		break;
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		*(bool *)out = is_rdma(at);
		break;
	default:
		return refuse(0, CUDA_ERROR_INVALID_VALUE,
			      "no such attribute");
	}
	return CUDA_SUCCESS;
}

static CUresult check_host_pointer(const struct place *at,
				   CUpointer_attribute attribute)
{
	REFUSE_IF(attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER &&
		  memory_type(at->region) != CU_MEMORYTYPE_HOST &&
		  at->region->kind != REGION_MANAGED, 0, INVALID_VALUE,
		  "the host cannot reach it");
	REFUSE_IF(attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER &&
		  !context_current(), 0, INVALID_CONTEXT,
		  "no context is current");
	REFUSE_IF(attribute == CU_POINTER_ATTRIBUTE_P2P_TOKENS, 0,
		  INVALID_VALUE, "no tokens in the model");
	return CUDA_SUCCESS;
}

CUresult do_cuPointerGetAttribute(void *data, CUpointer_attribute attribute,
				  CUdeviceptr ptr)
{
	struct place at = place_at(ptr);
	CUresult ret;

	REFUSE_IF(!data, 0, INVALID_VALUE, "no place for it");
	REFUSE_IF(!at.region, 137, INVALID_VALUE,
		  "not memory that the driver knows");
	if (!at.region)
		return CUDA_SUCCESS;
	if (at.part && at.part->freed)
		undefined(0, "%#llx is asked for after cuMemFreeAsync", ptr);
	ret = check_host_pointer(&at, attribute);
	return ret ? ret : answer(&at, attribute, ptr, data);
}

static size_t attribute_bytes(CUpointer_attribute attribute)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		return 4;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_MAPPED:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		return 1;
	default:
		return 8;
	}
}

CUresult do_cuPointerGetAttributes(unsigned int n,
				   CUpointer_attribute *attributes,
				   void **data, CUdeviceptr ptr)
{
	struct place at = place_at(ptr);
	CUresult ret = CUDA_SUCCESS;
	unsigned int i;

	REFUSE_IF(n && (!attributes || !data), 0, INVALID_VALUE,
		  "no attributes, or no place for them");
	REFUSE_IF(!at.region && broken(138), 0, INVALID_VALUE,
		  "not memory that the driver knows");
	for (i = 0; !ret && i < n; i++) {
		memset(data[i], 0, attribute_bytes(attributes[i]));
		if (at.region && !check_host_pointer(&at, attributes[i]))
			ret = answer(&at, attributes[i], ptr, data[i]);
	}
	return ret;
}

CUresult do_cuMemGetAddressRange(CUdeviceptr *base, size_t *size,
				 CUdeviceptr ptr)
{
	struct part *part = part_at(ptr);
	struct span span;

	REFUSE_IF(!part, 147, INVALID_VALUE,
		  "not memory that the driver knows");
	if (!part)
		return CUDA_SUCCESS;
	span = broken(146) ? part->region->span : part->span;
	if (base)
		*base = span.start;
	if (size)
		*size = span.size;
	return CUDA_SUCCESS;
}

/* ---- Handles of an older kind --------------------------------------- */

CUresult do_cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr ptr)
{
	struct part *part = part_at(ptr);

	REFUSE_IF(!handle || !part, 0, INVALID_VALUE, "no place or memory");
	REFUSE_IF(part->region->kind != REGION_CLASSIC, 142, INVALID_VALUE,
		  "only memory of cuMemAlloc has such handles");
	memset(handle, 0, sizeof(*handle));
	memcpy(handle->reserved, &part->span, sizeof(part->span));
	return CUDA_SUCCESS;
}
