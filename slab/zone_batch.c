// SPDX-License-Identifier: BSD-2-Clause
/* zone_batch.c - see zone_batch.h. */
#include <string.h>

#include "core/bitmap.h"
#include "core/log.h"
#include "slab/zone_batch.h"

#define RANGES ((u32)(PEEK_BYTES / sizeof(struct vmm_check)))

void zone_batch_begin(struct zone_batch *b, struct peek *k, u64 *suspects,
		      u32 nr)
{
	*b = (struct zone_batch){
		.peek = k,
		.suspects = suspects,
		.nr = nr,
	};
	memset(suspects, 0, BITMAP_WORDS(nr) * sizeof(*suspects));
	if (k->sd->ops->check)
		b->range = peek_borrow(k);
	b->works = b->range;
}

/* Have all that was added looked at. */
static void flush(struct zone_batch *b)
{
	struct slabdev *sd = b->peek->sd;
	char text[ERROR_TEXT_MAX];
	u32 i;

	if (!b->works || !b->nr_ranges)
		return;
	error_save(text);
	b->works = !vmm_check(&sd->vmm, b->range, b->nr_ranges);
	error_restore(text);
	for (i = 0; b->works && i < b->nr_ranges; i++)
		if (b->range[i].first_bad != VMM_CHECK_CLEAN)
			bitmap_set(b->suspects, b->range[i].tag);
	b->nr_ranges = 0;
}

static void add_parts(struct zone_batch *b, u32 number,
		      const struct zone_part *part, u32 n)
{
	u32 i;

	if (b->nr_ranges + n > RANGES)
		flush(b);
	for (i = 0; b->works && i < n; i++)
		b->range[b->nr_ranges++] = (struct vmm_check){
			.addr = space_addr(b->peek->sd, part[i].from),
			.size = part[i].end - part[i].from,
			.byte = part[i].byte,
			.tag = number,
		};
}

void zone_batch_add(struct zone_batch *b, u32 i, const struct class *c,
		    slot_t slot, u64 size)
{
	struct zone_part part[ZONE_PARTS];

	if (b->works)
		add_parts(b, i, part, zone_parts(c, slot, size, part));
}

void zone_batch_add_free(struct zone_batch *b, u32 i, const struct class *c,
			 slot_t slot)
{
	struct zone_part part[ZONE_PARTS];

	if (b->works)
		add_parts(b, i, part, zone_parts_free(c, slot, part));
}

void zone_batch_end(struct zone_batch *b)
{
	u32 i;

	flush(b);
	for (i = 0; !b->works && i < b->nr; i++)
		bitmap_set(b->suspects, i);
}
