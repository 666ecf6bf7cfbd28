/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device.h - what there is to open a space on. Included by slabdev.h.
 *
 * Device 0 is this machine's memory. Behind it come the CUDA devices in the
 * driver's order, which CUDA_VISIBLE_DEVICES rules; where there are none, one
 * entry with the spec "cuda" says why. Discovery loads the driver when it is
 * asked for the first time, and creates no context: it costs no device memory.
 */
#ifndef SLABDEV_DEVICE_H
#define SLABDEV_DEVICE_H

#include <slabdev/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Feature: memory can be mapped piece by piece; addresses never move. */
#define SLABDEV_DEVICE_VMM 0x1u
/** Feature: stream-ordered pools (SLABDEV_BACKING_POOL). */
#define SLABDEV_DEVICE_POOLS 0x2u
/** Feature: managed memory ("cuda-managed:N"). */
#define SLABDEV_DEVICE_MANAGED 0x4u
/** Feature: memory can be shared as a file descriptor. */
#define SLABDEV_DEVICE_FD 0x8u
/** Feature: memory can be shared as a fabric handle; the machine decides. */
#define SLABDEV_DEVICE_FABRIC 0x10u
/** Feature: network cards can reach VMM memory (SLABDEV_OPEN_RDMA). */
#define SLABDEV_DEVICE_RDMA 0x20u
/** Feature: the device shares this machine's memory. */
#define SLABDEV_DEVICE_INTEGRATED 0x40u
/** Feature: an instance, a part of a device (MIG). */
#define SLABDEV_DEVICE_MIG 0x80u
/** Feature: processes share the device through MPS. */
#define SLABDEV_DEVICE_MPS 0x100u

/**
 * struct slabdev_device_info - one device that was really discovered
 * @spec: what slabdev_open() takes to open a space on it
 * @name: the device's own name
 * @uuid: identity that is the same in every process, "GPU-..."; "" where there
 *        is none. "cuda:" with it behind is a spec too
 * @reason: "" when usable, else why not
 * @memory_total: bytes of memory
 * @memory_free: bytes free now, counting all processes; 0 where that cannot
 *               be told without a context on the device
 * @granularity: bytes of the smallest piece that can be mapped; 0: none can
 * @usable: 1 when a space can be opened on it
 * @features: SLABDEV_DEVICE_*
 * @pci: PCI address, "domain:bus:device.function"; "" where there is none
 * @compute_major: compute capability; 0 for host memory
 * @compute_minor: its second number
 * @driver: newest CUDA version that the driver supports, 1000 * major +
 *          10 * minor; 0 for host memory
 */
struct slabdev_device_info {
	char spec[64];
	char name[128];
	char uuid[48];
	char reason[192];
	uint64_t memory_total;
	uint64_t memory_free;
	uint64_t granularity;
	uint32_t usable;
	uint32_t features;
	char pci[32];
	uint32_t compute_major;
	uint32_t compute_minor;
	uint32_t driver;
	uint32_t reserved;
};

/**
 * slabdev_device_count - how many devices were discovered
 *
 * Context: any thread. Driver: discovery only.
 * Return: the number of entries, usable or not; at least 1.
 */
SLABDEV_API int slabdev_device_count(void);

/**
 * slabdev_device_get - describe one discovered device
 * @index: 0 .. slabdev_device_count() - 1
 * @info: filled in
 * @size: sizeof(*@info)
 *
 * Context: any thread. Driver: discovery only.
 * Return: 0; -EINVAL for an index out of range, @info NULL or @size 0.
 */
SLABDEV_API int slabdev_device_get(int index, struct slabdev_device_info *info,
				   size_t size);

#ifdef __cplusplus
}
#endif
#endif /* SLABDEV_DEVICE_H */
