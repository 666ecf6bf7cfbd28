// SPDX-License-Identifier: BSD-2-Clause
/*
 * uncoded_test.c - objects that the fast free does not know.
 *
 * The tag of an object in a cache beyond the 39th says no more than that; a
 * tiny object has none. Their class is found by the descriptor of the slab, on
 * a path of its own: everything that a free must do and refuse is repeated
 * here for it, by both calls, on the thread that allocated and on another one.
 */
#include <stdio.h>

#include "slab/slab.h"
#include "tests/crew.h"
#include "tests/open_space.h"

#define CODES 39u
#define OBJECTS 300u
#define TRACES 8000u

static const struct kind {
	const char *name;
	size_t size;
	u32 codes;		/* caches that take the codes first */
	bool by_space;		/* slabdev_free() */
	bool elsewhere;		/* by another thread */
} kinds[] = {
	{ "uncoded, cache", 2000, CODES, false, false },
	{ "uncoded, space", 2000, CODES, true, false },
	{ "uncoded, cache, other thread", 2000, CODES, false, true },
	{ "uncoded, space, other thread", 2000, CODES, true, true },
	{ "long slab, cache", 6000, CODES, false, true },
	{ "long slab, space", 6000, CODES, true, false },
	{ "no sheaf, cache", 3 * MIB, CODES, false, false },
	{ "no sheaf, space", 3 * MIB, CODES, true, true },
	{ "tiny of 16, cache", 16, 0, false, false },
	{ "tiny of 16, space", 16, 0, true, true },
	{ "tiny of 48, cache", 48, 0, false, true },
	{ "tiny of 48, space", 48, 0, true, false },
	{ "tiny of 240, cache", 240, CODES, false, true },
	{ "tiny of 240, space", 240, CODES, true, false },
};

static void describe_kind(const struct kind *k, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", k->name);
}
KUNIT_ARRAY_PARAM(kind, kinds, describe_kind);

struct uncoded {
	struct kunit *test;
	const struct kind *kind;
	struct slabdev *sd;
	struct slabdev_cache *coded[CODES];
	struct slabdev_cache *past, *cache, *other;
	struct crew *crew;
	void *p[OBJECTS];
	u32 n;
};

static struct slabdev_cache *new_cache(struct uncoded *u, const char *name,
				       size_t size)
{
	struct slabdev_cache *cache = NULL;

	KUNIT_ASSERT_EQ_MSG(u->test, slabdev_cache_create(&cache, u->sd, name,
							  size, NULL), 0, "%s",
			    slabdev_last_error());
	return cache;
}

/* Slabs of other lengths leave their traces where the test's will lie. */
static void leave_traces(struct uncoded *u)
{
	void **p = kunit_kzalloc(u->test, TRACES * sizeof(*p));
	u32 i;

	u->past = new_cache(u, "past", 300);
	KUNIT_ASSERT_EQ(u->test, slabdev_cache_alloc_bulk(u->past, TRACES, p),
			0);
	for (i = 0; i < TRACES; i++)
		EXPECT_FREED(u->test, u->sd, p[i]);
	KUNIT_EXPECT_EQ(u->test, slabdev_cache_shrink(u->past), 0);
}

static struct uncoded *uncoded_open(struct kunit *test)
{
	struct uncoded *u = kunit_kzalloc(test, sizeof(*u));
	char name[20];
	u32 i;

	u->test = test;
	u->kind = test->param_value;
	u->sd = case_space(test, 4 * GIB);
	u->crew = crew_new(test, 1);
	for (i = 0; i < u->kind->codes; i++) {
		snprintf(name, sizeof(name), "coded-%u", i);
		u->coded[i] = new_cache(u, name, 1024);
	}
	leave_traces(u);
	u->cache = new_cache(u, "cache", u->kind->size);
	u->other = new_cache(u, "other", u->kind->size);
	return u;
}

