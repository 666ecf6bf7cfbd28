// SPDX-License-Identifier: BSD-2-Clause
/*
 * vmm_hold_test.c - addresses of one owner, and the memory that comes and goes
 * there: vmm/hold.c.
 *
 * The backend is the host's behind the wrapper that fails calls, and keeps the
 * books of what exists. Calls that fail are in vmm_hold_fail.c.
 */
#include <errno.h>

#include "tests/random.h"
#include "tests/vmm_hold.h"

static int hold_test_init(struct kunit *test)
{
	struct hold_case *t = kunit_kzalloc(test, sizeof(*t));

	test->priv = t;
	t->s = failing_space_new(test, &t->f);
	t->v = &t->s->v;
	return 0;
}

static void hold_test_exit(struct kunit *test)
{
	struct hold_case *t = test->priv;

	if (t)
		failing_space_end(t->s, &t->f);
}

static u8 get(struct hold_case *t, u32 chunk)
{
	u8 byte = 0;

	KUNIT_EXPECT_EQ(t->s->test, vmm_read(t->v, &byte,
					     vmm_chunk_addr(t->v, chunk), 1),
			0);
	return byte;
}

/* ---- Addresses ----------------------------------------------------------- */

static void a_hold_maps_nothing(struct kunit *test)
{
	struct hold_case *t = test->priv;
	u32 free_before, first;

	space_open(t->s, 32, 64);
	KUNIT_ASSERT_EQ(test, vmm_run_alloc(t->v, 1, &first), 0);
	range_free(&t->v->addresses, first, 1);
	space_mark(t->s);
	first = hold(t, 40);
	free_before = t->v->addresses.nr_free;
	EXPECT_CALLS(t->s, 0, 0, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, t->v->nr_held, 40);
	KUNIT_EXPECT_EQ(test, first, 24);
	vmm_unhold(t->v, first, 40);
	EXPECT_VALID(t->s);
	KUNIT_EXPECT_EQ(test, t->v->addresses.nr_free, free_before + 40);
	KUNIT_EXPECT_EQ(test, t->v->nr_walls, 0);
	EXPECT_CALLS(t->s, 0, 0, 0, 0, 0);
}

/* Whatever others map, and however holes are opened for them, it is not at
 * held addresses. */
static void nobody_else_maps_there(struct kunit *test)
{
	struct hold_case *t = test->priv;
	u32 held, at, i;

	space_open(t->s, 32, 32);
	held = hold(t, 20);
	for (i = 0; i < 6; i++) {
		KUNIT_ASSERT_EQ(test, vmm_map_guarded(t->v, 1, &at), 0);
		KUNIT_EXPECT_EQ(test, vmm_unmap_guarded(t->v, at,
							VMM_KEEP_HANDLE), 0);
	}
	for (i = 0; i < 12; i++) {
		at = space_map(t->s, 1, 1);
		KUNIT_EXPECT_FALSE(test, at >= held && at < held + 20);
	}
	EXPECT_VALID(t->s);
	KUNIT_EXPECT_EQ(test, vmm_extend(t->v, held, 1, 1), -EBUSY);
	/* The reservation is full: what comes next is in another. */
	at = space_map(t->s, 8, 8);
	KUNIT_EXPECT_GE(test, at, 33);
	vmm_unhold(t->v, held, 20);
}

/* The highest addresses that are free, in whatever reservation. */
static void holds_are_high(struct kunit *test)
{
	struct hold_case *t = test->priv;
	u32 a, b, c;

	space_open(t->s, 64, 64);
	a = hold(t, 16);
	b = hold(t, 16);
	c = hold(t, 16);
	KUNIT_EXPECT_EQ(test, a, 48);
	KUNIT_EXPECT_EQ(test, b, 32);
	KUNIT_EXPECT_EQ(test, c, 16);
	vmm_unhold(t->v, b, 16);
	KUNIT_EXPECT_EQ(test, hold(t, 10), 38);
	KUNIT_EXPECT_EQ(test, space_map(t->s, 3, 1), 0);
	/* No run is long enough: a further reservation. */
	KUNIT_EXPECT_GT(test, hold(t, 40), 64);
	EXPECT_VALID(t->s);
}

static void objects_keep_a_quarter(struct kunit *test)
{
	struct hold_case *t = test->priv;
	u32 most, first = 42;

	space_open(t->s, 16, 64);
	most = t->v->max_chunks - t->v->max_chunks / 4;
	KUNIT_EXPECT_EQ(test, vmm_hold(t->v, most + 1, &first), -ENOMEM);
	EXPECT_ERROR_HAS(t->s, "held");
	KUNIT_EXPECT_EQ(test, first, 42);
	while (!vmm_hold(t->v, 16, &first))
		;
	KUNIT_EXPECT_EQ(test, t->v->nr_held, most / 16 * 16);
	EXPECT_VALID(t->s);
	space_map(t->s, 16, 1);
}

