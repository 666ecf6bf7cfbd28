// SPDX-License-Identifier: BSD-2-Clause
/*
 * create.c - handles of physical memory: create, release, properties.
 *
 * A handle ends when its references and its mappings are gone; released and
 * still mapped it is dead for every call but the one that retains it again.
 */
#include "tests/model/internal.h"

static CUresult check_location(const CUmemAllocationProp *prop)
{
	const CUmemLocation *at = &prop->location;

	REFUSE_IF(at->type == CU_MEM_LOCATION_TYPE_INVALID, 60, INVALID_VALUE,
		  "the location has no type");
	REFUSE_IF(at->type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 63,
		  INVALID_VALUE, "not for cuMemCreate");
	REFUSE_IF(at->type == CU_MEM_LOCATION_TYPE_HOST &&
		  prop->requestedHandleTypes, 62, INVALID_VALUE,
		  "memory of the host cannot be shared");
	REFUSE_IF(at->type == CU_MEM_LOCATION_TYPE_HOST, 0, NOT_SUPPORTED,
		  "no memory management for the host");
	REFUSE_IF(at->type == CU_MEM_LOCATION_TYPE_HOST_NUMA &&
		  !model.profile->host_numa, 64, NOT_SUPPORTED,
		  "this device has no memory management for host nodes");
	REFUSE_IF(at->type == CU_MEM_LOCATION_TYPE_DEVICE &&
		  !device_is_valid(at->id), 61, INVALID_DEVICE,
		  "no such device");
	REFUSE_IF(at->type > CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0,
		  INVALID_VALUE, "no such type of location");
	return CUDA_SUCCESS;
}

static CUresult check_prop(const CUmemAllocationProp *prop)
{
	static const unsigned char zero[4];
	unsigned int win = CU_MEM_HANDLE_TYPE_WIN32 |
			   CU_MEM_HANDLE_TYPE_WIN32_KMT;

	REFUSE_IF(prop->type != CU_MEM_ALLOCATION_TYPE_PINNED, 59,
		  INVALID_VALUE, "the type is not PINNED");
	REFUSE_IF((unsigned int)prop->requestedHandleTypes > 0xf, 0,
		  INVALID_VALUE, "no such type of handle");
	REFUSE_IF(prop->requestedHandleTypes & win, 65, NOT_SUPPORTED,
		  "handles of Windows");
	REFUSE_IF(prop->requestedHandleTypes & CU_MEM_HANDLE_TYPE_FABRIC, 66,
		  NOT_PERMITTED, "no IMEX channel");
	REFUSE_IF(prop->win32HandleMetaData, 0, INVALID_VALUE,
		  "the field for Windows is not NULL");
	REFUSE_IF(memcmp(prop->allocFlags.reserved, zero, sizeof(zero)), 67,
		  INVALID_VALUE, "a reserved byte is not 0");
	return check_location(prop);
}

static CUresult check_create(const CUmemGenericAllocationHandle *out, u64 size,
			     const CUmemAllocationProp *prop, u64 flags)
{
	REFUSE_IF(!out || !prop, 58, INVALID_VALUE,
		  "no place for the handle, or no properties");
	REFUSE_IF(flags, 57, INVALID_VALUE, "no flags are defined");
	REFUSE_IF(!size, 56, INVALID_VALUE, "the size is 0");
	REFUSE_IF(size % model.profile->granularity, 55, INVALID_VALUE,
		  "the size is no multiple of the granularity");
	return prop ? check_prop(prop) : CUDA_SUCCESS;
}

/* A failure that stays, when a rule is broken. */
static bool out_of_memory_sticks(bool failed)
{
	static bool stuck;

	stuck |= failed && broken(69);
	return stuck;
}

CUresult do_cuMemCreate(CUmemGenericAllocationHandle *out, size_t size,
			const CUmemAllocationProp *prop,
			unsigned long long flags)
{
	CUresult ret = check_create(out, size, prop, flags);
	struct memory *memory;
	int device;

	if (ret || !out || !prop)
		return ret;
	device = prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE ?
		 prop->location.id : -1;
	memory = calloc(1, sizeof(*memory));
	if (!memory)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memory->phys = phys_create(max(size, (size_t)model.page), prop,
				   device_is_valid(device) ? device : -1);
	if (out_of_memory_sticks(!memory->phys)) {
		free(memory);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (!memory->phys) {
		free(memory);
		return refuse(68, CUDA_ERROR_OUT_OF_MEMORY,
			      "less than that is free");
	}
	memory->refs = 1;
	memory->handle = handle_new(HANDLE_MEMORY, memory);
	*out = memory->handle;
	thread_self()->cost_bytes = size;
	return CUDA_SUCCESS;
}

/* A handle that was released is dead even while its memory is mapped. */
struct memory *memory_find(CUmemGenericAllocationHandle handle)
{
	struct memory *memory = handle_find(HANDLE_MEMORY, handle);

	if (memory && !memory->refs && !broken(74))
		undefined(74, "the memory handle %#llx is used after its "
			  "last release", handle);
	return memory;
}

void memory_settle(struct memory *memory)
{
	if (memory->refs || memory->maps)
		return;
	if (broken(130) && memory->phys->users > 1)
		memset(phys_data(memory->phys), 0, memory->phys->size);
	handle_end(memory->handle);
	phys_put(memory->phys);
	free(memory);
}

CUresult do_cuMemRelease(CUmemGenericAllocationHandle handle)
{
	struct memory *memory = memory_find(handle);

	if (broken(74) && (!memory || !memory->refs))
		return CUDA_ERROR_INVALID_VALUE;
	if (!memory)
		undefined(74, "%#llx is no memory handle", handle);
	REFUSE_IF(memory->maps && broken(71), 0, INVALID_VALUE, "broken");
	thread_self()->cost_bytes = memory->phys->size;
	memory->refs--;
	if (broken(70) && !memory->refs && !memory->maps)
		return CUDA_SUCCESS;
	if (broken(200))
		device_charge(memory->phys->device, 64 * KIB);
	memory_settle(memory);
	return CUDA_SUCCESS;
}

CUresult do_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
		CUmemGenericAllocationHandle handle)
{
	struct memory *memory = memory_find(handle);

	REFUSE_IF(!prop || !memory, 0, INVALID_VALUE,
		  "no place for the properties, or no handle");
	*prop = memory->phys->prop;
	/* Compression is a hint, and no memory of the model is compressed. */
	prop->allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_NONE;
	if (broken(136))
		prop->location.type = CU_MEM_LOCATION_TYPE_HOST;
	return CUDA_SUCCESS;
}
