// SPDX-License-Identifier: BSD-2-Clause
/*
 * arena_debug_test.c - writes past an allocation of an arena, and through a
 * pointer from before a rewind, are reported.
 */
#include <errno.h>

#include "core/log.h"
#include "tests/arena_space.h"
#include "tests/random.h"

static struct slabdev *watched(struct kunit *test, const char *letters)
{
	struct slabdev *sd = test->priv;

	KUNIT_ASSERT_EQ(test, slabdev_set_debug(sd, letters), 0);
	return sd;
}

static void write_byte(struct slabdev *sd, char *p, char byte)
{
	mem_write(sd, p, &byte, 1);
}

#define EXPECT_REPORT_HAS(test, words) \
	EXPECT_WORDS(test, kunit_report_text(test), words)

/* ---- Zones --------------------------------------------------------------- */

static void zones_are_behind_allocations(struct kunit *test)
{
	struct slabdev *sd = watched(test, "Z");
	struct slabdev_arena *arena = new_arena(test, sd, 8 * MIB);
	char *p = arena_take(test, arena, 100), *q;

	q = arena_take(test, arena, 250);
	KUNIT_EXPECT_EQ(test, bytes_between(p, q), 256);
	/* At least 16 bytes, to the next multiple of the alignment. */
	KUNIT_EXPECT_EQ(test, bytes_between(q, arena_take(test, arena, 1)),
			512);
	mem_fill(sd, p, 100, 1);
	mem_fill(sd, q, 250, 1);
	KUNIT_EXPECT_TRUE(test, mem_is(sd, p + 100, 156, 0xcc));
	KUNIT_EXPECT_TRUE(test, mem_is(sd, q + 250, 262, 0xcc));
	KUNIT_EXPECT_EQ(test, slabdev_validate(sd), 0);
	end_arena(test, arena);
}

/* Found by a walk as often as it looks, and when the allocation ends. */
static void an_overrun_is_found(struct kunit *test)
{
	struct slabdev *sd = watched(test, "Z");
	struct slabdev_arena *arena = new_arena(test, sd, 8 * MIB);
	struct slabdev_arena_mark mark;
	char *p;

	arena_take(test, arena, 1000);
	mark = arena_mark_of(test, arena);
	p = arena_take(test, arena, 100);
	write_byte(sd, p + 102, 7);
	kunit_expect_report(test, REPORT_RED_ZONE);
	KUNIT_EXPECT_EQ(test, slabdev_validate(sd), -EUCLEAN);
	EXPECT_REPORT_HAS(test, "Arena test: Right Redzone overwritten");
	EXPECT_REPORT_HAS(test, "3 bytes behind the end of the allocation");
	EXPECT_REPORT_HAS(test, "First byte 0x7 instead of 0xcc");
	EXPECT_REPORT_HAS(test, "size=100");
	kunit_expect_report(test, REPORT_RED_ZONE);
	KUNIT_EXPECT_EQ(test, slabdev_arena_rewind(arena, &mark), 0);
	EXPECT_REPORT_HAS(test, "rewound");
	KUNIT_EXPECT_EQ(test, slabdev_validate(sd), 0);
	p = arena_take(test, arena, 1);
	write_byte(sd, p + 1, 7);
	kunit_expect_report(test, REPORT_RED_ZONE);
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	EXPECT_REPORT_HAS(test, "1 byte behind the end");
	p = arena_take(test, arena, 256);
	write_byte(sd, p + 256 + 255, 7);
	kunit_expect_report(test, REPORT_RED_ZONE);
	end_arena(test, arena);
	EXPECT_REPORT_HAS(test, "destroyed");
}

static struct {
	struct slabdev_arena *arena;
	struct slabdev_arena_mark mark;
	u32 n;
} from_the_report;

/* The owner goes on while a report is told: what comes then has whole zones. */
static int go_on(const struct slabdev_report *report, void *arg)
{
	struct kunit *test = arg;
	u32 i;

	(void)report;
	if (from_the_report.n++)
		return 1;
	KUNIT_EXPECT_EQ(test, slabdev_arena_rewind(from_the_report.arena,
						   &from_the_report.mark), 0);
	for (i = 0; i < 4; i++)
		arena_take(test, from_the_report.arena, 40 + i);
	return 1;
}

static void what_is_new_is_not_judged_by_what_was(struct kunit *test)
{
	struct slabdev_arena_attr attr = SLABDEV_ARENA_ATTR_INIT;
	struct slabdev *sd = watched(test, "Z");
	char *p;

	attr.max_bytes = 8 * MIB;
	attr.align = 8;
	from_the_report.n = 0;
	from_the_report.arena = new_arena_attr(test, sd, &attr);
	from_the_report.mark = arena_mark_of(test, from_the_report.arena);
	p = arena_take(test, from_the_report.arena, 100);
	mem_fill(sd, p, 100, 1);
	mem_fill(sd, p + 100, 20, 0x5a);
	arena_take(test, from_the_report.arena, 100);
	slabdev_set_report(go_on, test);
	KUNIT_EXPECT_EQ(test, slabdev_validate(sd), -EUCLEAN);
	slabdev_set_report(NULL, NULL);
	/* Told by the walk, and by the rewind within it. */
	KUNIT_EXPECT_EQ(test, from_the_report.n, 2);
	KUNIT_EXPECT_EQ(test, slabdev_validate(sd), 0);
	end_arena(test, from_the_report.arena);
}

