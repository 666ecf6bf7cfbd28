// SPDX-License-Identifier: BSD-2-Clause
/*
 * arena_space.c - all arenas of a space: who has what, and who can spare it.
 *
 * A walk goes through the entries, which are never given back, and claims each
 * before it looks. Those that come and go meanwhile may be missed.
 */
#include <errno.h>
#include <stdio.h>

#include "core/log.h"
#include "slab/arena.h"
#include "slab/arena_debug.h"

#define LIST_MAX 20u

static bool is_of(const struct arena *a, const struct slabdev *sd)
{
	return load_acquire(&a->ready) && READ_ONCE(a->of) == sd;
}

struct arena *arena_next(const struct slabdev *sd, u32 *at)
{
	u32 end = load_acquire(&arena_tokens.end);
	struct arena *a;

	while (arenas_any(sd) && *at < end) {
		a = arena_entry((*at)++);
		if (!is_of(a, sd) || arena_claim(a))
			continue;
		if (is_of(a, sd))
			return a;
		arena_unclaim(a);
	}
	return NULL;
}

/* ---- Memory for others --------------------------------------------------- */

/* The handle in which the reach ends cannot go. Claim held. */
static u64 spare_of(const struct arena *a)
{
	struct vmm *v = &a->h.sd->vmm;
	u32 mapped = READ_ONCE(a->mapped), seam;
	u64 used;

	if (a->is_object)
		return 0;
	used = load_acquire(&a->reach_end) - a->base;
	seam = (u32)div_round_up(used, v->chunk_size);
	if (seam >= mapped)
		return 0;
	seam = vmm_held_seam(v, a->first_chunk + seam) - a->first_chunk;
	return seam < mapped ? vmm_chunk_offset(v, mapped - seam) : 0;
}

u64 arenas_spare(struct slabdev *sd)
{
	struct arena *a;
	u64 sum = 0;
	u32 at = 0;

	while ((a = arena_next(sd, &at))) {
		sum += spare_of(a);
		arena_unclaim(a);
	}
	return sum;
}

/* The device is waited for without the claim; the arena may go meanwhile. */
static u64 give_one(struct arena *a, struct slabdev *sd, u64 most,
		    enum vmm_giveback how, bool wait, int *err)
{
	u64 bytes;

	if (wait) {
		arena_unclaim(a);
		if (arena_wait(sd, a) || arena_claim(a))
			return 0;
	}
	bytes = is_of(a, sd) ? arena_give(a, most, how, err) : 0;
	arena_unclaim(a);
	return bytes;
}

u64 arenas_give(struct slabdev *sd, u64 keep, enum vmm_giveback how, bool wait,
		int *err)
{
	u64 left = arenas_any(sd) ? arenas_spare(sd) : 0;
	char text[ERROR_TEXT_MAX];
	struct arena *a;
	u64 bytes;
	u32 at = 0;

	if (left <= keep)
		return left;
	error_save(text);
	while (left > keep && (a = arena_next(sd, &at))) {
		if (!spare_of(a)) {
			arena_unclaim(a);
			continue;
		}
		bytes = give_one(a, sd, left - keep, how, wait, err);
		left -= min(left, bytes);
	}
	error_restore(text);
	return left;
}

/* ---- Addresses ----------------------------------------------------------- */

static bool is_around(const struct arena *a, const struct slabdev *sd, u64 addr)
{
	return is_of(a, sd) &&
	       addr - READ_ONCE(a->base) < READ_ONCE(a->held_bytes);
}

/* The arena around an address, claimed; NULL: there is none. No other one is
 * claimed: an address of none is looked up without waiting for anybody. */
static struct arena *find_around(const struct slabdev *sd, u64 addr)
{
	u32 i, end = load_acquire(&arena_tokens.end);
	struct arena *a;

	for (i = 0; arenas_any(sd) && i < end; i++) {
		a = arena_entry(i);
		if (!is_around(a, sd, addr) || arena_claim(a))
			continue;
		if (is_around(a, sd, addr))
			return a;
		arena_unclaim(a);
	}
	return NULL;
}

