// SPDX-License-Identifier: BSD-2-Clause
/*
 * sheaf_test.c - sheaves and barn: how often a thread leaves its own, what it
 * may hold, and what becomes of it when the thread ends.
 *
 * The counters refills and flushes say when an operation left the thread's
 * sheaves, and so took a lock. Which objects a thread holds is looked up in
 * its heap where no counter tells.
 */
#include <stdio.h>

#include "core/os.h"
#include "slab/barn.h"
#include "slab/heap.h"
#include "tests/crew.h"
#include "tests/open_space.h"
#include "tests/random.h"

#define SIZE 1024u
#define CAP 64u		/* of a sheaf of 1 KiB objects */
#define HALF (CAP / 2)

static u64 slow_ops(struct kunit *test, struct slabdev *sd)
{
	struct slabdev_stats st = stats_of(test, sd);

	return st.refills + st.flushes;
}

static void **alloc_many(struct kunit *test, struct slabdev *sd, u32 n,
			 u64 size)
{
	void **p = kunit_kzalloc(test, n * sizeof(*p));
	u32 i;

	for (i = 0; i < n; i++) {
		p[i] = slabdev_alloc(sd, size);
		KUNIT_ASSERT_NOT_NULL(test, p[i]);
	}
	return p;
}

static void free_many(struct kunit *test, struct slabdev *sd, void **p, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ(test, slabdev_free(sd, p[i]), 0);
}

/* ---- Hits and misses -------------------------------------------------- */

static void hit_leaves_nothing(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	u64 before;
	u32 i;

	free_many(test, sd, alloc_many(test, sd, HALF, SIZE), HALF);
	before = slow_ops(test, sd);
	for (i = 0; i < 1000; i++)
		free_many(test, sd, alloc_many(test, sd, HALF, SIZE), HALF);
	KUNIT_EXPECT_EQ(test, slow_ops(test, sd), before);
}

/* A working set within two sheaves may move up and down in any way. */
static void working_set_of_the_sheaves_takes_no_lock(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	u64 random = random_seed(test), before;
	void *p[CAP + HALF];
	u32 i, n = 0;

	free_many(test, sd, alloc_many(test, sd, 4 * CAP, SIZE), 4 * CAP);
	/* From here on both sheaves are full, or one is empty. */
	while (n < CAP)
		p[n++] = slabdev_alloc(sd, SIZE);
	before = slow_ops(test, sd);
	for (i = 0; i < 20000; i++) {
		if (n > HALF &&
		    (n == CAP + HALF - 1 || random_below(&random, 2)))
			slabdev_free(sd, p[--n]);
		else
			p[n++] = slabdev_alloc(sd, SIZE);
	}
	KUNIT_EXPECT_EQ(test, slow_ops(test, sd), before);
	free_many(test, sd, p, n);
}

static void one_refill_for_half_a_sheaf(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	u32 n = 200 * CAP;
	void **p = alloc_many(test, sd, n, SIZE);
	struct slabdev_stats st = stats_of(test, sd);

	KUNIT_EXPECT_GE(test, st.refills, n / CAP);
	KUNIT_EXPECT_LE(test, st.refills, n / HALF);
	KUNIT_EXPECT_EQ(test, st.flushes, 0);
	free_many(test, sd, p, n);
	st = stats_of(test, sd);
	KUNIT_EXPECT_GE(test, st.flushes, n / CAP - 2);
	KUNIT_EXPECT_LE(test, st.flushes, n / HALF);
	expect_empty(test, sd);
}

/* ---- From one thread to the other ------------------------------------- */

#define BATCH 256u

struct batch {
	struct kunit *test;
	struct slabdev *sd;
	void *p[BATCH];
};

static void fill_batch(void *arg)
{
	struct batch *b = arg;
	u32 i;

	for (i = 0; i < BATCH; i++)
		b->p[i] = slabdev_alloc(b->sd, SIZE);
}

static void free_batch(void *arg)
{
	struct batch *b = arg;

	free_many(b->test, b->sd, b->p, BATCH);
}