static void uncoded_close(struct uncoded *u)
{
	struct slabdev_cache_stats st;
	u32 i;

	KUNIT_EXPECT_EQ(u->test, slabdev_cache_validate(u->cache), 0);
	KUNIT_EXPECT_EQ(u->test, slabdev_cache_stats(u->cache, &st,
						     sizeof(st)), 0);
	KUNIT_EXPECT_EQ(u->test, st.live, 0);
	KUNIT_EXPECT_EQ(u->test, st.allocs, st.frees);
	KUNIT_EXPECT_EQ(u->test, slabdev_cache_destroy(u->cache), 0);
	KUNIT_EXPECT_EQ(u->test, slabdev_cache_destroy(u->other), 0);
	KUNIT_EXPECT_EQ(u->test, slabdev_cache_destroy(u->past), 0);
	for (i = 0; i < u->kind->codes; i++)
		KUNIT_EXPECT_EQ(u->test, slabdev_cache_destroy(u->coded[i]), 0);
	expect_empty(u->test, u->sd);
}

/* ---- One free, the way that the case says ----------------------------- */

struct one_free {
	struct uncoded *u;
	struct slabdev_cache *cache;
	void *p;
	int err;
};

static void free_one(void *arg)
{
	struct one_free *f = arg;

	f->err = f->u->kind->by_space ? slabdev_free(f->u->sd, f->p) :
					slabdev_cache_free(f->cache, f->p);
}

static int free_through(struct uncoded *u, struct slabdev_cache *cache, void *p)
{
	struct one_free f = { .u = u, .cache = cache, .p = p };

	if (u->kind->elsewhere)
		crew_do(u->crew, 0, free_one, &f);
	else
		free_one(&f);
	return f.err;
}

static void expect_freed(struct uncoded *u, void *p)
{
	KUNIT_EXPECT_EQ_MSG(u->test, free_through(u, u->cache, p), 0, "%s",
			    slabdev_last_error());
}

static void expect_refused(struct uncoded *u, struct slabdev_cache *cache,
			   void *p, int err, enum report_kind kind)
{
	struct slabdev_stats before = figures(u->test, u->sd);

	kunit_expect_report(u->test, kind);
	KUNIT_EXPECT_EQ_MSG(u->test, free_through(u, cache, p), err, "%p", p);
	EXPECT_ONLY_FAILURES(u->test, u->sd, before, 0);
}

/* It was freed, or is none of the space's addresses any more. */
static void expect_gone(struct uncoded *u, void *p)
{
	if (is_address_of(u->sd, p))
		expect_refused(u, u->cache, p, -EALREADY, REPORT_DOUBLE_FREE);
	else
		expect_refused(u, u->cache, p, -EINVAL,
			       REPORT_INVALID_POINTER);
}

static void take(struct uncoded *u, u32 n)
{
	for (; n; n--) {
		void *p = slabdev_cache_alloc(u->cache);

		KUNIT_ASSERT_NOT_NULL_MSG(u->test, p, "%s",
					  slabdev_last_error());
		u->p[u->n++] = p;
	}
}

/* ---- Cases ------------------------------------------------------------ */

static void every_object_is_freed_once(struct kunit *test)
{
	struct uncoded *u = uncoded_open(test);
	u32 round;

	for (round = 0; round < 4; round++) {
		take(u, OBJECTS);
		KUNIT_EXPECT_EQ(test, figures(test, u->sd).live_objects,
				OBJECTS);
		while (u->n)
			expect_freed(u, u->p[--u->n]);
		expect_sound(test, u->sd);
	}
	uncoded_close(u);
}

/* From a sheaf, from a slab, and where no slab is any more. */
static void second_free_is_refused(struct kunit *test)
{
	struct uncoded *u = uncoded_open(test);
	u32 i;

	take(u, 40);
	for (i = 0; i < 40; i++) {
		expect_freed(u, u->p[i]);
		expect_refused(u, u->cache, u->p[i], -EALREADY,
			       REPORT_DOUBLE_FREE);
	}
	KUNIT_EXPECT_EQ(test, slabdev_cache_shrink(u->cache), 0);
	for (i = 0; i < 40; i += 13)
		expect_gone(u, u->p[i]);
	KUNIT_EXPECT_EQ(test, slabdev_trim(u->sd, 0), 0);
	for (i = 0; i < 40; i += 13)
		expect_gone(u, u->p[i]);
	u->n = 0;
	uncoded_close(u);
}

