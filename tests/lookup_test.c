// SPDX-License-Identifier: BSD-2-Clause
/*
 * lookup_test.c - questions about addresses that others change meanwhile.
 *
 * slabdev_usable_size() and slabdev_explain() may be asked about any address:
 * of an object of another thread, which it frees at this moment; of a cache
 * that is being destroyed, of memory that is being given back, of a space that
 * is being closed. For the asker's own live object the answer is exact; for
 * others it is what was true at some moment of the call, and never more than a
 * wrong guess. Statistics, reports and the consistency walk run beside it.
 *
 * Workers of several sorts put the addresses that they have on a board, and
 * take none of them down: most of the time, what the askers find there is gone.
 */
#include <stdio.h>

#include "core/log.h"
#include "slab/tiny.h"
#include "tests/crew.h"
#include "tests/open_space.h"
#include "tests/random.h"
#include "tests/sanitizers.h"

#define BOARD 256u
#define HAND 24u
#define OWN_SIZE 700u

enum sort {
	ASKER,
	ASKER_TOO,
	GENERAL_WORKER,		/* objects of all sizes come and go */
	CACHE_WORKER,		/* caches do */
	SPACE_WORKER,		/* other spaces do */
	TRIMMER,		/* memory does, and policies change */
	NR_SORTS
};

struct board {
	struct kunit *test;
	struct slabdev *sd;
	struct slabdev_cache *cache;
	void *p[BOARD];		/* relaxed */
	FILE *null;
	u32 running;		/* atomic: workers that are not done */
};

struct one {
	struct board *b;
	enum sort sort;
	u64 random;
	u64 steps, todo;
};

static u32 pick(struct one *w, u32 n)
{
	return random_below(&w->random, n);
}

static void show(struct one *w, void *p)
{
	__atomic_store_n(&w->b->p[pick(w, BOARD)], p, __ATOMIC_RELAXED);
}

static char *look(struct one *w)
{
	return __atomic_load_n(&w->b->p[pick(w, BOARD)], __ATOMIC_RELAXED);
}

/* ---- Askers ----------------------------------------------------------- */

static void ask_about(struct one *w, const char *p)
{
	char text[300] = "";
	int err = slabdev_explain(p, text, sizeof(text));

	if (err != 0 && err != 1 && err != -ENOENT)
		KUNIT_FAIL(w->b->test, "%p: %d", (const void *)p, err);
	if (!text[0] || !memchr(text, '\0', sizeof(text)))
		KUNIT_FAIL(w->b->test, "%p: no words", (const void *)p);
	if (slabdev_usable_size(w->b->sd, p) > GIB)
		KUNIT_FAIL(w->b->test, "%p: no size", (const void *)p);
}

/* Its answers do not depend on what others do. */
static void ask_about_own(struct one *w, const char *own, u64 usable)
{
	char text[300];

	if (slabdev_usable_size(w->b->sd, own) != usable ||
	    slabdev_usable_size(w->b->sd, own + 1) != 0 ||
	    slabdev_explain(own + pick(w, OWN_SIZE), text, sizeof(text)))
		KUNIT_FAIL(w->b->test, "%p is not the asker's any more: %s",
			   (const void *)own, text);
}

static void ask_for_all(struct one *w)
{
	struct slabdev_cache_stats cst;
	struct slabdev_stats st;
	int err;

	switch (pick(w, 5)) {
	case 0:
		err = slabdev_stats(w->b->sd, &st, sizeof(st));
		break;
	case 1:
		err = slabdev_cache_stats(w->b->cache, &cst, sizeof(cst));
		break;
	case 2:
		err = slabdev_report(w->b->sd, w->b->null);
		break;
	case 3:
		err = slabdev_cache_validate(w->b->cache);
		break;
	default:
		err = slabdev_validate(w->b->sd);
	}
	if (err)
		KUNIT_FAIL(w->b->test, "%d: %s", err, slabdev_last_error());
}

static void ask(struct one *w)
{
	char *own = slabdev_alloc(w->b->sd, OWN_SIZE);
	u64 usable = slabdev_size_roundup(w->b->sd, OWN_SIZE);

	for (; load_acquire(&w->b->running); w->steps++) {
		char *p = look(w);

		ask_about(w, p);
		ask_about(w, p + pick(w, 5000));
		if (w->steps % 16 == 0)
			ask_about_own(w, own, usable);
		if (w->steps % 64 == 0)
			ask_for_all(w);
	}
	if (slabdev_free(w->b->sd, own))
		KUNIT_FAIL(w->b->test, "%s", slabdev_last_error());
}

/* ---- Who makes what is asked about ------------------------------------ */

static void free_hand(struct one *w, struct slabdev *sd, void **p, u32 n)
{
	while (n--)
		if (slabdev_free(sd, p[n]))
			KUNIT_FAIL(w->b->test, "%s", slabdev_last_error());
}

static void general_step(struct one *w)
{
	u64 most = pick(w, 8) ? 20 * KIB : 3 * MIB;
	u32 n = 1 + pick(w, HAND), i;
	void *p[HAND];

	for (i = 0; i < n; i++) {
		p[i] = slabdev_alloc(w->b->sd, random_size(&w->random,
							   (u32)most));
		show(w, p[i]);
	}
	free_hand(w, w->b->sd, p, n);
}