static void producer_and_consumer_trade_sheaves(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	struct crew *crew = crew_new(test, 2);
	struct batch b = { .test = test, .sd = sd };
	struct slabdev_stats before, after;
	u32 i;

	for (i = 0; i < 8; i++) {
		crew_do(crew, 0, fill_batch, &b);
		crew_do(crew, 1, free_batch, &b);
	}
	before = stats_of(test, sd);
	for (i = 0; i < 100; i++) {
		crew_do(crew, 0, fill_batch, &b);
		crew_do(crew, 1, free_batch, &b);
	}
	after = stats_of(test, sd);
	KUNIT_EXPECT_LE(test, after.refills - before.refills,
			100 * BATCH / HALF);
	KUNIT_EXPECT_LE(test, after.flushes - before.flushes,
			100 * BATCH / HALF);
	KUNIT_EXPECT_EQ(test, after.backend_calls, before.backend_calls);
	KUNIT_EXPECT_EQ(test, after.mapped, before.mapped);
	expect_sound(test, sd);
	expect_empty(test, sd);
}

/* ---- Budgets ---------------------------------------------------------- */

/* Bytes that the sheaves in the bins of the calling thread may hold. */
static u64 capacity_in_bins(struct slabdev *sd)
{
	struct heap *h = thread_self->heap[sd->id];
	u64 bytes = 0;
	u32 id;

	for (id = 1; id < CLASS_MAX; id++) {
		struct class *c = sd->class[id];
		struct bin *b = c ? heap_bin(h, c) : NULL;

		if (b)
			bytes += (u64)c->stride * (b->main->cap +
						   b->spare->cap);
	}
	return bytes;
}

static void expect_within(struct kunit *test, struct slabdev *sd, u64 budget)
{
	struct heap *h = thread_self->heap[sd->id];

	KUNIT_EXPECT_EQ(test, h->charged, capacity_in_bins(sd));
	KUNIT_EXPECT_LE(test, h->charged, budget);
	KUNIT_EXPECT_EQ(test, h->block[0]->sheaf_bytes, h->charged);
}

static const u64 budgets[] = { 8 * MIB, MIB, 100 * KIB, 4 * KIB };
KUNIT_ARRAY_PARAM(budget, budgets, NULL);

static void thread_stays_within_its_budget(struct kunit *test)
{
	u64 budget = *(const u64 *)test->param_value;
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	u64 random = random_seed(test);
	struct slabdev *sd;
	u32 round, class;

	attr.limit = 512 * MIB;
	attr.sheaf_bytes = budget;
	sd = case_space_attr(test, &attr);
	for (round = 0; round < 3; round++) {
		for (class = 1; class <= NR_GENERAL; class++) {
			u32 n = 1 + random_below(&random, 20);
			u64 size = layout_class_size[class];

			free_many(test, sd, alloc_many(test, sd, n, size), n);
			expect_within(test, sd, budget);
		}
		expect_sound(test, sd);
	}
	expect_empty(test, sd);
	KUNIT_EXPECT_EQ(test, capacity_in_bins(sd), 0);
}

#define NR_CACHES 200u

/* Sizes from tiny to large; most caches have no tag code of their own. */
static void caches_share_the_budget(struct kunit *test)
{
	struct slabdev_cache *cache[NR_CACHES];
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd;
	char name[32];
	void *p[70];
	u32 i, n;

	attr.limit = 512 * MIB;
	attr.sheaf_bytes = 2 * MIB;
	sd = case_space_attr(test, &attr);
	for (i = 0; i < NR_CACHES; i++) {
		snprintf(name, sizeof(name), "cache-%u", i);
		KUNIT_ASSERT_EQ(test, slabdev_cache_create(&cache[i], sd, name,
			16 + i * i * 3, NULL), 0);
	}
	for (i = 0; i < 2 * NR_CACHES; i++) {
		struct slabdev_cache *c = cache[i * 7 % NR_CACHES];

		n = 1 + i % ARRAY_SIZE(p);
		KUNIT_ASSERT_EQ(test, slabdev_cache_alloc_bulk(c, n, p), 0);
		expect_within(test, sd, attr.sheaf_bytes);
		KUNIT_EXPECT_EQ(test, slabdev_cache_free_bulk(c, n, p), 0);
		expect_within(test, sd, attr.sheaf_bytes);
	}
	expect_sound(test, sd);
	for (i = 0; i < NR_CACHES; i++)
		KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache[i]), 0);
	expect_empty(test, sd);
}

