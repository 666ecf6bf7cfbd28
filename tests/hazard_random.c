// SPDX-License-Identifier: BSD-2-Clause
/*
 * hazard_random.c - random programs of streams, with a race or without.
 *
 * Twice over: against the engine alone, with objects at addresses that nobody
 * has, and in a space with host queues, by the public calls.
 */
#include <slabdev/slabdev.h>
#include <stdlib.h>

#include "core/log.h"
#include "slab/hazard.h"
#include "tests/hazard_program.h"

#define PROGRAMS 1000u
#define PROGRAMS_IN_SPACE 200u
#define SIZE UINT64_C(4096)
#define SIZE_MAX_IN_SPACE (3 * MIB)

/* ---- The engine alone ---------------------------------------------------- */

static const char space_name[] = "random";

static struct hazard_call by(const struct program *p, u32 stream)
{
	return (struct hazard_call){
		.space = space_name,
		.name = space_name,
		.stream = p->handle[stream],
		.site = __builtin_return_address(0),
	};
}

static void engine_record(struct program *p, u32 stream, u32 event)
{
	hazard_record(event, p->handle[stream]);
}

static void engine_wait(struct program *p, u32 stream, u32 event)
{
	hazard_wait(p->handle[stream], event);
}

static void engine_synchronize(struct program *p, u32 stream)
{
	hazard_sync(p->handle[stream]);
}

static void engine_alloc(struct program *p, u32 object, u32 stream, u32 step)
{
	struct hazard_call call = by(p, stream);

	(void)step;
	p->object[object].addr = (object + 1) * SIZE * 16;
	p->object[object].size = SIZE;
	hazard_alloc(&call, p->object[object].addr, SIZE);
}

static bool engine_access(struct program *p, u32 object, u64 addr, u32 stream,
			  u32 step)
{
	struct hazard_call call = by(p, stream);

	(void)object;
	(void)step;
	return hazard_access(&call, addr) == 1;
}

static bool engine_free(struct program *p, u32 object, u32 stream, u32 step)
{
	struct hazard_call call = by(p, stream);

	(void)step;
	return hazard_free(&call, p->object[object].addr, false);
}

static void engine_use(struct program *p, u32 object, u32 stream)
{
	struct hazard_call call = by(p, stream);

	hazard_use(&call, p->object[object].addr);
}

static const struct program_ops engine_ops = {
	.record = engine_record,
	.wait = engine_wait,
	.synchronize = engine_synchronize,
	.alloc = engine_alloc,
	.access = engine_access,
	.free = engine_free,
	.use = engine_use,
};

static bool run_in_engine(struct kunit *test, u64 seed, bool race)
{
	struct program p = { .test = test, .ops = &engine_ops };
	bool planted;

	hazard_reset();
	p.handle[0] = SLABDEV_HAZARD_HOST;
	for (u32 i = 1; i < STREAMS; i++)
		p.handle[i] = (slabdev_stream_t)(uintptr_t)(0xa00 + i);
	planted = hazard_program_run(&p, seed, race);
	hazard_reset();
	return planted;
}

static void correct_programs(struct kunit *test)
{
	u64 seed = random_seed(test);

	for (u32 i = 0; i < PROGRAMS; i++)
		KUNIT_EXPECT_FALSE(test, run_in_engine(test, seed + i, false));
}

static void programs_with_a_race(struct kunit *test)
{
	u64 seed = random_seed(test);
	u32 planted = 0;

	for (u32 i = 0; planted < PROGRAMS && i < 2 * PROGRAMS; i++)
		planted += run_in_engine(test, seed + i, true);
	KUNIT_EXPECT_EQ(test, planted, PROGRAMS);
}

/* ---- In a space ---------------------------------------------------------- */

static void space_record(struct program *p, u32 stream, u32 event)
{
	slabdev_hazard_record(event, p->handle[stream]);
}

