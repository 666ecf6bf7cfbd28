// SPDX-License-Identifier: BSD-2-Clause
/*
 * arena_test.c - arenas: offsets, bounds, memory and its books.
 *
 * Tokens and marks are in arena_tokens.c. What is about streams is in
 * arena_order_test.c, on the model of the driver in cuda_arena_test.c; errors
 * of the backend in arena_fail_test.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "tests/arena_cases.h"
#include "tests/random.h"

/* ---- The numbers of the chapter ------------------------------------------ */

static void offsets_are_those_of_the_chapter(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_arena *arena = new_arena(test, sd, 4096);
	struct slabdev_arena_stats st;
	char *a, *b;

	a = arena_take(test, arena, 400);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).used, 400);
	b = arena_take(test, arena, 200);
	KUNIT_EXPECT_EQ(test, bytes_between(a, b), 512);
	st = arena_figures(test, arena);
	KUNIT_EXPECT_EQ(test, st.padding, 112);
	KUNIT_EXPECT_EQ(test, st.used, 712);
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).used, 0);

	KUNIT_EXPECT_PTR_EQ(test, arena_take(test, arena, 300), a);
	KUNIT_EXPECT_PTR_EQ(test, arena_take(test, arena, 1), b);
	st = arena_figures(test, arena);
	KUNIT_EXPECT_EQ(test, st.padding, 212);
	KUNIT_EXPECT_EQ(test, st.padding_total, 324);
	KUNIT_EXPECT_EQ(test, st.requested_total, 901);
	KUNIT_EXPECT_EQ(test, st.peak, 712);
	KUNIT_EXPECT_EQ(test, st.allocs, 4);
	end_arena(test, arena);
}

/* There, the only check was one that NDEBUG takes away. */
static void an_arena_of_800_bytes_refuses_4000(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_arena *arena = new_arena(test, sd, 800);
	u64 before = stats_of(test, sd).failed;

	EXPECT_NO_ROOM(test, arena, 4000, ENOSPC);
	EXPECT_WORDS(test, slabdev_last_error(), "attr.max_bytes 800");
	arena_take(test, arena, 700);
	EXPECT_NO_ROOM(test, arena, 101, ENOSPC);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).used, 700);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).failed, 2);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).failed, before + 2);
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	arena_take(test, arena, 800);
	EXPECT_NO_ROOM(test, arena, 1, ENOSPC);
	end_arena(test, arena);
}

static void padding_is_less_than_the_alignment(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_arena *arena = new_arena(test, sd, 8 * MIB);
	u64 state = random_seed(test), before = 0, now, i;

	for (i = 0; i < 5000; i++) {
		arena_take(test, arena, random_size(&state, 2000));
		now = arena_figures(test, arena).padding;
		KUNIT_EXPECT_LE(test, now - before, 255);
		before = now;
	}
	end_arena(test, arena);
}

/* ---- Growth -------------------------------------------------------------- */

#define NR_BLOCKS 200u

/* Addresses stay, and so does what is there, however the arena grows. */
static void growth_moves_nothing(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_arena *arena = new_arena(test, sd, 512 * MIB);
	u64 state = random_seed(test);
	char *p[NR_BLOCKS];
	u64 size[NR_BLOCKS];
	u32 i;

	for (i = 0; i < NR_BLOCKS; i++) {
		size[i] = random_size(&state, 2 * MIB);
		p[i] = arena_take(test, arena, size[i]);
		if (i)
			KUNIT_EXPECT_EQ(test, bytes_between(p[0], p[i]),
					align_up(bytes_between(p[0], p[i - 1]) +
						 size[i - 1], 256));
		mem_fill(sd, p[i], size[i], (int)(i + 1) & 0xff);
	}
	for (i = 0; i < NR_BLOCKS; i++)
		KUNIT_EXPECT_TRUE(test, mem_is(sd, p[i], size[i],
					       (int)(i + 1) & 0xff));
	if (!has_regions(sd))
		KUNIT_EXPECT_GT(test, arena_figures(test, arena).grows, 2);
	end_arena(test, arena);
}