static void all_threads_stay_within_the_total(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct crew *crew = crew_new(test, 20);
	struct batch b = { .test = test };
	u32 i;

	attr.limit = 64 * MIB;
	attr.sheaf_total_bytes = 512 * KIB;
	b.sd = case_space_attr(test, &attr);
	for (i = 0; i < 40; i++) {
		crew_do(crew, i % 20, fill_batch, &b);
		KUNIT_EXPECT_LE(test, b.sd->charged, attr.sheaf_total_bytes);
		crew_do(crew, (i + 7) % 20, free_batch, &b);
		KUNIT_EXPECT_LE(test, b.sd->charged, attr.sheaf_total_bytes);
	}
	KUNIT_EXPECT_GT(test, b.sd->charged, 0);
	expect_sound(test, b.sd);
	crew_dismiss(crew);
	KUNIT_EXPECT_EQ(test, b.sd->charged, 0);
	expect_empty(test, b.sd);
}

/* ---- Without sheaves -------------------------------------------------- */

static void expect_no_sheaves(struct kunit *test, struct slabdev *sd)
{
	struct slabdev_stats st;
	void **p;

	p = alloc_many(test, sd, 100, SIZE);
	st = stats_of(test, sd);
	KUNIT_EXPECT_EQ(test, capacity_in_bins(sd), 0);
	KUNIT_EXPECT_EQ(test, st.live, 100 * SIZE);
	KUNIT_EXPECT_EQ(test, st.peak_live, 100 * SIZE);
	free_many(test, sd, p, 100);
	KUNIT_EXPECT_EQ(test, capacity_in_bins(sd), 0);
	kunit_expect_report(test, REPORT_DOUBLE_FREE);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, p[3]), -EALREADY);
	expect_sound(test, sd);
	expect_empty(test, sd);
}

static void flag_turns_sheaves_off(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.limit = 64 * MIB;
	attr.flags = SLABDEV_OPEN_NO_SHEAVES;
	expect_no_sheaves(test, case_space_attr(test, &attr));
}

static void parameter_turns_sheaves_off(struct kunit *test)
{
	setenv("SLABDEV_MEMBARRIER", "0", 1);
	expect_no_sheaves(test, case_space(test, 64 * MIB));
}

static int refuse_membarrier(void)
{
	return -ENOSYS;
}

static void refused_membarrier_turns_sheaves_off(struct kunit *test)
{
	kunit_activate_static_stub(test, os_membarrier_register,
				   refuse_membarrier);
	expect_no_sheaves(test, case_space(test, 64 * MIB));
}

/* ---- Threads come and go ---------------------------------------------- */

struct visit {
	struct kunit *test;
	struct slabdev *sd;
	struct slabdev_cache *cache, *tiny;
	void *p[8];		/* left live, or to be freed */
};

static void visit_free(void *arg)
{
	struct visit *v = arg;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(v->p); i++)
		KUNIT_EXPECT_EQ(v->test, slabdev_free(v->sd, v->p[i]), 0);
}

static void visit_alloc(void *arg)
{
	struct visit *v = arg;
	void *mine[16];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(mine); i++)
		mine[i] = slabdev_alloc(v->sd, 300 * i + 1);
	v->p[0] = slabdev_cache_alloc(v->cache);
	v->p[1] = slabdev_cache_alloc(v->tiny);
	v->p[2] = slabdev_alloc(v->sd, 3 * MIB);
	for (i = 3; i < ARRAY_SIZE(v->p); i++)
		v->p[i] = slabdev_alloc(v->sd, 1000 * i);
	free_many(v->test, v->sd, mine, ARRAY_SIZE(mine));
}

static void visit_open(struct kunit *test, struct visit *v)
{
	v->test = test;
	v->sd = case_space(test, 256 * MIB);
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&v->cache, v->sd, "cache",
						   5000, NULL), 0);
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&v->tiny, v->sd, "tiny", 48,
						   NULL), 0);
}

