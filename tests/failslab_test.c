// SPDX-License-Identifier: BSD-2-Clause
/*
 * failslab_test.c - allocations that are made to fail.
 *
 * Each kind of allocation fails when it is to, and only then; and programs are
 * walked through all of their error paths in failslab_programs.c. No such
 * failure may be reported, which the harness sees to. fault_attr_test.c has
 * when one is to fail.
 */
#include <errno.h>
#include <stdio.h>

#include "tests/crew.h"
#include "tests/failslab_space.h"
#include "tests/program.h"
#include "tests/random.h"

/* ---- Allocations ------------------------------------------------------ */

static void set_nth(struct kunit *test, struct slabdev *sd, u64 nth)
{
	struct slabdev_fault f = SLABDEV_FAULT_INIT;

	f.nth = nth;
	set_fault(test, sd, &f);
}

static void set_always(struct kunit *test, struct slabdev *sd,
		       const char *cache)
{
	struct slabdev_fault f = SLABDEV_FAULT_INIT;

	f.probability = 100;
	f.cache = cache;
	set_fault(test, sd, &f);
}

static void *plain(struct slabdev *sd, size_t size)
{
	return slabdev_alloc(sd, size);
}

static void *aligned(struct slabdev *sd, size_t size)
{
	return slabdev_alloc_aligned(sd, size, 4096);
}

static void *zeroed(struct slabdev *sd, size_t size)
{
	return slabdev_zalloc(sd, size);
}

static void *array(struct slabdev *sd, size_t size)
{
	return slabdev_alloc_array(sd, 2, size / 2);
}

static void *on_stream(struct slabdev *sd, size_t size)
{
	return slabdev_alloc_async(sd, size, NULL);
}

static void *unreported(struct slabdev *sd, size_t size)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;

	req.flags = SLABDEV_REQ_NO_REPORT;
	return slabdev_alloc_ex(sd, size, &req);
}

static const struct way {
	const char *name;
	void *(*alloc)(struct slabdev *sd, size_t size);
} ways[] = {
	{ "alloc", plain }, { "aligned", aligned }, { "zalloc", zeroed },
	{ "array", array }, { "async", on_stream }, { "ex", unreported },
};

static void describe_way(const struct way *w, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", w->name);
}
KUNIT_ARRAY_PARAM(way, ways, describe_way)

/* Objects that sheaves hold, the longest of slabs, and runs of slices. */
static const struct {
	size_t size;
	const char *name;
} sizes[] = {
	{ 4096, "alloc-4096" }, { 1 << 20, "alloc-1048576" },
	{ 3 << 20, "large" },
};

/* The third of each kind fails, and changes nothing but the count of those. */
static void each_way_fails_when_it_is_to(struct kunit *test)
{
	const struct way *way = test->param_value;
	struct slabdev *sd = test->priv;
	struct slabdev_stats before;
	void *p[5];
	u32 s, i;

	for (s = 0; s < ARRAY_SIZE(sizes); s++) {
		/* Something is in a sheaf, from which nobody is served. */
		EXPECT_FREED(test, sd, must_alloc(test, sd, sizes[s].size));
		set_nth(test, sd, 3);
		for (i = 0; i < 2; i++)
			p[i] = way->alloc(sd, sizes[s].size);
		before = figures(test, sd);
		p[2] = way->alloc(sd, sizes[s].size);
		expect_failure(test, sd, p[2], sizes[s].name);
		EXPECT_ONLY_FAILURES(test, sd, before, 1);
		KUNIT_EXPECT_EQ(test, get_fault(test, sd).nth, 0);
		for (i = 3; i < 5; i++)
			p[i] = way->alloc(sd, sizes[s].size);
		for (i = 0; i < 5; i++) {
			KUNIT_EXPECT_EQ(test, !p[i], i == 2);
			EXPECT_FREED(test, sd, p[i]);
		}
		KUNIT_EXPECT_EQ(test, get_fault(test, sd).fired, 1);
		KUNIT_EXPECT_EQ(test, get_fault(test, sd).asked, 5);
	}
}

