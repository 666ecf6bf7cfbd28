// SPDX-License-Identifier: BSD-2-Clause
/*
 * stopped_test.c - taking back from threads that may be inside a fast path.
 *
 * Until a barrier has passed and the owner's busy word is clear, a stolen sheaf
 * is in nobody's hands: its objects are neither lost nor freed early, and what
 * needs all of them has to wait. A thread that the scheduler has stopped inside
 * is played by one whose busy word is set from outside.
 */
#include "slab/class.h"
#include "slab/steal.h"
#include "tests/clock.h"
#include "tests/holder.h"

/* ---- An owner that is stopped inside ---------------------------------- */

struct stopped {
	struct holder h;
	struct heap *heap;
};

static void hold_and_tell(void *arg)
{
	struct stopped *s = arg;

	hold(&s->h);
	s->heap = thread_self->heap[s->h.sd->id];
}

/* A thread whose heap looks as if it stood in the middle of a fast path. */
static struct crew *stop_owner(struct kunit *test, struct stopped *s)
{
	struct crew *crew = crew_new(test, 1);

	*s = (struct stopped){ .h = { .test = test } };
	s->h.sd = case_space(test, 256 * MIB);
	crew_do(crew, 0, hold_and_tell, s);
	WRITE_ONCE(s->heap->busy, 1);
	return crew;
}

static int no_barrier(void)
{
	return -EPERM;
}

/* What waits for the barrier goes with its thread, which is not inside. */
static void exit_returns_what_was_stolen(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	struct holder h = { .test = test, .sd = sd };
	struct crew *crew = crew_new(test, 1);

	crew_do(crew, 0, hold, &h);
	kunit_activate_static_stub(test, os_membarrier, no_barrier);
	KUNIT_EXPECT_FALSE(test, take_back(sd, NULL));
	kunit_deactivate_static_stub(test, os_membarrier);
	KUNIT_EXPECT_GT(test, sd->charged, 0);
	crew_dismiss(crew);
	KUNIT_EXPECT_EQ(test, sd->charged, 0);
	KUNIT_EXPECT_EQ(test, expect_sound(test, sd).threads, 0);
	expect_empty(test, sd);
}

struct taken {
	struct slabdev_cache *cache;
	void *p[SHEAF_MAX_OBJECTS];
	u32 n;
};

static void free_taken_objects(void *arg)
{
	struct taken *t = arg;

	while (t->n)
		slabdev_cache_free(t->cache, t->p[--t->n]);
}

/*
 * A sheaf that waits for the barrier keeps its cache, even an empty one. Here
 * all objects have come back by another thread, which is gone.
 */
static void empty_sheaf_keeps_its_cache(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	struct crew *crew = crew_new(test, 1);
	struct taken t = { .n = 0 };
	struct bin *b;

	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&t.cache, sd, "cache",
						   2000, NULL), 0);
	do {
		t.p[t.n] = slabdev_cache_alloc(t.cache);
		KUNIT_ASSERT_NOT_NULL(test, t.p[t.n++]);
		b = heap_bin(thread_self->heap[sd->id], cache_class(t.cache));
	} while (b->main->n);
	KUNIT_ASSERT_GT(test, b->main->cap, 0);
	crew_do(crew, 0, free_taken_objects, &t);
	crew_dismiss(crew);
	kunit_activate_static_stub(test, os_membarrier, no_barrier);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(t.cache), -EBUSY);
	kunit_deactivate_static_stub(test, os_membarrier);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(t.cache), 0);
	expect_empty(test, sd);
}

