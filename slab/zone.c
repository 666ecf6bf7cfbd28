// SPDX-License-Identifier: BSD-2-Clause
/* zone.c - see zone.h. */
#include <errno.h>
#include <string.h>

#include "core/log.h"
#include "slab/alloc.h"
#include "slab/class.h"
#include "slab/debug.h"
#include "slab/quarantine.h"
#include "slab/zone.h"

/* ---- Where they are ----------------------------------------------------- */

static bool has_zone(const struct class *c)
{
	return READ_ONCE(c->debug) & DEBUG_RED_ZONE;
}

static bool has_poison(const struct class *c)
{
	return READ_ONCE(c->debug) & DEBUG_POISON;
}

/* Does every object of the class have a size of its own? */
static bool has_sizes(const struct class *c)
{
	return c->code <= NR_GENERAL || c->sized;
}

u64 zone_free_size(const struct class *c, slot_t slot)
{
	if (!has_zone(c) && has_sizes(c))
		return c->stride;
	return object_size(c, slot);
}

static u64 slot_addr(const struct class *c, slot_t slot)
{
	return space_addr(c->sd, slot_offset(c, slot));
}

/* ---- Filling ------------------------------------------------------------ */

/* A column of the objects of a slab: @width bytes from @at on in each. */
static int fill_column(struct class *c, slot_t first, u64 at, u64 width,
		       u8 byte)
{
	return vmm_fill2d(&c->sd->vmm, slot_addr(c, first) + at, c->stride,
			  width, c->nr, byte, NULL);
}

static int fill_zones(struct class *c, slot_t first)
{
	u64 width = has_sizes(c) ? ZONE_MIN : c->stride - c->object_size;
	slot_t slot = first;
	u32 i;
	int err;

	for (i = 0; has_sizes(c) && i < c->nr; i++, slot += c->step)
		resize_object(c, slot, c->stride - ZONE_MIN);
	err = vmm_fill(&c->sd->vmm, slot_addr(c, first) - c->lead, c->lead,
		       ZONE_LEAD, NULL);
	return err ? err : fill_column(c, first, c->stride - width, width,
				       ZONE_BYTE);
}

static int fill_poison(struct class *c, slot_t first)
{
	u64 size = zone_free_size(c, first);
	int err = fill_column(c, first, 0, size - 1, POISON_BYTE);

	return err ? err : fill_column(c, first, size - 1, 1, POISON_END);
}

void zone_new_slab(struct class *c, u32 slice, unsigned int flags)
{
	bool still = flags & GET_STILL && !c->sd->ops->synchronous;
	struct slab *s = c->sd->slabs + slice;
	slot_t first = slab_first_slot(c, s);
	int err = 0;

	if (has_zone(c))
		err = still ? -EAGAIN : fill_zones(c, first);
	if (!err && has_poison(c))
		err = still ? -EAGAIN : fill_poison(c, first);
	/* What host order hands out is anybody's at once. */
	if (!err && has_poison(c) && c->sd->host_order)
		err = vmm_settle(&c->sd->vmm, true);
	WRITE_ONCE(s->unsure, err != 0);
	quarantine_refilled(c, slot_offset(c, first),
			    slab_object(c, s, c->nr));
}

static void give_up(const struct class *c, struct slab *s)
{
	pr_warn("space %s: memory of %s could not be filled: objects of one "
		"slab are not watched", c->sd->name, c->rec->name);
	WRITE_ONCE(s->unsure, true);
}

bool zone_is_filled(const struct class *c, u64 size)
{
	return has_zone(c) && has_sizes(c) && size < c->stride;
}

void zone_begin(struct class *c, slot_t slot, u64 size,
		slabdev_stream_t stream)
{
	struct slab *s = slab_of(c, slot);

	if (!zone_is_filled(c, size) || READ_ONCE(s->unsure))
		return;
	if (vmm_fill(&c->sd->vmm, slot_addr(c, slot) + size, c->stride - size,
		     ZONE_BYTE, stream))
		give_up(c, s);
	else
		quarantine_refilled(c, slot_offset(c, slot) + c->stride,
				    slot_offset(c, slot) + c->stride);
}

void zone_poison(struct class *c, slot_t slot)
{
	u64 addr = slot_addr(c, slot), size = zone_free_size(c, slot);
	struct slab *s = slab_of(c, slot);
	int err;

	if (!has_poison(c) || READ_ONCE(s->unsure))
		return;
	err = peek_is_forbidden(c->sd) ? -EAGAIN :
	      vmm_fill(&c->sd->vmm, addr, size - 1, POISON_BYTE, NULL);
	if (!err)
		err = vmm_fill(&c->sd->vmm, addr + size - 1, 1, POISON_END,
			       NULL);
	if (err)
		give_up(c, s);
}

/* ---- Looking ------------------------------------------------------------ */

static u64 first_other(const u8 *p, u64 n, u8 byte)
{
	u64 i = 0;

	/* As a rule all are, and each is what the next one is. */
	if (n && *p == byte && !memcmp(p, p + 1, n - 1))
		return n;
	while (i < n && p[i] == byte)
		i++;
	return i;
}

static u64 last_other(const u8 *p, u64 n, u8 byte)
{
	while (n && p[n - 1] == byte)
		n--;
	return n - 1;
}

/*
 * From @offset to @end every byte should be @byte. @slab_end: what may be read
 * along with them. The damage in the first piece that has some.
 */
