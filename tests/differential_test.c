// SPDX-License-Identifier: BSD-2-Clause
/*
 * differential_test.c - every call, on many threads, against a bit map.
 *
 * The reference allocator is a bit for each 16 bytes of the space (shadow.h)
 * and, for each thread, a table of what it holds. Whatever the library hands
 * out is claimed in the map at once, all of its usable bytes, so that the call
 * which returned an overlapping object is the one that fails. Objects are
 * marked at both ends, and the marks read again before each is freed.
 *
 * Threads make random calls, all of the interface that needs no callback, and
 * hand objects to each other. What each call has to return follows from the
 * table. Every so often all of them stop: the figures of the space are then the
 * sums of the tables, to the object and the byte, and everything is validated.
 *
 * KUNIT_SEED repeats the calls of each thread, not how threads meet.
 * KUNIT_DIVIDE=N makes all cases N times shorter.
 */
#include "core/log.h"
#include "tests/crew.h"
#include "tests/differential.h"
#include "tests/open_space.h"
#include "tests/sanitizers.h"

#define LIMIT GIB
#define BULK 40u
#define STOPS 10u		/* how often all are compared */

/* Tiny ones, ones above a granule, some whose slabs are long, and one without
 * a sheaf. */
static const size_t cache_size[CACHES] = {
	16, 24, 100, 240, 256, 3000, 70000, 2 * MIB
};

static void sign(struct worker *w, struct object *o)
{
	o->word = ((u64)w->me << 56 | ++w->next_word) * 0x9e3779b97f4a7c15;
	shadow_mark(&w->d->shadow, o->p, o->size, o->word);
}

/* ---- Objects come and go ---------------------------------------------- */

static void begin(struct worker *w, struct object *o)
{
	CHECK(w, shadow_claim(&w->d->shadow, o->p, o->usable),
	      "%llu bytes at %p are not all free",
	      (unsigned long long)o->usable, (void *)o->p);
	sign(w, o);
	w->allocs++;
}

static void end(struct worker *w, struct object *o)
{
	CHECK(w, shadow_is_marked(&w->d->shadow, o->p, o->size, o->size,
				  o->word),
	      "%llu bytes at %p", (unsigned long long)o->size, (void *)o->p);
	CHECK(w, shadow_release(&w->d->shadow, o->p, o->usable), "%p",
	      (void *)o->p);
	w->frees++;
}

static void *get_general(struct worker *w, struct object *o)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	u32 what = pick(w, 16);

	if (what < 8)
		return slabdev_alloc(w->d->sd, o->size);
	if (what == 8)
		return slabdev_alloc_array(w->d->sd, 1, o->size);
	if (what == 9)
		o->size = min(o->size, 16 * KIB);
	if (what <= 10)
		req.flags = SLABDEV_REQ_ZERO;
	if (what <= 12)
		req.align = (size_t)1 << pick(w, what == 12 ? 23 : 15);
	if (what == 13)
		req.flags = SLABDEV_REQ_NO_GROW | SLABDEV_REQ_NO_REPORT;
	o->p = slabdev_alloc_ex(w->d->sd, o->size, &req);
	CHECK(w, !o->p || (u64)(uintptr_t)o->p % max(req.align, SLABDEV_ALIGN)
	      == 0, "%p is not aligned to %zu", (void *)o->p, req.align);
	if (o->p && what == 9)
		CHECK(w, mem_is(w->d->sd, o->p, o->size, 0), "%p",
		      (void *)o->p);
	if (!o->p && (req.flags & SLABDEV_REQ_NO_GROW)) {
		CHECK(w, errno == ENOMEM || errno == EDQUOT, "%d", errno);
		w->failed++;
		o->size = 0;
	}
	return o->p;
}

static void get_object(struct worker *w, struct object *o)
{
	struct differential *d = w->d;
	u32 what = pick(w, 1024);

	o->cache = what < 400 ? what % (CACHES - 1) : CACHES;
	o->cache = what == 1023 ? CACHES - 1 : o->cache;
	if (o->cache < CACHES) {
		o->size = cache_size[o->cache];
		o->p = slabdev_cache_alloc(d->cache[o->cache]);
		o->usable = d->stride[o->cache];
	} else {
		o->size = what < 404 ? MIB + 1 + pick(w, 5 * MIB) :
				       random_size(&w->random, 100 * KIB);
		o->p = get_general(w, o);
		if (!o->size)
			return;
		o->usable = slabdev_usable_size(d->sd, o->p);
	}
	CHECK(w, o->p, "%llu bytes: %s", (unsigned long long)o->size,
	      slabdev_last_error());
	if (!o->p)
		return;
	CHECK(w, o->usable >= o->size, "%p", (void *)o->p);
	begin(w, o);
}

static void put_object(struct worker *w, struct object *o)
{
	bool by_cache = o->cache < CACHES && pick(w, 2);
	int err;

	end(w, o);
	err = by_cache ? slabdev_cache_free(w->d->cache[o->cache], o->p) :
			 slabdev_free(w->d->sd, o->p);
	CHECK(w, !err, "%p: %s", (void *)o->p, slabdev_last_error());
	o->p = NULL;
}

