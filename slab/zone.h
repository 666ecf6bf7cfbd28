/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * zone.h - red zones and poison: the bytes that nobody may write.
 *
 *   slab  | lead | object 0 . . . | zone | object 1 . . . | zone | ...
 *           0xbb   size bytes       0xcc
 *
 * The *zone* of an object is what lies between the bytes that its user asked
 * for and the next object, ZONE_MIN bytes or more: one zone between two
 * neighbours, which the one finds written behind its end and the other before
 * its start. The *lead* is before the first object of a slab. Nothing follows
 * the last zone of a slab but what belongs to others.
 *
 * Objects of a cache have zones that never move: they are filled when the slab
 * is made. Those of the general calls have sizes of their own, and what their
 * zone takes up more than before is filled for each allocation. The rounding of
 * a free object says how long its zone still is.
 *
 * *Poison* is what a free object is filled with, but for its zone: 0x6b, and
 * 0xa5 in the last byte. Objects above 64 MiB, with their zone, have none, and
 * neither have those of a constructor. Large objects have zones and poison too:
 * debug_large.h.
 *
 * A slab whose filling failed, or was not possible, is *unsure*: nothing in it
 * is ever looked at.
 *
 * Each object thus has a few *parts*, ranges of bytes that should all be the
 * same. They are looked at by the CPU, in a copy (peek.h), or those of many
 * objects by the device itself (zone_batch.h).
 *
 * Filling is work of the device like any other, in the bound stream unless said
 * otherwise: memory that was filled is as new as what was freed just now.
 *
 * Locking: none may be held.
 */
#ifndef SLAB_ZONE_H
#define SLAB_ZONE_H

#include "slab/peek.h"
#include "slab/slab.h"

#define ZONE_MIN 16u

/* The kernel's values. */
#define ZONE_LEAD 0xbb
#define ZONE_BYTE 0xcc
#define POISON_BYTE 0x6b
#define POISON_END 0xa5

enum damage_kind {
	DAMAGE_NONE,
	DAMAGE_LEFT,		/* the zone before an object */
	DAMAGE_RIGHT,		/* the one behind it */
	DAMAGE_POISON,		/* a free object */
};

/* The first run of bytes that are not what they should be. */
struct damage {
	enum damage_kind kind;
	u64 first, last;	/* offsets */
	u8 found, wanted;	/* of the first */
};

/* A new slab, before anybody has an object of it. It may be unsure then. */
void zone_new_slab(struct class *c, u32 slice, unsigned int flags);

/* Before an object of @size bytes is handed out, or when a live one has got
 * that size in place. */
void zone_begin(struct class *c, slot_t slot, u64 size,
		slabdev_stream_t stream);
/* Is that more than nothing? */
bool zone_is_filled(const struct class *c, u64 size);
/* A free object is filled with poison. */
void zone_poison(struct class *c, slot_t slot);

/* Bytes that should all be the same; offsets. */
struct zone_part {
	enum damage_kind kind;	/* if one is not */
	u8 byte;
	u64 from, end;
};
#define ZONE_PARTS 4u

/* Those of an object's zones; its size is known by @size. How many; none of an
 * unsure slab. */
u32 zone_parts(const struct class *c, slot_t slot, u64 size,
	       struct zone_part *part);
/* The same for a free object's poison, and its zones. */
u32 zone_parts_free(const struct class *c, slot_t slot,
		    struct zone_part *part);

/* Bytes of a free object that are no zone. */
u64 zone_free_size(const struct class *c, slot_t slot);
/* Look at them, part by part. */
struct damage zone_check(struct peek *k, const struct class *c, slot_t slot,
			 u64 size);
struct damage zone_check_free(struct peek *k, const struct class *c,
			      slot_t slot);

/* Are all bytes from @offset to @end those of a zone? */
struct damage zone_check_range(struct peek *k, u64 offset, u64 end);
/* Or of poison, without an end? */
struct damage zone_check_poison(struct peek *k, u64 offset, u64 end);

/* The class for the general calls of @size bytes at @align, of one with room
 * for the zone; 0: none. */
#if IS_ENABLED(CONFIG_SLAB_DEBUG)
unsigned int zone_class(const struct slabdev *sd, u64 size, u64 align);
#else
static inline unsigned int zone_class(const struct slabdev *sd, u64 size,
				      u64 align)
{
	(void)sd;
	return layout_class_aligned(size, align);
}
#endif

#endif /* SLAB_ZONE_H */
