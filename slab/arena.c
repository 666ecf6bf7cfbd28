// SPDX-License-Identifier: BSD-2-Clause
/*
 * arena.c - arenas come, hand out memory, and go; the theory is in arena.h.
 *
 * The fast path is a comparison of the token with the entry's name, a rounded
 * addition and a comparison with the end of the reach. Everything else that
 * could be wrong (no arena, a stale one, size 0, a dead space, letters, no
 * room) makes one of the two fail, and is told apart in the slow path.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "core/overflow.h"
#include "core/usercopy.h"
#include "slab/arena.h"
#include "slab/arena_debug.h"
#include "slab/attr.h"
#include "slab/hazard_watch.h"
#include "slab/note.h"
#include "slab/own.h"

#define ALIGN_MAX GIB
#define DEFAULT_MAX (64 * GIB)
/* The same where all of it is taken at once. */
#define DEFAULT_OBJECT (16 * MIB)

struct token_table arena_tokens = TOKEN_TABLE_INIT(TOKEN_ARENA, "arena",
					       sizeof(struct arena), ARENA_MAX);

struct arena *arena_find(const struct slabdev_arena *arena, const char *call,
			 int *err)
{
	struct arena *a = token_find(&arena_tokens, arena, call, err);

	if (a)
		*err = space_check(a->h.sd, call);
	return *err ? NULL : a;
}

void arena_name(const struct arena *a, char *buf)
{
	snprintf(buf, ARENA_TEXT_MAX, "arena '%s' (%p) of space %s", a->name,
		 token_name(&arena_tokens, &a->h), a->h.sd->name);
}

/* ---- Creation ------------------------------------------------------------ */

static int check_name(const char *name)
{
	if (name && strnlen(name, ARENA_NAME_MAX + 1) > ARENA_NAME_MAX)
		return error_set(-EINVAL, "attr.name is longer than %u bytes",
				 ARENA_NAME_MAX);
	return attr_check_name(name, "attr.name");
}

static int check_attr(const struct slabdev_arena_attr *attr)
{
	if (attr->flags || attr->reserved)
		return error_set(-EINVAL, "attr.%s %#x is not 0",
				 attr->flags ? "flags" : "reserved",
				 attr->flags | attr->reserved);
	if (attr->align && (!is_power_of_2(attr->align) ||
			    attr->align > ALIGN_MAX))
		return error_set(-EINVAL, "attr.align %zu is no power of two "
				 "up to 1 GiB", attr->align);
	if (attr->max_bytes && attr->first_bytes > attr->max_bytes)
		return error_set(-EINVAL, "attr.first_bytes %llu is more than "
				 "attr.max_bytes %llu",
				 (unsigned long long)attr->first_bytes,
				 (unsigned long long)attr->max_bytes);
	return check_name(attr->name);
}

static u64 default_max(const struct slabdev *sd)
{
	u64 limit = READ_ONCE(sd->vmm.cnt->limit);

	return min(limit, sd->ops->backed ? DEFAULT_OBJECT : DEFAULT_MAX);
}

static void set_most(struct arena *a, u64 bytes)
{
	const struct slabdev *sd = a->h.sd;

	a->max_bytes = bytes ? bytes : default_max(sd);
	a->is_object = sd->ops->backed || a->max_bytes <= ARENA_OBJECT_MAX;
}

/* Of its last use only the serial number goes on. */
static void set_up(struct arena *a, const struct slabdev_arena_attr *attr,
		   slabdev_stream_t stream)
{
	const struct slabdev *sd = a->h.sd;

	WRITE_ONCE(a->fast, arena_no_name(a));
	WRITE_ONCE(a->of, sd);
	/* Of a former use they may be looked at yet. */
	WRITE_ONCE(a->base, (u64)0);
	WRITE_ONCE(a->held_bytes, (u64)0);
	a->top = a->reach_end = a->fast_end = 0;
	a->mapped = 0;
	a->mask = (attr->align ? attr->align : SLABDEV_ALIGN) - 1;
	a->not_mask = ~a->mask;
	a->allocs = a->requested = a->tally = 0;
	set_most(a, attr->max_bytes);
	a->grow_bytes = attr->grow_bytes;
	a->stream = stream;
	snprintf(a->name, sizeof(a->name), "%s",
		 attr->name ? attr->name : "arena");
	a->nr_uses = a->nr_marks = a->nr_zones = 0;
	a->no_serial = a->serial;
	a->use_event = a->done_event = a->done_covers = a->done = 0;
	a->lowered = a->stamp = a->peak = a->advanced = 0;
	a->gone_requested = a->failed = a->rewinds = a->resets = a->grows = 0;
	a->marks = a->zones = (struct resv){ 0 };
	a->poisoned = a->poison_from = 0;
	a->letters = arena_debug_letters(a->h.sd, a->name);
}

