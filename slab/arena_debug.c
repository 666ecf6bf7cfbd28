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

static void report_zone(const struct finding *f, const char *when)
{
	struct report r;

	start_report(&r, f);
	report_distance(&r, f->damage.first - f->start - f->size + 1,
			"behind the end of the allocation");
	report_line(&r, "Allocation 0x%llx size=%llu", addr_of(f, f->start),
		    (unsigned long long)f->size);
	debug_report_bytes(&r, f->peek, &f->damage, "Object", f->start,
			   f->start + f->size);
	debug_report_bytes(&r, f->peek, &f->damage, "Redzone",
			   f->start + f->size, f->end);
	report_line(&r, "found when the arena was %s; nothing was changed",
		    when);
	report_end(&r);
}

static void report_poison(const struct finding *f)
{
	struct report r;

	start_report(&r, f);
	report_line(&r, "in memory that a rewind or a reset had given back: a "
		    "pointer from before was used");
	debug_report_bytes(&r, f->peek, &f->damage, "Free", f->start, f->end);
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

/* How many of the zones from @from on are damaged. Claim held. */
static u32 look_at_zones(struct arena *a, struct peek *k, u32 from,
			 const char *when)
{
	const struct arena_zone *z;
	struct finding f;
	u32 found = 0;

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
		found++;
		report_zone(&f, when);
	}
	return found;
}

void arena_debug_end(struct arena *a, u32 from, const char *what)
{
	struct peek k = { .sd = NULL };
	bool look;

	if (from >= READ_ONCE(a->nr_zones))
		return;
	look = !begin_to_look(a, &k);
	if (!arena_claim(a)) {
		if (look)
			(void)look_at_zones(a, &k, from, what);
		WRITE_ONCE(a->nr_zones, from);
		arena_unclaim(a);
	}
	if (look)
		peek_end(&k);
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
	if (!READ_ONCE(sd->streams.nr_captures) &&
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

	if (a->letters & DEBUG_POISON)
		check_poison(a, start, size, end);
	if (a->letters & DEBUG_RED_ZONE &&
	    !fill(a, start + size, end, ZONE_BYTE))
		remember(a, z);
}

void arena_debug_poison(struct arena *a, u64 to)
{
	if (!(a->letters & DEBUG_POISON) || to == a->top)
		return;
	/* What is poison further up is not reached past bytes that are not. */
	if (fill(a, to, a->top, POISON_BYTE))
		a->poisoned = to;
	else
		a->poisoned = max(a->poisoned, a->top);
}

/* ---- Validation ---------------------------------------------------------- */

int arenas_debug_validate(struct slabdev *sd)
{
	struct arena *a;
	struct peek k;
	u32 found = 0, at = 0;

	if (!arenas_any(sd) || peek_begin(&k, sd, true))
		return 0;
	while ((a = arena_next(sd, &at))) {
		if (!a->stream)
			found += look_at_zones(a, &k, 0, "validated");
		arena_unclaim(a);
	}
	peek_end(&k);
	return found ? error_set(-EUCLEAN, "%s: %u allocations in arenas have "
				 "damaged zones", sd->name, found) : 0;
}
