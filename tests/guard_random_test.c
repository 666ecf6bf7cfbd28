// SPDX-License-Identifier: BSD-2-Clause
/*
 * guard_random_test.c - random calls of several threads, with one object of
 * four guarded.
 *
 * As differential_test.c, which has more calls and no guards: what is handed
 * out is claimed in a bit map, marked at both ends, and found unchanged when it
 * is freed. Half of the limit is reached all the time, so that guarded and
 * ordinary objects take turns in the same addresses. Threads hand objects to
 * each other and free some on host queues.
 *
 * KUNIT_SEED repeats the calls of each thread, not how threads meet.
 */
#include "tests/crew.h"
#include "tests/guard_space.h"
#include "tests/random.h"
#include "tests/sanitizers.h"
#include "tests/shadow.h"

#define LIMIT (256 * MIB)
#define GUARDED_ONE_OF 4u
#define KEPT 24u		/* of a thread */
#define DESKS 8u
#define CACHES 3u
#define STEPS 6000u		/* of all threads together */

static const size_t cache_size[CACHES] = { 16, 100, 5000 };

struct object {
	char *p;		/* NULL: none */
	u64 size, usable, word;
	u32 cache;		/* CACHES: none */
};

struct field {
	struct kunit *test;
	struct slabdev *sd;
	struct slabdev_cache *cache[CACHES];
	struct shadow shadow;
	struct object *desk[DESKS];	/* atomic */
	struct object spare[DESKS];
	bool stop;			/* relaxed */
};

struct worker {
	struct field *f;
	slabdev_stream_t queue;
	u64 random, next_word;
	u32 steps;
	struct object *kept[KEPT];
	struct object object[KEPT];
};

