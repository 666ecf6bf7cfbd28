// SPDX-License-Identifier: BSD-2-Clause
/* class_table.c - see class_table.h. */
#include <errno.h>
#include <string.h>

#include "core/log.h"
#include "slab/class.h"
#include "slab/class_table.h"
#include "slab/segment.h"
#include "slab/tiny.h"

#define SHARED_FIRST CLASS_WINDOW

/* A free class number in [first, end); 0: none. */
static u32 free_id_locked(struct slabdev *sd, u32 first, u32 end)
{
	for (; first < end; first++)
		if (!sd->class[first])
			return first;
	return 0;
}

static int pick_id_locked(struct slabdev *sd, struct class *c)
{
	u32 id = 0;

	if (!class_is_tiny(c) && !c->sized)
		id = free_id_locked(sd, CODE_CACHE_FIRST, CODE_CACHE_LAST + 1);
	c->code = id ? (u8)id : CODE_SHARED;
	if (!id)
		id = free_id_locked(sd, SHARED_FIRST, CLASS_MAX);
	/* Tiny ones do without a code, but a number is a number. */
	if (!id)
		id = free_id_locked(sd, CODE_CACHE_FIRST, CODE_CACHE_LAST + 1);
	if (!id)
		return error_set(-ENOSPC, "space %s has as many caches as "
				 "there can be", sd->name);
	c->id = (u16)id;
	return 0;
}

int class_register_locked(struct class *c, const char *name,
			  enum slabdev_seg_class_type type)
{
	struct slabdev *sd = c->sd;
	int err;

	err = pick_id_locked(sd, c);
	if (err)
		return err;
	err = segment_window(sd, c->id / CLASS_WINDOW);
	if (err)
		return err;
	c->rec = &sd->window[c->id / CLASS_WINDOW]->cls[c->id % CLASS_WINDOW];
	memset(c->rec->name, 0, sizeof(c->rec->name));
	memcpy(c->rec->name, name, strlen(name));
	c->rec->type = type;
	class_init(c);
	if (c->code <= CODE_DIRECT_LAST)
		sd->code_size[c->code] = (u32)c->object_size;
	store_release(&sd->class[c->id], c);
	store_release(&c->rec->state, SLABDEV_SEG_USED);
	return 0;
}
