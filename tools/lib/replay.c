// SPDX-License-Identifier: BSD-2-Clause
/*
 * replay.c - makes the calls of a trace again, and measures them.
 */
#include "replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "memory.h"
#include "trace.h"

/* No system has smaller pages. */
#define PAGE_BYTES 4096

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int library_error(const char *call)
{
	fprintf(stderr, "slabreplay: %s: %s\n", call, slabdev_last_error());
	return -EIO;
}

/* ---- A block is read -------------------------------------------------- */

static int add_alloc(struct replay *r, const struct trace *t,
		     const struct event *e)
{
	const struct live_id *known = ids_find(&r->ids, e->id);
	uint32_t slot;

	if (known)
		return trace_error(t, "id %" PRIu64 " is allocated again: it "
				   "is live since line %" PRIu64, e->id,
				   known->line);
	if (r->ids.nr == UINT32_MAX)
		return trace_error(t, "more than %" PRIu32 " objects are live",
				   UINT32_MAX);
	slot = ids_add(&r->ids, e->id, e->bytes, t->line);
	if (slot == r->nr_objects) {
		r->object = grow_array(r->object, slot, sizeof(*r->object));
		r->object[r->nr_objects++] = NULL;
	}
	r->call[r->nr_calls++] = (struct call){ .bytes = e->bytes,
						.slot = slot };
	return 0;
}

/* Was an allocation of @id in the trace before where @t is? */
static bool was_allocated(const struct trace *t, uint64_t id)
{
	struct trace again;
	struct event e;
	bool found = false;

	if (trace_open(&again, t->path))
		return false;
	while (!found && again.line + 1 < t->line &&
	       trace_next(&again, &e) > 0)
		found = !e.is_free && e.id == id;
	trace_close(&again);
	return found;
}

/* To remember every id that was freed would take memory without bound. */
static int free_error(const struct trace *t, uint64_t id)
{
	if (!trace_is_regular(t))
		return trace_error(t, "id %" PRIu64 " is freed but not live",
				   id);
	if (was_allocated(t, id))
		return trace_error(t, "id %" PRIu64 " is freed twice", id);
	return trace_error(t, "id %" PRIu64 " is freed but was never "
			   "allocated", id);
}

static int add_free(struct replay *r, const struct trace *t,
		    const struct event *e)
{
	const struct live_id *known = ids_find(&r->ids, e->id);

	if (!known)
		return free_error(t, e->id);
	r->call[r->nr_calls++] = (struct call){ .bytes = known->bytes,
						.slot = known->slot,
						.is_free = true };
	ids_remove(&r->ids, e->id);
	return 0;
}

/* 0, also at the end of the trace: then the block is not full. */
static int read_block(struct replay *r, struct trace *t)
{
	struct event e;
	int got = 1, err = 0;

	r->nr_calls = 0;
	while (!err && r->nr_calls < REPLAY_BLOCK) {
		got = trace_next(t, &e);
		if (got <= 0)
			return got;
		err = e.is_free ? add_free(r, t, &e) : add_alloc(r, t, &e);
	}
	return err;
}

/* ---- A block is played ------------------------------------------------ */

static void touch(char *p, uint64_t bytes)
{
	uint64_t at;

	for (at = 0; at < bytes; at += PAGE_BYTES)
		((volatile char *)p)[at] = 1;
}

/* What failed to be allocated is noted by 0 bytes, in its free as well. */
static int make_calls(struct replay *r)
{
	const struct call *end = r->call + r->nr_calls;
	struct call *c;
	int err = 0;

	for (c = r->call; c < end; c++) {
		void **p = &r->object[c->slot];

		if (c->is_free) {
			if (!*p)
				c->bytes = 0;
			err |= slabdev_free(r->sd, *p);
			*p = NULL;
			continue;
		}
		*p = slabdev_alloc(r->sd, c->bytes);
		if (!*p)
			c->bytes = 0;
		else if (r->touch)
			touch(*p, c->bytes);
	}
	return err;
}

