// SPDX-License-Identifier: BSD-2-Clause
/*
 * arena_memory.c - what arenas have of a space's memory, what they leave to
 * others, and how much of either there is.
 */
#include <errno.h>

#include "core/log.h"
#include "tests/arena_space.h"

static struct slabdev *small_space(struct kunit *test, u64 limit)
{
	struct slabdev *sd = open_space(test, limit);

	if (has_regions(sd)) {
		close_space(test, sd);
		kunit_skip(test, "memory comes in regions");
	}
	return sd;
}

/* It has the addresses that it could ever fill, and is refused by the limit,
 * which says so. */
static void an_arena_beyond_the_limit(struct kunit *test)
{
	struct slabdev *sd = small_space(test, 32 * MIB);
	struct slabdev_arena *arena = new_arena(test, sd, 64 * GIB);
	struct slabdev_arena_stats st = arena_figures(test, arena);

	KUNIT_EXPECT_EQ(test, st.max_bytes, 32 * MIB);
	arena_take(test, arena, 20 * MIB);
	EXPECT_NO_ROOM(test, arena, 13 * MIB, EDQUOT);
	EXPECT_WORDS(test, slabdev_last_error(), "limit");
	EXPECT_NO_ROOM(test, arena, 64 * GIB, EDQUOT);
	arena_take(test, arena, 12 * MIB);
	expect_sound(test, sd);
	end_arena(test, arena);
	close_space(test, sd);
}

/* What others hold is a lack of memory, with the report of one. */
static void an_arena_lacks_memory(struct kunit *test)
{
	struct slabdev *sd = small_space(test, 32 * MIB);
	struct slabdev_arena *arena = new_arena(test, sd, 32 * MIB);
	struct slabdev_arena_stats before, after;
	void *p = must_alloc(test, sd, 20 * MIB);

	arena_take(test, arena, 7 * MIB);
	before = arena_figures(test, arena);
	kunit_expect_report(test, REPORT_OUT_OF_MEMORY);
	EXPECT_NO_ROOM(test, arena, 20 * MIB, EDQUOT);
	after = arena_figures(test, arena);
	KUNIT_EXPECT_EQ(test, after.failed, 1);
	after.failed = 0;
	KUNIT_EXPECT_MEMEQ(test, &before, &after, sizeof(before));
	expect_sound(test, sd);
	/* What is free in the space is to be had. */
	EXPECT_FREED(test, sd, p);
	arena_take(test, arena, 20 * MIB);
	end_arena(test, arena);
	close_space(test, sd);
}

/* Handles of a chunk, which can go one by one: growth by much at once has
 * longer ones on a device. */
static char *take_piece_by_piece(struct kunit *test,
				 struct slabdev_arena *arena, u64 bytes)
{
	char *p = arena_take(test, arena, MIB);
	u64 at;

	for (at = MIB; at < bytes; at += MIB)
		arena_take(test, arena, MIB);
	return p;
}

/* Memory that an arena does not use is everybody's before a request fails. */
static void idle_arenas_give(struct kunit *test)
{
	struct slabdev *sd = small_space(test, 32 * MIB);
	struct slabdev_arena *a = new_arena(test, sd, 32 * MIB);
	struct slabdev_arena *b = new_arena(test, sd, 32 * MIB);
	char *p = take_piece_by_piece(test, a, 30 * MIB), *q;

	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(a), 0);
	p = arena_take(test, a, 3 * MIB);
	mem_fill(sd, p, 3 * MIB, 7);
	KUNIT_EXPECT_EQ(test, arena_figures(test, a).mapped, 30 * MIB);
	q = must_alloc(test, sd, 10 * MIB);
	mem_fill(sd, q, 10 * MIB, 8);
	KUNIT_EXPECT_LE(test, arena_figures(test, a).mapped, 22 * MIB);
	/* The other arena gets what is left, but not what is handed out. */
	arena_take(test, b, 16 * MIB);
	KUNIT_EXPECT_EQ(test, arena_figures(test, a).mapped, 4 * MIB);
	KUNIT_EXPECT_TRUE(test, mem_is(sd, p, 3 * MIB, 7));
	expect_sound(test, sd);
	end_arena(test, b);
	EXPECT_FREED(test, sd, q);
	arena_take(test, a, 25 * MIB);
	end_arena(test, a);
	close_space(test, sd);
}

static void set_policy(struct kunit *test, struct slabdev *sd, u32 mode,
		       u64 keep)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;

	policy.mode = mode;
	policy.keep_bytes = keep;
	KUNIT_EXPECT_EQ(test, slabdev_set_policy(sd, &policy), 0);
}

static u64 mapped_after_reset(struct kunit *test, struct slabdev *sd,
			      struct slabdev_arena *arena)
{
	(void)take_piece_by_piece(test, arena, 20 * MIB);
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	settle(test, sd);
	return arena_figures(test, arena).mapped;
}

