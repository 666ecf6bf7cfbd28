/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * driver.h - the driver that is measured, a real one or the model.
 *
 * Device 0, whose primary context is current on the only thread from
 * gpu_open() to gpu_close(). On the model, time is what its clock says: what
 * the driver's calls would have cost by the table of tests/model/cost.c, and
 * nothing else. A program repeats its figures there to the nanosecond, and no
 * figure of it says anything of hardware.
 */
#ifndef TESTS_GPU_DRIVER_H
#define TESTS_GPU_DRIVER_H

#include "tests/model/model.h"

#define GPU_FUNCTION(need, base, suffix, version, args, names) \
	cuda_pfn_##base base;
#define GPU_CONTROL(name, type, args) name##_pfn name;

struct gpu {
	bool is_model;
	bool has_vmm, has_pools;
	bool is_exclusive;		/* for one process at a time */
	int version;			/* 1000 * major + 10 * minor */
	int compute_major, compute_minor;
	u64 total_bytes;
	size_t granularity;		/* 0 without has_vmm */
	char name[128];
	SLABDEV_CUDA_FUNCS(GPU_FUNCTION)
	MODEL_CONTROLS(GPU_CONTROL)
};

extern struct gpu gpu;

/* false: there is no device that can be used, and @why says why. */
bool gpu_open(char *why, size_t len);
void gpu_close(void);

u64 gpu_clock_ns(void);
u64 gpu_free_bytes(void);
const char *gpu_error(CUresult code);

/* What was asked of the driver must not fail: ends the program if it did. */
void gpu_must(const char *call, CUresult code);

/** GPU_MUST - call it, and end the program with its name when it fails */
#define GPU_MUST(call) gpu_must(#call, gpu.call)

/* Device 0: how its memory is created, and that it may use it. */
CUmemAllocationProp gpu_prop(void);
CUmemAccessDesc gpu_access(void);

#endif /* TESTS_GPU_DRIVER_H */
