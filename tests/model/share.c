// SPDX-License-Identifier: BSD-2-Clause
/*
 * share.c - handles that leave the process, and handles found by address.
 *
 * An exported descriptor is that of the memory's own file. An import knows it
 * by what is written behind the bytes, in whatever process it is done. The
 * descriptors that were given away cannot be counted, so that memory which
 * only they hold is not charged to the device.
 */
#include <fcntl.h>
#include <unistd.h>

#include "tests/model/internal.h"

static bool is_one_bit(unsigned int n)
{
	return n && !(n & (n - 1));
}

CUresult do_cuMemExportToShareableHandle(void *out,
					 CUmemGenericAllocationHandle handle,
					 CUmemAllocationHandleType type,
					 unsigned long long flags)
{
	struct memory *memory = memory_find(handle);
	unsigned int asked;
	int fd;

	if (!memory)
		undefined(74, "%#llx is no memory handle", handle);
	asked = memory->phys->prop.requestedHandleTypes;
	REFUSE_IF(!out || flags || !is_one_bit(type), 126, INVALID_VALUE,
		  "no place, flags, or not one type");
	if (!out || !is_one_bit(type))
		return CUDA_SUCCESS;
	REFUSE_IF(!(type & asked), type == 1 ? 124 : 127, INVALID_VALUE,
		  "the memory was not created for that type");
	fd = fcntl(memory->phys->fd, F_DUPFD_CLOEXEC, 0);
	REFUSE_IF(fd < 0 && asked, 0, OPERATING_SYSTEM,
		  "no descriptor is left");
	if (broken(125) && fd >= 0) {
		close(fd);
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	}
	*(int *)out = fd;
	return CUDA_SUCCESS;
}

CUresult do_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *out,
					   void *os_handle,
					   CUmemAllocationHandleType type)
{
	struct memory *memory;

	REFUSE_IF(!out, 0, INVALID_VALUE, "no place for the handle");
	REFUSE_IF(type == CU_MEM_HANDLE_TYPE_FABRIC, 0, NOT_PERMITTED,
		  "no IMEX channel");
	REFUSE_IF(type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 133,
		  INVALID_VALUE, "no such type");
	memory = calloc(1, sizeof(*memory));
	if (!memory)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memory->phys = phys_import((int)(intptr_t)os_handle);
	if (!memory->phys) {
		free(memory);
		REFUSE_IF(true, 132, INVALID_VALUE,
			  "not a descriptor of such memory");
		return CUDA_SUCCESS;
	}
	if (broken(131))
		close((int)(intptr_t)os_handle);
	memory->refs = 1;
	memory->handle = handle_new(HANDLE_MEMORY, memory);
	*out = memory->handle;
	return CUDA_SUCCESS;
}

CUresult do_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out,
					void *addr)
{
	struct part *part = part_at((u64)(uintptr_t)addr);
	bool mapped = part && part->memory;

	REFUSE_IF(!out, 135, INVALID_VALUE, "no place for the handle");
	REFUSE_IF(!mapped, 135, INVALID_VALUE, "nothing is mapped there");
	if (!out || !mapped)
		return CUDA_SUCCESS;
	if (!broken(134))
		part->memory->refs++;
	*out = part->memory->handle;
	return CUDA_SUCCESS;
}

CUresult do_cuMemGetHandleForAddressRange(void *out, CUdeviceptr ptr,
					  size_t size,
					  CUmemRangeHandleType type,
					  unsigned long long flags)
{
	int device = max(context_device(), 0);
	struct part *part = part_at(ptr);
	CUresult ret;

	REFUSE_IF(!out || flags || !size ||
		  type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0,
		  INVALID_VALUE, "no place, size 0, flags, or no such type");
	REFUSE_IF(ptr % model.page || size % model.page, 0, INVALID_VALUE,
		  "not multiples of the host's page");
	REFUSE_IF(!part || !part->phys, 0, INVALID_VALUE,
		  "no memory of the device");
	ret = space_check(ptr, size, device, MODEL_READ);
	if (ret)
		return ret;
	/* Whoever would read it is a network card. */
	*(int *)out = open("/dev/null", O_RDWR | O_CLOEXEC);
	return CUDA_SUCCESS;
}
