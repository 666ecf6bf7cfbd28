// SPDX-License-Identifier: BSD-2-Clause
/*
 * origin.c - see origin.h.
 *
 * An entry of the table is the handle, the kind and the number in one word; 0
 * is an empty one. At most half of the entries are used, so that a search ends.
 */
#include <errno.h>
#include <string.h>

#include "core/depot.h"
#include "core/module.h"
#include "core/stack.h"
#include "slab/origin.h"
#include "slab/segment.h"

static_assert(STACK_MAX <= SLABDEV_SEG_FRAMES, "a record has all frames");
static_assert(MODULE_PATH_MAX ==
	      sizeof(((struct slabdev_seg_module *)0)->path), "same length");

#define KIND_BIT (UINT64_C(1) << 31)
#define NUMBER_MASK UINT64_C(0xffff)
#define IN_USE (UINT64_C(1) << 16)
static_assert(ORIGIN_MAX <= NUMBER_MASK + 1, "a number fits");

static u64 key_of(u32 handle, u32 kind)
{
	return (u64)handle << 32 |
	       (kind == SLABDEV_SEG_TRACE_FREE ? KIND_BIT : 0) | IN_USE;
}

static u32 unknown(u32 kind)
{
	return kind == SLABDEV_SEG_TRACE_FREE;
}

static struct slabdev_seg_trace *record(const struct origins *o, u32 number)
{
	return &o->block[number / SLABDEV_SEG_TRACES_PER_SEGMENT]
			->trace[number % SLABDEV_SEG_TRACES_PER_SEGMENT];
}

/* Index of the key's entry, or of the empty one where it would be. */
static u32 search(const struct origins *o, u64 key, u64 *entry)
{
	u32 i = (u32)(key * UINT64_C(0x9e3779b97f4a7c15) >> 40) % ORIGIN_SLOTS;

	for (;; i = (i + 1) % ORIGIN_SLOTS) {
		/* Pairs with the release of publish_locked(). */
		*entry = load_acquire(&o->slot[i]);
		if (!*entry || (*entry & ~NUMBER_MASK) == key)
			return i;
	}
}

u32 origin_find(const struct origins *o, u32 handle, u32 kind)
{
	u64 entry = 0;

	if (handle)
		search(o, key_of(handle, kind), &entry);
	return entry ? (u32)(entry & NUMBER_MASK) : unknown(kind);
}

/* ---- A new one ----------------------------------------------------------- */

/* What will be in the record, found out without a lock. */
struct draft {
	u32 nr_frames;
	const void *const *pc;
	struct module module[SLABDEV_SEG_FRAMES];
};

static void prepare(struct draft *d, u32 handle)
{
	u32 i;

	d->nr_frames = depot_fetch(handle, &d->pc);
	d->nr_frames = min(d->nr_frames, SLABDEV_SEG_FRAMES);
	for (i = 0; i < d->nr_frames; i++)
		if (!module_of(d->pc[i], &d->module[i]))
			d->module[i].path[0] = '\0';
}

/* The number of a module in a segment; SLABDEV_SEG_NO_MODULE: no room. */
static u32 module_number_locked(struct slabdev_seg_traces *block,
				const struct module *m)
{
	struct slabdev_seg_module *to = block->module;
	u32 i;

	for (i = 0; *m->path && i < SLABDEV_SEG_MODULES; i++) {
		if (!*to[i].path) {
			to[i].base = m->base;
			memcpy(to[i].path, m->path, sizeof(m->path));
			return i;
		}
		if (to[i].base == m->base && !strcmp(to[i].path, m->path))
			return i;
	}
	return SLABDEV_SEG_NO_MODULE;
}