/* One longer than the limit can never be. */
static int take_object(struct arena *a)
{
	u64 bytes = min(a->max_bytes, READ_ONCE(a->h.sd->vmm.cnt->limit));
	struct slabdev_req req = SLABDEV_REQ_INIT;
	void *p;

	req.align = a->mask + 1;
	req.stream = a->stream;
	p = own_alloc(a->h.sd, bytes, &req, "arena",
		      token_name(&arena_tokens, &a->h));
	if (!p)
		return -errno;
	a->top = (u64)(uintptr_t)p;
	WRITE_ONCE(a->base, a->top);
	WRITE_ONCE(a->held_bytes, bytes);
	a->reach_end = a->base + bytes;
	watch_arena_object(a->h.sd, a->base, a->reach_end);
	return 0;
}

/* It has its memory: others may see it. */
static struct slabdev_arena *open_up(struct arena *a)
{
	void *name = token_name(&arena_tokens, &a->h);

	a->peak = a->base;
	shared_add32(&a->h.sd->rec->nr_arenas, 1);
	store_release(&a->ready, true);
	arena_set_fast(a);
	return name;
}

int slabdev_arena_create(struct slabdev_arena **out, struct slabdev *sd,
			 const struct slabdev_arena_attr *user)
{
	struct slabdev_arena_attr attr = SLABDEV_ARENA_ATTR_INIT;
	slabdev_stream_t stream = NULL;
	struct arena *a;
	int err = space_check(sd, "slabdev_arena_create");

	if (err)
		return err;
	if (!out)
		return error_set(-EINVAL, "slabdev_arena_create: arena is "
				 "NULL");
	if (user)
		err = copy_struct_from_user(&attr, sizeof(attr), user, "attr");
	if (!err)
		err = check_attr(&attr);
	if (!err && attr.stream)
		err = arena_stream(sd, attr.stream, "slabdev_arena_create",
				   &stream);
	if (err)
		return err;
	a = token_new(&arena_tokens, sd, &err);
	if (!a)
		return err;
	set_up(a, &attr, stream);
	err = a->is_object ? take_object(a) :
	      arena_map_begin(a, attr.first_bytes, attr.max_bytes);
	if (err) {
		token_drop(&arena_tokens, &a->h);
		return err;
	}
	*out = open_up(a);
	return 0;
}

/* ---- The end ------------------------------------------------------------- */

/* What may be refused is, while everything is as it was. */
static int prepare_end(struct arena *a, struct order *o)
{
	struct slabdev *sd = a->h.sd;
	int err = arena_join(a, "slabdev_arena_destroy");

	*o = order_plain(sd);
	if (!err && a->is_object && a->stream)
		err = order_of(sd, a->stream, "slabdev_arena_destroy", o);
	if (!err && a->is_object)
		err = own_may_free(sd, to_ptr(a->base));
	if (!err && !a->is_object)
		err = arena_wait(sd, a);
	if (!err)
		arena_debug_end(a, 0, "destroyed");
	return err;
}

/* Others see it no more. */
static int hide(struct arena *a)
{
	int err = arena_claim(a);

	if (err)
		return err;
	WRITE_ONCE(a->fast, arena_no_name(a));
	store_release(&a->ready, false);
	arena_unclaim(a);
	return 0;
}

/* It was exported by another thread just now, and stays. */
static void show_again(struct arena *a)
{
	store_release(&a->ready, true);
	arena_set_fast(a);
}

/* Before others can have the memory it is judged, which may be told. */
static int give_memory(struct arena *a, const struct order *o)
{
	watch_rewind(a->h.sd, a->base, a->top, a->stream);
	return a->is_object ? own_free(a->h.sd, to_ptr(a->base), o) :
			      arena_map_end(a);
}

static void forget(struct arena *a)
{
	arena_order_end(a);
	resv_fini(&a->marks);
	resv_fini(&a->zones);
	shared_add32(&a->h.sd->rec->nr_arenas, (u32)-1);
	token_free(&arena_tokens, &a->h);
}

/* Of two at once one ends the use of the token, and goes on alone. */
int slabdev_arena_destroy(struct slabdev_arena *arena)
{
	struct order o;
	struct arena *a;
	int err;

	if (!arena)
		return 0;
	a = token_take(&arena_tokens, arena, "slabdev_arena_destroy", &err);
	if (!a)
		return err;
	err = space_check(a->h.sd, "slabdev_arena_destroy");
	watch_site(a->h.sd);
	if (!err)
		err = prepare_end(a, &o);
	if (!err)
		err = hide(a);
	if (err)
		goto revive;
	err = give_memory(a, &o);
	if (err && a->is_object) {
		show_again(a);
		goto revive;
	}
	forget(a);
	return err;

revive:
	token_revive(&a->h);
	return err;
}

/* ---- Allocation ---------------------------------------------------------- */

static void *failed(struct arena *a, int err)
{
	a->failed++;
	return alloc_failed(a->h.sd, NULL, err);
}

static void *no_room(struct arena *a, u64 size, u64 start)
{
	bool limited = a->held_bytes < a->max_bytes;
	char name[ARENA_TEXT_MAX];

	arena_name(a, name);
	return failed(a, error_set(limited ? -EDQUOT : -ENOSPC, "%s: %llu "
				   "bytes at offset %llu do not fit %s %llu",
				   name, (unsigned long long)size,
				   (unsigned long long)(start - a->base),
				   limited ? "the limit of the space," :
					     "attr.max_bytes",
				   (unsigned long long)a->held_bytes));
}

