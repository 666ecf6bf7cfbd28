// SPDX-License-Identifier: BSD-2-Clause
/*
 * block.c - numbers of objects, by which a copy of what was known of one is
 * told from the object itself.
 *
 * The first slabdev_block_get() of an object gives it a number, which stays in
 * its note (note.h) until the object's life ends, whoever ends it. Numbers are
 * counted over all spaces and never used twice: whether a block holds is
 * whether a note at its place has its number. So nothing is kept of objects
 * that are gone, and nothing of blocks: they may be copied and dropped at will.
 *
 * A free by a block looks at the note and ends the object's life under one
 * lock: of several, one finds the number.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/overflow.h"
#include "core/usercopy.h"
#include "slab/alloc.h"
#include "slab/badfree.h"
#include "slab/class.h"
#include "slab/hazard_watch.h"
#include "slab/kind.h"
#include "slab/note.h"
#include "slab/visit.h"

#define ALIGN_MOST GIB
/* The structure as it was when it first came: no shorter one was ever built. */
#define SIZE_LEAST \
	(offsetof(struct slabdev_block, space) + sizeof(uint64_t))

static u64 last_number;	/* atomic */

/* What the caller has, as far as both sides know it. */
static int take_block(struct slabdev_block *copy,
		      const struct slabdev_block *block, const char *call)
{
	*copy = (struct slabdev_block)SLABDEV_BLOCK_INIT;
	if (!block)
		return error_set(-EINVAL, "%s: block is NULL", call);
	if (block->size < SIZE_LEAST)
		return error_set(-EINVAL, "%s: block.size is %zu: initialise "
				 "the structure with SLABDEV_BLOCK_INIT", call,
				 block->size);
	return copy_struct_from_user(copy, sizeof(*copy), block, "block");
}

/* ---- Describing --------------------------------------------------------- */

/* A device by its name: which one it is. */
static int find_uuid(const char *uuid)
{
	struct slabdev_device_info info;
	int i, n = slabdev_device_count();

	for (i = 0; i < n; i++)
		if (!slabdev_device_get(i, &info, sizeof(info)) &&
		    !strcmp(info.uuid, uuid) &&
		    !strncmp(info.spec, "cuda:", 5))
			return atoi(info.spec + 5);
	return -1;
}

static void describe_memory(const struct slabdev *sd,
			    struct slabdev_block *block)
{
	const char *name;

	block->kind = memory_kind_of(sd->spec, &name);
	if (block->kind == SLABDEV_MEMORY_HOST)
		block->device = -1;
	else
		block->device = *name >= '0' && *name <= '9' ? atoi(name) :
							       find_uuid(name);
}

/* The number of a live object; 0: no host memory for its note. */
static u64 number_of(struct slabdev *sd, u64 offset)
{
	struct note *n;
	u64 number = 0;

	lock_acquire(&sd->notes.lock);
	n = note_get_locked(sd, offset);
	if (n && !n->number)
		n->number = __atomic_add_fetch(&last_number, 1,
					       __ATOMIC_RELAXED);
	if (n)
		number = n->number;
	lock_release(&sd->notes.lock);
	return number;
}

static u64 alignment(u64 addr)
{
	return min(addr & -addr, ALIGN_MOST);
}

int slabdev_block_get(struct slabdev *sd, void *p, struct slabdev_block *block)
{
	static const char call[] = "slabdev_block_get";
	struct slabdev_block made;
	struct place at;
	int err = space_check(sd, call);

	if (!err)
		err = take_block(&made, block, call);
	if (err)
		return err;
	if (!lookup_live(sd, p, &at))
		return error_set(-EINVAL, "%s: no live object of %s begins at "
				 "%p", call, sd->name, p);
	made.id = number_of(sd, at.object);
	if (!made.id)
		return error_set(-ENOMEM, "%s: %s: no host memory for a note "
				 "on an object", call, sd->name);
	made.size = block->size;	/* stays the caller's */
	made.ptr = p;
	made.bytes = at.size;
	made.usable = slabdev_usable_size(sd, p);
	made.align = alignment((u64)(uintptr_t)p);
	made.space = sd->open_id;
	describe_memory(sd, &made);
	return copy_struct_to_user(block, made.size, &made, sizeof(made),
				   "block");
}

