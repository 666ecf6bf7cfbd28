// SPDX-License-Identifier: BSD-2-Clause
/*
 * pack_problem.c - from the caller's blocks to sections, and the bound.
 *
 * The beginnings and ends of all blocks are sorted by time, ends first where
 * they meet. A beginning that follows an end begins a section; the numbers of
 * blocks are the order of their beginnings.
 */
#include <errno.h>
#include <string.h>

#include "core/log.h"
#include "core/os.h"
#include "core/overflow.h"
#include "slab/pack.h"

#define DEFAULT_ALIGN 256u

/* ---- Memory -------------------------------------------------------------- */

void *pack_take(struct pack_mem *m, u64 count, size_t size)
{
	char *at = m->resv.base ? m->resv.base + m->used : NULL;

	m->used = align_up(m->used + count * size, CACHE_LINE);
	return at;
}

int pack_mem_commit(struct pack_mem *m)
{
	u64 bytes = max(m->used, (u64)1);
	char limit[160];
	int err;

	err = resv_init(&m->resv, bytes, bytes);
	if (!err) {
		err = resv_grow(&m->resv, bytes);
		if (err)
			resv_fini(&m->resv);
	}
	m->used = 0;
	if (!err)
		return 0;
	os_memory_limit(bytes, limit, sizeof(limit));
	return error_set(-ENOMEM, "no host memory: %llu bytes to make a plan%s",
			 (unsigned long long)bytes, limit);
}

void pack_mem_fini(struct pack_mem *m)
{
	resv_fini(&m->resv);
	m->used = 0;
}

/* ---- What the caller gave ------------------------------------------------ */

u64 pack_align(const struct slabdev_pack_block *b)
{
	return b->align ? b->align : DEFAULT_ALIGN;
}

static int check_block(const struct slabdev_pack_block *b, size_t i)
{
	if (!b->bytes)
		return error_set(-EINVAL, "blocks[%zu].bytes is 0: leave out "
				 "what has no size", i);
	if (!is_power_of_2(pack_align(b)))
		return error_set(-EINVAL, "blocks[%zu].align is %llu, which is "
				 "no power of two", i,
				 (unsigned long long)b->align);
	if (b->upper <= b->lower)
		return error_set(-EINVAL, "blocks[%zu] lives from %lld to "
				 "%lld: upper must be above lower", i,
				 (long long)b->lower, (long long)b->upper);
	return 0;
}

int pack_check_blocks(const struct slabdev_pack_block *blocks, size_t n,
		      u64 *limit)
{
	size_t i;
	int err;

	if (n && !blocks)
		return error_set(-EINVAL, "blocks is NULL, but n is %zu", n);
	if (n > SLABDEV_PACK_MAX)
		return error_set(-EOVERFLOW, "n is %zu: a plan has at most "
				 "%zu blocks", n, SLABDEV_PACK_MAX);
	*limit = 0;
	for (i = 0; i < n; i++) {
		err = check_block(&blocks[i], i);
		if (err)
			return err;
		if (add_overflows(*limit, blocks[i].bytes, limit) ||
		    add_overflows(*limit, pack_align(&blocks[i]) - 1, limit))
			return error_set(-EOVERFLOW, "blocks[%zu]: the sum of "
					 "the blocks' bytes up to here does "
					 "not fit 64 bits", i);
	}
	return 0;
}

/* ---- Sections ------------------------------------------------------------ */

static void lay_out(struct pack *p, struct pack_mem *m)
{
	u64 n = p->nr;

	p->bytes = pack_take(m, n, sizeof(*p->bytes));
	p->mask = pack_take(m, n, sizeof(*p->mask));
	p->life = pack_take(m, n, sizeof(*p->life));
	p->begin = pack_take(m, n, sizeof(*p->begin));
	p->end = pack_take(m, n, sizeof(*p->end));
	p->id = pack_take(m, n, sizeof(*p->id));
	p->trial = pack_take(m, n, sizeof(*p->trial));
	p->plan = pack_take(m, n, sizeof(*p->plan));
	p->height = pack_take(m, n, sizeof(*p->height));
	p->key = pack_take(m, 2 * n, sizeof(*p->key));
	p->key_tmp = pack_take(m, 2 * n, sizeof(*p->key_tmp));
	p->order = pack_take(m, 2 * n, sizeof(*p->order));
	p->order_tmp = pack_take(m, 2 * n, sizeof(*p->order_tmp));
}

/* The events: 0 .. n - 1 are ends, n .. 2n - 1 beginnings. */
static void sort_events(struct pack *p, const struct slabdev_pack_block *blocks)
{
	const u64 sign = (u64)1 << 63;
	u32 i, n = p->nr;

	for (i = 0; i < n; i++) {
		p->key[i] = (u64)blocks[i].upper ^ sign;
		p->key[n + i] = (u64)blocks[i].lower ^ sign;
		p->order[i] = i;
		p->order[n + i] = n + i;
	}
	pack_sort(p, 2 * n);
}

static void add_block(struct pack *p, const struct slabdev_pack_block *b,
		      u32 i, u32 id)
{
	p->bytes[i] = b->bytes;
	p->mask[i] = pack_align(b) - 1;
	p->life[i] = (u64)b->upper - (u64)b->lower;
	p->begin[i] = p->nr_sections - 1;
	p->id[i] = id;
	p->unit |= b->bytes | pack_align(b);
}

