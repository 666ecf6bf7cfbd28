// SPDX-License-Identifier: BSD-2-Clause
/*
 * rivals_test.c - threads that free the same object at the same time.
 *
 * A free ends the object's life by an atomic exchange, whatever the kind of the
 * object: so of any number of threads exactly one succeeds, and each of the
 * others is told that the object is free already, whether the winner has just
 * begun or has given back the slab, the run, or the memory. Nothing may come of
 * it: the object is handed out once, and every figure is as if the losers had
 * not been there.
 *
 * The threads meet before each object. A loser must be told -EALREADY, not
 * -EINVAL: nobody allocates meanwhile, so nothing else can be at the address.
 */
#include <stdio.h>

#include "core/log.h"
#include "core/os.h"
#include "slab/slab.h"
#include "tests/crew.h"
#include "tests/open_space.h"
#include "tests/sanitizers.h"
#include "tests/shadow.h"

#define MOST_RIVALS 8u
#define MOST_OBJECTS 256u
#define CODES 39u

static const struct kind {
	const char *name;
	size_t size;
	bool is_cache;
	bool by_cache;		/* slabdev_cache_free() */
	u32 codes;		/* caches that take the codes first */
	u32 objects;
	u32 rounds;
} kinds[] = {
	{ "one granule", 200, false, false, 0, 256, 24 },
	{ "two tags", 3000, false, false, 0, 256, 24 },
	{ "one in a slab", 500000, false, false, 0, 64, 24 },
	{ "tiny of 16", 16, true, false, 0, 256, 24 },
	{ "tiny of 48, cache", 48, true, true, 0, 256, 24 },
	{ "cache", 2000, true, false, 0, 256, 24 },
	{ "cache, cache", 2000, true, true, 0, 256, 24 },
	{ "uncoded cache", 2000, true, false, CODES, 256, 24 },
	{ "no sheaf", 3 * MIB, true, true, 0, 16, 24 },
	{ "large", 5 * MIB, false, false, 0, 16, 24 },
	{ "huge", 65 * MIB, false, false, 0, 2, 40 },
};

static void describe_kind(const struct kind *k, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", k->name);
}
KUNIT_ARRAY_PARAM(kind, kinds, describe_kind);

struct race {
	struct kunit *test;
	const struct kind *kind;
	struct slabdev *sd;
	struct slabdev_cache *coded[CODES];
	struct slabdev_cache *cache;
	struct shadow shadow;
	u32 nr_rivals;
	void *p[MOST_OBJECTS];
	u32 here[MOST_OBJECTS];		/* atomic: rivals at this object */
	u32 freed[MOST_OBJECTS];	/* atomic: who succeeded */
	u32 refused[MOST_OBJECTS];	/* atomic: who was told so */
	u32 reports;			/* atomic */
};

struct rival {
	struct race *r;
};

/* ---- Objects ---------------------------------------------------------- */

static void count_report(int level, int kind, const char *text, void *arg)
{
	struct race *r = arg;

	(void)level;
	if (kind == REPORT_DOUBLE_FREE ||
	    (kind == REPORT_INVALID_POINTER && has_regions(r->sd)))
		__atomic_fetch_add(&r->reports, 1, __ATOMIC_RELAXED);
	else if (kind >= 0)
		KUNIT_FAIL(r->test, "%s", text);
}

static struct slabdev_cache *new_cache(struct race *r, const char *name,
				       u32 number, size_t size)
{
	struct slabdev_cache *cache = NULL;
	char text[24];

	snprintf(text, sizeof(text), "%s-%u", name, number);
	KUNIT_ASSERT_EQ_MSG(r->test, slabdev_cache_create(&cache, r->sd, text,
							  size, NULL), 0, "%s",
			    slabdev_last_error());
	return cache;
}

static struct race *race_open(struct kunit *test, u32 nr_rivals, u32 mode)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	struct race *r = kunit_kzalloc(test, sizeof(*r));
	u32 i;

	r->test = test;
	r->kind = test->param_value;
	r->nr_rivals = nr_rivals;
	r->sd = case_space(test, GIB);
	policy.mode = mode;
	KUNIT_ASSERT_EQ(test, slabdev_set_policy(r->sd, &policy), 0);
	shadow_init(test, &r->shadow, r->sd);
	log_set_sink(count_report, r);
	for (i = 0; i < r->kind->codes; i++)
		r->coded[i] = new_cache(r, "coded", i, 1000);
	if (r->kind->is_cache)
		r->cache = new_cache(r, "cache", 0, r->kind->size);
	return r;
}

