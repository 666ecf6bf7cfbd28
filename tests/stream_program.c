// SPDX-License-Identifier: BSD-2-Clause
/* stream_program.c - see stream_program.h. */
#include <errno.h>
#include <string.h>

#include "core/overflow.h"
#include "tests/random.h"
#include "tests/stream_program.h"

#define WORD sizeof(u64)

/* ---- Kernels ----------------------------------------------------------- */

/* The distance of the places in an object: every word of a small one. */
static u64 stride_of(const struct program_kernel *k, u64 size)
{
	return max(WORD, size / k->program->driver->places / WORD * WORD);
}

static void note_wrong(const struct program_kernel *k, u64 at, u64 word)
{
	struct program *p = k->program;

	if (__atomic_fetch_add(&p->wrong, 1, __ATOMIC_RELAXED))
		return;
	p->first_wrong = *k;
	p->wrong_at = at;
	p->wrong_word = word;
}

static void access_word(const struct program_kernel *k, u64 at, u64 *word,
			bool writes)
{
	void *p = (void *)(uintptr_t)(k->addr + at);

	if (k->program->driver->access && !k->by_cpu)
		k->program->driver->access(k->addr + at, word, writes);
	else if (writes)
		memcpy(p, word, WORD);
	else
		memcpy(word, p, WORD);
}

static void look(const struct program_kernel *k)
{
	u64 step = stride_of(k, k->before_size), at, word = 0;

	for (at = 0; at + WORD <= k->before_bytes; at += step) {
		access_word(k, at, &word, false);
		if (word != k->before)
			note_wrong(k, at, word);
	}
}

static void leave(const struct program_kernel *k)
{
	u64 step = stride_of(k, k->size), at, word = k->after;

	for (at = 0; at + WORD <= k->size; at += step)
		access_word(k, at, &word, true);
}

void program_kernel_run(const struct program_kernel *k)
{
	if (k->before != ANYTHING)
		look(k);
	if (!k->reads)
		leave(k);
	__atomic_fetch_add(&k->program->done, 1, __ATOMIC_RELAXED);
}

static void submit(struct program *p, const struct program_kernel *what,
		   u32 stream)
{
	struct program_kernel *k = malloc(sizeof(*k));

	*k = *what;
	k->stream = stream;
	k->step = p->step;
	p->submitted++;
	p->driver->submit(p, k, stream);
}

static struct program_kernel kernel_on(struct program *p,
				       const struct object *o)
{
	return (struct program_kernel){
		.program = p,
		.addr = (u64)(uintptr_t)o->p,
		.size = o->size,
		.before = o->left,
		.before_size = o->left_size,
		.before_bytes = o->left_bytes,
	};
}

/* A kernel that writes, and what it leaves. */
static struct program_kernel writer_on(struct program *p, struct object *o)
{
	struct program_kernel k = kernel_on(p, o);

	k.after = ++p->next;
	o->left = k.after;
	o->left_size = o->left_bytes = o->size;
	return k;
}

void program_launch(struct program *p, struct object *o)
{
	struct program_kernel k = writer_on(p, o);

	submit(p, &k, o->home);
}

void program_touch(struct program *p, struct object *o)
{
	struct program_kernel k = writer_on(p, o);

	k.by_cpu = true;
	k.stream = o->home;
	k.step = p->step;
	p->submitted++;
	program_kernel_run(&k);
}

void program_launch_reader(struct program *p, const struct object *o,
			   u32 stream)
{
	struct program_kernel k = kernel_on(p, o);

	k.reads = true;
	submit(p, &k, stream);
}

void program_check(struct program *p)
{
	const struct program_kernel *k = &p->first_wrong;

	KUNIT_ASSERT_EQ_MSG(p->test, __atomic_load_n(&p->wrong,
						     __ATOMIC_RELAXED), 0,
			    "by step %llu: the kernel of step %llu in stream "
			    "%u found %llu instead of %llu at %llu of the %llu "
			    "bytes at 0x%llx", (unsigned long long)p->step,
			    (unsigned long long)k->step, k->stream,
			    (unsigned long long)p->wrong_word,
			    (unsigned long long)k->before,
			    (unsigned long long)p->wrong_at,
			    (unsigned long long)k->size,
			    (unsigned long long)k->addr);
}

/* ---- Streams ----------------------------------------------------------- */