static void a_million_allocations(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_arena *arena = new_arena(test, sd, 600 * MIB);
	struct slabdev_arena_stats st;
	char *first = arena_take(test, arena, 17);
	u64 calls;
	u32 i, round;

	for (round = 0; round < 2; round++) {
		calls = calls_of(test, sd);
		for (i = 1; i < 1000000; i++)
			if (slabdev_arena_alloc(arena, 1 + i % 400) == NULL)
				break;
		KUNIT_EXPECT_EQ(test, i, 1000000);
		st = arena_figures(test, arena);
		KUNIT_EXPECT_EQ(test, st.allocs, (round + 1) * 1000000);
		KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
		KUNIT_EXPECT_PTR_EQ(test, slabdev_arena_alloc(arena, 17),
				    first);
	}
	/* The second round used the same memory. */
	KUNIT_EXPECT_EQ(test, calls_of(test, sd), calls);
	KUNIT_EXPECT_LE(test, st.padding, st.used);
	end_arena(test, arena);
}

/* First memory at once, then in the steps that were asked for. */
static void memory_comes_in_steps(struct kunit *test)
{
	struct slabdev_arena_attr attr = SLABDEV_ARENA_ATTR_INIT;
	struct slabdev *sd = test->priv;
	struct slabdev_arena *arena;
	u64 calls;

	need_merging(test, sd);
	attr.max_bytes = 100 * MIB;
	attr.first_bytes = 3 * MIB;
	attr.grow_bytes = 15 * MIB;
	arena = new_arena_attr(test, sd, &attr);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).mapped, 4 * MIB);
	calls = calls_of(test, sd);
	arena_take(test, arena, 4 * MIB);
	KUNIT_EXPECT_EQ(test, calls_of(test, sd), calls);
	arena_take(test, arena, 1);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).mapped, 20 * MIB);
	arena_take(test, arena, 30 * MIB);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).mapped, 36 * MIB);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).arena_bytes, 36 * MIB);
	/* No further than it may. */
	arena_take(test, arena, 60 * MIB);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).mapped, 96 * MIB);
	arena_take(test, arena, 3 * MIB);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).mapped, 100 * MIB);
	EXPECT_NO_ROOM(test, arena, 20 * MIB, ENOSPC);
	end_arena(test, arena);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).arena_bytes, 0);
}

/* ---- Sizes and alignments ------------------------------------------------ */

static void what_cannot_be_is_refused(struct kunit *test)
{
	static const size_t sizes[] = { SIZE_MAX, SIZE_MAX - 255, SIZE_MAX / 2,
					(size_t)-4096, 16 * MIB + 1 };
	struct slabdev *sd = test->priv;
	struct slabdev_arena *arena = new_arena(test, sd, 16 * MIB);
	u32 i;

	errno = 5;
	KUNIT_EXPECT_NULL(test, slabdev_arena_alloc(arena, 0));
	KUNIT_EXPECT_EQ(test, errno, 0);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		errno = 0;
		KUNIT_EXPECT_NULL(test, slabdev_arena_alloc(arena, sizes[i]));
		KUNIT_EXPECT_TRUE(test, errno == EOVERFLOW || errno == ENOSPC);
		KUNIT_EXPECT_NULL(test,
				  slabdev_arena_alloc_aligned(arena, sizes[i],
							      4096));
	}
	for (i = 0; i < 64; i++) {
		errno = 0;
		KUNIT_EXPECT_NULL(test,
				  slabdev_arena_alloc_aligned(arena, 1,
							      3 * i));
		KUNIT_EXPECT_EQ(test, errno, EINVAL);
	}
	KUNIT_EXPECT_NULL(test, slabdev_arena_alloc_aligned(arena, 1, 2 * GIB));
	KUNIT_EXPECT_EQ(test, errno, EINVAL);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).used, 0);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).allocs, 0);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).failed, 75);
	end_arena(test, arena);
}

