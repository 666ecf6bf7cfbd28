// SPDX-License-Identifier: BSD-2-Clause
/* debug_poison.c - free memory that large objects left; see debug_large.h. */
#include <errno.h>

#include "core/log.h"
#include "core/overflow.h"
#include "slab/class.h"
#include "slab/debug_large.h"
#include "slab/debug_report.h"
#include "slab/track.h"

/* ---- The table ---------------------------------------------------------- */

/* An entry is the number of the first slice that its object had, and one more;
 * 0: it is not poisoned. */
static u32 *entry(const struct slabdev *sd, u32 slice)
{
	return (u32 *)(void *)sd->larges.poison.base + slice;
}

static u32 owner_of(const struct slabdev *sd, u32 slice)
{
	if (slice >= load_acquire(&sd->larges.poison_end))
		return 0;
	return READ_ONCE(*entry(sd, slice));
}

static void set_owner(const struct slabdev *sd, u32 slice, u32 n, u32 owner)
{
	u32 i;

	for (i = slice; i < slice + n; i++)
		WRITE_ONCE(*entry(sd, i), owner);
}

static bool grow_locked(struct slabdev *sd, u32 end)
{
	struct larges *l = &sd->larges;

	if (!l->poison.base &&
	    resv_init(&l->poison, (u64)sd->pool.slices.max * sizeof(u32),
		      64 * KIB))
		return false;
	if (resv_grow(&l->poison, (u64)end * sizeof(u32)))
		return false;
	store_release(&l->poison_end, end);
	return true;
}

static bool has_table(struct slabdev *sd, u32 end)
{
	bool has;

	lock_acquire(&sd->lock);
	has = end <= sd->larges.poison_end || grow_locked(sd, end);
	lock_release(&sd->lock);
	return has;
}

/* ---- Filling ------------------------------------------------------------ */

static bool has_poison(const struct slabdev *sd, u32 slice, u64 usable)
{
	return READ_ONCE(sd->class[CLASS_LARGE]->debug) & DEBUG_POISON &&
	       slab_state(&sd->slabs[slice]) == SLAB_LARGE &&
	       usable <= SHARED_MAX && debug_may_look(sd) &&
	       !peek_is_forbidden(sd);
}

/* What host order hands out is anybody's at once. */
static int fill(struct slabdev *sd, u32 slice, u64 usable)
{
	int err = vmm_fill(&sd->vmm, space_addr(sd, slice_offset(slice)),
			   usable, POISON_BYTE, NULL);

	return !err && sd->host_order ? vmm_settle(&sd->vmm, true) : err;
}

int poison_fill(struct slabdev *sd, u32 slice, u64 usable)
{
	u32 n = (u32)(usable >> SLICE_SHIFT);
	char text[ERROR_TEXT_MAX];
	int err;

	if (!has_poison(sd, slice, usable) || !has_table(sd, slice + n))
		return -EAGAIN;
	error_save(text);
	err = fill(sd, slice, usable);
	error_restore(text);
	if (!err)
		set_owner(sd, slice, n, slice + 1);
	return err;
}

/* ---- Looking ------------------------------------------------------------ */

/* Slices that one object left. */
struct rest {
	u32 slice, n;
	u32 owner;
};

/* The first ones from @slice on, before @end; false: there are none. */
static bool find(const struct slabdev *sd, u32 slice, u32 end, struct rest *r)
{
	u32 last = min(end, load_acquire(&sd->larges.poison_end));

	*r = (struct rest){ .slice = slice };
	while (r->slice < last && !owner_of(sd, r->slice))
		r->slice++;
	if (r->slice >= last)
		return false;
	r->owner = owner_of(sd, r->slice);
	while (r->slice + r->n < last &&
	       owner_of(sd, r->slice + r->n) == r->owner)
		r->n++;
	return true;
}

/* Which object is it of? What is there of it before these slices is poison
 * still; else it is told of these alone. */
static void name_object(const struct slabdev *sd, const struct rest *r,
			struct large_found *f)
{
	u32 head = r->slice;
	u64 size;

	while (head && owner_of(sd, head - 1) == r->owner)
		head--;
	size = READ_ONCE(sd->slabs[head].size);
	if (head + 1 != r->owner ||
	    f->damage.first - slice_offset(head) >= size)
		return;
	f->offset = slice_offset(head);
	f->size = size;
}