u32 program_any_stream(struct program *p)
{
	u32 i = random_below(&p->random, p->nr_streams);

	return p->stream[i].capturing ? 0 : i;
}

void program_stream_begin(struct program *p, u32 i, bool attach)
{
	struct program_stream *st = &p->stream[i];

	*st = (struct program_stream){ 0 };
	p->driver->begin(p, i);
	st->attached = attach;
	if (attach)
		KUNIT_ASSERT_EQ(p->test,
				slabdev_stream_attach(p->sd, st->handle), 0);
}

void program_stream_detach(struct program *p, u32 i)
{
	struct program_stream *st = &p->stream[i];
	int err = slabdev_stream_detach(p->sd, st->handle);

	/* No event could be had: nothing has changed. */
	while (err && err != -EINVAL && p->failing)
		err = slabdev_stream_detach(p->sd, st->handle);
	/* One that was neither attached nor told of is not known. */
	KUNIT_EXPECT_TRUE_MSG(p->test,
			      !err || (!st->attached && err == -EINVAL),
			      "step %llu: %d: %s", (unsigned long long)p->step,
			      err, slabdev_last_error());
	st->attached = false;
}

void program_stream_end(struct program *p, u32 i)
{
	program_stream_detach(p, i);
	p->driver->end(p, i);
	p->stream[i].handle = NULL;
}

void program_order(struct program *p, u32 before, u32 after)
{
	if (before != after)
		p->driver->order(p, before, after);
}

void program_run_all(struct program *p)
{
	p->driver->run_all(p);
}

void program_free(struct program *p, void *addr, u32 stream)
{
	int err;

	do
		err = stream ? slabdev_free_async(p->sd, addr,
						  p->stream[stream].handle) :
			       slabdev_free(p->sd, addr);
	while (err && p->failing);
	KUNIT_ASSERT_EQ_MSG(p->test, err, 0, "step %llu: %s",
			    (unsigned long long)p->step, slabdev_last_error());
}

/* ---- Graphs ------------------------------------------------------------ */

static void capture_begin(struct program *p)
{
	struct program_graph *g = &p->graph;
	u32 i = 1 + random_below(&p->random, p->nr_streams - 1);
	int err;

	/* The legacy stream cannot be; beside it a thread's own cannot. */
	if (p->stream[i].is_default)
		return;
	*g = (struct program_graph){ .stream = i };
	err = slabdev_capture_begin(p->sd, p->stream[i].handle, &g->graph);
	if (err && p->failing)
		return;
	KUNIT_ASSERT_EQ_MSG(p->test, err, 0, "%s", slabdev_last_error());
	p->stream[i].capturing = true;
	g->state = GRAPH_CAPTURES;
	if (p->driver->capture_begin)
		p->driver->capture_begin(p, i);
}

/* The kernel is in the graph, not in the stream. */
static void record(struct program *p, struct graph_object *at)
{
	struct program_graph *g = &p->graph;

	struct program_kernel *k = &g->kernel[g->nr_kernels];

	g->again[g->nr_kernels++] = ANYTHING;
	*k = writer_on(p, &at->o);
	if (p->driver->record)
		p->driver->record(p, k, g->stream);
}

static void record_object(struct program *p, const struct object *o, bool used)
{
	struct program_graph *g = &p->graph;
	struct graph_object *at = &g->object[g->nr_objects++];

	*at = (struct graph_object){
		.o = *o, .addr = (u64)(uintptr_t)o->p,
		.first = g->nr_kernels, .used = used,
	};
	at->o.left = ANYTHING;
	record(p, at);
}

static void capture_alloc(struct program *p)
{
	struct program_graph *g = &p->graph;
	slabdev_stream_t queue = p->stream[g->stream].handle;
	struct object o = { .size = random_size(&p->random, 32 * KIB) };

	if (!random_below(&p->random, 8))
		o.size = MIB + random_below(&p->random, MIB);
	o.p = slabdev_alloc_async(p->sd, o.size, queue);
	if (o.p)
		record_object(p, &o, false);
}

static void capture_free(struct program *p, struct graph_object *at)
{
	if (at->used)
		return;
	program_free(p, at->o.p, p->graph.stream);
	at->o.p = NULL;
}

/* Did the capture have the memory twice? */
static bool is_reused(const struct program_graph *g,
		      const struct graph_object *at)
{
	const struct graph_object *other;

	for (other = g->object; other < g->object + g->nr_objects; other++)
		if (other != at && other->addr < at->addr + at->o.size &&
		    at->addr < other->addr + other->o.size)
			return true;
	return false;
}