static void race_close(struct race *r)
{
	u32 i;

	KUNIT_EXPECT_EQ(r->test, slabdev_cache_destroy(r->cache), 0);
	for (i = 0; i < r->kind->codes; i++)
		KUNIT_EXPECT_EQ(r->test, slabdev_cache_destroy(r->coded[i]), 0);
	expect_empty(r->test, r->sd);
}

static void take_all(struct race *r)
{
	u32 i;

	for (i = 0; i < r->kind->objects; i++) {
		r->p[i] = r->cache ? slabdev_cache_alloc(r->cache) :
				     slabdev_alloc(r->sd, r->kind->size);
		KUNIT_ASSERT_NOT_NULL_MSG(r->test, r->p[i], "%s",
					  slabdev_last_error());
		KUNIT_EXPECT_TRUE_MSG(r->test, shadow_claim(&r->shadow, r->p[i],
			slabdev_usable_size(r->sd, r->p[i])),
			"%p was handed out twice", r->p[i]);
	}
}

static void forget_all(struct race *r)
{
	u32 i;

	for (i = 0; i < r->kind->objects; i++)
		shadow_release(&r->shadow, r->p[i],
			       slabdev_usable_size(r->sd, r->p[i]));
}

/* ---- The race --------------------------------------------------------- */

static void meet(struct race *r, u32 i)
{
	u32 spins = 0;

	__atomic_fetch_add(&r->here[i], 1, __ATOMIC_ACQ_REL);
	while (load_acquire(&r->here[i]) < r->nr_rivals)
		if (++spins % 256 == 0)
			os_yield();
}

static void free_all(void *arg)
{
	struct race *r = ((struct rival *)arg)->r;
	u32 i;
	int err;

	for (i = 0; i < r->kind->objects; i++) {
		meet(r, i);
		err = r->kind->by_cache ?
			      slabdev_cache_free(r->cache, r->p[i]) :
			      slabdev_free(r->sd, r->p[i]);
		if (!err)
			__atomic_fetch_add(&r->freed[i], 1, __ATOMIC_RELAXED);
		else if (err == -EALREADY ||
			 (err == -EINVAL && has_regions(r->sd)))
			__atomic_fetch_add(&r->refused[i], 1, __ATOMIC_RELAXED);
		else
			KUNIT_FAIL(r->test, "%s", slabdev_last_error());
	}
}

static void one_round(struct race *r, struct crew *crew)
{
	struct rival rivals[MOST_RIVALS];
	u32 i;

	r->reports = 0;
	for (i = 0; i < r->kind->objects; i++)
		r->here[i] = r->freed[i] = r->refused[i] = 0;
	for (i = 0; i < r->nr_rivals; i++)
		rivals[i].r = r;
	take_all(r);
	forget_all(r);
	crew_all(crew, free_all, rivals, sizeof(rivals[0]));
	for (i = 0; i < r->kind->objects; i++) {
		KUNIT_EXPECT_EQ(r->test, r->freed[i], 1);
		KUNIT_EXPECT_EQ(r->test, r->refused[i], r->nr_rivals - 1);
	}
	KUNIT_EXPECT_EQ(r->test, r->reports,
			(r->nr_rivals - 1) * r->kind->objects);
	KUNIT_EXPECT_EQ(r->test, expect_sound(r->test, r->sd).live_objects, 0);
}

static void run_race(struct kunit *test, u32 nr_rivals, u32 mode)
{
	struct race *r = race_open(test, nr_rivals, mode);
	struct crew *crew = crew_new(test, nr_rivals);
	u32 rounds = r->kind->rounds, i;

	if (IS_SANITIZED)
		rounds = max(rounds / 4, 1u);
	for (i = 0; i < rounds; i++)
		one_round(r, crew);
	race_close(r);
	crew_dismiss(crew);
}

static void one_of_two_succeeds(struct kunit *test)
{
	run_race(test, 2, SLABDEV_RETAIN);
}

static void one_of_eight_succeeds(struct kunit *test)
{
	run_race(test, MOST_RIVALS, SLABDEV_RETAIN);
}

/* Memory goes back in the very free that the others lose; with a region go
 * its addresses. */
static void one_succeeds_and_gives_back(struct kunit *test)
{
	run_race(test, 2, SLABDEV_AGGRESSIVE);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(one_of_two_succeeds, kind_gen_params, .slow = true,
			 .timeout_s = 180),
	KUNIT_CASE_PARAM(one_of_eight_succeeds, kind_gen_params, .slow = true,
			 .timeout_s = 180),
	KUNIT_CASE_PARAM(one_succeeds_and_gives_back, kind_gen_params,
			 .slow = true,
			 .timeout_s = 180),
	{ 0 }
};

static const struct kunit_suite rivals_suite = {
	.name = "rivals",
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(rivals_suite);
