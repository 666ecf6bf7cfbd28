// SPDX-License-Identifier: BSD-2-Clause
/*
 * nvtx_tool.c - see nvtx_tool.h.
 *
 * The order is that of NVTX: the library is loaded, gets the classic part, then
 * the module. The tables are ours, and stay as long as the library does: for
 * ever, since nobody knows what a tool keeps of them. A process that gained
 * privileges loads nothing that its environment names.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/log.h"
#include "core/os.h"
#include "slab/nvtx_tool.h"

static struct nvtx_tool tool;
/* Why there is none, to be said once: by then others can load it, too. */
static char problem[256];

/* ---- The classic part -------------------------------------------------- */

/* Where the tool puts its functions, and pointers to these places. Number 0 of
 * each module is no function. */
static nvtx_function function[NVTX_NR_MODULES][NVTX_FUNCTIONS_MAX];
static nvtx_function *places[NVTX_NR_MODULES][NVTX_FUNCTIONS_MAX];

static int get_functions(u32 module, nvtx_function ***table, unsigned int *n)
{
	u32 i;

	if (!module || module >= NVTX_NR_MODULES)
		return 0;
	for (i = 1; i < NVTX_FUNCTIONS_MAX; i++)
		places[module][i] = &function[module][i];
	if (table)
		*table = places[module];
	if (n)
		*n = NVTX_FUNCTIONS_MAX;
	return 1;
}

static void set_tool_version(u32 version)
{
	(void)version;
}

static const void *get_table(u32 id)
{
	static const struct nvtx_callbacks callbacks = {
		sizeof(callbacks), get_functions,
	};
	static const struct nvtx_version version = {
		sizeof(version), NVTX_VERSION, 0, set_tool_version,
	};

	switch (id) {
	case NVTX_TABLE_CALLBACKS:
		return &callbacks;
	case NVTX_TABLE_VERSION:
		return &version;
	default:
		return NULL;
	}
}

/* A tool may do without this part, and without domains. */
static void *make_domain(void *lib)
{
	nvtx_initialize initialize =
		(nvtx_initialize)dlsym(lib, "InitializeInjectionNvtx2");
	nvtx_domain_create create;

	if (!initialize || !initialize(get_table))
		return NULL;
	create = (nvtx_domain_create)
		 function[NVTX_MODULE_CORE2][NVTX_DOMAIN_CREATE];
	return create ? create("slabdev") : NULL;
}

/* ---- The module of memory ----------------------------------------------- */

static bool get_memory(void *lib)
{
	static intptr_t slot[NVTX_MEMORY_SLOTS];
	struct nvtx_segment segment = { 1, NVTX_MEMORY_SLOTS, slot };
	struct nvtx_module module = {
		.version = NVTX_VERSION,
		.size = sizeof(module),
		.module = NVTX_MODULE_MEMORY,
		.compat = NVTX_MEMORY_COMPAT,
		.nr_segments = 1,
		.segment = &segment,
	};
	nvtx_initialize_module initialize = (nvtx_initialize_module)
		dlsym(lib, "InitializeInjectionNvtxExtension");

	if (!initialize || !initialize(&module))
		return false;
	tool.heap_register =
		(nvtx_heap_register)slot[NVTX_HEAP_REGISTER];
	tool.heap_unregister =
		(nvtx_heap_unregister)slot[NVTX_HEAP_UNREGISTER];
	tool.regions_register =
		(nvtx_regions_register)slot[NVTX_REGIONS_REGISTER];
	tool.regions_resize =
		(nvtx_regions_resize)slot[NVTX_REGIONS_RESIZE];
	tool.regions_unregister =
		(nvtx_regions_unregister)slot[NVTX_REGIONS_UNREGISTER];
	return tool.heap_register && tool.regions_register &&
	       tool.regions_unregister;
}

static void load(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *lib;

	if (!path || !*path || os_is_secure())
		return;
	lib = dlopen(path, RTLD_LAZY);
	if (!lib) {
		snprintf(problem, sizeof(problem), "%s", dlerror());
		return;
	}
	tool.domain = make_domain(lib);
	tool.has_memory = get_memory(lib);
}

void nvtx_tool_load(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	static bool was_said;

	pthread_once(&once, load);
	if (*problem && !__atomic_exchange_n(&was_said, true, __ATOMIC_RELAXED))
		pr_warn("NVTX: %s", problem);
}

const struct nvtx_tool *nvtx_tool(void)
{
	return &tool;
}
