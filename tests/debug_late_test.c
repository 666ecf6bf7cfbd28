// SPDX-License-Identifier: BSD-2-Clause
/*
 * debug_late_test.c - what is done to objects that were freed already.
 *
 * Writes after a free, and when each of them is found; second frees; what
 * becomes of objects that were found bad; letters that come and go. Spaces have
 * F, Z, P, U and Q; caches have the letters that the case says.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "slab/quarantine.h"
#include "tests/damage.h"

/* With F a free is looked at at once, on a device, too. */
#define FP (SLABDEV_CACHE_CONSISTENCY_CHECKS | SLABDEV_CACHE_POISON)
#define FZP (FP | SLABDEV_CACHE_RED_ZONE)
#define FZPQ (FZP | SLABDEV_CACHE_QUARANTINE)
#define SIZE 1000u

static int letters_init(const struct kunit_suite *suite)
{
	(void)suite;
	if (IS_ENABLED(CONFIG_SLAB_DEBUG))
		debug_letters_are("FZPUQ");
	return 0;
}

static int late_init(struct kunit *test)
{
	need_debug(test);
	test->priv = debug_space(test);
	return 0;
}

/* ---- When a write is found --------------------------------------------- */

struct late {
	struct kunit *test;
	struct slabdev *sd;
	struct slabdev_cache *cache;
	void *stale;
};

/* More than the quarantine holds are freed. */
static void fill_quarantine(struct late *l)
{
	void *p;
	u32 i;

	for (i = 0; i <= QUARANTINE_HELD; i++) {
		p = slabdev_cache_alloc(l->cache);
		KUNIT_ASSERT_NOT_NULL(l->test, p);
		KUNIT_EXPECT_EQ(l->test, slabdev_cache_free(l->cache, p), 0);
	}
}

static void take_all(struct late *l)
{
	const struct class *c = (const struct class *)l->cache;
	void *p[SLAB_MAX_OBJECTS];
	u32 i;

	for (i = 0; i < c->nr; i++) {
		p[i] = slabdev_cache_alloc(l->cache);
		KUNIT_EXPECT_PTR_NE(l->test, p[i], l->stale);
	}
	KUNIT_EXPECT_EQ(l->test, slabdev_cache_free_bulk(l->cache, c->nr, p),
			0);
}

static void shrink(struct late *l)
{
	KUNIT_EXPECT_GE(l->test, slabdev_cache_shrink(l->cache), 0);
}

static void trim(struct late *l)
{
	KUNIT_EXPECT_EQ(l->test, slabdev_trim(l->sd, 0), 0);
}

static void validate(struct late *l)
{
	expect_damaged(l->test, l->sd, 1);
}

static void validate_cache(struct late *l)
{
	KUNIT_EXPECT_EQ(l->test, slabdev_cache_validate(l->cache), -EUCLEAN);
}

static void destroy(struct late *l)
{
	KUNIT_EXPECT_EQ(l->test, slabdev_cache_destroy(l->cache), 0);
	l->cache = NULL;
}

static const struct late_param {
	const char *name;
	u32 letters;
	void (*find)(struct late *l);
	const char *found;
} late_params[] = {
	{ "reuse", FZP, take_all,
	  "when the object was to be handed out again" },
	{ "shrink", FZP, shrink, "when the slab of the object was given back" },
	{ "trim", FZP, trim, "when the slab of the object was given back" },
	{ "destroy", FZP, destroy,
	  "when the slab of the object was given back" },
	{ "walk", FZP, validate, "by a walk" },
	{ "walk of the cache", FZP, validate_cache, "by a walk" },
	{ "reuse, no Z", FP, take_all,
	  "when the object was to be handed out again" },
	{ "quarantine", FZPQ, fill_quarantine,
	  "when the object left the quarantine" },
	{ "quarantine, shrink", FZPQ, shrink,
	  "when the object left the quarantine" },
	{ "quarantine, trim", FZPQ, trim,
	  "when the object left the quarantine" },
	{ "quarantine, destroy", FZPQ, destroy,
	  "when the object left the quarantine" },
	{ "quarantine, walk", FZPQ, validate, "by a walk" },
	{ "quarantine, no Z", FP | SLABDEV_CACHE_QUARANTINE, fill_quarantine,
	  "when the object left the quarantine" },
};

static void describe_late(const struct late_param *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", p->name);
}
KUNIT_ARRAY_PARAM(late, late_params, describe_late)