static void alignments_are_kept(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_arena *arena = new_arena(test, sd, 64 * MIB);
	u64 align;
	char *p;

	for (align = 1; align <= 8 * MIB; align *= 2) {
		p = slabdev_arena_alloc_aligned(arena, 10, align);
		KUNIT_ASSERT_NOT_NULL(test, p);
		KUNIT_EXPECT_EQ(test, (u64)(uintptr_t)p % align, 0);
		mem_fill(sd, p, 10, 1);
	}
	/* Below the arena's own alignment it is what was asked for. */
	KUNIT_EXPECT_PTR_EQ(test, slabdev_arena_alloc_aligned(arena, 1, 1),
			    p + 10);
	end_arena(test, arena);
}

/* By address: every allocation, the first too. */
static void an_arena_has_an_alignment(struct kunit *test)
{
	struct slabdev_arena_attr attr = SLABDEV_ARENA_ATTR_INIT;
	struct slabdev *sd = test->priv;
	struct slabdev_arena *arena;
	u64 align;
	char *p, *q;

	for (align = 1; align <= 64 * MIB; align *= 4) {
		attr.align = align;
		attr.max_bytes = max(2 * align, (u64)300);
		arena = new_arena_attr(test, sd, &attr);
		p = arena_take(test, arena, 1);
		q = arena_take(test, arena, 1);
		KUNIT_EXPECT_EQ(test, (u64)(uintptr_t)p % align, 0);
		KUNIT_EXPECT_EQ(test, bytes_between(p, q), align);
		mem_fill(sd, q, 1, 1);
		end_arena(test, arena);
		expect_sound(test, sd);
	}
}

static void attributes_are_checked(struct kunit *test)
{
	static const struct {
		struct slabdev_arena_attr attr;
		int err;
		const char *words;
	} bad[] = {
		{ { .align = 3 }, -EINVAL, "attr.align 3" },
		{ { .align = 2 * GIB }, -EINVAL, "attr.align" },
		{ { .flags = 1 }, -EINVAL, "attr.flags" },
		{ { .reserved = 7 }, -EINVAL, "attr.reserved" },
		{ { .max_bytes = 4096, .first_bytes = 4097 }, -EINVAL,
		  "attr.first_bytes" },
		{ { .name = "a\nb" }, -EINVAL, "attr.name" },
		{ { .name = "0123456789012345678901234567890123456789"
			    "012345678901234567890123" }, -EINVAL,
		  "attr.name" },
	};
	struct slabdev *sd = test->priv;
	struct slabdev_arena *arena = NULL;
	struct slabdev_arena_attr attr;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		attr = bad[i].attr;
		attr.size = sizeof(attr);
		KUNIT_EXPECT_EQ(test, slabdev_arena_create(&arena, sd, &attr),
				bad[i].err);
		EXPECT_WORDS(test, slabdev_last_error(), bad[i].words);
	}
	KUNIT_EXPECT_NULL(test, arena);
	attr = (struct slabdev_arena_attr)SLABDEV_ARENA_ATTR_INIT;
	attr.size = 4;
	KUNIT_EXPECT_EQ(test, slabdev_arena_create(&arena, sd, &attr),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_arena_create(NULL, sd, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_arena_create(&arena, NULL, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).arenas, 0);
}

/* ---- Addresses ----------------------------------------------------------- */

static void check_address(struct kunit *test, struct slabdev *sd, char *p,
			  const char *words)
{
	char text[512] = "";

	KUNIT_EXPECT_EQ(test, slabdev_usable_size(sd, p), 0);
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_NULL(test, slabdev_realloc(sd, p, 10));
	KUNIT_EXPECT_EQ(test, errno, EINVAL);
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, p), -EINVAL);
	EXPECT_WORDS(test, slabdev_last_error(), "arena 'test'");
	EXPECT_WORDS(test, slabdev_last_error(), "slabdev_arena_rewind()");
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_EQ(test, slabdev_free_sized(sd, p, 100), -EINVAL);
	KUNIT_EXPECT_GE(test, slabdev_explain(p, text, sizeof(text)), 0);
	EXPECT_WORDS(test, text, words);
}

