// SPDX-License-Identifier: BSD-2-Clause
/*
 * pack_order.c - orders of blocks: sorting, and what comes first.
 *
 * No floating point: a plan is the same whatever compiler and machine made it.
 */
#include <string.h>

#include "core/overflow.h"
#include "slab/pack.h"

#define DIGIT_BITS 8u
#define DIGITS (1u << DIGIT_BITS)

/* One stable pass by the digit at @shift; false: all have the same one. */
static bool sort_digit(struct pack *p, u32 n, u32 shift)
{
	u32 count[DIGITS] = { 0 }, i, at, here;

	for (i = 0; i < n; i++)
		count[(p->key[i] >> shift) % DIGITS]++;
	if (count[(p->key[0] >> shift) % DIGITS] == n)
		return false;
	for (i = 0, at = 0; i < DIGITS; i++) {
		here = count[i];
		count[i] = at;
		at += here;
	}
	for (i = 0; i < n; i++) {
		at = count[(p->key[i] >> shift) % DIGITS]++;
		p->key_tmp[at] = p->key[i];
		p->order_tmp[at] = p->order[i];
	}
	return true;
}

void pack_sort(struct pack *p, u32 n)
{
	u64 *key;
	u32 *order;
	u32 shift;

	if (!n)
		return;
	for (shift = 0; shift < 64; shift += DIGIT_BITS) {
		if (!sort_digit(p, n, shift))
			continue;
		key = p->key;
		p->key = p->key_tmp;
		p->key_tmp = key;
		order = p->order;
		p->order = p->order_tmp;
		p->order_tmp = order;
	}
}

u32 pack_random(struct pack *p, u32 n)
{
	p->chance ^= p->chance << 13;
	p->chance ^= p->chance >> 7;
	p->chance ^= p->chance << 17;
	return (u32)(((p->chance >> 32) * n) >> 32);
}

u32 pack_log2(u64 x)
{
	u32 log;
	u64 rest;

	if (x == UINT64_MAX)
		return 64u << 8;
	log = ilog2(x + 1);
	/* Linear between two powers, which is near enough. */
	rest = (x + 1) << (63 - log) << 1;
	return (log << 8) | (u32)(rest >> 56);
}

struct pack_taste pack_random_taste(struct pack *p)
{
	struct pack_taste t;

	/* One after the other: an initializer has no order. */
	t.bytes = pack_random(p, 256);
	t.life = pack_random(p, 256);
	t.peak = pack_random(p, 1024);
	t.noise = pack_random(p, 48 << 10);
	return t;
}

u64 pack_rate(struct pack *p, const struct pack_taste *t, u32 i)
{
	return (u64)t->bytes * pack_log2(p->bytes[i]) +
	       (u64)t->life * pack_log2(p->life[i]) +
	       (u64)t->peak * pack_log2(p->peak[i]) +
	       pack_random(p, t->noise + 1);
}
