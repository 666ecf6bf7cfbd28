// SPDX-License-Identifier: BSD-2-Clause
/*
 * hazard_random.c - random programs of streams, with a race or without.
 *
 * What comes before what is kept here as sets of numbered steps, the other way
 * round than the engine does it: each stream has the set of all steps that come
 * before its next one. A program adds the order that a step needs, in one of
 * the ways that there are, before the step; so it is correct. One that is to
 * have a race leaves that out once, where the sets say that it matters.
 *
 * Programs run twice over: against the engine alone, with objects at addresses
 * that nobody has, and in a space with host queues, by the public calls.
 */
#include <slabdev/slabdev.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/log.h"
#include "slab/hazard.h"
#include "tests/random.h"

#define STEPS 200u
#define STREAMS 5u		/* 0 is the CPU */
#define OBJECTS 4u
#define EVENTS 6u
#define TOUCHES 64u
#define PROGRAMS 1000u
#define PROGRAMS_IN_SPACE 200u
#define SIZE UINT64_C(4096)
#define SIZE_MAX_IN_SPACE (3 * MIB)

struct steps {
	u64 bits[STEPS * 4 / 64];
};

struct touch {
	u32 stream, step;
};

struct object {
	bool live;
	void *p;		/* in a space */
	u64 size;
	struct touch alloc;
	u32 nr;
	struct touch touch[TOUCHES];
	bool used[STREAMS];
};

struct program {
	struct kunit *test;
	struct slabdev *sd;	/* NULL: the engine alone */
	const slabdev_stream_t *queue;
	u64 state;
	u32 nr_steps;
	struct steps before[STREAMS];
	struct steps event[EVENTS];
	struct object object[OBJECTS];
	u32 race_at;		/* the chance that is not taken; 0: none */
	u32 chances;
	/* The race, once it is there. */
	bool planted;
	u32 object_nr, early, late;
	bool at_access;
};

static const char space_name[] = "random";

static u32 below(struct program *p, u32 n)
{
	return random_below(&p->state, n);
}

/* ---- Sets ---------------------------------------------------------------- */

static bool has(const struct steps *s, u32 step)
{
	return s->bits[step / 64] >> step % 64 & 1;
}

static void add(struct steps *s, u32 step)
{
	s->bits[step / 64] |= (u64)1 << step % 64;
}

static void add_all(struct steps *s, const struct steps *other)
{
	for (u32 i = 0; i < ARRAY_SIZE(s->bits); i++)
		s->bits[i] |= other->bits[i];
}

/* ---- Steps --------------------------------------------------------------- */

static slabdev_stream_t handle(const struct program *p, u32 stream)
{
	if (!stream)
		return SLABDEV_HAZARD_HOST;
	return p->sd ? p->queue[stream] :
		       (slabdev_stream_t)(uintptr_t)(0xa00 + stream);
}

static u64 address(const struct program *p, u32 object)
{
	return p->sd ? (u64)(uintptr_t)p->object[object].p :
		       (object + 1) * SIZE * 16;
}

static struct hazard_call by(const struct program *p, u32 stream)
{
	return (struct hazard_call){
		.space = space_name,
		.name = space_name,
		.stream = handle(p, stream),
		.site = __builtin_return_address(0),
	};
}

/* A new step of the stream, which the CPU submits. */
static u32 step(struct program *p, u32 stream)
{
	u32 nr = p->nr_steps++;

	add_all(&p->before[stream], &p->before[0]);
	add(&p->before[stream], nr);
	return nr;
}

static void record(struct program *p, u32 stream, u32 event)
{
	if (p->sd)
		slabdev_hazard_record(event, handle(p, stream));
	else
		hazard_record(event, handle(p, stream));
	(void)step(p, stream);
	p->event[event] = p->before[stream];
}

static void wait_for(struct program *p, u32 stream, u32 event)
{
	if (p->sd)
		slabdev_hazard_wait(handle(p, stream), event);
	else
		hazard_wait(handle(p, stream), event);
	(void)step(p, stream);
	add_all(&p->before[stream], &p->event[event]);
}