/* The thief gives up after its time; the sheaves are safe, and come later. */
static void stopped_owner_is_not_waited_for(struct kunit *test)
{
	struct stopped s;
	struct slabdev_stats st;
	u64 start;

	stop_owner(test, &s);
	start = now_ns();
	take_back(s.h.sd, NULL);
	KUNIT_EXPECT_LT(test, now_ns() - start, 20 * (u64)1000000000);
	KUNIT_EXPECT_NOT_NULL(test, s.heap->stolen);
	st = stats_of(test, s.h.sd);
	KUNIT_EXPECT_EQ(test, st.live_objects, 0);
	KUNIT_EXPECT_GT(test, st.cached, 0);
	expect_sound(test, s.h.sd);
	WRITE_ONCE(s.heap->busy, 0);
	take_back(s.h.sd, NULL);
	KUNIT_EXPECT_NULL(test, s.heap->stolen);
	KUNIT_EXPECT_EQ(test, s.h.sd->charged, 0);
	expect_empty(test, s.h.sd);
}

/* What it may hold is in the budget until somebody really has it. */
static void stopped_owner_goes_on(struct kunit *test)
{
	struct stopped s;
	struct crew *crew = stop_owner(test, &s);

	take_back(s.h.sd, NULL);
	WRITE_ONCE(s.heap->busy, 0);
	crew_do(crew, 0, hold, &s.h);
	expect_sound(test, s.h.sd);
	crew_dismiss(crew);
	KUNIT_EXPECT_EQ(test, s.h.sd->charged, 0);
	expect_empty(test, s.h.sd);
}

/* Until neither of its sheaves has an object left. */
static void empty_hands(void *arg)
{
	struct stopped *s = arg;
	struct class *c = cache_class(s->h.cache);
	struct bin *b;
	void **p = s->h.p[0];
	u32 n = 0;

	do {
		KUNIT_ASSERT_LT(s->h.test, n, NR_CLASSES * PER_CLASS);
		p[n++] = slabdev_cache_alloc(s->h.cache);
		s->heap = thread_self->heap[s->h.sd->id];
		b = heap_bin(s->heap, c);
	} while (READ_ONCE(b->main)->n || READ_ONCE(b->spare)->n);
	KUNIT_EXPECT_PTR_NE(s->h.test, b->main, &sheaf_none);
}

static void drop_all(struct stopped *s)
{
	void **p;

	for (p = s->h.p[0]; *p; p++) {
		KUNIT_EXPECT_EQ(s->h.test, slabdev_free(s->h.sd, *p), 0);
		*p = NULL;
	}
}

/*
 * It may be about to push: the sheaf is as good as a full one. Without a live
 * object the cache can still not go.
 */
static void stopped_owner_of_an_empty_sheaf(struct kunit *test)
{
	struct stopped s = { .h = { .test = test } };
	struct crew *crew = crew_new(test, 1);
	void *p;

	s.h.sd = case_space(test, 256 * MIB);
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&s.h.cache, s.h.sd, "cache",
						   6000, NULL), 0);
	crew_do(crew, 0, empty_hands, &s);
	drop_all(&s);
	WRITE_ONCE(s.heap->busy, 1);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(s.h.cache), -EBUSY);
	KUNIT_EXPECT_NOT_NULL(test, s.heap->stolen);
	/* It stays usable. */
	p = slabdev_cache_alloc(s.h.cache);
	KUNIT_EXPECT_NOT_NULL(test, p);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(s.h.cache, p), 0);
	expect_sound(test, s.h.sd);
	WRITE_ONCE(s.heap->busy, 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(s.h.cache), 0);
	KUNIT_EXPECT_EQ(test, s.h.sd->charged, 0);
	crew_do(crew, 0, hold, &s.h);
	crew_dismiss(crew);
	expect_empty(test, s.h.sd);
}

/* ---- What is taken back, and when ------------------------------------- */

static u64 in_sheaves(const struct heap *h, u32 class)
{
	return READ_ONCE(h->bin[class].main)->n +
	       READ_ONCE(h->bin[class].spare)->n;
}

