// SPDX-License-Identifier: BSD-2-Clause
/* hazard.c - the rules of hazard mode; see hazard.h. */
#include <errno.h>

#include "core/log.h"
#include "slab/hazard.h"
#include "slab/hazard_report.h"

bool hazard_active;

/* Locking: hazard_lock. An object may be there that has no record. */
static bool blind;

/* ---- In and out ---------------------------------------------------------- */

/* What was found is told without the lock. */
static int leave(const struct hazard_call *by, const struct finding *f)
{
	bool overflow = clock_take_overflow_locked();

	lock_release(&hazard_lock);
	if (overflow)
		pr_warn("hazards: no more than %u streams can be followed at a "
			"time; those beyond are not", HAZARD_STREAMS);
	if (!f || f->kind == HAZARD_NONE)
		return 0;
	hazard_tell(by->name, f);
	return 1;
}

static struct deed do_locked(const struct hazard_call *by)
{
	struct deed d = {
		.stream = clock_stream(by->stream),
		.site = by->site,
	};

	d.epoch = clock_act_locked(d.stream);
	return d;
}

static struct finding finding_of(const struct record *r)
{
	return (struct finding){
		.start = r->start,
		.size = r->end - r->start,
		.alloc = r->alloc,
		.free = r->free,
	};
}

/* ---- Objects ------------------------------------------------------------- */

void hazard_alloc(const struct hazard_call *by, u64 addr, u64 size)
{
	struct deed d;
	struct record *r;

	lock_acquire(&hazard_lock);
	d = do_locked(by);
	r = tree_add_locked(by->space, addr, addr + max(size, (u64)1));
	if (r)
		r->alloc = d;
	else
		blind = true;
	(void)leave(by, NULL);
}

void hazard_use(const struct hazard_call *by, u64 addr)
{
	struct hazard_stream s = clock_stream(by->stream);
	struct record *r;

	lock_acquire(&hazard_lock);
	r = tree_find_locked(addr);
	if (r && !r->freed && r->nr_uses < HAZARD_USES)
		r->use[r->nr_uses++] = s;
	(void)leave(by, NULL);
}

/* Does it come before the free on @actor, or before what the free waits for? */
static bool is_over_locked(const struct record *r, u32 actor,
			   const struct deed *d)
{
	return clock_is_behind_locked(actor, d->epoch) ||
	       clock_any_behind_locked(r->use, r->nr_uses, d->epoch);
}

/* What the free does not come after; NULL: nothing. */
static const struct deed *unfinished_locked(const struct record *r, u32 actor)
{
	const struct access *a;

	for (a = r->accesses; a; a = a->next)
		if (!is_over_locked(r, actor, &a->deed))
			return &a->deed;
	return is_over_locked(r, actor, &r->alloc) ? NULL : &r->alloc;
}

int hazard_free(const struct hazard_call *by, u64 addr)
{
	struct finding f = { .kind = HAZARD_NONE };
	const struct deed *unfinished;
	struct record *r;
	struct deed d;

	lock_acquire(&hazard_lock);
	d = do_locked(by);
	r = tree_find_locked(addr);
	if (r && !r->freed) {
		r->freed = true;
		r->free = d;
		unfinished = unfinished_locked(r, d.epoch.actor);
		if (unfinished) {
			f = finding_of(r);
			f.kind = HAZARD_EARLY_FREE;
			f.access = *unfinished;
			f.by_alloc = unfinished == &r->alloc;
		}
		access_prune_locked(r, ACTOR_UNKNOWN);
	}
	return leave(by, &f);
}

/* ---- Accesses ------------------------------------------------------------ */

static struct finding judge_locked(const struct record *r, u64 addr,
				   const struct deed *d)
{
	struct finding f = { .kind = HAZARD_NONE };

	if (r)
		f = finding_of(r);
	f.addr = addr;
	f.access = *d;
	if (!r)
		f.kind = blind ? HAZARD_NONE : HAZARD_NO_OBJECT;
	else if (r->freed)
		f.kind = HAZARD_ACCESS_FREED;
	else if (!clock_is_behind_locked(d->epoch.actor, r->alloc.epoch))
		f.kind = HAZARD_EARLY_ACCESS;
	return f;
}

/* Keep it, for the free. */
static int follow_locked(struct record *r, const struct deed *d)
{
	struct access *a;

	if (d->epoch.actor == ACTOR_UNKNOWN)
		return 0;
	access_prune_locked(r, d->epoch.actor);
	a = access_add_locked(r);
	if (!a)
		return -ENOMEM;
	a->deed = *d;
	return 0;
}

int hazard_access(const struct hazard_call *by, u64 addr)
{
	struct finding f;
	struct record *r;
	struct deed d;
	int err = 0;

	lock_acquire(&hazard_lock);
	d = do_locked(by);
	r = tree_find_locked(addr);
	f = judge_locked(r, addr, &d);
	if (r && !r->freed)
		err = follow_locked(r, &d);
	if (leave(by, &f))
		return 1;
	return err ? error_set(err, "slabdev_hazard_access: no host memory to "
			       "follow an access") : 0;
}

/* ---- Order --------------------------------------------------------------- */

void hazard_record(u64 event, slabdev_stream_t stream)
{
	lock_acquire(&hazard_lock);
	clock_record_locked(event, clock_stream(stream));
	(void)leave(NULL, NULL);
}

void hazard_wait(slabdev_stream_t stream, u64 event)
{
	lock_acquire(&hazard_lock);
	clock_wait_locked(clock_stream(stream), event);
	(void)leave(NULL, NULL);
}

void hazard_sync(slabdev_stream_t stream)
{
	lock_acquire(&hazard_lock);
	clock_sync_locked(clock_stream(stream));
	(void)leave(NULL, NULL);
}

void hazard_order(slabdev_stream_t later, slabdev_stream_t earlier)
{
	lock_acquire(&hazard_lock);
	clock_order_locked(clock_stream(later), clock_stream(earlier));
	(void)leave(NULL, NULL);
}

/* ---- Spaces and processes ------------------------------------------------ */

void hazard_activate(void)
{
	WRITE_ONCE(hazard_active, true);
}

void hazard_forget_space(const void *space)
{
	lock_acquire(&hazard_lock);
	tree_forget_locked(space);
	lock_release(&hazard_lock);
}

void hazard_lock_for_fork(void)
{
	lock_acquire_for_fork(&hazard_lock);
}

void hazard_unlock_for_fork(bool child)
{
	if (child && hazard_is_active())
		clock_sync_locked(clock_stream(SLABDEV_HAZARD_HOST));
	lock_release_for_fork(&hazard_lock);
}

void hazard_reset(void)
{
	lock_acquire(&hazard_lock);
	tree_forget_locked(NULL);
	clock_reset_locked();
	blind = false;
	lock_release(&hazard_lock);
}