static void what_is_refused(struct kunit *test)
{
	struct hold_case *t = test->priv;
	u32 at, nr, first = 42;

	space_open(t->s, 16, 64);
	KUNIT_EXPECT_EQ(test, vmm_hold(t->v, 0, &first), -EINVAL);
	KUNIT_EXPECT_EQ(test, first, 42);
	at = hold(t, 8);
	KUNIT_EXPECT_EQ(test, vmm_map_held(t->v, at, 0, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, vmm_map_held(t->v, at, 1, 0), -EINVAL);
	must_map_held(t, at, 4, 2);
	KUNIT_EXPECT_EQ(test, vmm_map_held(t->v, at + 3, 2, 1), -EBUSY);
	for (nr = 1; nr < 8; nr++) {
		u32 left = nr;

		/* In a handle, or where nothing is mapped. */
		if (nr == 2 || nr == 4)
			continue;
		KUNIT_EXPECT_EQ(test, vmm_unmap_held(t->v, at, &left,
						     VMM_RELEASE), -EINVAL);
		KUNIT_EXPECT_EQ(test, left, nr);
	}
	/* What begins before stays. */
	nr = 3;
	KUNIT_EXPECT_EQ(test, vmm_unmap_held(t->v, at + 1, &nr, VMM_RELEASE),
			0);
	KUNIT_EXPECT_EQ(test, nr, 1);
	must_unmap_held(t, at, 2, VMM_RELEASE);
	vmm_unhold(t->v, at, 8);
}

/* ---- Memory -------------------------------------------------------------- */

static void memory_grows_in_place(struct kunit *test)
{
	struct hold_case *t = test->priv;
	u32 at, i;

	space_open(t->s, 32, 64);
	at = hold(t, 32);
	for (i = 0; i < 32; i++) {
		space_mark(t->s);
		must_map_held(t, at + i, 1, 1);
		EXPECT_CALLS(t->s, 1, 1, 1, 0, 0);
		put(t, at + i, (u8)i);
	}
	for (i = 0; i < 32; i++)
		KUNIT_EXPECT_EQ(test, get(t, at + i), i);
	KUNIT_EXPECT_EQ(test, t->v->nr_walls, 0);
	KUNIT_EXPECT_EQ(test, vmm_map(t->v, 1, 1, &i), -EDQUOT);
	space_mark(t->s);
	must_unmap_held(t, at + 8, 24, VMM_RELEASE);
	EXPECT_CALLS(t->s, 0, 0, 0, 24, 24);
	must_map_held(t, at + 8, 24, 24);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_EQ(test, get(t, at + i), i);
	must_unmap_held(t, at, 32, VMM_RELEASE);
	vmm_unhold(t->v, at, 32);
}

/* Handles go from held addresses to others, and back, without being made. */
static void spare_handles_serve(struct kunit *test)
{
	struct hold_case *t = test->priv;
	u32 at, other;

	space_open(t->s, 8, 64);
	at = hold(t, 8);
	must_map_held(t, at, 8, 1);
	must_unmap_held(t, at + 2, 6, VMM_KEEP_HANDLE);
	KUNIT_EXPECT_EQ(test, t->s->cnt.spare_handles, 6);
	space_mark(t->s);
	other = space_map(t->s, 6, 1);
	EXPECT_CALLS(t->s, 0, 6, 1, 0, 0);
	space_unmap_singles(t->s, other, 6, VMM_KEEP_MAPPED);
	space_mark(t->s);
	must_map_held(t, at + 2, 6, 1);
	EXPECT_CALLS(t->s, 0, 6, 1, 6, 0);
	must_unmap_held(t, at, 8, VMM_KEEP_HANDLE);
	vmm_unhold(t->v, at, 8);
}

/* Idle memory of another shape goes back, if the limit says so. */
static void idle_memory_makes_room(struct kunit *test)
{
	struct hold_case *t = test->priv;
	u32 at, other;

	space_open(t->s, 8, 64);
	at = hold(t, 8);
	other = space_map(t->s, 6, 6);
	KUNIT_EXPECT_EQ(test, vmm_map_held(t->v, at, 4, 4), -EDQUOT);
	EXPECT_VALID(t->s);
	space_unmap(t->s, other, VMM_KEEP_MAPPED);
	must_map_held(t, at, 4, 4);
	KUNIT_EXPECT_EQ(test, t->s->cnt.idle, 0);
	must_unmap_held(t, at, 4, VMM_RELEASE);
	vmm_unhold(t->v, at, 8);
}

/* ---- At random ----------------------------------------------------------- */

#define NR_HOLDS 5u
#define HOLD_MAX 12u
#define NR_OTHERS 6u

/* What is where; every mapped chunk has a byte that nobody else wrote. */
struct twin {
	struct hold_case *t;
	u64 state;
	u32 at[NR_HOLDS], nr[NR_HOLDS], mapped[NR_HOLDS];
	u8 byte[NR_HOLDS][HOLD_MAX];
	u32 other[NR_OTHERS], other_nr[NR_OTHERS];
	u8 next;
};

static void random_grow(struct twin *w, u32 i)
{
	u32 nr = 1 + random_below(&w->state, 4), k;

	if (w->mapped[i] + nr > w->nr[i] ||
	    vmm_map_held(w->t->v, w->at[i] + w->mapped[i], nr, nr % 3 ? 1 : nr))
		return;
	for (k = 0; k < nr; k++) {
		w->byte[i][w->mapped[i]] = ++w->next;
		put(w->t, w->at[i] + w->mapped[i]++, w->next);
	}
}

static void random_shrink(struct twin *w, u32 i)
{
	u32 to = random_below(&w->state, w->mapped[i] + 1);
	u32 nr = w->mapped[i] - to;

	KUNIT_EXPECT_EQ(w->t->s->test,
			vmm_unmap_held(w->t->v, w->at[i] + to, &nr,
				       random_below(&w->state, 2) ?
				       VMM_RELEASE : VMM_KEEP_HANDLE), 0);
	w->mapped[i] = to + nr;
}

static void random_hold(struct twin *w, u32 i)
{
	u32 nr = w->mapped[i];

	if (!w->nr[i]) {
		w->nr[i] = 1 + random_below(&w->state, HOLD_MAX);
		if (vmm_hold(w->t->v, w->nr[i], &w->at[i]))
			w->nr[i] = 0;
		return;
	}
	KUNIT_EXPECT_EQ(w->t->s->test,
			vmm_unmap_held(w->t->v, w->at[i], &nr, VMM_RELEASE), 0);
	KUNIT_EXPECT_EQ(w->t->s->test, nr, 0);
	vmm_unhold(w->t->v, w->at[i], w->nr[i]);
	w->nr[i] = w->mapped[i] = 0;
}

/* Others map and give back beside it, and write over all that they have. */
static void random_other(struct twin *w)
{
	u32 i = random_below(&w->state, NR_OTHERS), k;
	u32 nr = w->other_nr[i];

	w->other_nr[i] = 0;
	if (nr) {
		KUNIT_EXPECT_EQ(w->t->s->test,
				vmm_unmap(w->t->v, w->other[i],
					  random_below(&w->state, 3)), 0);
		return;
	}
	nr = 1 + random_below(&w->state, 5);
	if (vmm_map(w->t->v, nr, nr, &w->other[i]))
		return;
	w->other_nr[i] = nr;
	for (k = 0; k < nr; k++)
		put(w->t, w->other[i] + k, 0);
}

static void check_twin(struct twin *w)
{
	u32 i, k;

	EXPECT_VALID(w->t->s);
	for (i = 0; i < NR_HOLDS; i++)
		for (k = 0; k < w->mapped[i]; k++)
			KUNIT_EXPECT_EQ(w->t->s->test, get(w->t, w->at[i] + k),
					w->byte[i][k]);
}

static void random_steps(struct kunit *test)
{
	struct twin w = { .t = test->priv, .state = random_seed(test) };
	u32 step, i;

	space_open(w.t->s, 40, 64);
	for (step = 0; step < 3000; step++) {
		i = random_below(&w.state, NR_HOLDS);
		switch (random_below(&w.state, 8)) {
		case 0:
			random_hold(&w, i);
			break;
		case 1:
		case 2:
			random_shrink(&w, i);
			break;
		case 3:
		case 4:
			random_other(&w);
			break;
		default:
			random_grow(&w, i);
			break;
		}
		if (step % 8 == 0)
			check_twin(&w);
	}
	check_twin(&w);
}

static const struct kunit_case hold_test_cases[] = {
	KUNIT_CASE(a_hold_maps_nothing),
	KUNIT_CASE(nobody_else_maps_there),
	KUNIT_CASE(holds_are_high),
	KUNIT_CASE(objects_keep_a_quarter),
	KUNIT_CASE(what_is_refused),
	KUNIT_CASE(memory_grows_in_place),
	KUNIT_CASE(spare_handles_serve),
	KUNIT_CASE(idle_memory_makes_room),
	KUNIT_CASE(lost_memory_keeps_its_place),
	KUNIT_CASE(a_hold_ends_with_lost_memory),
	KUNIT_CASE(closing_ends_holds),
	KUNIT_CASE(each_call_fails_once),
	KUNIT_CASE(random_steps),
	{ 0 }
};

static const struct kunit_suite hold_test_suite = {
	.name = "vmm_hold",
	.init = hold_test_init,
	.exit = hold_test_exit,
	.cases = hold_test_cases,
};
kunit_test_suite(hold_test_suite);
