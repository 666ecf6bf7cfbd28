// SPDX-License-Identifier: BSD-2-Clause
/* group_layout.c - see group_layout.h. */
#include <errno.h>

#include "core/log.h"
#include "core/overflow.h"
#include "slab/group_layout.h"

/*
 * Two sizes at once, in one register of every processor that we know. Arrays
 * of sizes and of pointers are aligned to their elements only.
 */
typedef u64 pair __attribute__((vector_size(16)));
typedef u64 loose_pair
	__attribute__((vector_size(16), aligned(8), may_alias));
/* What is written may be an array of pointers or of numbers. */
typedef u64 word __attribute__((may_alias));

static_assert(sizeof(size_t) == sizeof(u64) && sizeof(void *) == sizeof(u64),
	      "sizes and addresses are words");

static inline pair load(const size_t *sizes)
{
	return *(const loose_pair *)(const void *)sizes;
}

static inline pair both(u64 x)
{
	return (pair){ x, x };
}

static inline u64 round_up(u64 size, u64 align)
{
	return (size + align - 1) & -align;
}

/* ---- Blocks of one alignment ------------------------------------------- */

/*
 * How many blocks from the first have @pitch: those whose size is at most
 * @align - 1 more than the smallest that has it.
 */
static size_t count_run(const size_t *sizes, size_t n, u64 align, u64 pitch)
{
	const u64 least = pitch - align + 1;
	const pair low = both(least);
	size_t i;
	pair off;

	for (i = 0; i + 16 <= n; i += 16) {
		off = (load(sizes + i) - low) | (load(sizes + i + 2) - low) |
		      (load(sizes + i + 4) - low) |
		      (load(sizes + i + 6) - low) |
		      (load(sizes + i + 8) - low) |
		      (load(sizes + i + 10) - low) |
		      (load(sizes + i + 12) - low) |
		      (load(sizes + i + 14) - low);
		if ((off[0] | off[1]) & -align)
			break;
	}
	while (i < n && sizes[i] - least < align)
		i++;
	return i;
}

/*
 * A pitch is the last byte's number with its low bits set, plus one:
 * ((size - 1) | (align - 1)) + 1. Of size 0 that number is all ones.
 */
static inline pair last_byte(const size_t *sizes)
{
	return load(sizes) - both(1);
}

/* The pitches of @n blocks; none is more than @bound + 1, which is all ones if
 * one is 0. */
static u64 sum_pitches(const size_t *sizes, size_t n, u64 align, u64 *bound)
{
	const pair low = both(align - 1);
	pair sum = both(0), bits = both(0), a, b, c, d;
	u64 all = n, tail = 0;
	size_t i;

	for (i = 0; i + 8 <= n; i += 8) {
		a = last_byte(sizes + i) | low;
		b = last_byte(sizes + i + 2) | low;
		c = last_byte(sizes + i + 4) | low;
		d = last_byte(sizes + i + 6) | low;
		bits |= (a | b) | (c | d);
		sum += (a + b) + (c + d);
	}
	for (; i < n; i++) {
		tail |= (sizes[i] - 1) | (align - 1);
		all += (sizes[i] - 1) | (align - 1);
	}
	*bound = bits[0] | bits[1] | tail;
	return all + sum[0] + sum[1];
}

/* The group is a run and a plain rest; false: it takes care. */
static bool measure_plain(struct group_layout *l)
{
	u64 first = l->sizes[0], last = l->sizes[l->n - 1], bound, sum, most;
	size_t rest;

	if (l->aligns || !first || first > INT64_MAX)
		return false;
	l->pitch = round_up(first, l->align);
	l->run = count_run(l->sizes, l->n, l->align, l->pitch);
	rest = l->n - l->run;
	sum = sum_pitches(l->sizes + l->run, rest, l->align, &bound);
	if (mul_overflows(l->run, l->pitch, &l->bytes) ||
	    add_overflows(bound, 1, &most) ||
	    mul_overflows(rest, most, &most) ||
	    add_overflows(l->bytes, sum, &l->bytes))
		return false;
	l->bytes -= round_up(last, l->align) - last;
	l->base_align = l->align;
	/* The last one may be of any size. */
	l->odd = l->run + 1;
	l->stride = l->odd >= l->n ? l->pitch : 0;
	return true;
}

