// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_arena_test.c - arenas on the model of the driver.
 *
 * Streams are held back, so that a case decides when memory is in use. The
 * model counts as a violation whatever is unmapped under work in flight, and
 * each call that a capture forbids.
 */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "slab/arena.h"
#include "tests/arena_space.h"
#include "tests/stream_space.h"

#define LIMIT (96 * MIB)

static void open_bench(struct stream_space *s, struct kunit *test, u32 policy)
{
	struct slabdev_policy p = SLABDEV_POLICY_INIT;

	stream_space_open(s, test, NULL, LIMIT, SLABDEV_ORDER_STREAM);
	p.mode = policy;
	KUNIT_ASSERT_EQ(test, slabdev_set_policy(s->sd, &p), 0);
}

static struct slabdev_arena *arena_on(struct stream_space *s, CUstream stream)
{
	struct slabdev_arena_attr attr = SLABDEV_ARENA_ATTR_INIT;

	attr.max_bytes = 64 * MIB;
	attr.stream = stream;
	return new_arena_attr(s->test, s->sd, &attr);
}

static void *take_and_work(struct stream_space *s, struct slabdev_arena *arena,
			   size_t size, CUstream stream)
{
	void *p = arena_take(s->test, arena, size);

	cuda_submit_fill(s->test, p, size, 0x22, stream);
	return p;
}

static u64 mapped(struct stream_space *s, struct slabdev_arena *arena)
{
	return arena_figures(s->test, arena).mapped;
}

/* ---- Growth -------------------------------------------------------------- */

/* Work is in flight on what was handed out while more is mapped behind it. */
static void it_grows_beside_work(struct kunit *test)
{
	struct stream_space s;
	struct slabdev_arena *arena;
	char *p[20];
	u32 i;

	open_bench(&s, test, SLABDEV_RETAIN);
	arena = arena_on(&s, s.lane[0]);
	hold(&s, s.lane[0]);
	for (i = 0; i < ARRAY_SIZE(p); i++) {
		p[i] = arena_take(test, arena, 3 * MIB);
		cuda_submit_fill(test, p[i], 3 * MIB, (unsigned char)i,
				 s.lane[0]);
		KUNIT_EXPECT_EQ(test, bytes_between(p[0], p[i]), i * 3 * MIB);
	}
	let_go(&s, s.lane[0]);
	run_through(&s, s.lane[0]);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		KUNIT_EXPECT_EQ(test, cuda_byte(test, p[i] + 3 * MIB - 1), i);
	end_arena(test, arena);
	stream_space_close(&s);
}

/* Once it has its memory, no memory-management call is made. */
static void steps_repeat_without_the_driver(struct kunit *test)
{
	struct stream_space s;
	struct slabdev_arena *arena;
	struct slabdev_arena_mark mark;
	uint64_t calls = 0;
	u32 i, k;

	open_bench(&s, test, SLABDEV_RETAIN);
	arena = arena_on(&s, NULL);
	for (i = 0; i < 20; i++) {
		if (i == 1)
			calls = cuda_management_calls();
		for (k = 0; k < 10; k++)
			take_and_work(&s, arena, MIB, s.bound);
		mark = arena_mark_of(test, arena);
		take_and_work(&s, arena, 20 * MIB, s.bound);
		KUNIT_EXPECT_EQ(test, slabdev_arena_rewind(arena, &mark), 0);
		take_and_work(&s, arena, 5 * MIB, s.bound);
		KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	}
	KUNIT_EXPECT_EQ(test, cuda_management_calls(), calls);
	end_arena(test, arena);
	stream_space_close(&s);
}

/* ---- Memory goes when it is done with ------------------------------------ */

