/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stamp.h - when memory was last used in the order of the bound stream.
 *
 * Memory that the bound stream has freed is at once the bound stream's again.
 * Others may have it when the device is past all work that was in that stream
 * by then. vmm/fence.c counts such points: the clock says which one memory that
 * is freed now has to wait for, and all points up to vmm_quiet() are reached. A
 * stamp is the lower half of a clock.
 *
 * Slabs have a stamp, and so has each chunk of the pool for its free slices: of
 * what was freed there last. One that is too new costs a wait, or memory that
 * is mapped though some was there; one that is too old would cost the data.
 *
 * The halves are compared by their difference: a stamp that is so old that it
 * looks new again is only taken to be new.
 */
#ifndef SLAB_STAMP_H
#define SLAB_STAMP_H

#include "vmm/vmm.h"

typedef u32 stamp_t;

/* What is freed in the bound stream by now has this stamp, or an older one. */
static inline stamp_t stamp_now(const struct vmm *v)
{
	return (stamp_t)vmm_clock(v);
}

static inline stamp_t stamp_newer(stamp_t a, stamp_t b)
{
	return (int32_t)(a - b) > 0 ? a : b;
}

static inline bool stamp_is_quiet(stamp_t stamp, const struct vmm *v)
{
	u64 quiet = vmm_quiet(v);

	return quiet == VMM_ALWAYS_QUIET ||
	       (int32_t)((stamp_t)quiet - stamp) >= 0;
}

#endif /* SLAB_STAMP_H */