static void *alloc_found(struct arena *a, size_t size, u64 mask)
{
	u64 start = (a->top + mask) & ~mask;
	u64 end;
	int err;

	if (add_overflows(start, size, &end))
		return failed(a, error_set(-EOVERFLOW, "arena '%s': %zu bytes "
					   "are more than can be counted",
					   a->name, size));
	end = arena_zone_end(a, end);
	if (end > a->base + a->held_bytes)
		return no_room(a, size, start);
	if (end > a->reach_end && !a->is_object) {
		err = arena_reach(a, end);
		if (err)
			return failed(a, err);
	}
	if (a->letters)
		arena_debug_alloc(a, start, size, end);
	watch_arena(a->h.sd, start, size, a->stream);
	WRITE_ONCE(a->top, end);
	arena_set_fast(a);
	WRITE_ONCE(a->requested, a->requested + size);
	a->allocs++;
	return to_ptr(start);
}

static void *refused(int err)
{
	errno = -err;
	return NULL;
}

static bool is_align(size_t align)
{
	return align - 1 < ALIGN_MAX && is_power_of_2(align);
}

static __cold void *alloc_slow(struct slabdev_arena *arena, size_t size)
{
	int err;
	struct arena *a = arena_find(arena, "slabdev_arena_alloc", &err);

	if (!a || !size)
		return refused(err);
	watch_site(a->h.sd);
	return alloc_found(a, size, a->mask);
}

static __cold void *aligned_slow(struct slabdev_arena *arena, size_t size,
				 size_t align)
{
	static const char call[] = "slabdev_arena_alloc_aligned";
	int err;
	struct arena *a = arena_find(arena, call, &err);

	if (!a || !size)
		return refused(err);
	if (!is_align(align))
		return failed(a, error_set(-EINVAL, "%s: align %zu is no power "
					   "of two up to 1 GiB", call, align));
	watch_site(a->h.sd);
	return alloc_found(a, size, align - 1);
}

/* The entry of an arena that may hand out memory here and now. */
static __always_inline bool fast_entry(const void *arena, struct arena **a)
{
	u64 name = (u64)(uintptr_t)arena;
	u32 index = (u32)name % ARENA_MAX;

	if (unlikely(index >= READ_ONCE(arena_tokens.end)))
		return false;
	*a = arena_entry(index);
	return likely(READ_ONCE((*a)->fast) == name);
}

/* Not an addition in memory, which takes twice as long where one call follows
 * another. */
static __always_inline void *hand_out(struct arena *a, u64 start, u64 size,
				      u64 tally)
{
	WRITE_ONCE(a->tally, tally);
	WRITE_ONCE(a->top, start + size);
	return to_ptr(start);
}

void *slabdev_arena_alloc(struct slabdev_arena *arena, size_t size)
{
	struct arena *a;
	u64 start, tally;

	if (unlikely(!fast_entry(arena, &a)))
		return alloc_slow(arena, size);
	tally = a->tally + size + ARENA_TALLY_ONE;
	start = (a->top + a->mask) & a->not_mask;
	/* Of size 0 as of one that is too large. */
	if (unlikely(size - 1 >= a->fast_end - start))
		return alloc_slow(arena, size);
	return hand_out(a, start, size, tally);
}

void *slabdev_arena_alloc_aligned(struct slabdev_arena *arena, size_t size,
				  size_t align)
{
	struct arena *a;
	u64 start;

	if (likely(fast_entry(arena, &a) && is_align(align))) {
		start = align_up(a->top, align);
		if (start < a->fast_end && size - 1 < a->fast_end - start)
			return hand_out(a, start, size, a->tally + size +
							ARENA_TALLY_ONE);
	}
	return aligned_slow(arena, size, align);
}

/* ---- Figures ------------------------------------------------------------- */

static void collect(const struct arena *a, struct slabdev_arena_stats *st)
{
	u64 used = a->top - a->base;

	*st = (struct slabdev_arena_stats){
		.max_bytes = min(a->max_bytes, a->held_bytes),
		.mapped = arena_mapped_bytes(a),
		.used = used,
		.peak = max(a->peak, a->top) - a->base,
		.padding = used - a->requested,
		.requested_total = a->gone_requested + a->requested,
		.allocs = a->allocs,
		.failed = a->failed,
		.marks = a->nr_marks,
		.rewinds = a->rewinds,
		.resets = a->resets,
		.grows = a->grows,
	};
	st->padding_total = a->advanced + used - st->requested_total;
}

int slabdev_arena_stats(struct slabdev_arena *arena,
			struct slabdev_arena_stats *st, size_t size)
{
	struct slabdev_arena_stats own;
	int err;
	struct arena *a = arena_find(arena, "slabdev_arena_stats", &err);

	if (!a)
		return err;
	arena_fold(a);
	collect(a, &own);
	return copy_struct_to_user(st, size, &own, sizeof(own), "st");
}