/* ---- Asking ------------------------------------------------------------- */

/* Is it what this space has made of an object? *@copy is what is known. */
static int check_block(const struct slabdev *sd, struct slabdev_block *copy,
		       const struct slabdev_block *block, const char *call)
{
	int err = space_check(sd, call);

	if (!err)
		err = take_block(copy, block, call);
	if (err)
		return err;
	block = copy;
	if (!block->id ||
	    block->id > __atomic_load_n(&last_number, __ATOMIC_RELAXED))
		return error_set(-EINVAL, "%s: block.id is %llu: no block has "
				 "that number", call,
				 (unsigned long long)block->id);
	if (block->space != sd->open_id)
		return error_set(-EINVAL, "%s: block %llu describes an object "
				 "of another space than %s, perhaps of one "
				 "that was closed", call,
				 (unsigned long long)block->id, sd->name);
	return 0;
}

/* Where it was. False: that is no address of the space any more. */
static bool find_offset(const struct slabdev *sd,
			const struct slabdev_block *block, u64 *offset)
{
	return vmm_offset(&sd->vmm, (u64)(uintptr_t)block->ptr, offset);
}

static bool holds(struct slabdev *sd, const struct slabdev_block *block)
{
	const struct note *n;
	u64 offset;
	bool same;

	if (!find_offset(sd, block, &offset))
		return false;
	lock_acquire(&sd->notes.lock);
	n = note_find_locked(sd, offset);
	same = n && n->number == block->id;
	lock_release(&sd->notes.lock);
	return same;
}

int slabdev_block_check(struct slabdev *sd, const struct slabdev_block *user)
{
	struct slabdev_block block;
	int err = check_block(sd, &block, user, "slabdev_block_check");

	if (err || holds(sd, &block))
		return err;
	return error_set(-ESTALE, "slabdev_block_check: the object of block "
			 "%llu, which was at %p in space %s, was freed",
			 (unsigned long long)block.id, block.ptr, sd->name);
}

/* ---- Freeing ------------------------------------------------------------ */

static int already_free(const struct slabdev *sd,
			const struct slabdev_block *block)
{
	struct report r;

	report_start(&r, REPORT_DOUBLE_FREE, sd->name,
		     "The object of a block is free already");
	report_line(&r, "block %llu: %llu bytes at %p",
		    (unsigned long long)block->id,
		    (unsigned long long)block->bytes, block->ptr);
	report_line(&r, "nothing was changed, whatever is there now");
	report_end(&r);
	return error_set(-EALREADY, "slabdev_block_free: the object of block "
			 "%llu, which was at %p in space %s, is free already",
			 (unsigned long long)block->id, block->ptr, sd->name);
}

/* It is live, but its owner frees it, or another process has it. */
static int refuse(struct slabdev *sd, void *p, int err)
{
	u32 side = visit_begin(sd);
	struct report r;
	struct place at;

	lookup(sd, p, &at);
	err = bad_free(&r, sd, NULL, p, &at, err);
	visit_end(sd, side);
	report_end(&r);
	return err;
}

int slabdev_block_free(struct slabdev *sd, const struct slabdev_block *user)
{
	struct slabdev_block block;
	int err = check_block(sd, &block, user, "slabdev_block_free");
	struct note *n;
	struct order o;
	u64 offset;

	watch_site(sd);
	if (err)
		return err;
	if (!find_offset(sd, &block, &offset))
		return already_free(sd, &block);
	err = note_end(sd, offset, block.id, &n);
	if (err == -EALREADY)
		return already_free(sd, &block);
	if (err)
		return refuse(sd, block.ptr, err);
	o = order_plain(sd);
	free_ended(sd, class_at(sd, offset), offset, &o, n);
	return 0;
}