/* What realloc cannot have is where it was. */
static void realloc_leaves_the_object(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p = must_alloc(test, sd, 1000);

	set_always(test, sd, NULL);
	KUNIT_EXPECT_NULL(test, slabdev_realloc(sd, p, 100000));
	KUNIT_EXPECT_EQ(test, errno, ENOMEM);
	set_fault(test, sd, NULL);
	EXPECT_FREED(test, sd, p);
}

static struct slabdev_cache *new_cache(struct kunit *test, struct slabdev *sd,
				       const char *name, size_t size, u32 flags)
{
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	struct slabdev_cache *cache = NULL;

	args.flags = flags;
	KUNIT_ASSERT_EQ_MSG(test, slabdev_cache_create(&cache, sd, name, size,
						       &args), 0, "%s",
			    slabdev_last_error());
	return cache;
}

static bool can_have(struct kunit *test, struct slabdev_cache *cache)
{
	void *p = slabdev_cache_alloc(cache);

	if (!p)
		return false;
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p), 0);
	return true;
}

/* All of them or none, whichever it is that fails. */
static void bulk_is_all_or_none(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *cache = new_cache(test, sd, "bulk", 48, 0);
	void *p[20];
	u64 nth;

	for (nth = 1; nth <= 20; nth++) {
		set_nth(test, sd, nth);
		KUNIT_EXPECT_EQ(test, slabdev_cache_alloc_bulk(cache, 20, p),
				-ENOMEM);
		KUNIT_EXPECT_EQ(test, figures(test, sd).live_objects, 0);
		KUNIT_EXPECT_EQ(test, get_fault(test, sd).asked, nth);
	}
	set_nth(test, sd, 21);
	KUNIT_EXPECT_EQ(test, slabdev_cache_alloc_bulk(cache, 20, p), 0);
	KUNIT_EXPECT_EQ(test, get_fault(test, sd).nth, 1);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free_bulk(cache, 20, p), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
}

static void only_the_named_caches_fail(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *a, *b, *later;
	void *p;

	a = new_cache(test, sd, "tensor-a", 1000, 0);
	b = new_cache(test, sd, "halo", 1000, 0);
	KUNIT_EXPECT_TRUE(test, can_have(test, a));
	set_always(test, sd, "tensor-*");
	later = new_cache(test, sd, "tensor-later", 8, 0);
	KUNIT_EXPECT_FALSE(test, can_have(test, a));
	KUNIT_EXPECT_TRUE(test, can_have(test, b));
	KUNIT_EXPECT_FALSE(test, can_have(test, later));
	KUNIT_EXPECT_STREQ(test, get_fault(test, sd).cache, "tensor-*");
	set_always(test, sd, "alloc-512");
	KUNIT_EXPECT_TRUE(test, can_have(test, a));
	p = slabdev_alloc(sd, 200);
	KUNIT_EXPECT_NOT_NULL(test, p);
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_NULL(test, slabdev_alloc(sd, 500));
	set_fault(test, sd, NULL);
	KUNIT_EXPECT_NULL(test, get_fault(test, sd).cache);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(a), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(b), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(later), 0);
}

/* The letter is the cache's own, and stays when faults are off. */
static void filter_leaves_it_to_marked_caches(struct kunit *test)
{
	struct slabdev_fault f = SLABDEV_FAULT_INIT;
	struct slabdev *sd = test->priv;
	struct slabdev_cache *marked, *other;
	int i;

	marked = new_cache(test, sd, "marked", 1000, SLABDEV_CACHE_FAILSLAB);
	other = new_cache(test, sd, "other", 1000, 0);
	f.probability = 100;
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_TRUE(test, can_have(test, marked));
		f.flags = SLABDEV_FAULT_CACHE_FILTER;
		set_fault(test, sd, &f);
		KUNIT_EXPECT_FALSE(test, can_have(test, marked));
		KUNIT_EXPECT_TRUE(test, can_have(test, other));
		KUNIT_EXPECT_EQ(test, get_fault(test, sd).flags,
				SLABDEV_FAULT_CACHE_FILTER);
		f.flags = 0;
		set_fault(test, sd, &f);
		KUNIT_EXPECT_FALSE(test, can_have(test, marked));
		KUNIT_EXPECT_FALSE(test, can_have(test, other));
		set_fault(test, sd, NULL);
		KUNIT_EXPECT_TRUE(test, can_have(test, other));
	}
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(marked), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(other), 0);
}

