// SPDX-License-Identifier: BSD-2-Clause
/* quarantine.c - see quarantine.h. */
#include <errno.h>
#include <string.h>

#include "core/bitmap.h"
#include "core/log.h"
#include "slab/class.h"
#include "slab/debug.h"
#include "slab/debug_report.h"
#include "slab/quarantine.h"
#include "slab/zone_batch.h"

int quarantine_init(struct class *c)
{
	struct quarantine *q;

	if (class_quarantine(c))
		return 0;
	q = metapool_alloc(&c->sd->quarantine_pool);
	if (!q)
		return error_set(-ENOMEM, "no host memory for the quarantine "
				 "of a class");
	store_release(&c->quarantine, q);
	return 0;
}

void quarantine_fini(struct class *c)
{
	if (c->quarantine)
		metapool_free(&c->sd->quarantine_pool, c->quarantine);
}

/* How many are looked at together. */
static u32 batch(const struct class *c)
{
	u32 debug = READ_ONCE(c->debug);

	if (c->sd->ops->synchronous || !(debug & DEBUG_BYTES) ||
	    debug & DEBUG_CONSISTENCY)
		return 1;
	return QUARANTINE_FRESH;
}

/* ---- Zones that were told of -------------------------------------------- */

/* Where the zone ends that was written: two objects find the same. */
static u64 zone_of(const struct class *c, slot_t slot, const struct damage *d)
{
	return slot_offset(c, slot) + (d->kind == DAMAGE_RIGHT ? c->stride : 0);
}

/* Is it the first time that these bytes of the zone are told of? */
static bool is_news(struct class *c, const struct told *of)
{
	struct quarantine *q = class_quarantine(c);
	const struct told *t;
	bool news = true;
	u32 i;

	lock_acquire(&c->barn_lock);
	for (i = 0; i < QUARANTINE_TOLD; i++) {
		t = &q->told[i];
		if (t->zone == of->zone && t->first <= of->last &&
		    of->first <= t->last)
			news = false;
	}
	if (news) {
		q->told[q->nr_told % QUARANTINE_TOLD] = *of;
		WRITE_ONCE(q->nr_told, q->nr_told + 1);
	}
	lock_release(&c->barn_lock);
	return news;
}

static void add_bad(struct class *c, slot_t slot)
{
	struct quarantine *q = class_quarantine(c);

	lock_acquire(&c->barn_lock);
	if (q->nr_bad < QUARANTINE_BAD)
		q->bad[q->nr_bad] = slot;
	WRITE_ONCE(q->nr_bad, q->nr_bad + 1);
	lock_release(&c->barn_lock);
}

void quarantine_refilled(struct class *c, u64 from, u64 to)
{
	struct quarantine *q = class_quarantine(c);
	u32 i;

	if (!q || !READ_ONCE(q->nr_told))
		return;
	lock_acquire(&c->barn_lock);
	for (i = 0; i < QUARANTINE_TOLD; i++)
		if (q->told[i].zone >= from && q->told[i].zone <= to)
			q->told[i].zone = 0;
	lock_release(&c->barn_lock);
}

bool quarantine_judge(struct peek *k, struct class *c, slot_t slot,
		      const struct damage *d, enum found found)
{
	struct told of = { zone_of(c, slot, d), d->first, d->last };
	bool news;

	if (d->kind == DAMAGE_NONE)
		return false;
	news = d->kind == DAMAGE_POISON || is_news(c, &of);
	if (news || found == FOUND_LIVE)
		debug_report(k, c, slot, d, found);
	/* The object before it is the one that was told of, and is bad. */
	if (!news && d->kind == DAMAGE_LEFT && found != FOUND_LIVE)
		return false;
	if (found != FOUND_LIVE && found != FOUND_RESIZE && found != FOUND_SLAB)
		add_bad(c, slot);
	return true;
}

/* ---- Looking ------------------------------------------------------------ */

