// SPDX-License-Identifier: BSD-2-Clause
/*
 * arena_order.c - arenas and streams: who waits for whom.
 *
 * What an arena has given back is its stream's again at once. Other streams
 * that use it are joined then: an event is recorded in each, and the arena's
 * stream waits for it.
 *
 * Memory goes back to others only when the arena's stream is past what was in
 * it when the reach was lowered. For the bound stream the vmm knows; for
 * another one an event is recorded when somebody wants the memory, and asked
 * again each time until it is reached: it is not recorded anew before, or a
 * stream that is never idle would never give anything. In the default stream of
 * each thread nobody but that thread can record: its memory goes back when the
 * whole device was waited for.
 */
#include <errno.h>
#include <string.h>

#include "core/log.h"
#include "slab/arena.h"
#include "slab/hazard_watch.h"

int arena_stream(struct slabdev *sd, slabdev_stream_t stream, const char *call,
		 slabdev_stream_t *to)
{
	int err;

	stream = stream_canonical(sd, stream);
	*to = stream == sd->stream ? NULL : stream;
	if (!*to)
		return 0;
	err = vmm_check_stream(&sd->vmm, stream);
	return err ? error_set(err, "%s: %s: %p is no stream of it: %s", call,
			       sd->name, (void *)stream, error_get()) : 0;
}

/* ---- Other streams ------------------------------------------------------- */

static int add_use_claimed(struct arena *a, slabdev_stream_t stream)
{
	u32 i;

	for (i = 0; i < a->nr_uses; i++)
		if (a->use[i] == stream)
			return 0;
	if (i == ARENA_USES)
		return error_set(-ENOSPC, "arena '%s' is used by %u other "
				 "streams already: rewind or reset it first",
				 a->name, ARENA_USES);
	a->use[i] = stream;
	WRITE_ONCE(a->nr_uses, i + 1);
	return 0;
}

#undef slabdev_arena_use
int slabdev_arena_use(struct slabdev_arena *arena, slabdev_stream_t stream)
{
	int err;
	struct arena *a = arena_find(arena, "slabdev_arena_use", &err);

	if (!a)
		return err;
	err = arena_stream(a->h.sd, stream, "slabdev_arena_use", &stream);
	if (err || stream == a->stream)
		return err;
	err = arena_claim(a);
	if (err)
		return err;
	err = add_use_claimed(a, stream);
	arena_unclaim(a);
	return err;
}

/* An event that a capture has got hold of is of no use any more. */
static void drop_event(struct arena *a, u64 *event)
{
	if (*event)
		vmm_event_destroy(&a->h.sd->vmm, *event);
	*event = 0;
}

/* The arena's stream waits for what is in @other by now. */
static int join_one(struct arena *a, slabdev_stream_t other)
{
	struct vmm *v = &a->h.sd->vmm;
	int err = 0;

	if (!a->use_event)
		err = vmm_event_create(v, &a->use_event);
	if (!err)
		err = vmm_event_record(v, a->use_event, other);
	if (!err)
		err = vmm_stream_wait(v, a->stream, a->use_event);
	if (err == -EXDEV)
		drop_event(a, &a->use_event);
	return err;
}

/* -EBUSY, later perhaps; or what each call on a dead space says. The error text
 * is as it was. */
static int not_proved(struct slabdev *sd)
{
	char text[ERROR_TEXT_MAX];
	int err;

	(void)space_failed(sd, -EIO);
	error_save(text);
	err = vmm_health(&sd->vmm);
	error_restore(text);
	return err ? err : -EBUSY;
}

static int refuse(struct arena *a, slabdev_stream_t other, const char *call,
		  int err)
{
	if (err == -EAGAIN || err == -EXDEV)
		return error_set(-EBUSY, "%s: arena '%s': stream %p uses it "
				 "and cannot be waited for while one of both "
				 "streams is captured", call, a->name,
				 (void *)other);
	return error_set(not_proved(a->h.sd), "%s: arena '%s': stream %p uses "
			 "it and cannot be waited for: %s", call, a->name,
			 (void *)other, error_get());
}

int arena_join(struct arena *a, const char *call)
{
	slabdev_stream_t other, joined[ARENA_USES];
	int err = 0;
	u32 n;

	if (likely(!READ_ONCE(a->nr_uses)))
		return 0;
	err = arena_claim(a);
	if (err)
		return err;
	for (n = 0; a->nr_uses; n++) {
		other = a->use[a->nr_uses - 1];
		err = join_one(a, other);
		if (err)
			break;
		joined[n] = other;
		WRITE_ONCE(a->nr_uses, a->nr_uses - 1);
	}
	arena_unclaim(a);
	/* Which may be told of, as may what was found to be refused. */
	while (n)
		watch_join(a->h.sd, a->stream, joined[--n]);
	return err ? refuse(a, other, call, err) : 0;
}

static int end_use_claimed(struct arena *a, slabdev_stream_t stream)
{
	u32 i;
	int err;

	for (i = 0; i < a->nr_uses; i++) {
		if (a->use[i] != stream)
			continue;
		err = join_one(a, stream);
		if (err)
			return err;
		WRITE_ONCE(a->nr_uses, a->nr_uses - 1);
		a->use[i] = a->use[a->nr_uses];
		return 1;
	}
	return 0;
}

