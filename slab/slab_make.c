// SPDX-License-Identifier: BSD-2-Clause
/* slab_make.c - see slab_make.h. */
#include <errno.h>

#include "core/bitmap.h"
#include "core/cancel.h"
#include "core/log.h"
#include "core/overflow.h"
#include "slab/annotate.h"
#include "slab/class.h"
#include "slab/comm.h"
#include "slab/debug_large.h"
#include "slab/miss.h"
#include "slab/reclaim.h"
#include "slab/slab_make.h"
#include "slab/tiny.h"

/* Constructors run once, before anybody can have an object. */
static int construct(struct class *c, u32 slice)
{
	void *base = to_ptr(space_addr(c->sd, slice_offset(slice) + c->lead));
	NO_CANCELLATION;
	int err;

	if (!c->ctor)
		return 0;
	annotate_ctor_begin(c->sd, base, c->stride * c->nr);
	err = c->ctor(base, c->stride, c->nr, c->sd->stream,
		      c->ctor_arg);
	annotate_ctor_end(c->sd, base, c->stride * c->nr);
	if (!err && c->sd->host_order)
		err = vmm_settle(&c->sd->vmm, true);
	return err > 0 ? -EINVAL : err;
}

/* What the bound stream does to new objects has to be waited for by others. In
 * a capture there are neither zones nor poison. */
static bool is_filled(const struct class *c, unsigned int flags)
{
	return c->ctor || (READ_ONCE(c->debug) & DEBUG_BYTES &&
			   !(flags & GET_STILL));
}

/* What the objects of other classes left, where one granule is all there is. */
static void clear_rounding(struct class *c, u32 slice)
{
	slot_t first = (slot_t)((slice_offset(slice) + c->lead) >> c->shift);
	u8 *byte;
	u32 i;

	if (c->code != CLASS_GRANULE)
		return;
	for (i = 0; i < c->nr; i++) {
		byte = rounding_byte(c->sd, first + i);
		if (READ_ONCE(*byte))
			WRITE_ONCE(*byte, 0);
	}
}

/* A walk may look at the descriptor meanwhile: what it reads without the class
 * lock (slab_publish) comes last. */
static void describe_slab(struct class *c, u32 slice, struct tiny_bits *tiny,
			  unsigned int flags)
{
	struct slab *s = c->sd->slabs + slice;
	u64 *bits = tiny ? tiny->free : &s->free;
	u32 i, at;

	for (i = 0; i < c->nr; i += 64)
		WRITE_ONCE(bits[i / 64], bits_below(c->nr - i));
	if (tiny)
		store_release(&s->tiny, tiny);
	s->nr = (u16)c->nr;
	s->nr_free = (u16)c->nr;
	/* What was done to them is as new as a free. */
	s->stamp = is_filled(c, flags) ? stamp_now(&c->sd->vmm) :
				    pool_stamp(c->sd, slice, c->span);
	/* Until it is in one. What the run was before left anything here. */
	s->list = NR_LISTS;
	WRITE_ONCE(s->back, 0);
	for (i = 0; c->span > 1 && i < c->nr; i++) {
		at = (u32)((c->lead + (u64)i * c->stride) >> SLICE_SHIFT);
		if (at)
			WRITE_ONCE(s[at].back, (u16)at);
	}
	slab_publish(s, c->id, tiny ? SLAB_TINY : SLAB_OBJECTS);
}

static int find_run(struct class *c, unsigned int flags, u32 *slice)
{
	struct class *instead = flags & GET_NEW_SLAB ? NULL : c;
	u64 align = max((u64)c->align, SLICE_SIZE);

	if (c->comm)
		return reclaim_huge(c->sd, c->span, instead, flags, slice);
	if (!(flags & GET_IF_FREE))
		return reclaim_run(c->sd, c->span, align, instead, flags,
				   slice);
	*slice = pool_alloc(c->sd, c->span, align, flags & GET_QUIET);
	return *slice == RANGE_NONE ? -ENOMEM : 0;
}

