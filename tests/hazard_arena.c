// SPDX-License-Identifier: BSD-2-Clause
/*
 * hazard_arena.c - hazard mode looks into arenas: what is used, rewound and
 * handed out again without an order of streams is reported, and nothing else.
 *
 * Each case runs with an arena of mapped memory and with one that is an object.
 */
#include <pthread.h>
#include <stdlib.h>

#include "tests/arena_space.h"

static const u64 arena_bytes[] = { 32 * MIB, MIB / 2 };
KUNIT_ARRAY_PARAM(bytes, arena_bytes, NULL);

/* What the calls of a case are made with. */
static struct subject {
	struct slabdev *sd;
	struct slabdev_arena *arena;	/* on a */
	slabdev_stream_t a, b;
} on;

static struct slabdev_arena *arena_on(struct kunit *test,
				      slabdev_stream_t stream)
{
	struct slabdev_arena_attr attr = SLABDEV_ARENA_ATTR_INIT;

	attr.max_bytes = *(const u64 *)test->param_value;
	attr.stream = stream;
	attr.name = "watched";
	return new_arena_attr(test, on.sd, &attr);
}

static int arena_hazard_init(struct kunit *test)
{
	setenv("SLABDEV_DEBUG", "H", 1);
	on.sd = NULL;
	KUNIT_ASSERT_EQ_MSG(test, slabdev_open(&on.sd, "host", NULL), 0, "%s",
			    slabdev_last_error());
	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&on.a, 0), 0);
	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&on.b, 0), 0);
	on.arena = arena_on(test, on.a);
	return 0;
}

static void arena_hazard_exit(struct kunit *test)
{
	if (on.arena)
		end_arena(test, on.arena);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(on.a), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(on.b), 0);
	close_space(test, on.sd);
}

static int touch(const void *p, slabdev_stream_t stream)
{
	return slabdev_hazard_access(on.sd, p, stream);
}

static void reset(struct kunit *test, struct slabdev_arena *arena)
{
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
}

#define EXPECT_QUIET(test, call) KUNIT_EXPECT_EQ(test, call, 0)
#define EXPECT_HAZARD(test, call, result, text)				\
do {									\
	kunit_expect_report(test, REPORT_HAZARD);			\
	KUNIT_EXPECT_EQ(test, call, result);				\
	KUNIT_EXPECT_REPORT_HAS(test, text);				\
} while (0)

/* ---- What is ordered ----------------------------------------------------- */

static void its_own_stream(struct kunit *test)
{
	char *p = arena_take(test, on.arena, 1000), *q;
	u32 i;

	EXPECT_QUIET(test, touch(p, on.a));
	EXPECT_QUIET(test, touch(p + 999, on.a));
	for (i = 0; i < 3; i++) {
		q = arena_take(test, on.arena, 100000);
		EXPECT_QUIET(test, touch(q, on.a));
		reset(test, on.arena);
		q = arena_take(test, on.arena, 3000);
		KUNIT_EXPECT_PTR_EQ(test, q, p);
		EXPECT_QUIET(test, touch(q + 2999, on.a));
	}
}

/* Of the bound stream, which here is the CPU. */
static void the_cpu(struct kunit *test)
{
	struct slabdev_arena *arena = arena_on(test, NULL);
	char *p = arena_take(test, arena, 1000);

	EXPECT_QUIET(test, touch(p, SLABDEV_HAZARD_HOST));
	EXPECT_QUIET(test, touch(p, on.b));
	KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(on.b), 0);
	reset(test, arena);
	p = arena_take(test, arena, 1000);
	EXPECT_QUIET(test, touch(p, on.b));
	EXPECT_HAZARD(test, slabdev_arena_reset(arena), 0,
		      "order the CPU behind stream");
	end_arena(test, arena);
}

static void streams_that_it_was_told_of(struct kunit *test)
{
	char *p = arena_take(test, on.arena, 1000);
	u32 i;

	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, slabdev_queue_wait(on.b, on.a), 0);
		EXPECT_QUIET(test, touch(p, on.b));
		KUNIT_EXPECT_EQ(test, slabdev_arena_use(on.arena, on.b), 0);
		reset(test, on.arena);
		p = arena_take(test, on.arena, 5000);
	}
	/* Whoever detaches one has it waited for, too. */
	KUNIT_EXPECT_EQ(test, slabdev_queue_wait(on.b, on.a), 0);
	KUNIT_EXPECT_EQ(test, slabdev_arena_use(on.arena, on.b), 0);
	EXPECT_QUIET(test, touch(p, on.b));
	KUNIT_EXPECT_EQ(test, slabdev_stream_detach(on.sd, on.b), 0);
	reset(test, on.arena);
}