/* What is left looks at the next replay as at the end of the one before. */
static void capture_end(struct program *p)
{
	struct program_graph *g = &p->graph;
	struct graph_object *at;
	u32 i;

	if (p->driver->capture_end)
		p->driver->capture_end(p, g->stream);
	KUNIT_ASSERT_EQ(p->test, slabdev_capture_end(g->graph), 0);
	p->stream[g->stream].capturing = false;
	g->state = GRAPH_READY;
	for (i = 0; i < g->nr_objects; i++) {
		at = &g->object[i];
		if (!at->o.p)
			continue;
		if (!is_reused(g, at))
			g->again[at->first] = at->o.left;
		if (at->used) {
			program_free(p, at->o.p, at->o.home);
			at->o.p = NULL;
		}
	}
}

static void capture_step(struct program *p)
{
	struct program_graph *g = &p->graph;
	struct graph_object *at;

	if (g->nr_kernels == GRAPH_KERNELS ||
	    !random_below(&p->random, GRAPH_KERNELS)) {
		capture_end(p);
		return;
	}
	if (!g->nr_objects || (g->nr_objects < GRAPH_OBJECTS &&
			       !random_below(&p->random, 2))) {
		capture_alloc(p);
		return;
	}
	at = &g->object[random_below(&p->random, g->nr_objects)];
	if (!at->o.p)
		return;
	if (random_below(&p->random, 3))
		record(p, at);
	else
		capture_free(p, at);
}

/* The first replay comes after whatever was done to the objects before. */
static void replay(struct program *p)
{
	struct program_graph *g = &p->graph;
	u32 to = program_any_stream(p), i;
	struct program_kernel k;

	if (!to)
		return;
	for (i = 0; i < p->nr_streams && !g->replays; i++)
		program_order(p, i, to);
	program_order(p, g->stream, to);
	for (i = 0; i < g->nr_kernels; i++) {
		k = g->kernel[i];
		if (g->replays && k.before == ANYTHING && g->again[i] !=
		    ANYTHING) {
			k.before = g->again[i];
			k.before_size = k.before_bytes = k.size;
		}
		submit(p, &k, to);
	}
	g->stream = to;
	g->replays++;
}

/* It is still the graph's, until that is released. */
static void free_one(struct program *p)
{
	struct program_graph *g = &p->graph;
	struct graph_object *at;

	if (!g->nr_objects)
		return;
	at = &g->object[random_below(&p->random, g->nr_objects)];
	if (!at->o.p)
		return;
	program_free(p, at->o.p, program_any_stream(p));
	at->o.p = NULL;
}

static void release(struct program *p)
{
	struct program_graph *g = &p->graph;
	u32 i;

	program_run_all(p);
	KUNIT_ASSERT_EQ(p->test, slabdev_graph_release(g->graph), 0);
	for (i = 0; i < g->nr_objects; i++)
		if (g->object[i].o.p)
			program_free(p, g->object[i].o.p, 0);
	g->state = GRAPH_NONE;
}

void program_graph_step(struct program *p)
{
	switch (p->graph.state) {
	case GRAPH_NONE:
		capture_begin(p);
		break;
	case GRAPH_CAPTURES:
		capture_step(p);
		break;
	case GRAPH_READY:
		if (!random_below(&p->random, 12))
			release(p);
		else if (!random_below(&p->random, 6))
			free_one(p);
		else
			replay(p);
		break;
	}
}

void program_graph_end(struct program *p)
{
	if (p->graph.state == GRAPH_CAPTURES)
		capture_end(p);
	if (p->graph.state == GRAPH_READY)
		release(p);
}

bool program_graph_use(struct program *p, struct object *o)
{
	struct program_graph *g = &p->graph;
	int err;

	if (g->state != GRAPH_CAPTURES || g->nr_objects == GRAPH_OBJECTS ||
	    g->nr_kernels == GRAPH_KERNELS)
		return false;
	/* Its home may be gone by then; the CPU is never. */
	program_order(p, o->home, 0);
	o->home = 0;
	err = slabdev_use(p->sd, o->p, p->stream[g->stream].handle);
	KUNIT_ASSERT_EQ_MSG(p->test, err, 0, "%s", slabdev_last_error());
	record_object(p, o, true);
	return true;
}