/* Return the most bytes that were live meanwhile. */
static uint64_t count_calls(struct replay *r)
{
	const struct call *c, *end = r->call + r->nr_calls;
	struct stretch *s = r->now;
	uint64_t most = r->live;

	for (c = r->call; c < end; c++) {
		if (c->is_free) {
			s->frees++;
			r->live -= c->bytes;
			continue;
		}
		s->allocs++;
		s->failed += !c->bytes;
		r->live += c->bytes;
		if (r->live > most)
			most = r->live;
	}
	if (most > s->peak_live)
		s->peak_live = most;
	return most;
}

/* Add what happened in the space since the last look at it. */
static int look(struct replay *r, uint64_t most_live)
{
	struct slabdev_stats st;
	struct stretch *s = r->now;
	uint64_t mapped;

	if (slabdev_stats(r->sd, &st, sizeof(st)))
		return library_error("slabdev_stats");
	mapped = st.peak_mapped > r->seen.peak_mapped ? st.peak_mapped :
							st.mapped;
	if (mapped > s->peak_mapped)
		s->peak_mapped = mapped;
	s->backend_calls += st.backend_calls - r->seen.backend_calls;
	s->refills += st.refills - r->seen.refills;
	s->flushes += st.flushes - r->seen.flushes;
	r->seen = st;
	series_add(r->drawing, (struct point){ most_live, mapped });
	return 0;
}

static int play_block(struct replay *r)
{
	uint64_t start = now_ns();

	if (make_calls(r))
		return library_error("slabdev_free");
	r->now->ns += now_ns() - start;
	return look(r, count_calls(r));
}

/* Free all that the trace left live, as if it had said so. */
static int play_end(struct replay *r)
{
	uint64_t start, live = r->live, freed = 0;
	size_t i;
	int err = 0;

	start = now_ns();
	for (i = 0; i < r->nr_objects; i++) {
		if (!r->object[i])
			continue;
		err |= slabdev_free(r->sd, r->object[i]);
		r->object[i] = NULL;
		freed++;
	}
	if (err)
		return library_error("slabdev_free");
	r->now->ns += now_ns() - start;
	r->now->frees += freed;
	r->live = 0;
	r->nr_objects = 0;
	ids_clear(&r->ids);
	return freed ? look(r, live) : 0;
}

/* ---- A trace, a loop, all of them ------------------------------------- */

static int play_trace(struct replay *r, const char *path)
{
	uint64_t before = stretch_events(r->now);
	struct trace t;
	int err;

	err = trace_open(&t, path);
	if (err)
		return err;
	do {
		err = read_block(r, &t);
		if (!err && r->nr_calls)
			err = play_block(r);
	} while (!err && r->nr_calls == REPLAY_BLOCK);
	if (!err && stretch_events(r->now) == before)
		err = trace_error(&t, "the trace has no event");
	trace_close(&t);
	return err ? err : play_end(r);
}

static int play_loop(struct replay *r, char *const *paths, size_t nr,
		     uint64_t loop)
{
	size_t i;
	int err = 0;

	r->now = loop ? &r->later : &r->first;
	r->now->loops++;
	r->drawing = &r->drawn[loop > 0];
	series_clear(r->drawing);
	for (i = 0; !err && i < nr; i++)
		err = play_trace(r, paths[i]);
	return err;
}

int replay_run(struct replay *r, struct slabdev *sd, char *const *paths,
	       size_t nr, uint64_t loops, bool touch_pages)
{
	uint64_t loop;
	int err = 0;

	*r = (struct replay){ .sd = sd, .touch = touch_pages };
	ids_init(&r->ids);
	/* Opening the space has made calls, too. */
	if (slabdev_stats(sd, &r->seen, sizeof(r->seen)))
		return library_error("slabdev_stats");
	for (loop = 0; !err && loop < loops; loop++)
		err = play_loop(r, paths, nr, loop);
	return err;
}

void replay_fini(struct replay *r)
{
	ids_fini(&r->ids);
	free(r->object);
}
