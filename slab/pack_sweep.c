// SPDX-License-Identifier: BSD-2-Clause
/*
 * pack_sweep.c - first fit in the order of time.
 *
 * What an allocator would do that gets one block after the other, with the
 * lowest hole for each: but time may also run backwards, and of the blocks that
 * begin in the same section those come first that are larger, or live longer.
 * The four plans take about n * log(n) looks for any number of blocks, and any
 * number that live at once. So it is with different alignments too: of the
 * holes that turn out to be misaligned only a few are tried for each block
 * (pack_holes.h), and count. The plans are made whatever the effort: there is
 * always one.
 */
#include "slab/pack_holes.h"

struct sweep {
	struct pack *p;
	struct holes holes;
	struct hole *hole;
	u32 *births, *deaths;	/* blocks, by section */
	bool backwards, by_life;
	struct pack_mem mem;
};

static u32 birth(const struct sweep *s, u32 i)
{
	const struct pack *p = s->p;

	return s->backwards ? p->nr_sections - p->end[i] : p->begin[i];
}

static u32 death(const struct sweep *s, u32 i)
{
	const struct pack *p = s->p;

	return s->backwards ? p->nr_sections - p->begin[i] : p->end[i];
}

static void sort_births(struct sweep *s)
{
	struct pack *p = s->p;
	u32 i;

	for (i = 0; i < p->nr; i++) {
		p->order[i] = i;
		p->key[i] = ~(s->by_life ? p->life[i] : p->bytes[i]);
	}
	pack_sort(p, p->nr);
	for (i = 0; i < p->nr; i++)
		p->key[i] = birth(s, p->order[i]);
	pack_sort(p, p->nr);
	for (i = 0; i < p->nr; i++)
		s->births[i] = p->order[i];
}

static void sort_deaths(struct sweep *s)
{
	struct pack *p = s->p;
	u32 i;

	for (i = 0; i < p->nr; i++) {
		p->order[i] = i;
		p->key[i] = death(s, i);
	}
	pack_sort(p, p->nr);
	for (i = 0; i < p->nr; i++)
		s->deaths[i] = p->order[i];
}

static void sweep(struct sweep *s)
{
	struct pack *p = s->p;
	u32 b, d = 0, i;

	sort_births(s);
	sort_deaths(s);
	holes_init(&s->holes, s->hole, p->nr);
	for (b = 0; b < p->nr; b++) {
		i = s->births[b];
		while (death(s, s->deaths[d]) <= birth(s, i))
			holes_remove(&s->holes, s->deaths[d++]);
		p->trial[i] = holes_find(&s->holes, p->bytes[i], p->mask[i]);
		holes_add(&s->holes, i, p->trial[i], p->bytes[i]);
	}
	p->looks += 32ull * p->nr + s->holes.misses;
	pack_keep(p);
}

static void lay_out(struct sweep *s)
{
	u64 n = s->p->nr;

	s->hole = pack_take(&s->mem, n + 1, sizeof(*s->hole));
	s->births = pack_take(&s->mem, n, sizeof(*s->births));
	s->deaths = pack_take(&s->mem, n, sizeof(*s->deaths));
}

int pack_sweep(struct pack *p)
{
	struct sweep s = { .p = p };
	u32 way;
	int err;

	lay_out(&s);
	err = pack_mem_commit(&s.mem);
	if (err)
		return err;
	lay_out(&s);
	for (way = 0; way < 4 && (!way || p->best > p->goal); way++) {
		s.backwards = way & 1;
		s.by_life = way & 2;
		sweep(&s);
	}
	pack_mem_fini(&s.mem);
	return 0;
}
