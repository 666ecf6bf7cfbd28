// SPDX-License-Identifier: BSD-2-Clause
/*
 * first.c - the names of the first interface.
 *
 * A driver exports them to this day, with addresses and sizes of 32 bits or
 * other rules for the end of an object. A program that means them is 15 years
 * old; one that finds them by mistake has left out a suffix.
 */
#include "tests/model/internal.h"

#define FIRST(name)							\
	EXPORT CUresult name(void);					\
	CUresult name(void)						\
	{								\
		undefined(0, #name " without its suffix has 32-bit "	\
			  "arguments or other rules");			\
	}

FIRST(cuDeviceTotalMem)
FIRST(cuMemGetInfo)
FIRST(cuMemAlloc)
FIRST(cuMemFree)
FIRST(cuMemGetAddressRange)
FIRST(cuMemHostGetDevicePointer)
FIRST(cuMemcpyHtoD)
FIRST(cuMemcpyDtoH)
FIRST(cuMemcpyDtoD)
FIRST(cuMemcpyHtoDAsync)
FIRST(cuMemcpyDtoHAsync)
FIRST(cuMemcpyDtoDAsync)
FIRST(cuMemcpy2D)
FIRST(cuMemcpy2DUnaligned)
FIRST(cuMemcpy2DAsync)
FIRST(cuMemsetD8)
FIRST(cuMemsetD16)
FIRST(cuMemsetD32)
FIRST(cuMemsetD2D8)
FIRST(cuMemsetD2D16)
FIRST(cuMemsetD2D32)
FIRST(cuStreamDestroy)
FIRST(cuEventDestroy)
FIRST(cuCtxPushCurrent)
FIRST(cuCtxPopCurrent)
FIRST(cuCtxDestroy)
