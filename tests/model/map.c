// SPDX-License-Identifier: BSD-2-Clause
/*
 * map.c - mappings: a handle, or its beginning, at addresses of a reservation.
 *
 * A mapping is the unit of everything: it is unmapped and granted access to as
 * a whole, alone or with whole neighbours. Unmapping does not wait for work
 * that uses it; such work is doomed instead.
 */
#include "tests/model/internal.h"

static u64 granularity(void)
{
	return model.profile->granularity;
}

enum cover cover(const struct region *region, u64 ptr, u64 size,
			size_t *first, size_t *last)
{
	const struct span_set *parts;
	u64 at = ptr, end = ptr + size;
	size_t i;

	*first = *last = 0;
	if (!region || region->kind != REGION_RESERVED)
		return COVER_NOTHING;
	parts = &region->parts;
	*first = *last = i = span_lower(parts, ptr);
	if (i == parts->n || parts->v[i]->start >= end)
		return COVER_NOTHING;
	for (; at < end; i++) {
		if (i == parts->n || parts->v[i]->start > at)
			return COVER_HOLE;
		if (parts->v[i]->start < at)
			return COVER_CUT;
		at += parts->v[i]->size;
	}
	*last = i;
	return at == end ? COVER_WHOLE : COVER_CUT;
}

static CUresult check_map_numbers(u64 ptr, u64 size, u64 offset, u64 flags)
{
	REFUSE_IF(flags, 86, INVALID_VALUE, "no flags are defined");
	REFUSE_IF(!size, 87, INVALID_VALUE, "the size is 0");
	REFUSE_IF(ptr % granularity(), 80, INVALID_VALUE,
		  "the address is no multiple of the granularity");
	REFUSE_IF(size % granularity(), 81, INVALID_VALUE,
		  "the size is no multiple of the granularity");
	REFUSE_IF(offset, 85, INVALID_VALUE, "the offset is not 0");
	return CUDA_SUCCESS;
}

static CUresult check_map_range(const struct region *region, u64 ptr, u64 size)
{
	bool known = region && region->kind == REGION_RESERVED;
	u64 end = known ? region->span.start + region->span.size : 0;
	bool whole;

	REFUSE_IF(!known, 76, INVALID_VALUE, "nothing is reserved there");
	if (!known)
		return CUDA_SUCCESS;
	REFUSE_IF(ptr + size > end && region_at(end), 88, INVALID_VALUE,
		  "the range spans two reservations");
	REFUSE_IF(ptr + size > end && !region_at(end), 77, INVALID_VALUE,
		  "the range goes beyond the end of the reservation");
	whole = span_at(&region->parts, ptr) &&
		span_at(&region->parts, ptr)->start == ptr &&
		span_at(&region->parts, ptr)->size == size;
	REFUSE_IF(whole, 78, INVALID_VALUE, "it is mapped already");
	REFUSE_IF(!whole && !span_is_free(&region->parts, ptr, size), 79,
		  INVALID_VALUE, "a part of it is mapped already");
	return CUDA_SUCCESS;
}

static CUresult map_add(struct region *region, struct memory *memory, u64 ptr,
			u64 size)
{
	struct part *part = part_create(region, ptr, size);

	if (!part)
		return CUDA_ERROR_OUT_OF_MEMORY;
	part->memory = memory;
	part->phys = memory->phys;
	part->device = memory->phys->device;
	if (broken(101))
		part->access[max(part->device, 0)] = 3;
	memory->maps++;
	memory->phys->users++;
	return CUDA_SUCCESS;
}

/* Whether what is to be done breaks a rule that says that it is possible. */
static bool map_is_broken(const struct memory *memory, u64 size)
{
	return (broken(75) && !memory->maps) || (broken(89) && memory->maps) ||
	       (broken(83) && size == memory->phys->size) ||
	       (broken(84) && size < memory->phys->size) ||
	       (broken(91) && !device_charge(memory->phys->device, size));
}

CUresult do_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
		     CUmemGenericAllocationHandle handle,
		     unsigned long long flags)
{
	struct memory *memory = memory_find(handle);
	struct region *region = region_at(ptr);
	CUresult ret;

	if (!memory)
		undefined(74, "%#llx is no memory handle", handle);
	ret = check_map_numbers(ptr, size, offset, flags);
	if (!ret && size)
		ret = check_map_range(region, ptr, size);
	if (ret)
		return ret;
	REFUSE_IF(offset + size > memory->phys->size, 82, INVALID_VALUE,
		  "the handle is smaller than that");
	REFUSE_IF(map_is_broken(memory, size), 0, INVALID_VALUE, "broken");
	if (!region || !size || !span_is_free(&region->parts, ptr, size))
		return CUDA_SUCCESS;
	thread_self()->cost_bytes = size;
	return map_add(region, memory, ptr, size);
}

static void unmap_part(struct part *part)
{
	struct memory *memory = part->memory;

	queue_doom(part->span.start, part->span.size, "cuMemUnmap");
	if (part->host_access)
		part_hide(part);
	if (broken(102))
		memset(phys_data(part->phys), 0, part->span.size);
	if (broken(72) && !memory->refs)
		memory->phys->users++;
	phys_put(part->phys);
	memory->maps--;
	memory_settle(memory);
	if (broken(73))
		device_uncharge(part->device, part->span.size);
	part_destroy(part);
}

static CUresult check_unmap(enum cover how, u64 ptr, u64 size)
{
	struct region *region = region_at(ptr);
	bool again = how == COVER_NOTHING && region && region->was_mapped;

	REFUSE_IF(size % granularity(), 96, INVALID_VALUE,
		  "the size is no multiple of the granularity");
	REFUSE_IF(again, 100, INVALID_VALUE, "it is not mapped any more");
	REFUSE_IF(how == COVER_NOTHING && !again, 99, INVALID_VALUE,
		  "nothing was ever mapped there");
	REFUSE_IF(how == COVER_HOLE, 98, INVALID_VALUE,
		  "the range has a hole");
	REFUSE_IF(how == COVER_CUT && size % granularity() == 0, 95,
		  INVALID_VALUE, "a mapping is not in it as a whole");
	return CUDA_SUCCESS;
}

CUresult do_cuMemUnmap(CUdeviceptr ptr, size_t size)
{
	struct region *region = region_at(ptr);
	size_t first, last, bytes = 0;
	enum cover how = cover(region, ptr, size, &first, &last);
	CUresult ret = check_unmap(how, ptr, size);

	if (ret || how != COVER_WHOLE)
		return ret;
	REFUSE_IF(broken(94) || (broken(97) && last - first > 1) ||
		  (broken(104) && queue_pending() == 0), 0, INVALID_VALUE,
		  "broken");
	region->was_mapped = true;
	for (; last > first; last--) {
		bytes = max(bytes, (size_t)region->parts.v[first]->size);
		unmap_part(part_of(region, first));
	}
	thread_self()->cost_bytes = bytes;
	return CUDA_SUCCESS;
}
