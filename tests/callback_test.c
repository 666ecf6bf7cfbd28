// SPDX-License-Identifier: BSD-2-Clause
/*
 * callback_test.c - callbacks that call the library back, below a slow path.
 *
 * A log sink, a shrinker and a constructor run in the middle of an operation,
 * which has the sheaves of its class in its own hands just then. Each of them
 * here uses the very same class: allocates and frees, so that a sheaf is in
 * the bin when the operation comes back to it. Whatever it does, no object may
 * be lost: afterwards all of them can be freed and all memory given back.
 */
#include "core/log.h"
#include "slab/slab.h"
#include "tests/open_space.h"

#define LIMIT (8 * MIB)
#define MANY (LIMIT / 64)

/* The class that the operation and the callback share. */
static const struct subject {
	const char *name;
	size_t size;
	bool cache;
	u32 before;		/* caches that take the codes first */
	u32 flags;		/* of the space */
} subjects[] = {
	{ "small objects", 256, false, 0, 0 },
	{ "middle objects", 20000, false, 0, 0 },
	{ "objects without sheaves", MIB, false, 0, 0 },
	{ "a cache", 3000, true, 0, 0 },
	{ "a cache without a code", 3000, true, 39, 0 },
	{ "a tiny cache", 64, true, 0, 0 },
	{ "the locked path", 256, false, 0, SLABDEV_OPEN_NO_SHEAVES },
};

static void describe_subject(const struct subject *s, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", s->name);
}
KUNIT_ARRAY_PARAM(subject, subjects, describe_subject);

struct scene {
	struct kunit *test;
	const struct subject *subject;
	struct slabdev *sd;
	struct slabdev_cache *cache, *before[39];
	void **p;
	u32 n;
	u32 calls;		/* of the callback */
	u32 drops;		/* objects that each call frees for good */
	bool inside;		/* the log sink */
};

static struct scene *scene_open(struct kunit *test, u64 limit)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct scene *s = kunit_kzalloc(test, sizeof(*s));
	char name[20];
	u32 i;

	s->test = test;
	s->subject = test->param_value;
	s->p = kunit_kzalloc(test, MANY * sizeof(*s->p));
	attr.limit = limit;
	attr.flags = s->subject->flags;
	s->sd = case_space_attr(test, &attr);
	for (i = 0; i < s->subject->before; i++) {
		snprintf(name, sizeof(name), "before-%u", i);
		KUNIT_ASSERT_EQ(test, slabdev_cache_create(&s->before[i], s->sd,
							   name, 512, NULL), 0);
	}
	if (s->subject->cache)
		KUNIT_ASSERT_EQ(test, slabdev_cache_create(&s->cache, s->sd,
				"cache", s->subject->size, NULL), 0);
	return s;
}

static void *scene_alloc(struct scene *s)
{
	if (s->cache)
		return slabdev_cache_alloc(s->cache);
	return slabdev_alloc(s->sd, s->subject->size);
}

static void scene_free(struct scene *s, void *p)
{
	KUNIT_EXPECT_EQ_MSG(s->test, slabdev_free(s->sd, p), 0, "%s",
			    slabdev_last_error());
}

static bool scene_keep(struct scene *s)
{
	void *p = scene_alloc(s);

	if (!p)
		return false;
	KUNIT_ASSERT_LT(s->test, s->n, MANY);
	s->p[s->n++] = p;
	return true;
}

/* Frees some, takes some of them again, and lets go of those too. */
static void reenter(struct scene *s)
{
	void *p[24];
	u32 i, n = min(s->n, (u32)ARRAY_SIZE(p));

	s->calls++;
	for (i = 0; i < n; i++)
		scene_free(s, s->p[--s->n]);
	for (i = 0; i < n; i++)
		p[i] = scene_alloc(s);
	while (i--)
		if (i < s->drops)
			scene_free(s, p[i]);
		else if (p[i])
			s->p[s->n++] = p[i];
}

/* All objects are here and can be freed, and nothing stays behind. */
static void scene_end(struct scene *s)
{
	u32 i;

	KUNIT_EXPECT_GT(s->test, s->calls, 0);
	KUNIT_EXPECT_EQ(s->test, expect_sound(s->test, s->sd).live_objects,
			s->n);
	while (s->n)
		scene_free(s, s->p[--s->n]);
	expect_empty(s->test, s->sd);
	KUNIT_EXPECT_EQ(s->test, s->sd->charged, 0);
	if (s->cache)
		KUNIT_EXPECT_EQ(s->test, slabdev_cache_destroy(s->cache), 0);
	for (i = 0; i < s->subject->before; i++)
		KUNIT_EXPECT_EQ(s->test, slabdev_cache_destroy(s->before[i]),
				0);
	expect_sound(s->test, s->sd);
}

/* ---- Log sinks -------------------------------------------------------- */

