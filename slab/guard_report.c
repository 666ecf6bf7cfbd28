// SPDX-License-Identifier: BSD-2-Clause
/* guard_report.c - see guard_report.h. */
#include "core/log.h"
#include "core/symbol.h"
#include "slab/guard.h"
#include "slab/guard_record.h"
#include "slab/guard_report.h"

/* Objects that a report of suspects has, and the frames of each. */
#define SUSPECTS 16u
#define SUSPECT_FRAMES 2u

static void tell_who(struct report *r, const char *did,
		     const struct guard_who *who, u32 most)
{
	if (!who->tid)
		return;
	report_line(r, "%s by thread %u:", did, who->tid);
	report_stack(r, who->pc, who->nr, most);
}

static void tell_object(struct report *r, const struct guard_record *g,
			u32 frames)
{
	report_line(r, "Object %p of %s size=%llu, guarded%s",
		    to_ptr(g->object), g->class, (unsigned long long)g->size,
		    g->state == GUARD_LIVE ? "" :
		    g->state == GUARD_FREED ? ", freed" :
		    ", freed and unmapped");
	tell_who(r, "Allocated", &g->alloc, frames);
	tell_who(r, "Freed", &g->free, frames);
}

void guard_report_damage(struct slabdev *sd, u32 i,
			 const struct guard_damage *d, const char *where)
{
	u64 last = d->first + d->bytes - 1;
	struct guard_record g;
	struct report r;

	if (!guard_record_get(i, &g))
		return;
	report_start(&r, REPORT_RED_ZONE, sd->name, "%s: %s overwritten",
		     g.class, where);
	report_line(&r, "%p-%p. First byte 0x%x instead of 0x%x",
		    to_ptr(d->first), to_ptr(last), d->found, d->wanted);
	if (d->first < g.object)
		report_distance(&r, g.object - last,
				"before the start of the object");
	else
		report_distance(&r, d->first - g.object - g.size + 1,
				"behind the end of the object");
	tell_object(&r, &g, GUARD_FRAMES);
	report_line(&r, "found when it was freed; its memory is unmapped as "
		    "ever");
	report_end(&r);
}

/* ---- Suspects ----------------------------------------------------------- */

/* Of a space, those that changed last, the latest first. */
struct suspects {
	u32 n;
	struct {
		u32 i;
		u64 age;
	} of[SUSPECTS];
};

static void insert(struct suspects *s, u32 i, u64 age)
{
	u32 at = s->n;

	if (s->n < SUSPECTS)
		s->n++;
	else if (age <= s->of[--at].age)
		return;
	for (; at && s->of[at - 1].age < age; at--)
		s->of[at] = s->of[at - 1];
	s->of[at].i = i;
	s->of[at].age = age;
}

/* Freed ones, or live ones. */
static void collect(struct suspects *s, const struct slabdev *sd, bool freed)
{
	struct guard_record g;
	u32 i;

	s->n = 0;
	for (i = 0; i < GUARD_RECORDS; i++)
		if (guard_record_get(i, &g) && g.space == sd &&
		    (g.state != GUARD_LIVE) == freed)
			insert(s, i, g.age);
}

static void tell(struct report *r, const struct suspects *s, const char *what)
{
	struct guard_record g;
	u32 i;

	if (s->n)
		report_line(r, "%s", what);
	for (i = 0; i < s->n; i++)
		if (guard_record_get(s->of[i].i, &g))
			tell_object(r, &g, SUSPECT_FRAMES);
}

void guard_report_suspects(struct slabdev *sd)
{
	struct suspects freed, live;
	struct report r;

	collect(&freed, sd, true);
	collect(&live, sd, false);
	if (!freed.n && !live.n)
		return;
	report_start(&r, REPORT_GUARD, sd->name, "Guarded memory when the "
		     "device failed");
	report_line(&r, "an access to one of these may be why, and the driver "
		    "does not say where it was");
	tell(&r, &freed, "freed lately, the latest first:");
	tell(&r, &live, "live, an access behind the end or before the start:");
	report_end(&r);
}
