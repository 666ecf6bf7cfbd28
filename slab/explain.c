// SPDX-License-Identifier: BSD-2-Clause
/*
 * explain.c - slabdev_explain(): what an address is, and which ways lead there
 * from other processes, devices and network cards.
 *
 * A communication library that cannot take the fast way takes a slow one
 * without a word. Of a live object it is said of each way whether it is open,
 * and if not, what would open it: what depends on the object here (is it in one
 * handle?), what is true of all memory of a space by its backend.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "slab/alloc.h"
#include "slab/badfree.h"
#include "slab/note.h"
#include "slab/own.h"
#include "slab/space.h"
#include "slab/visit.h"

struct question {
	const void *p;
	char *buf;
	size_t len;
	int answer;
};

const char *space_backing(const struct slabdev *sd)
{
	return strcmp(sd->rec->backing, sd->spec) ? sd->rec->backing : "";
}

/* Append: what does not fit is left out. */
static void __printf(2, 3) say(struct question *q, const char *fmt, ...)
{
	size_t n = strlen(q->buf);
	va_list args;

	va_start(args, fmt);
	vsnprintf(q->buf + n, q->len - n, fmt, args);
	va_end(args);
}

static void say_export(struct slabdev *sd, struct question *q,
		       const struct place *at)
{
	u32 type = vmm_share_type(&sd->vmm);

	if (sd->ops->backed)
		say(q, "\n  export: no, only memory of 'host', and of 'cuda:N' "
		    "with VMM, can be");
	else if (type == SLABDEV_HANDLE_NONE)
		say(q, "\n  export: no, the space has no attr.handle_type");
	else if (!vmm_in_one_handle(&sd->vmm, at->object, at->size))
		say(q, "\n  export: no, it lies in several handles; comm "
		    "memory does not");
	else
		say(q, "\n  export: yes, as a %s%s",
		    type == SLABDEV_HANDLE_FD ? "file descriptor" :
						"fabric handle",
		    note_is_exported(sd, at->object) ? "; it is exported" : "");
}

static void say_comm(struct question *q, const struct place *at)
{
	if (at->class && at->class->comm)
		say(q, "\n  comm: yes, it stays mapped when it is free");
	else
		say(q, "\n  comm: no, it may be unmapped once it is free "
		    "(SLABDEV_REQ_COMM)");
}

static void say_owner(struct slabdev *sd, struct question *q,
		      const struct place *at)
{
	struct owner owner;

	if (own_find(sd, at->object, &owner))
		say(q, "\n  owner: %s, which %s gives back", owner.text,
		    owner.call);
}

static void say_ways(struct slabdev *sd, struct question *q,
		     const struct place *at)
{
	char text[512] = "";

	say_owner(sd, q, at);
	say_export(sd, q, at);
	vmm_describe_ways(&sd->vmm, at->object, text, sizeof(text));
	say(q, "%s", text);
	say_comm(q, at);
}

/* True ends the search. */
static bool explain_in(struct slabdev *sd, void *arg)
{
	struct question *q = arg;
	const char *backing;
	struct place at;
	u32 side;

	side = visit_begin(sd);
	lookup(sd, q->p, &at);
	describe_place(sd, q->p, &at, q->buf, q->len);
	backing = space_backing(sd);
	if (at.kind != PLACE_FOREIGN && *backing)
		say(q, " (%s: %s)", sd->spec, backing);
	if (at.kind == PLACE_ARENA)
		say(q, "\n  export: no, an arena's memory comes and goes");
	else if (at.live && !READ_ONCE(sd->dead))
		say_ways(sd, q, &at);
	visit_end(sd, side);
	if (at.kind == PLACE_FOREIGN)
		return false;
	q->answer = sd->dead ? space_check(sd, "slabdev_explain") : !at.live;
	return true;
}

int slabdev_explain(const void *p, char *buf, size_t len)
{
	struct question q = { p, buf, len, -ENOENT };

	if (!buf || !len)
		return error_set(-EINVAL, "slabdev_explain: %s",
				 buf ? "len is 0" : "buf is NULL");
	space_each(explain_in, &q);
	if (q.answer == -ENOENT) {
		snprintf(buf, len, "%p is no address of any open space", p);
		return error_set(-ENOENT, "slabdev_explain: %p is no address "
				 "of any open space", p);
	}
	return q.answer;
}
