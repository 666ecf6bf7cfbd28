// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_error.c - what the driver's results mean to the library.
 *
 * Four kinds matter: memory is exhausted (another try after giving some back
 * makes sense), the driver cannot go on (the process can only end), the
 * context is gone (the device was reset), and all else, which is just this
 * call's failure.
 */
#include <errno.h>

#include "vmm/cuda_driver.h"

const char *cuda_error_name(CUresult result)
{
	static const struct {
		CUresult result;
		const char *name;
	} names[] = {
#define NAME(name, value) { CUDA_ERROR_##name, "CUDA_ERROR_" #name },
		SLABDEV_CUDA_ERRORS(NAME)
#undef NAME
	};

	for (u32 i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].result == result)
			return names[i].name;
	return "an unknown error";
}

bool cuda_is_sticky(CUresult result)
{
	switch (result) {
	case CUDA_ERROR_ECC_UNCORRECTABLE:
	case CUDA_ERROR_NVLINK_UNCORRECTABLE:
	case CUDA_ERROR_CONTAINED:
	case CUDA_ERROR_ILLEGAL_ADDRESS:
	case CUDA_ERROR_LAUNCH_TIMEOUT:
	case CUDA_ERROR_ASSERT:
	case CUDA_ERROR_HARDWARE_STACK_ERROR:
	case CUDA_ERROR_ILLEGAL_INSTRUCTION:
	case CUDA_ERROR_MISALIGNED_ADDRESS:
	case CUDA_ERROR_INVALID_ADDRESS_SPACE:
	case CUDA_ERROR_INVALID_PC:
	case CUDA_ERROR_LAUNCH_FAILED:
	case CUDA_ERROR_TENSOR_MEMORY_LEAK:
	case CUDA_ERROR_MPS_CLIENT_TERMINATED:
	case CUDA_ERROR_EXTERNAL_DEVICE:
		return true;
	default:
		return false;
	}
}

bool cuda_is_reset(CUresult result)
{
	return result == CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

bool cuda_is_shut_down(CUresult result)
{
	return result == CUDA_ERROR_DEINITIALIZED;
}

int cuda_errno(CUresult result)
{
	if (cuda_is_sticky(result))
		return -EIO;
	switch (result) {
	case CUDA_SUCCESS:
		return 0;
	case CUDA_ERROR_OUT_OF_MEMORY:
		return -ENOMEM;
	case CUDA_ERROR_INVALID_VALUE:
	case CUDA_ERROR_INVALID_HANDLE:
		return -EINVAL;
	case CUDA_ERROR_NO_DEVICE:
	case CUDA_ERROR_INVALID_DEVICE:
	case CUDA_ERROR_DEVICE_UNAVAILABLE:
	case CUDA_ERROR_STUB_LIBRARY:
		return -ENODEV;
	case CUDA_ERROR_NOT_SUPPORTED:
	case CUDA_ERROR_NOT_PERMITTED:
	case CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER:
	case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
	case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
		return -ENOTSUP;
	case CUDA_ERROR_NOT_READY:
		return -EBUSY;
	case CUDA_ERROR_CONTEXT_IS_DESTROYED:
		return -EOWNERDEAD;
	default:
		return -EIO;
	}
}