int arenas_end_stream(struct slabdev *sd, slabdev_stream_t stream)
{
	slabdev_stream_t own;
	struct arena *a;
	bool any = false;
	u32 at = 0;
	int used;

	while ((a = arena_next(sd, &at))) {
		used = end_use_claimed(a, stream);
		own = a->stream;
		arena_unclaim(a);
		if (used < 0)
			return used;
		if (used)
			watch_join(sd, own, stream);
		any |= used;
	}
	return any;
}

/* ---- The arena's own ----------------------------------------------------- */

static bool bound_is_done(const struct arena *a)
{
	return READ_ONCE(a->stamp) <= vmm_quiet(&a->h.sd->vmm);
}

/* Ask the event, which covers what was lowered before. */
static void ask(struct arena *a)
{
	struct vmm *v = &a->h.sd->vmm;
	int err = vmm_event_query(v, a->done_event);

	if (err == -EBUSY)
		return;
	if (!err)
		a->done = a->done_covers;
	else
		drop_event(a, &a->done_event);
	a->done_covers = 0;
}

static void record(struct arena *a, u64 lowered)
{
	struct vmm *v = &a->h.sd->vmm;

	if (!a->done_event && vmm_event_create(v, &a->done_event))
		return;
	if (!vmm_event_record(v, a->done_event, a->stream))
		a->done_covers = lowered;
}

bool arena_is_done(struct arena *a)
{
	struct vmm *v = &a->h.sd->vmm;
	u64 lowered = READ_ONCE(a->lowered);

	if (!a->stream) {
		if (!bound_is_done(a) &&
		    !READ_ONCE(a->h.sd->streams.nr_captures))
			(void)vmm_settle(v, false);
		return bound_is_done(a);
	}
	if (a->done_covers)
		ask(a);
	if (a->done < lowered && !a->done_covers &&
	    a->stream != SLABDEV_STREAM_PER_THREAD) {
		record(a, lowered);
		if (a->done_covers)
			ask(a);
	}
	return a->done >= lowered;
}

/* What is waited for, read under the claim: the arena may go meanwhile, and its
 * entry be another's. */
struct wait {
	slabdev_stream_t stream;
	u64 event;		/* 0: none */
	u64 lowered;
	u32 use;
	char name[ARENA_NAME_MAX + 1];
};

static bool is_of(const struct arena *a, const struct slabdev *sd)
{
	return load_acquire(&a->ready) && READ_ONCE(a->of) == sd;
}

/* 0; -ENOENT the arena is not there; -EBUSY, or the backend's error. */
static int begin_wait(struct slabdev *sd, struct arena *a, struct wait *w)
{
	int err = arena_claim(a);

	if (err)
		return err;
	if (!is_of(a, sd)) {
		arena_unclaim(a);
		return -ENOENT;
	}
	w->stream = a->stream;
	w->lowered = READ_ONCE(a->lowered);
	w->use = token_use(&a->h);
	memcpy(w->name, a->name, sizeof(w->name));
	if (w->stream && w->stream != SLABDEV_STREAM_PER_THREAD) {
		err = vmm_event_create(&sd->vmm, &w->event);
		if (!err)
			err = vmm_event_record(&sd->vmm, w->event, w->stream);
	}
	arena_unclaim(a);
	return err;
}

static int wait_for(struct slabdev *sd, const struct wait *w)
{
	if (w->event)
		return vmm_event_wait(&sd->vmm, w->event);
	if (w->stream)
		return streams_quiesce(sd);
	return vmm_quiet(&sd->vmm) == VMM_ALWAYS_QUIET ?
	       0 : vmm_settle(&sd->vmm, true);
}

static int end_wait(struct slabdev *sd, struct arena *a, const struct wait *w)
{
	int err = w->stream ? arena_claim(a) : 0;

	if (err || !w->stream)
		return err;
	if (is_of(a, sd) && token_use(&a->h) == w->use)
		a->done = max(a->done, w->lowered);
	arena_unclaim(a);
	return 0;
}

static int say_why(struct slabdev *sd, const struct wait *w, int err)
{
	if (err == -EBUSY)
		return err;
	if (err == -EAGAIN || err == -EXDEV)
		return error_set(-EBUSY, "arena '%s': it cannot be told "
				 "whether the device is done with it while a "
				 "stream is captured", w->name);
	return error_set(not_proved(sd), "arena '%s': it cannot be told "
			 "whether the device is done with it: %s", w->name,
			 error_get());
}

int arena_wait(struct slabdev *sd, struct arena *a)
{
	struct wait w = { .event = 0 };
	int err = begin_wait(sd, a, &w);

	if (!err)
		err = wait_for(sd, &w);
	if (w.event)
		vmm_event_destroy(&sd->vmm, w.event);
	if (!err)
		err = end_wait(sd, a, &w);
	if (!err || err == -ENOENT)
		return 0;
	return say_why(sd, &w, err);
}

void arena_order_end(struct arena *a)
{
	drop_event(a, &a->use_event);
	drop_event(a, &a->done_event);
	a->done_covers = 0;
}
