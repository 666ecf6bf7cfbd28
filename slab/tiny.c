// SPDX-License-Identifier: BSD-2-Clause
/* tiny.c - live bits of objects below a granule; see tiny.h. */
#include <errno.h>

#include "slab/tiny.h"

static u64 *live_word(const struct slab *s, u32 index)
{
	return &READ_ONCE(s->tiny)->live[index / 64];
}

static u64 live_bit(u32 index)
{
	return (u64)1 << (index % 64);
}

void tiny_set_live(const struct class *c, slot_t slot)
{
	struct slab *s = slab_of(c, slot);
	u32 i = slot_index(c, s, slot);

	__atomic_fetch_or(live_word(s, i), live_bit(i), __ATOMIC_RELAXED);
}

bool tiny_is_live(const struct slab *s, u32 index)
{
	return __atomic_load_n(live_word(s, index), __ATOMIC_RELAXED) &
	       live_bit(index);
}

int tiny_take(const struct class *c, u64 offset, slot_t *slot)
{
	struct slab *s = c->sd->slabs + (offset >> SLICE_SHIFT);
	u64 in_slab = offset & (SLICE_SIZE - 1);
	u32 i;

	*slot = (slot_t)(offset >> c->shift);
	i = (u32)(in_slab / c->stride);
	if (in_slab % c->stride || i >= s->nr)
		return -EINVAL;
	if (!(__atomic_fetch_and(live_word(s, i), ~live_bit(i),
				 __ATOMIC_RELAXED) & live_bit(i)))
		return -EALREADY;
	return 0;
}
