/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * nvtx_abi.h - version 3 of NVTX between a program and a tool, as far as it is
 * used here: layouts and numbers are NVTX's, names are ours.
 *
 * A tool exports two functions. The first gets the classic part of NVTX, the
 * second a module, of which memory is one. Both return 0 if the tool does not
 * want it.
 *
 *   int InitializeInjectionNvtx2(nvtx_get_table get)
 *   int InitializeInjectionNvtxExtension(struct nvtx_module *module)
 */
#ifndef SLAB_NVTX_ABI_H
#define SLAB_NVTX_ABI_H

#define NVTX_VERSION 3

/* ---- The classic part -------------------------------------------------- */

typedef void (*nvtx_function)(void);
typedef const void *(*nvtx_get_table)(u32 table);
typedef int (*nvtx_initialize)(nvtx_get_table get);

enum { NVTX_TABLE_CALLBACKS = 1, NVTX_TABLE_VERSION = 3 };

/* Modules of functions; of the others a tool gets places that nobody calls. */
enum { NVTX_MODULE_CORE2 = 5, NVTX_NR_MODULES = 7 };
/* Functions of the module CORE2. */
enum { NVTX_DOMAIN_CREATE = 11, NVTX_FUNCTIONS_MAX = 16 };

struct nvtx_callbacks {
	size_t size;
	/* *@table: pointers to where the tool puts its functions. */
	int (*get)(u32 module, nvtx_function ***table, unsigned int *n);
};

struct nvtx_version {
	size_t size;
	u32 version;
	u32 reserved;
	void (*set_tool_version)(u32 version);
};

typedef void *(*nvtx_domain_create)(const char *name);

/* ---- The module of memory ----------------------------------------------- */

#define NVTX_MODULE_MEMORY 1
#define NVTX_MEMORY_COMPAT 0x0102
/* Places for functions, by number. */
#define NVTX_MEMORY_SLOTS 63

enum {
	NVTX_HEAP_REGISTER = 1,
	NVTX_HEAP_UNREGISTER = 2,
	NVTX_REGIONS_REGISTER = 4,
	NVTX_REGIONS_RESIZE = 5,
	NVTX_REGIONS_UNREGISTER = 6,
};

struct nvtx_segment {
	size_t id;		/* 1 */
	size_t nr_slots;
	intptr_t *slot;		/* 0: the tool has no such function */
};

struct nvtx_module {
	u16 version;
	u16 size;		/* of this structure */
	u16 module;
	u16 compat;
	size_t nr_segments;
	struct nvtx_segment *segment;
	intptr_t (*get_function)(u32 number);
	const void *info;
};

typedef int (*nvtx_initialize_module)(struct nvtx_module *module);

#define NVTX_USAGE_SUB_ALLOCATOR 1u
#define NVTX_TYPE_ADDRESSES 1u
#define NVTX_REF_POINTER 1u
#define NVTX_MESSAGE_ASCII 1u

struct nvtx_span {
	size_t size;
	const void *p;
};

struct nvtx_heap_desc {
	u16 compat, size;
	u32 reserved;
	u32 usage;
	u32 type;
	size_t desc_size;
	const void *desc;	/* struct nvtx_span */
	u32 category;
	u32 message_type;
	const char *message;
};

struct nvtx_regions {		/* to register */
	u16 compat, size;
	u32 type;
	void *heap;
	size_t nr;
	size_t element_size;
	const struct nvtx_span *element;
	void **handle;		/* NULL: by address */
};

struct nvtx_resized {
	u16 compat, size;
	u32 type;
	size_t nr;
	size_t element_size;
	const struct nvtx_span *element;
};

struct nvtx_gone {		/* to unregister */
	u16 compat, size;
	u32 ref_type;
	size_t nr;
	size_t element_size;
	const void *const *element;
};

typedef void *(*nvtx_heap_register)(void *domain,
				    const struct nvtx_heap_desc *desc);
typedef void (*nvtx_heap_unregister)(void *domain, void *heap);
typedef void (*nvtx_regions_register)(void *domain,
				      const struct nvtx_regions *desc);
typedef void (*nvtx_regions_resize)(void *domain,
				    const struct nvtx_resized *desc);
typedef void (*nvtx_regions_unregister)(void *domain,
					const struct nvtx_gone *desc);

#endif /* SLAB_NVTX_ABI_H */