static void write_after_free(struct kunit *test)
{
	const struct late_param *p = test->param_value;
	struct late l = { .test = test, .sd = test->priv };
	void *keep;

	l.cache = lettered_cache(test, l.sd, SIZE, p->letters);
	l.stale = slabdev_cache_alloc(l.cache);
	keep = slabdev_cache_alloc(l.cache);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(l.cache, l.stale), 0);
	smear(l.sd, l.stale, 500, 4);
	/* The slab goes only when nothing is live in it. */
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(l.cache, keep), 0);
	EXPECT_TOLD(test, REPORT_POISON, p->find(&l));
	expect_told(test, "BUG slabdev test: lettered: Poison overwritten\n");
	expect_told(test, "First byte 0x5a instead of 0x6b\n");
	expect_told(test, "500 bytes into the object, which is free\n");
	expect_told(test, "Object 0x%llx of lettered size=1000, free\n",
		    (unsigned long long)(uintptr_t)l.stale);
	expect_told(test, "found %s; ", p->found);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(l.cache), 0);
}

static void close_finds_it(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p = must_alloc(test, sd, SIZE);

	EXPECT_FREED(test, sd, p);
	smear(sd, p, 0, 1);
	test->priv = NULL;
	EXPECT_TOLD(test, REPORT_POISON,
		    KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), 0));
	expect_told(test, "BUG slabdev test: alloc-1024: Poison overwritten\n");
	expect_told(test, "Freed by ");
}

/* One write that hits what is free, far from the object that it was meant
 * for. */
static void far_write(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p = must_alloc(test, sd, 256), *q = must_alloc(test, sd, 256);

	EXPECT_FREED(test, sd, q);
	smear(sd, p, (char *)q - (char *)p + 7, 1);
	EXPECT_TOLD(test, REPORT_POISON, expect_damaged(test, sd, 1));
	expect_told(test, "7 bytes into the object, which is free");
	EXPECT_FREED(test, sd, p);
}

/* ---- Second frees ------------------------------------------------------ */

/* A plain build has handed it out again, and takes the second free for one of
 * that; held back, it is known. */
static void second_free(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *cache = lettered_cache(test, sd, SIZE, 0);
	void *p = slabdev_cache_alloc(cache), *q;

	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p), 0);
	KUNIT_EXPECT_PTR_EQ(test, slabdev_cache_alloc(cache), p);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);

	cache = lettered_cache(test, sd, SIZE, SLABDEV_CACHE_QUARANTINE |
			       SLABDEV_CACHE_STORE_USER);
	p = slabdev_cache_alloc(cache);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p), 0);
	q = slabdev_cache_alloc(cache);
	KUNIT_EXPECT_PTR_NE(test, q, p);
	EXPECT_TOLD(test, REPORT_DOUBLE_FREE,
		    KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p),
				    -EALREADY));
	expect_told(test, "Freed by ");
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, q), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
}

/* Of all kinds, also of what was found bad. */
static void second_free_of_a_bad_object(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p = must_alloc(test, sd, 300);

	smear(sd, p, 300, 1);
	EXPECT_TOLD(test, REPORT_RED_ZONE, EXPECT_FREED(test, sd, p));
	EXPECT_TOLD(test, REPORT_DOUBLE_FREE,
		    KUNIT_EXPECT_EQ(test, slabdev_free(sd, p), -EALREADY));
	EXPECT_TOLD(test, REPORT_INVALID_POINTER,
		    KUNIT_EXPECT_EQ(test, slabdev_free(sd, (char *)p + 256),
				    -EINVAL));
}

/* ---- Bad objects ------------------------------------------------------- */

/* They count as cached, are told of once, and go with their space. */
static void many_bad_objects(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *cache = lettered_cache(test, sd, SIZE, FZP);
	void *p[200];
	u32 i;

	KUNIT_ASSERT_EQ(test, slabdev_cache_alloc_bulk(cache, 200, p), 0);
	for (i = 0; i < 200; i++) {
		smear(sd, p[i], 1004, 1);
		EXPECT_TOLD(test, REPORT_RED_ZONE,
			    KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache,
								     p[i]),
					    0));
	}
	KUNIT_EXPECT_EQ(test, expect_sound(test, sd).live_objects, 0);
	KUNIT_EXPECT_GE(test, figures(test, sd).cached, 200 * SIZE);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	KUNIT_EXPECT_GT(test, figures(test, sd).mapped, 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	expect_empty(test, sd);
}

