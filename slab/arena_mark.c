// SPDX-License-Identifier: BSD-2-Clause
/*
 * arena_mark.c - marks, and going back to them.
 *
 * A mark is a place in a stack, with a serial number that counts the marks of
 * the entry in all its uses. The user holds
 *
 *      63 .. 48       47 .. 0
 *      entry + 1      serial number
 *
 * and the offset, which is compared, for it cannot be wrong unless somebody
 * wrote it. Serial numbers rise along the stack, so a mark is found, or not, by
 * bisection: one that is not there and not newer than the last one has ended.
 * The stack closes up where a mark is dropped.
 */
#include <errno.h>
#include <string.h>

#include "core/log.h"
#include "slab/arena.h"
#include "slab/arena_debug.h"
#include "slab/hazard_watch.h"
#include "slab/reclaim.h"

#define SERIAL_BITS 48
#define SERIAL_MAX (((u64)1 << SERIAL_BITS) - 1)
#define MARKS_STEP (4 * KIB)

static struct arena_mark *mark_at(const struct arena *a, u32 i)
{
	return (struct arena_mark *)(void *)a->marks.base + i;
}

static u64 entry_of(const struct arena *a)
{
	return (u64)a->h.index + 1;
}

/* ---- Marks --------------------------------------------------------------- */

static int room_for_mark(struct arena *a)
{
	int err = 0;

	if (a->nr_marks == SLABDEV_ARENA_MARKS_MAX || a->serial == SERIAL_MAX)
		return error_set(-ENOSPC, "slabdev_arena_mark: arena '%s' has "
				 "%u marks already", a->name, a->nr_marks);
	if (!a->marks.base)
		err = resv_init(&a->marks, SLABDEV_ARENA_MARKS_MAX *
				sizeof(struct arena_mark), MARKS_STEP);
	if (!err)
		err = resv_grow(&a->marks, ((u64)a->nr_marks + 1) *
				sizeof(struct arena_mark));
	return err ? error_set(-ENOMEM, "slabdev_arena_mark: no host memory "
			       "for a mark of arena '%s'", a->name) : 0;
}

int slabdev_arena_mark(struct slabdev_arena *arena,
		       struct slabdev_arena_mark *mark)
{
	int err;
	struct arena *a = arena_find(arena, "slabdev_arena_mark", &err);

	if (!a)
		return err;
	if (!mark)
		return error_set(-EINVAL, "slabdev_arena_mark: mark is NULL");
	err = room_for_mark(a);
	if (err)
		return err;
	arena_fold(a);
	*mark_at(a, a->nr_marks++) = (struct arena_mark){
		.serial = ++a->serial,
		.top = a->top,
		.requested = a->requested,
		.nr_zones = READ_ONCE(a->nr_zones),
	};
	mark->id = entry_of(a) << SERIAL_BITS | a->serial;
	mark->offset = a->top - a->base;
	return 0;
}

/* The first mark of the stack whose number is not below. */
static u32 find_serial(const struct arena *a, u64 serial)
{
	u32 low = 0, high = a->nr_marks, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (mark_at(a, mid)->serial < serial)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static int find_mark(const struct arena *a, const char *call,
		     const struct slabdev_arena_mark *mark, u32 *i)
{
	u64 serial;

	if (!mark)
		return error_set(-EINVAL, "%s: mark is NULL", call);
	serial = mark->id & SERIAL_MAX;
	if (!mark->id || !serial || (mark->id >> SERIAL_BITS == entry_of(a) &&
				     serial > a->serial))
		return error_set(-EINVAL, "%s: 0x%llx is no mark that "
				 "slabdev_arena_mark() has set", call,
				 (unsigned long long)mark->id);
	if (mark->id >> SERIAL_BITS != entry_of(a) || serial <= a->no_serial)
		return error_set(-EINVAL, "%s: the mark is not of arena '%s', "
				 "but of another one", call, a->name);
	*i = find_serial(a, serial);
	if (*i == a->nr_marks || mark_at(a, *i)->serial != serial)
		return error_set(-EALREADY, "%s: the mark has ended: arena "
				 "'%s' was rewound to it or to an earlier one, "
				 "reset, or the mark dropped", call, a->name);
	if (mark_at(a, *i)->top - a->base != mark->offset)
		return error_set(-EINVAL, "%s: the mark was written to: its "
				 "offset is %llu, and was %llu", call,
				 (unsigned long long)mark->offset,
				 (unsigned long long)(mark_at(a, *i)->top -
						      a->base));
	return 0;
}

/* Of nested scopes it is the last mark that ends first: then nothing moves. */
int slabdev_arena_unmark(struct slabdev_arena *arena,
			 const struct slabdev_arena_mark *mark)
{
	int err;
	struct arena *a = arena_find(arena, "slabdev_arena_unmark", &err);
	u32 i = 0;

	if (!a)
		return err;
	err = find_mark(a, "slabdev_arena_unmark", mark, &i);
	if (err)
		return err;
	a->nr_marks--;
	memmove(mark_at(a, i), mark_at(a, i + 1),
		(a->nr_marks - i) * sizeof(struct arena_mark));
	return 0;
}

/* ---- Going back ---------------------------------------------------------- */

/* What is above @to ends; @requested and @nr_zones are below. */
static void go_back(struct arena *a, u64 to, u64 requested, u32 nr_zones)
{
	watch_rewind(a->h.sd, to, a->top, a->stream);
	arena_debug_end(a, nr_zones, "rewound");
	arena_debug_poison(a, to);
	arena_fold(a);
	WRITE_ONCE(a->peak, max(a->peak, a->top));
	a->advanced += a->top - to;
	a->gone_requested += a->requested - requested;
	WRITE_ONCE(a->requested, requested);
	WRITE_ONCE(a->top, to);
	arena_lower(a);
}

int slabdev_arena_rewind(struct slabdev_arena *arena,
			 const struct slabdev_arena_mark *mark)
{
	struct arena_mark to;
	int err;
	struct arena *a = arena_find(arena, "slabdev_arena_rewind", &err);
	u32 i = 0;

	if (!a)
		return err;
	watch_site(a->h.sd);
	err = find_mark(a, "slabdev_arena_rewind", mark, &i);
	if (!err)
		err = arena_join(a, "slabdev_arena_rewind");
	if (err)
		return err;
	to = *mark_at(a, i);
	go_back(a, to.top, to.requested, to.nr_zones);
	a->nr_marks = i;
	a->rewinds++;
	return 0;
}

int slabdev_arena_reset(struct slabdev_arena *arena)
{
	int err;
	struct arena *a = arena_find(arena, "slabdev_arena_reset", &err);

	if (!a)
		return err;
	watch_site(a->h.sd);
	err = arena_join(a, "slabdev_arena_reset");
	if (err)
		return err;
	go_back(a, a->base, 0, 0);
	a->nr_marks = 0;
	a->resets++;
	if (READ_ONCE(a->h.sd->policy) != SLABDEV_RETAIN)
		(void)space_failed(a->h.sd, reclaim_poll(a->h.sd));
	return 0;
}