static void unmapped_behind(struct kunit *test, bool bound)
{
	struct stream_space s;
	struct slabdev_arena *arena;
	CUstream stream;
	void *p;

	open_bench(&s, test, SLABDEV_AGGRESSIVE);
	stream = bound ? s.bound : s.lane[0];
	arena = arena_on(&s, bound ? NULL : stream);
	hold(&s, stream);
	p = take_and_work(&s, arena, 30 * MIB, stream);
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	KUNIT_EXPECT_EQ(test, slabdev_poll(s.sd), 0);
	KUNIT_EXPECT_EQ(test, mapped(&s, arena), 30 * MIB);
	/* Used again at once, in the order of the stream. */
	KUNIT_EXPECT_PTR_EQ(test, take_and_work(&s, arena, MIB, stream), p);
	let_go(&s, stream);
	run_through(&s, stream);
	KUNIT_EXPECT_EQ(test, slabdev_poll(s.sd), 0);
	KUNIT_EXPECT_EQ(test, slabdev_poll(s.sd), 0);
	KUNIT_EXPECT_EQ(test, mapped(&s, arena), 2 * MIB);
	end_arena(test, arena);
	stream_space_close(&s);
}

static void memory_goes_behind_the_bound_stream(struct kunit *test)
{
	unmapped_behind(test, true);
}

static void memory_goes_behind_its_own_stream(struct kunit *test)
{
	unmapped_behind(test, false);
}

/* The end waits for what is in flight, on its stream and on those told of. */
static void the_end_waits(struct kunit *test)
{
	struct stream_space s;
	struct slabdev_arena *arena;

	open_bench(&s, test, SLABDEV_RETAIN);
	arena = arena_on(&s, s.lane[0]);
	take_and_work(&s, arena, 5 * MIB, s.lane[0]);
	take_and_work(&s, arena, 5 * MIB, s.lane[1]);
	KUNIT_EXPECT_EQ(test, slabdev_arena_use(arena, s.lane[1]), 0);
	end_arena(test, arena);
	EXPECT_CU(test, cuStreamQuery(s.lane[0]), 0);
	EXPECT_CU(test, cuStreamQuery(s.lane[1]), 0);
	arena = arena_on(&s, NULL);
	take_and_work(&s, arena, 5 * MIB, s.bound);
	end_arena(test, arena);
	stream_space_close(&s);
}

/* A request that finds no other memory waits for an arena's. */
static void others_wait_for_its_memory(struct kunit *test)
{
	struct stream_space s;
	struct slabdev_arena *arena;
	void *p;

	open_bench(&s, test, SLABDEV_RETAIN);
	arena = arena_on(&s, s.lane[0]);
	take_and_work(&s, arena, 60 * MIB, s.lane[0]);
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	p = must_alloc(test, s.sd, 70 * MIB);
	cuda_submit_fill(test, p, 70 * MIB, 1, s.bound);
	KUNIT_EXPECT_EQ(test, mapped(&s, arena), 0);
	EXPECT_FREED(test, s.sd, p);
	end_arena(test, arena);
	stream_space_close(&s);
}

/* ---- Other streams ------------------------------------------------------- */

/* What another stream does to the arena comes before what is handed out after
 * a rewind, though nobody waits. */
static void other_streams_are_joined(struct kunit *test)
{
	struct stream_space s;
	struct slabdev_arena *arena;
	struct slabdev_arena_mark mark;
	char *p, *q;

	open_bench(&s, test, SLABDEV_RETAIN);
	arena = arena_on(&s, NULL);
	mark = arena_mark_of(test, arena);
	p = arena_take(test, arena, 1000);
	hold(&s, s.lane[0]);
	cuda_submit_fill(test, p, 1000, 0x33, s.lane[0]);
	KUNIT_EXPECT_EQ(test, slabdev_arena_use(arena, s.lane[0]), 0);
	KUNIT_EXPECT_EQ(test, slabdev_arena_rewind(arena, &mark), 0);
	q = arena_take(test, arena, 1000);
	KUNIT_EXPECT_PTR_EQ(test, p, q);
	cuda_submit_fill(test, q, 1000, 0x44, s.bound);
	EXPECT_CU(test, cuStreamQuery(s.bound), CUDA_ERROR_NOT_READY);
	let_go(&s, s.lane[0]);
	KUNIT_EXPECT_EQ(test, cuda_byte(test, q), 0x44);
	end_arena(test, arena);
	stream_space_close(&s);
}

