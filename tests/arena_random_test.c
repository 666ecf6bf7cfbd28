// SPDX-License-Identifier: BSD-2-Clause
/*
 * arena_random_test.c - random arenas against a list of what they handed out.
 *
 * The reference is a few lines: a top, rounded up, and a stack of tops. Every
 * address, every refusal and every figure must be what it says; every
 * allocation has a mark at both ends, which nobody else may have written. Other
 * arenas and objects, trims and policies go on beside it.
 */
#include <errno.h>

#include "tests/arena_space.h"
#include "tests/random.h"

#define NR_ARENAS 4u
#define BLOCKS_MAX 400u
#define MARKS_MAX 12u

struct block {
	char *p;
	u64 size;
	u32 word;
};

struct mark {
	struct slabdev_arena_mark mark;
	u64 top, requested;
	u32 nr_blocks;
};

struct twin {
	struct slabdev_arena *arena;
	char *base;
	u64 max, align;
	u64 top, requested, peak;
	u64 allocs, failed, total;
	struct block block[BLOCKS_MAX];
	u32 nr_blocks;
	struct mark mark[MARKS_MAX];
	u32 nr_marks;
};

struct world {
	struct kunit *test;
	struct slabdev *sd;
	u64 state;
	u32 word;
	struct twin twin[NR_ARENAS];
	void *object;
};

static u32 below(struct world *w, u32 n)
{
	return random_below(&w->state, n);
}

/* ---- Looking ------------------------------------------------------------- */

static void check_blocks(struct world *w, struct twin *t, u32 from)
{
	const struct block *b;
	u32 i;

	for (i = from; i < t->nr_blocks; i++) {
		b = &t->block[i];
		if (b->size < 8)
			continue;
		KUNIT_EXPECT_EQ(w->test, mem_get(w->sd, b->p), b->word);
		KUNIT_EXPECT_EQ(w->test,
				mem_get(w->sd, b->p + b->size - 4), b->word);
	}
}

static void check_figures(struct world *w, struct twin *t)
{
	struct slabdev_arena_stats st = arena_figures(w->test, t->arena);

	KUNIT_EXPECT_EQ(w->test, st.used, t->top);
	KUNIT_EXPECT_EQ(w->test, st.padding, t->top - t->requested);
	KUNIT_EXPECT_EQ(w->test, st.peak, t->peak);
	KUNIT_EXPECT_EQ(w->test, st.allocs, t->allocs);
	KUNIT_EXPECT_EQ(w->test, st.failed, t->failed);
	KUNIT_EXPECT_EQ(w->test, st.requested_total, t->total);
	KUNIT_EXPECT_EQ(w->test, st.marks, t->nr_marks);
	KUNIT_EXPECT_GE(w->test, st.mapped, st.used);
}

/* ---- Steps --------------------------------------------------------------- */

static void begin(struct world *w, struct twin *t)
{
	struct slabdev_arena_attr attr = SLABDEV_ARENA_ATTR_INIT;

	*t = (struct twin){ .max = 1 + random_size(&w->state, 40 * MIB) };
	t->align = (u64)1 << below(w, 14);
	attr.max_bytes = t->max;
	attr.align = t->align;
	attr.grow_bytes = below(w, 3) * 5 * MIB;
	attr.first_bytes = below(w, 4) ? 0 : t->max / 2;
	if (slabdev_arena_create(&t->arena, w->sd, &attr))
		t->arena = NULL;
}

static void end(struct world *w, struct twin *t)
{
	check_figures(w, t);
	check_blocks(w, t, 0);
	end_arena(w->test, t->arena);
	t->arena = NULL;
}

static void note_block(struct world *w, struct twin *t, char *p, u64 size)
{
	struct block *b = &t->block[t->nr_blocks++];

	*b = (struct block){ p, size, ++w->word };
	if (size < 8)
		return;
	mem_put(w->sd, p, b->word);
	mem_put(w->sd, p + size - 4, b->word);
}

/* Where the first one lies is the arena's to say; all others follow. */
static void take(struct world *w, struct twin *t)
{
	u64 align = below(w, 4) ? t->align : (u64)1 << below(w, 16);
	u64 size = random_size(&w->state, below(w, 8) ? 100000 : 12 * MIB);
	u64 addr = (u64)(uintptr_t)t->base + t->top;
	u64 start = t->base ? align_up(addr, align) - addr + t->top : 0;
	char *p;

	if (t->nr_blocks == BLOCKS_MAX)
		return;
	if (!t->base)
		align = t->align;
	p = align == t->align && below(w, 2) ?
	    slabdev_arena_alloc(t->arena, size) :
	    slabdev_arena_alloc_aligned(t->arena, size, align);
	if (!p) {
		/* Or the space is full, with what all have. */
		if (start + size <= t->max)
			KUNIT_EXPECT_EQ(w->test, errno, EDQUOT);
		t->failed++;
		return;
	}
	KUNIT_EXPECT_LE(w->test, start + size, t->max);
	if (!t->base)
		t->base = p;
	KUNIT_EXPECT_EQ(w->test, bytes_between(t->base, p), start);
	t->top = start + size;
	t->requested += size;
	t->total += size;
	t->allocs++;
	t->peak = max(t->peak, t->top);
	note_block(w, t, p, size);
}