bool arenas_have(struct slabdev *sd, const void *p, bool *live)
{
	u64 addr = (u64)(uintptr_t)p;
	struct arena *a = find_around(sd, addr);

	if (!a)
		return false;
	*live = addr < READ_ONCE(a->top);
	arena_unclaim(a);
	return true;
}

static void describe(const struct arena *a, u64 into, char *buf, size_t len)
{
	char name[ARENA_TEXT_MAX];
	u64 used = arena_used(a);

	arena_name(a, name);
	if (into < used)
		snprintf(buf, len, "%llu bytes into %s, which has handed out "
			 "%llu", (unsigned long long)into, name,
			 (unsigned long long)used);
	else
		snprintf(buf, len, "%llu bytes into %s, behind the %llu that "
			 "it has handed out%s", (unsigned long long)into, name,
			 (unsigned long long)used,
			 into < max(READ_ONCE(a->peak) - a->base, used) ?
			 ": it was rewound or reset since" : "");
}

bool arenas_describe(struct slabdev *sd, const void *p, char *buf, size_t len)
{
	u64 addr = (u64)(uintptr_t)p;
	struct arena *a = find_around(sd, addr);

	if (!a)
		return false;
	describe(a, addr - a->base, buf, len);
	arena_unclaim(a);
	return true;
}

bool arenas_owner(struct slabdev *sd, const void *p, struct owner *owner)
{
	struct arena *a = find_around(sd, (u64)(uintptr_t)p);

	if (!a)
		return false;
	owner->kind = "arena";
	owner->call = "slabdev_arena_rewind() or slabdev_arena_reset()";
	snprintf(owner->text, sizeof(owner->text), "arena '%s' (%p)", a->name,
		 token_name(&arena_tokens, &a->h));
	arena_unclaim(a);
	return true;
}

void arena_describe(const void *token, char *buf, size_t len)
{
	const struct arena *a = token_peek(&arena_tokens, token);

	if (a)
		snprintf(buf, len, "arena '%s' (%p)", a->name, token);
}

/* ---- Reports ------------------------------------------------------------- */

void arenas_print(struct slabdev *sd, void (*line)(void *arg, const char *text),
		  void *arg)
{
	char text[ARENA_TEXT_MAX + 64];
	struct arena *a;
	u64 used, asked;
	u32 at = 0;

	while ((a = arena_next(sd, &at))) {
		/* The owner may be moving both, one after the other. */
		used = arena_used(a);
		asked = min(arena_requested(a), used);
		snprintf(text, sizeof(text),
			 "%-31s %14llu %14llu %14llu %14llu", a->name,
			 (unsigned long long)used,
			 (unsigned long long)arena_mapped_bytes(a),
			 (unsigned long long)max(READ_ONCE(a->peak) - a->base,
						 used),
			 (unsigned long long)(used - asked));
		arena_unclaim(a);
		line(arg, text);
	}
}

struct listing {
	struct report r;
	u32 n;
};

static void list_live(void *arg, const char *text)
{
	struct listing *l = arg;

	if (l->n++ < LIST_MAX)
		report_line(&l->r, "%s", text);
}

void arenas_report_live(struct slabdev *sd)
{
	struct listing l = { .n = 0 };

	report_start(&l.r, REPORT_LIVE_OBJECTS, sd->name, "Arenas remaining on "
		     "closing space");
	report_line(&l.r, ARENA_HEADING, "arena", "used", "mapped", "peak",
		    "padding");
	arenas_print(sd, list_live, &l);
	if (l.n > LIST_MAX)
		report_line(&l.r, "and %u more", l.n - LIST_MAX);
	report_line(&l.r, "%u arenas were not destroyed; nothing was freed",
		    l.n);
	report_end(&l.r);
}

/* ---- The end of a space -------------------------------------------------- */

