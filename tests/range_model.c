// SPDX-License-Identifier: BSD-2-Clause
/*
 * range_model.c - a range beside a reference that cannot be wrong.
 *
 * The reference keeps one byte an integer and searches by looking at each. A
 * step is done on both, the answers are compared, and the range is validated.
 */
#include "tests/range_model.h"

#include <stdlib.h>
#include <string.h>

#include "core/range.h"

enum ref_state { OUTSIDE, FREE, USED };

struct ref_run {
	u32 first, n;
};

struct model {
	range_pick_fn *pick;
	void *arg;
	const char *wrong;	/* the first that was, or NULL */
	struct range r;
	u32 max;
	u8 *state;		/* enum ref_state, by integer */
	struct ref_run *runs;	/* allocations */
	u32 nr_runs;
};

/* What is wrong goes up as a text; the step that found it ends. */
#define must(m, condition) \
	do { \
		if (!(condition)) { \
			(m)->wrong = "not " #condition; \
			return; \
		} \
	} while (0)

static u32 pick(struct model *m, u32 n)
{
	return m->pick(m->arg, n);
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
	must(m, range_add(&m->r, first, n) == 0);
	set_state(m, first, n, FREE);
}

/* Slabs of 1 .. 16, sometimes a longer run, sometimes aligned. */
static void step_alloc(struct model *m)
{
	u32 n = 1 + pick(m, pick(m, 4) ? 16 : m->max / 8);
	u32 align = pick(m, 4) ? 1 : 1u << pick(m, 6);
	u32 first = range_alloc(&m->r, n, align);

	if (first == RANGE_NONE) {
		must(m, !reference_has_room(m, n, align));
		return;
	}
	must(m, first + n <= m->max);
	must(m, first % align == 0);
	must(m, all_are(m, first, n, FREE));
	remember(m, first, n);
	must(m, range_len(&m->r, first) == n);
	must(m, range_head(&m->r, first + n - 1) == first);
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

	must(m, range_has(&m->r, i) == (m->state[i] != OUTSIDE));
	must(m, got == (m->state[i] == FREE));
	if (!got)
		return;
	while (first && m->state[first - 1] == FREE)
		first--;
	while (end < m->max && m->state[end] == FREE)
		end++;
	must(m, got_first == first);
	must(m, got_n == end - first);
	if (pick(m, 2)) {
		must(m, range_alloc_at(&m->r, i, end - i));
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
	must(m, m->r.nr_free == nr_free);
	m->wrong = range_validate(&m->r);
}

static void step(struct model *m)
{
	u32 kind = pick(m, 10);

	if (kind < 2)
		step_add(m);
	else if (kind < 6)
		step_alloc(m);
	else if (kind < 9)
		step_free(m);
	else
		step_ask(m);
	if (!m->wrong)
		compare(m);
}

const char *range_model_run(range_pick_fn *choose, void *arg, u32 max,
			    u32 *steps)
{
	struct model m = { .pick = choose, .arg = arg, .max = max };
	u32 most = *steps;

	m.state = calloc(max, 1);
	m.runs = calloc(max, sizeof(*m.runs));
	if (!m.state || !m.runs || range_init(&m.r, max)) {
		m.wrong = "no memory for the model";
		goto free_arrays;
	}
	for (*steps = 0; *steps < most && !m.wrong; ++*steps)
		step(&m);
	range_fini(&m.r);
free_arrays:
	free(m.runs);
	free(m.state);
	return m.wrong;
}