/* By number in @slot. Only the zones where they are not @poisoned. */
static void find_suspects(struct peek *k, const struct class *c,
			  const slot_t *slot, u32 n, bool poisoned,
			  u64 *suspects)
{
	struct zone_batch b;
	u32 i;

	zone_batch_begin(&b, k, suspects, n);
	for (i = 0; i < n; i++) {
		if (poisoned)
			zone_batch_add_free(&b, i, c, slot[i]);
		else
			zone_batch_add(&b, i, c, slot[i],
				       object_size(c, slot[i]));
	}
	zone_batch_end(&b);
}

/* Keep those of @slot that are as they should be: how many. */
static u32 sift(struct class *c, slot_t *slot, u32 n, enum found found)
{
	/* What was poisoned just now is, if it is looked at at once. */
	bool poisoned = found != FOUND_FREED || batch(c) > 1;
	u64 suspects[BITMAP_WORDS(QUARANTINE_FRESH)];
	struct damage d;
	struct peek k;
	u32 i, good = 0;

	if (!(READ_ONCE(c->debug) & DEBUG_BYTES) ||
	    peek_begin(&k, c->sd, batch(c) > 1))
		return n;
	find_suspects(&k, c, slot, n, poisoned, suspects);
	for (i = 0; i < n; i++) {
		d = (struct damage){ .kind = DAMAGE_NONE };
		if (bitmap_test(suspects, i))
			d = poisoned ? zone_check_free(&k, c, slot[i]) :
			    zone_check(&k, c, slot[i], object_size(c, slot[i]));
		if (!quarantine_judge(&k, c, slot[i], &d, found))
			slot[good++] = slot[i];
	}
	peek_end(&k);
	return good;
}

/* ---- Coming and going ---------------------------------------------------- */

/* The most that a class holds. */
static u32 limit(const struct class *c)
{
	if (!(READ_ONCE(c->debug) & DEBUG_QUARANTINE))
		return 0;
	/* A batch more has room. */
	return (u32)min(max(QUARANTINE_BYTES / c->stride, (u64)1),
			(u64)QUARANTINE_HELD - QUARANTINE_FRESH);
}

/* The oldest that are beyond @most; how many. */
static u32 pop_held(struct class *c, slot_t *to, u32 most)
{
	struct quarantine *q = class_quarantine(c);
	u32 n = 0;

	lock_acquire(&c->barn_lock);
	while (q->nr_held > most && n < QUARANTINE_FRESH) {
		to[n++] = q->held[q->first];
		q->first = (q->first + 1) % QUARANTINE_HELD;
		WRITE_ONCE(q->nr_held, q->nr_held - 1);
	}
	lock_release(&c->barn_lock);
	return n;
}

static void release_beyond(struct class *c, u32 most)
{
	slot_t slot[QUARANTINE_FRESH];
	u32 n;

	while ((n = pop_held(c, slot, most))) {
		n = sift(c, slot, n, FOUND_LEAVING);
		class_put_now(c, slot, n, c->sd->domain);
	}
}

/* Into the ring, as far as there is room; how many are not. */
static u32 push_held(struct class *c, const slot_t *slot, u32 n)
{
	struct quarantine *q = class_quarantine(c);
	u32 i, held;

	lock_acquire(&c->barn_lock);
	held = q->nr_held;
	for (i = 0; i < n && held < QUARANTINE_HELD; i++)
		q->held[(q->first + held++) % QUARANTINE_HELD] = slot[i];
	WRITE_ONCE(q->nr_held, held);
	lock_release(&c->barn_lock);
	return n - i;
}

/* Freed just now, and poisoned: look, and hold or give back. */
static void process(struct class *c, slot_t *slot, u32 n)
{
	u32 most = limit(c), over;

	n = sift(c, slot, n, FOUND_FREED);
	over = most ? push_held(c, slot, n) : n;
	class_put_now(c, slot + (n - over), over, c->sd->domain);
	if (most)
		release_beyond(c, most);
}