static void events(struct kunit *test)
{
	char *p = arena_take(test, on.arena, 1000);

	KUNIT_EXPECT_EQ(test, slabdev_queue_wait(on.b, on.a), 0);
	EXPECT_QUIET(test, touch(p, on.b));
	KUNIT_EXPECT_EQ(test, slabdev_queue_wait(on.a, on.b), 0);
	reset(test, on.arena);
}

/* ---- What is not --------------------------------------------------------- */

static void a_reset_that_nobody_waits_for(struct kunit *test)
{
	char *p = arena_take(test, on.arena, 1000);

	KUNIT_EXPECT_EQ(test, slabdev_queue_wait(on.b, on.a), 0);
	EXPECT_QUIET(test, touch(p + 10, on.b));
	EXPECT_HAZARD(test, slabdev_arena_reset(on.arena), 0,
		      "rewound while another stream may still use it");
	KUNIT_EXPECT_REPORT_HAS(test, "allocation in an arena, 0x");
	KUNIT_EXPECT_REPORT_HAS(test, "of 1000 bytes");
	KUNIT_EXPECT_REPORT_HAS(test, "rewound   on stream");
	KUNIT_EXPECT_REPORT_HAS(test, "or slabdev_arena_use(arena, stream");
	KUNIT_EXPECT_REPORT_HAS(test, "before the rewind");
}

/* Between allocations of one place there is the arena's stream. */
static void memory_that_is_used_again(struct kunit *test)
{
	char *p = arena_take(test, on.arena, 1000);

	reset(test, on.arena);
	KUNIT_EXPECT_EQ(test, slabdev_queue_wait(on.b, on.a), 0);
	p = arena_take(test, on.arena, 1000);
	EXPECT_HAZARD(test, touch(p, on.b), 1,
		      "not ordered behind the allocation");
	KUNIT_EXPECT_EQ(test, slabdev_queue_wait(on.b, on.a), 0);
	EXPECT_QUIET(test, touch(p, on.b));
	KUNIT_EXPECT_EQ(test, slabdev_arena_use(on.arena, on.b), 0);
}

static void a_pointer_from_before(struct kunit *test)
{
	char *p = arena_take(test, on.arena, 1000), *q;

	reset(test, on.arena);
	EXPECT_HAZARD(test, touch(p, on.a), 1, "accessed after the rewind");
	KUNIT_EXPECT_REPORT_HAS(test, "submitted before the rewind");
	q = arena_take(test, on.arena, 100);
	EXPECT_QUIET(test, touch(q, on.a));
	/* Behind it nothing is handed out. */
	EXPECT_HAZARD(test, touch(q + 512, on.a), 1, "there is no object");
}

/* A rewind ends what is above the mark; and streams that it was told of were
 * waited for, and no further. */
static void what_is_below_a_mark(struct kunit *test)
{
	char *low = arena_take(test, on.arena, 1000), *high;
	struct slabdev_arena_mark mark = arena_mark_of(test, on.arena);

	high = arena_take(test, on.arena, 1000);
	KUNIT_EXPECT_EQ(test, slabdev_queue_wait(on.b, on.a), 0);
	EXPECT_QUIET(test, touch(low, on.b));
	EXPECT_QUIET(test, touch(high, on.b));
	KUNIT_EXPECT_EQ(test, slabdev_arena_use(on.arena, on.b), 0);
	KUNIT_EXPECT_EQ(test, slabdev_arena_rewind(on.arena, &mark), 0);
	EXPECT_QUIET(test, touch(low, on.a));
	EXPECT_HAZARD(test, touch(high, on.a), 1, "after the rewind");
	EXPECT_QUIET(test, touch(low, on.b));
	EXPECT_HAZARD(test, slabdev_arena_reset(on.arena), 0, "rewound while");
}