static void detached_streams_are_joined(struct kunit *test)
{
	struct stream_space s;
	struct slabdev_arena *arena;
	CUstream other;
	char *p;

	open_bench(&s, test, SLABDEV_RETAIN);
	other = new_stream(test, CU_STREAM_NON_BLOCKING);
	arena = arena_on(&s, NULL);
	p = take_and_work(&s, arena, 1000, other);
	KUNIT_EXPECT_EQ(test, slabdev_arena_use(arena, other), 0);
	KUNIT_EXPECT_EQ(test, slabdev_stream_detach(s.sd, other), 0);
	end_stream(test, other);
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	KUNIT_EXPECT_PTR_EQ(test, take_and_work(&s, arena, 9, s.bound), p);
	end_arena(test, arena);
	stream_space_close(&s);
}

/* ---- Captures ------------------------------------------------------------ */

/* A capture may be handed out to, also what has to be mapped; but nothing is
 * waited for in it, and nothing goes. */
static void captures_are_left_alone(struct kunit *test)
{
	struct stream_space s;
	struct slabdev_arena *arena;
	struct slabdev_arena_mark mark;
	CUgraph graph;

	open_bench(&s, test, SLABDEV_AGGRESSIVE);
	arena = arena_on(&s, s.lane[0]);
	take_and_work(&s, arena, 10 * MIB, s.lane[0]);
	mark = arena_mark_of(test, arena);
	KUNIT_EXPECT_EQ(test, slabdev_arena_use(arena, s.lane[1]), 0);
	MUST(test, cuStreamBeginCapture(s.lane[0],
					CU_STREAM_CAPTURE_MODE_GLOBAL));
	take_and_work(&s, arena, 10 * MIB, s.lane[0]);
	KUNIT_EXPECT_EQ(test, slabdev_arena_rewind(arena, &mark), -EBUSY);
	EXPECT_LAST_ERROR_HAS(test, "captured");
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), -EBUSY);
	KUNIT_EXPECT_EQ(test, slabdev_arena_destroy(arena), -EBUSY);
	KUNIT_EXPECT_EQ(test, mapped(&s, arena), 20 * MIB);
	MUST(test, cuStreamEndCapture(s.lane[0], &graph));
	MUST(test, cuGraphDestroy(graph));
	KUNIT_EXPECT_EQ(test, slabdev_arena_rewind(arena, &mark), 0);
	/* Without others a rewind is a matter of the top alone. */
	mark = arena_mark_of(test, arena);
	MUST(test, cuStreamBeginCapture(s.lane[0],
					CU_STREAM_CAPTURE_MODE_GLOBAL));
	take_and_work(&s, arena, 30 * MIB, s.lane[0]);
	KUNIT_EXPECT_EQ(test, slabdev_arena_rewind(arena, &mark), 0);
	KUNIT_EXPECT_EQ(test, slabdev_poll(s.sd), 0);
	KUNIT_EXPECT_EQ(test, mapped(&s, arena), 40 * MIB);
	MUST(test, cuStreamEndCapture(s.lane[0], &graph));
	MUST(test, cuGraphDestroy(graph));
	KUNIT_EXPECT_EQ(test, slabdev_trim(s.sd, 0), 0);
	KUNIT_EXPECT_EQ(test, mapped(&s, arena), 10 * MIB);
	end_arena(test, arena);
	stream_space_close(&s);
}

/* ---- Kinds of memory ----------------------------------------------------- */

static void describe_kind(const struct cuda_kind_param *kind, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", kind->name);
}
KUNIT_ARRAY_PARAM(kind, cuda_kinds, describe_kind);