static void address_inside_is_refused(struct kunit *test)
{
	struct uncoded *u = uncoded_open(test);
	size_t at;
	u32 i;

	take(u, 3);
	for (i = 0; i < 3; i++)
		for (at = 1; at < u->kind->size; at = at * 2 + 1) {
			expect_refused(u, u->cache, (char *)u->p[i] + at,
				       -EINVAL, REPORT_INVALID_POINTER);
			expect_refused(u, u->cache,
				       (char *)u->p[i] + at / 256 * 256 + 8,
				       -EINVAL, REPORT_INVALID_POINTER);
		}
	/* Nothing happened to them. */
	while (u->n)
		expect_freed(u, u->p[--u->n]);
	uncoded_close(u);
}

static void wrong_cache_is_refused(struct kunit *test)
{
	struct uncoded *u = uncoded_open(test);
	void *general = must_alloc(test, u->sd, 2000);

	take(u, 3);
	if (!u->kind->by_space) {
		expect_refused(u, u->other, u->p[0], -EINVAL,
			       REPORT_WRONG_CACHE);
		expect_refused(u, u->cache, general, -EINVAL,
			       REPORT_WRONG_CACHE);
		if (u->kind->codes)
			expect_refused(u, u->coded[0], u->p[1], -EINVAL,
				       REPORT_WRONG_CACHE);
		/* A free object of another cache is no object of this one. */
		expect_freed(u, u->p[--u->n]);
		expect_refused(u, u->other, u->p[2], -EINVAL,
			       REPORT_INVALID_POINTER);
	}
	EXPECT_FREED(test, u->sd, general);
	while (u->n)
		expect_freed(u, u->p[--u->n]);
	uncoded_close(u);
}

/* ---- Two that free the same ------------------------------------------- */

struct rival {
	struct uncoded *u;
	u32 *go;		/* atomic */
	u32 freed;
};

static void free_all(void *arg)
{
	struct rival *r = arg;
	struct one_free f = { .u = r->u, .cache = r->u->cache };
	u32 i;

	while (!load_acquire(r->go))
		;
	for (i = 0; i < r->u->n; i++) {
		f.p = r->u->p[i];
		free_one(&f);
		if (!f.err)
			r->freed++;
		else
			KUNIT_EXPECT_EQ(r->u->test, f.err, -EALREADY);
	}
}

static void one_of_two_rivals_wins(struct kunit *test)
{
	struct uncoded *u = uncoded_open(test);
	struct crew *crew = crew_new(test, 2);
	struct rival r[2];
	u32 i, go = 0;

	take(u, 200);
	r[0] = r[1] = (struct rival){ .u = u, .go = &go };
	for (i = 0; i < u->n; i++)
		kunit_expect_report(test, REPORT_DOUBLE_FREE);
	crew_start(crew, 0, free_all, &r[0]);
	crew_start(crew, 1, free_all, &r[1]);
	store_release(&go, 1);
	crew_wait(crew, 0);
	crew_wait(crew, 1);
	KUNIT_EXPECT_EQ(test, r[0].freed + r[1].freed, u->n);
	u->n = 0;
	uncoded_close(u);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(every_object_is_freed_once, kind_gen_params),
	KUNIT_CASE_PARAM(second_free_is_refused, kind_gen_params),
	KUNIT_CASE_PARAM(address_inside_is_refused, kind_gen_params),
	KUNIT_CASE_PARAM(wrong_cache_is_refused, kind_gen_params),
	KUNIT_CASE_PARAM(one_of_two_rivals_wins, kind_gen_params),
	{ 0 }
};

static const struct kunit_suite uncoded_suite = {
	.name = "uncoded",
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(uncoded_suite);
