// SPDX-License-Identifier: BSD-2-Clause
/* debug.c - the hooks, and what a class is with letters; see debug.h. */
#include <errno.h>
#include <string.h>

#include "core/bitmap.h"
#include "core/log.h"
#include "slab/annotate.h"
#include "slab/class.h"
#include "slab/comm.h"
#include "slab/debug.h"
#include "slab/debug_large.h"
#include "slab/debug_report.h"
#include "slab/note.h"
#include "slab/quarantine.h"
#include "slab/tiny.h"
#include "slab/trace.h"
#include "slab/track.h"
#include "slab/zone_batch.h"

/* ---- Classes ------------------------------------------------------------ */

/* Objects of the general calls are aligned as far as their size is. */
static u32 lead_of(const struct class *c)
{
	u64 natural = c->stride & -c->stride;

	if (c->comm)
		return 0;
	if (c->id && c->id <= NR_GENERAL)
		return (u32)min(natural, SLICE_SIZE);
	/* A slot has so many bits less than an offset. */
	return max(c->align, 1u << c->shift);
}

/* Room for the lead: one object less, or more slices. */
static void make_room(struct class *c)
{
	u64 bytes = c->nr * c->stride + c->lead;

	if (bytes <= c->span * SLICE_SIZE)
		return;
	if (c->nr > 8 || class_is_tiny(c)) {
		c->nr -= (u32)div_round_up(bytes - c->span * SLICE_SIZE,
					   c->stride);
		return;
	}
	c->span = (u32)div_round_up(bytes, SLICE_SIZE);
}

void debug_shape(struct class *c)
{
	if (c->ctor || c->stride > SHARED_MAX)
		c->debug &= ~DEBUG_POISON;
	if (!(c->debug & DEBUG_RED_ZONE))
		return;
	c->lead = lead_of(c);
	make_room(c);
}

int debug_ready(struct class *c, u32 flags)
{
	int err = flags & DEBUG_USER ? tracks_init(c->sd) : 0;

	if (err || !(flags & (DEBUG_BYTES | DEBUG_QUARANTINE)) ||
	    c->code == CODE_LARGE)
		return err;
	return quarantine_init(c);
}

/* ---- Consistency -------------------------------------------------------- */

/* What does not hold of the slab of an object that is live, or was until now;
 * or NULL. */
static const char *broken_locked(const struct class *c, struct slab *s,
				 slot_t slot)
{
	const u64 *bits = slab_bits(s);
	u32 i, n = 0;

	if (s->nr != c->nr)
		return "a slab has the objects of its class";
	for (i = 0; i < s->nr; i += 64)
		n += (u32)__builtin_popcountll(bits[i / 64]);
	if (n != s->nr_free)
		return "a slab counts its free objects";
	if (bitmap_test(bits, slot_index(c, s, slot)))
		return "an object in its slab is not live";
	return NULL;
}

static void check_slab(struct class *c, u64 offset)
{
	slot_t slot = (slot_t)(offset >> c->shift);
	struct slab *s = slab_of(c, slot);
	const char *broken;
	struct report r;

	lock_acquire(&c->lock);
	broken = broken_locked(c, s, slot);
	lock_release(&c->lock);
	if (!broken)
		return;
	report_start(&r, REPORT_CORRUPT, c->sd->name,
		     "Metadata is not consistent");
	report_line(&r, "does not hold: %s", broken);
	report_line(&r, "at object %p of %s", slot_ptr(c, slot), c->rec->name);
	report_line(&r, "nothing was changed");
	report_end(&r);
}

/* ---- Hooks -------------------------------------------------------------- */

int debug_note_fill(struct slabdev *sd, u64 offset, const struct order *o,
		    bool *noted)
{
	int err = 0;

	*noted = !order_is_bound(o) && !(o->stream && o->stream == sd->bound) &&
		 !(o->stream && load_acquire(&o->stream->graph));
	if (*noted)
		err = note_use_early(sd, offset, o);
	return err;
}

int debug_prepare_slow(struct class *c, slot_t slot, u64 size,
		       const struct order *o, bool *noted)
{
	int err = 0;

	if (zone_is_filled(c, size))
		err = debug_note_fill(c->sd, slot_offset(c, slot), o, noted);
	if (!err)
		zone_begin(c, slot, size, o->handle);
	return err;
}

/* In a capture the memory may be what another object of the same graph has
 * left, whose work is yet to run: all of it may be touched. */