/* Without faults sheaves are there again. */
static void fast_paths_come_back(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct heap *h;
	int i;

	if (sd->bypass)
		kunit_skip(test, "a space without sheaves");
	for (i = 0; i < 3; i++) {
		set_nth(test, sd, 1000);
		EXPECT_FREED(test, sd, must_alloc(test, sd, 4096));
		h = thread_self->heap[sd->id];
		KUNIT_EXPECT_EQ(test, h->bin[layout_class(4096)].main->n, 0);
		set_fault(test, sd, NULL);
		EXPECT_FREED(test, sd, must_alloc(test, sd, 4096));
		KUNIT_EXPECT_GT(test, h->bin[layout_class(4096)].main->n, 0);
	}
}

static void refuse(struct kunit *test, struct slabdev *sd,
		   const struct slabdev_fault *f, const char *field)
{
	KUNIT_EXPECT_EQ(test, slabdev_set_fault(sd, f), -EINVAL);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(slabdev_last_error(), field),
				  "%s", slabdev_last_error());
	KUNIT_EXPECT_EQ(test, get_fault(test, sd).nth, 7);
}

#define REFUSE(field_, value_) do {					\
	struct slabdev_fault f_ = SLABDEV_FAULT_INIT;			\
									\
	f_.field_ = (value_);						\
	refuse(test, sd, &f_, "fault." #field_);			\
} while (0)

