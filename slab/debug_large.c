// SPDX-License-Identifier: BSD-2-Clause
/* debug_large.c - zones of large objects, and walks over them; see
 * debug_large.h. */
#include <errno.h>

#include "core/log.h"
#include "core/os.h"
#include "slab/class.h"
#include "slab/debug_large.h"
#include "slab/debug_report.h"
#include "slab/graph.h"
#include "slab/note.h"
#include "slab/reclaim.h"
#include "slab/track.h"

/* ---- Zones -------------------------------------------------------------- */

void debug_prepare_large_slow(struct slabdev *sd, u32 slice, u64 size,
			      const struct order *o)
{
	u64 offset = slice_offset(slice);
	int err = 0;

	if (!sd->large_zone)
		return;
	/* Nobody knows when a graph runs that would fill it, and the memory may
	 * be what another object of the same graph has left. */
	if (o->stream && load_acquire(&o->stream->graph)) {
		WRITE_ONCE(sd->slabs[slice].unsure, true);
		return;
	}
	err = vmm_fill(&sd->vmm, space_addr(sd, offset + size),
		       large_usable(sd, size) - size, ZONE_BYTE, o->handle);
	WRITE_ONCE(sd->slabs[slice].unsure, err != 0);
}

int debug_begin_large_slow(struct slabdev *sd, u32 slice, u64 size,
			   const struct order *o, bool *noted)
{
	int err = 0;

	if (sd->large_zone)
		err = debug_note_fill(sd, slice_offset(slice), o, noted);
	if (!err)
		debug_prepare_large_slow(sd, slice, size, o);
	return err;
}

static struct damage check(struct peek *k, u32 slice, u64 size)
{
	u64 offset = slice_offset(slice);

	return zone_check_range(k, offset + size,
				offset + large_usable(k->sd, size));
}

/* Up to report_end(). */
static void describe(struct report *r, struct peek *k, u32 slice, u64 size,
		     const struct damage *d, enum found found)
{
	struct large_found f = {
		.offset = slice_offset(slice),
		.size = size,
		.from = slice_offset(slice),
		.end = slice_offset(slice) + large_usable(k->sd, size),
		.damage = *d,
		.found = found,
	};

	debug_describe_large(r, k, &f);
}

/* Is the zone behind @size bytes as it should be? Else it is told. */
static void look_at(struct slabdev *sd, u32 slice, u64 size, enum found found)
{
	struct damage d;
	struct report r;
	struct peek k;

	if (!sd->large_zone || READ_ONCE(sd->slabs[slice].unsure) ||
	    !debug_may_look(sd) || peek_begin(&k, sd, false))
		return;
	d = check(&k, slice, size);
	if (d.kind != DAMAGE_NONE)
		describe(&r, &k, slice, size, &d, found);
	peek_end(&k);
	if (d.kind != DAMAGE_NONE)
		report_end(&r);
}

void debug_look_large(struct slabdev *sd, u32 slice, u64 size)
{
	look_at(sd, slice, size, FOUND_RESIZE);
}

bool debug_end_large_slow(struct slabdev *sd, u32 slice)
{
	u64 size = sd->slabs[slice].size;
	int err;

	look_at(sd, slice, size, FOUND_FREED);
	err = poison_fill(sd, slice, large_usable(sd, size));
	/* Whose poison was written is wanted later. */
	if (err)
		track_forget(sd, slice_offset(slice), 1);
	/* A fill that failed may have written some. */
	return err != -EAGAIN;
}

/* ---- Requests that walks are in the way of ------------------------------- */

#define WAIT_US 50u
/* How long for what may be telling: who is told may wait for the request. */
#define WAITS_FOR_GIVING 50000u

bool look_begin_locked(struct slabdev *sd, struct look *l)
{
	struct larges *g = &sd->larges;

	if (g->nr_stops)
		return false;
	g->turns++;
	list_add_tail(&l->link, &g->looks);
	return true;
}

void look_end_locked(struct slabdev *sd, struct look *l)
{
	sd->larges.turns++;
	list_del(&l->link);
}

bool looks_stop_slow(struct slabdev *sd, u32 turns)
{
	struct larges *g = &sd->larges;
	bool were;
	u32 i = 0;

	lock_acquire(&sd->lock);
	g->nr_stops++;
	were = g->turns != turns || !list_empty(&g->looks) || g->nr_giving;
	while (!list_empty(&g->looks) ||
	       (g->nr_giving && i++ < WAITS_FOR_GIVING)) {
		lock_release(&sd->lock);
		os_sleep_us(WAIT_US);
		lock_acquire(&sd->lock);
	}
	lock_release(&sd->lock);
	return were;
}