/* Addresses in an arena are no objects, and whose they are is said. */
static void addresses_name_their_arena(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_arena *arena;
	char text[512];
	char *p;

	need_merging(test, sd);
	arena = new_arena(test, sd, 32 * MIB);
	p = arena_take(test, arena, 5000);
	check_address(test, sd, p, "0 bytes into arena 'test'");
	check_address(test, sd, p + 4999, "4999 bytes into arena 'test'");
	check_address(test, sd, p + 6000, "behind the 5000");
	check_address(test, sd, p + 20 * MIB, "behind the 5000");
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	check_address(test, sd, p, "rewound or reset");
	KUNIT_EXPECT_EQ(test, slabdev_explain(p, text, sizeof(text)), 1);
	end_arena(test, arena);
	KUNIT_EXPECT_EQ(test, slabdev_explain(p, text, sizeof(text)), 1);
	KUNIT_EXPECT_NULL(test, strstr(text, "arena"));
}

/* One that is an object is refused as a buffer's is. */
static void small_arenas_own_an_object(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_arena *arena = new_arena(test, sd, 4096);
	char *p = arena_take(test, arena, 400);
	char text[512] = "";

	KUNIT_EXPECT_EQ(test, stats_of(test, sd).live_objects, 1);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).arenas, 1);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).arena_bytes, 0);
	kunit_expect_report(test, REPORT_INVALID_POINTER);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, p), -EINVAL);
	EXPECT_WORDS(test, slabdev_last_error(), "arena 'test'");
	EXPECT_WORDS(test, slabdev_last_error(), "slabdev_arena_destroy()");
	KUNIT_EXPECT_EQ(test, slabdev_explain(p, text, sizeof(text)), 0);
	EXPECT_WORDS(test, text, "arena 'test'");
	end_arena(test, arena);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).live_objects, 0);
}

/* ---- The whole space ----------------------------------------------------- */

static void reports_list_arenas(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_arena *arena = new_arena(test, sd, 32 * MIB);
	char text[16 * 1024] = "";
	FILE *out = fmemopen(text, sizeof(text) - 1, "w");

	KUNIT_ASSERT_NOT_NULL(test, out);
	arena_take(test, arena, 400);
	arena_take(test, arena, 200);
	KUNIT_EXPECT_EQ(test, slabdev_report(sd, out), 0);
	fclose(out);
	EXPECT_WORDS(test, text, "1 arenas");
	EXPECT_WORDS(test, text, "padding");
	EXPECT_WORDS(test, text, "\ntest ");
	EXPECT_WORDS(test, text, " 712 ");
	end_arena(test, arena);
}

#define NR_ARENAS 300u

static void many_arenas_at_once(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_arena *arena[NR_ARENAS];
	char *p[NR_ARENAS];
	u32 i;

	for (i = 0; i < NR_ARENAS; i++) {
		arena[i] = new_arena(test, sd, i % 3 ? 1 + i * 100 : 3 * MIB);
		p[i] = arena_take(test, arena[i], 1);
		mem_fill(sd, p[i], 1, (int)i & 0xff);
	}
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).arenas, NR_ARENAS);
	expect_sound(test, sd);
	for (i = 0; i < NR_ARENAS; i++)
		KUNIT_EXPECT_TRUE(test, mem_is(sd, p[i], 1, (int)i & 0xff));
	for (i = 0; i < NR_ARENAS; i += 2)
		end_arena(test, arena[i]);
	expect_sound(test, sd);
	for (i = 1; i < NR_ARENAS; i += 2)
		end_arena(test, arena[i]);
	expect_empty(test, sd);
}