void arenas_stop(struct slabdev *sd)
{
	u32 i, end = load_acquire(&arena_tokens.end);
	struct arena *a;

	for (i = 0; i < end && arenas_any(sd); i++) {
		a = arena_entry(i);
		if (READ_ONCE(a->of) == sd)
			(void)__atomic_exchange_n(&a->fast, arena_no_name(a),
						  __ATOMIC_ACQ_REL);
	}
}

static void end_one(struct arena *a)
{
	WRITE_ONCE(a->fast, arena_no_name(a));
	store_release(&a->ready, false);
	if (!a->h.sd->orphaned)
		arena_order_end(a);
	resv_fini(&a->marks);
	resv_fini(&a->zones);
}

void arenas_end(struct slabdev *sd)
{
	struct arena *a;
	u32 at = 0;

	while ((a = arena_next(sd, &at))) {
		end_one(a);
		arena_unclaim(a);
	}
	WRITE_ONCE(sd->rec->nr_arenas, 0);
	WRITE_ONCE(sd->rec->arena_bytes, 0);
}

/* ---- After a fork -------------------------------------------------------- */

/* There are no queues. What is mapped is what the vmm says. */
static void adopt_one(struct arena *a)
{
	struct slabdev *sd = a->h.sd;

	a->nr_uses = 0;
	a->stream = NULL;
	a->use_event = a->done_event = a->done_covers = 0;
	if (!a->is_object)
		a->mapped = vmm_mapped_held(&sd->vmm, a->first_chunk,
					    arena_nr_held(a));
	shared_add32(&sd->rec->nr_arenas, 1);
	if (a->is_object)
		return;
	shared_add(&sd->rec->arena_bytes, arena_mapped_bytes(a));
	space_count_out(sd, arena_mapped_bytes(a));
}

void arenas_adopt(struct slabdev *sd)
{
	u32 i;

	WRITE_ONCE(sd->rec->nr_arenas, 0);
	WRITE_ONCE(sd->rec->arena_bytes, 0);
	for (i = 0; i < arena_tokens.end; i++)
		if (is_of(arena_entry(i), sd))
			adopt_one(arena_entry(i));
}

void arenas_forget_bytes(struct slabdev *sd)
{
	u32 i;

	for (i = 0; i < arena_tokens.end; i++)
		if (is_of(arena_entry(i), sd))
			arena_debug_forget(arena_entry(i));
}

/* Also of entries that are not in use: a thread may have been at one's end. */
void arenas_forget_claims(void)
{
	struct arena *a;
	u32 i;

	for (i = 0; i < arena_tokens.end; i++) {
		a = arena_entry(i);
		if (a->claim && a->claim != arena_claimant())
			WRITE_ONCE(a->claim, 0);
	}
}

/* ---- Validation ---------------------------------------------------------- */

static const char *check_one(const struct arena *a)
{
	u64 top = READ_ONCE(a->top), reach = load_acquire(&a->reach_end);
	u64 end = a->base + min(a->held_bytes, arena_mapped_bytes(a));

	if (top < a->base || reach > end)
		return "the reach of an arena is in its memory";
	if (READ_ONCE(a->mapped) > arena_nr_held(a))
		return "an arena has no more memory than addresses";
	return NULL;
}

const char *arenas_validate(struct slabdev *sd)
{
	const char *broken = NULL;
	struct arena *a;
	u64 bytes = 0;
	u32 at = 0;

	for (; at < load_acquire(&arena_tokens.end) && !broken; at++) {
		a = arena_entry(at);
		if (!is_of(a, sd))
			continue;
		/* Somebody is at work. */
		if (!arena_try_claim(a))
			return NULL;
		broken = is_of(a, sd) ? check_one(a) : NULL;
		bytes += arena_nr_held(a) ? arena_mapped_bytes(a) : 0;
		arena_unclaim(a);
	}
	if (!broken && bytes != READ_ONCE(sd->rec->arena_bytes))
		broken = "a space counts the bytes that its arenas have mapped";
	return broken;
}
