// SPDX-License-Identifier: BSD-2-Clause
/*
 * replay.c - traces, loop after loop, and what each loop took: see retention.h.
 *
 * The events of all traces are one list, with a slot for each object. What a
 * loop leaves live is freed at its end, as if the trace had said so; or, with
 * --carry, spread over the next loop, as a sweep replaces what the last one
 * left, tensor by tensor.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/gpu/retention.h"
#include "tools/lib/ids.h"
#include "tools/lib/memory.h"
#include "tools/lib/trace.h"

struct op {
	u64 bytes;		/* 0: free */
	u32 slot;
};

struct object {
	CUdeviceptr ptr;	/* 0: none */
	u64 bytes;
};

/* What one loop did. */
struct row {
	u64 allocs, failed, calls, ns;
	u64 live, taken, back;
};

struct replay {
	const struct setup *setup;
	struct op *op;
	size_t nr_ops;
	struct object *object;	/* by slot */
	struct object *old;	/* of the loop before, from old[next_old] */
	size_t nr_slots, nr_old, next_old;
	u64 live, taken;
	struct row row;
};

/* ---- Traces ---------------------------------------------------------- */

static int add_event(struct replay *r, struct ids *ids, const struct trace *t,
		     const struct event *e, u32 first_slot)
{
	const struct live_id *known = ids_find(ids, e->id);
	struct op op = { e->bytes, 0 };

	if (!known == e->is_free || (!e->is_free && !e->bytes))
		return trace_error(t, "not an event that makes sense here");
	if (e->is_free) {
		op.slot = first_slot + known->slot;
		ids_remove(ids, e->id);
	} else {
		op.slot = first_slot +
			  ids_add(ids, e->id, e->bytes, t->line);
	}
	if (op.slot >= r->nr_slots)
		r->nr_slots = op.slot + 1;
	r->op = grow_array(r->op, r->nr_ops, sizeof(*r->op));
	r->op[r->nr_ops++] = op;
	return 0;
}

static int read_trace(struct replay *r, const char *path)
{
	u32 first_slot = (u32)r->nr_slots;
	struct trace t;
	struct event e;
	struct ids ids;
	int err = trace_open(&t, path);

	if (err)
		return err;
	ids_init(&ids);
	while (!err && (err = trace_next(&t, &e)) > 0)
		err = add_event(r, &ids, &t, &e, first_slot);
	ids_fini(&ids);
	trace_close(&t);
	return err;
}

/* ---- A loop ------------------------------------------------------------ */

static void look(struct replay *r)
{
	u64 taken = r->setup->way->taken();

	if (taken < r->taken)
		r->row.back += r->taken - taken;
	if (taken > r->row.taken)
		r->row.taken = taken;
	r->taken = taken;
}

static void get(struct replay *r, struct object *o, u64 bytes)
{
	u64 start = gpu_clock_ns();

	o->ptr = r->setup->way->alloc(bytes, NULL);
	o->bytes = bytes;
	r->row.ns += gpu_clock_ns() - start;
	r->row.allocs++;
	if (!o->ptr) {
		r->row.failed++;
		return;
	}
	r->live += bytes;
	if (r->live > r->row.live)
		r->row.live = r->live;
	look(r);
}

static void put(struct replay *r, struct object *o)
{
	u64 start = gpu_clock_ns();

	if (!o->ptr)
		return;
	r->setup->way->release(o->ptr, NULL);
	r->row.ns += gpu_clock_ns() - start;
	r->live -= o->bytes;
	o->ptr = 0;
	look(r);
}

static void rest(struct replay *r)
{
	u64 start = gpu_clock_ns();

	r->setup->way->pause();
	r->row.ns += gpu_clock_ns() - start;
	look(r);
}

/* Of the @nr_old objects of the last loop, those that are due at event @i. */
static void put_old(struct replay *r, size_t i)
{
	while (r->next_old < r->nr_old &&
	       r->next_old * r->nr_ops <= i * r->nr_old)
		put(r, &r->old[r->next_old++]);
}

/* What is live becomes old, or is freed. */
static void end_loop(struct replay *r)
{
	put_old(r, r->nr_ops);
	r->nr_old = r->next_old = 0;
	for (size_t i = 0; i < r->nr_slots; i++) {
		if (!r->object[i].ptr)
			continue;
		if (r->setup->carry)
			r->old[r->nr_old++] = r->object[i];
		else
			put(r, &r->object[i]);
		r->object[i].ptr = 0;
	}
	rest(r);
}

static u64 scale_of(const struct setup *s, u64 loop)
{
	return s->scale[loop < s->nr_scales ? loop : s->nr_scales - 1];
}

static void change_policy(struct replay *r, u64 loop)
{
	const struct setup *s = r->setup;
	u64 start = gpu_clock_ns();

	if (!loop || setup_policy(s, loop) == setup_policy(s, loop - 1))
		return;
	way_set_policy(s, loop);
	r->row.ns += gpu_clock_ns() - start;
	look(r);
}

static void play(struct replay *r, u64 scale)
{
	u64 pause = r->setup->pause, most = UINT64_MAX / scale;

	for (size_t i = 0; i < r->nr_ops; i++) {
		const struct op *op = &r->op[i];

		put_old(r, i);
		if (op->bytes)
			get(r, &r->object[op->slot], op->bytes > most ?
			    UINT64_MAX : op->bytes * scale);
		else
			put(r, &r->object[op->slot]);
		if (pause && !((i + 1) % pause))
			rest(r);
	}
	end_loop(r);
}

/* ---- All of them ------------------------------------------------------- */

static void print_row(const struct replay *r, u64 loop, u64 scale)
{
	const struct row *w = &r->row;

	printf("%llu,%llu,%llu,%llu,%llu,%.1f,%llu,%llu,%llu\n",
	       (unsigned long long)loop, (unsigned long long)scale,
	       (unsigned long long)w->allocs, (unsigned long long)w->failed,
	       (unsigned long long)w->calls, (double)w->ns / 1e3,
	       (unsigned long long)w->live, (unsigned long long)w->taken,
	       (unsigned long long)w->back);
}

/* Loop 0 opens the way and primes it; the last one is followed by the end. */
static int play_all(struct replay *r)
{
	const struct setup *s = r->setup;
	u64 calls = way_driver_calls(), start = gpu_clock_ns(), loop;

	puts("loop,scale,allocs,failed,calls,us,live,taken,back");
	if (s->way->open(s))
		return -1;
	r->row.ns = gpu_clock_ns() - start;
	look(r);
	for (loop = 0; loop <= s->nr_loops; loop++) {
		u64 scale = loop ? scale_of(s, loop - 1) : 0;

		if (loop) {
			r->row = (struct row){ .taken = r->taken,
					       .live = r->live };
			calls = way_driver_calls();
			change_policy(r, loop - 1);
			play(r, scale);
		}
		r->row.calls = way_driver_calls() - calls;
		print_row(r, loop, scale);
	}
	put_old(r, r->nr_ops);
	s->way->close();
	return 0;
}

int replay_measure(const struct setup *s)
{
	struct replay r = { .setup = s };
	int err = 0;

	for (unsigned int i = 0; !err && i < s->nr_paths; i++)
		err = read_trace(&r, s->path[i]);
	if (!err && !r.nr_ops) {
		fputs("retention: the traces have no event\n", stderr);
		err = -1;
	}
	if (!err) {
		r.object = zalloc(r.nr_slots * sizeof(*r.object));
		r.old = zalloc(r.nr_slots * sizeof(*r.old));
		err = play_all(&r);
	}
	free(r.op);
	free(r.object);
	free(r.old);
	return err;
}