/* Its zones are looked at when it goes, and not before. */
static void a_refused_end_forgets_nothing(struct kunit *test)
{
	struct slabdev_share share = SLABDEV_SHARE_INIT;
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev_arena *arena;
	struct slabdev *sd;
	char *p;

	host_only(test, "memory that is shared by file descriptors");
	attr.limit = 32 * MIB;
	attr.handle_type = SLABDEV_HANDLE_FD;
	sd = open_space_attr(test, &attr);
	KUNIT_ASSERT_EQ(test, slabdev_set_debug(sd, "Z"), 0);
	arena = new_arena(test, sd, 64 * KIB);
	p = arena_take(test, arena, 100);
	KUNIT_ASSERT_EQ(test, slabdev_export(sd, p, &share), 0);
	write_byte(sd, p + 100, 7);
	KUNIT_EXPECT_EQ(test, slabdev_arena_destroy(arena), -EBUSY);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).allocs, 1);
	KUNIT_EXPECT_EQ(test, slabdev_export_end(sd, p, &share), 0);
	kunit_expect_report(test, REPORT_RED_ZONE);
	end_arena(test, arena);
	EXPECT_REPORT_HAS(test, "destroyed");
	close_space(test, sd);
}

/* The last one needs room for its zone, too. */
static void zones_count_against_the_arena(struct kunit *test)
{
	struct slabdev *sd = watched(test, "Z");
	struct slabdev_arena *arena = new_arena(test, sd, 2 * MIB);

	EXPECT_NO_ROOM(test, arena, 2 * MIB - 15, ENOSPC);
	arena_take(test, arena, 2 * MIB - 16);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).padding, 16);
	EXPECT_NO_ROOM(test, arena, 1, ENOSPC);
	end_arena(test, arena);
}

/* ---- Poison -------------------------------------------------------------- */

static void a_write_after_a_rewind_is_found(struct kunit *test)
{
	struct slabdev *sd = watched(test, "P");
	struct slabdev_arena *arena = new_arena(test, sd, 8 * MIB);
	struct slabdev_arena_mark mark;
	char *p;

	arena_take(test, arena, 300);
	mark = arena_mark_of(test, arena);
	p = arena_take(test, arena, 3000);
	mem_fill(sd, p, 3000, 1);
	KUNIT_EXPECT_EQ(test, slabdev_arena_rewind(arena, &mark), 0);
	KUNIT_EXPECT_TRUE(test, mem_is(sd, p, 3000, 0x6b));
	write_byte(sd, p + 2000, 9);
	/* Not there, */
	arena_take(test, arena, 1900);
	/* but there. */
	kunit_expect_report(test, REPORT_POISON);
	arena_take(test, arena, 1900);
	EXPECT_REPORT_HAS(test, "Arena test: write after rewind");
	EXPECT_REPORT_HAS(test, "@offset=2512");
	EXPECT_REPORT_HAS(test, "First byte 0x9 instead of 0x6b");
	EXPECT_REPORT_HAS(test, "allocation of 1900 bytes");
	end_arena(test, arena);
}

static void a_write_after_a_reset_is_found(struct kunit *test)
{
	struct slabdev *sd = watched(test, "ZP");
	struct slabdev_arena *arena = new_arena(test, sd, 30 * MIB);
	char *p = arena_take(test, arena, 5 * MIB);

	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	write_byte(sd, p + 3 * MIB, 9);
	kunit_expect_report(test, REPORT_POISON);
	arena_take(test, arena, 5 * MIB);
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	arena_take(test, arena, 5 * MIB);
	end_arena(test, arena);
}

/* Before anybody gets the memory: by the walk, each time. What is handed out
 * then is its owner's, and what was trimmed nobody's. */