static void one_report_for_many(struct kunit *test)
{
	char *p[10];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = arena_take(test, on.arena, 1000);
	KUNIT_EXPECT_EQ(test, slabdev_queue_wait(on.b, on.a), 0);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		EXPECT_QUIET(test, touch(p[i], on.b));
	EXPECT_HAZARD(test, slabdev_arena_reset(on.arena), 0,
		      "and 9 more of what was given back with it");
}

static void the_end(struct kunit *test)
{
	char *p = arena_take(test, on.arena, 1000);

	KUNIT_EXPECT_EQ(test, slabdev_queue_wait(on.b, on.a), 0);
	EXPECT_QUIET(test, touch(p, on.b));
	EXPECT_HAZARD(test, slabdev_arena_destroy(on.arena), 0,
		      "rewound while another stream");
	on.arena = NULL;
	EXPECT_HAZARD(test, touch(p, on.a), 1, "after the rewind");
}

/* What a graph uses stays until it is released. */
static void a_graph(struct kunit *test)
{
	char *p = arena_take(test, on.arena, 1000);
	struct slabdev_graph *graph;

	KUNIT_ASSERT_EQ(test, slabdev_stream_attach(on.sd, on.b), 0);
	KUNIT_ASSERT_EQ(test, slabdev_capture_begin(on.sd, on.b, &graph), 0);
	EXPECT_QUIET(test, touch(p, on.b));
	KUNIT_EXPECT_EQ(test, slabdev_capture_end(graph), 0);
	EXPECT_HAZARD(test, slabdev_arena_reset(on.arena), 0,
		      "rewound while a graph may still use it");
	KUNIT_EXPECT_REPORT_HAS(test, "missing: slabdev_graph_release()");
	KUNIT_EXPECT_EQ(test, slabdev_graph_release(graph), 0);
	KUNIT_EXPECT_EQ(test, slabdev_stream_detach(on.sd, on.b), 0);
}

static void *trim(void *arg)
{
	(void)arg;
	return slabdev_trim(on.sd, 0) ? &on : NULL;
}

/* Others may look at arenas while it is told. */
static int wait_for_another(const struct slabdev_report *report, void *arg)
{
	struct kunit *test = arg;
	pthread_t thread;
	void *failed;

	(void)report;
	KUNIT_EXPECT_EQ(test, pthread_create(&thread, NULL, trim, NULL), 0);
	KUNIT_EXPECT_EQ(test, pthread_join(thread, &failed), 0);
	KUNIT_EXPECT_NULL(test, failed);
	return 0;
}

static void the_end_is_told_without_the_claim(struct kunit *test)
{
	char *p = arena_take(test, on.arena, 1000);

	KUNIT_EXPECT_EQ(test, slabdev_queue_wait(on.b, on.a), 0);
	EXPECT_QUIET(test, touch(p, on.b));
	slabdev_set_report(wait_for_another, test);
	EXPECT_HAZARD(test, slabdev_arena_destroy(on.arena), 0,
		      "rewound while another stream");
	slabdev_set_report(NULL, NULL);
	on.arena = NULL;
}

static const struct kunit_case arena_hazard_cases[] = {
	KUNIT_CASE_PARAM(its_own_stream, bytes_gen_params),
	KUNIT_CASE_PARAM(the_cpu, bytes_gen_params),
	KUNIT_CASE_PARAM(streams_that_it_was_told_of, bytes_gen_params),
	KUNIT_CASE_PARAM(events, bytes_gen_params),
	KUNIT_CASE_PARAM(a_reset_that_nobody_waits_for, bytes_gen_params),
	KUNIT_CASE_PARAM(memory_that_is_used_again, bytes_gen_params),
	KUNIT_CASE_PARAM(a_pointer_from_before, bytes_gen_params),
	KUNIT_CASE_PARAM(what_is_below_a_mark, bytes_gen_params),
	KUNIT_CASE_PARAM(one_report_for_many, bytes_gen_params),
	KUNIT_CASE_PARAM(the_end, bytes_gen_params),
	KUNIT_CASE_PARAM(a_graph, bytes_gen_params),
	KUNIT_CASE_PARAM(the_end_is_told_without_the_claim, bytes_gen_params),
	{ 0 }
};

static const struct kunit_suite arena_hazard_suite = {
	.name = "hazard_arena",
	.init = arena_hazard_init,
	.exit = arena_hazard_exit,
	.cases = arena_hazard_cases,
};
kunit_test_suite(arena_hazard_suite);
