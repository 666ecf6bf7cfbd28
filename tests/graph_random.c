// SPDX-License-Identifier: BSD-2-Clause
/*
 * graph_random.c - random programs with graphs, for cuda_graph_test.c.
 *
 * Objects come and go on four streams, graphs are captured, launched on any of
 * them, and released; streams are held back, the policy changes, memory is
 * trimmed. Whatever has memory owns its bytes as launches.h says. It is correct
 * by construction: an object is used on one stream only, or by graphs from when
 * its stream was captured; a graph is released when the device is done.
 */
#include "tests/launches.h"
#include "tests/random.h"

#define LIMIT (192 * MIB)
#define NR_STREAMS (NR_LANES + 1)
#define NR_OBJECTS 120u
#define NR_GRAPHS 6u

struct object {
	void *p;
	size_t size;
	u32 owner;
	u32 home;		/* a stream; 0: the bound one */
};

/* A graph, and what it allocated that is live. */
struct life {
	bool exists;
	struct replay replay;
	u32 nr_live;
	struct object live[REPLAY_OBJECTS];
};

struct mix {
	struct launches l;
	u64 state;
	u64 step;
	bool held[NR_STREAMS];
	struct object object[NR_OBJECTS];
	struct life graph[NR_GRAPHS];
};

static u32 below(struct mix *m, u32 n)
{
	return random_below(&m->state, n);
}

static CUstream handle(struct mix *m, u32 stream)
{
	return stream ? m->l.s.lane[stream - 1] : m->l.s.bound;
}

static size_t any_size(struct mix *m)
{
	static const size_t sizes[] = { 256, 3000, 40000, 300000 };

	return below(m, 40) ? sizes[below(m, 4)] : 5 * MIB / 2;
}

/* ---- Streams -------------------------------------------------------- */

static void let_go_of(struct mix *m, u32 i)
{
	if (m->held[i])
		let_go(&m->l.s, handle(m, i));
	m->held[i] = false;
}

static void let_all_go(struct mix *m)
{
	for (u32 i = 0; i < NR_STREAMS; i++)
		let_go_of(m, i);
}

static void hold_or_let_go(struct mix *m)
{
	u32 i = below(m, NR_STREAMS);

	if (m->held[i]) {
		let_go_of(m, i);
		return;
	}
	hold(&m->l.s, handle(m, i));
	m->held[i] = true;
}

static void settle_all(struct mix *m)
{
	let_all_go(m);
	MUST(m->l.s.test, cuCtxSynchronize());
	if (strangers())
		kunit_info(m->l.s.test, "step %llu",
			   (unsigned long long)m->step);
	expect_no_stranger(m->l.s.test);
}

/* ---- Objects -------------------------------------------------------- */

static void *allocate(struct mix *m, size_t size, u32 home)
{
	void *p = home ? slabdev_alloc_async(m->l.s.sd, size, handle(m, home)) :
			 slabdev_alloc(m->l.s.sd, size);

	KUNIT_ASSERT_NOT_NULL_MSG(m->l.s.test, p, "step %llu: %s",
				  (unsigned long long)m->step,
				  slabdev_last_error());
	return p;
}

static void free_on(struct mix *m, struct object *o, u32 stream)
{
	int err = stream ? slabdev_free_async(m->l.s.sd, o->p,
					      handle(m, stream)) :
			   slabdev_free(m->l.s.sd, o->p);

	KUNIT_EXPECT_EQ_MSG(m->l.s.test, err, 0, "step %llu: %s",
			    (unsigned long long)m->step, slabdev_last_error());
	o->p = NULL;
}

static void begin_object(struct mix *m, struct object *o)
{
	*o = (struct object){ .size = any_size(m), .home = below(m, NR_STREAMS),
			      .owner = new_owner(&m->l) };
	o->p = allocate(m, o->size, o->home);
	own_on(&m->l, o->p, o->size, o->owner, handle(m, o->home));
}

/* One more kernel of it, or the last. */
static void touch(struct mix *m, struct object *o)
{
	if (!o->p) {
		begin_object(m, o);
		return;
	}
	check_on(&m->l, o->p, o->size, o->owner, handle(m, o->home));
	if (below(m, 2))
		free_on(m, o, o->home);
}

static struct object *any_object(struct mix *m)
{
	return &m->object[below(m, NR_OBJECTS)];
}

/* ---- Graphs --------------------------------------------------------- */

static void allocate_in(struct mix *m, struct life *g, u32 stream)
{
	struct object *o = &g->live[g->nr_live];

	*o = (struct object){ .size = any_size(m), .home = stream };
	o->p = allocate(m, o->size, stream);
	o->owner = g->replay.owner;
	replay_use(&g->replay, o->p, o->size, g->replay.stream);
	if (below(m, 3))
		free_on(m, o, stream);
	else
		g->nr_live++;
}

