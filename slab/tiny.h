/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tiny.h - caches of objects smaller than a granule.
 *
 * Several objects share a granule, so its tag cannot say which of them is
 * live, and stays 0. Instead a slab of tiny objects (one slice, at most 1,024
 * of them) has two bitmaps on the host: which objects are in the slab, as any
 * slab has, and which are live, set and cleared atomically. A slot counts units
 * of 2^shift bytes, the largest power of two that divides the stride. Nothing
 * else differs: the same sheaves, barn, and slab lists.
 *
 * Costs against larger objects: the fast paths of alloc.c do not know them, so
 * each alloc and free is a call more, a look at the slab's descriptor, and an
 * atomic operation.
 */
#ifndef SLAB_TINY_H
#define SLAB_TINY_H

#include "slab/class.h"

struct tiny_bits {
	u64 free[TINY_MAX_OBJECTS / 64];	/* class lock */
	u64 live[TINY_MAX_OBJECTS / 64];	/* atomic */
};

/* The bits "this object is in its slab", a word for 64 objects. */
static inline u64 *slab_bits(struct slab *s)
{
	return s->state == SLAB_TINY ? s->tiny->free : &s->free;
}

static inline bool class_is_tiny(const struct class *c)
{
	return c->shift < GRANULE_SHIFT;
}

/* The object's life begins. */
void tiny_set_live(const struct class *c, slot_t slot);
/*
 * The object at @offset of a slab of tiny objects ends its life.
 * 0; -EINVAL not the start of an object, -EALREADY not live.
 */
int tiny_take(const struct class *c, u64 offset, slot_t *slot);
bool tiny_is_live(const struct slab *s, u32 index);

#endif /* SLAB_TINY_H */
