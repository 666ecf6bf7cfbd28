// SPDX-License-Identifier: BSD-2-Clause
/*
 * annotate.c - see annotate.h.
 *
 * Which objects the tools know is kept, in a bit for each 16 bytes of the
 * space: for what comes back to slabs may have been taken in vain, and what a
 * stream has freed may be its next object without having come back. The bits
 * grow with the pool, under its lock.
 */
#include <string.h>

#include "core/checker.h"
#include "core/overflow.h"
#include "slab/annotate.h"
#include "slab/class.h"
#include "slab/nvtx.h"
#include "slab/zone.h"

enum annotate_who {
	ANNOTATE_CHECKER = 0x1,
	ANNOTATE_NVTX = 0x2,
};

static u64 addr_of(const void *p)
{
	return (u64)(uintptr_t)p;
}

static bool is_told(const struct slabdev *sd, enum annotate_who who)
{
	return unlikely(sd->annotated & who);
}

/* The CPU's memory: the host's, and what a GPU shares with it. */
static bool is_for_cpu(const struct vmm_ops *ops)
{
	return ops->synchronous || ops->for_cpu;
}

/*
 * Zones and poison are filled and read by a driver, whose accesses to memory
 * that is the CPU's too would be reported: letters win.
 */
static bool has_bytes(const struct slabdev *sd)
{
	return debug_spec_global(&sd->debug_spec) &
	       (DEBUG_RED_ZONE | DEBUG_POISON) ||
	       strchr(sd->debug_spec.text, ',');
}

void annotate_prepare(const struct vmm_ops *ops, bool allowed)
{
	if (allowed && !ops->synchronous)
		nvtx_load();
}

bool annotate_wanted(struct slabdev *sd, bool allowed)
{
	if (allowed && is_for_cpu(sd->ops) &&
	    (sd->ops->synchronous || !has_bytes(sd)) && checker_is_there())
		sd->annotated |= ANNOTATE_CHECKER;
	if (allowed && !sd->ops->synchronous && nvtx_is_there())
		sd->annotated |= ANNOTATE_NVTX;
	return sd->annotated;
}

void annotate_pool_create(struct slabdev *sd)
{
	u64 most = vmm_chunk_offset(&sd->vmm, sd->vmm.max_chunks);

	if (!sd->annotated)
		return;
	if (resv_init(&sd->told, most / TINY_MIN / 8, 64 * KIB))
		sd->annotated = 0;
	else if (is_told(sd, ANNOTATE_CHECKER))
		checker_pool_create(sd, sd->debug_always & DEBUG_RED_ZONE ?
				    ZONE_MIN : 0);
}

void annotate_pool_destroy(struct slabdev *sd)
{
	if (is_told(sd, ANNOTATE_CHECKER))
		checker_pool_destroy(sd);
	if (is_told(sd, ANNOTATE_NVTX))
		nvtx_heaps_end(sd);
	if (sd->annotated)
		resv_fini(&sd->told);
}

/* ---- Who was told of what ----------------------------------------------- */

/* Bits up to that offset. False: no host memory, nobody is told of it. */
static bool has_bits(struct slabdev *sd, u64 end)
{
	u64 words = div_round_up(end / TINY_MIN, 64);
	bool grown;

	lock_acquire(&sd->pool.lock);
	grown = end <= sd->told_end ||
		!resv_grow(&sd->told, words * sizeof(u64));
	if (grown)
		store_release(&sd->told_end, max(sd->told_end, end));
	lock_release(&sd->pool.lock);
	return grown;
}

/* The word and the bit of the object at @p; NULL: it has none. */
static u64 *told_word(const struct slabdev *sd, const void *p, u64 *bit)
{
	u64 offset, i;

	if (!vmm_offset(&sd->vmm, addr_of(p), &offset) ||
	    offset >= load_acquire(&sd->told_end))
		return NULL;
	i = offset / TINY_MIN;
	*bit = (u64)1 << i % 64;
	return (u64 *)(void *)sd->told.base + i / 64;
}

/* Neighbours' owners change other bits of the word meanwhile. */
static bool set_told(const struct slabdev *sd, const void *p)
{
	u64 bit, *word = told_word(sd, p, &bit);

	return word && !(__atomic_fetch_or(word, bit, __ATOMIC_RELAXED) & bit);
}

static bool clear_told(const struct slabdev *sd, const void *p)
{
	u64 bit, *word = told_word(sd, p, &bit);

	return word && __atomic_fetch_and(word, ~bit, __ATOMIC_RELAXED) & bit;
}

static bool was_told(const struct slabdev *sd, const void *p)
{
	u64 bit, *word = told_word(sd, p, &bit);

	return word && __atomic_load_n(word, __ATOMIC_RELAXED) & bit;
}

/* ---- Memory ------------------------------------------------------------- */

void annotate_new(struct slabdev *sd, const void *p, u64 len)
{
	u64 offset;

	if (likely(!sd->annotated) ||
	    !vmm_offset(&sd->vmm, addr_of(p), &offset) ||
	    !has_bits(sd, offset + len))
		return;
	if (is_told(sd, ANNOTATE_CHECKER))
		checker_hide(addr_of(p), len);
	if (is_told(sd, ANNOTATE_NVTX))
		nvtx_heap_begin(sd, p);
}

void annotate_gone(struct slabdev *sd, const void *p, u64 len)
{
	if (is_told(sd, ANNOTATE_CHECKER))
		checker_show(addr_of(p), len, false);
}

void annotate_ctor_begin(struct slabdev *sd, const void *p, u64 len)
{
	if (is_told(sd, ANNOTATE_CHECKER))
		checker_show(addr_of(p), len, false);
}

void annotate_ctor_end(struct slabdev *sd, const void *p, u64 len)
{
	if (is_told(sd, ANNOTATE_CHECKER))
		checker_hide(addr_of(p), len);
}

/* ---- Objects ------------------------------------------------------------ */

/* May somebody have written into it whom a checker did not see? */
static bool is_defined(const struct slabdev *sd, const void *p)
{
	const struct class *c;
	u64 offset;

	if (!sd->ops->synchronous || vmm_share_type(&sd->vmm))
		return true;
	if (!vmm_offset(&sd->vmm, addr_of(p), &offset))
		return true;
	c = class_at(sd, offset);
	return c && c->ctor;
}

void annotate_alloc(struct slabdev *sd, const void *p, u64 size, u64 usable)
{
	if (likely(!sd->annotated))
		return;
	annotate_free(sd, p, usable);
	if (!set_told(sd, p))
		return;
	if (is_told(sd, ANNOTATE_CHECKER))
		checker_begin(sd, addr_of(p), size, is_defined(sd, p));
	if (is_told(sd, ANNOTATE_NVTX))
		nvtx_region_begin(sd, p, size);
}

void annotate_resize(struct slabdev *sd, const void *p, u64 old, u64 size,
		     u64 usable)
{
	if (likely(!sd->annotated) || !was_told(sd, p))
		return;
	if (is_told(sd, ANNOTATE_CHECKER))
		checker_resize(sd, addr_of(p), old, size, usable);
	if (is_told(sd, ANNOTATE_NVTX))
		nvtx_region_resize(p, size);
}

void annotate_free(struct slabdev *sd, const void *p, u64 usable)
{
	if (likely(!sd->annotated) || !clear_told(sd, p))
		return;
	if (is_told(sd, ANNOTATE_CHECKER))
		checker_end(sd, addr_of(p), usable);
	if (is_told(sd, ANNOTATE_NVTX))
		nvtx_region_end(p);
}
