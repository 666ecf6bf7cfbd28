// SPDX-License-Identifier: BSD-2-Clause
/* reclaim.c - the order of steps before a request fails; see reclaim.h. */
#include <errno.h>

#include "core/log.h"
#include "slab/arena.h"
#include "slab/class.h"
#include "slab/debug_large.h"
#include "slab/heap.h"
#include "slab/oom.h"
#include "slab/pending.h"
#include "slab/reclaim.h"
#include "slab/shrinker.h"
#include "slab/steady.h"
#include "slab/steal.h"
#include "slab/visit.h"

/* A request for memory on its way through the steps. */
struct request {
	struct slabdev *sd;
	struct class *class;
	u32 n;			/* slices */
	u64 align;		/* bytes; 0: a huge object */
	unsigned int flags;
	u32 *slice;
	const struct held_run *held;	/* or NULL; .align is 0 then */
	u32 turns;		/* of walks, when it began */
	bool stops;		/* it keeps them off */
};

/*
 * What was done last to find memory. Those up to STEP_GATHER come before
 * mapping more, the others after it was refused.
 */
enum step {
	STEP_LOOK, STEP_PENDING, STEP_KEPT, STEP_GATHER,
	STEP_VACANT, STEP_TAKE_BACK, STEP_WAIT, STEP_SHRINK,
};

/* A shrinker that says it freed something, and did not, ends here. */
#define SHRINK_ROUNDS 16u

/* 0 done, 1 the class can do without, -ENOENT nothing there. */
static int look(struct request *q)
{
	if (q->class && class_has_free(q->class, q->flags))
		return 1;
	if (!q->align)
		return -ENOENT;
	*q->slice = pool_alloc(q->sd, q->n, q->align, q->flags & GET_QUIET);
	return *q->slice == RANGE_NONE ? -ENOENT : 0;
}

static int grow(struct request *q)
{
	enum pool_need need = q->flags & GET_STILL ? NEED_STILL :
			      q->flags & GET_QUIET ? NEED_QUIET : NEED_ANY;

	if (q->held)
		return vmm_map_held(&q->sd->vmm, q->held->at, q->held->nr,
				    pool_growth_handle(q->sd, q->held->nr));
	if (!q->align)
		return pool_alloc_huge(q->sd, q->n, need, q->slice);
	return pool_grow(q->sd, q->n, q->align, need);
}

static u64 request_bytes(const struct request *q)
{
	return slice_offset(q->n);
}

void reclaim_kept(struct slabdev *sd)
{
	u32 id, side = visit_begin(sd);
	struct class *c;

	change_begin(sd);
	for (id = 1; id < CLASS_MAX; id++) {
		c = load_acquire(&sd->class[id]);
		if (c && READ_ONCE(c->rec->empty))
			class_drop_kept(c);
	}
	change_end(sd);
	visit_end(sd, side);
}

/* Vacant handles of the pool become handles that can be mapped anywhere. */
static void spare_vacant_handles(struct slabdev *sd)
{
	pool_trim(sd, 0, VMM_KEEP_HANDLE);
}

/* And so does what arenas do not use. True if that was any. */
static bool spare_arenas(struct slabdev *sd, bool wait)
{
	u64 before = arenas_any(sd) ? arenas_spare(sd) : 0;
	int err = 0;

	return before && arenas_give(sd, 0, VMM_KEEP_HANDLE, wait, &err) <
			 before;
}

/* Wait for what streams have freed, and for a stream that asks also for what
 * the bound one has. False: nothing came of it. */
static bool wait_for_device(struct request *q)
{
	bool waited = false;

	if (q->flags & GET_NO_WAIT)
		return false;
	if (pending_any(q->sd))
		waited = !pending_wait(q->sd);
	if (q->flags & GET_QUIET)
		waited |= !vmm_settle(&q->sd->vmm, true);
	return waited | spare_arenas(q->sd, true);
}

/* A walk may have kept what is wanted; it is not to do that again. False: none
 * has. */