void looks_go_on_slow(struct slabdev *sd)
{
	struct larges *g = &sd->larges;

	lock_acquire(&sd->lock);
	/* In the child of a fork, from within, nobody stops them any more. */
	if (g->nr_stops)
		g->nr_stops--;
	lock_release(&sd->lock);
}

/* ---- Walks -------------------------------------------------------------- */

static struct look *find_locked(const struct slabdev *sd, u32 slice)
{
	struct look *l;

	list_for_each_entry(l, &sd->larges.looks, link)
		if (l->slice == slice)
			return l;
	return NULL;
}

static bool keep_locked(struct slabdev *sd, u32 slice, u16 domain)
{
	struct look *l = find_locked(sd, slice);

	if (!l)
		return false;
	l->kept = true;
	l->domain = domain;
	return true;
}

bool debug_keeps_large_slow(struct slabdev *sd, u32 slice, u16 domain)
{
	bool kept;

	lock_acquire(&sd->lock);
	kept = keep_locked(sd, slice, domain);
	lock_release(&sd->lock);
	return kept;
}

/* The size of the live object that begins there, which only the bound stream
 * uses; 0: there is none. */
static u64 live_size(struct slabdev *sd, u32 slice)
{
	const struct slab *s = &sd->slabs[slice];
	enum slab_state state = slab_state(s);
	u64 offset = slice_offset(slice);
	u32 tag = tag_load(&sd->tags[offset >> GRANULE_SHIFT]);

	if ((state != SLAB_LARGE && state != SLAB_HUGE) ||
	    READ_ONCE(s->unsure))
		return 0;
	if (tag != tag_make(CODE_LARGE) &&
	    (tag != tag_make(CODE_NOTED) || note_is_used(sd, offset)))
		return 0;
	return READ_ONCE(s->size);
}

/* A free ends the life first, and gives the memory back then: it finds the
 * look, or the look does not find the object. */
static u64 begin_look(struct slabdev *sd, struct look *l)
{
	u64 size;

	lock_acquire(&sd->lock);
	size = live_size(sd, l->slice);
	if (size && !look_begin_locked(sd, l))
		size = 0;
	lock_release(&sd->lock);
	return size;
}

/* Another walk that is at it keeps it on. What is told meanwhile has a thread
 * wait that is not to be waited for: the look has ended by then. */
static void end_look(struct slabdev *sd, struct look *l)
{
	bool gives;

	lock_acquire(&sd->lock);
	look_end_locked(sd, l);
	gives = l->kept && !keep_locked(sd, l->slice, l->domain);
	sd->larges.nr_giving += gives;
	lock_release(&sd->lock);
	if (!gives)
		return;
	large_give_back(sd, l->slice, l->domain);
	lock_acquire(&sd->lock);
	sd->larges.nr_giving--;
	sd->larges.turns++;
	lock_release(&sd->lock);
}

static bool is_damaged(struct peek *k, u32 slice, u64 size, struct damage *d)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		peek_forget(k);
		*d = check(k, slice, size);
		if (d->kind == DAMAGE_NONE || live_size(k->sd, slice) != size)
			return false;
	}
	return true;
}

static u32 look_at_live(struct slabdev *sd, struct peek *k, u32 slice)
{
	struct look l = { .slice = slice };
	u64 size = begin_look(sd, &l);
	struct damage d;
	struct report r;
	bool bad;

	if (!size)
		return 0;
	bad = is_damaged(k, slice, size, &d);
	if (bad)
		describe(&r, k, slice, size, &d, FOUND_LIVE);
	end_look(sd, &l);
	if (bad)
		report_end(&r);
	return bad;
}

static u32 look_at_all(struct slabdev *sd, struct peek *k)
{
	u32 slice, n = 0, bad = 0;

	for (slice = pool_next_run(sd, 0, &n); slice != RANGE_NONE;
	     slice = pool_next_run(sd, slice + n, &n))
		bad += look_at_live(sd, k, slice);
	return bad;
}

u32 debug_validate_large(struct slabdev *sd, struct peek *k)
{
	u32 bad = 0;

	/* A walk that has nothing to look at changes nothing. */
	if (!large_is_debugged(sd))
		return 0;
	/* Memory that is kept is nobody's: let no other walk count. */
	change_begin(sd);
	if (sd->large_zone)
		bad = look_at_all(sd, k);
	bad += poison_validate(sd, k);
	change_end(sd);
	(void)reclaim_poll(sd);
	return bad;
}
