/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nvtx_tool.h - the tool that NVTX_INJECTION64_PATH names, loaded.
 *
 * Without one, or with one that cannot be loaded or does not want to know of
 * memory, all is as if NVTX was not built in; that it failed is logged.
 */
#ifndef SLAB_NVTX_TOOL_H
#define SLAB_NVTX_TOOL_H

#include "slab/nvtx_abi.h"

struct nvtx_tool {
	bool has_memory;	/* the functions below are there, but those
				 * that may be NULL */
	void *domain;		/* of ours; NULL: the tool's default one */
	nvtx_heap_register heap_register;
	nvtx_heap_unregister heap_unregister;		/* or NULL */
	nvtx_regions_register regions_register;
	nvtx_regions_resize regions_resize;		/* or NULL */
	nvtx_regions_unregister regions_unregister;
};

/* By the first call, without locks of the library; the others wait for it. */
void nvtx_tool_load(void);
/* Const once it is loaded. */
const struct nvtx_tool *nvtx_tool(void);

#endif /* SLAB_NVTX_TOOL_H */