static bool stop_walks(struct request *q)
{
	if (q->stops || q->flags & GET_NO_WAIT)
		return false;
	q->stops = true;
	return looks_stop(q->sd, q->turns);
}

/* Do the next thing that may help. False: there is nothing left to do. */
static bool next_step(struct request *q, enum step *step, u32 *rounds)
{
	bool waited;

	switch (*step) {
	default:
		*step = STEP_VACANT;
		reclaim_kept(q->sd);
		spare_vacant_handles(q->sd);
		(void)spare_arenas(q->sd, false);
		return true;
	case STEP_VACANT:
		*step = STEP_TAKE_BACK;
		take_back(q->sd, NULL);
		spare_vacant_handles(q->sd);
		return true;
	case STEP_TAKE_BACK:
		*step = STEP_WAIT;
		waited = wait_for_device(q);
		if (stop_walks(q) || waited) {
			take_back(q->sd, NULL);
			spare_vacant_handles(q->sd);
			return true;
		}
		/* fallthrough */
	case STEP_WAIT:
	case STEP_SHRINK:
		*step = STEP_SHRINK;
		/* A shrinker that allocates must not call itself. */
		if (thread_is_shrinking(q->sd) || ++*rounds > SHRINK_ROUNDS)
			return false;
		if (!shrinkers_run(q->sd, request_bytes(q)))
			return false;
		take_back(q->sd, NULL);
		spare_vacant_handles(q->sd);
		return true;
	}
}

static bool is_lack_of_memory(int err)
{
	return err == -ENOMEM || err == -EDQUOT;
}

/*
 * Enough is free, but in pieces: free objects in sheaves and barns may be what
 * keeps them apart. Putting those together costs no call of the backend, and
 * is what makes a workload that repeats find the same memory again.
 */
static bool gather(struct request *q)
{
	if (READ_ONCE(q->sd->policy) == SLABDEV_AGGRESSIVE ||
	    pool_free_bytes(q->sd) < request_bytes(q))
		return false;
	take_back(q->sd, NULL);
	return true;
}

/* See which events are done. False: nothing can have become free. */
static bool settle(struct request *q)
{
	struct slabdev *sd = q->sd;
	u64 quiet = vmm_quiet(&sd->vmm), before;

	before = READ_ONCE(sd->rec->pending_bytes);
	if (before)
		pending_poll(sd);
	if (q->flags & GET_QUIET && quiet != VMM_ALWAYS_QUIET &&
	    !READ_ONCE(sd->streams.nr_captures))
		(void)vmm_settle(&sd->vmm, false);
	return READ_ONCE(sd->rec->pending_bytes) < before ||
	       vmm_quiet(&sd->vmm) != quiet;
}

/* What is tried before mapping more, once each. False: nothing was done. */
static bool put_together(struct request *q, enum step *step)
{
	if (q->flags & GET_STILL)
		return false;
	if (*step < STEP_PENDING) {
		*step = STEP_PENDING;
		if (settle(q))
			return true;
	}
	/* A huge object takes no free slices. */
	if (!q->align)
		return false;
	if (*step < STEP_KEPT) {
		*step = STEP_KEPT;
		if (READ_ONCE(q->sd->empty_slices)) {
			reclaim_kept(q->sd);
			return true;
		}
	}
	if (*step < STEP_GATHER) {
		*step = STEP_GATHER;
		return gather(q);
	}
	return false;
}

static int find_memory(struct request *q)
{
	enum step step = STEP_LOOK;
	u32 rounds = 0;
	int err;

	for (;;) {
		err = look(q);
		if (err != -ENOENT)
			return err;
		if (put_together(q, &step))
			continue;
		if (q->flags & GET_NO_GROW && stop_walks(q))
			continue;
		if (q->flags & GET_NO_GROW)
			return error_set(-ENOMEM, "no mapped memory fits, and "
					 "the request forbids to map more");
		err = grow(q);
		if (!err && !q->align)
			return 0;
		if (!err)
			continue;
		if (!is_lack_of_memory(err) || q->flags & GET_STILL ||
		    !next_step(q, &step, &rounds))
			return err;
	}
}

