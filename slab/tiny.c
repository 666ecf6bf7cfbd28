// SPDX-License-Identifier: BSD-2-Clause
/* tiny.c - live bits of objects below a granule; see tiny.h. */
#include <errno.h>

#include "slab/tiny.h"

/*
 * The bits of the slab at @s, or NULL: there is none of tiny objects any more.
 * Whoever has no live object in it can come when the slab has just gone: by a
 * question, or by a free while another thread frees the same object. The place
 * of the pointer may hold something else by then, so it is believed only if the
 * descriptor is that of a tiny slab after it was read.
 *
 * What is left: a second free that stops here until the slab has gone and its
 * bits serve another one, ends the life of an object of that one. It is then a
 * free after the memory was handed out again, which no tag would notice either.
 */
static struct tiny_bits *bits_of(const struct slab *s)
{
	struct tiny_bits *bits = load_acquire(&s->tiny);

	return slab_state(s) == SLAB_TINY ? bits : NULL;
}

static u64 live_bit(u32 index)
{
	return (u64)1 << (index % 64);
}

void tiny_set_live(const struct class *c, slot_t slot)
{
	struct slab *s = slab_of(c, slot);
	u32 i = slot_index(c, s, slot);

	__atomic_fetch_or(&READ_ONCE(s->tiny)->live[i / 64], live_bit(i),
			  __ATOMIC_RELAXED);
}

bool tiny_is_live(const struct slab *s, u32 index)
{
	struct tiny_bits *bits = bits_of(s);

	return bits && __atomic_load_n(&bits->live[index / 64],
				       __ATOMIC_RELAXED) & live_bit(index);
}

int tiny_take(const struct class *c, u64 offset, slot_t *slot)
{
	struct slab *s = c->sd->slabs + (offset >> SLICE_SHIFT);
	struct tiny_bits *bits;
	u64 into = 0, at;
	u32 i;

	*slot = (slot_t)(offset >> c->shift);
	at = slab_index(c, offset & (SLICE_SIZE - 1), &into);
	if (into || at >= s->nr)
		return -EINVAL;
	i = (u32)at;
	bits = bits_of(s);
	if (!bits || !(__atomic_fetch_and(&bits->live[i / 64], ~live_bit(i),
					  __ATOMIC_RELAXED) & live_bit(i)))
		return -EALREADY;
	return 0;
}
