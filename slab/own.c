// SPDX-License-Identifier: BSD-2-Clause
/* own.c - see own.h. */
#include <errno.h>
#include <stdio.h>

#include "core/log.h"
#include "slab/alloc.h"
#include "slab/arena.h"
#include "slab/buf.h"
#include "slab/class.h"
#include "slab/group.h"
#include "slab/hazard_watch.h"
#include "slab/note.h"
#include "slab/own.h"

/* ---- In words ----------------------------------------------------------- */

/* What there is to say of an owner, by the kind of its token. */
static const struct {
	const char *call;
	void (*describe)(const void *token, char *buf, size_t len);
} kinds[] = {
	[TOKEN_BUFFER] = { "slabdev_buf_put()", buf_describe },
	[TOKEN_GROUP] = { "slabdev_group_free()", group_describe },
	[TOKEN_ARENA] = { "slabdev_arena_destroy()", arena_describe },
};

bool own_find(struct slabdev *sd, u64 offset, struct owner *owner)
{
	const void *name = NULL;
	const struct note *n;
	u32 kind;

	*owner = (struct owner){ NULL, "its owner", "" };
	if (!notes_any(sd))
		return false;
	lock_acquire(&sd->notes.lock);
	n = note_find_locked(sd, offset);
	if (n) {
		owner->kind = n->owner_kind;
		name = n->owner;
	}
	lock_release(&sd->notes.lock);
	if (!owner->kind)
		return false;
	snprintf(owner->text, sizeof(owner->text), "%s %p", owner->kind, name);
	kind = token_kind(name);
	if (kind >= ARRAY_SIZE(kinds) || !kinds[kind].call)
		return true;
	owner->call = kinds[kind].call;
	if (kinds[kind].describe)
		kinds[kind].describe(name, owner->text, sizeof(owner->text));
	return true;
}

/* ---- Alloc and free ----------------------------------------------------- */

static u64 offset_of(const struct slabdev *sd, const void *p)
{
	u64 offset = 0;

	(void)vmm_offset(&sd->vmm, (u64)(uintptr_t)p, &offset);
	return offset;
}

static void set_owner(struct slabdev *sd, const void *p, struct note *spare,
		      const char *what, const void *name)
{
	struct note *n;

	lock_acquire(&sd->notes.lock);
	n = note_set_locked(sd, offset_of(sd, p), spare);
	n->owner_kind = what;
	n->owner = name;
	lock_release(&sd->notes.lock);
}

/* The note first: what has been allocated has not to be undone then. */
void *own_alloc(struct slabdev *sd, size_t size, const struct slabdev_req *req,
		const char *what, const void *name)
{
	struct note *n = note_new(sd);
	void *p;

	if (!n)
		return alloc_failed(sd, NULL,
				    error_set(-ENOMEM, "%s: no host memory "
					      "for a note on a %s", sd->name,
					      what));
	p = alloc_req(sd, size, req, what);
	if (p)
		set_owner(sd, p, n, what, name);
	else
		note_free(sd, n);
	return p;
}

int own_use(struct slabdev *sd, void *p, const void *name,
	    const struct order *o)
{
	return watch_use(sd, note_use_owned(sd, offset_of(sd, p), name, o), p,
			 o->handle);
}

static int exported(const struct slabdev *sd, const void *p)
{
	return error_set(-EBUSY, "%p in space %s is exported to another "
			 "process: slabdev_export_end() first", p, sd->name);
}

int own_may_free(struct slabdev *sd, const void *p)
{
	return note_is_exported(sd, offset_of(sd, p)) ? exported(sd, p) : 0;
}

int own_free(struct slabdev *sd, void *p, const struct order *o)
{
	u64 offset = offset_of(sd, p);
	struct note *n;
	int err = note_end(sd, offset, 0, &n);

	if (err == -EBUSY)
		return exported(sd, p);
	if (err)
		return error_set(err, "%p in space %s is not owned any more", p,
				 sd->name);
	free_ended(sd, class_at(sd, offset), offset, o, n);
	return 0;
}
