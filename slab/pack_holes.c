// SPDX-License-Identifier: BSD-2-Clause
/* pack_holes.c - see pack_holes.h. */
#include "core/overflow.h"
#include "slab/pack_holes.h"

/* ---- The treap ----------------------------------------------------------- */

/* As deep as the treap, which is not deep (see holes_init()).
 * NOLINTBEGIN(misc-no-recursion) */

static u64 room_of(const struct holes *h, u32 t)
{
	return t == PACK_NONE ? 0 : h->of[t].room;
}

static void update(struct holes *h, u32 t)
{
	struct hole *n = &h->of[t];

	n->room = max(n->gap, max(room_of(h, n->left), room_of(h, n->right)));
}

/* All below @from to *l, the others to *r. */
static void split(struct holes *h, u32 t, u64 from, u32 *l, u32 *r)
{
	if (t == PACK_NONE) {
		*l = *r = PACK_NONE;
		return;
	}
	if (h->of[t].from < from) {
		split(h, h->of[t].right, from, &h->of[t].right, r);
		*l = t;
	} else {
		split(h, h->of[t].left, from, l, &h->of[t].left);
		*r = t;
	}
	update(h, t);
}

static u32 merge(struct holes *h, u32 l, u32 r)
{
	if (l == PACK_NONE)
		return r;
	if (r == PACK_NONE)
		return l;
	if (h->of[l].priority > h->of[r].priority) {
		h->of[l].right = merge(h, h->of[l].right, r);
		update(h, l);
		return l;
	}
	h->of[r].left = merge(h, l, h->of[r].left);
	update(h, r);
	return r;
}

static u32 first(const struct holes *h, u32 t)
{
	while (h->of[t].left != PACK_NONE)
		t = h->of[t].left;
	return t;
}

/* The first node of @t has another gap now. */
static void set_first_gap(struct holes *h, u32 t, u64 gap)
{
	if (h->of[t].left == PACK_NONE)
		h->of[t].gap = gap;
	else
		set_first_gap(h, h->of[t].left, gap);
	update(h, t);
}

/* NOLINTEND(misc-no-recursion) */

/* Each bit of @x changes each bit of the result with a chance of one half. */
static u64 mix(u64 x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

static u32 priority_of(const struct holes *h, u32 i)
{
	return (u32)mix(h->secret + i);
}

/* ---- Holes --------------------------------------------------------------- */

void holes_init(struct holes *h, struct hole *of, u32 nr)
{
	/* Offsets may be in the order of priorities that are known, on purpose,
	 * and the treap would be a chain. Nobody knows the addresses. */
	*h = (struct holes){ .of = of, .nr = nr, .root = nr,
			     .secret = mix(mix((uintptr_t)of) +
					   (uintptr_t)h) };
	of[nr] = (struct hole){ .from = UINT64_MAX, .to = UINT64_MAX,
				.gap = UINT64_MAX, .room = UINT64_MAX,
				.left = PACK_NONE, .right = PACK_NONE };
}

/* The offset in the hole below @n, or UINT64_MAX. @n has room for @bytes. */
static u64 fit(const struct hole *n, u64 bytes, u64 mask)
{
	u64 at;

	if (align_up_overflows(n->from - n->gap, mask + 1, &at))
		return UINT64_MAX;
	return at <= n->from && n->from - at >= bytes ? at : UINT64_MAX;
}

struct search {
	u64 bytes, mask;
	u64 room;		/* holes with less are passed over */
	u32 left;		/* misses that there may still be */
};

/* The lowest offset in a hole with the room, or UINT64_MAX.
 * As deep as the treap. NOLINTNEXTLINE(misc-no-recursion) */
static u64 find(const struct holes *h, u32 t, struct search *s)
{
	const struct hole *n;
	u64 at;

	if (room_of(h, t) < s->room)
		return UINT64_MAX;
	n = &h->of[t];
	at = find(h, n->left, s);
	if (at == UINT64_MAX && s->left && n->gap >= s->room) {
		at = fit(n, s->bytes, s->mask);
		s->left -= at == UINT64_MAX;
	}
	if (at == UINT64_MAX && s->left)
		at = find(h, n->right, s);
	return at;
}

/* Where the lowest hole with room for @bytes begins; there is one. */
static u64 lowest(const struct holes *h, u64 bytes)
{
	const struct hole *n = &h->of[h->root];

	for (;;) {
		if (room_of(h, n->left) >= bytes)
			n = &h->of[n->left];
		else if (n->gap >= bytes)
			return n->from - n->gap;
		else
			n = &h->of[n->right];
	}
}

u64 holes_find(struct holes *h, u64 bytes, u64 mask)
{
	const u64 more[HOLES_ROUNDS] = { 0, mask / 8, mask / 2 };
	struct search s = { .bytes = bytes, .mask = mask };
	u64 at;
	u32 i;

	for (i = 0; i < HOLES_ROUNDS; i++) {
		s.room = bytes + more[i];
		s.left = HOLES_MISSES;
		at = find(h, h->root, &s);
		h->misses += HOLES_MISSES - s.left;
		if (at != UINT64_MAX)
			return at;
	}
	return align_up(lowest(h, bytes + mask), mask + 1);
}

u32 holes_at(const struct holes *h, u64 from, u64 to)
{
	u32 t = h->root, after = PACK_NONE;

	/* The first block that ends above @from. */
	while (t != PACK_NONE) {
		if (h->of[t].to > from) {
			after = t;
			t = h->of[t].left;
		} else {
			t = h->of[t].right;
		}
	}
	return after == h->nr || h->of[after].from >= to ? PACK_NONE : after;
}

void holes_add(struct holes *h, u32 i, u64 from, u64 bytes)
{
	struct hole *n = &h->of[i], *after;
	u32 l, r;

	split(h, h->root, from, &l, &r);
	after = &h->of[first(h, r)];
	*n = (struct hole){ .from = from, .to = from + bytes,
			    .gap = from - (after->from - after->gap),
			    .left = PACK_NONE, .right = PACK_NONE,
			    .priority = priority_of(h, i) };
	n->room = n->gap;
	set_first_gap(h, r, after->from - n->to);
	h->root = merge(h, merge(h, l, i), r);
}

void holes_remove(struct holes *h, u32 i)
{
	const struct hole *n = &h->of[i];
	u64 start = n->from - n->gap;
	u32 l, r, self;

	split(h, h->root, n->from, &l, &r);
	split(h, r, n->from + 1, &self, &r);
	set_first_gap(h, r, h->of[first(h, r)].from - start);
	h->root = merge(h, l, r);
}
