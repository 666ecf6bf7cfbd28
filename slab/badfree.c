// SPDX-License-Identifier: BSD-2-Clause
/* badfree.c - wrong pointers, in words; see badfree.h. */
#include <errno.h>
#include <stdio.h>

#include "slab/arena.h"
#include "slab/badfree.h"
#include "slab/own.h"
#include "slab/track.h"

static void describe_object(const struct slabdev *sd, const void *p,
			    const struct place *at, const char *name, char *buf,
			    size_t len)
{
	unsigned long long into = at->offset - at->object;

	if (into)
		snprintf(buf, len, "%p is %llu bytes inside a %s object of %s "
			 "in space %s, which begins at %p", p, into,
			 at->live ? "live" : "free", name, sd->name,
			 to_ptr(space_addr(sd, at->object)));
	else if (at->live)
		snprintf(buf, len, "%p is a live object of %s in space %s: "
			 "%llu bytes asked for, %llu usable", p, name,
			 sd->name, (unsigned long long)at->size,
			 (unsigned long long)at->usable);
	else
		snprintf(buf, len, "%p is a free object of %s in space %s", p,
			 name, sd->name);
}

static void describe_in_arena(struct slabdev *sd, const void *p, char *buf,
			      size_t len)
{
	char text[PLACE_TEXT_MAX];

	if (arenas_describe(sd, p, text, sizeof(text)))
		snprintf(buf, len, "%p is %s", p, text);
	else
		snprintf(buf, len, "%p was in an arena of space %s", p,
			 sd->name);
}

void describe_place(struct slabdev *sd, const void *p,
		    const struct place *at, char *buf, size_t len)
{
	switch (at->kind) {
	case PLACE_FOREIGN:
		snprintf(buf, len, "%p is no address of space %s", p, sd->name);
		break;
	case PLACE_UNUSED:
		snprintf(buf, len, "%p is an address of space %s where there "
			 "is no object", p, sd->name);
		break;
	case PLACE_SLACK:
		snprintf(buf, len, "%p is in the unused tail of a slab of %s "
			 "in space %s", p, at->class->rec->name, sd->name);
		break;
	case PLACE_ARENA:
		describe_in_arena(sd, p, buf, len);
		break;
	case PLACE_OBJECT:
		describe_object(sd, p, at, at->class->rec->name, buf, len);
		break;
	case PLACE_LARGE:
		describe_object(sd, p, at, at->class ? at->class->rec->name :
						       "large", buf, len);
		break;
	case PLACE_GONE:
		snprintf(buf, len, "%p was an object of %s in space %s, and "
			 "was freed", p, at->class->rec->name, sd->name);
		break;
	}
}

static enum report_kind kind_of(const struct class *c, const struct place *at,
				int err)
{
	if (err == -EALREADY)
		return REPORT_DOUBLE_FREE;
	if (c && at->start && at->live && at->class != c)
		return REPORT_WRONG_CACHE;
	return REPORT_INVALID_POINTER;
}

static const char *headline(enum report_kind kind, const struct place *at,
			    int err)
{
	if (err == -EBUSY)
		return "Object exported to another process";
	if (kind == REPORT_DOUBLE_FREE)
		return "Object already free";
	if (kind == REPORT_WRONG_CACHE)
		return "Object belongs to a different cache";
	if (at->kind == PLACE_FOREIGN)
		return "Invalid object pointer: not of this space";
	if ((at->kind == PLACE_OBJECT || at->kind == PLACE_LARGE) && !at->start)
		return "Invalid object pointer: inside an object";
	return "Invalid object pointer: no object there";
}

static void start(struct report *r, enum report_kind kind,
		  const struct slabdev *sd, const struct place *at, int err,
		  const char *owner_kind)
{
	if (owner_kind)
		report_start(r, kind, sd->name, "Object belongs to a%s %s",
			     *owner_kind == 'a' ? "n" : "", owner_kind);
	else
		report_start(r, kind, sd->name, "%s", headline(kind, at, err));
}

/* Who gives it back, where that is none of its callers. */
static bool find_owner(struct slabdev *sd, const void *p,
		       const struct place *at, struct owner *owner)
{
	if (at->kind == PLACE_ARENA)
		return arenas_owner(sd, p, owner);
	return at->live && own_find(sd, at->object, owner);
}

int bad_free(struct report *r, struct slabdev *sd, const struct class *c,
	     const void *p, const struct place *at, int err)
{
	enum report_kind kind = kind_of(c, at, err);
	struct owner owner = { .kind = NULL };
	char text[PLACE_TEXT_MAX];
	bool owned = kind == REPORT_INVALID_POINTER && err == -EINVAL &&
		     find_owner(sd, p, at, &owner);

	describe_place(sd, p, at, text, sizeof(text));
	start(r, kind, sd, at, err, owner.kind);
	report_line(r, "%s", text);
	if (owned)
		report_line(r, "it belongs to %s: %s gives it back",
			    owner.text, owner.call);
	if (c)
		report_line(r, "it was to be freed to cache %s", c->rec->name);
	if (at->kind >= PLACE_OBJECT)
		track_tell(r, sd, at->object);
	report_line(r, "nothing was changed");
	if (owned)
		return error_set(err, "%p in space %s belongs to %s: %s gives "
				 "it back", p, sd->name, owner.text,
				 owner.call);
	if (err == -EBUSY)
		return error_set(err, "%p in space %s is exported to another "
				 "process: slabdev_export_end() first", p,
				 sd->name);
	return error_set(err, "%s", text);
}
