// SPDX-License-Identifier: BSD-2-Clause
/*
 * steal_test.c - taking back what other threads hold (slab.h, section 4).
 *
 * Idle threads that hold all memory are the case it is made for, threads that
 * never pause the case that it must survive. For the latter every object has
 * an owner word in host memory: an object that two sides got at once is seen
 * by whoever comes second.
 */
#include "slab/class.h"
#include "slab/steal.h"
#include "tests/clock.h"
#include "tests/holder.h"
#include "tests/random.h"

/* ---- Idle threads ----------------------------------------------------- */

#define IDLE 63u

static struct crew *open_with_holders(struct kunit *test, struct holder *h,
				      u64 limit)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct crew *crew = crew_new(test, IDLE);
	u32 i;

	attr.limit = limit;
	attr.sheaf_total_bytes = limit;
	h->test = test;
	h->sd = case_space_attr(test, &attr);
	for (i = 0; i < IDLE; i++)
		crew_do(crew, i, hold, h);
	KUNIT_EXPECT_EQ(test, stats_of(test, h->sd).threads, IDLE);
	return crew;
}

/*
 * Goal: what idle threads hold is no reason to fail. Method: 63 threads hold
 * the whole limit, another one asks for three quarters of it.
 */
static void sixty_three_idle_threads_hold_everything(struct kunit *test)
{
	struct holder h;
	struct slabdev_stats st;
	void *p;

	open_with_holders(test, &h, 64 * MIB);
	st = stats_of(test, h.sd);
	KUNIT_EXPECT_EQ(test, st.mapped, st.limit);
	KUNIT_EXPECT_EQ(test, st.live_objects, 0);
	KUNIT_EXPECT_GT(test, st.cached, 30 * MIB);
	p = slabdev_alloc(h.sd, 48 * MIB);
	KUNIT_EXPECT_NOT_NULL(test, p);
	expect_sound(test, h.sd);
	KUNIT_EXPECT_EQ(test, slabdev_free(h.sd, p), 0);
	p = slabdev_alloc(h.sd, 64 * MIB);
	KUNIT_EXPECT_NOT_NULL(test, p);
	KUNIT_EXPECT_EQ(test, slabdev_free(h.sd, p), 0);
	expect_empty(test, h.sd);
}

static void trim_reaches_idle_threads(struct kunit *test)
{
	struct holder h;
	struct crew *crew = open_with_holders(test, &h, 256 * MIB);

	KUNIT_EXPECT_GT(test, stats_of(test, h.sd).cached, 10 * MIB);
	expect_empty(test, h.sd);
	KUNIT_EXPECT_EQ(test, h.sd->charged, 0);
	/* They go on, none the worse. */
	crew_do(crew, 5, hold, &h);
	expect_sound(test, h.sd);
}

static void shrink_and_destroy_reach_idle_threads(struct kunit *test)
{
	struct slabdev_cache_stats st;
	struct crew *crew = crew_new(test, 8);
	struct holder h = { .test = test, .sd = case_space(test, 256 * MIB) };
	u64 cached;
	u32 i;

	for (i = 0; i < 8; i++)
		crew_do(crew, i, hold, &h);
	cached = stats_of(test, h.sd).cached;
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&h.cache, h.sd, "cache",
						   6000, NULL), 0);
	for (i = 0; i < 8; i++)
		crew_do(crew, i, cache_hold, &h);
	KUNIT_EXPECT_EQ(test, slabdev_cache_shrink(h.cache), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_stats(h.cache, &st, sizeof(st)), 0);
	KUNIT_EXPECT_EQ(test, st.slabs, 0);
	KUNIT_EXPECT_EQ(test, st.cached, 0);
	/* What is not of the cache stays where it is. */
	KUNIT_EXPECT_EQ(test, stats_of(test, h.sd).cached, cached);
	for (i = 0; i < 8; i++)
		crew_do(crew, i, cache_hold, &h);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(h.cache), 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, h.sd).cached, cached);
	expect_sound(test, h.sd);
}

/* What a thread notes of the sheaves that it gained outlives them; see that
 * thousands of them do no harm. */
static void taken_back_again_and_again(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	u32 i;

	for (i = 0; i < 3000; i++) {
		KUNIT_EXPECT_EQ(test, slabdev_free(sd, slabdev_alloc(sd, 500)),
				0);
		take_back(sd, NULL);
	}
	KUNIT_EXPECT_EQ(test, sd->charged, 0);
	expect_empty(test, sd);
}

/* ---- Threads that never pause ----------------------------------------- */

#define NR_RUNNERS 4u
#define HAND 48u

static const u32 run_sizes[] = { 256, 4000, 20000, 100000 };

/* One word for each 16 bytes of the first 64 MiB of a space. */
#define NR_OWNERS (64 * MIB / 16)

struct race {
	struct kunit *test;
	struct slabdev *sd;
	struct slabdev_cache *cache, *tiny;
	u32 *owner;
	bool stop;		/* relaxed */
};

struct runner {
	struct race *race;
	u32 me;			/* from 1 */
	u64 random;
	u64 rounds;
	void *p[HAND];
};

static u32 *owner_of(struct race *r, void *p)
{
	u64 at = space_offset(r->sd, p) / 16;

	return at < NR_OWNERS ? &r->owner[at] : NULL;
}

/* Somebody else's word there means that two have the object. */
static void set_owner(struct runner *me, void *p, u32 from, u32 to)
{
	u32 *word = owner_of(me->race, p), was;

	if (!word)
		return;
	was = __atomic_exchange_n(word, to, __ATOMIC_RELAXED);
	KUNIT_EXPECT_EQ_MSG(me->race->test, was, from, "object %p", p);
}