/* Where memory is not mapped by the library an arena is one object. */
static void every_kind_has_arenas(struct kunit *test)
{
	const struct cuda_kind_param *kind = test->param_value;
	struct slabdev_arena_attr attr = SLABDEV_ARENA_ATTR_INIT;
	struct stream_space s;
	struct slabdev_arena *arena;
	struct slabdev_stats st;
	char *p;

	stream_space_open(&s, test, kind, LIMIT, SLABDEV_ORDER_STREAM);
	attr.max_bytes = 10 * MIB;
	arena = new_arena_attr(test, s.sd, &attr);
	p = take_and_work(&s, arena, 9 * MIB, s.bound);
	EXPECT_NO_ROOM(test, arena, 2 * MIB, ENOSPC);
	st = sums(&s);
	KUNIT_EXPECT_EQ(test, st.live_objects, has_regions(s.sd));
	KUNIT_EXPECT_EQ(test, st.arena_bytes, has_regions(s.sd) ? 0 : 10 * MIB);
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	KUNIT_EXPECT_PTR_EQ(test, take_and_work(&s, arena, 1, s.bound), p);
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_EQ(test, slabdev_free(s.sd, p), -EINVAL);
	EXPECT_LAST_ERROR_HAS(test, "arena 'arena'");
	end_arena(test, arena);
	/* By default it is no larger than can be taken at once. */
	arena = NULL;
	KUNIT_EXPECT_EQ(test, slabdev_arena_create(&arena, s.sd, NULL), 0);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).max_bytes,
			has_regions(s.sd) ? 16 * MIB : LIMIT);
	end_arena(test, arena);
	stream_space_close(&s);
}

/* ---- A fork -------------------------------------------------------------- */

static int use_in_child(struct slabdev *sd, struct slabdev_arena *arena)
{
	struct slabdev_arena_mark mark;

	if (slabdev_arena_alloc(arena, 1) || errno != EOWNERDEAD)
		return 1;
	if (slabdev_arena_mark(arena, &mark) != -EOWNERDEAD ||
	    slabdev_arena_reset(arena) != -EOWNERDEAD ||
	    slabdev_arena_destroy(arena) != -EOWNERDEAD)
		return 2;
	if (slabdev_close(sd, 0))
		return 3;
	return slabdev_arena_alloc(arena, 1) || errno != EALREADY ? 4 : 0;
}

/* White-box: as if a thread had the claim that is not in the child. */
static void arenas_are_dead_in_a_child(struct kunit *test)
{
	struct stream_space s;
	struct slabdev_arena *arena;
	struct arena *inside;
	int status = -1;
	pid_t pid;

	open_bench(&s, test, SLABDEV_RETAIN);
	arena = arena_on(&s, NULL);
	take_and_work(&s, arena, 1000, s.bound);
	inside = arena_entry(token_index(arena));
	WRITE_ONCE(inside->claim, 1);
	pid = fork();
	KUNIT_ASSERT_GE(test, pid, 0);
	if (!pid) {
		alarm(60);
		_exit(use_in_child(s.sd, arena));
	}
	WRITE_ONCE(inside->claim, 0);
	KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ(test, status, 0);
	take_and_work(&s, arena, 1000, s.bound);
	end_arena(test, arena);
	stream_space_close(&s);
}

static const struct kunit_case cuda_arena_cases[] = {
	KUNIT_CASE(it_grows_beside_work),
	KUNIT_CASE(steps_repeat_without_the_driver),
	KUNIT_CASE(memory_goes_behind_the_bound_stream),
	KUNIT_CASE(memory_goes_behind_its_own_stream),
	KUNIT_CASE(the_end_waits),
	KUNIT_CASE(others_wait_for_its_memory),
	KUNIT_CASE(other_streams_are_joined),
	KUNIT_CASE(detached_streams_are_joined),
	KUNIT_CASE(captures_are_left_alone),
	KUNIT_CASE_PARAM(every_kind_has_arenas, kind_gen_params),
	KUNIT_CASE(arenas_are_dead_in_a_child),
	{ 0 }
};

static const struct kunit_suite cuda_arena_suite = {
	.name = "cuda_arena",
	.init = cuda_space_init,
	.exit = cuda_space_exit,
	.cases = cuda_arena_cases,
};
kunit_test_suite(cuda_arena_suite);
