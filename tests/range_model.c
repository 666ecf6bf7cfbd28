// SPDX-License-Identifier: BSD-2-Clause
/*
 * range_model.c - a range beside a reference that cannot be wrong.
 *
 * The reference keeps one byte an integer and searches by looking at each. A
 * random step is done on both, the answers are compared, and the range is
 * validated. A failure names the step; the seed is printed before.
 */
#include "core/range.h"
#include "tests/kunit/kunit.h"
#include "tests/random.h"
#include "tests/range_model.h"

enum ref_state { OUTSIDE, FREE, USED };

struct ref_run {
	u32 first, n;
};

struct model {
	struct kunit *test;
	struct range r;
	u32 max;
	u8 *state;		/* enum ref_state, by integer */
	struct ref_run *runs;	/* allocations */
	u32 nr_runs;
	u64 random;
	u32 step;
};

static u32 pick(struct model *m, u32 n)
{
	return random_below(&m->random, n);
}

static bool all_are(const struct model *m, u32 first, u32 n, u8 state)
{
	for (u32 i = first; i < first + n; i++)
		if (m->state[i] != state)
			return false;
	return true;
}

static void set_state(struct model *m, u32 first, u32 n, u8 state)
{
	memset(m->state + first, state, n);
}

static void remember(struct model *m, u32 first, u32 n)
{
	set_state(m, first, n, USED);
	m->runs[m->nr_runs++] = (struct ref_run){ first, n };
}

static bool reference_has_room(const struct model *m, u32 n, u32 align)
{
	for (u32 i = 0; i + n <= m->max; i += align)
		if (all_are(m, i, n, FREE))
			return true;
	return false;
}

static void step_add(struct model *m)
{
	u32 n = 1 + pick(m, m->max / 8);
	u32 first = pick(m, m->max - n + 1);

	if (!all_are(m, first, n, OUTSIDE))
		return;
	KUNIT_ASSERT_EQ(m->test, range_add(&m->r, first, n), 0);
	set_state(m, first, n, FREE);
}

/* Slabs of 1 .. 16, sometimes a longer run, sometimes aligned. */
static void step_alloc(struct model *m)
{
	u32 n = 1 + pick(m, pick(m, 4) ? 16 : m->max / 8);
	u32 align = pick(m, 4) ? 1 : 1u << pick(m, 6);
	u32 first = range_alloc(&m->r, n, align);

	if (first == RANGE_NONE) {
		KUNIT_EXPECT_FALSE(m->test, reference_has_room(m, n, align));
		return;
	}
	KUNIT_ASSERT_LE(m->test, first + n, m->max);
	KUNIT_EXPECT_EQ(m->test, first % align, 0);
	KUNIT_ASSERT_TRUE(m->test, all_are(m, first, n, FREE));
	remember(m, first, n);
	KUNIT_EXPECT_EQ(m->test, range_len(&m->r, first), n);
	KUNIT_EXPECT_EQ(m->test, range_head(&m->r, first + n - 1), first);
}

static void step_free(struct model *m)
{
	struct ref_run *run;
	u32 keep = 0;

	if (!m->nr_runs)
		return;
	run = &m->runs[pick(m, m->nr_runs)];
	if (!pick(m, 4))
		keep = pick(m, run->n + 1);
	if (keep < run->n) {
		range_split(&m->r, run->first + keep);
		range_free(&m->r, run->first + keep, run->n - keep);
	}
	set_state(m, run->first + keep, run->n - keep, FREE);
	run->n = keep;
	if (!keep)
		*run = m->runs[--m->nr_runs];
}

/* Ask about one integer; then take what is free from there on, or remove it. */
static void step_ask(struct model *m)
{
	u32 i = pick(m, m->max);
	u32 first = i, end = i, got_first, got_n;
	bool got = range_free_run(&m->r, i, &got_first, &got_n);

	KUNIT_EXPECT_EQ(m->test, range_has(&m->r, i), m->state[i] != OUTSIDE);
	KUNIT_ASSERT_EQ(m->test, got, m->state[i] == FREE);
	if (!got)
		return;
	while (first && m->state[first - 1] == FREE)
		first--;
	while (end < m->max && m->state[end] == FREE)
		end++;
	KUNIT_ASSERT_EQ(m->test, got_first, first);
	KUNIT_ASSERT_EQ(m->test, got_n, end - first);
	if (pick(m, 2)) {
		KUNIT_ASSERT_TRUE(m->test, range_alloc_at(&m->r, i, end - i));
		remember(m, i, end - i);
	} else {
		range_remove(&m->r, i, end - i);
		set_state(m, i, end - i, OUTSIDE);
	}
}

static void compare(struct model *m)
{
	u32 nr_free = 0;

	for (u32 i = 0; i < m->max; i++)
		nr_free += m->state[i] == FREE;
	KUNIT_ASSERT_EQ_MSG(m->test, m->r.nr_free, nr_free, "step %u", m->step);
	KUNIT_ASSERT_NULL_MSG(m->test, range_validate(&m->r), "step %u",
			      m->step);
}

void range_model_run(struct kunit *test, u64 seed, u32 max, u32 steps)
{
	struct model m = { .test = test, .max = max, .random = seed };
	u32 kind;

	kunit_info(test, "seed %llu, %u integers", (unsigned long long)seed,
		   max);
	m.state = kunit_kzalloc(test, max);
	m.runs = kunit_kzalloc(test, max * sizeof(*m.runs));
	KUNIT_ASSERT_EQ(test, range_init(&m.r, max), 0);
	for (m.step = 0; m.step < steps; m.step++) {
		kind = pick(&m, 10);
		if (kind < 2)
			step_add(&m);
		else if (kind < 6)
			step_alloc(&m);
		else if (kind < 9)
			step_free(&m);
		else
			step_ask(&m);
		compare(&m);
	}
	range_fini(&m.r);
}
