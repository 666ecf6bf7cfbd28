// SPDX-License-Identifier: BSD-2-Clause
/* debug_report.c - see debug_report.h. */
#include <stdio.h>

#include "core/log.h"
#include "core/overflow.h"
#include "slab/class.h"
#include "slab/debug.h"
#include "slab/debug_report.h"
#include "slab/track.h"

#define LINE_BYTES 16u
/* Around the damage, and of the section it is in. */
#define LINES_BEFORE 2u
#define LINES 6u

static const char *const what[] = {
	[DAMAGE_LEFT] = "Left Redzone",
	[DAMAGE_RIGHT] = "Right Redzone",
	[DAMAGE_POISON] = "Poison",
};

static const char *const when[] = {
	[FOUND_FREED] = "when the object was freed",
	[FOUND_LEAVING] = "when the object left the quarantine",
	[FOUND_REUSE] = "when the object was to be handed out again",
	[FOUND_RESIZE] = "when the object was resized in place",
	[FOUND_SLAB] = "when the slab of the object was given back",
	[FOUND_FREE] = "by a walk",
	[FOUND_LIVE] = "by a walk",
};

/* What is told of: an object of a class, or a large one. */
struct subject {
	struct peek *peek;
	struct slabdev *sd;
	const char *name;	/* of its class */
	u64 slab;		/* offset of the run that it is in */
	u64 from;		/* what is before cannot be read */
	u64 object, size, end;	/* offsets; bytes of the user; of the stride */
	bool live;
	bool zoned;		/* what is behind it is a red zone */
	const struct damage *damage;
};

static unsigned long long addr(const struct subject *o, u64 offset)
{
	return (unsigned long long)space_addr(o->sd, offset);
}

/* ---- Bytes -------------------------------------------------------------- */

static void dump_line(struct report *r, struct peek *k, const char *label,
		      u64 offset, u64 n)
{
	char hex[3 * LINE_BYTES + 1] = "", text[LINE_BYTES + 1] = "";
	u8 byte[LINE_BYTES];
	u64 i, got = peek_copy(k, byte, offset, n);

	for (i = 0; i < got; i++) {
		snprintf(hex + 3 * i, 4, " %02x", byte[i]);
		text[i] = byte[i] >= ' ' && byte[i] <= '~' ? (char)byte[i] :
							     '.';
	}
	if (got)
		report_line(r, "%-8s %016llx:%-48s  %s", label,
			    (unsigned long long)space_addr(k->sd, offset), hex,
			    text);
}

void debug_report_bytes(struct report *r, struct peek *k,
			const struct damage *d, const char *label, u64 from,
			u64 to)
{
	u32 lines;

	if (d->first >= from && d->first < to &&
	    d->first - from > LINES_BEFORE * LINE_BYTES)
		from += ((d->first - from) / LINE_BYTES - LINES_BEFORE) *
			LINE_BYTES;
	for (lines = 0; from < to && lines < LINES; lines++) {
		dump_line(r, k, label, from, min(to - from, (u64)LINE_BYTES));
		from += LINE_BYTES;
	}
}

static void dump(struct report *r, const struct subject *o, const char *label,
		 u64 from, u64 to)
{
	debug_report_bytes(r, o->peek, o->damage, label, from, to);
}

static void dump_bytes(struct report *r, const struct subject *o)
{
	const struct damage *d = o->damage;

	if (d->kind == DAMAGE_LEFT)
		dump(r, o, "Redzone", align_down(d->first, LINE_BYTES),
		     o->object);
	dump(r, o, "Object", max(o->object, o->from),
	     min(o->object + o->size, o->end));
	if (d->kind != DAMAGE_LEFT && o->zoned)
		dump(r, o, "Redzone", o->object + o->size, o->end);
}

/* ---- Words -------------------------------------------------------------- */

static void tell_damage(struct report *r, const struct subject *o)
{
	const struct damage *d = o->damage;

	report_line(r, "0x%llx-0x%llx @offset=%llu. First byte 0x%x instead "
		    "of 0x%x", addr(o, d->first), addr(o, d->last),
		    (unsigned long long)(d->first - o->slab), d->found,
		    d->wanted);
	if (d->kind == DAMAGE_RIGHT)
		report_distance(r, d->first - o->object - o->size + 1,
				"behind the end of the object");
	else if (d->kind == DAMAGE_LEFT)
		report_distance(r, o->object - d->last,
				"before the start of the object");
	else
		report_distance(r, d->first - o->object,
				"into the object, which is free");
}