static void place_run(word *to, size_t n, u64 at, u64 pitch)
{
	pair addr = { at, at + pitch };
	const pair one = both(2 * pitch), two = one + one, four = two + two;
	size_t i;

	for (i = 0; i + 8 <= n; i += 8) {
		*(loose_pair *)(to + i) = addr;
		*(loose_pair *)(to + i + 2) = addr + one;
		*(loose_pair *)(to + i + 4) = addr + two;
		*(loose_pair *)(to + i + 6) = addr + two + one;
		addr += four;
	}
	for (; i < n; i++)
		to[i] = at + i * pitch;
}

/* Of four blocks only one addition waits for the four before. */
static void place_plain(word *to, const size_t *sizes, size_t n, u64 at,
			u64 align)
{
	u64 a, b, c, d;
	size_t i;

	for (i = 0; i + 4 <= n; i += 4) {
		a = round_up(sizes[i], align);
		b = round_up(sizes[i + 1], align) + a;
		c = round_up(sizes[i + 2], align);
		d = round_up(sizes[i + 3], align) + c;
		to[i] = at;
		to[i + 1] = at + a;
		to[i + 2] = at + b;
		to[i + 3] = at + b + c;
		at += b + d;
	}
	for (; i < n; i++) {
		a = round_up(sizes[i], align);
		to[i] = at;
		at += a;
	}
}

/* ---- Anything ----------------------------------------------------------- */

static u64 block_align(const struct group_layout *l, size_t i)
{
	return l->aligns && l->aligns[i] ? l->aligns[i] : l->align;
}

static int overflow(const struct group_layout *l, size_t i)
{
	return error_set(-EOVERFLOW, "sizes[%zu] is %zu: with the blocks "
			 "before it that is more than an address can count", i,
			 l->sizes[i]);
}

/* Block @i, which is not empty, begins @step behind the one before. */
static void follow_stride(struct group_layout *l, size_t i, u64 step)
{
	if (i == 1)
		l->stride = step;
	else if (i && step != l->stride)
		l->odd = min(l->odd, i);
}

static int check_align(const struct group_layout *l, size_t i, u64 align)
{
	if (likely(is_power_of_2(align) && align <= GROUP_ALIGN_MAX))
		return 0;
	return error_set(-EINVAL, "attr.aligns[%zu] is %zu: a power of two up "
			 "to 1 GiB is needed", i, l->aligns[i]);
}

static int measure_carefully(struct group_layout *l)
{
	u64 align = l->align, at, end = 0, before = 0, base_align = 1;
	size_t i;

	l->odd = l->n;
	for (i = 0; i < l->n; i++) {
		align = block_align(l, i);
		if (check_align(l, i, align))
			return -EINVAL;
		if (!l->sizes[i]) {
			l->odd = min(l->odd, i);
			continue;
		}
		if (align_up_overflows(end, align, &at) ||
		    add_overflows(at, l->sizes[i], &end))
			return overflow(l, i);
		follow_stride(l, i, at - before);
		base_align = max(base_align, align);
		before = at;
	}
	if (l->n == 1 && align_up_overflows(end, align, &l->stride))
		return overflow(l, 0);
	if (l->odd < l->n)
		l->stride = 0;
	l->bytes = end;
	l->base_align = base_align;
	return 0;
}

static void place_carefully(const struct group_layout *l, u64 base, word *to)
{
	u64 at = base;
	size_t i;

	for (i = 0; i < l->n; i++) {
		to[i] = 0;
		if (!l->sizes[i])
			continue;
		to[i] = round_up(at, block_align(l, i));
		at = to[i] + l->sizes[i];
	}
}

/* ---- The group ---------------------------------------------------------- */

int group_measure(struct group_layout *l)
{
	int err;

	l->careful = !measure_plain(l);
	if (!l->careful)
		return 0;
	err = measure_carefully(l);
	if (!err && !l->bytes)
		return error_set(-EINVAL, "all %zu blocks have 0 bytes", l->n);
	return err;
}

void group_place(const struct group_layout *l, u64 base, void *to)
{
	word *words = to;

	if (l->careful) {
		place_carefully(l, base, words);
		return;
	}
	place_run(words, l->run, base, l->pitch);
	place_plain(words + l->run, l->sizes + l->run, l->n - l->run,
		    base + l->run * l->pitch, l->align);
}