static struct damage look(struct peek *k, enum damage_kind kind, u64 offset,
			  u64 end, u64 slab_end, u8 byte)
{
	struct damage d = { .kind = DAMAGE_NONE };
	const u8 *p;
	u64 n, i;

	for (; offset < end; offset += n) {
		p = peek_at(k, offset, slab_end, &n);
		if (!p)
			break;
		n = min(n, end - offset);
		i = first_other(p, n, byte);
		if (i == n)
			continue;
		d.kind = kind;
		d.first = offset + i;
		d.last = offset + last_other(p, n, byte);
		d.found = p[i];
		d.wanted = byte;
		break;
	}
	return d;
}

/* Where it takes more than one read the device is asked first: from where on
 * there is something to be seen. */
static u64 first_suspect(struct peek *k, u64 offset, u64 end, u8 byte)
{
	struct vmm_check range = {
		.addr = space_addr(k->sd, offset),
		.size = end - offset,
		.byte = byte,
	};
	char text[ERROR_TEXT_MAX];
	int err;

	if (range.size <= PEEK_BYTES || !k->sd->ops->check)
		return offset;
	error_save(text);
	err = vmm_check(&k->sd->vmm, &range, 1);
	error_restore(text);
	if (err)
		return offset;
	return range.first_bad == VMM_CHECK_CLEAN ? end :
						    offset + range.first_bad;
}

struct damage zone_check_range(struct peek *k, u64 offset, u64 end)
{
	offset = first_suspect(k, offset, end, ZONE_BYTE);
	return look(k, DAMAGE_RIGHT, offset, end, end, ZONE_BYTE);
}

struct damage zone_check_poison(struct peek *k, u64 offset, u64 end)
{
	offset = first_suspect(k, offset, end, POISON_BYTE);
	return look(k, DAMAGE_POISON, offset, end, end, POISON_BYTE);
}

/* ---- What should be where ------------------------------------------------ */

static u32 add_part(struct zone_part *part, u32 n, enum damage_kind kind,
		    u64 from, u64 end, u8 byte)
{
	part[n] = (struct zone_part){ kind, byte, from, end };
	return n + (from < end);
}

/* The zones of an object behind the @n parts that are there. */
static u32 add_zones(const struct class *c, slot_t slot, u64 size,
		     struct zone_part *part, u32 n)
{
	bool first = slot == slab_first_slot(c, slab_of(c, slot));
	u64 object = slot_offset(c, slot);

	if (!has_zone(c))
		return n;
	n = add_part(part, n, DAMAGE_RIGHT, object + size, object + c->stride,
		     ZONE_BYTE);
	return add_part(part, n, DAMAGE_LEFT,
			object - (first ? c->lead : ZONE_MIN), object,
			first ? ZONE_LEAD : ZONE_BYTE);
}

u32 zone_parts(const struct class *c, slot_t slot, u64 size,
	       struct zone_part *part)
{
	if (READ_ONCE(slab_of(c, slot)->unsure))
		return 0;
	return add_zones(c, slot, size, part, 0);
}

u32 zone_parts_free(const struct class *c, slot_t slot, struct zone_part *part)
{
	u64 size = zone_free_size(c, slot), object = slot_offset(c, slot);
	u64 end = object + size;
	u32 n = 0;

	if (READ_ONCE(slab_of(c, slot)->unsure))
		return 0;
	if (has_poison(c)) {
		n = add_part(part, n, DAMAGE_POISON, object, end - 1,
			     POISON_BYTE);
		n = add_part(part, n, DAMAGE_POISON, end - 1, end, POISON_END);
	}
	return add_zones(c, slot, size, part, n);
}

/* ---- Objects ------------------------------------------------------------ */

/* The damage in the first part that has some. */
static struct damage look_at_parts(struct peek *k, const struct class *c,
				   slot_t slot, const struct zone_part *part,
				   u32 n)
{
	const struct slab *s = slab_of(c, slot);
	u64 along = k->wide ? slab_object(c, s, c->nr) :
			      slot_offset(c, slot) + c->stride;
	struct damage d = { .kind = DAMAGE_NONE };
	u32 i;

	for (i = 0; i < n && d.kind == DAMAGE_NONE; i++)
		d = look(k, part[i].kind, part[i].from, part[i].end, along,
			 part[i].byte);
	return d;
}

struct damage zone_check(struct peek *k, const struct class *c, slot_t slot,
			 u64 size)
{
	struct zone_part part[ZONE_PARTS];

	return look_at_parts(k, c, slot, part,
			     zone_parts(c, slot, size, part));
}

struct damage zone_check_free(struct peek *k, const struct class *c,
			      slot_t slot)
{
	struct zone_part part[ZONE_PARTS];

	return look_at_parts(k, c, slot, part, zone_parts_free(c, slot, part));
}

/* ---- Classes ------------------------------------------------------------ */

/* A rounding has 16 bits. */
static bool fits(const struct slabdev *sd, unsigned int class, u64 size)
{
	u64 room = layout_class_size[class] - size;

	return !has_zone(sd->class[class]) ||
	       (room >= ZONE_MIN && room <= UINT16_MAX);
}

unsigned int zone_class(const struct slabdev *sd, u64 size, u64 align)
{
	unsigned int class = layout_class_aligned(size, align);

	while (class && !fits(sd, class, size))
		class = layout_class_size[class] == GENERAL_MAX ? 0 :
			layout_class_aligned(layout_class_size[class] + 1,
					     align);
	return class;
}
