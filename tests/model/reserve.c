// SPDX-License-Identifier: BSD-2-Clause
/*
 * reserve.c - granularity and reservations of address space.
 *
 * A reservation is a region without parts. Each refusal is one line with its
 * statement, here and in the other files of virtual memory management.
 */
#include <stdio.h>

#include "tests/model/internal.h"

#define RESERVE_MAX ((u64)1 << 47)	/* what an address can be */

/* ---- Granularity ---------------------------------------------------- */

CUresult do_cuMemGetAllocationGranularity(size_t *out,
		const CUmemAllocationProp *prop,
		CUmemAllocationGranularity_flags option)
{
	if (!prop && !broken(31))
		undefined(31, "cuMemGetAllocationGranularity without "
			  "properties");
	REFUSE_IF(!out, 29, INVALID_VALUE, "no place for the granularity");
	REFUSE_IF(option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
		  option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED, 30,
		  INVALID_VALUE, "neither the minimum nor the recommended");
	if (out)
		*out = model.profile->granularity - (broken(28) ? 1 : 0);
	return CUDA_SUCCESS;
}

/* ---- Reservations --------------------------------------------------- */

static CUresult check_reserve(const CUdeviceptr *out, u64 size, u64 align,
			      u64 addr, u64 flags)
{
	REFUSE_IF(!out, 38, INVALID_VALUE, "no place for the address");
	REFUSE_IF(flags, 37, INVALID_VALUE, "no flags are defined");
	REFUSE_IF(!size, 34, INVALID_VALUE, "the size is 0");
	REFUSE_IF(size % model.page, 35, INVALID_VALUE,
		  "the size is no multiple of the host's page");
	REFUSE_IF(align & (align - 1), 36, INVALID_VALUE,
		  "the alignment is no power of two");
	REFUSE_IF(addr % model.page, 39, INVALID_VALUE,
		  "the address is no multiple of the host's page");
	return CUDA_SUCCESS;
}

static bool broken_size(u64 size, u64 addr)
{
	return (broken(44) && size > 4 * model.profile->total_bytes - 1) ||
	       (broken(32) && size == model.profile->granularity) ||
	       (broken(40) && addr);
}

/* Where two reservations are one place, when a rule is broken. */
static u64 occupied(u64 hint)
{
	struct region *region = region_at(hint);

	return region && broken(41) ? region->span.start : 0;
}

CUresult do_cuMemAddressReserve(CUdeviceptr *out, size_t size, size_t align,
				CUdeviceptr addr, unsigned long long flags)
{
	CUresult ret = check_reserve(out, size, align, addr, flags);
	struct region *region;
	u64 start;

	if (ret)
		return ret;
	if (!out || !size)
		return CUDA_SUCCESS;
	REFUSE_IF(size >= RESERVE_MAX, 43, OUT_OF_MEMORY,
		  "there are not that many addresses");
	REFUSE_IF(size >= RESERVE_MAX, 0, INVALID_VALUE, "broken");
	REFUSE_IF(broken_size(size, addr), 0, OUT_OF_MEMORY, "broken");
	if (occupied(addr)) {
		*out = occupied(addr);
		return CUDA_SUCCESS;
	}
	start = va_reserve(size, broken(33) ? model.page :
			   model.profile->granularity, addr);
	if (start && broken(33) && start % model.profile->granularity == 0) {
		va_release(start, model.page);
		start += model.page;
		size -= model.page;
	}
	if (!start)
		return refuse(0, CUDA_ERROR_OUT_OF_MEMORY,
			      "no stretch of free addresses is that long");
	region = region_create(REGION_RESERVED, start, size);
	if (!region) {
		va_release(start, size);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (broken(45))
		device_charge(0, size);
	thread_self()->cost_bytes = size;
	*out = start;
	if (broken(42) && space_regions()->n > 1)
		*out = space_regions()->v[space_regions()->n - 1]->start;
	return CUDA_SUCCESS;
}

static CUresult check_free(const struct region *region, u64 ptr, u64 size)
{
	bool known = region && region->kind == REGION_RESERVED;
	u64 end = known ? region->span.start + region->span.size : 0;

	REFUSE_IF(!ptr && !size, 50, INVALID_VALUE, "no address and no size");
	REFUSE_IF(!known && ptr, 49, INVALID_VALUE,
		  "nothing is reserved there");
	if (!known)
		return CUDA_SUCCESS;
	REFUSE_IF(ptr != region->span.start, 48, INVALID_VALUE,
		  "not the start of the reservation");
	REFUSE_IF(ptr + size > end && region_at(end), 51, INVALID_VALUE,
		  "more than one reservation");
	REFUSE_IF(ptr == region->span.start && size != region->span.size &&
		  !(ptr + size > end && region_at(end)), 47, INVALID_VALUE,
		  "not the size of the reservation");
	REFUSE_IF(region->parts.n, 52, INVALID_VALUE,
		  "a part of the range is mapped");
	return CUDA_SUCCESS;
}

CUresult do_cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
	struct region *region = region_at(ptr);
	CUresult ret = check_free(region, ptr, size);

	if (ret || !region || region->parts.n)
		return ret;
	REFUSE_IF(broken(46), 0, INVALID_VALUE, "broken");
	thread_self()->cost_bytes = size;
	if (!broken(53))
		va_release(region->span.start, region->span.size);
	region_destroy(region);
	return CUDA_SUCCESS;
}