static void start(struct report *r, const struct subject *o)
{
	report_start(r, o->damage->kind == DAMAGE_POISON ? REPORT_POISON :
							    REPORT_RED_ZONE,
		     o->sd->name, "%s: %s overwritten", o->name,
		     what[o->damage->kind]);
	tell_damage(r, o);
	report_line(r, "Object 0x%llx of %s size=%llu, %s", addr(o, o->object),
		    o->name, (unsigned long long)o->size,
		    o->live ? "live" : "free");
	track_tell(r, o->sd, o->object);
}

/* Whoever else may have written there: the object on the other side of the
 * zone, if it is nearer, or as near as the zone goes. */
static void tell_neighbour(struct report *r, const struct subject *o,
			   const struct class *c, slot_t slot)
{
	const struct damage *d = o->damage;
	slot_t first = slab_first_slot(c, slab_of(c, slot));
	slot_t other = slot;

	if (d->kind == DAMAGE_LEFT && slot != first)
		other = slot - c->step;
	else if (d->kind == DAMAGE_RIGHT &&
		 o->end - d->last < d->first - o->object - o->size &&
		 slot - first < (c->nr - 1) * c->step)
		other = slot + c->step;
	if (other == slot)
		return;
	report_line(r, "or by the one %s it, Object 0x%llx size=%llu:",
		    other < slot ? "before" : "behind",
		    addr(o, slot_offset(c, other)),
		    (unsigned long long)object_size(c, other));
	track_tell(r, o->sd, slot_offset(c, other));
}

static void finish(struct report *r, const struct subject *o,
		   const char *found, const char *done)
{
	dump_bytes(r, o);
	report_line(r, "found %s; %s", found, done);
}

/* Not those that a walk or the quarantine holds. */
static u32 nr_live(const struct class *c, const struct slab *s)
{
	u32 n = 0, i;

	for (i = 0; i < c->nr; i++)
		n += object_is_live(c, s, i);
	return n;
}

void debug_report(struct peek *k, struct class *c, slot_t slot,
		  const struct damage *d, enum found found)
{
	const struct slab *s = slab_of(c, slot);
	bool live = object_is_live(c, s, slot_index(c, s, slot));
	struct subject o = {
		.peek = k,
		.sd = c->sd,
		.name = c->rec->name,
		.slab = slab_offset(c->sd, s),
		.object = slot_offset(c, slot),
		.size = live ? object_size(c, slot) : zone_free_size(c, slot),
		.end = slot_offset(c, slot) + c->stride,
		.live = live,
		.zoned = keeps_sizes(c),
		.damage = d,
	};
	const char *done = found == FOUND_SLAB ? "the slab goes" :
			   o.live ? "nothing was changed" :
				    "it is not handed out any more";
	struct report r;

	start(&r, &o);
	tell_neighbour(&r, &o, c, slot);
	report_line(&r, "Slab 0x%llx objects=%u used=%u stride=%llu",
		    addr(&o, o.slab), c->nr, nr_live(c, s),
		    (unsigned long long)c->stride);
	finish(&r, &o, when[found], done);
	report_end(&r);
}

void debug_describe_large(struct report *r, struct peek *k,
			  const struct large_found *f)
{
	struct subject o = {
		.peek = k,
		.sd = k->sd,
		.name = "large",
		.slab = f->offset,
		.from = f->from,
		.object = f->offset,
		.size = f->size,
		.end = f->end,
		.live = f->found == FOUND_RESIZE || f->found == FOUND_LIVE,
		.zoned = f->damage.kind != DAMAGE_POISON,
		.damage = &f->damage,
	};
	const char *done = o.live ? "nothing was changed" :
			   f->found == FOUND_SLAB ? "its memory goes" :
						    "its memory is used again";

	start(r, &o);
	finish(r, &o, f->found == FOUND_SLAB ?
		      "when its memory was given back" : when[f->found], done);
}