/* Through the zone and into the neighbour: the zone is told of, once. */
static void long_overrun(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *cache = lettered_cache(test, sd, 240, FZP);
	void *p[2];

	get_neighbours(test, cache, p);
	smear(sd, p[0], 240, 100);
	EXPECT_TOLD(test, REPORT_RED_ZONE, slabdev_cache_free(cache, p[0]));
	expect_told(test, "Right Redzone overwritten");
	expect_told(test, ": 5a 5a 5a 5a 5a 5a 5a 5a");
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p[1]), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
}

/* ---- Constructors ------------------------------------------------------ */

/* It may fill all that it was given; there are zones, and no poison. */
static int fill_slab(void *base, size_t stride, size_t count,
		     slabdev_stream_t stream, void *arg)
{
	(void)stream;
	mem_fill(arg, base, stride * count, 0x77);
	return 0;
}

static void constructed_objects(struct kunit *test)
{
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	struct slabdev *sd = test->priv;
	struct slabdev_cache *cache;
	u32 i;
	void *p;

	args.ctor = fill_slab;
	args.ctor_arg = sd;
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&cache, sd, "constructed",
						   300, &args), 0);
	for (i = 0; i < 100; i++) {
		p = slabdev_cache_alloc(cache);
		KUNIT_ASSERT_NOT_NULL(test, p);
		KUNIT_EXPECT_TRUE(test, mem_is(sd, p, 300, 0x77));
		KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p), 0);
	}
	expect_sound(test, sd);
	p = slabdev_cache_alloc(cache);
	smear(sd, p, 300, 1);
	EXPECT_TOLD(test, REPORT_RED_ZONE, slabdev_cache_free(cache, p));
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
}

/* ---- Letters that come and go ------------------------------------------ */

/* U, T and Q, while objects of before are live; Z and P stay. */
static void letters_switch_meanwhile(struct kunit *test)
{
	static const char *const specs[] = { "U", "-", "FQ", "UQ", "-", "FUQ" };
	struct slabdev *sd = test->priv;
	struct slabdev_cache *plain, *zoned;
	void *p[ARRAY_SIZE(specs)][3];
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	u32 i, j, round;

	KUNIT_ASSERT_EQ(test, slabdev_set_debug(sd, "-"), 0);
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&plain, sd, "plain", 200,
						   &args), 0);
	args.flags = SLABDEV_CACHE_RED_ZONE | SLABDEV_CACHE_POISON;
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&zoned, sd, "zoned", 600,
						   &args), 0);
	memset(p, 0, sizeof(p));
	for (round = 0; round < 50; round++) {
		i = round % ARRAY_SIZE(specs);
		KUNIT_EXPECT_EQ(test, slabdev_set_debug(sd, specs[i]), 0);
		j = (round * 7) % ARRAY_SIZE(specs);
		EXPECT_FREED(test, sd, p[j][0]);
		EXPECT_FREED(test, sd, p[j][1]);
		EXPECT_FREED(test, sd, p[j][2]);
		p[j][0] = slabdev_cache_alloc(plain);
		p[j][1] = slabdev_cache_alloc(zoned);
		p[j][2] = must_alloc(test, sd, 2000);
		mem_fill(sd, p[j][0], 200, 1);
		mem_fill(sd, p[j][1], 600, 2);
		mem_fill(sd, p[j][2], 2000, 3);
		expect_sound(test, sd);
	}
	for (j = 0; j < ARRAY_SIZE(specs); j++)
		for (i = 0; i < 3; i++)
			EXPECT_FREED(test, sd, p[j][i]);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(plain), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(zoned), 0);
}

/* Q comes: what was freed before it is not held, what is freed now is. */
static void quarantine_comes_and_goes(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *cache = lettered_cache(test, sd, SIZE, 0);
	void *p = slabdev_cache_alloc(cache), *q;

	KUNIT_EXPECT_EQ(test, slabdev_cache_set_debug(cache, "Q"), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p), 0);
	q = slabdev_cache_alloc(cache);
	KUNIT_EXPECT_PTR_NE(test, q, p);
	KUNIT_EXPECT_EQ(test, slabdev_cache_set_debug(cache, "-"), 0);
	EXPECT_TOLD(test, REPORT_DOUBLE_FREE,
		    KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p),
				    -EALREADY));
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, q), 0);
	expect_sound(test, sd);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
}