/* True: it is damaged, and described. */
static bool look_at(struct peek *k, const struct rest *r, enum found found,
		    struct report *report)
{
	u64 offset = slice_offset(r->slice), size = slice_offset(r->n);
	struct large_found f = {
		.offset = offset,
		.size = size,
		.from = offset,
		.end = offset + size,
		.damage = zone_check_poison(k, offset, offset + size),
		.found = found,
	};

	if (f.damage.kind == DAMAGE_NONE)
		return false;
	name_object(k->sd, r, &f);
	debug_describe_large(report, k, &f);
	return true;
}

static void forget(struct slabdev *sd, const struct rest *r)
{
	set_owner(sd, r->slice, r->n, 0);
	track_forget(sd, slice_offset(r->slice), 1);
}

/* What leaves the pool is poison no longer, whether it can be looked at or
 * not. */
static void leave(struct slabdev *sd, u32 slice, u32 n, enum found found)
{
	struct report report;
	u32 end = slice + n;
	bool looks;
	struct peek k;
	struct rest r;

	if (!find(sd, slice, end, &r))
		return;
	looks = debug_may_look(sd) && !peek_begin(&k, sd, false);
	do {
		if (looks && look_at(&k, &r, found, &report))
			report_end(&report);
		forget(sd, &r);
	} while (find(sd, r.slice + r.n, end, &r));
	if (looks)
		peek_end(&k);
}

void poison_run_taken(struct slabdev *sd, u32 slice, u32 n)
{
	leave(sd, slice, n, FOUND_REUSE);
}

void poison_run_goes(struct slabdev *sd, u32 slice, u32 n)
{
	leave(sd, slice, n, FOUND_SLAB);
}

void poison_run_lost(struct slabdev *sd, u32 slice, u32 n)
{
	u32 end = slice + n;
	struct rest r;

	while (find(sd, slice, end, &r)) {
		forget(sd, &r);
		slice = r.slice + r.n;
	}
}

/* ---- Walks -------------------------------------------------------------- */

struct walk {
	struct peek *peek;
	struct report report;
	u32 told;	/* whose damage was told of last */
};

static bool take(struct slabdev *sd, struct look *l, u32 n)
{
	bool may;

	lock_acquire(&sd->lock);
	may = look_begin_locked(sd, l);
	if (may && !pool_alloc_at(sd, l->slice, n)) {
		look_end_locked(sd, l);
		may = false;
	}
	lock_release(&sd->lock);
	return may;
}

static void put_back(struct slabdev *sd, struct look *l, u32 n)
{
	pool_put_back(sd, l->slice, n);
	lock_acquire(&sd->lock);
	look_end_locked(sd, l);
	lock_release(&sd->lock);
}

/* Of one object all is told at once. */
static bool judge(struct walk *w, const struct rest *r)
{
	struct slabdev *sd = w->peek->sd;
	bool bad = false;

	if (r->owner != w->told) {
		peek_forget(w->peek);
		bad = look_at(w->peek, r, FOUND_FREE, &w->report);
		if (!bad)
			return false;
	}
	w->told = r->owner;
	forget(sd, r);
	return bad;
}

/* What was found without a lock may be another's by now, or have been; it is
 * nobody else's meanwhile. @r: set to what was looked at. */
static bool look_at_free(struct slabdev *sd, struct walk *w, struct rest *r)
{
	struct look l = { .slice = r->slice };
	u32 n = r->n;
	bool bad;

	if (!take(sd, &l, n))
		return false;
	bad = find(sd, l.slice, l.slice + n, r) && judge(w, r);
	put_back(sd, &l, n);
	if (bad)
		report_end(&w->report);
	return bad;
}

u32 poison_validate(struct slabdev *sd, struct peek *k)
{
	struct walk w = { .peek = k };
	struct rest r = { .n = 0 };
	u32 bad = 0;

	while (find(sd, r.slice + r.n, UINT32_MAX, &r)) {
		r.n = min(r.n, (u32)(LOOK_BYTES >> SLICE_SHIFT));
		bad += look_at_free(sd, &w, &r);
	}
	return bad;
}
