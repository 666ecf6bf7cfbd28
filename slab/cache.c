// SPDX-License-Identifier: BSD-2-Clause
/*
 * cache.c - named caches: a class that a user made.
 *
 * Locking: the space lock for the list of caches. A name is free again when the
 * class's number is (class_table.h).
 */
#include <errno.h>
#include <string.h>

#include "core/log.h"
#include "core/overflow.h"
#include "core/usercopy.h"
#include "slab/alloc.h"
#include "slab/barn.h"
#include "slab/class.h"
#include "slab/class_table.h"
#include "slab/comm.h"
#include "slab/debug.h"
#include "slab/debug_set.h"
#include "slab/hazard_watch.h"
#include "slab/heap.h"
#include "slab/miss.h"
#include "slab/live.h"
#include "slab/pending.h"
#include "slab/probe.h"
#include "slab/quarantine.h"
#include "slab/segment.h"
#include "slab/steal.h"
#include "slab/tiny.h"
#include "slab/visit.h"

#define CACHE_ALIGN_MAX MIB
#define DESTROY_ROUNDS 4u
#define CACHE_FLAGS (SLABDEV_CACHE_COMM | SLABDEV_CACHE_NO_USER_FLAGS | \
		     CACHE_DEBUG_FLAGS)

/* ---- Create ----------------------------------------------------------- */

static int check_name(const char *name)
{
	size_t i, len;

	if (!name)
		return error_set(-EINVAL, "the cache's name is NULL");
	len = strnlen(name, SLABDEV_NAME_MAX + 1);
	if (!len || len > SLABDEV_NAME_MAX)
		return error_set(-EINVAL, "cache name \"%.40s\": 1 to %d "
				 "characters are allowed", name,
				 SLABDEV_NAME_MAX);
	for (i = 0; i < len; i++)
		if (name[i] <= ' ' || name[i] > '~')
			return error_set(-EINVAL, "cache name \"%s\": "
					 "character %zu is not printable, or a "
					 "blank",
					 name, i + 1);
	return 0;
}

static int check_args(size_t size, const struct slabdev_cache_args *args)
{
	if (!size || size > CACHE_OBJECT_MAX)
		return error_set(-EINVAL, "object size %zu: 1 to %llu bytes "
				 "are allowed", size,
				 (unsigned long long)CACHE_OBJECT_MAX);
	if (args->align && (!is_power_of_2(args->align) ||
			    args->align > CACHE_ALIGN_MAX))
		return error_set(-EINVAL, "args.align %zu is not a power of "
				 "two up to 1 MiB", args->align);
	if ((args->flags & ~CACHE_FLAGS) || args->reserved)
		return error_set(-EINVAL, "args.flags %#x has bits that this "
				 "version does not know", args->flags);
	return 0;
}

/* The largest power of two that divides the size, within bounds. */
static u64 natural_align(u64 size)
{
	u64 align = size & -size;

	return min(max(align, (u64)TINY_MIN), GRANULE);
}

static void shape_slabs(struct class *c, u64 size,
			const struct slabdev_cache_args *args)
{
	u64 align = args->align ? max(args->align, (size_t)TINY_MIN) :
				  natural_align(c->object_size);
	u64 stride = align_up(size, align);
	struct slab_shape shape;

	if (stride >= GRANULE) {
		align = max(align, GRANULE);
		stride = align_up(size, align);
		shape = layout_shape(stride);
		c->shift = GRANULE_SHIFT;
	} else {
		shape = layout_tiny_shape((u32)stride);
		c->shift = (u8)__builtin_ctzll(stride);
	}
	c->stride = stride;
	c->align = (u32)align;
	c->nr = shape.nr;
	c->span = shape.span;
	c->sheaf_cap = stride > GENERAL_MAX ? 0 :
		       layout_sheaf_cap(stride, args->sheaf_bytes);
	c->barn_max = barn_limit(stride, c->sheaf_cap);
}

/* False: more than a space can address. */
static bool shape_for(struct class *c, u64 bytes,
		      const struct slabdev_cache_args *args)
{
	if (c->sd->comm_only || args->flags & SLABDEV_CACHE_COMM)
		return comm_shape(c, bytes);
	shape_slabs(c, bytes, args);
	return true;
}

/* With room for a red zone, if that is wanted and may cost memory. */
static bool shape_with_zone(struct class *c, size_t size,
			    const struct slabdev_cache_args *args)
{
	u64 before = c->stride;

	if (!shape_for(c, size + ZONE_MIN, args))
		return false;
	if (!(c->debug & DEBUG_NO_GROW) || c->stride == before)
		return true;
	c->debug &= ~DEBUG_RED_ZONE;
	return shape_for(c, size, args);
}

