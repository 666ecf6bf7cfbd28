/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * backends.h - what devices.c and the tests know of each backend.
 */
#ifndef VMM_BACKENDS_H
#define VMM_BACKENDS_H

#include <errno.h>

#include "core/log.h"
#include "vmm/vmm.h"

/* Host memory: this machine's, by mmap. */
extern const struct vmm_ops vmm_host_ops;
/* The same in files that other processes can map. */
extern const struct vmm_ops vmm_host_shared_ops;

/* @flags: SLABDEV_OPEN_HUGE_PAGES; @shared: for which of the two. 0 or
 * -ENOMEM. */
int __must_check vmm_host_get(unsigned int flags, bool shared, void **dev);

/* ---- CUDA ------------------------------------------------------------- */

enum vmm_cuda_kind { CUDA_DEVICE, CUDA_PINNED, CUDA_MANAGED };

/* What is behind "cuda:", "cuda-host:" or "cuda-managed:", and which of them it
 * is; NULL when @spec begins with none. */
const char *vmm_parse_cuda(const char *spec, enum vmm_cuda_kind *kind);

#ifdef CONFIG_BACKEND_CUDA

int __must_check vmm_cuda_get(const char *spec, const struct slabdev_attr *attr,
			      const struct vmm_ops **ops, void **dev);
/* Entries for slabdev_device_get(): devices, or one that says why not. */
int vmm_cuda_count(void);
/* @index below that. */
void vmm_cuda_info(int index, struct slabdev_device_info *info);

#else

#define VMM_NO_CUDA "this library was built without CUDA " \
		    "(CONFIG_BACKEND_CUDA, \"make cuda_defconfig\")"

static inline int vmm_cuda_get(const char *spec,
			       const struct slabdev_attr *attr,
			       const struct vmm_ops **ops, void **dev)
{
	(void)attr;
	(void)ops;
	(void)dev;
	return error_set(-ENOTSUP, "device '%.64s': " VMM_NO_CUDA "; 'host' is "
			 "available", spec);
}

static inline int vmm_cuda_count(void)
{
	return 1;
}

static inline void vmm_cuda_info(int index, struct slabdev_device_info *info)
{
	(void)index;
	*info = (struct slabdev_device_info){
		.spec = "cuda",
		.name = "CUDA devices",
		.reason = VMM_NO_CUDA,
	};
}

#endif /* CONFIG_BACKEND_CUDA */

#endif /* VMM_BACKENDS_H */