/* Tiny ones half of the time: their slabs have most that can be gone. */
static void cache_step(struct one *w)
{
	size_t size = pick(w, 2) ? 16 + pick(w, 230) : 256 + pick(w, 8000);
	struct slabdev_cache *c = NULL;
	u32 n = 1 + pick(w, HAND), i;
	void *p[HAND];

	if (slabdev_cache_create(&c, w->b->sd, "short", size, NULL) ||
	    slabdev_cache_alloc_bulk(c, n, p)) {
		KUNIT_FAIL(w->b->test, "%s", slabdev_last_error());
		return;
	}
	for (i = 0; i < n; i++)
		show(w, p[i]);
	if (slabdev_cache_free_bulk(c, n, p) || slabdev_cache_destroy(c))
		KUNIT_FAIL(w->b->test, "%s", slabdev_last_error());
}

static void space_step(struct one *w)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd = NULL;
	void *p[2];

	attr.limit = 16 * MIB;
	if (slabdev_open(&sd, test_spec(), &attr)) {
		KUNIT_FAIL(w->b->test, "%s", slabdev_last_error());
		return;
	}
	p[0] = slabdev_alloc(sd, 300);
	p[1] = slabdev_alloc(sd, 3 * MIB);
	show(w, p[0]);
	show(w, p[1]);
	free_hand(w, sd, p, 2);
	if (slabdev_close(sd, 0))
		KUNIT_FAIL(w->b->test, "%s", slabdev_last_error());
}

static void trim_step(struct one *w)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	int err;

	policy.mode = SLABDEV_RETAIN + pick(w, 3);
	err = pick(w, 4) ? slabdev_trim(w->b->sd, pick(w, 2) * 8 * MIB) :
			   slabdev_set_policy(w->b->sd, &policy);
	if (!err)
		err = slabdev_cache_shrink(w->b->cache);
	if (err)
		KUNIT_FAIL(w->b->test, "%s", slabdev_last_error());
}

static void work(struct one *w)
{
	static void (*const steps[NR_SORTS])(struct one *) = {
		[GENERAL_WORKER] = general_step,
		[CACHE_WORKER] = cache_step,
		[SPACE_WORKER] = space_step,
		[TRIMMER] = trim_step,
	};

	for (; w->steps < w->todo; w->steps++)
		steps[w->sort](w);
	__atomic_fetch_sub(&w->b->running, 1, __ATOMIC_ACQ_REL);
}

static void run(void *arg)
{
	struct one *w = arg;

	if (w->sort == ASKER || w->sort == ASKER_TOO)
		ask(w);
	else
		work(w);
}

/* ---- Cases ------------------------------------------------------------ */

static void close_null(void *arg)
{
	fclose(arg);
}

static void board_open(struct kunit *test, struct board *b)
{
	u32 i;

	*b = (struct board){ .test = test, .sd = case_space(test, 256 * MIB) };
	b->running = NR_SORTS - GENERAL_WORKER;
	b->null = fopen("/dev/null", "we");
	KUNIT_ASSERT_NOT_NULL(test, b->null);
	kunit_add_action(test, close_null, b->null);
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&b->cache, b->sd, "stays",
						   40, NULL), 0);
	for (i = 0; i < BOARD; i++)
		b->p[i] = &b->p[i];
}

/* Each sort of worker takes its steps; @scale makes them more. */
static void ask_meanwhile(struct kunit *test, u64 scale)
{
	static const u64 todo[NR_SORTS] = {
		[GENERAL_WORKER] = 2000, [CACHE_WORKER] = 1000,
		[SPACE_WORKER] = 100, [TRIMMER] = 600,
	};
	struct crew *crew = crew_new(test, NR_SORTS);
	struct one w[NR_SORTS];
	u64 seed = random_seed(test);
	struct board b;
	u32 i;

	if (IS_SANITIZED)
		scale = max(scale / 8, (u64)1);
	board_open(test, &b);
	for (i = 0; i < NR_SORTS; i++)
		w[i] = (struct one){ .b = &b, .sort = (enum sort)i,
				     .random = seed + i * 7919,
				     .todo = todo[i] * scale };
	crew_all(crew, run, w, sizeof(w[0]));
	kunit_info(test, "%llu questions",
		   (unsigned long long)(w[ASKER].steps + w[ASKER_TOO].steps));
	KUNIT_EXPECT_EQ(test, expect_sound(test, b.sd).live_objects, 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(b.cache), 0);
	expect_empty(test, b.sd);
	crew_dismiss(crew);
}

static void answers_while_all_changes(struct kunit *test)
{
	ask_meanwhile(test, 20);
}

static void answers_while_all_changes_long(struct kunit *test)
{
	ask_meanwhile(test, 400);
}

/*
 * Goal: who comes too late does not follow what is no pointer. Method: the
 * descriptor of a slab with bits where a tiny one has a pointer, and the
 * questions that somebody would ask who had seen a tiny slab there before.
 */
static void slab_that_changed_its_kind(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	struct slabdev_cache *tiny = NULL;
	char *p = must_alloc(test, sd, 256);
	u64 offset = align_down((u64)(uintptr_t)p - sd->base, SLICE_SIZE);
	slot_t slot;

	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&tiny, sd, "tiny", 64, NULL),
			0);
	KUNIT_EXPECT_FALSE(test, tiny_is_live(sd->slabs +
					      (offset >> SLICE_SHIFT), 3));
	KUNIT_EXPECT_EQ(test, tiny_take(cache_class(tiny), offset + 64, &slot),
			-EALREADY);
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(tiny), 0);
	expect_sound(test, sd);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(slab_that_changed_its_kind),
	KUNIT_CASE_ISOLATED(answers_while_all_changes, .slow = true,
			    .timeout_s = 180),
	KUNIT_CASE_ISOLATED(answers_while_all_changes_long, .is_long = true,
			    .timeout_s = 900),
	{ 0 }
};

static const struct kunit_suite lookup_suite = {
	.name = "lookup",
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(lookup_suite);
