// SPDX-License-Identifier: BSD-2-Clause
/*
 * validate_slab.c - one slab, and the lists that slabs are in; see validate.c.
 */
#include "core/bitmap.h"
#include "slab/alloc.h"
#include "slab/class.h"
#include "slab/debug.h"
#include "slab/tiny.h"
#include "slab/walk.h"

/* ---- Slabs ------------------------------------------------------------ */

/* The first granule of an object of a class that has tags. */
static void check_tag(struct walk *w, const struct class *c, slot_t slot,
		      u32 tag)
{
	check(w, !tag || tag == tag_make(c->code) ||
		 tag == tag_make(CODE_NOTED) || tag == tag_make(CODE_DEBUG),
	      slot_offset(c, slot),
	      "a live object's tag has the code of its class");
	if (c->code > NR_GENERAL)
		return;
	if (tag)
		off(w, object_size(c, slot) - 1 < c->stride,
		    "a live object's rounding is less than its size");
	else
		off(w, c->code != CLASS_GRANULE || keeps_sizes(c) ||
		       !READ_ONCE(*rounding_byte(c->sd, slot)),
		    "a free object of one granule has no rounding");
}

/* Every granule of a slab: where no object begins, the tag is 0. */
static void check_tags_locked(struct walk *w, const struct class *c,
			      const struct slab *s)
{
	u32 first = (u32)(slab_offset(w->sd, s) >> GRANULE_SHIFT);
	u32 end = first + (c->span << (SLICE_SHIFT - GRANULE_SHIFT));
	u32 nr = class_is_tiny(c) ? 0 : s->nr, at, tag;
	u32 begin = slab_first_slot(c, s);

	for (at = first; at < end; at++) {
		tag = tag_load(&w->sd->tags[at]);
		if (nr && at == begin) {
			begin += c->step;
			nr--;
			check_tag(w, c, at, tag);
			continue;
		}
		check(w, !tag, (u64)at << GRANULE_SHIFT,
		      "a tag is where an object begins");
	}
}

/* Descriptors behind the first one of a slab. */
static void check_back_locked(struct walk *w, const struct class *c,
			      const struct slab *s)
{
	u64 where = slab_offset(w->sd, s);
	u32 i, at;

	for (i = 0; i < s->nr; i++) {
		at = (u32)((c->lead + (u64)i * c->stride) >> SLICE_SHIFT);
		check(w, READ_ONCE(s[at].back) == at, where + slice_offset(at),
		      "the slices of a slab lead back to it");
	}
	for (i = 1; i < c->span; i++)
		check(w, slab_state(&s[i]) == SLAB_NONE,
		      where + slice_offset(i), "no slab begins inside another");
}

/* Is it where its neighbours and its list say? */
static bool is_listed_locked(struct walk *w, const struct class *c,
			     const struct slab *s)
{
	u32 slice = (u32)(s - w->sd->slabs);

	if (s->list >= NR_LISTS)
		return false;
	if (s->prev == RANGE_NONE)
		return c->list[s->list] == slice;
	return in_tables(w, s->prev) && w->sd->slabs[s->prev].next == slice;
}

/* Objects: each is in the slab, or live, or neither. */
static u32 check_bits_locked(struct walk *w, struct class *c, struct slab *s)
{
	u64 where = slab_offset(w->sd, s), *bits = slab_bits(s);
	slot_t slot = slab_first_slot(c, s);
	u32 i, n = 0;

	for (i = 0; i < s->nr; i++, slot += c->step) {
		bool live = object_is_live(c, s, i);

		w->live[c->id] += live;
		if (live)
			w->live_bytes[c->id] += class_is_tiny(c) ?
				c->object_size : object_size(c, slot);
		if (!bitmap_test(bits, i))
			continue;
		n++;
		check(w, !live, slab_object(c, s, i),
		      "an object in its slab is not live");
	}
	for (; i % 64; i++)
		check(w, !bitmap_test(bits, i), where,
		      "a slab has no bits beyond its objects");
	return n;
}

void walk_slab_locked(struct walk *w, struct class *c, struct slab *s)
{
	u64 where = slab_offset(w->sd, s);
	u32 n;

	check(w, s->nr == c->nr, where, "a slab has the objects of its class");
	check(w, (slab_state(s) == SLAB_TINY) == class_is_tiny(c), where,
	      "a slab is tiny if its class is");
	if (w->broken)
		return;
	n = check_bits_locked(w, c, s);
	check(w, n == s->nr_free, where, "a slab counts its free objects");
	check(w, !n || n == s->nr || is_listed_locked(w, c, s), where,
	      "a slab with free and other objects is in a list");
	check_back_locked(w, c, s);
	check_tags_locked(w, c, s);
	w->slabs[c->id]++;
	w->in_slabs[c->id] += n;
	w->out_bytes += (u64)(s->nr - n) * c->stride;
}

/* ---- Lists ------------------------------------------------------------ */

/* From a list to its slabs: how many. */
static u64 check_list_locked(struct walk *w, struct class *c, u32 list)
{
	u32 slice, prev = RANGE_NONE;
	u64 n = 0;

	for (slice = c->list[list]; slice != RANGE_NONE && !w->broken;
	     slice = w->sd->slabs[slice].next) {
		struct slab *s = w->sd->slabs + slice;
		u64 where = slice_offset(slice);

		check(w, in_tables(w, slice), 0,
		      "a list has slices of the pool only");
		if (w->broken)
			break;
		n++;
		check(w, s->class == c->id, where,
		      "a list has slabs of its class only");
		check(w, s->prev == prev, where, "a list is linked both ways");
		check(w, s->list == list, where, "a slab knows its list");
		check(w, list == LIST_EMPTY ? s->nr_free == s->nr :
			 s->nr_free && s->nr_free >> list == 1, where,
		      "a slab is in the list of its free objects");
		prev = slice;
	}
	check(w, !!(c->lists & 1u << list) == (c->list[list] != RANGE_NONE), 0,
	      "a class knows which lists have slabs");
	return n;
}

void walk_lists_locked(struct walk *w, struct class *c)
{
	u64 empty, n = 0;
	u32 list;

	for (list = 0; list < LIST_EMPTY; list++)
		n += check_list_locked(w, c, list);
	check(w, n == c->rec->partial, 0, "a class counts its partial slabs");
	empty = check_list_locked(w, c, LIST_EMPTY);
	check(w, empty == c->rec->empty, 0, "a class counts its empty slabs");
	if (!c->comm)
		w->empty_slices += empty * c->span;
}

void walk_record(struct walk *w, const struct class *c)
{
	const struct slabdev_seg_class *r = c->rec;

	check(w, r->per_slab == c->nr && r->stride == c->stride &&
		 r->object_size == c->object_size &&
		 r->slab_bytes == slice_offset(c->span) &&
		 r->sheaf_objects == c->sheaf_cap && r->align == c->align, 0,
	      "a class is what its record says");
}