static void annotate(struct slabdev *sd, struct class *c, const void *p,
		     u64 size, const struct order *o)
{
	u64 usable = c ? c->stride : large_usable(sd, size);
	bool graph = o->stream && load_acquire(&o->stream->graph);

	annotate_alloc(sd, p, graph ? usable : size, usable);
}

void debug_began_slow(struct slabdev *sd, struct class *c, const void *p,
		      u64 size, const struct order *o)
{
	const struct class *known = debug_class(sd, c);
	u32 debug = READ_ONCE(known->debug);
	u64 offset;

	if (!vmm_offset(&sd->vmm, (u64)(uintptr_t)p, &offset))
		return;
	if (c && debug & DEBUG_CONSISTENCY)
		check_slab(c, offset);
	if (debug & DEBUG_USER)
		track_alloc(sd, c, offset, size, o);
	if (debug & DEBUG_TRACE)
		trace_alloc(sd, c, offset, size, o);
	if (debug & DEBUG_ANNOTATE)
		annotate(sd, c, p, size, o);
}

void debug_ending_slow(struct slabdev *sd, struct class *c, u64 offset,
		       u64 size, const struct order *o)
{
	const struct class *known = debug_class(sd, c);
	u32 debug = READ_ONCE(known->debug);

	if (c && debug & DEBUG_CONSISTENCY)
		check_slab(c, offset);
	if (debug & DEBUG_USER)
		track_free(sd, c, offset, size, o);
	if (debug & DEBUG_TRACE)
		trace_free(sd, c, offset, size, o);
}

/* Of free objects, which nobody else has: the good ones to the front: how
 * many. */
static u32 sift(struct peek *k, struct class *c, slot_t *slot, u32 n,
		enum found found)
{
	u64 suspects[BITMAP_WORDS(TINY_MAX_OBJECTS)];
	struct zone_batch b;
	struct damage d;
	u32 i, good = 0;

	zone_batch_begin(&b, k, suspects, n);
	for (i = 0; i < n; i++)
		zone_batch_add_free(&b, i, c, slot[i]);
	zone_batch_end(&b);
	for (i = 0; i < n; i++) {
		d = (struct damage){ .kind = DAMAGE_NONE };
		if (bitmap_test(suspects, i))
			d = zone_check_free(k, c, slot[i]);
		if (!quarantine_judge(k, c, slot[i], &d, found))
			slot[good++] = slot[i];
	}
	return good;
}

/* Before they are handed out again: how many may be. */
u32 debug_got(struct class *c, slot_t *slot, u32 n, unsigned int flags)
{
	bool still = flags & GET_STILL && !c->sd->ops->synchronous;
	u32 at, part, got, good = 0;
	struct peek k;

	if (!(READ_ONCE(c->debug) & DEBUG_BYTES) || still ||
	    peek_begin(&k, c->sd, n > 1))
		return n;
	for (at = 0; at < n; at += part) {
		part = min(n - at, TINY_MAX_OBJECTS);
		got = sift(&k, c, slot + at, part, FOUND_REUSE);
		memmove(slot + good, slot + at, got * sizeof(*slot));
		good += got;
	}
	peek_end(&k);
	return good;
}

static void look_at_all(struct class *c, u32 slice)
{
	slot_t first = slab_first_slot(c, c->sd->slabs + slice);
	slot_t slot[TINY_MAX_OBJECTS];
	struct peek k;
	u32 i;

	if (!(READ_ONCE(c->debug) & DEBUG_BYTES) ||
	    !debug_may_look(c->sd) || peek_begin(&k, c->sd, true))
		return;
	for (i = 0; i < c->nr; i++)
		slot[i] = first + i * c->step;
	(void)sift(&k, c, slot, c->nr, FOUND_SLAB);
	peek_end(&k);
}

/* Reports want to know whose its objects were. */
void debug_slab_goes_slow(struct class *c, u32 slice)
{
	look_at_all(c, slice);
	track_forget(c->sd, slice_offset(slice), slice_offset(c->span));
}

/* ---- Resizing ----------------------------------------------------------- */

void debug_look_slow(struct slabdev *sd, const struct place *at)
{
	struct damage d;
	struct peek k;

	if (at->kind == PLACE_LARGE) {
		debug_look_large(sd, (u32)(at->object >> SLICE_SHIFT),
				 at->size);
		return;
	}
	if (!keeps_sizes(at->class) || peek_begin(&k, sd, false))
		return;
	d = zone_check(&k, at->class, at->slot, at->size);
	(void)quarantine_judge(&k, at->class, at->slot, &d, FOUND_RESIZE);
	peek_end(&k);
}