static void fill_locked(struct slabdev_seg_traces *block,
			struct slabdev_seg_trace *t, u32 kind,
			const struct draft *d)
{
	u32 i, number;

	t->kind = kind;
	t->nr_frames = d->nr_frames;
	t->tid_low = UINT32_MAX;
	for (i = 0; i < d->nr_frames; i++) {
		u64 pc = (u64)(uintptr_t)d->pc[i];

		number = module_number_locked(block, &d->module[i]);
		if (number != SLABDEV_SEG_NO_MODULE)
			pc -= d->module[i].base;
		t->frame[i] = slabdev_seg_frame(number, pc);
	}
	store_release(&t->state, (u32)SLABDEV_SEG_USED);
}

/* The number of a new record; ORIGIN_MAX: there is no room for it. */
static u32 make_locked(struct slabdev *sd, struct origins *o, u32 handle,
		       u32 kind, const struct draft *d)
{
	u32 number = o->nr, n = number / SLABDEV_SEG_TRACES_PER_SEGMENT;

	assert_held(&sd->heaps_lock);
	if (number == ORIGIN_MAX)
		return ORIGIN_MAX;
	if (!o->block[n])
		o->block[n] = segment_traces_locked(sd);
	if (!o->block[n])
		return ORIGIN_MAX;
	o->handle[number] = handle;
	fill_locked(o->block[n], record(o, number), kind, d);
	WRITE_ONCE(o->nr, number + 1);
	return number;
}

static u32 publish_locked(struct slabdev *sd, struct origins *o, u32 handle,
			  u32 kind, const struct draft *d)
{
	u64 key = key_of(handle, kind), entry;
	u32 at = search(o, key, &entry), number;

	if (entry)
		return (u32)(entry & NUMBER_MASK);
	if (o->nr_slots == ORIGIN_MAX)
		return unknown(kind);
	number = make_locked(sd, o, handle, kind, d);
	if (number == ORIGIN_MAX)
		number = unknown(kind);
	o->nr_slots++;
	store_release(&o->slot[at], key | number);
	return number;
}

u32 origin_get(struct slabdev *sd, struct origins *o, u32 handle, u32 kind)
{
	struct draft d;
	u64 entry;
	u32 number;

	if (!handle)
		return unknown(kind);
	search(o, key_of(handle, kind), &entry);
	if (entry)
		return (u32)(entry & NUMBER_MASK);
	prepare(&d, handle);
	lock_acquire(&sd->heaps_lock);
	number = publish_locked(sd, o, handle, kind, &d);
	lock_release(&sd->heaps_lock);
	return number;
}

int origins_init_locked(struct slabdev *sd, struct origins *o)
{
	const struct draft none = { .nr_frames = 0 };

	if (make_locked(sd, o, 0, SLABDEV_SEG_TRACE_ALLOC, &none) ||
	    make_locked(sd, o, 0, SLABDEV_SEG_TRACE_FREE, &none) != 1)
		return -ENOMEM;
	return 0;
}

/* ---- Sums ---------------------------------------------------------------- */

/* Others may widen the range meanwhile: by what they saw, or by more. */
static void widen(struct slabdev_seg_trace *t, u32 tid)
{
	u32 low = READ_ONCE(t->tid_low), high = READ_ONCE(t->tid_high);

	while (tid < low &&
	       !__atomic_compare_exchange_n(&t->tid_low, &low, tid, true,
					    __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
	while (tid > high &&
	       !__atomic_compare_exchange_n(&t->tid_high, &high, tid, true,
					    __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

void origin_add(struct origins *o, u32 number, const struct origin_event *e)
{
	struct slabdev_seg_trace *t = record(o, number);

	shared_add(&t->objects, 1);
	shared_add(&t->bytes, e->size);
	shared_add(&t->total, 1);
	shared_add(&t->time_sum, e->time);
	WRITE_ONCE(t->last, e->time);
	widen(t, e->tid);
}

void origin_remove(struct origins *o, u32 number, const struct origin_event *e)
{
	struct slabdev_seg_trace *t = record(o, number);

	shared_sub(&t->objects, 1);
	shared_sub(&t->bytes, e->size);
	shared_sub(&t->time_sum, e->time);
}

void origin_resize(struct origins *o, u32 number, u64 from, u64 to)
{
	shared_add(&record(o, number)->bytes, to - from);
}
