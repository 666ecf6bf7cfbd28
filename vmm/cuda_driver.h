/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cuda_driver.h - the CUDA driver, found while the program runs.
 *
 * The library is not linked with libcuda: a program that is would not start
 * where there is no driver. The driver is loaded when a CUDA device is first
 * asked for, and stays: it has threads and exit handlers of its own.
 *
 * Functions are found by the names that the library exports, suffix included,
 * so that tools which put themselves between a program and the driver keep
 * working.
 */
#ifndef VMM_CUDA_DRIVER_H
#define VMM_CUDA_DRIVER_H

#include "vmm/cuda_abi.h"

#define CUDA_DRIVER_MEMBER(need, base, suffix, version, args, names) \
	cuda_pfn_##base base;

struct cuda_driver {
	SLABDEV_CUDA_FUNCS(CUDA_DRIVER_MEMBER)	/* NULL: this one lacks it */
	int version;		/* 1000 * major + 10 * minor */
	bool has_vmm;		/* all functions that mapping needs */
	bool has_pools;		/* all that SLABDEV_BACKING_POOL needs */
};

/*
 * cuda_driver_get - load and initialise the driver, the first time
 * @drv: set to the one driver of the process
 *
 * 0; -ENODEV no driver, or no device; -ENOTSUP it is too old; -EOWNERDEAD it
 * was used before this process was forked; -EIO it failed. The error text says
 * why. The next call tries again.
 */
int __must_check cuda_driver_get(const struct cuda_driver **drv);

/* "CUDA_ERROR_OUT_OF_MEMORY", or "an unknown error". */
const char *cuda_error_name(CUresult result);
/* The errno that a result stands for, negative; 0 for success. */
int cuda_errno(CUresult result);
/* The driver gives this result from now on, whatever is asked of it. */
bool cuda_is_sticky(CUresult result);
/* The device was reset: the context is gone, and all that was in it. */
bool cuda_is_reset(CUresult result);
/* The process ends, and the driver has shut down. */
bool cuda_is_shut_down(CUresult result);

#endif /* VMM_CUDA_DRIVER_H */