static void *run_alloc(struct runner *me)
{
	struct race *r = me->race;
	u32 what = random_below(&me->random, 6);

	if (what == 4)
		return slabdev_cache_alloc(r->cache);
	if (what == 5)
		return slabdev_cache_alloc(r->tiny);
	return slabdev_alloc(r->sd, run_sizes[what]);
}

static void run_round(struct runner *me, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		me->p[i] = run_alloc(me);
		if (me->p[i])
			set_owner(me, me->p[i], 0, me->me);
		else
			KUNIT_FAIL(me->race->test, "%s", slabdev_last_error());
	}
	while (i--) {
		if (!me->p[i])
			continue;
		set_owner(me, me->p[i], me->me, 0);
		KUNIT_EXPECT_EQ(me->race->test,
				slabdev_free(me->race->sd, me->p[i]), 0);
	}
}

static void run(void *arg)
{
	struct runner *me = arg;

	for (; !READ_ONCE(me->race->stop); me->rounds++)
		run_round(me, 1 + random_below(&me->random, HAND));
}

static void race_open(struct kunit *test, struct race *r,
		      struct runner runners[NR_RUNNERS])
{
	u64 seed = random_seed(test);
	u32 i;

	*r = (struct race){ .test = test, .sd = case_space(test, 256 * MIB) };
	r->owner = kunit_kzalloc(test, NR_OWNERS * sizeof(*r->owner));
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&r->cache, r->sd, "cache",
						   2000, NULL), 0);
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&r->tiny, r->sd, "tiny", 64,
						   NULL), 0);
	for (i = 0; i < NR_RUNNERS; i++)
		runners[i] = (struct runner){
			.race = r, .me = i + 1, .random = seed + i,
		};
}

static void take_back_for(struct race *r, u64 ms)
{
	u64 end = now_ns() + ms * 1000000;
	u32 i;

	for (i = 0; now_ns() < end; i++) {
		switch (i % 4) {
		case 0:
			take_back(r->sd, NULL);
			break;
		case 1:
			take_back(r->sd, r->sd->class[1]);
			break;
		case 2:
			slabdev_cache_shrink(r->tiny);
			break;
		default:
			slabdev_trim(r->sd, (i & 4) * MIB);
		}
	}
}

static void race_for(struct kunit *test, u64 ms)
{
	struct crew *crew = crew_new(test, NR_RUNNERS);
	struct runner runners[NR_RUNNERS];
	struct race r;
	u64 rounds = 0;
	u32 i;

	race_open(test, &r, runners);
	for (i = 0; i < NR_RUNNERS; i++)
		crew_start(crew, i, run, &runners[i]);
	take_back_for(&r, ms);
	WRITE_ONCE(r.stop, true);
	for (i = 0; i < NR_RUNNERS; i++) {
		crew_wait(crew, i);
		rounds += runners[i].rounds;
	}
	WRITE_ONCE(barriers, BARRIERS_WORK);
	KUNIT_EXPECT_GT(test, rounds, 0);
	expect_sound(test, r.sd);
	KUNIT_EXPECT_EQ(test, stats_of(test, r.sd).live_objects, 0);
	expect_empty(test, r.sd);
	crew_dismiss(crew);
	expect_sound(test, r.sd);
}

static void owners_run_while_sheaves_are_taken(struct kunit *test)
{
	race_for(test, 1500);
}

static void owners_run_while_sheaves_are_taken_long(struct kunit *test)
{
	race_for(test, 60000);
}

static void owners_run_while_barriers_fail(struct kunit *test)
{
	kunit_activate_static_stub(test, os_membarrier, barrier_or_not);
	barriers = BARRIERS_FAIL_OFTEN;
	race_for(test, 700);
}

/* Thieves in several threads, and the owner's exit in between. */
static void thieve(void *arg)
{
	struct race *r = arg;

	while (!READ_ONCE(r->stop))
		take_back(r->sd, NULL);
}

static void threads_exit_while_sheaves_are_taken(struct kunit *test)
{
	struct crew *thieves = crew_new(test, 2), *crew;
	struct holder *holders;
	struct race r = { .test = test, .sd = case_space(test, 256 * MIB) };
	u32 i, wave;

	holders = kunit_kzalloc(test, NR_RUNNERS * sizeof(*holders));
	for (i = 0; i < NR_RUNNERS; i++)
		holders[i] = (struct holder){ .test = test, .sd = r.sd };
	crew_start(thieves, 0, thieve, &r);
	crew_start(thieves, 1, thieve, &r);
	for (wave = 0; wave < 50; wave++) {
		crew = crew_new(test, NR_RUNNERS);
		crew_all(crew, hold, holders, sizeof(*holders));
		crew_dismiss(crew);
	}
	WRITE_ONCE(r.stop, true);
	crew_wait(thieves, 0);
	crew_wait(thieves, 1);
	KUNIT_EXPECT_EQ(test, stats_of(test, r.sd).threads, 0);
	expect_sound(test, r.sd);
	expect_empty(test, r.sd);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(sixty_three_idle_threads_hold_everything),
	KUNIT_CASE(trim_reaches_idle_threads),
	KUNIT_CASE(shrink_and_destroy_reach_idle_threads),
	KUNIT_CASE(taken_back_again_and_again, .timeout_s = 20),
	KUNIT_CASE_SLOW(owners_run_while_sheaves_are_taken),
	KUNIT_CASE_LONG(owners_run_while_sheaves_are_taken_long,
			.timeout_s = 300),
	KUNIT_CASE(threads_exit_while_sheaves_are_taken),
	KUNIT_CASE_ISOLATED(owners_run_while_barriers_fail),
	{ 0 }
};

static const struct kunit_suite steal_suite = {
	.name = "steal",
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(steal_suite);