static void synchronize(struct program *p, u32 stream)
{
	if (p->sd && stream)
		KUNIT_EXPECT_EQ(p->test, slabdev_queue_synchronize(
				p->queue[stream]), 0);
	else
		hazard_sync(handle(p, stream));
	(void)step(p, stream);
	if (stream)
		add_all(&p->before[0], &p->before[stream]);
	else
		for (u32 i = 1; i < STREAMS; i++)
			add_all(&p->before[0], &p->before[i]);
}

static void queue_after(struct program *p, u32 late, u32 early)
{
	KUNIT_EXPECT_EQ(p->test, slabdev_queue_wait(p->queue[late],
						    p->queue[early]), 0);
	(void)step(p, early);
	(void)step(p, late);
	add_all(&p->before[late], &p->before[early]);
}

/* @late comes after what is in @early now, somehow. */
static void order(struct program *p, u32 late, u32 early)
{
	u32 event = below(p, EVENTS);

	if (early && !below(p, 4)) {
		synchronize(p, early);
		return;
	}
	if (p->sd && early && late && below(p, 2)) {
		queue_after(p, late, early);
		return;
	}
	record(p, early, event);
	wait_for(p, late, event);
}

/* ---- What a step needs --------------------------------------------------- */

/* The CPU's own steps come before whatever it submits. */
static bool comes_before(const struct program *p, const struct touch *t,
			 u32 stream)
{
	return has(&p->before[stream], t->step) || has(&p->before[0], t->step);
}

/* At a free: or before what a used stream has. */
static bool is_over(const struct program *p, const struct object *o,
		    const struct touch *t, u32 stream)
{
	if (comes_before(p, t, stream))
		return true;
	for (u32 i = 0; i < STREAMS; i++)
		if (o->used[i] && has(&p->before[i], t->step))
			return true;
	return false;
}

/* Is this where the program goes wrong? */
static bool is_planted(struct program *p, u32 object, const struct touch *t,
		       u32 stream, bool at_access)
{
	p->chances++;
	if (p->planted || !p->race_at || p->chances < p->race_at)
		return false;
	p->planted = true;
	p->object_nr = object;
	p->early = t->stream;
	p->late = stream;
	p->at_access = at_access;
	return true;
}

static void expect_race(struct program *p, int found)
{
	char text[64];

	KUNIT_EXPECT_EQ(p->test, found, 1);
	snprintf(text, sizeof(text), "object %#llx of",
		 (unsigned long long)address(p, p->object_nr));
	KUNIT_EXPECT_REPORT_HAS(p->test, text);
	KUNIT_EXPECT_REPORT_HAS(p->test, p->at_access ?
				"behind the allocation" : "may still use it");
	if (p->early && p->late) {
		snprintf(text, sizeof(text), "order stream %p behind stream %p",
			 (void *)handle(p, p->late),
			 (void *)handle(p, p->early));
		KUNIT_EXPECT_REPORT_HAS(p->test, text);
	} else if (!p->late) {
		snprintf(text, sizeof(text), "order the CPU behind stream %p",
			 (void *)handle(p, p->early));
		KUNIT_EXPECT_REPORT_HAS(p->test, text);
	}
}

static void judge(struct program *p, bool race, int found)
{
	if (race)
		expect_race(p, found);
	else
		KUNIT_EXPECT_EQ(p->test, found, 0);
}

/* ---- By the engine, or by the space -------------------------------------- */

static void do_alloc(struct program *p, struct object *o, u32 object,
		     u32 stream)
{
	struct hazard_call call = by(p, stream);

	o->size = SIZE;
	if (!p->sd) {
		hazard_alloc(&call, address(p, object), SIZE);
		return;
	}
	o->size = random_size(&p->state, SIZE_MAX_IN_SPACE);
	o->p = stream ? slabdev_alloc_async(p->sd, o->size, p->queue[stream]) :
			slabdev_alloc(p->sd, o->size);
	KUNIT_ASSERT_NOT_NULL_MSG(p->test, o->p, "%s", slabdev_last_error());
}

