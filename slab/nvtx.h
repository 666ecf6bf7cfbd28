/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nvtx.h - tools that watch a GPU, told of objects by the NVIDIA Tools
 * Extension: compute-sanitizer finds touches of free memory with it.
 *
 * A tool is a shared library that the environment names,
 * NVTX_INJECTION64_PATH; the tool's own launcher sets it. It is loaded once,
 * when the first space of CUDA is opened, before any lock is taken, and puts
 * addresses of its functions into tables that we give it. All of the contract
 * that is used is declared in nvtx_abi.h: neither a header nor a library of
 * NVTX is needed.
 *
 * Each reservation of a space that has memory is a *heap* of NVTX's, within
 * which nothing may be touched but *regions*. Each live object is a region, of
 * the bytes that were asked for. A region has no handle, and is named by its
 * address.
 *
 * Locking: the pool lock covers the heaps; the tool is called without it.
 */
#ifndef SLAB_NVTX_H
#define SLAB_NVTX_H

#include "vmm/vmm.h"

struct slabdev;

/* Heaps that the tool was told of; in struct slabdev. */
struct nvtx_heap {
	u64 addr, bytes;	/* bytes 0: none */
	void *handle;		/* the tool's */
};

#if IS_ENABLED(CONFIG_SLAB_NVTX)

/* Load the tool, if that was not done: its code runs, and may call us. */
void nvtx_load(void);
/* Is there one that wants to know of memory? Loaded it is. */
bool nvtx_is_there(void);
/* There is memory at @p now: its reservation is a heap. */
void nvtx_heap_begin(struct slabdev *sd, const void *p);
/* All heaps of a space end. */
void nvtx_heaps_end(struct slabdev *sd);

void nvtx_region_begin(struct slabdev *sd, const void *p, u64 size);
void nvtx_region_resize(const void *p, u64 size);
void nvtx_region_end(const void *p);

#else

static inline void nvtx_load(void)
{
}

static inline bool nvtx_is_there(void)
{
	return false;
}

static inline void nvtx_heap_begin(struct slabdev *sd, const void *p)
{
	(void)sd;
	(void)p;
}

static inline void nvtx_heaps_end(struct slabdev *sd)
{
	(void)sd;
}

static inline void nvtx_region_begin(struct slabdev *sd, const void *p,
				     u64 size)
{
	(void)sd;
	(void)p;
	(void)size;
}

static inline void nvtx_region_resize(const void *p, u64 size)
{
	(void)p;
	(void)size;
}

static inline void nvtx_region_end(const void *p)
{
	(void)p;
}

#endif

#endif /* SLAB_NVTX_H */