static int shape_class(struct class *c, size_t size,
		       const struct slabdev_cache_args *args)
{
	bool fits;

	c->object_size = size;
	c->ctor = args->ctor;
	c->ctor_arg = args->ctor_arg;
	fits = shape_for(c, size, args);
	if (fits && c->debug & DEBUG_RED_ZONE)
		fits = shape_with_zone(c, size, args);
	if (fits)
		debug_shape(c);
	if (fits)
		return 0;
	return error_set(-ENOMEM, "objects of %zu bytes are more than a space "
			 "can address", size);
}

static bool name_is_taken_locked(struct slabdev *sd, const char *name)
{
	struct class *c;

	list_for_each_entry(c, &sd->caches, link)
		if (!strcmp(c->rec->name, name))
			return true;
	return false;
}

static int add_cache_locked(struct slabdev *sd, struct class *c,
			    const char *name)
{
	int err;

	if (name_is_taken_locked(sd, name))
		return error_set(-EEXIST, "space %s has a cache named %s "
				 "already", sd->name, name);
	err = class_register_locked(c, name, SLABDEV_SEG_CACHE);
	if (err)
		return err;
	debug_settle_locked(c);
	list_add_tail(&c->link, &sd->caches);
	WRITE_ONCE(sd->rec->nr_caches, sd->rec->nr_caches + 1);
	return 0;
}

int slabdev_cache_create(struct slabdev_cache **cache, struct slabdev *sd,
			 const char *name, size_t object_size,
			 const struct slabdev_cache_args *user_args)
{
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	struct class *c;
	int err;

	err = space_check(sd, "slabdev_cache_create");
	if (err)
		return err;
	if (!cache)
		return error_set(-EINVAL,
				 "slabdev_cache_create: cache is NULL");
	err = copy_struct_from_user(&args, sizeof(args), user_args, "args");
	if (!err)
		err = check_name(name);
	if (!err)
		err = check_args(object_size, &args);
	if (err)
		return err;
	c = metapool_alloc(&sd->class_pool);
	if (!c)
		return error_set(-ENOMEM, "no host memory for cache %s", name);
	c->sd = sd;
	err = debug_own_flags(c, args.flags);
	if (err)
		goto free_class;
	debug_begin(c, name);
	err = shape_class(c, object_size, &args);
	if (!err)
		err = debug_ready(c, c->debug);
	if (err)
		goto free_class;
	lock_acquire(&sd->lock);
	err = add_cache_locked(sd, c, name);
	lock_release(&sd->lock);
	if (err)
		goto free_class;
	*cache = class_cache(c);
	return 0;

free_class:
	quarantine_fini(c);
	metapool_free(&sd->class_pool, c);
	return err;
}

/* ---- Destroy ---------------------------------------------------------- */

static void unregister(struct class *c)
{
	struct slabdev *sd = c->sd;

	lock_acquire(&sd->lock);
	list_del(&c->link);
	store_release(&c->rec->state, SLABDEV_SEG_FREE);
	segment_retire_class(sd, c->id);
	store_release(&sd->class[c->id], (struct class *)NULL);
	WRITE_ONCE(sd->rec->nr_caches, sd->rec->nr_caches - 1);
	lock_release(&sd->lock);
}

/*
 * Visitors may have objects of the class in their hands: first those that they
 * took out of sheaves, then those out of the barn. After that all are back.
 */
static bool empty_class(struct class *c)
{
	bool all = false;
	u32 i;

	WRITE_ONCE(c->ending, true);
	for (i = 0; i < 2 && (!all || READ_ONCE(c->rec->slabs)); i++) {
		visit_wait(c->sd);
		all = take_back(c->sd, c);
	}
	if (all && READ_ONCE(c->rec->slabs)) {
		quarantine_release_bad(c);
		class_drop_empty(c);
	}
	all = all && !READ_ONCE(c->rec->slabs);
	WRITE_ONCE(c->ending, all);
	return all;
}

/* What streams have freed comes back when they are done. */
static void wait_for_objects(struct class *c)
{
	char text[ERROR_TEXT_MAX];

	if (!READ_ONCE(c->sd->streams.end) && !READ_ONCE(c->rec->pending))
		return;
	error_save(text);
	take_back(c->sd, c);
	(void)pending_wait(c->sd);
	error_restore(text);
}

/* What a stream has waits for others, too: one wait may not reach all. */
static bool empty_when_done(struct class *c)
{
	u32 i;

	for (i = 0; i < DESTROY_ROUNDS; i++) {
		wait_for_objects(c);
		if (empty_class(c))
			return true;
		if (!READ_ONCE(c->rec->pending))
			break;
	}
	return false;
}

int slabdev_cache_destroy(struct slabdev_cache *cache)
{
	struct class *c = cache_class(cache);
	u64 live;
	int err;

	if (!c)
		return 0;
	err = cache_check(c, "slabdev_cache_destroy");
	if (err)
		return err;
	live = live_count(c);
	if (live) {
		live_report(c->sd, c, "destroying a cache");
		return error_set(-EBUSY, "cache %s has %llu live objects",
				 c->rec->name, (unsigned long long)live);
	}
	if (!empty_when_done(c))
		return error_set(-EBUSY, READ_ONCE(c->rec->pending) ?
				 "cache %s: a stream or a graph has objects of "
				 "it" : "cache %s: a thread is still inside a "
				 "call on it", c->rec->name);
	unregister(c);
	visit_wait(c->sd);
	class_fini(c);
	metapool_free(&c->sd->class_pool, c);
	return 0;
}

