// SPDX-License-Identifier: BSD-2-Clause
/*
 * access.c - who may touch a mapping.
 *
 * Access is per mapping and location, gone with the mapping. Memory of a host
 * node can be given to the CPU too, and is then visible at its address.
 */
#include <sys/mman.h>

#include "tests/model/internal.h"

/* No longer visible to the CPU either. */
void part_hide(const struct part *part)
{
	mmap((void *)(uintptr_t)part->span.start, part->span.size, PROT_NONE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

static CUresult check_desc(const CUmemAccessDesc *desc,
			   const struct part *part)
{
	const CUmemLocation *to = &desc->location;
	bool host_memory = part && part->device < 0;

	REFUSE_IF(desc->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
		  desc->flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
		  desc->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE, 113,
		  INVALID_VALUE, "no such access");
	REFUSE_IF(to->type == CU_MEM_LOCATION_TYPE_HOST && !host_memory, 118,
		  NOT_SUPPORTED, "the host cannot reach device memory");
	REFUSE_IF(to->type == CU_MEM_LOCATION_TYPE_HOST_NUMA && !host_memory,
		  119, INVALID_VALUE, "not on device memory");
	REFUSE_IF(to->type == CU_MEM_LOCATION_TYPE_INVALID ||
		  to->type > CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0,
		  INVALID_VALUE, "no such type of location");
	if (to->type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_SUCCESS;
	REFUSE_IF(!device_is_valid(to->id), 114, INVALID_DEVICE,
		  "no such device");
	REFUSE_IF(!host_memory && part && to->id != part->device &&
		  !model.profile->peers, 120, NOT_SUPPORTED,
		  "the devices are no peers");
	return CUDA_SUCCESS;
}

static CUresult check_platform(const struct part *part)
{
	const CUmemAllocationProp *prop = &part->phys->prop;

	if (!model.profile->wsl)
		return CUDA_SUCCESS;
	REFUSE_IF(queue_pending(), 0, NOT_READY, "WSL: work is in flight");
	REFUSE_IF(prop->allocFlags.gpuDirectRDMACapable, 0, UNKNOWN,
		  "WSL: memory for RDMA");
	return CUDA_SUCCESS;
}

static CUresult check_access(enum cover how, const CUmemAccessDesc *desc,
			     size_t count)
{
	REFUSE_IF(!count, 111, INVALID_VALUE, "no descriptors");
	REFUSE_IF(!desc && count, 112, INVALID_VALUE, "no descriptors");
	REFUSE_IF(how == COVER_NOTHING, 106, INVALID_VALUE,
		  "nothing is mapped there");
	REFUSE_IF(how == COVER_HOLE, 107, INVALID_VALUE,
		  "a part of the range is not mapped");
	REFUSE_IF(how == COVER_CUT, 110, INVALID_VALUE,
		  "a mapping is not in it as a whole");
	return CUDA_SUCCESS;
}

static void grant_host(struct part *part, unsigned int flags)
{
	int prot = flags == CU_MEM_ACCESS_FLAGS_PROT_READ ? PROT_READ :
		   PROT_READ | PROT_WRITE;

	part->host_access = (u8)flags;
	if (!flags || broken(199))
		part_hide(part);
	else
		mmap((void *)(uintptr_t)part->span.start, part->span.size,
		     prot, MAP_SHARED | MAP_FIXED, part->phys->fd, 0);
}

static void grant(struct part *part, const CUmemAccessDesc *desc)
{
	int device = desc->location.id;

	if (desc->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
		grant_host(part, desc->flags);
		return;
	}
	if (!device_is_valid(device))
		return;
	if (broken(117) && part->access[device] == desc->flags)
		part->access[device] = 0;
	else if (!(broken(116) && !desc->flags))
		part->access[device] = (u8)desc->flags;
	part->revoked = !desc->flags;
}

static bool access_is_broken(size_t first, size_t last)
{
	return broken(105) || (broken(108) && last - first > 1) ||
	       (broken(109) && first && last - first == 1);
}

CUresult do_cuMemSetAccess(CUdeviceptr ptr, size_t size,
			   const CUmemAccessDesc *desc, size_t count)
{
	struct region *region = region_at(ptr);
	size_t first, last, i, k;
	enum cover how = cover(region, ptr, size, &first, &last);
	CUresult ret = check_access(how, desc, count);

	for (i = 0; !ret && desc && i < count && how != COVER_NOTHING; i++)
		ret = check_desc(&desc[i], part_of(region, first));
	for (k = first; !ret && k < last; k++)
		ret = check_platform(part_of(region, k));
	if (ret || !desc || how != COVER_WHOLE)
		return ret;
	REFUSE_IF(access_is_broken(first, last), 0, INVALID_VALUE,
		  "broken");
	for (k = first; k < last; k++)
		for (i = 0; i < count; i++)
			grant(part_of(region, k), &desc[i]);
	thread_self()->cost_bytes = size;
	return CUDA_SUCCESS;
}

CUresult do_cuMemGetAccess(unsigned long long *flags,
			   const CUmemLocation *location, CUdeviceptr ptr)
{
	struct part *part = part_at(ptr);

	REFUSE_IF(!flags || !location, 123, INVALID_VALUE,
		  "no place for the access, or no location");
	REFUSE_IF(!part || part->region->kind != REGION_RESERVED, 123,
		  INVALID_VALUE, "nothing is mapped there");
	if (!flags || !location || !part)
		return CUDA_SUCCESS;
	REFUSE_IF(broken(122) && ptr != part->span.start, 0, INVALID_VALUE,
		  "broken");
	if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) {
		*flags = part->host_access;
		return CUDA_SUCCESS;
	}
	REFUSE_IF(!device_is_valid(location->id), 0, INVALID_DEVICE,
		  "no such device");
	*flags = broken(121) ? 1 : part->access[location->id];
	return CUDA_SUCCESS;
}