/* ---- Policies and forks ------------------------------------------------ */

static void every_policy(struct kunit *test)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	struct slabdev *sd = test->priv;
	void *p[40];
	u32 mode, i;

	for (mode = SLABDEV_RETAIN; mode <= SLABDEV_AGGRESSIVE; mode++) {
		policy.mode = mode;
		KUNIT_EXPECT_EQ(test, slabdev_set_policy(sd, &policy), 0);
		for (i = 0; i < ARRAY_SIZE(p); i++) {
			p[i] = must_alloc(test, sd, 100 + i * i * 900);
			mem_fill(sd, p[i], 100 + i * i * 900, 0x44);
		}
		smear(sd, p[20], 100 + 400 * 900, 1);
		for (i = 0; i < ARRAY_SIZE(p); i++)
			if (i != 20)
				EXPECT_FREED(test, sd, p[i]);
		EXPECT_TOLD(test, REPORT_RED_ZONE,
			    EXPECT_FREED(test, sd, p[20]));
		expect_sound(test, sd);
	}
}

/* What the child of a fork does wrong is found there, in its own slabs. */
static void misbehave(struct kunit *test, struct slabdev *sd, void *p)
{
	void *q;

	EXPECT_FREED(test, sd, p);
	EXPECT_TOLD(test, REPORT_DOUBLE_FREE, slabdev_free(sd, p));
	q = must_alloc(test, sd, 5000);
	smear(sd, q, 5000, 1);
	EXPECT_TOLD(test, REPORT_RED_ZONE, EXPECT_FREED(test, sd, q));
	q = must_alloc(test, sd, 5000);
	EXPECT_FREED(test, sd, q);
	smear(sd, q, 1, 1);
	EXPECT_TOLD(test, REPORT_POISON, slabdev_validate(sd));
}

static void fork_has_its_own(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	int status;
	pid_t pid;
	void *p;

	host_only(test, "only its spaces live on in a child");
	p = must_alloc(test, sd, 500);
	pid = fork();
	if (!pid) {
		misbehave(test, sd, p);
		_exit(slabdev_close(sd, 0) != 0);
	}
	KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ(test, status, 0);
	smear(sd, p, 500, 1);
	EXPECT_TOLD(test, REPORT_RED_ZONE, EXPECT_FREED(test, sd, p));
}

/* U: who had an object is known yet when its slab goes. */
static void owners_are_told_at_the_end(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *cache;
	void *p;

	cache = lettered_cache(test, sd, 500, FZP | SLABDEV_CACHE_STORE_USER);
	p = slabdev_cache_alloc(cache);
	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p), 0);
	smear(sd, p, 100, 1);
	EXPECT_TOLD(test, REPORT_POISON,
		    KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0));
	expect_told(test, "Allocated by thread");
	expect_told(test, "Freed by thread");
}

/* What a graph has is neither live nor in its slab, as a bad object is: it
 * stays the graph's when the cache is to be destroyed. */
static void destroy_after_damage(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *cache;
	struct slabdev_graph *graph;
	slabdev_stream_t q;
	void *p, *bad;

	host_only(test, "queues are its streams");
	cache = lettered_cache(test, sd, 500, FZP);
	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&q, 0), 0);
	bad = slabdev_cache_alloc(cache);
	KUNIT_ASSERT_NOT_NULL(test, bad);
	smear(sd, bad, 500, 1);
	EXPECT_TOLD(test, REPORT_RED_ZONE,
		    KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, bad), 0));
	KUNIT_ASSERT_EQ(test, slabdev_capture_begin(sd, q, &graph), 0);
	p = slabdev_cache_alloc_async(cache, q);
	KUNIT_EXPECT_NOT_NULL_MSG(test, p, "%s", slabdev_last_error());
	KUNIT_EXPECT_EQ(test, slabdev_cache_free_async(cache, p, q), 0);
	KUNIT_EXPECT_EQ(test, slabdev_capture_end(graph), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), -EBUSY);
	KUNIT_EXPECT_EQ(test, slabdev_graph_release(graph), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(q), 0);
}

/* ---- Queues ------------------------------------------------------------ */

static void fill_object(void *arg)
{
	memset(arg, 0x66, 39);
}

/* A zone is filled, and the object used, in a queue that has not run; what is
 * freed without a word of it waits for the queue. */
