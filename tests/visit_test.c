// SPDX-License-Identifier: BSD-2-Clause
/*
 * visit_test.c - who waits for which visitors (slab/visit.h).
 *
 * A wait that ends too early cannot be seen but by looking after it could have:
 * a moment for that is all that time decides here. The explorer has all orders.
 */
#include "core/os.h"
#include "slab/space.h"
#include "slab/stats.h"
#include "slab/visit.h"
#include "tests/crew.h"
#include "tests/open_space.h"

#define MOMENT_US 100000u

struct waiter {
	struct slabdev *sd;
	u32 done;		/* atomic */
};

static void wait_for_visitors(void *arg)
{
	struct waiter *w = arg;

	visit_wait(w->sd);
	store_release(&w->done, 1);
}

static u32 side_of(struct slabdev *sd)
{
	u32 side;

	lock_acquire(&sd->lock);
	side = sd->visit_side;
	lock_release(&sd->lock);
	return side;
}

static void a_visitor_is_waited_for(struct kunit *test)
{
	struct waiter w = { .sd = case_space(test, 8 * MIB) };
	struct crew *crew = crew_new(test, 1);
	u32 mine = visit_begin(w.sd);

	crew_start(crew, 0, wait_for_visitors, &w);
	while (side_of(w.sd) == mine)
		os_yield();
	os_sleep_us(MOMENT_US);
	KUNIT_EXPECT_EQ(test, load_acquire(&w.done), 0);
	visit_end(w.sd, mine);
	crew_wait(crew, 0);
	KUNIT_EXPECT_EQ(test, w.done, 1);
}

/* A visitor that came after the wait began may stay. */
static void later_ones_are_not(struct kunit *test)
{
	struct waiter w = { .sd = case_space(test, 8 * MIB) };
	struct crew *crew = crew_new(test, 1);
	u32 mine = visit_begin(w.sd), later;

	crew_start(crew, 0, wait_for_visitors, &w);
	while (side_of(w.sd) == mine)
		os_yield();
	later = visit_begin(w.sd);
	visit_end(w.sd, mine);
	crew_wait(crew, 0);
	KUNIT_EXPECT_EQ(test, w.done, 1);
	visit_end(w.sd, later);
}

/* By a second wait too, which finds the sides changed already. */
static void a_visitor_is_waited_for_twice(struct kunit *test)
{
	struct waiter w = { .sd = case_space(test, 8 * MIB) }, second = w;
	struct crew *crew = crew_new(test, 2);
	u32 mine = visit_begin(w.sd);

	crew_start(crew, 0, wait_for_visitors, &w);
	while (side_of(w.sd) == mine)
		os_yield();
	crew_start(crew, 1, wait_for_visitors, &second);
	os_sleep_us(MOMENT_US);
	KUNIT_EXPECT_EQ(test, load_acquire(&w.done), 0);
	KUNIT_EXPECT_EQ(test, load_acquire(&second.done), 0);
	visit_end(w.sd, mine);
	crew_wait(crew, 0);
	crew_wait(crew, 1);
	KUNIT_EXPECT_EQ(test, w.done + second.done, 2);
}

struct passer {
	struct slabdev *sd;
	bool stop;		/* relaxed */
};

static void pass_by(void *arg)
{
	struct passer *p = arg;

	while (!READ_ONCE(p->stop))
		visit_end(p->sd, visit_begin(p->sd));
}

/* The space's own lock lies behind its table of windows: no sum looks there,
 * whoever has it. */
static void sums_end_where_the_windows_do(struct kunit *test)
{
	struct passer p = { .sd = case_space(test, 8 * MIB) };
	struct crew *crew = crew_new(test, 1);
	u32 i;

	crew_start(crew, 0, pass_by, &p);
	for (i = 0; i < 3000; i++)
		figures(test, p.sd);
	WRITE_ONCE(p.stop, true);
	crew_wait(crew, 0);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(a_visitor_is_waited_for),
	KUNIT_CASE(later_ones_are_not),
	KUNIT_CASE(a_visitor_is_waited_for_twice),
	KUNIT_CASE(sums_end_where_the_windows_do),
	{ 0 }
};

static const struct kunit_suite visit_suite = {
	.name = "visit",
	.cases = cases,
};
kunit_test_suite(visit_suite);