static void reenter_at_report(int level, int kind, const char *text, void *arg)
{
	struct scene *s = arg;

	(void)level;
	/* What runs inside may be short of memory too. */
	if (kind < 0 || s->inside)
		return;
	if (kind != REPORT_OUT_OF_MEMORY && kind != REPORT_DOUBLE_FREE)
		KUNIT_FAIL(s->test, "%s", text);
	s->inside = true;
	reenter(s);
	s->inside = false;
}

static void log_sink_at_out_of_memory(struct kunit *test)
{
	struct scene *s = scene_open(test, LIMIT);
	u32 round;

	log_set_sink(reenter_at_report, s);
	for (round = 0; round < 5; round++) {
		s->drops = round * 6;
		while (scene_keep(s))
			;
		expect_sound(test, s->sd);
	}
	KUNIT_EXPECT_EQ(test, s->calls, 5);
	scene_end(s);
}

static void log_sink_at_double_free(struct kunit *test)
{
	struct scene *s = scene_open(test, LIMIT);
	void *p;
	u32 i;

	log_set_sink(reenter_at_report, s);
	for (i = 0; i < 6; i++)
		KUNIT_ASSERT_TRUE(test, scene_keep(s));
	p = s->p[--s->n];
	scene_free(s, p);
	s->drops = 2;
	KUNIT_EXPECT_EQ(test, slabdev_free(s->sd, p), -EALREADY);
	scene_end(s);
}

/* ---- Shrinkers -------------------------------------------------------- */

/* "Nothing left", although it has freed. */
static u64 free_and_deny(struct slabdev *sd, u64 bytes, void *arg)
{
	struct scene *s = arg;
	u32 i;

	(void)sd;
	(void)bytes;
	s->calls++;
	for (i = 0; i < s->drops && s->n; i++)
		scene_free(s, s->p[--s->n]);
	return 0;
}

static u64 reenter_and_deny(struct slabdev *sd, u64 bytes, void *arg)
{
	(void)sd;
	(void)bytes;
	reenter(arg);
	return 0;
}

static void run_into_shrinker(struct kunit *test, slabdev_shrinker_fn fn)
{
	static const u32 drops[] = { 0, 1, 5, 24, 200, 5000 };
	struct scene *s = scene_open(test, LIMIT);
	u32 i;

	KUNIT_ASSERT_EQ(test, slabdev_register_shrinker(s->sd, fn, s), 0);
	for (i = 0; i < ARRAY_SIZE(drops); i++) {
		u32 calls = s->calls;

		s->drops = drops[i];
		kunit_expect_report(test, REPORT_OUT_OF_MEMORY);
		while (scene_keep(s))
			;
		KUNIT_EXPECT_GT(test, s->calls, calls);
		expect_sound(test, s->sd);
	}
	scene_end(s);
}

static void shrinker_that_frees_and_denies_it(struct kunit *test)
{
	run_into_shrinker(test, free_and_deny);
}

static void shrinker_that_takes_again(struct kunit *test)
{
	run_into_shrinker(test, reenter_and_deny);
}

/* ---- Constructors ----------------------------------------------------- */

struct builder {
	struct scene *s;
	struct slabdev_cache *built;
	bool nested;
	void *own;		/* of the cache that is being built */
};

static int build(void *base, size_t stride, size_t count,
		 slabdev_stream_t stream, void *arg)
{
	struct builder *b = arg;
	u32 i;

	(void)base;
	(void)stride;
	(void)count;
	(void)stream;
	for (i = 0; i < 30; i++)
		scene_keep(b->s);
	reenter(b->s);
	/* Of its own cache too: that needs a slab, and a constructor. */
	if (!b->nested) {
		b->nested = true;
		b->own = slabdev_cache_alloc(b->built);
	}
	return 0;
}

static void constructor_that_allocates(struct kunit *test)
{
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	struct scene *s = scene_open(test, GIB);
	struct builder b = { .s = s };
	void *p[2];
	u32 i;

	s->drops = 3;
	args.ctor = build;
	args.ctor_arg = &b;
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&b.built, s->sd, "built",
						   4096, &args), 0);
	p[0] = slabdev_cache_alloc(b.built);
	p[1] = slabdev_cache_alloc(b.built);
	KUNIT_EXPECT_NOT_NULL(test, p[0]);
	KUNIT_EXPECT_NOT_NULL(test, p[1]);
	KUNIT_EXPECT_NOT_NULL(test, b.own);
	expect_sound(test, s->sd);
	for (i = 0; i < 2; i++)
		scene_free(s, p[i]);
	scene_free(s, b.own);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(b.built), 0);
	scene_end(s);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(log_sink_at_out_of_memory, subject_gen_params,
			 .isolated = true),
	KUNIT_CASE_PARAM(log_sink_at_double_free, subject_gen_params,
			 .isolated = true),
	KUNIT_CASE_PARAM(shrinker_that_frees_and_denies_it,
			 subject_gen_params),
	KUNIT_CASE_PARAM(shrinker_that_takes_again, subject_gen_params),
	KUNIT_CASE_PARAM(constructor_that_allocates, subject_gen_params),
	{ 0 }
};

static const struct kunit_suite callback_suite = {
	.name = "callback",
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(callback_suite);
