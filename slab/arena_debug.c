// SPDX-License-Identifier: BSD-2-Clause
/* arena_debug.c - see arena_debug.h. */
#include <errno.h>

#include "core/log.h"
#include "slab/arena_debug.h"
#include "slab/debug_report.h"

#define ZONES_STEP (64 * KIB)

struct arena_zone {
	u64 start, size, end;	/* addresses; size of the allocation */
};

static struct arena_zone *zone_at(const struct arena *a, u32 i)
{
	return (struct arena_zone *)(void *)a->zones.base + i;
}

u32 arena_debug_letters(struct slabdev *sd, const char *name)
{
	u32 letters;

	lock_acquire(&sd->lock);
	letters = debug_spec_flags(&sd->debug_spec, name, 0);
	lock_release(&sd->lock);
	return letters & (DEBUG_RED_ZONE | DEBUG_POISON);
}

static u64 offset_of(const struct arena *a, u64 addr)
{
	u64 offset = 0;

	(void)vmm_offset(&a->h.sd->vmm, addr, &offset);
	return offset;
}

/* ---- Reports ------------------------------------------------------------- */

/* What was found, and in which allocation: of size 0, in none. */
struct finding {
	struct arena *arena;
	struct peek *peek;
	struct damage damage;
	u64 start, size, end;	/* offsets */
};

static unsigned long long addr_of(const struct finding *f, u64 offset)
{
	return (unsigned long long)space_addr(f->arena->h.sd, offset);
}

static void start_report(struct report *r, const struct finding *f)
{
	const struct damage *d = &f->damage;
	struct arena *a = f->arena;
	char name[ARENA_TEXT_MAX];

	if (d->kind == DAMAGE_POISON)
		report_start(r, REPORT_POISON, a->h.sd->name,
			     "Arena %s: write after rewind", a->name);
	else
		report_start(r, REPORT_RED_ZONE, a->h.sd->name,
			     "Arena %s: Right Redzone overwritten", a->name);
	report_line(r, "0x%llx-0x%llx @offset=%llu. First byte 0x%x instead of "
		    "0x%x", addr_of(f, d->first), addr_of(f, d->last),
		    (unsigned long long)(d->first - offset_of(a, a->base)),
		    d->found, d->wanted);
	arena_name(a, name);
	report_line(r, "%s", name);
}

static void write_zone(struct report *r, const struct finding *f,
		       const char *when)
{
	start_report(r, f);
	report_distance(r, f->damage.first - f->start - f->size + 1,
			"behind the end of the allocation");
	report_line(r, "Allocation 0x%llx size=%llu", addr_of(f, f->start),
		    (unsigned long long)f->size);
	debug_report_bytes(r, f->peek, &f->damage, "Object", f->start,
			   f->start + f->size);
	debug_report_bytes(r, f->peek, &f->damage, "Redzone",
			   f->start + f->size, f->end);
	report_line(r, "found when the arena was %s; nothing was changed",
		    when);
}

static void write_poison(struct report *r, const struct finding *f, u64 from)
{
	start_report(r, f);
	report_line(r, "in memory that a rewind or a reset had given back: a "
		    "pointer from before was used");
	debug_report_bytes(r, f->peek, &f->damage, "Free", from, f->end);
}

static void report_poison(const struct finding *f)
{
	struct report r;

	write_poison(&r, f, f->start);
	report_line(&r, "found when an allocation of %llu bytes at 0x%llx got "
		    "it", (unsigned long long)f->size, addr_of(f, f->start));
	report_end(&r);
}

/* ---- Looking ------------------------------------------------------------- */

/* Reading is in the order of the bound stream. */
static int begin_to_look(struct arena *a, struct peek *k)
{
	char text[ERROR_TEXT_MAX];
	int err = 0;

	error_save(text);
	if (a->stream)
		err = arena_wait(a->h.sd, a);
	if (!err)
		err = peek_begin(k, a->h.sd, true);
	error_restore(text);
	return err;
}

/* The first damaged zone from @from on, in words; the number of the next one,
 * or 0: there is none. Claim held. */
static u32 find_damage(struct arena *a, struct peek *k, u32 from,
		       const char *when, struct report *r)
{
	const struct arena_zone *z;
	struct finding f;

	for (; from < a->nr_zones; from++) {
		z = zone_at(a, from);
		f = (struct finding){
			.arena = a,
			.peek = k,
			.start = offset_of(a, z->start),
			.size = z->size,
		};
		f.end = f.start + (z->end - z->start);
		f.damage = zone_check_range(k, f.start + f.size, f.end);
		if (f.damage.kind == DAMAGE_NONE)
			continue;
		write_zone(r, &f, when);
		return from + 1;
	}
	return 0;
}

/* How many of the zones from @from on are damaged. The claim is held, but not
 * when the log is told, which may ask about the arena. *@gone: it has ended
 * meanwhile. */
static u32 look_at_zones(struct arena *a, struct peek *k, u32 from,
			 const char *when, bool *gone)
{
	u32 found = 0, use = token_use(&a->h);
	struct report r;

	*gone = false;
	while (!*gone && (from = find_damage(a, k, from, when, &r))) {
		found++;
		arena_unclaim(a);
		report_end(&r);
		arena_claim_again(a);
		peek_forget(k);
		*gone = !load_acquire(&a->ready) || token_use(&a->h) != use;
	}
	return found;
}

