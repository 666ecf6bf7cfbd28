// SPDX-License-Identifier: BSD-2-Clause
/*
 * debug_validate.c - a look at all zones and poison of a space, or of a class.
 *
 * Others may work meanwhile. The class is pinned, so that no slab of it goes.
 * Free objects are taken out of their slab for the look, and put back. A live
 * object stays its owner's: damage is believed only if the object was live with
 * the same size before and after two looks that both found it. What streams use
 * beside the bound one is looked at when it is freed, and so are large objects:
 * nothing would keep their memory mapped here.
 *
 * Locking: the class lock inside, not over a look.
 */
#include <errno.h>

#include "core/log.h"
#include "slab/class.h"
#include "slab/debug.h"
#include "slab/debug_report.h"
#include "slab/quarantine.h"
#include "slab/tiny.h"
#include "slab/visit.h"

struct search {
	struct peek peek;
	struct class *class;
	u64 found;
};

/* Other streams use it: its zone may be in the making. */
static bool is_noted(const struct class *c, const struct slab *s, u32 i)
{
	slot_t slot = slab_first_slot(c, s) + i * c->step;

	return !class_is_tiny(c) &&
	       tag_load(&c->sd->tags[slot]) == tag_make(CODE_NOTED);
}

/* Object number @i of a slab is live: its size; 0: it is not. */
static u64 live_size(struct class *c, struct slab *s, u32 i)
{
	u64 size = 0;

	if (class_lock_slab(c->sd, s) != c)
		return 0;
	if (i < s->nr && object_is_live(c, s, i) && !is_noted(c, s, i))
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

/* Those that are in the slab; the bad ones do not go back. */
static void look_at_free(struct search *f, struct slab *s)
{
	slot_t slot[TINY_MAX_OBJECTS];
	struct class *c = f->class;
	u32 n = class_take_free(c, s, slot, TINY_MAX_OBJECTS), i, good = 0;
	struct damage d;

	for (i = 0; i < n; i++) {
		d = zone_check_free(&f->peek, c, slot[i]);
		if (quarantine_judge(&f->peek, c, slot[i], &d, FOUND_FREE))
			f->found++;
		else
			slot[good++] = slot[i];
	}
	class_put_now(c, slot, good, c->sd->domain);
}

static void search_class(struct search *f, struct class *c)
{
	struct slabdev *sd = c->sd;
	u32 slice, n = 0, i;
	struct slab *s;

	f->class = c;
	f->found += quarantine_look(c);
	class_pin(c);
	for (slice = pool_next_run(sd, 0, &n); slice != RANGE_NONE;
	     slice = pool_next_run(sd, slice + n, &n)) {
		s = &sd->slabs[slice];
		if (slab_class(s) != c->id)
			continue;
		peek_forget(&f->peek);
		look_at_free(f, s);
		for (i = 0; i < c->nr; i++)
			look_at_live(f, s, i);
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
		peek_end(&f.peek);
	}
	visit_end(sd, side);
	if (!f.found)
		return 0;
	return error_set(-EUCLEAN, "validate: %llu objects are damaged: see "
			 "the reports", (unsigned long long)f.found);
}
