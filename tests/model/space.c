// SPDX-License-Identifier: BSD-2-Clause
/*
 * space.c - the address space: regions, the parts in them, and who may touch.
 *
 * Both are kept in order of their address, in arrays that are searched by
 * halving: there are many lookups, and few regions. A region is what was
 * reserved or allocated in one piece; a part is a stretch of it with bytes.
 */
#include <stdio.h>
#include <sys/mman.h>

#include "tests/model/internal.h"

static struct span_set regions;

/* ---- Sets of spans -------------------------------------------------- */

size_t span_lower(const struct span_set *set, u64 addr)
{
	size_t low = 0, high = set->n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (set->v[mid]->start + set->v[mid]->size <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct span *span_at(const struct span_set *set, u64 addr)
{
	size_t i = span_lower(set, addr);

	return i < set->n && set->v[i]->start <= addr ? set->v[i] : NULL;
}

bool span_is_free(const struct span_set *set, u64 start, u64 size)
{
	size_t i = span_lower(set, start);

	return i == set->n || set->v[i]->start >= start + size;
}

int span_add(struct span_set *set, struct span *span)
{
	size_t i = span_lower(set, span->start), cap;
	struct span **v;

	if (set->n == set->cap) {
		cap = set->cap ? 2 * set->cap : 8;
		v = realloc(set->v, cap * sizeof(v[0]));
		if (!v)
			return -1;
		set->v = v;
		set->cap = cap;
	}
	memmove(set->v + i + 1, set->v + i, (set->n - i) * sizeof(set->v[0]));
	set->v[i] = span;
	set->n++;
	return 0;
}

void span_del(struct span_set *set, struct span *span)
{
	size_t i = span_lower(set, span->start);

	while (i < set->n && set->v[i] != span)
		i++;
	if (i == set->n)
		return;
	set->n--;
	memmove(set->v + i, set->v + i + 1, (set->n - i) * sizeof(set->v[0]));
}

/* ---- Regions and parts ---------------------------------------------- */

const struct span_set *space_regions(void)
{
	return &regions;
}

struct region *region_at(u64 addr)
{
	struct span *span = span_at(&regions, addr);

	return span ? container_of(span, struct region, span) : NULL;
}

struct part *part_at(u64 addr)
{
	struct region *region = region_at(addr);
	struct span *span = region ? span_at(&region->parts, addr) : NULL;

	return span ? container_of(span, struct part, span) : NULL;
}

struct region *region_create(enum region_kind kind, u64 start, u64 size)
{
	struct region *region = calloc(1, sizeof(*region));

	if (!region)
		return NULL;
	region->span = (struct span){ start, size };
	region->kind = kind;
	list_init(&region->node);
	if (span_add(&regions, &region->span)) {
		free(region);
		return NULL;
	}
	return region;
}

void region_destroy(struct region *region)
{
	span_del(&regions, &region->span);
	list_del(&region->node);
	free(region->parts.v);
	free(region);
}

struct part *part_create(struct region *region, u64 start, u64 size)
{
	struct part *part = calloc(1, sizeof(*part));

	if (!part)
		return NULL;
	part->span = (struct span){ start, size };
	part->region = region;
	part->buffer_id = broken(145) ? 1 : ++model.next_id;
	if (span_add(&region->parts, &part->span)) {
		free(part);
		return NULL;
	}
	return part;
}

void part_destroy(struct part *part)
{
	span_del(&part->region->parts, &part->span);
	mark_put(part->freed);
	free(part);
}

unsigned char *part_data(const struct part *part, u64 addr)
{
	if (!part->phys)
		return (unsigned char *)(uintptr_t)addr;
	return phys_data(part->phys) + part->offset +
	       (addr - part->span.start);
}

/* ---- Addresses ------------------------------------------------------ */

static void *map_nothing(u64 hint, u64 size)
{
	return mmap((void *)(uintptr_t)hint, size, PROT_NONE, MAP_PRIVATE |
		    MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static u64 map_aligned(u64 size, u64 align)
{
	u64 start, end, want;
	void *p = map_nothing(0, size + align);

	if (p == MAP_FAILED)
		return 0;
	start = (u64)(uintptr_t)p;
	end = start + size + align;
	want = (start + align - 1) / align * align;
	if (want > start)
		munmap(p, want - start);
	if (end > want + size)
		munmap((void *)(uintptr_t)(want + size), end - want - size);
	return want;
}

u64 va_reserve(u64 size, u64 align, u64 hint)
{
	void *p;
	u64 start;

	if (size > model.profile->va_bytes - model.va_used)
		return 0;
	if (hint) {
		p = map_nothing(hint, size);
		if (p != MAP_FAILED && (u64)(uintptr_t)p % align) {
			munmap(p, size);
			p = MAP_FAILED;
		}
		start = p == MAP_FAILED ? 0 : (u64)(uintptr_t)p;
	} else {
		start = 0;
	}
	if (!start)
		start = map_aligned(size, align);
	if (start)
		model.va_used += size;
	return start;
}

void va_release(u64 start, u64 size)
{
	munmap((void *)(uintptr_t)start, size);
	model.va_used -= size;
}

/* ---- Who may touch what --------------------------------------------- */

static CUresult explain(int statement, u64 addr, const char *why)
{
	char text[WHY_MAX / 2];

	snprintf(text, sizeof(text), "%#llx: %s", (unsigned long long)addr,
		 why);
	return refuse(statement, CUDA_ERROR_INVALID_VALUE, text);
}

static bool peers_leak(int device)
{
	struct context *ctx = context_current();

	return broken(188) && ctx && ctx->device == device && ctx->peers;
}

static CUresult check_mapping(const struct part *part, u64 addr, int device,
			      unsigned int what)
{
	unsigned int may = part->access[device];

	if ((may & what) == what || peers_leak(device))
		return CUDA_SUCCESS;
	if (may && !broken(115))
		return explain(115, addr, "the mapping may only be read");
	if (!may && part->revoked && !broken(116))
		return explain(116, addr, "access was taken back");
	if (!may && !part->revoked && !broken(92))
		return explain(92, addr, "no access was granted to the "
			       "device of the current context");
	return CUDA_SUCCESS;
}

static CUresult check_part(const struct part *part, u64 addr, int device,
			   unsigned int what)
{
	if (part->freed)
		undefined(0, "%#llx is used after cuMemFreeAsync",
			  (unsigned long long)addr);
	if (part->region->kind == REGION_RESERVED)
		return check_mapping(part, addr, device, what);
	if (part->pool && !pool_may(part->pool, device, what))
		return explain(0, addr, "the pool grants no access");
	return CUDA_SUCCESS;
}

CUresult space_check(u64 addr, u64 size, int device, unsigned int what)
{
	bool first = true;
	struct part *part;
	CUresult ret;
	u64 n;

	while (size) {
		part = part_at(addr);
		if (!part && broken(165) && !first)
			return CUDA_SUCCESS;
		if (!part)
			return explain(first ? 0 : 165, addr, "the range is "
				       "not all memory of the device");
		ret = check_part(part, addr, device, what);
		if (ret)
			return ret;
		n = min(size, part->span.start + part->span.size - addr);
		addr += n;
		size -= n;
		if (size && part->region->kind != REGION_RESERVED &&
		    !broken(165))
			return explain(165, addr, "the range goes beyond the "
				       "end of the allocation");
		if (size && broken(90))
			return explain(90, addr, "the range spans mappings");
		first = false;
	}
	return CUDA_SUCCESS;
}

u64 space_extent(u64 addr, int device, unsigned int what)
{
	struct part *part = part_at(addr);

	if (!part || (part->region->kind == REGION_RESERVED &&
		      (part->access[device] & what) != what &&
		      !broken(92) && !broken(115) && !broken(116) &&
		      !peers_leak(device)))
		return 0;
	return part->span.start + part->span.size - addr;
}