int slabdev_cache_shrink(struct slabdev_cache *cache)
{
	struct class *c = cache_class(cache);
	int err = cache_check(c, "slabdev_cache_shrink");

	if (err)
		return err;
	wait_for_objects(c);
	take_back(c->sd, c);
	return 0;
}

int slabdev_cache_prefill(struct slabdev_cache *cache, size_t n)
{
	struct class *c = cache_class(cache);
	int err = cache_check(c, "slabdev_cache_prefill");

	if (err)
		return err;
	change_begin(c->sd);
	err = class_prefill(c, n);
	change_end(c->sd);
	return space_failed(c->sd, err);
}

/* ---- Bulk ------------------------------------------------------------- */

/* To the slabs, where they are of use to whoever made the memory short. */
static void return_slots(struct class *c, size_t n, void *const *p)
{
	slot_t slot[64];
	u32 i;

	while (n) {
		for (i = 0; n && i < ARRAY_SIZE(slot); i++)
			slot[i] = (slot_t)(uintptr_t)p[--n];
		class_put(c, slot, i, c->sd->domain);
	}
}

/*
 * Slots are collected first, in the caller's array, and become live together:
 * so a failure takes nothing back that was ever booked.
 */
static int collect_slots(struct heap *h, struct class *c, size_t n, void **p)
{
	struct order plain = order_plain(c->sd);
	struct order o = order_to_have(c->sd, &plain);
	struct bin *b = heap_bin(h, c);
	u64 refills = 0;
	slot_t slot;
	u32 before;
	size_t i;
	int from;

	for (i = 0; i < n; i++) {
		if (!b || !sheaf_pop(h, b, &slot)) {
			before = miss_begin(c->sd);
			from = order_get_one(h, c, 0, &o, &slot);
			if (from < 0)
				goto put_back;
			miss_end(c->sd, before, c->object_size);
			refills += (u64)from;
		}
		p[i] = to_ptr(slot);
	}
	if (refills)
		shared_add(&c->rec->refills, refills);
	return 0;

put_back:
	return_slots(c, i, p);
	memset(p, 0, n * sizeof(*p));
	return from;
}

/* While the bound stream is captured each object is a graph's; each one is
 * watched in hazard mode, and checked where the class is debugged. */
static int alloc_singly(struct class *c, size_t n, void **p)
{
	struct order o = order_plain(c->sd);
	size_t i;
	int err;

	for (i = 0; i < n; i++) {
		p[i] = class_alloc(c, c->object_size, 0, &o);
		if (p[i])
			continue;
		err = -errno;
		while (i)
			(void)cache_free_in_order(c, p[--i], &o);
		memset(p, 0, n * sizeof(*p));
		return err;
	}
	return 0;
}

int slabdev_cache_alloc_bulk(struct slabdev_cache *cache, size_t n, void **p)
{
	struct class *c = cache_class(cache);
	struct heap *h;
	size_t i;
	int err;

	err = cache_check(c, "slabdev_cache_alloc_bulk");
	if (err)
		return err;
	if (n && !p)
		return error_set(-EINVAL,
				 "slabdev_cache_alloc_bulk: p is NULL");
	watch_site(c->sd);
	if (READ_ONCE(c->sd->bound_captured) || c->sd->hazard ||
	    class_is_debugged(c))
		return alloc_singly(c, n, p);
	h = heap_get(c->sd);
	err = collect_slots(h, c, n, p);
	if (err) {
		alloc_failed(c->sd, c, err);
		return err;
	}
	for (i = 0; i < n; i++) {
		p[i] = object_begin(h, c, (slot_t)(uintptr_t)p[i],
				    c->object_size, false);
		probe_alloc(c->sd, p[i], c->object_size);
	}
	return 0;
}

/* As slabdev_cache_free(), where the program called is known already. */
static int free_watched(struct class *c, void *p)
{
	struct order o = order_plain(c->sd);

	return p ? cache_free_in_order(c, p, &o) : 0;
}

int slabdev_cache_free_bulk(struct slabdev_cache *cache, size_t n,
			    void *const *p)
{
	struct class *c = cache_class(cache);
	int err, first;
	size_t i;

	first = cache_check(c, "slabdev_cache_free_bulk");
	if (first)
		return first;
	if (n && !p)
		return error_set(-EINVAL,
				 "slabdev_cache_free_bulk: p is NULL");
	watch_site(c->sd);
	for (i = 0; i < n; i++) {
		err = is_watched(c->sd) ? free_watched(c, p[i]) :
			slabdev_cache_free(cache, p[i]);
		if (err && !first)
			first = err;
	}
	return first;
}