/* Out of the fresh ones, if there are @least or more. */
static u32 take_fresh(struct class *c, slot_t *to, u32 least)
{
	struct quarantine *q = class_quarantine(c);
	u32 n = 0;

	lock_acquire(&c->barn_lock);
	if (q->nr_fresh >= least) {
		n = q->nr_fresh;
		memcpy(to, q->fresh, n * sizeof(*to));
		q->nr_fresh = 0;
	}
	lock_release(&c->barn_lock);
	return n;
}

static bool add_fresh(struct class *c, slot_t slot)
{
	struct quarantine *q = class_quarantine(c);
	bool room;

	lock_acquire(&c->barn_lock);
	room = q->nr_fresh < QUARANTINE_FRESH;
	if (room)
		q->fresh[q->nr_fresh++] = slot;
	lock_release(&c->barn_lock);
	return room;
}

/* What host order hands out is anybody's at once, and in a capture nothing that
 * is handed out is looked at before, which would wait for the fill. */
static void poison(struct class *c, const slot_t *slot, u32 n)
{
	char text[ERROR_TEXT_MAX];
	u32 i;

	for (i = 0; i < n; i++)
		zone_poison(c, slot[i]);
	if (!c->sd->host_order || !(READ_ONCE(c->debug) & DEBUG_POISON) ||
	    peek_is_forbidden(c->sd))
		return;
	error_save(text);
	if (vmm_settle(&c->sd->vmm, true))
		error_restore(text);
}

void quarantine_put(struct class *c, const slot_t *from, u32 n)
{
	slot_t slot[QUARANTINE_FRESH];
	u32 i, got;

	poison(c, from, n);
	/* Under locks nothing is told: it is looked at when it is used. */
	if (!debug_may_look(c->sd)) {
		class_put_now(c, from, n, c->sd->domain);
		return;
	}
	i = 0;
	while (i < n) {
		i += add_fresh(c, from[i]);
		got = take_fresh(c, slot, i < n ? QUARANTINE_FRESH : batch(c));
		if (got)
			process(c, slot, got);
	}
}

void quarantine_empty(struct class *c)
{
	slot_t slot[QUARANTINE_FRESH];
	u32 n;

	if (!class_quarantine(c))
		return;
	n = take_fresh(c, slot, 1);
	if (n)
		process(c, slot, n);
	release_beyond(c, 0);
}

/*
 * Each held object once: those that are as they should be go back behind the
 * others. Nobody else has them meanwhile.
 */
u32 quarantine_look(struct class *c)
{
	struct quarantine *q = class_quarantine(c);
	slot_t slot[QUARANTINE_FRESH];
	u32 n, left, bad, over;

	if (!q)
		return 0;
	bad = READ_ONCE(q->nr_bad);
	n = take_fresh(c, slot, 1);
	if (n)
		process(c, slot, n);
	for (left = READ_ONCE(q->nr_held); left; left -= min(left, n)) {
		n = pop_held(c, slot, 0);
		if (!n)
			break;
		n = sift(c, slot, n, FOUND_FREE);
		over = push_held(c, slot, n);
		class_put_now(c, slot + (n - over), over, c->sd->domain);
		n = QUARANTINE_FRESH;
	}
	return READ_ONCE(q->nr_bad) - bad;
}

/* ---- The end ------------------------------------------------------------- */

void quarantine_release_bad(struct class *c)
{
	struct quarantine *q = class_quarantine(c);
	u32 i, n = q ? min(READ_ONCE(q->nr_bad), QUARANTINE_BAD) : 0;

	for (i = 0; i < n; i++) {
		/* It was told already. */
		WRITE_ONCE(slab_of(c, q->bad[i])->unsure, true);
		class_put_now(c, &q->bad[i], 1, c->sd->domain);
	}
	if (n)
		WRITE_ONCE(q->nr_bad, q->nr_bad - n);
}

void quarantine_forget(struct class *c)
{
	struct quarantine *q = c->quarantine;

	if (!q)
		return;
	q->nr_fresh = q->nr_held = q->nr_bad = q->nr_told = 0;
	memset(q->told, 0, sizeof(q->told));
}