static void reset_keeps_by_policy(struct kunit *test)
{
	struct slabdev *sd = small_space(test, 64 * MIB);
	struct slabdev_arena *arena = new_arena(test, sd, 32 * MIB);

	KUNIT_EXPECT_EQ(test, mapped_after_reset(test, sd, arena), 20 * MIB);
	set_policy(test, sd, SLABDEV_TRIM, 6 * MIB);
	KUNIT_EXPECT_LE(test, mapped_after_reset(test, sd, arena), 6 * MIB);
	set_policy(test, sd, SLABDEV_AGGRESSIVE, 0);
	KUNIT_EXPECT_EQ(test, mapped_after_reset(test, sd, arena), 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).mapped, 0);
	set_policy(test, sd, SLABDEV_RETAIN, 0);
	KUNIT_EXPECT_EQ(test, mapped_after_reset(test, sd, arena), 20 * MIB);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 5 * MIB), 0);
	KUNIT_EXPECT_LE(test, arena_figures(test, arena).mapped, 6 * MIB);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).mapped, 0);
	expect_sound(test, sd);
	end_arena(test, arena);
	close_space(test, sd);
}

/* A trim leaves what is handed out, to the end of its chunk. */
static void trim_leaves_what_is_used(struct kunit *test)
{
	struct slabdev *sd = small_space(test, 64 * MIB);
	struct slabdev_arena *arena = new_arena(test, sd, 32 * MIB);
	struct slabdev_arena_mark mark;
	char *p = arena_take(test, arena, 5 * MIB);

	mem_fill(sd, p, 5 * MIB, 3);
	mark = arena_mark_of(test, arena);
	arena_take(test, arena, 20 * MIB);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).mapped, 26 * MIB);
	KUNIT_EXPECT_EQ(test, slabdev_arena_rewind(arena, &mark), 0);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).mapped, 26 * MIB);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).mapped, 6 * MIB);
	KUNIT_EXPECT_TRUE(test, mem_is(sd, p, 5 * MIB, 3));
	p = arena_take(test, arena, 20 * MIB);
	mem_fill(sd, p, 20 * MIB, 4);
	end_arena(test, arena);
	close_space(test, sd);
}

/* Where nobody says how much, addresses are shared out. */
static void default_arenas_take_less_and_less(struct kunit *test)
{
	struct slabdev *sd = small_space(test, 64 * MIB);
	struct slabdev_arena *arena[40];
	u32 i, n;

	for (n = 0; n < ARRAY_SIZE(arena); n++) {
		if (slabdev_arena_create(&arena[n], sd, NULL))
			break;
		KUNIT_EXPECT_LE(test, arena_figures(test, arena[n]).max_bytes,
				64 * MIB);
	}
	KUNIT_EXPECT_GE(test, n, 12);
	/* Objects have addresses yet. */
	EXPECT_FREED(test, sd, must_alloc(test, sd, 30 * MIB));
	arena_take(test, arena[0], 10 * MIB);
	for (i = 0; i < n; i++)
		end_arena(test, arena[i]);
	close_space(test, sd);
}

static void comm_spaces_have_small_arenas_only(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev_arena_attr arena_attr = SLABDEV_ARENA_ATTR_INIT;
	struct slabdev_arena *arena = NULL;
	struct slabdev *sd;

	need_merging(test, test->priv);
	attr.limit = 64 * MIB;
	attr.flags = SLABDEV_OPEN_COMM;
	sd = open_space_attr(test, &attr);
	arena_attr.max_bytes = 2 * MIB;
	KUNIT_EXPECT_EQ(test, slabdev_arena_create(&arena, sd, &arena_attr),
			-ENOTSUP);
	EXPECT_WORDS(test, slabdev_last_error(), "SLABDEV_OPEN_COMM");
	arena = new_arena(test, sd, MIB);
	arena_take(test, arena, 1000);
	end_arena(test, arena);
	close_space(test, sd);
}


/* ---- Long handles -------------------------------------------------------- */

/* The memory of a space whose handles are dear comes in long ones. */
static struct slabdev *shared_space(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.limit = 256 * MIB;
	if (!strcmp(test_spec(), "host"))
		attr.handle_type = SLABDEV_HANDLE_FD;
	return open_space_attr(test, &attr);
}

/* What lies in the handle in which the top is cannot go, and others need not
 * give more for it. */
static void the_handle_of_the_top_is_not_spare(struct kunit *test)
{
	struct slabdev *sd = shared_space(test);
	struct slabdev_arena *arena;
	u64 retained;

	if (has_regions(sd) || handle_max(sd) == CHUNK) {
		close_space(test, sd);
		kunit_skip(test, "each chunk can go");
	}
	arena = new_arena(test, sd, 128 * MIB);
	arena_take(test, arena, 64 * MIB);
	EXPECT_FREED(test, sd, must_alloc(test, sd, 20 * MIB));
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	arena_take(test, arena, MIB);
	settle(test, sd);
	retained = stats_of(test, sd).retained;
	KUNIT_EXPECT_GE(test, retained, 20 * MIB);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, retained), 0);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).mapped, 64 * MIB);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).retained, retained);
	end_arena(test, arena);
	close_space(test, sd);
}