static void zones_in_a_queue(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	slabdev_stream_t q;
	void *p, *other;

	host_only(test, "queues are its streams");
	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&q, SLABDEV_QUEUE_MANUAL),
			0);
	p = slabdev_alloc_async(sd, 39, q);
	expect_sound(test, sd);
	EXPECT_FREED(test, sd, p);
	other = must_alloc(test, sd, 240);
	mem_fill(sd, other, 240, 0x55);
	KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(q), 0);
	KUNIT_EXPECT_TRUE(test, mem_is(sd, other, 240, 0x55));
	EXPECT_FREED(test, sd, other);

	p = slabdev_alloc_async(sd, 39, q);
	KUNIT_EXPECT_EQ(test, slabdev_queue_submit(q, fill_object, p), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(sd, p, q), 0);
	expect_sound(test, sd);
	KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(q), 0);
	KUNIT_EXPECT_EQ(test, slabdev_poll(sd), 0);
	expect_sound(test, sd);

	p = slabdev_alloc_async(sd, 38, q);
	KUNIT_EXPECT_EQ(test, slabdev_queue_submit(q, fill_object, p), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(sd, p, q), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(q), 0);
	EXPECT_TOLD(test, REPORT_RED_ZONE, slabdev_poll(sd));
	expect_told(test, "First byte 0x66 instead of 0xcc");
	expect_told(test, "size=38, free");
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(q), 0);
}

/* ---- Sizes that the caller says ---------------------------------------- */

static void sizes_must_match(struct kunit *test)
{
	static const size_t sizes[] = { 1, 300, 5000, 3 * MIB };
	struct slabdev *sd = test->priv;
	struct slabdev_cache *cache = lettered_cache(test, sd, 40, 0);
	size_t size;
	u32 i;
	void *p;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		size = sizes[i];
		p = must_alloc(test, sd, size);
		EXPECT_TOLD(test, REPORT_SIZE,
			    KUNIT_EXPECT_EQ(test, slabdev_free_sized(sd, p,
								     size + 1),
					    -EINVAL));
		KUNIT_EXPECT_EQ(test, slabdev_free_sized(sd, p, size), 0);
	}
	p = slabdev_cache_alloc(cache);
	EXPECT_TOLD(test, REPORT_SIZE,
		    KUNIT_EXPECT_EQ(test, slabdev_free_sized(sd, p, 41),
				    -EINVAL));
	KUNIT_EXPECT_EQ(test, slabdev_free_sized(sd, p, 40), 0);
	p = slabdev_realloc(sd, must_alloc(test, sd, 300), 310);
	EXPECT_TOLD(test, REPORT_SIZE,
		    KUNIT_EXPECT_EQ(test, slabdev_free_sized(sd, p, 300),
				    -EINVAL));
	KUNIT_EXPECT_EQ(test, slabdev_free_sized(sd, p, 310), 0);
	EXPECT_TOLD(test, REPORT_DOUBLE_FREE,
		    KUNIT_EXPECT_EQ(test, slabdev_free_sized(sd, p, 310),
				    -EALREADY));
	EXPECT_TOLD(test, REPORT_INVALID_POINTER,
		    KUNIT_EXPECT_EQ(test, slabdev_free_sized(sd, &size, 8),
				    -EINVAL));
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
}

static const struct kunit_case late_cases[] = {
	KUNIT_CASE_PARAM(write_after_free, late_gen_params),
	KUNIT_CASE(close_finds_it),
	KUNIT_CASE(far_write),
	KUNIT_CASE(second_free),
	KUNIT_CASE(second_free_of_a_bad_object),
	KUNIT_CASE(many_bad_objects),
	KUNIT_CASE(long_overrun),
	KUNIT_CASE(constructed_objects),
	KUNIT_CASE(letters_switch_meanwhile),
	KUNIT_CASE(quarantine_comes_and_goes),
	KUNIT_CASE(every_policy),
	KUNIT_CASE(fork_has_its_own),
	KUNIT_CASE(owners_are_told_at_the_end),
	KUNIT_CASE(destroy_after_damage),
	KUNIT_CASE(zones_in_a_queue),
	KUNIT_CASE(sizes_must_match),
	{}
};

static const struct kunit_suite late_suite = {
	.name = "debug_late",
	.suite_init = letters_init,
	.init = late_init,
	.exit = open_space_exit,
	.cases = late_cases,
	.any_space = true,
};
kunit_test_suite(late_suite);