static void wrong_values_are_refused(struct kunit *test)
{
	char name[] = "0123456789012345678901234567890123456789"
		      "012345678901234567890123";
	struct slabdev *sd = test->priv;
	struct {
		struct slabdev_fault known;
		u64 unknown;
	} later = { SLABDEV_FAULT_INIT, 1 };

	set_nth(test, sd, 7);
	REFUSE(size, 4);
	REFUSE(probability, 101);
	REFUSE(verbose, 3);
	REFUSE(times, -2);
	REFUSE(cache, "a*b");
	REFUSE(cache, name);
	REFUSE(flags, 0x4);
	REFUSE(reserved, 1);
	later.known.size = sizeof(later);
	KUNIT_EXPECT_EQ(test, slabdev_set_fault(sd, &later.known), -E2BIG);
	KUNIT_EXPECT_EQ(test, slabdev_set_fault(NULL, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_get_fault(sd, NULL, 8), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_get_fault(NULL, &later.known, 8),
			-EINVAL);
	name[63] = '\0';
	later.known = (struct slabdev_fault)SLABDEV_FAULT_INIT;
	later.known.cache = name;
	set_fault(test, sd, &later.known);
	KUNIT_EXPECT_STREQ(test, get_fault(test, sd).cache, name);
}

/* ---- Threads ----------------------------------------------------------- */

#define NR_THREADS 4
#define NR_EACH 500

struct worker {
	struct slabdev *sd;
	u32 failed;
};

static void work(void *arg)
{
	struct worker *w = arg;
	void *p;
	int i;

	for (i = 0; i < NR_EACH; i++) {
		p = slabdev_alloc(w->sd, 1000);
		w->failed += !p;
		(void)slabdev_free(w->sd, p);
	}
}

static u32 work_in_threads(struct kunit *test, struct slabdev *sd)
{
	struct crew *crew = crew_new(test, NR_THREADS);
	struct worker w[NR_THREADS];
	u32 i, failed = 0;

	for (i = 0; i < NR_THREADS; i++)
		w[i] = (struct worker){ .sd = sd };
	crew_all(crew, work, w, sizeof(w[0]));
	for (i = 0; i < NR_THREADS; i++)
		failed += w[i].failed;
	crew_dismiss(crew);
	return failed;
}

static void threads_share_the_counts(struct kunit *test)
{
	struct slabdev_fault f = SLABDEV_FAULT_INIT;
	struct slabdev *sd = test->priv;

	set_nth(test, sd, NR_THREADS * NR_EACH);
	KUNIT_EXPECT_EQ(test, work_in_threads(test, sd), 1);
	f.probability = 50;
	f.times = 77;
	set_fault(test, sd, &f);
	KUNIT_EXPECT_EQ(test, work_in_threads(test, sd), 77);
	KUNIT_EXPECT_EQ(test, get_fault(test, sd).times, 0);
	f.probability = 100;
	f.times = -1;
	f.interval = 4;
	set_fault(test, sd, &f);
	KUNIT_EXPECT_EQ(test, work_in_threads(test, sd),
			NR_THREADS * NR_EACH / 4);
}

static void one_thread_alone_can_fail(struct kunit *test)
{
	struct slabdev_fault f = SLABDEV_FAULT_INIT;
	struct slabdev *sd = test->priv;
	struct worker own = { .sd = sd };

	f.probability = 100;
	f.flags = SLABDEV_FAULT_THIS_THREAD;
	set_fault(test, sd, &f);
	KUNIT_EXPECT_EQ(test, work_in_threads(test, sd), 0);
	KUNIT_EXPECT_EQ(test, get_fault(test, sd).asked, 0);
	work(&own);
	KUNIT_EXPECT_EQ(test, own.failed, NR_EACH);
	KUNIT_EXPECT_EQ(test, get_fault(test, sd).flags,
			SLABDEV_FAULT_THIS_THREAD);
}

struct switcher {
	struct kunit *test;
	struct slabdev *sd;
	u32 seed;
};

static void switch_faults(void *arg)
{
	struct switcher *s = arg;
	struct slabdev_fault f = SLABDEV_FAULT_INIT;
	u64 seed = s->seed;
	int i;

	for (i = 0; i < 100; i++) {
		f.probability = 10 * random_below(&seed, 5);
		f.nth = random_below(&seed, 100);
		if (slabdev_set_fault(s->sd, random_below(&seed, 3) ? &f :
								      NULL))
			KUNIT_FAIL(s->test, "%s", slabdev_last_error());
		(void)slabdev_get_fault(s->sd, &f, sizeof(f));
		f.cache = NULL;
	}
}

/* Whoever was last: with faults all classes ask, without none does. */
static void faults_come_and_go_while_threads_work(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct crew *crew = crew_new(test, 4);
	struct worker w[2] = { { .sd = sd }, { .sd = sd } };
	struct switcher s[2] = { { test, sd, 1 }, { test, sd, 2 } };
	int i;

	for (i = 0; i < 2; i++) {
		crew_start(crew, (u32)i, work, &w[i]);
		crew_start(crew, (u32)i + 2, switch_faults, &s[i]);
	}
	for (i = 0; i < 4; i++)
		crew_wait(crew, (u32)i);
	KUNIT_EXPECT_EQ(test, !!(sd->class[1]->debug & DEBUG_FAIL),
			sd->failslab.on);
	set_always(test, sd, NULL);
	KUNIT_EXPECT_EQ(test, work_in_threads(test, sd), NR_THREADS * NR_EACH);
	set_fault(test, sd, NULL);
	KUNIT_EXPECT_EQ(test, work_in_threads(test, sd), 0);
	crew_dismiss(crew);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(each_way_fails_when_it_is_to, way_gen_params),
	KUNIT_CASE(realloc_leaves_the_object),
	KUNIT_CASE(bulk_is_all_or_none),
	KUNIT_CASE(only_the_named_caches_fail),
	KUNIT_CASE(filter_leaves_it_to_marked_caches),
	KUNIT_CASE(fast_paths_come_back),
	KUNIT_CASE(wrong_values_are_refused),
	KUNIT_CASE(threads_share_the_counts),
	KUNIT_CASE(one_thread_alone_can_fail),
	KUNIT_CASE(faults_come_and_go_while_threads_work),
	KUNIT_CASE(every_unwinding_path_is_walked),
	KUNIT_CASE(program_fails_by_its_environment),
	KUNIT_CASE_ISOLATED(environment_is_for_every_space),
	KUNIT_CASE_ISOLATED(fault_is_told),
	{ 0 }
};

/* Those of the environment have to be first to open one. */
static int init(struct kunit *test)
{
	bool own = !strcmp(test->name, "environment_is_for_every_space") ||
		   !strcmp(test->name, "fault_is_told");

	return own ? 0 : open_space_init(test);
}

static const struct kunit_suite failslab_suite = {
	.name = "failslab",
	.init = init,
	.exit = open_space_exit,
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(failslab_suite);