/* An object of the stream is the graph's from now on; or only its end. */
static void take_in(struct mix *m, struct life *g, u32 stream)
{
	struct object *o = any_object(m);

	if (!o->p || o->home != stream)
		return;
	replay_use(&g->replay, o->p, o->size, g->replay.stream);
	o->owner = g->replay.owner;
	if (below(m, 2)) {
		free_on(m, o, stream);
		return;
	}
	KUNIT_EXPECT_EQ(m->l.s.test, slabdev_use(m->l.s.sd, o->p,
						 g->replay.stream), 0);
	g->live[g->nr_live++] = *o;
	o->p = NULL;
}

/* Work on the stream that is captured would be the graph's. */
static void go_on_beside(struct mix *m, u32 captured)
{
	struct object *o = any_object(m);

	if (o->p && o->home != captured)
		touch(m, o);
}

static void capture(struct mix *m, struct life *g)
{
	u32 stream = 1 + below(m, NR_LANES);
	u32 n = 1 + below(m, REPLAY_OBJECTS - 2);

	*g = (struct life){ .exists = true };
	replay_begin(&g->replay, &m->l, handle(m, stream),
		     (CUstreamCaptureMode)below(m, 3), true);
	while (n--)
		switch (below(m, 4)) {
		case 0:
			take_in(m, g, stream);
			break;
		case 1:
			go_on_beside(m, stream);
			break;
		default:
			allocate_in(m, g, stream);
			break;
		}
	let_go_of(m, stream);
	replay_stop(&g->replay);
	/* Now, while others that are held may not be done with its memory. */
	cu.model_run();
	let_all_go(m);
	MUST(m->l.s.test, cuStreamSynchronize(g->replay.stream));
}

static void end_life(struct mix *m, struct life *g)
{
	settle_all(m);
	replay_release(&g->replay);
	while (g->nr_live--) {
		struct object *o = &g->live[g->nr_live];

		check_on(&m->l, o->p, o->size, o->owner, m->l.s.bound);
		free_on(m, o, 0);
	}
	g->exists = false;
}

static void graph_step(struct mix *m, struct life *g)
{
	if (!g->exists)
		capture(m, g);
	else if (!below(m, 12))
		end_life(m, g);
	else if (g->nr_live && !below(m, 4))
		/* On any stream: launches come all the same. */
		free_on(m, &g->live[--g->nr_live], below(m, NR_STREAMS));
	else
		replay_launch(&g->replay, handle(m, below(m, NR_STREAMS)));
}

/* ---- The space ------------------------------------------------------ */

static void change_policy(struct mix *m)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;

	policy.mode = SLABDEV_RETAIN + below(m, 3);
	policy.keep_bytes = below(m, 32 * MIB);
	policy.flags = below(m, 2) ? SLABDEV_POLICY_STREAM_WAITS : 0;
	let_all_go(m);
	KUNIT_EXPECT_EQ(m->l.s.test, slabdev_set_policy(m->l.s.sd, &policy),
			0);
}

static void rare_step(struct mix *m)
{
	switch (below(m, 4)) {
	case 0:
		change_policy(m);
		break;
	case 1:
		let_all_go(m);
		KUNIT_EXPECT_EQ(m->l.s.test, slabdev_trim(m->l.s.sd, 0), 0);
		break;
	case 2:
		KUNIT_EXPECT_EQ(m->l.s.test, slabdev_poll(m->l.s.sd), 0);
		break;
	default:
		settle_all(m);
		sums(&m->l.s);
		break;
	}
}

static void step(struct mix *m)
{
	m->step++;
	/* Whoever holds the streams must not have the library wait for them. */
	if (stats_of(m->l.s.test, m->l.s.sd).mapped > LIMIT / 4 * 3)
		let_all_go(m);
	if (!below(m, 20))
		hold_or_let_go(m);
	if (!below(m, 60))
		rare_step(m);
	if (!below(m, 6))
		graph_step(m, &m->graph[below(m, NR_GRAPHS)]);
	else
		touch(m, any_object(m));
}

static void finish(struct mix *m)
{
	settle_all(m);
	for (u32 i = 0; i < NR_GRAPHS; i++)
		if (m->graph[i].exists)
			end_life(m, &m->graph[i]);
	for (u32 i = 0; i < NR_OBJECTS; i++)
		if (m->object[i].p)
			free_on(m, &m->object[i], m->object[i].home);
	for (u32 i = 1; i < NR_STREAMS; i += 2)
		detach(&m->l.s, handle(m, i));
	launches_close(&m->l);
}

void graph_random(struct kunit *test, u64 steps)
{
	struct mix *m = kunit_kzalloc(test, sizeof(*m));

	m->state = random_seed(test);
	launches_open(&m->l, test, NULL, LIMIT);
	for (u32 i = 1; i < NR_STREAMS; i += 2)
		attach(&m->l.s, handle(m, i));
	while (m->step < steps)
		step(m);
	finish(m);
}
