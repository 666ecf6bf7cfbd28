// SPDX-License-Identifier: BSD-2-Clause
/* debug_set.c - see debug_set.h. */
#include <errno.h>
#include <string.h>

#include "core/log.h"
#include "core/os.h"
#include "slab/alloc.h"
#include "slab/debug.h"
#include "slab/debug_set.h"
#include "slab/steal.h"

#define IS_FLAG(name, letter) \
	static_assert(SLABDEV_CACHE_##name == (letter) << CACHE_DEBUG_SHIFT, \
		      #name)

IS_FLAG(CONSISTENCY_CHECKS, DEBUG_CONSISTENCY);
IS_FLAG(RED_ZONE, DEBUG_RED_ZONE);
IS_FLAG(POISON, DEBUG_POISON);
IS_FLAG(STORE_USER, DEBUG_USER);
IS_FLAG(TRACE, DEBUG_TRACE);
IS_FLAG(FAILSLAB, DEBUG_FAIL);
IS_FLAG(QUARANTINE, DEBUG_QUARANTINE);
IS_FLAG(GUARD, DEBUG_GUARD);
static_assert(SLABDEV_DEBUG_LETTERS_MAX >= DEBUG_LETTERS_MAX, "room for all");

/* ---- Classes ---------------------------------------------------------- */

static u32 flags_of_locked(const struct class *c, const char *name)
{
	const struct slabdev *sd = c->sd;

	u32 flags = c->no_user_flags || c->spec_is_old ? c->debug_own :
		    debug_spec_flags(&sd->debug_spec, name, c->debug_own);

	/* O is not for a zone that a tool needs. */
	if (sd->debug_always & DEBUG_RED_ZONE)
		flags &= ~DEBUG_NO_GROW;
	return flags | sd->debug_always;
}

int debug_own_flags(struct class *c, u32 flags)
{
	c->no_user_flags = flags & SLABDEV_CACHE_NO_USER_FLAGS;
	c->debug_own = (flags & CACHE_DEBUG_FLAGS) >> CACHE_DEBUG_SHIFT;
	if (!debug_lacking(c->debug_own))
		return 0;
	return error_set(-ENOTSUP, "args.flags %#x: these checks take a build "
			 "with %s", flags, debug_lacking(c->debug_own));
}

/*
 * Pairs with whoever finds a letter and then what debug_ready() made for it.
 */
static void set_flags_locked(struct class *c, u32 flags)
{
	if (flags)
		WRITE_ONCE(c->sd->debugged, true);
	store_release(&c->debug, flags);
}

void debug_begin_locked(struct class *c, const char *name)
{
	set_flags_locked(c, flags_of_locked(c, name));
}

void debug_begin(struct class *c, const char *name)
{
	lock_acquire(&c->sd->lock);
	debug_begin_locked(c, name);
	lock_release(&c->sd->lock);
}

static u32 later_flags_locked(const struct class *c)
{
	return (c->debug & DEBUG_LAYOUT) |
	       (flags_of_locked(c, c->rec->name) & ~DEBUG_LAYOUT);
}

void debug_settle_locked(struct class *c)
{
	u32 flags = later_flags_locked(c);

	if (debug_ready(c, flags))
		flags &= ~DEBUG_QUARANTINE;
	set_flags_locked(c, flags);
}

/* All classes get what they are to have now, or none does. */
static int settle_all_locked(struct slabdev *sd)
{
	u32 id;
	int err;

	for (id = 0; id < CLASS_MAX; id++) {
		if (!sd->class[id])
			continue;
		err = debug_ready(sd->class[id],
				  later_flags_locked(sd->class[id]));
		if (err)
			return err;
	}
	for (id = 0; id < CLASS_MAX; id++)
		if (sd->class[id])
			set_flags_locked(sd->class[id],
					 later_flags_locked(sd->class[id]));
	return 0;
}

/* Flags were stored: @c, or all classes, may have to leave the fast paths. */
static void leave_fast_paths(struct slabdev *sd, struct class *c)
{
	/* Pairs with put_sheaves(). */
	if (sd->use_sheaves)
		os_membarrier();
	take_back(sd, c);
}

int debug_switch(struct slabdev *sd, u32 set, u32 clear)
{
	u32 before;
	int err;

	lock_acquire(&sd->lock);
	before = sd->debug_always;
	sd->debug_always = (before & ~clear) | set;
	err = settle_all_locked(sd);
	if (err)
		sd->debug_always = before;
	lock_release(&sd->lock);
	if (!err)
		leave_fast_paths(sd, NULL);
	return err;
}

/* ---- Public calls ----------------------------------------------------- */

static int refuse_text(const char *call, const char *text, const char *why)
{
	return error_set(-EINVAL, "%s: '%.64s' is not accepted%s", call, text,
			 why);
}

static int set_spec_locked(struct slabdev *sd, const struct debug_spec *spec)
{
	struct debug_spec before = sd->debug_spec;
	u32 id;
	int err;

	sd->debug_spec = *spec;
	for (id = 0; id < CLASS_MAX; id++)
		if (sd->class[id])
			sd->class[id]->spec_is_old = false;
	err = settle_all_locked(sd);
	if (err)
		sd->debug_spec = before;
	return err;
}

/* A space is watched for hazards from its first moment on, or never. */
static int set_spec(struct slabdev *sd, const char *text)
{
	struct debug_spec spec;
	int err;

	lock_acquire(&sd->lock);
	spec = sd->debug_spec;
	spec.global &= ~DEBUG_HAZARD;
	err = debug_spec_parse(&spec, text);
	if (!err && (spec.global & DEBUG_HAZARD) && !sd->hazard)
		err = refuse_text("slabdev_set_debug", text, " for its H, "
				  "which a space has from its opening on, or "
				  "never");
	if (!err)
		err = set_spec_locked(sd, &spec);
	lock_release(&sd->lock);
	return err;
}

int slabdev_set_debug(struct slabdev *sd, const char *spec)
{
	char why[DEBUG_WHY_MAX];
	int err;

	err = space_check(sd, "slabdev_set_debug");
	if (err)
		return err;
	if (!spec)
		return error_set(-EINVAL, "slabdev_set_debug: spec is NULL");
	if (debug_spec_why(spec, why, sizeof(why)))
		return refuse_text("slabdev_set_debug", spec, why);
	err = set_spec(sd, spec);
	if (!err)
		leave_fast_paths(sd, NULL);
	return err;
}

/* The letters of one cache: no names, and nothing that is of spaces. */
static int read_letters(const char *text, u32 *flags)
{
	static const char call[] = "slabdev_cache_set_debug";
	struct debug_spec spec = { 0 };
	char why[DEBUG_WHY_MAX];

	if (!text || !*text)
		return error_set(-EINVAL, "%s: no letters; give - for none",
				 call);
	if (strpbrk(text, ",;"))
		return refuse_text(call, text, ", as it is of one cache: give "
				   "letters only");
	if (debug_spec_why(text, why, sizeof(why)) ||
	    debug_spec_parse(&spec, text))
		return refuse_text(call, text, why);
	if (spec.no_grow || (spec.global & DEBUG_HAZARD))
		return refuse_text(call, text, ", as O and H are for all "
				   "caches");
	*flags = spec.global;
	return 0;
}

static int set_letters_locked(struct class *c, u32 flags)
{
	int err = debug_ready(c, flags);

	if (err)
		return err;
	c->debug_own = flags;
	/* Until the space is told anew what its user said holds. */
	c->spec_is_old = true;
	set_flags_locked(c, (c->debug & ~DEBUG_SWITCHES) | flags |
			    c->sd->debug_always);
	return 0;
}

int slabdev_cache_set_debug(struct slabdev_cache *cache, const char *letters)
{
	struct class *c = cache_class(cache);
	u32 flags;
	int err;

	err = cache_check(c, "slabdev_cache_set_debug");
	if (!err)
		err = read_letters(letters, &flags);
	if (err)
		return err;
	if (flags & DEBUG_LAYOUT & ~READ_ONCE(c->debug))
		return refuse_text("slabdev_cache_set_debug", letters,
				   ", as a cache has Z, P and G from its "
				   "creation on, or never");
	lock_acquire(&c->sd->lock);
	err = set_letters_locked(c, flags);
	lock_release(&c->sd->lock);
	if (!err)
		leave_fast_paths(c->sd, c);
	return err;
}

int slabdev_cache_debug(const struct slabdev_cache *cache, char *buf,
			size_t len)
{
	const struct class *c = (const struct class *)cache;
	char letters[DEBUG_LETTERS_MAX];
	int err;

	err = cache_check(c, "slabdev_cache_debug");
	if (err)
		return err;
	if (!buf)
		return error_set(-EINVAL, "slabdev_cache_debug: buf is NULL");
	debug_letters(READ_ONCE(c->debug) & ~DEBUG_NO_GROW, letters);
	if (strlen(letters) >= len)
		return error_set(-ERANGE, "slabdev_cache_debug: room for %zu "
				 "characters, and %zu are needed", len,
				 strlen(letters) + 1);
	memcpy(buf, letters, strlen(letters) + 1);
	return 0;
}