static int serve(struct request *q)
{
	char text[ERROR_TEXT_MAX];
	int err;

	if (q->sd->stream && !(q->flags & GET_QUIET))
		pending_notice_capture(q->sd, q->sd->stream);
	error_save(text);
	q->turns = looks_turns(q->sd);
	err = find_memory(q);
	if (q->stops)
		looks_go_on(q->sd);
	/* What failed on the way is no failure of the caller's. */
	if (err >= 0)
		error_restore(text);
	if (err >= 0 && !(q->flags & (GET_NO_GROW | GET_STILL)))
		reclaim_poll(q->sd);
	else if (is_lack_of_memory(err) &&
		 !(q->flags & (GET_NO_GROW | GET_NO_REPORT)))
		oom_report(q->sd, q->class, request_bytes(q), err);
	return err;
}

int reclaim_run(struct slabdev *sd, u32 n, u64 align, struct class *c,
		unsigned int flags, u32 *slice)
{
	struct request q = { .sd = sd, .class = c, .n = n, .align = align,
			     .flags = flags, .slice = slice };

	/* The usual case: a free run, and nothing else to do. */
	*slice = pool_alloc(sd, n, align, flags & GET_QUIET);
	if (*slice != RANGE_NONE)
		return 0;
	return serve(&q);
}

int reclaim_huge(struct slabdev *sd, u32 n, struct class *c,
		 unsigned int flags, u32 *slice)
{
	struct request q = { .sd = sd, .class = c, .n = n, .flags = flags,
			     .slice = slice };

	return serve(&q);
}

/* With GET_STILL nobody else is to give anything up for it. */
int reclaim_held(struct slabdev *sd, const struct held_run *held,
		 unsigned int flags)
{
	struct request q = { .sd = sd, .n = held->nr * sd->chunk_slices,
			     .flags = flags, .held = held };
	struct steady before = steady_begin(sd);
	int err = flags & GET_STILL ? grow(&q) : serve(&q);

	if (!err)
		steady_end(sd, before);
	return err;
}

/* ---- Policy ----------------------------------------------------------- */

/* Give back down to @keep bytes: what is cheapest to get again goes last.
 * @wait for the device to be done with it, or leave what it may be using. */
static int give_back(struct slabdev *sd, u64 keep, bool wait)
{
	int err, err2, err3 = 0;
	u64 in_pool;

	keep -= min(keep, arenas_give(sd, keep, VMM_RELEASE, wait, &err3));
	change_begin(sd);
	err = pool_trim(sd, keep, VMM_KEEP_MAPPED);
	in_pool = pool_free_bytes(sd);
	err2 = vmm_reclaim(&sd->vmm, keep > in_pool ? keep - in_pool : 0,
			   wait);
	change_end(sd);
	if (!err)
		err = err2;
	return err ? err : err3;
}

int reclaim_poll(struct slabdev *sd)
{
	u64 keep = READ_ONCE(sd->policy_keep);
	u64 retained = pool_free_bytes(sd) + READ_ONCE(sd->vmm.cnt->idle);

	if (READ_ONCE(sd->streams.nr_captures))
		return 0;
	if (arenas_any(sd) && READ_ONCE(sd->policy) != SLABDEV_RETAIN)
		retained += arenas_spare(sd);
	switch (READ_ONCE(sd->policy)) {
	case SLABDEV_TRIM:
		return retained > keep ?
		       give_back(sd, keep, sd->same_layout) : 0;
	case SLABDEV_AGGRESSIVE:
		/* Two threads mapped, and one found what the other did. */
		return retained >= sd->vmm.chunk_size ?
		       give_back(sd, 0, sd->same_layout) : 0;
	default:
		return 0;
	}
}

int reclaim_trim(struct slabdev *sd, u64 keep)
{
	take_back(sd, NULL);
	if (!pending_wait(sd))
		take_back(sd, NULL);
	shared_add(&sd->rec->trims, 1);
	return give_back(sd, keep, true);
}