static int do_access(struct program *p, u32 object, u32 stream)
{
	u64 at = address(p, object) + below(p, (u32)p->object[object].size);
	struct hazard_call call = by(p, stream);

	return p->sd ? slabdev_hazard_access(p->sd, (void *)(uintptr_t)at,
					     call.stream) :
		       hazard_access(&call, at);
}

static void do_use(struct program *p, u32 object, u32 stream)
{
	struct hazard_call call = by(p, stream);

	if (p->sd)
		KUNIT_EXPECT_EQ(p->test, slabdev_use(p->sd, p->object[object].p,
						     p->queue[stream]), 0);
	else
		hazard_use(&call, address(p, object));
}

/* The same as of hazard_free(): was a hazard reported? */
static int do_free(struct program *p, u32 object, u32 stream)
{
	unsigned int before = kunit_report_count(p->test, REPORT_HAZARD);
	struct hazard_call call = by(p, stream);
	void *at = p->object[object].p;

	if (!p->sd)
		return hazard_free(&call, address(p, object));
	KUNIT_EXPECT_EQ(p->test, stream ? slabdev_free_async(p->sd, at,
							     p->queue[stream]) :
					  slabdev_free(p->sd, at), 0);
	return (int)(kunit_report_count(p->test, REPORT_HAZARD) - before);
}

/* ---- Allocate, access, free ---------------------------------------------- */

static void allocate(struct program *p, u32 object, u32 stream)
{
	struct object *o = &p->object[object];

	*o = (struct object){ .live = true };
	do_alloc(p, o, object, stream);
	o->alloc = (struct touch){ stream, step(p, stream) };
}

static void access_object(struct program *p, u32 object, u32 stream)
{
	struct object *o = &p->object[object];
	bool race = false;

	if (o->nr == TOUCHES)
		return;
	if (!comes_before(p, &o->alloc, stream)) {
		race = is_planted(p, object, &o->alloc, stream, true);
		if (!race)
			order(p, stream, o->alloc.stream);
	}
	if (race)
		kunit_expect_report(p->test, REPORT_HAZARD);
	judge(p, race, do_access(p, object, stream));
	o->touch[o->nr++] = (struct touch){ stream, step(p, stream) };
}

static void protect(struct program *p, u32 object, const struct touch *t,
		    u32 stream)
{
	struct object *o = &p->object[object];

	if (is_over(p, o, t, stream))
		return;
	if (!t->stream || below(p, 3)) {
		order(p, stream, t->stream);
		return;
	}
	do_use(p, object, t->stream);
	o->used[t->stream] = true;
}

/* One access that the free does not come after, the rest are protected. */
static bool plant_at_free(struct program *p, u32 object, u32 stream)
{
	struct object *o = &p->object[object];
	u32 n = below(p, o->nr ? o->nr : 1), i;
	const struct touch *t = &o->touch[n];

	for (i = 0; i < o->nr; i++)
		if (o->touch[i].stream != t->stream)
			protect(p, object, &o->touch[i], stream);
	if (n >= o->nr || is_over(p, o, t, stream))
		return false;
	return is_planted(p, object, t, stream, false);
}

static void free_object(struct program *p, u32 object, u32 stream)
{
	struct object *o = &p->object[object];
	bool race = plant_at_free(p, object, stream);

	for (u32 i = 0; !race && i < o->nr; i++)
		protect(p, object, &o->touch[i], stream);
	if (!race)
		protect(p, object, &o->alloc, stream);
	if (race)
		kunit_expect_report(p->test, REPORT_HAZARD);
	judge(p, race, do_free(p, object, stream));
	(void)step(p, stream);
	o->live = false;
}

static void any_step(struct program *p)
{
	u32 object = below(p, OBJECTS), stream = below(p, STREAMS);

	switch (below(p, 10)) {
	case 0:
		record(p, stream, below(p, EVENTS));
		break;
	case 1:
		wait_for(p, stream, below(p, EVENTS));
		break;
	case 2:
		if (!below(p, 8))
			synchronize(p, stream);
		break;
	default:
		if (!p->object[object].live)
			allocate(p, object, stream);
		else if (below(p, 4))
			access_object(p, object, stream);
		else
			free_object(p, object, stream);
	}
}