static void give_run_back(struct class *c, u32 slice, stamp_t stamp)
{
	if (c->comm)
		pool_free_huge(c->sd, slice);
	else
		pool_free(c->sd, slice, c->span, stamp);
}

/* It is the class's from here on, and counted: a report on the way adds up. */
static void add_to_class(struct class *c, u32 slice, struct tiny_bits *tiny,
			 unsigned int flags)
{
	lock_acquire(&c->lock);
	describe_slab(c, slice, tiny, flags);
	count_add(&c->rec->slabs, 1);
	count_add(&c->rec->slab_allocs, 1);
	lock_release(&c->lock);
}

int slab_make(struct class *c, unsigned int flags, u32 *slice)
{
	struct slabdev *sd = c->sd;
	struct tiny_bits *tiny = NULL;
	int err;

	err = find_run(c, flags, slice);
	if (err)
		return err;
	debug_run_taken(sd, *slice, c->span);
	if (class_is_tiny(c)) {
		tiny = metapool_alloc(&sd->tiny_pool);
		if (!tiny) {
			err = error_set(-ENOMEM, "no host memory for the "
					"bitmaps of a slab");
			goto free_run;
		}
	}
	if (slice_offset(*slice + c->span) >> c->shift > UINT32_MAX) {
		err = error_set(-ENOMEM, "the free address is beyond what "
				"objects of %llu bytes can have",
				(unsigned long long)c->stride);
		goto free_tiny;
	}
	err = construct(c, *slice);
	if (err) {
		error_set(err, "the constructor of the cache returned %d", err);
		goto free_tiny;
	}
	clear_rounding(c, *slice);
	debug_new_slab(c, *slice, flags);
	add_to_class(c, *slice, tiny, flags);
	miss_made(sd);
	if (!c->comm)
		return 0;
	err = comm_mapped(c, *slice);
	if (!err)
		return 0;
	lock_acquire(&c->lock);
	slab_give_up_locked(c, *slice);
	lock_release(&c->lock);
	/* Other callbacks may have been set meanwhile. */
	comm_will_unmap(c, *slice);

free_tiny:
	if (tiny)
		metapool_free(&sd->tiny_pool, tiny);
free_run:
	give_run_back(c, *slice, stamp_now(&sd->vmm));
	return err;
}

void slab_give_up_locked(struct class *c, u32 slice)
{
	slab_unpublish(&c->sd->slabs[slice]);
	count_add(&c->rec->slabs, (u64)-1);
	count_add(&c->rec->slab_frees, 1);
}

void slab_give_back(struct class *c, u32 slice)
{
	debug_slab_goes(c, slice);
	if (class_is_tiny(c))
		metapool_free(&c->sd->tiny_pool, c->sd->slabs[slice].tiny);
	if (c->comm)
		comm_will_unmap(c, slice);
	give_run_back(c, slice, c->sd->slabs[slice].stamp);
}

/* Where what the bound stream did last may be going on. */
static bool has_to_settle(const struct class *c, unsigned int flags)
{
	return flags & GET_QUIET && is_filled(c, flags) &&
	       vmm_quiet(&c->sd->vmm) != VMM_ALWAYS_QUIET;
}

int slab_may_be_new(const struct class *c, unsigned int flags)
{
	if (!(flags & GET_STILL) || !has_to_settle(c, flags) || !c->ctor)
		return 0;
	return error_set(-EBUSY, "the constructor's work on new objects of %s "
			 "cannot be waited for in a capture: prefill the "
			 "cache, and have the space's stream done with it, "
			 "before", c->rec->name);
}

int slab_settle_new(const struct class *c, unsigned int flags)
{
	int err;

	if (!has_to_settle(c, flags) || (flags & GET_STILL))
		return 0;
	err = vmm_settle(&c->sd->vmm, !(flags & GET_NO_WAIT));
	if (!err)
		return 0;
	return error_set(err == -EAGAIN ? -EBUSY : -ENOMEM, "the constructor's "
			 "work on new objects is not done, and cannot be "
			 "waited for");
}
