// SPDX-License-Identifier: BSD-2-Clause
/* nvtx.c - see nvtx.h; nvtx_tool.c loads the tool. */
#include "slab/nvtx.h"
#include "slab/nvtx_abi.h"
#include "slab/nvtx_tool.h"
#include "slab/slab.h"

void nvtx_load(void)
{
	nvtx_tool_load();
}

bool nvtx_is_there(void)
{
	return nvtx_tool()->has_memory;
}

/* ---- Heaps -------------------------------------------------------------- */

static void heap_register(const struct slabdev *sd, struct nvtx_heap *h)
{
	const struct nvtx_tool *tool = nvtx_tool();
	const struct nvtx_span span = { h->bytes, to_ptr(h->addr) };
	const struct nvtx_heap_desc desc = {
		.compat = NVTX_MEMORY_COMPAT,
		.size = sizeof(desc),
		.usage = NVTX_USAGE_SUB_ALLOCATOR,
		.type = NVTX_TYPE_ADDRESSES,
		.desc_size = sizeof(span),
		.desc = &span,
		.message_type = NVTX_MESSAGE_ASCII,
		.message = sd->name,
	};

	h->handle = tool->heap_register(tool->domain, &desc);
}

static void heap_unregister(void *handle)
{
	const struct nvtx_tool *tool = nvtx_tool();

	if (tool->heap_unregister)
		tool->heap_unregister(tool->domain, handle);
}

static struct nvtx_heap *find_locked(struct slabdev *sd, u64 addr)
{
	struct nvtx_heap *h;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sd->nvtx_heap); i++) {
		h = &sd->nvtx_heap[i];
		if (addr - h->addr < h->bytes)
			return h;
	}
	return NULL;
}

/* A heap whose reservation went back, or is another one now: taken out. */
static bool take_stale_locked(struct slabdev *sd, struct nvtx_heap *out)
{
	struct nvtx_heap *h;
	u64 addr, bytes;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sd->nvtx_heap); i++) {
		h = &sd->nvtx_heap[i];
		if (!h->bytes ||
		    (vmm_reservation_at(&sd->vmm, h->addr, &addr, &bytes) &&
		     addr == h->addr && bytes == h->bytes))
			continue;
		*out = *h;
		h->bytes = 0;
		return true;
	}
	return false;
}

static void drop_stale(struct slabdev *sd)
{
	struct nvtx_heap h;
	bool found;

	do {
		lock_acquire(&sd->pool.lock);
		found = take_stale_locked(sd, &h);
		lock_release(&sd->pool.lock);
		if (found)
			heap_unregister(h.handle);
	} while (found);
}

/* False: another thread was faster. There are as many places as reservations,
 * and none of them is stale. */
static bool keep_heap(struct slabdev *sd, const struct nvtx_heap *h)
{
	struct nvtx_heap *known, *unused = NULL;
	u32 i;

	lock_acquire(&sd->pool.lock);
	known = find_locked(sd, h->addr);
	for (i = 0; !known && !unused && i < ARRAY_SIZE(sd->nvtx_heap); i++)
		if (!sd->nvtx_heap[i].bytes)
			unused = &sd->nvtx_heap[i];
	if (unused)
		*unused = *h;
	lock_release(&sd->pool.lock);
	return unused;
}

void nvtx_heap_begin(struct slabdev *sd, const void *p)
{
	struct nvtx_heap h;
	bool known;

	drop_stale(sd);
	lock_acquire(&sd->pool.lock);
	known = find_locked(sd, (u64)(uintptr_t)p);
	lock_release(&sd->pool.lock);
	if (known || !vmm_reservation_at(&sd->vmm, (u64)(uintptr_t)p, &h.addr,
					 &h.bytes))
		return;
	heap_register(sd, &h);
	if (!keep_heap(sd, &h))
		heap_unregister(h.handle);
}

/* Nobody else uses the space any more. */
void nvtx_heaps_end(struct slabdev *sd)
{
	struct nvtx_heap *h;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sd->nvtx_heap); i++) {
		h = &sd->nvtx_heap[i];
		if (h->bytes)
			heap_unregister(h->handle);
		h->bytes = 0;
	}
}

/* ---- Regions ------------------------------------------------------------ */

void nvtx_region_begin(struct slabdev *sd, const void *p, u64 size)
{
	const struct nvtx_tool *tool = nvtx_tool();
	const struct nvtx_span span = { size, p };
	struct nvtx_regions desc = {
		.compat = NVTX_MEMORY_COMPAT,
		.size = sizeof(desc),
		.type = NVTX_TYPE_ADDRESSES,
		.nr = 1,
		.element_size = sizeof(span),
		.element = &span,
	};
	const struct nvtx_heap *h;

	lock_acquire(&sd->pool.lock);
	h = find_locked(sd, (u64)(uintptr_t)p);
	desc.heap = h ? h->handle : NULL;
	lock_release(&sd->pool.lock);
	tool->regions_register(tool->domain, &desc);
}

void nvtx_region_resize(const void *p, u64 size)
{
	const struct nvtx_tool *tool = nvtx_tool();
	const struct nvtx_span span = { size, p };
	const struct nvtx_resized desc = {
		.compat = NVTX_MEMORY_COMPAT,
		.size = sizeof(desc),
		.type = NVTX_TYPE_ADDRESSES,
		.nr = 1,
		.element_size = sizeof(span),
		.element = &span,
	};

	if (tool->regions_resize)
		tool->regions_resize(tool->domain, &desc);
}

void nvtx_region_end(const void *p)
{
	const struct nvtx_tool *tool = nvtx_tool();
	const struct nvtx_gone desc = {
		.compat = NVTX_MEMORY_COMPAT,
		.size = sizeof(desc),
		.ref_type = NVTX_REF_POINTER,
		.nr = 1,
		.element_size = sizeof(p),
		.element = &p,
	};

	tool->regions_unregister(tool->domain, &desc);
}