#define CHECK(w, condition, fmt, ...)					\
do {									\
	if (unlikely(!(condition))) {					\
		KUNIT_FAIL((w)->f->test, "%s: " fmt, #condition,	\
			   ##__VA_ARGS__);				\
		WRITE_ONCE((w)->f->stop, true);				\
	}								\
} while (0)

static u32 pick(struct worker *w, u32 n)
{
	return random_below(&w->random, n);
}

static void begin(struct worker *w, struct object *o)
{
	struct field *f = w->f;

	CHECK(w, o->p, "%llu bytes: %s", (unsigned long long)o->size,
	      slabdev_last_error());
	if (!o->p)
		return;
	o->usable = slabdev_usable_size(f->sd, o->p);
	CHECK(w, o->usable >= o->size, "%p", (void *)o->p);
	CHECK(w, shadow_claim(&f->shadow, o->p, o->usable), "%p",
	      (void *)o->p);
	o->word = ((u64)(uintptr_t)w << 20) + ++w->next_word;
	shadow_mark(&f->shadow, o->p, o->size, o->word);
}

static void end(struct worker *w, struct object *o)
{
	struct field *f = w->f;

	CHECK(w, shadow_is_marked(&f->shadow, o->p, o->size, o->size, o->word),
	      "%llu bytes at %p", (unsigned long long)o->size, (void *)o->p);
	CHECK(w, shadow_release(&f->shadow, o->p, o->usable), "%p",
	      (void *)o->p);
}

static void get(struct worker *w, struct object *o)
{
	struct field *f = w->f;
	size_t align = (size_t)1 << pick(w, 17);
	u32 what = pick(w, 10);

	o->cache = what < 4 ? pick(w, CACHES) : CACHES;
	o->size = what < 4 ? cache_size[o->cache] :
		  what < 5 ? 1 + pick(w, 3 * MIB) :
			     random_size(&w->random, 60 * KIB);
	if (what < 4)
		o->p = slabdev_cache_alloc(f->cache[o->cache]);
	else if (what < 6)
		o->p = slabdev_alloc_aligned(f->sd, o->size, align);
	else if (what < 7)
		o->p = slabdev_alloc_async(f->sd, o->size, w->queue);
	else
		o->p = slabdev_alloc(f->sd, o->size);
	CHECK(w, what < 5 || what >= 6 || (u64)(uintptr_t)o->p % align == 0,
	      "%p is not aligned to %zu", (void *)o->p, align);
	begin(w, o);
}

static void put(struct worker *w, struct object *o)
{
	struct field *f = w->f;
	u32 what = pick(w, 4);
	int err;

	end(w, o);
	if (what == 0)
		err = slabdev_free_async(f->sd, o->p, w->queue);
	else if (what < 3 && o->cache < CACHES)
		err = slabdev_cache_free(f->cache[o->cache], o->p);
	else
		err = slabdev_free(f->sd, o->p);
	CHECK(w, !err, "%p: %s", (void *)o->p, slabdev_last_error());
	o->p = NULL;
}

/* The first bytes move along, and the last ones are marked anew. */
static void resize(struct worker *w, struct object *o)
{
	struct field *f = w->f;
	u64 was = o->size, size = random_size(&w->random, 60 * KIB);
	char *p;

	if (o->cache < CACHES)
		return;
	end(w, o);
	p = slabdev_realloc(f->sd, o->p, size);
	CHECK(w, p, "%s", slabdev_last_error());
	CHECK(w, !p || shadow_is_marked(&f->shadow, p, was, size, o->word),
	      "%p became %p", (void *)o->p, (void *)p);
	o->p = p;
	o->size = size;
	begin(w, o);
}

static void hand_over(struct worker *w, struct object **mine)
{
	struct object **desk = &w->f->desk[pick(w, DESKS)];

	*mine = __atomic_exchange_n(desk, *mine, __ATOMIC_ACQ_REL);
}

static void step(struct worker *w)
{
	struct object **at = &w->kept[pick(w, KEPT)];
	u32 what = pick(w, 100);

	if (what < 10)
		hand_over(w, at);
	else if (!(*at)->p)
		get(w, *at);
	else if (what < 25)
		resize(w, *at);
	else
		put(w, *at);
	if (what == 99)
		CHECK(w, !slabdev_poll(w->f->sd), "%s", slabdev_last_error());
}

static void work(void *arg)
{
	struct worker *w = arg;
	u32 i;

	for (i = 0; i < w->steps && !READ_ONCE(w->f->stop); i++)
		step(w);
}

static void put_all(void *arg)
{
	struct worker *w = arg;
	u32 i;

	for (i = 0; i < KEPT; i++)
		if (w->kept[i]->p)
			put(w, w->kept[i]);
}

/* ---- From beginning to end ----------------------------------------------- */

static struct field *field_open(struct kunit *test)
{
	struct field *f = kunit_kzalloc(test, sizeof(*f));
	char name[16];
	u32 i;

	f->test = test;
	f->sd = guard_open(test, LIMIT, GUARDED_ONE_OF);
	shadow_init(test, &f->shadow, f->sd);
	for (i = 0; i < CACHES; i++) {
		snprintf(name, sizeof(name), "cache-%u", i);
		KUNIT_ASSERT_EQ(test, slabdev_cache_create(&f->cache[i], f->sd,
							   name, cache_size[i],
							   NULL), 0);
	}
	for (i = 0; i < DESKS; i++)
		f->desk[i] = &f->spare[i];
	return f;
}

static void worker_init(struct field *f, struct worker *w, u64 seed, u32 steps)
{
	u32 k;

	*w = (struct worker){ .f = f, .random = seed, .steps = steps };
	KUNIT_ASSERT_EQ(f->test, slabdev_queue_create(&w->queue, 0), 0);
	for (k = 0; k < KEPT; k++)
		w->kept[k] = &w->object[k];
}

static void field_close(struct field *f, struct worker *w, u32 n)
{
	u32 i;

	for (i = 0; i < DESKS; i++)
		if (f->desk[i]->p)
			put(w, f->desk[i]);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ(f->test, slabdev_queue_destroy(w[i].queue), 0);
	for (i = 0; i < CACHES; i++)
		KUNIT_EXPECT_EQ(f->test, slabdev_cache_destroy(f->cache[i]), 0);
	expect_empty(f->test, f->sd);
	KUNIT_EXPECT_EQ(f->test, shadow_claimed(&f->shadow), 0);
	KUNIT_EXPECT_EQ(f->test, guard_stats(f->test, f->sd).live, 0);
	KUNIT_EXPECT_EQ(f->test, guard_stats(f->test, f->sd).bytes, 0);
	close_space(f->test, f->sd);
}

static u64 live_bytes(const struct field *f, const struct worker *w, u32 n)
{
	u64 bytes = 0;
	u32 i, k;

	for (i = 0; i < DESKS; i++)
		bytes += f->desk[i]->p ? f->desk[i]->size : 0;
	for (i = 0; i < n; i++)
		for (k = 0; k < KEPT; k++)
			bytes += w[i].kept[k]->p ? w[i].kept[k]->size : 0;
	return bytes;
}

static const u32 threads[] = { 1, 4 };
KUNIT_ARRAY_PARAM(threads, threads, NULL);

static void random_calls(struct kunit *test)
{
	u32 n = *(const u32 *)test->param_value, i;
	struct field *f = field_open(test);
	struct worker *w = kunit_kzalloc(test, n * sizeof(*w));
	struct crew *crew = crew_new(test, n);
	u64 seed = random_seed(test);
	u32 steps = STEPS / n / (IS_SANITIZED ? 5 : 1);

	for (i = 0; i < n; i++)
		worker_init(f, &w[i], seed + i * 7919, steps);
	crew_all(crew, work, w, sizeof(*w));
	KUNIT_EXPECT_EQ(test, expect_sound(test, f->sd).live,
			live_bytes(f, w, n));
	KUNIT_EXPECT_GT(test, guard_stats(test, f->sd).guarded, 100);
	crew_all(crew, put_all, w, sizeof(*w));
	crew_dismiss(crew);
	field_close(f, w, n);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(random_calls, threads_gen_params),
	{ 0 }
};

static const struct kunit_suite guard_random_suite = {
	.name = "guard_random",
	.cases = cases,
};
kunit_test_suite(guard_random_suite);
