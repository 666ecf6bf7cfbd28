/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * backends.h - what devices.c and the tests know of each backend.
 */
#ifndef VMM_BACKENDS_H
#define VMM_BACKENDS_H

#include "vmm/ops.h"

/* Host memory: this machine's, by mmap. */
extern const struct vmm_ops vmm_host_ops;

/* @flags: SLABDEV_OPEN_HUGE_PAGES. 0 or -ENOMEM. */
int __must_check vmm_host_get(unsigned int flags, void **dev);
void vmm_host_put(void *dev);

#endif /* VMM_BACKENDS_H */