static void a_walk_finds_it_before(struct kunit *test)
{
	struct slabdev *sd = watched(test, "P");
	struct slabdev_arena *arena = new_arena(test, sd, 30 * MIB);
	struct slabdev_arena_mark mark = arena_mark_of(test, arena);
	char *p = arena_take(test, arena, 5 * MIB);
	int i;

	KUNIT_EXPECT_EQ(test, slabdev_arena_rewind(arena, &mark), 0);
	KUNIT_EXPECT_EQ(test, slabdev_validate(sd), 0);
	write_byte(sd, p + 3 * MIB, 9);
	for (i = 0; i < 2; i++) {
		kunit_expect_report(test, REPORT_POISON);
		KUNIT_EXPECT_EQ(test, slabdev_validate(sd), -EUCLEAN);
		EXPECT_REPORT_HAS(test, "Arena test: write after rewind");
		EXPECT_REPORT_HAS(test, "First byte 0x9 instead of 0x6b");
		EXPECT_REPORT_HAS(test, "found when the arena was validated");
	}
	kunit_expect_report(test, REPORT_POISON);
	p = arena_take(test, arena, 4 * MIB);
	mem_fill(sd, p, 4 * MIB, 1);
	KUNIT_EXPECT_EQ(test, slabdev_validate(sd), 0);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, slabdev_validate(sd), 0);
	end_arena(test, arena);
}

/* Memory that went and came is not poison, and nothing is said of it. */
static void memory_that_was_given_back_is_not_judged(struct kunit *test)
{
	struct slabdev *sd = watched(test, "ZP");
	struct slabdev_arena *arena;

	need_merging(test, sd);
	arena = new_arena(test, sd, 30 * MIB);
	arena_take(test, arena, 9 * MIB);
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, arena_figures(test, arena).mapped, 0);
	arena_take(test, arena, 9 * MIB);
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 4 * MIB), 0);
	arena_take(test, arena, 9 * MIB);
	end_arena(test, arena);
}

/* ---- Letters ------------------------------------------------------------- */

/* Letters are asked by the name of the arena, when it is made. */
static void letters_go_by_name(struct kunit *test)
{
	struct slabdev *sd = watched(test, "Z,tes*");
	struct slabdev_arena_attr attr = SLABDEV_ARENA_ATTR_INIT;
	struct slabdev_arena *named = new_arena(test, sd, 8 * MIB), *other;
	char *p;

	attr.max_bytes = 8 * MIB;
	other = new_arena_attr(test, sd, &attr);
	KUNIT_ASSERT_EQ(test, slabdev_set_debug(sd, "-"), 0);
	p = arena_take(test, named, 240);
	KUNIT_EXPECT_EQ(test, bytes_between(p, arena_take(test, named, 1)),
			256);
	KUNIT_EXPECT_EQ(test, bytes_between(p, arena_take(test, named, 241)),
			512);
	KUNIT_EXPECT_EQ(test, bytes_between(p, arena_take(test, named, 1)),
			1024);
	p = arena_take(test, other, 241);
	KUNIT_EXPECT_EQ(test, bytes_between(p, arena_take(test, other, 1)),
			256);
	end_arena(test, other);
	end_arena(test, named);
}

/* A program that makes no mistake is told of none. */
static void nothing_is_made_up(struct kunit *test)
{
	struct slabdev *sd = watched(test, "ZP");
	struct slabdev_arena *arena = new_arena(test, sd, 30 * MIB);
	struct slabdev_arena_mark mark[8];
	u64 state = random_seed(test), size;
	u32 i, n = 0, steps = mem_is_cheap() ? 2000 : 300;
	char *p;

	for (i = 0; i < steps; i++) {
		switch (random_below(&state, 12)) {
		case 0:
			KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
			n = 0;
			break;
		case 1:
			if (n)
				KUNIT_EXPECT_EQ(test,
					slabdev_arena_rewind(arena,
							     &mark[--n]), 0);
			break;
		case 2:
			if (n < ARRAY_SIZE(mark))
				mark[n++] = arena_mark_of(test, arena);
			break;
		case 3:
			KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
			break;
		default:
			size = random_size(&state, MIB);
			p = slabdev_arena_alloc(arena, size);
			if (p)
				mem_fill(sd, p, size, 0x77);
			break;
		}
	}
	KUNIT_EXPECT_EQ(test, slabdev_validate(sd), 0);
	end_arena(test, arena);
}

static const struct kunit_case arena_debug_cases[] = {
	KUNIT_CASE(zones_are_behind_allocations),
	KUNIT_CASE(an_overrun_is_found),
	KUNIT_CASE(what_is_new_is_not_judged_by_what_was),
	KUNIT_CASE(a_refused_end_forgets_nothing),
	KUNIT_CASE(zones_count_against_the_arena),
	KUNIT_CASE(a_write_after_a_rewind_is_found),
	KUNIT_CASE(a_write_after_a_reset_is_found),
	KUNIT_CASE(a_walk_finds_it_before),
	KUNIT_CASE(memory_that_was_given_back_is_not_judged),
	KUNIT_CASE(letters_go_by_name),
	KUNIT_CASE(nothing_is_made_up),
	{ 0 }
};

static const struct kunit_suite arena_debug_suite = {
	.name = "arena_debug",
	.init = open_space_init,
	.exit = open_space_exit,
	.cases = arena_debug_cases,
	.any_space = true,
};
kunit_test_suite(arena_debug_suite);