static void resize(struct worker *w, struct object *o)
{
	u64 size = random_size(&w->random, 60 * KIB), was = o->size;
	void *p;

	if (o->cache < CACHES)
		return;
	/* Before the call, since another thread may have the memory after. */
	end(w, o);
	p = slabdev_realloc(w->d->sd, o->p, size);
	CHECK(w, p, "%s", slabdev_last_error());
	if (!p)
		return;
	CHECK(w, shadow_is_marked(&w->d->shadow, p, was, size, o->word),
	      "%p, %llu bytes before", p, (unsigned long long)was);
	o->p = p;
	o->usable = slabdev_usable_size(w->d->sd, p);
	o->size = size;
	begin(w, o);
}

/* ---- Many at once ----------------------------------------------------- */

static void bulk(struct worker *w)
{
	struct differential *d = w->d;
	struct object o[BULK];
	void *p[BULK];
	u32 c = pick(w, CACHES - 2), n = 1 + pick(w, BULK), i;
	int err = slabdev_cache_alloc_bulk(d->cache[c], n, p);

	CHECK(w, !err, "%s", slabdev_last_error());
	for (i = 0; !err && i < n; i++) {
		o[i] = (struct object){ .p = p[i], .size = cache_size[c],
					.usable = d->stride[c], .cache = c };
		begin(w, &o[i]);
	}
	for (i = 0; !err && i < n; i++)
		end(w, &o[i]);
	if (!err)
		err = slabdev_cache_free_bulk(d->cache[c], n, p);
	CHECK(w, !err, "%s", slabdev_last_error());
	w->ops += 2 * n;
}

/* ---- All of them ------------------------------------------------------ */

/* Leave one on a desk, take what lay there. */
static void hand_over(struct worker *w, struct object **mine)
{
	struct object **desk = &w->d->desk[pick(w, DESKS)];

	*mine = __atomic_exchange_n(desk, *mine, __ATOMIC_ACQ_REL);
}

static void step(struct worker *w)
{
	struct object **at = &w->kept[pick(w, KEPT)], *o = *at;
	u32 what = pick(w, 8192);
	int err = 0;

	w->ops++;
	if (unlikely(w->calm_at && w->ops > w->calm_at))
		err = rare_policy(w, SLABDEV_RETAIN);
	else if (what == 0)
		err = rare_management(w);
	else if (what < 4)
		rare_mistake(w, o);
	else if (what < 16)
		rare_question(w, o);
	else if (what < 24)
		bulk(w);
	else if (what < 500)
		hand_over(w, at);
	else if (!o->p)
		get_object(w, o);
	else if (what < 1100)
		resize(w, o);
	else
		put_object(w, o);
	CHECK(w, !err, "%d: %s", err, slabdev_last_error());
}

static void work(void *arg)
{
	struct worker *w = arg;

	while (w->ops < w->todo && !READ_ONCE(w->d->stop))
		step(w);
}

/* ---- Comparison ------------------------------------------------------- */

struct sums {
	u64 objects, bytes, usable;
	u64 allocs, frees, failed, mistakes;
};

static void add_object(struct sums *sum, const struct object *o)
{
	if (!o->p)
		return;
	sum->objects++;
	sum->bytes += o->size;
	sum->usable += o->usable;
}

static void add_worker(struct sums *sum, const struct worker *w)
{
	u32 i;

	for (i = 0; i < KEPT; i++)
		add_object(sum, w->kept[i]);
	sum->allocs += w->allocs;
	sum->frees += w->frees;
	sum->failed += w->failed;
	sum->mistakes += w->mistakes;
}

static void compare(struct differential *d, const struct worker *w, u32 n)
{
	struct slabdev_stats st = expect_sound(d->test, d->sd);
	struct sums sum = { 0 };
	u32 i;

	for (i = 0; i < DESKS; i++)
		add_object(&sum, d->desk[i]);
	for (i = 0; i < n; i++)
		add_worker(&sum, &w[i]);
	KUNIT_EXPECT_EQ(d->test, st.live_objects, sum.objects);
	KUNIT_EXPECT_EQ(d->test, st.live, sum.bytes);
	KUNIT_EXPECT_EQ(d->test, st.live + st.rounding, sum.usable);
	KUNIT_EXPECT_EQ(d->test, shadow_claimed(&d->shadow), sum.usable);
	KUNIT_EXPECT_EQ(d->test, sum.allocs - sum.frees, sum.objects);
	KUNIT_EXPECT_EQ(d->test, st.failed, sum.failed);
	KUNIT_EXPECT_EQ(d->test, d->reports, sum.mistakes);
}

/* ---- From beginning to end -------------------------------------------- */