/* What is left of it in the space, when everything is done. */
static void clean_up(struct program *p)
{
	u32 i;

	for (i = 1; i < STREAMS; i++)
		KUNIT_EXPECT_EQ(p->test,
				slabdev_queue_synchronize(p->queue[i]), 0);
	for (i = 0; i < OBJECTS; i++)
		if (p->object[i].live)
			KUNIT_EXPECT_EQ(p->test, do_free(p, i, 0), 0);
}

/* True: it has the race that it was to have. */
static bool run_program(struct program *p, u64 seed, bool race)
{
	p->state = seed;
	if (race)
		p->race_at = 1 + below(p, 8);
	while (p->nr_steps < STEPS && !p->planted)
		any_step(p);
	if (p->sd)
		clean_up(p);
	else
		hazard_reset();
	return p->planted;
}

static void correct_programs(struct kunit *test)
{
	u64 seed = random_seed(test);

	hazard_reset();
	for (u32 i = 0; i < PROGRAMS; i++) {
		struct program p = { .test = test };

		KUNIT_EXPECT_FALSE(test, run_program(&p, seed + i, false));
	}
}

static void programs_with_a_race(struct kunit *test)
{
	u64 seed = random_seed(test);
	u32 planted = 0;

	hazard_reset();
	for (u32 i = 0; planted < PROGRAMS && i < 2 * PROGRAMS; i++) {
		struct program p = { .test = test };

		planted += run_program(&p, seed + i, true);
	}
	KUNIT_EXPECT_EQ(test, planted, PROGRAMS);
}

/* ---- In a space ---------------------------------------------------------- */

/* Correct programs and others in turn; how many races there were. */
static u32 run_in_space(struct kunit *test, struct slabdev *sd,
			const slabdev_stream_t *queue)
{
	u64 seed = random_seed(test);
	u32 planted = 0;

	for (u32 i = 0; i < PROGRAMS_IN_SPACE; i++) {
		struct program p = { .test = test, .sd = sd, .queue = queue };

		planted += run_program(&p, seed + i, i % 2);
	}
	return planted;
}

static void programs_in_a_space(struct kunit *test)
{
	slabdev_stream_t queue[STREAMS] = { NULL };
	struct slabdev *sd = NULL;
	u32 i;

	setenv("SLABDEV_DEBUG", "H", 1);
	KUNIT_ASSERT_EQ_MSG(test, slabdev_open(&sd, "host", NULL), 0, "%s",
			    slabdev_last_error());
	for (i = 1; i < STREAMS; i++)
		KUNIT_ASSERT_EQ(test, slabdev_queue_create(
				&queue[i], 0), 0);
	/* Half of them attached. */
	for (i = 1; i < STREAMS; i += 2)
		KUNIT_ASSERT_EQ(test, slabdev_stream_attach(sd, queue[i]), 0);
	KUNIT_EXPECT_GT(test, run_in_space(test, sd, queue),
			PROGRAMS_IN_SPACE / 4);
	KUNIT_EXPECT_EQ(test, slabdev_validate(sd), 0);
	for (i = 1; i < STREAMS; i += 2)
		KUNIT_EXPECT_EQ(test, slabdev_stream_detach(sd, queue[i]), 0);
	KUNIT_EXPECT_EQ_MSG(test, slabdev_close(sd, 0), 0, "%s",
			    slabdev_last_error());
	for (i = 1; i < STREAMS; i++)
		KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(queue[i]), 0);
}

static struct kunit_case hazard_random_cases[] = {
	KUNIT_CASE(correct_programs),
	KUNIT_CASE(programs_with_a_race),
	KUNIT_CASE(programs_in_a_space),
	{}
};

static struct kunit_suite hazard_random_suite = {
	.name = "hazard_random",
	.cases = hazard_random_cases,
};
kunit_test_suite(hazard_random_suite);
