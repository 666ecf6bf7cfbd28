// SPDX-License-Identifier: BSD-2-Clause
/* hazard_program.c - see hazard_program.h. */
#include <stdio.h>

#include "core/log.h"
#include "tests/hazard_program.h"

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
	p->ops->record(p, stream, event);
	(void)step(p, stream);
	p->event[event] = p->before[stream];
}

static void wait_for(struct program *p, u32 stream, u32 event)
{
	p->ops->wait(p, stream, event);
	(void)step(p, stream);
	add_all(&p->before[stream], &p->event[event]);
}

static void synchronize(struct program *p, u32 stream)
{
	p->ops->synchronize(p, stream);
	(void)step(p, stream);
	if (stream)
		add_all(&p->before[0], &p->before[stream]);
	else
		for (u32 i = 1; i < STREAMS; i++)
			add_all(&p->before[0], &p->before[i]);
}

static void order_at_once(struct program *p, u32 late, u32 early)
{
	p->ops->order(p, late, early);
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
	if (p->ops->order && early && late && below(p, 2)) {
		order_at_once(p, late, early);
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
	p->early = *t;
	p->late = (struct touch){ stream, p->nr_steps };
	p->at_access = at_access;
	return true;
}

static void name(const struct program *p, u32 stream, char *text, size_t size)
{
	if (!stream)
		snprintf(text, size, "the CPU");
	else if (p->handle[stream] == SLABDEV_STREAM_PER_THREAD)
		snprintf(text, size, "the default stream of thread ");
	else
		snprintf(text, size, "stream %p", (void *)p->handle[stream]);
}

static void expect_race(struct program *p, bool found)
{
	char text[96], who[64];

	KUNIT_EXPECT_TRUE(p->test, found);
	snprintf(text, sizeof(text), "object %#llx of",
		 (unsigned long long)p->object[p->object_nr].addr);
	KUNIT_EXPECT_REPORT_HAS(p->test, text);
	KUNIT_EXPECT_REPORT_HAS(p->test, p->at_access ?
				"behind the allocation" : "may still use it");
	name(p, p->late.stream, who, sizeof(who));
	snprintf(text, sizeof(text), "order %s", who);
	KUNIT_EXPECT_REPORT_HAS(p->test, text);
	name(p, p->early.stream, who, sizeof(who));
	snprintf(text, sizeof(text), " behind %s", who);
	KUNIT_EXPECT_REPORT_HAS(p->test, text);
}

static void judge(struct program *p, bool race, bool found)
{
	if (race)
		expect_race(p, found);
	else
		KUNIT_EXPECT_FALSE(p->test, found);
}

/* ---- Allocate, access, free ---------------------------------------------- */

static void allocate(struct program *p, u32 object, u32 stream)
{
	struct object *o = &p->object[object];
	u32 nr = p->nr_steps;

	*o = (struct object){ .live = true };
	p->ops->alloc(p, object, stream, nr);
	stream = program_alloc_stream(p, stream);
	o->alloc = (struct touch){ stream, step(p, stream) };
}

static void access_object(struct program *p, u32 object, u32 stream)
{
	struct object *o = &p->object[object];
	bool race = false;
	u64 addr;
	u32 nr;

	if (o->nr == TOUCHES)
		return;
	if (!comes_before(p, &o->alloc, stream)) {
		race = is_planted(p, object, &o->alloc, stream, true);
		if (!race)
			order(p, stream, o->alloc.stream);
	}
	if (race)
		kunit_expect_report(p->test, REPORT_HAZARD);
	addr = o->addr + below(p, (u32)o->size);
	nr = p->nr_steps;
	judge(p, race, p->ops->access(p, object, addr, stream, nr));
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
	p->ops->use(p, object, t->stream);
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
	u32 as = stream ? stream : p->plain_free;
	bool race = plant_at_free(p, object, as);

	for (u32 i = 0; !race && i < o->nr; i++)
		protect(p, object, &o->touch[i], as);
	if (!race)
		protect(p, object, &o->alloc, as);
	if (race)
		kunit_expect_report(p->test, REPORT_HAZARD);
	judge(p, race, p->ops->free(p, object, stream, p->nr_steps));
	(void)step(p, as);
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

bool hazard_program_run(struct program *p, u64 seed, bool race)
{
	p->state = seed;
	if (race)
		p->race_at = 1 + below(p, 8);
	while (p->nr_steps < STEPS && !p->planted) {
		any_step(p);
		if (p->ops->between)
			p->ops->between(p);
	}
	return p->planted;
}