/* Mistakes are to be reported, and nothing else. */
static void count_report(int level, int kind, const char *text, void *arg)
{
	struct differential *d = arg;

	(void)level;
	if (kind == REPORT_INVALID_POINTER || kind == REPORT_DOUBLE_FREE ||
	    kind == REPORT_WRONG_CACHE)
		__atomic_fetch_add(&d->reports, 1, __ATOMIC_RELAXED);
	else if (kind >= 0)
		KUNIT_FAIL(d->test, "%s", text);
}

static struct slabdev_cache *new_cache(struct differential *d,
				       const char *name, u32 number,
				       size_t size, u64 *stride)
{
	struct slabdev_cache *cache = NULL;
	struct slabdev_cache_stats st;
	char text[24];

	snprintf(text, sizeof(text), "%s-%u", name, number);
	KUNIT_ASSERT_EQ(d->test, slabdev_cache_create(&cache, d->sd, text, size,
						      NULL), 0);
	KUNIT_ASSERT_EQ(d->test, slabdev_cache_stats(cache, &st, sizeof(st)),
			0);
	*stride = st.stride;
	return cache;
}

static void close_null(void *arg)
{
	fclose(arg);
}

static struct differential *differential_open(struct kunit *test)
{
	struct differential *d = kunit_kzalloc(test, sizeof(*d));
	u32 i;

	d->test = test;
	d->sd = case_space(test, LIMIT);
	shadow_init(test, &d->shadow, d->sd);
	d->null = fopen("/dev/null", "we");
	KUNIT_ASSERT_NOT_NULL(test, d->null);
	kunit_add_action(test, close_null, d->null);
	log_set_sink(count_report, d);
	for (i = 0; i < CACHES; i++)
		d->cache[i] = new_cache(d, "shared", i, cache_size[i],
					&d->stride[i]);
	for (i = 0; i < DESKS; i++)
		d->desk[i] = &d->spare[i];
	return d;
}

static void put_all(void *arg)
{
	struct worker *w = arg;
	u32 i;

	for (i = 0; i < KEPT; i++)
		if (w->kept[i]->p)
			put_object(w, w->kept[i]);
}

static void finish(struct differential *d, struct worker *w, u32 n,
		   struct crew *crew)
{
	u32 i;

	crew_all(crew, put_all, w, sizeof(*w));
	for (i = 0; i < DESKS; i++)
		if (d->desk[i]->p)
			put_object(w, d->desk[i]);
	compare(d, w, n);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ(d->test, slabdev_cache_destroy(w[i].own), 0);
	for (i = 0; i < CACHES; i++)
		KUNIT_EXPECT_EQ(d->test, slabdev_cache_destroy(d->cache[i]), 0);
	expect_empty(d->test, d->sd);
}

static u64 divide(u64 ops)
{
	const char *text = getenv("KUNIT_DIVIDE");
	u64 by = text ? strtoull(text, NULL, 10) : 1;

	if (IS_SANITIZED)
		by = max(by, (u64)1) * 20;
	/* Each look at an object is a call of the driver. */
	if (!mem_is_cheap())
		by = max(by, (u64)1) * 50;
	return ops / max(by, (u64)1);
}

static void differential_run(struct kunit *test, u32 n, u64 ops, bool talks)
{
	struct differential *d = differential_open(test);
	struct worker *w = kunit_kzalloc(test, n * sizeof(*w));
	struct crew *crew = crew_new(test, n);
	u64 seed = random_seed(test), stride;
	u32 i, k;

	for (i = 0; i < n; i++) {
		w[i] = (struct worker){ .d = d, .me = i + 1,
					.random = seed + i * 7919 };
		w[i].own = new_cache(d, "own", i, 128, &stride);
		for (k = 0; k < KEPT; k++)
			w[i].kept[k] = &w[i].object[k];
	}
	for (k = 1; k <= STOPS && !d->stop; k++) {
		for (i = 0; i < n; i++)
			w[i].todo = ops * k / STOPS / n;
		crew_all(crew, work, w, sizeof(*w));
		compare(d, w, n);
		if (talks)
			kunit_info(test, "%u %% of %llu operations",
				   k * 100 / STOPS, (unsigned long long)ops);
	}
	finish(d, w, n, crew);
	crew_dismiss(crew);
}

static const u32 threads[] = { 1, 2, 4, 8 };
KUNIT_ARRAY_PARAM(threads, threads, NULL);

/* 10^7 operations in all. */
static void random_calls(struct kunit *test)
{
	differential_run(test, *(const u32 *)test->param_value,
			 divide(2500000), false);
}

/* 10^9 operations in all; a hundredth of them, KUNIT_DIVIDE=100, took 5.5
 * seconds on two processors that had nothing else to do. */
static void random_calls_for_long(struct kunit *test)
{
	differential_run(test, *(const u32 *)test->param_value,
			 divide(250000000), true);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(random_calls, threads_gen_params, .isolated = true,
			 .slow = true, .timeout_s = 180),
	KUNIT_CASE_PARAM(random_calls_for_long, threads_gen_params,
			 .isolated = true, .is_long = true, .timeout_s = 7200),
	{ 0 }
};

static const struct kunit_suite differential_suite = {
	.name = "differential",
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(differential_suite);
