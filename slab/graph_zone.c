// SPDX-License-Identifier: BSD-2-Clause
/*
 * graph_zone.c - red zones of what is allocated in a capture.
 *
 * Nobody knows when a graph would run that fills one, and no other work may be
 * begun meanwhile; nor may the CPU fill it, since the object may have been
 * another one of the same graph, whose work has not run. But an object that is
 * free has a zone, of ZONE_MIN bytes or more, from its life before. That stays:
 * the note of the object says where it begins (note_work.zone), which may be
 * some bytes behind the end. These are looked at by nobody. When the object is
 * freed this is its zone, as that of any free object is the one of its last
 * life, and is looked at when the graph is released, or later, if the object
 * outlives the graph; until then a note is kept.
 */
#include "slab/class.h"
#include "slab/debug.h"
#include "slab/graph.h"
#include "slab/note.h"
#include "slab/zone.h"

u64 graph_zone_begin(struct class *c, slot_t slot, u64 size)
{
	u64 zone;

	if (!zone_is_filled(c, size) || READ_ONCE(slab_of(c, slot)->unsure))
		return 0;
	zone = zone_free_size(c, slot);
	return zone > size ? zone : 0;
}

void graph_zone_end(struct class *c, slot_t slot, struct note_work *w)
{
	resize_object(c, slot, w->zone);
	w->zone = 0;
}