#define PER_WAVE 20u
#define WAVES 10u

/* 200 threads: each leaves objects behind that later ones free. */
static void exit_returns_everything(struct kunit *test)
{
	struct visit first, *v;
	struct slabdev_stats st;
	struct crew *crew;
	u32 wave, i;

	visit_open(test, &first);
	v = kunit_kzalloc(test, PER_WAVE * sizeof(*v));
	for (i = 0; i < PER_WAVE; i++)
		v[i] = first;
	for (wave = 0; wave < WAVES; wave++) {
		crew = crew_new(test, PER_WAVE);
		if (wave)
			crew_all(crew, visit_free, v, sizeof(*v));
		crew_all(crew, visit_alloc, v, sizeof(*v));
		st = stats_of(test, first.sd);
		KUNIT_EXPECT_EQ(test, st.threads, PER_WAVE);
		crew_dismiss(crew);
		st = stats_of(test, first.sd);
		KUNIT_EXPECT_EQ(test, st.threads, 0);
		KUNIT_EXPECT_EQ(test, st.live_objects, PER_WAVE * 8);
		KUNIT_EXPECT_EQ(test, first.sd->charged, 0);
		expect_sound(test, first.sd);
	}
	for (i = 0; i < PER_WAVE; i++)
		visit_free(&v[i]);
	KUNIT_EXPECT_EQ(test, stats_of(test, first.sd).allocs,
			WAVES * PER_WAVE * (16 + 8));
	expect_empty(test, first.sd);
}

static void free_is_a_threads_first_call(struct kunit *test)
{
	struct crew *crew = crew_new(test, 3);
	struct visit v;

	visit_open(test, &v);
	crew_do(crew, 0, visit_alloc, &v);
	crew_do(crew, 1, visit_free, &v);
	KUNIT_EXPECT_EQ(test, stats_of(test, v.sd).threads, 2);
	KUNIT_EXPECT_EQ(test, stats_of(test, v.sd).live_objects, 0);
	expect_empty(test, v.sd);
}

static void look_around(void *arg)
{
	struct visit *v = arg;
	char text[256];

	stats_of(v->test, v->sd);
	KUNIT_EXPECT_EQ(v->test, slabdev_validate(v->sd), 0);
	KUNIT_EXPECT_EQ(v->test, slabdev_trim(v->sd, 0), 0);
	KUNIT_EXPECT_EQ(v->test, slabdev_explain(v->p[0], text, sizeof(text)),
			0);
	KUNIT_EXPECT_GE(v->test, slabdev_usable_size(v->sd, v->p[2]), 3 * MIB);
}

/* A thread that only looks has nothing, and is not counted. */
static void looking_makes_no_heap(struct kunit *test)
{
	struct crew *crew = crew_new(test, 1);
	struct visit v;

	visit_open(test, &v);
	visit_alloc(&v);
	crew_do(crew, 0, look_around, &v);
	KUNIT_EXPECT_EQ(test, stats_of(test, v.sd).threads, 1);
	visit_free(&v);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(hit_leaves_nothing),
	KUNIT_CASE(working_set_of_the_sheaves_takes_no_lock),
	KUNIT_CASE(one_refill_for_half_a_sheaf),
	KUNIT_CASE(producer_and_consumer_trade_sheaves),
	KUNIT_CASE_PARAM(thread_stays_within_its_budget, budget_gen_params),
	KUNIT_CASE(caches_share_the_budget),
	KUNIT_CASE(all_threads_stay_within_the_total),
	KUNIT_CASE(flag_turns_sheaves_off),
	KUNIT_CASE_ISOLATED(parameter_turns_sheaves_off),
	KUNIT_CASE_ISOLATED(refused_membarrier_turns_sheaves_off),
	KUNIT_CASE(exit_returns_everything),
	KUNIT_CASE(free_is_a_threads_first_call),
	KUNIT_CASE(looking_makes_no_heap),
	{ 0 }
};

static const struct kunit_suite sheaf_suite = {
	.name = "sheaf",
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(sheaf_suite);