/* ---- More than is needed ------------------------------------------------- */

static uint64_t count_calls(struct slabdev *sd, uint64_t bytes, void *arg)
{
	(void)sd;
	(void)bytes;
	++*(u32 *)arg;
	return 0;
}

/* A whole step is taken if it is there: nobody gives up anything for it. */
static void a_step_calls_no_shrinkers(struct kunit *test)
{
	struct slabdev *sd = small_space(test, 32 * MIB);
	struct slabdev_arena_attr attr = SLABDEV_ARENA_ATTR_INIT;
	struct slabdev_arena *arena;
	void *p = must_alloc(test, sd, 20 * MIB);
	u32 calls = 0, i;

	attr.max_bytes = 32 * MIB;
	attr.grow_bytes = 16 * MIB;
	arena = new_arena_attr(test, sd, &attr);
	KUNIT_ASSERT_EQ(test, slabdev_register_shrinker(sd, count_calls,
							&calls), 0);
	for (i = 0; i < 10; i++)
		arena_take(test, arena, MIB);
	KUNIT_EXPECT_EQ(test, calls, 0);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).mapped, 10 * MIB);
	/* For what is needed they are. */
	kunit_expect_report(test, REPORT_OUT_OF_MEMORY);
	EXPECT_NO_ROOM(test, arena, 6 * MIB, EDQUOT);
	KUNIT_EXPECT_GT(test, calls, 0);
	KUNIT_EXPECT_EQ(test, slabdev_unregister_shrinker(sd, count_calls,
							  &calls), 0);
	EXPECT_FREED(test, sd, p);
	end_arena(test, arena);
	close_space(test, sd);
}

/* Also where an arena is one object. */
static void more_than_the_limit_is_the_limit(struct kunit *test)
{
	struct slabdev *sd = open_space(test, 64 * MIB);
	struct slabdev_arena *arena = new_arena(test, sd, UINT64_MAX);

	KUNIT_EXPECT_LE(test, arena_figures(test, arena).max_bytes, 64 * MIB);
	arena_take(test, arena, MIB);
	EXPECT_NO_ROOM(test, arena, 64 * MIB, EDQUOT);
	EXPECT_WORDS(test, slabdev_last_error(), "the limit of the space");
	end_arena(test, arena);
	close_space(test, sd);
}

/* The fast path counts in one word, which what an arena hands out at once may
 * not fit. */
static void figures_of_much_memory_are_exact(struct kunit *test)
{
	struct slabdev_arena_attr attr = SLABDEV_ARENA_ATTR_INIT;
	struct slabdev *sd = small_space(test, 8 * GIB);
	struct slabdev_arena *arena;
	struct slabdev_arena_stats st;
	u64 n, asked = 0;

	attr.max_bytes = 6 * GIB;
	attr.grow_bytes = 6 * GIB;
	arena = new_arena_attr(test, sd, &attr);
	for (n = 0; asked < 5 * GIB; n++, asked += MIB - 7)
		(void)arena_take(test, arena, MIB - 7);
	st = arena_figures(test, arena);
	KUNIT_EXPECT_LE(test, st.grows, 2);
	KUNIT_EXPECT_EQ(test, st.allocs, n);
	KUNIT_EXPECT_EQ(test, st.requested_total, asked);
	KUNIT_EXPECT_EQ(test, st.padding, 7 * (n - 1));
	end_arena(test, arena);
	close_space(test, sd);
}

static const struct kunit_case arena_memory_cases[] = {
	KUNIT_CASE(an_arena_beyond_the_limit),
	KUNIT_CASE(an_arena_lacks_memory),
	KUNIT_CASE(idle_arenas_give),
	KUNIT_CASE(reset_keeps_by_policy),
	KUNIT_CASE(trim_leaves_what_is_used),
	KUNIT_CASE(default_arenas_take_less_and_less),
	KUNIT_CASE(comm_spaces_have_small_arenas_only),
	KUNIT_CASE(the_handle_of_the_top_is_not_spare),
	KUNIT_CASE(a_step_calls_no_shrinkers),
	KUNIT_CASE(more_than_the_limit_is_the_limit),
	KUNIT_CASE(figures_of_much_memory_are_exact),
	{ 0 }
};

static const struct kunit_suite arena_memory_suite = {
	.name = "arena_memory",
	.init = open_space_init,
	.exit = open_space_exit,
	.cases = arena_memory_cases,
	.any_space = true,
};
kunit_test_suite(arena_memory_suite);
