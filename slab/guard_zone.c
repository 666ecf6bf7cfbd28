// SPDX-License-Identifier: BSD-2-Clause
/* guard_zone.c - see guard_zone.h. */
#include "core/log.h"
#include "core/overflow.h"
#include "core/thread.h"
#include "slab/alloc.h"
#include "slab/guard.h"
#include "slab/guard_record.h"
#include "slab/guard_report.h"
#include "slab/guard_zone.h"

#define READ_BYTES 512u

/* Addresses. */
struct zone {
	u64 from, to;
	u8 byte;
};

static u64 address_of(const struct slabdev *sd, u32 slice)
{
	return space_addr(sd, slice_offset(slice)) +
	       READ_ONCE(sd->slabs[slice].begin);
}

/* The mapping begins with a chunk. */
static struct zone lead_of(const struct slabdev *sd, u32 slice)
{
	u64 object = address_of(sd, slice);
	u64 room = slice_offset(slice % sd->chunk_slices) +
		   READ_ONCE(sd->slabs[slice].begin);

	return (struct zone){
		object - min(room, (u64)GUARD_LEAD), object, GUARD_LEAD_BYTE,
	};
}

static struct zone slack_of(const struct slabdev *sd, u32 slice)
{
	u64 size = READ_ONCE(sd->slabs[slice].size);

	return (struct zone){
		address_of(sd, slice) + size,
		space_addr(sd, slice_offset(slice)) + large_roundup(size),
		GUARD_SLACK_BYTE,
	};
}

static int fill(struct slabdev *sd, struct zone z)
{
	if (z.from == z.to)
		return 0;
	return vmm_fill(&sd->vmm, z.from, z.to - z.from, z.byte, NULL);
}

/*
 * A free that says nothing of the stream that the object is for, and that the
 * program has put nothing into, must not unmap it under the filling. So that is
 * the bound stream's work, and the other one waits for it.
 */
static int order_behind(struct slabdev *sd, const struct order *o)
{
	if (sd->ops->synchronous || order_is_bound(o))
		return 0;
	/* What host order hands out may be used anywhere at once. */
	if (sd->host_order && o->stream == sd->bound)
		return vmm_settle(&sd->vmm, true);
	return order_after_bound(sd, o);
}

int guard_zone_fill(struct slabdev *sd, u32 slice, const struct order *o)
{
	int err = fill(sd, lead_of(sd, slice));

	WRITE_ONCE(sd->slabs[slice].unsure, false);
	if (!err)
		err = fill(sd, slack_of(sd, slice));
	return err ? err : order_behind(sd, o);
}

/* What is wrong within [@from, @from + @n) goes into @d. */
static void look(struct guard_damage *d, const u8 *bytes, u64 from, u32 n,
		 u8 wanted)
{
	u32 i;

	for (i = 0; i < n; i++) {
		if (bytes[i] == wanted)
			continue;
		if (!d->bytes) {
			d->first = from + i;
			d->found = bytes[i];
		}
		d->bytes = from + i + 1 - d->first;
	}
}

/* What cannot be read is not judged. */
static struct guard_damage damage_of(struct slabdev *sd, struct zone z)
{
	struct guard_damage d = { .wanted = z.byte };
	u8 bytes[READ_BYTES];
	u64 at;
	u32 n;

	for (at = z.from; at < z.to; at += n) {
		n = (u32)min(z.to - at, (u64)READ_BYTES);
		if (vmm_read(&sd->vmm, bytes, at, n))
			break;
		look(&d, bytes, at, n, z.byte);
	}
	return d;
}

void guard_zone_check(struct slabdev *sd, u32 slice)
{
	const struct slab *s = sd->slabs + slice;
	char text[ERROR_TEXT_MAX];
	struct guard_damage d;

	if (READ_ONCE(sd->streams.nr_captures) || READ_ONCE(sd->dead) ||
	    READ_ONCE(s->unsure))
		return;
	error_save(text);
	d = damage_of(sd, lead_of(sd, slice));
	if (d.bytes)
		guard_report_damage(sd, s->record, &d, "Left Redzone");
	d = damage_of(sd, slack_of(sd, slice));
	if (d.bytes)
		guard_report_damage(sd, s->record, &d, "Right Redzone");
	error_restore(text);
}
