// SPDX-License-Identifier: BSD-2-Clause
/*
 * pack_list.c - first fit in orders that are not those of time.
 *
 * A block gets the lowest offset at which it overlaps none of its rivals that
 * have one. A few orders are good in general: the largest first, the longest
 * first, the largest where most is live. Others are mixtures of the same by
 * chance. Each plan is then *settled*: placed anew in the order of its offsets,
 * by which no block gets a higher one, until that changes nothing.
 */
#include "core/overflow.h"
#include "slab/pack.h"

#define SETTLE_ROUNDS 4u

struct span {
	u64 from, to;
};

struct list {
	struct pack *p;
	u32 *order;		/* blocks */
	bool *placed;
	struct span *span;	/* of the rivals of one block */
	struct pack_mem mem;
};

/* ---- One block ----------------------------------------------------------- */

static void sift(struct span *a, u32 at, u32 n)
{
	struct span x = a[at];
	u32 child;

	while ((child = 2 * at + 1) < n) {
		if (child + 1 < n && a[child + 1].from > a[child].from)
			child++;
		if (a[child].from <= x.from)
			break;
		a[at] = a[child];
		at = child;
	}
	a[at] = x;
}

/* By heap, in place: the library has no malloc, and qsort() would. */
static void sort_spans(struct span *a, u32 n)
{
	struct span last;
	u32 i;

	for (i = n / 2; i--; )
		sift(a, i, n);
	for (i = n; i-- > 1; ) {
		last = a[i];
		a[i] = a[0];
		a[0] = last;
		sift(a, 0, i);
	}
}

static u64 first_fit(struct list *l, u32 i)
{
	struct pack *p = l->p;
	u64 at = 0;
	u32 r, j, n = 0;

	for (r = p->first_rival[i]; r < p->first_rival[i + 1]; r++) {
		j = p->rival[r];
		if (l->placed[j])
			l->span[n++] = (struct span){
				p->trial[j], p->trial[j] + p->bytes[j] };
	}
	sort_spans(l->span, n);
	for (r = 0; r < n && l->span[r].from < at + p->bytes[i]; r++)
		if (l->span[r].to > at)
			at = align_up(l->span[r].to, p->mask[i] + 1);
	p->looks += 8ull * n + p->first_rival[i + 1] - p->first_rival[i] + 1;
	return at;
}

/* ---- All blocks ---------------------------------------------------------- */

/* False when the effort was spent before all were placed. */
static bool place_all(struct list *l)
{
	struct pack *p = l->p;
	u32 i, n;

	for (i = 0; i < p->nr; i++)
		l->placed[i] = false;
	for (n = 0; n < p->nr; n++) {
		if (pack_is_spent(p))
			return false;
		i = l->order[n];
		p->trial[i] = first_fit(l, i);
		l->placed[i] = true;
	}
	return true;
}

static void take_order(struct list *l)
{
	struct pack *p = l->p;
	u32 i;

	pack_sort(p, p->nr);
	for (i = 0; i < p->nr; i++)
		l->order[i] = p->order[i];
	p->looks += p->nr;
}

static void order_by_offset(struct list *l)
{
	struct pack *p = l->p;
	u32 i;

	for (i = 0; i < p->nr; i++) {
		p->order[i] = i;
		p->key[i] = p->trial[i];
	}
	take_order(l);
}

static void order_by_taste(struct list *l, const struct pack_taste *t)
{
	struct pack *p = l->p;
	u32 i;

	for (i = 0; i < p->nr; i++) {
		p->order[i] = i;
		p->key[i] = ~pack_rate(p, t, i);
	}
	take_order(l);
}

static void make_plan(struct list *l)
{
	struct pack *p = l->p;
	u64 before;
	u32 i;

	for (i = 0; i < SETTLE_ROUNDS; i++) {
		if (!place_all(l))
			return;
		before = p->best;
		pack_keep(p);
		if (pack_is_done(p) || (i && p->best == before))
			return;
		order_by_offset(l);
	}
}

static const struct pack_taste good_tastes[] = {
	{ .bytes = 256 },
	{ .life = 256 },
	{ .bytes = 256, .life = 256 },
	{ .peak = 1024, .bytes = 256 },
	{ .peak = 1024, .bytes = 128, .life = 128 },
};

static void lay_out(struct list *l)
{
	u64 n = l->p->nr;

	l->order = pack_take(&l->mem, n, sizeof(*l->order));
	l->placed = pack_take(&l->mem, n, sizeof(*l->placed));
	l->span = pack_take(&l->mem, n, sizeof(*l->span));
}

int pack_list(struct pack *p, u32 rounds)
{
	struct list l = { .p = p };
	struct pack_taste taste;
	u32 i;
	int err;

	lay_out(&l);
	err = pack_mem_commit(&l.mem);
	if (err)
		return err;
	lay_out(&l);
	for (i = 0; i < rounds && !pack_is_done(p) && !pack_is_spent(p); i++) {
		taste = i < ARRAY_SIZE(good_tastes) ? good_tastes[i] :
			pack_random_taste(p);
		order_by_taste(&l, &taste);
		make_plan(&l);
	}
	pack_mem_fini(&l.mem);
	return 0;
}