static void objects_taken_back_are_counted(struct kunit *test)
{
	struct stopped s = { .h = { .test = test } };
	struct crew *crew = crew_new(test, 1);
	u64 n[NR_CLASSES];
	u32 i;

	s.h.sd = case_space(test, 256 * MIB);
	crew_do(crew, 0, hold_and_tell, &s);
	for (i = 0; i < NR_CLASSES; i++) {
		n[i] = in_sheaves(s.heap, FIRST_CLASS + i);
		KUNIT_EXPECT_GT(test, n[i], 0);
	}
	take_back(s.h.sd, NULL);
	take_back(s.h.sd, NULL);
	for (i = 0; i < NR_CLASSES; i++)
		KUNIT_EXPECT_EQ(test,
				s.h.sd->class[FIRST_CLASS + i]->rec->stolen,
				n[i]);
}

static u64 in_stolen(const struct heap *h)
{
	const struct sheaf *s;
	u64 n = 0;

	for (s = h->stolen; s; s = s->next)
		n += s->n;
	return n;
}

/* Out of the bins, and in nobody's hands until there was a barrier. */
static void without_a_barrier_nothing_is_touched(struct kunit *test)
{
	struct stopped s = { .h = { .test = test } };
	struct crew *crew = crew_new(test, 1);
	u64 n = 0, cached;
	u32 i;

	s.h.sd = case_space(test, 256 * MIB);
	kunit_activate_static_stub(test, os_membarrier, barrier_or_not);
	crew_do(crew, 0, hold_and_tell, &s);
	for (i = 0; i < NR_CLASSES; i++)
		n += in_sheaves(s.heap, FIRST_CLASS + i);
	barriers = BARRIERS_FAIL;
	take_back(s.h.sd, NULL);
	cached = stats_of(test, s.h.sd).cached;
	KUNIT_EXPECT_GT(test, cached, 0);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, slabdev_trim(s.h.sd, 0), 0);
		KUNIT_EXPECT_EQ(test, in_stolen(s.heap), n);
		KUNIT_EXPECT_EQ(test, expect_sound(test, s.h.sd).cached,
				cached);
	}
	/* The owner finds empty bins, and works; it may steal from itself. */
	crew_do(crew, 0, hold, &s.h);
	KUNIT_EXPECT_GE(test, in_stolen(s.heap), n);
	expect_sound(test, s.h.sd);
	barriers = BARRIERS_WORK;
	expect_empty(test, s.h.sd);
	KUNIT_EXPECT_EQ(test, s.h.sd->charged, 0);
}

static void cache_stays_without_a_barrier(struct kunit *test)
{
	struct stopped s = { .h = { .test = test } };
	struct crew *crew = crew_new(test, 1);

	s.h.sd = case_space(test, 256 * MIB);
	kunit_activate_static_stub(test, os_membarrier, barrier_or_not);
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&s.h.cache, s.h.sd, "cache",
						   6000, NULL), 0);
	crew_do(crew, 0, cache_hold, &s.h);
	barriers = BARRIERS_FAIL;
	KUNIT_EXPECT_EQ(test, slabdev_cache_shrink(s.h.cache), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(s.h.cache), -EBUSY);
	crew_do(crew, 0, cache_hold, &s.h);
	expect_sound(test, s.h.sd);
	barriers = BARRIERS_WORK;
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(s.h.cache), 0);
	expect_empty(test, s.h.sd);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_SLOW(stopped_owner_is_not_waited_for),
	KUNIT_CASE_SLOW(stopped_owner_goes_on),
	KUNIT_CASE_SLOW(stopped_owner_of_an_empty_sheaf),
	KUNIT_CASE(exit_returns_what_was_stolen),
	KUNIT_CASE(empty_sheaf_keeps_its_cache),
	KUNIT_CASE(objects_taken_back_are_counted),
	KUNIT_CASE_ISOLATED(without_a_barrier_nothing_is_touched),
	KUNIT_CASE_ISOLATED(cache_stays_without_a_barrier),
	{ 0 }
};

static const struct kunit_suite stopped_suite = {
	.name = "stopped",
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(stopped_suite);
