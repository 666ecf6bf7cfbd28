// SPDX-License-Identifier: BSD-2-Clause
/* class_list.c - see class_list.h. */
#include "core/overflow.h"
#include "slab/class_list.h"

u32 class_list_of(const struct slab *s)
{
	return s->nr_free == s->nr ? LIST_EMPTY : ilog2(s->nr_free);
}

static void count_listed_locked(struct class *c, u32 list, u64 n)
{
	u64 *counter = list == LIST_EMPTY ? &c->rec->empty : &c->rec->partial;

	count_add(counter, n);
	if (list == LIST_EMPTY && !c->comm)
		shared_add(&c->sd->empty_slices, n * c->span);
}

void class_list_add_locked(struct class *c, struct slab *s, u32 list)
{
	u32 slice = (u32)(s - c->sd->slabs);

	s->list = (u8)list;
	s->prev = RANGE_NONE;
	/* A lookup may take it for a part of another state's descriptor. */
	WRITE_ONCE(s->next, c->list[s->list]);
	if (s->next != RANGE_NONE)
		c->sd->slabs[s->next].prev = slice;
	c->list[s->list] = slice;
	c->lists |= 1u << s->list;
	count_listed_locked(c, s->list, 1);
}

void class_list_del_locked(struct class *c, struct slab *s)
{
	if (s->next != RANGE_NONE)
		c->sd->slabs[s->next].prev = s->prev;
	if (s->prev != RANGE_NONE)
		WRITE_ONCE(c->sd->slabs[s->prev].next, s->next);
	else
		c->list[s->list] = s->next;
	if (c->list[s->list] == RANGE_NONE)
		c->lists &= ~(1u << s->list);
	count_listed_locked(c, s->list, (u64)-1);
}