static void mark(struct world *w, struct twin *t)
{
	struct mark *m = &t->mark[t->nr_marks];

	if (t->nr_marks == MARKS_MAX)
		return;
	m->mark = arena_mark_of(w->test, t->arena);
	KUNIT_EXPECT_EQ(w->test, m->mark.offset, t->top);
	m->top = t->top;
	m->requested = t->requested;
	m->nr_blocks = t->nr_blocks;
	t->nr_marks++;
}

static void rewind_to(struct world *w, struct twin *t)
{
	struct slabdev_arena_mark ended;
	struct mark *m;
	u32 i;

	if (!t->nr_marks)
		return;
	i = below(w, t->nr_marks);
	m = &t->mark[i];
	check_blocks(w, t, m->nr_blocks);
	ended = t->mark[i + below(w, t->nr_marks - i)].mark;
	KUNIT_EXPECT_EQ(w->test, slabdev_arena_rewind(t->arena, &m->mark), 0);
	KUNIT_EXPECT_EQ(w->test, slabdev_arena_rewind(t->arena, &ended),
			-EALREADY);
	t->top = m->top;
	t->requested = m->requested;
	t->nr_blocks = m->nr_blocks;
	t->nr_marks = i;
}

static void reset(struct world *w, struct twin *t)
{
	check_blocks(w, t, 0);
	KUNIT_EXPECT_EQ(w->test, slabdev_arena_reset(t->arena), 0);
	t->top = t->requested = 0;
	t->nr_blocks = t->nr_marks = 0;
}

/* What goes on beside. */
static void disturb(struct world *w)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;

	switch (below(w, 4)) {
	case 0:
		KUNIT_EXPECT_EQ(w->test, slabdev_trim(w->sd, below(w, 2) *
						      8 * MIB), 0);
		break;
	case 1:
		policy.mode = 1 + below(w, 3);
		policy.keep_bytes = below(w, 16) * MIB;
		KUNIT_EXPECT_EQ(w->test, slabdev_set_policy(w->sd, &policy), 0);
		break;
	default:
		if (w->object)
			EXPECT_FREED(w->test, w->sd, w->object);
		w->object = slabdev_alloc(w->sd, 1 + below(w, 12 * MIB));
		if (w->object)
			mem_put(w->sd, w->object, 0);
		break;
	}
}

static void step(struct world *w)
{
	struct twin *t = &w->twin[below(w, NR_ARENAS)];

	if (!t->arena) {
		begin(w, t);
		return;
	}
	switch (below(w, 40)) {
	case 0:
		end(w, t);
		break;
	case 1:
		reset(w, t);
		break;
	case 2:
	case 3:
	case 4:
		rewind_to(w, t);
		break;
	case 5:
	case 6:
	case 7:
	case 8:
		mark(w, t);
		break;
	case 9:
		disturb(w);
		break;
	case 10:
		check_figures(w, t);
		break;
	default:
		take(w, t);
		break;
	}
}

/* The limit is never reached: what is refused is the arena's. */
static void as_the_reference_says(struct kunit *test)
{
	struct world *w = kunit_kzalloc(test, sizeof(*w));
	u32 i, steps = mem_is_cheap() ? 12000 : 1500;

	w->test = test;
	w->sd = test->priv;
	w->state = random_seed(test);
	for (i = 0; i < steps; i++) {
		step(w);
		if (i % 500 == 0)
			expect_sound(test, w->sd);
	}
	for (i = 0; i < NR_ARENAS; i++)
		if (w->twin[i].arena)
			end(w, &w->twin[i]);
	if (w->object)
		EXPECT_FREED(test, w->sd, w->object);
	expect_empty(test, w->sd);
}

static const struct kunit_case arena_random_cases[] = {
	KUNIT_CASE(as_the_reference_says),
	{ 0 }
};

static const struct kunit_suite arena_random_suite = {
	.name = "arena_random",
	.init = open_space_init,
	.exit = open_space_exit,
	.cases = arena_random_cases,
	.any_space = true,
};
kunit_test_suite(arena_random_suite);