static void space_wait(struct program *p, u32 stream, u32 event)
{
	slabdev_hazard_wait(p->handle[stream], event);
}

static void space_synchronize(struct program *p, u32 stream)
{
	if (stream)
		KUNIT_EXPECT_EQ(p->test,
				slabdev_queue_synchronize(p->handle[stream]),
				0);
	else
		slabdev_hazard_sync(SLABDEV_HAZARD_HOST);
}

static void space_order(struct program *p, u32 late, u32 early)
{
	KUNIT_EXPECT_EQ(p->test, slabdev_queue_wait(p->handle[late],
						    p->handle[early]), 0);
}

static void space_alloc(struct program *p, u32 object, u32 stream, u32 step)
{
	struct object *o = &p->object[object];
	void *at;

	(void)step;
	o->size = random_size(&p->state, SIZE_MAX_IN_SPACE);
	at = stream ? slabdev_alloc_async(p->arg, o->size, p->handle[stream]) :
		      slabdev_alloc(p->arg, o->size);
	KUNIT_ASSERT_NOT_NULL_MSG(p->test, at, "%s", slabdev_last_error());
	o->addr = (u64)(uintptr_t)at;
}

static bool space_access(struct program *p, u32 object, u64 addr, u32 stream,
			 u32 step)
{
	(void)object;
	(void)step;
	return slabdev_hazard_access(p->arg, (void *)(uintptr_t)addr,
				     p->handle[stream]) == 1;
}

static bool space_free(struct program *p, u32 object, u32 stream, u32 step)
{
	unsigned int before = kunit_report_count(p->test, REPORT_HAZARD);
	void *at = (void *)(uintptr_t)p->object[object].addr;

	(void)step;
	KUNIT_EXPECT_EQ(p->test, stream ?
			slabdev_free_async(p->arg, at, p->handle[stream]) :
			slabdev_free(p->arg, at), 0);
	return kunit_report_count(p->test, REPORT_HAZARD) != before;
}

static void space_use(struct program *p, u32 object, u32 stream)
{
	void *at = (void *)(uintptr_t)p->object[object].addr;

	KUNIT_EXPECT_EQ(p->test, slabdev_use(p->arg, at, p->handle[stream]), 0);
}

static const struct program_ops space_ops = {
	.record = space_record,
	.wait = space_wait,
	.synchronize = space_synchronize,
	.order = space_order,
	.alloc = space_alloc,
	.access = space_access,
	.free = space_free,
	.use = space_use,
};

/* What is left of it in the space, when everything is done. */
static void clean_up(struct program *p)
{
	u32 i;

	for (i = 1; i < STREAMS; i++)
		space_synchronize(p, i);
	for (i = 0; i < OBJECTS; i++)
		if (p->object[i].live)
			KUNIT_EXPECT_FALSE(p->test, space_free(p, i, 0, 0));
}

/* Correct programs and others in turn; how many races there were. */
static u32 run_in_space(struct kunit *test, struct slabdev *sd,
			const slabdev_stream_t *queue)
{
	u64 seed = random_seed(test);
	u32 planted = 0, i, k;

	for (i = 0; i < PROGRAMS_IN_SPACE; i++) {
		struct program p = {
			.test = test, .ops = &space_ops, .arg = sd,
		};

		for (k = 0; k < STREAMS; k++)
			p.handle[k] = queue[k];
		planted += hazard_program_run(&p, seed + i, i % 2);
		clean_up(&p);
	}
	return planted;
}

static void programs_in_a_space(struct kunit *test)
{
	slabdev_stream_t queue[STREAMS] = { SLABDEV_HAZARD_HOST };
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
	KUNIT_CASE(programs_in_a_space, .isolated = true),
	{}
};

static struct kunit_suite hazard_random_suite = {
	.name = "hazard_random",
	.cases = hazard_random_cases,
};
kunit_test_suite(hazard_random_suite);
