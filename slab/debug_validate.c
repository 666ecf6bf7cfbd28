// SPDX-License-Identifier: BSD-2-Clause
/*
 * debug_validate.c - a look at all zones and poison of a space, or of a class.
 *
 * Others may work meanwhile. The class is pinned, so that no slab of it goes.
 * Free objects are taken out of their slab for the look, and put back. A live
 * object stays its owner's: damage is believed only if the object was live with
 * the same size before and after two looks that both found it. What streams use
 * beside the bound one is looked at when it is freed. Large objects:
 * debug_large.h.
 *
 * Where the device can look itself a slab is asked of in one go, and what
 * follows is for those objects that it finds suspect (zone_batch.h).
 *
 * Locking: the class lock inside, not over a look.
 */
#include <errno.h>

#include "core/bitmap.h"
#include "core/log.h"
#include "slab/class.h"
#include "slab/debug_large.h"
#include "slab/debug_report.h"
#include "slab/note.h"
#include "slab/quarantine.h"
#include "slab/tiny.h"
#include "slab/visit.h"
#include "slab/zone_batch.h"

struct search {
	struct peek peek;
	struct class *class;
	u64 found;
};

/* Other streams use it: its zone may be in the making. A note may say no more
 * than whose it is. */
static bool is_used(const struct class *c, const struct slab *s, u32 i)
{
	slot_t slot = slab_first_slot(c, s) + i * c->step;

	return !class_is_tiny(c) &&
	       tag_load(&c->sd->tags[slot]) == tag_make(CODE_NOTED) &&
	       note_is_used(c->sd, slot_offset(c, slot));
}

/* Object number @i of a slab is live: its size; 0: it is not. */
static u64 live_size(struct class *c, struct slab *s, u32 i)
{
	u64 size = 0;

	if (class_lock_slab(c->sd, s) != c)
		return 0;
	if (i < s->nr && object_is_live(c, s, i) && !is_used(c, s, i))
		size = object_size(c, slab_first_slot(c, s) + i * c->step);
	lock_release(&c->lock);
	return size;
}

static void look_at_live(struct search *f, struct slab *s, u32 i)
{
	struct class *c = f->class;
	slot_t slot = slab_first_slot(c, s) + i * c->step;
	u64 size = live_size(c, s, i);
	struct damage d = { .kind = DAMAGE_NONE };
	u32 look;

	for (look = 0; look < 2 && size; look++) {
		d = zone_check(&f->peek, c, slot, size);
		if (d.kind == DAMAGE_NONE || live_size(c, s, i) != size)
			return;
		peek_forget(&f->peek);
	}
	if (!size)
		return;
	f->found += quarantine_judge(&f->peek, c, slot, &d, FOUND_LIVE);
}

/* It is bad. */
static bool look_at_free(struct search *f, slot_t slot)
{
	struct damage d = zone_check_free(&f->peek, f->class, slot);

	return quarantine_judge(&f->peek, f->class, slot, &d, FOUND_FREE);
}

/* The @n free ones were taken out; live ones may change meanwhile. */
static void find_suspects(struct search *f, struct slab *s, const slot_t *slot,
			  u32 n, u64 *suspects)
{
	struct class *c = f->class;
	struct zone_batch b;
	u64 size;
	u32 i;

	zone_batch_begin(&b, &f->peek, suspects, c->nr);
	for (i = 0; i < n; i++)
		zone_batch_add_free(&b, slot_index(c, s, slot[i]), c, slot[i]);
	for (i = 0; i < c->nr && zone_batch_works(&b); i++) {
		size = live_size(c, s, i);
		if (size)
			zone_batch_add(&b, i, c,
				       slab_first_slot(c, s) + i * c->step,
				       size);
	}
	zone_batch_end(&b);
}

/* The bad ones of those that are in the slab do not go back. */
static void look_at_slab(struct search *f, struct slab *s)
{
	u64 suspects[BITMAP_WORDS(TINY_MAX_OBJECTS)];
	slot_t slot[TINY_MAX_OBJECTS];
	struct class *c = f->class;
	u32 n = class_take_free(c, s, slot, TINY_MAX_OBJECTS), good = 0, i;

	find_suspects(f, s, slot, n, suspects);
	for (i = 0; i < n; i++) {
		if (bitmap_test(suspects, slot_index(c, s, slot[i])) &&
		    look_at_free(f, slot[i]))
			f->found++;
		else
			slot[good++] = slot[i];
	}
	class_put_now(c, slot, good, c->sd->domain);
	for (i = 0; i < c->nr; i++)
		if (bitmap_test(suspects, i))
			look_at_live(f, s, i);
}

static void search_class(struct search *f, struct class *c)
{
	struct slabdev *sd = c->sd;
	struct slab *s;
	u32 slice, n = 0;

	f->class = c;
	f->found += quarantine_look(c);
	class_pin(c);
	for (slice = pool_next_run(sd, 0, &n); slice != RANGE_NONE;
	     slice = pool_next_run(sd, slice + n, &n)) {
		s = &sd->slabs[slice];
		if (slab_class(s) != c->id)
			continue;
		peek_forget(&f->peek);
		look_at_slab(f, s);
	}
	class_unpin(c);
}

int debug_validate(struct slabdev *sd, struct class *only)
{
	u32 side = visit_begin(sd), id;
	struct search f = { .found = 0 };
	struct class *c;

	if (!peek_begin(&f.peek, sd, true)) {
		for (id = 1; id < CLASS_MAX; id++) {
			c = load_acquire(&sd->class[id]);
			if (c && (!only || c == only) &&
			    READ_ONCE(c->debug) & DEBUG_BYTES)
				search_class(&f, c);
		}
		if (!only)
			f.found += debug_validate_large(sd, &f.peek);
		peek_tell_failed(&f.peek);
		peek_end(&f.peek);
	}
	visit_end(sd, side);
	if (!f.found)
		return 0;
	return error_set(-EUCLEAN, "validate: %llu objects are damaged: see "
			 "the reports", (unsigned long long)f.found);
}