/* What lives at one moment. */
struct moment {
	u64 bytes;	/* their sum */
	u64 padded;	/* the same, each rounded up to the least alignment */
	u64 mask;	/* of that alignment */
	u32 nr;
};

static void count(struct moment *m, u64 bytes, bool begins)
{
	u64 padded = align_up(bytes, m->mask + 1);

	m->bytes += begins ? bytes : -bytes;
	m->padded += begins ? padded : -padded;
	m->nr += begins ? 1 : -1u;
}

/* What is live at @m takes that: only the last one ends anywhere. */
static u64 bound_at(const struct moment *m)
{
	return max(m->bytes, m->padded > m->mask ? m->padded - m->mask : 0);
}

/* Returns what all that lives at once takes when each is padded. */
static u64 make_sections(struct pack *p,
			 const struct slabdev_pack_block *blocks,
			 u64 least_mask)
{
	struct moment now = { .mask = least_mask };
	u64 padded = 0;
	u32 e, id, n = p->nr, next = 0;
	bool ended = true;
	/* By the caller's number: ours. Nothing is sorted until it is done. */
	u32 *number = p->order_tmp;

	for (e = 0; e < 2 * n; e++) {
		id = p->order[e] % n;
		if (p->order[e] >= n) {
			p->nr_sections += ended;
			add_block(p, &blocks[id], next, id);
			number[id] = next++;
			p->nr_pairs += now.nr;
		} else {
			p->end[number[id]] = p->nr_sections;
		}
		ended = p->order[e] < n;
		count(&now, blocks[id].bytes, !ended);
		if (ended)
			continue;
		p->height[p->nr_sections - 1] = now.bytes;
		p->bound = max(p->bound, bound_at(&now));
		padded = max(padded, now.padded);
	}
	return padded;
}

int pack_init(struct pack *p, const struct slabdev_pack_block *blocks, size_t n)
{
	u64 limit, padded, least_mask = UINT64_MAX;
	size_t i;
	int err;

	err = pack_check_blocks(blocks, n, &limit);
	if (err)
		return err;
	*p = (struct pack){ .nr = (u32)n, .limit = limit, .best = UINT64_MAX,
			    .capacity = UINT64_MAX,
			    .chance = 0x9e3779b97f4a7c15 };
	lay_out(p, &p->mem);
	err = pack_mem_commit(&p->mem);
	if (err)
		return err;
	lay_out(p, &p->mem);
	for (i = 0; i < n; i++)
		least_mask = min(least_mask, pack_align(&blocks[i]) - 1);
	sort_events(p, blocks);
	padded = make_sections(p, blocks, least_mask);
	p->unit &= -p->unit;
	p->bound = align_up(p->bound, p->unit);
	p->goal = p->bound;
	/* Less than an alignment would be won, by a search of no end. */
	if (n > PACK_EXACT_BLOCKS)
		p->goal = max(p->bound, align_up(padded, p->unit));
	return 0;
}

void pack_fini(struct pack *p)
{
	pack_mem_fini(&p->pair_mem);
	pack_mem_fini(&p->mem);
}

void pack_keep(struct pack *p)
{
	u64 total = 0;
	u32 i;

	for (i = 0; i < p->nr; i++)
		total = max(total, p->trial[i] + p->bytes[i]);
	p->looks += p->nr;
	if (total >= p->best)
		return;
	p->best = total;
	memcpy(p->plan, p->trial, p->nr * sizeof(*p->plan));
}

/* ---- Rivals -------------------------------------------------------------- */

static void lay_out_pairs(struct pack *p, struct pack_mem *m)
{
	p->first_rival = pack_take(m, (u64)p->nr + 1, sizeof(u32));
	p->rival = pack_take(m, 2 * p->nr_pairs, sizeof(u32));
	p->peak = pack_take(m, p->nr, sizeof(u64));
}

/* Where the lists begin: each pair counts for both. */
static void count_rivals(struct pack *p)
{
	u32 i, j, at = 0, n;

	memset(p->first_rival, 0, ((size_t)p->nr + 1) * sizeof(u32));
	for (i = 0; i < p->nr; i++)
		for (j = i + 1; j < p->nr && p->begin[j] < p->end[i]; j++) {
			p->first_rival[i]++;
			p->first_rival[j]++;
		}
	for (i = 0; i <= p->nr; i++) {
		n = p->first_rival[i];
		p->first_rival[i] = at;
		at += n;
	}
}

static void list_rivals(struct pack *p)
{
	u32 *fill = p->order_tmp;
	u32 i, j;

	memcpy(fill, p->first_rival, p->nr * sizeof(*fill));
	for (i = 0; i < p->nr; i++)
		for (j = i + 1; j < p->nr && p->begin[j] < p->end[i]; j++) {
			p->rival[fill[i]++] = j;
			p->rival[fill[j]++] = i;
		}
}

int pack_pair(struct pack *p)
{
	u32 i, s;
	int err;

	lay_out_pairs(p, &p->pair_mem);
	err = pack_mem_commit(&p->pair_mem);
	if (err)
		return err;
	lay_out_pairs(p, &p->pair_mem);
	count_rivals(p);
	list_rivals(p);
	for (i = 0; i < p->nr; i++)
		for (s = p->begin[i]; s < p->end[i]; s++)
			p->peak[i] = max(p->peak[i], p->height[s]);
	p->looks += 4 * p->nr_pairs;
	return 0;
}