void arena_debug_end(struct arena *a, u32 from, const char *what)
{
	struct peek k = { .sd = NULL };
	bool look, gone = false;

	if (from >= READ_ONCE(a->nr_zones))
		return;
	look = !begin_to_look(a, &k);
	if (!arena_claim(a)) {
		if (look)
			(void)look_at_zones(a, &k, from, what, &gone);
		if (!gone)
			WRITE_ONCE(a->nr_zones, from);
		arena_unclaim(a);
	}
	if (look)
		peek_end(&k);
}

/* What a rewind or a reset has given back and nobody got again. 1: it is
 * damaged. Claim held, but not when the log is told. */
static u32 look_at_poison(struct arena *a, struct peek *k)
{
	u64 end = min(a->poisoned, arena_mapped_end(a));
	struct finding f = { .arena = a, .peek = k };
	struct report r;

	if (!(a->letters & DEBUG_POISON) || a->poison_from >= end)
		return 0;
	f.start = offset_of(a, a->poison_from);
	f.end = f.start + (end - a->poison_from);
	f.damage = zone_check_poison(k, f.start, f.end);
	if (f.damage.kind == DAMAGE_NONE)
		return 0;
	write_poison(&r, &f, f.start);
	report_line(&r, "found when the arena was validated; nothing was "
		    "changed");
	arena_unclaim(a);
	report_end(&r);
	arena_claim_again(a);
	return 1;
}

/* It is the owner's from now on. */
static void take_from_poison(struct arena *a, u64 end)
{
	if (arena_claim(a))
		return;
	a->poison_from = max(a->poison_from, end);
	arena_unclaim(a);
}

/* What was poison, and is handed out up to @end. */
static void check_poison(struct arena *a, u64 start, u64 size, u64 end)
{
	struct finding f = { .arena = a, .size = size };
	struct peek k;

	end = min(end, a->poisoned);
	if (a->top >= end || begin_to_look(a, &k))
		return;
	f.peek = &k;
	f.start = offset_of(a, a->top);
	f.end = f.start + (end - a->top);
	f.damage = zone_check_poison(&k, f.start, f.end);
	f.start = offset_of(a, start);
	if (f.damage.kind != DAMAGE_NONE)
		report_poison(&f);
	peek_end(&k);
}

/* ---- Filling ------------------------------------------------------------- */

static int fill(struct arena *a, u64 from, u64 to, u8 byte)
{
	struct slabdev *sd = a->h.sd;
	char text[ERROR_TEXT_MAX];
	int err = -EAGAIN;

	error_save(text);
	if (!peek_is_forbidden(sd) &&
	    vmm_is_captured(&sd->vmm, a->stream ? a->stream : sd->stream) != 1)
		err = vmm_fill(&sd->vmm, from, to - from, byte, a->stream);
	error_restore(text);
	return err;
}

static void remember(struct arena *a, struct arena_zone z)
{
	u64 bytes = ((u64)a->nr_zones + 1) * sizeof(z);
	int err = 0;

	if (!a->zones.base)
		err = resv_init(&a->zones, ARENA_ZONES_MAX * sizeof(z),
				ZONES_STEP);
	if (err || resv_grow(&a->zones, bytes) || arena_claim(a))
		return;
	*zone_at(a, a->nr_zones) = z;
	WRITE_ONCE(a->nr_zones, a->nr_zones + 1);
	arena_unclaim(a);
}

void arena_debug_alloc(struct arena *a, u64 start, u64 size, u64 end)
{
	struct arena_zone z = { start, size, end };

	if (a->letters & DEBUG_POISON) {
		check_poison(a, start, size, end);
		take_from_poison(a, end);
	}
	if (a->letters & DEBUG_RED_ZONE &&
	    !fill(a, start + size, end, ZONE_BYTE))
		remember(a, z);
}

void arena_debug_poison(struct arena *a, u64 to)
{
	u64 end = to;

	if (!(a->letters & DEBUG_POISON) || to == a->top)
		return;
	/* What is poison further up is not reached past bytes that are not. */
	if (!fill(a, to, a->top, POISON_BYTE))
		end = max(a->poisoned, a->top);
	if (arena_claim(a))
		return;
	a->poisoned = end;
	a->poison_from = to;
	arena_unclaim(a);
}

/* ---- After a fork -------------------------------------------------------- */

void arena_debug_forget(struct arena *a)
{
	struct arena_mark *mark = (struct arena_mark *)(void *)a->marks.base;
	u32 i;

	/* What comes after a mark of before has a record from here on. */
	for (i = 0; i < a->nr_marks; i++)
		mark[i].nr_zones = 0;
	a->nr_zones = 0;
	a->poisoned = a->poison_from = 0;
}

/* ---- Validation ---------------------------------------------------------- */

int arenas_debug_validate(struct slabdev *sd)
{
	struct arena *a;
	struct peek k;
	u32 found = 0, at = 0;
	bool gone;

	if (!arenas_any(sd) || peek_begin(&k, sd, true))
		return 0;
	while ((a = arena_next(sd, &at))) {
		peek_forget(&k);
		gone = a->stream;
		if (!gone)
			found += look_at_zones(a, &k, 0, "validated", &gone);
		if (!gone)
			found += look_at_poison(a, &k);
		arena_unclaim(a);
	}
	peek_tell_failed(&k);
	peek_end(&k);
	return found ? error_set(-EUCLEAN, "%s: %u damages in arenas: see the "
				 "reports", sd->name, found) : 0;
}