static void closing_lists_arenas(struct kunit *test)
{
	struct slabdev_arena *arena, *small;
	struct slabdev *sd;

	need_merging(test, test->priv);
	sd = open_space(test, 256 * MIB);
	arena = new_arena(test, sd, 32 * MIB);
	small = new_arena(test, sd, 4096);
	arena_take(test, arena, 1000);
	arena_take(test, small, 1000);
	/* An object is live too: a report of both. */
	kunit_expect_report(test, REPORT_LIVE_OBJECTS);
	kunit_expect_report(test, REPORT_LIVE_OBJECTS);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), -EBUSY);
	EXPECT_WORDS(test, slabdev_last_error(), "1 live objects");
	EXPECT_WORDS(test, kunit_report_text(test), "not destroyed");
	end_arena(test, small);
	kunit_expect_report(test, REPORT_LIVE_OBJECTS);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), -EBUSY);
	EXPECT_WORDS(test, slabdev_last_error(), "1 arenas");
	EXPECT_WORDS(test, kunit_report_text(test), "test");
	arena_take(test, arena, 1000);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, SLABDEV_CLOSE_FORCE), 0);
	expect_refused(test, arena, -EALREADY);
}

/* ---- Children ------------------------------------------------------------ */

static int use_in_child(struct slabdev *sd, struct slabdev_arena *arena,
			char *p, struct slabdev_arena_mark *mark)
{
	char *q;

	if (*p != 5 || slabdev_validate(sd))
		return 1;
	q = slabdev_arena_alloc(arena, 10 * MIB);
	if (!q)
		return 2;
	memset(q, 6, 10 * MIB);
	if (slabdev_arena_rewind(arena, mark) || slabdev_trim(sd, 0))
		return 3;
	if (*p != 5 || slabdev_validate(sd))
		return 4;
	return slabdev_arena_destroy(arena) || slabdev_close(sd, 0) ? 5 : 0;
}

static void arenas_go_on_in_a_child(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_arena *arena;
	struct slabdev_arena_mark mark;
	int status = -1;
	pid_t pid;
	char *p;

	host_only(test, "device memory does not survive a fork");
	arena = new_arena(test, sd, 32 * MIB);
	p = arena_take(test, arena, 5 * MIB);
	memset(p, 5, 5 * MIB);
	mark = arena_mark_of(test, arena);
	pid = fork();
	KUNIT_ASSERT_GE(test, pid, 0);
	if (!pid)
		_exit(use_in_child(sd, arena, p, &mark));
	KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ(test, status, 0);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).used, 5 * MIB);
	end_arena(test, arena);
}

static const struct kunit_case arena_cases[] = {
	KUNIT_CASE(offsets_are_those_of_the_chapter),
	KUNIT_CASE(an_arena_of_800_bytes_refuses_4000),
	KUNIT_CASE(padding_is_less_than_the_alignment),
	KUNIT_CASE(growth_moves_nothing),
	KUNIT_CASE(a_million_allocations),
	KUNIT_CASE(memory_comes_in_steps),
	KUNIT_CASE(what_cannot_be_is_refused),
	KUNIT_CASE(alignments_are_kept),
	KUNIT_CASE(an_arena_has_an_alignment),
	KUNIT_CASE(attributes_are_checked),
	KUNIT_CASE(stale_tokens_are_refused),
	KUNIT_CASE(what_is_no_token_is_refused),
	KUNIT_CASE(rewinding_goes_back_to_a_mark),
	KUNIT_CASE(misused_marks_are_refused),
	KUNIT_CASE(marks_are_counted),
	KUNIT_CASE(addresses_name_their_arena),
	KUNIT_CASE(small_arenas_own_an_object),
	KUNIT_CASE(reports_list_arenas),
	KUNIT_CASE(many_arenas_at_once),
	KUNIT_CASE(closing_lists_arenas),
	KUNIT_CASE(arenas_go_on_in_a_child),
	{ 0 }
};

static const struct kunit_suite arena_suite = {
	.name = "arena",
	.init = open_space_init,
	.exit = open_space_exit,
	.cases = arena_cases,
	.any_space = true,
};
kunit_test_suite(arena_suite);
