// SPDX-License-Identifier: BSD-2-Clause
/*
 * debug_set_test.c - the letters of caches: at their creation, and while the
 * program runs.
 *
 * What a class has is asked with slabdev_cache_debug(), and of general classes
 * read off the class. That it left the fast paths is seen in the thread's bins:
 * they hold the empty sheaf, and stay so. Objects that were allocated under one
 * set of letters are freed under another one in both directions, by one thread
 * and by four.
 */
#include "core/log.h"
#include "core/os.h"
#include "slab/debug_set.h"
#include "slab/heap.h"
#include "tests/crew.h"
#include "tests/open_space.h"
#include "tests/random.h"

static struct slabdev *open_debug(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_SLAB_DEBUG))
		kunit_skip(test, "built without SLAB_DEBUG");
	return case_space(test, GIB);
}

static struct slabdev_cache *must_create(struct kunit *test,
					 struct slabdev *sd, const char *name,
					 u32 flags)
{
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	struct slabdev_cache *c = NULL;

	args.flags = flags;
	KUNIT_ASSERT_EQ_MSG(test, slabdev_cache_create(&c, sd, name, 1000,
						       &args), 0,
			    "%s", slabdev_last_error());
	return c;
}

#define EXPECT_LETTERS(test, cache, letters)				\
do {									\
	char has_[SLABDEV_DEBUG_LETTERS_MAX];				\
									\
	KUNIT_EXPECT_EQ(test, slabdev_cache_debug(cache, has_,		\
						  sizeof(has_)), 0);	\
	KUNIT_EXPECT_STREQ(test, has_, letters);			\
} while (0)

#define EXPECT_SET(test, sd, spec) \
	KUNIT_EXPECT_EQ(test, slabdev_set_debug(sd, spec), 0)

/* ---- Letters ---------------------------------------------------------- */

struct flag {
	u32 flags;
	const char *letters;
};

static const struct flag flags[] = {
	{ 0, "-" },
	{ SLABDEV_CACHE_CONSISTENCY_CHECKS, "F" },
	{ SLABDEV_CACHE_RED_ZONE, "Z" },
	{ SLABDEV_CACHE_POISON, "P" },
	{ SLABDEV_CACHE_STORE_USER, "U" },
	{ SLABDEV_CACHE_TRACE, "T" },
	{ SLABDEV_CACHE_FAILSLAB, "A" },
	{ SLABDEV_CACHE_GUARD, "G" },
	{ SLABDEV_CACHE_QUARANTINE, "Q" },
	{ SLABDEV_CACHE_RED_ZONE | SLABDEV_CACHE_POISON |
	  SLABDEV_CACHE_STORE_USER | SLABDEV_CACHE_QUARANTINE, "ZPUQ" },
	{ SLABDEV_CACHE_TRACE | SLABDEV_CACHE_NO_USER_FLAGS, "T" },
};

static void flags_are_letters(struct kunit *test)
{
	struct slabdev *sd = open_debug(test);
	char name[16];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		if (debug_lacking(flags[i].flags >> CACHE_DEBUG_SHIFT))
			continue;
		snprintf(name, sizeof(name), "c%u", i);
		EXPECT_LETTERS(test, must_create(test, sd, name,
						 flags[i].flags),
			       flags[i].letters);
	}
}

static void flags_take_a_build_with_checks(struct kunit *test)
{
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	struct slabdev *sd = case_space(test, GIB);
	struct slabdev_cache *c = NULL;
	int err;

	args.flags = SLABDEV_CACHE_STORE_USER | SLABDEV_CACHE_NO_USER_FLAGS;
	err = slabdev_cache_create(&c, sd, "cache", 100, &args);
	KUNIT_EXPECT_EQ(test, err, IS_ENABLED(CONFIG_SLAB_DEBUG) ? 0 :
								   -ENOTSUP);
	args.flags = SLABDEV_CACHE_NO_USER_FLAGS;
	KUNIT_EXPECT_EQ(test, slabdev_cache_create(&c, sd, "none", 100, &args),
			0);
	EXPECT_LETTERS(test, c, "-");
	args.flags = 0x20;
	KUNIT_EXPECT_EQ(test, slabdev_cache_create(&c, sd, "other", 100, &args),
			-EINVAL);
}

/* F U T A Q at once; Z P G only of what is created later. */
static void spec_switches_what_can_be(struct kunit *test)
{
	struct slabdev *sd = open_debug(test);
	struct slabdev_cache *before, *zoned, *after;

	before = must_create(test, sd, "before", 0);
	zoned = must_create(test, sd, "zoned", SLABDEV_CACHE_RED_ZONE);
	EXPECT_SET(test, sd, "FZPUTAQ");
	EXPECT_LETTERS(test, before, "FUTAQ");
	EXPECT_LETTERS(test, zoned, "FZUTAQ");
	after = must_create(test, sd, "after", 0);
	EXPECT_LETTERS(test, after, "FZPUTAQ");
	EXPECT_SET(test, sd, "-");
	EXPECT_LETTERS(test, before, "-");
	EXPECT_LETTERS(test, zoned, "Z");
	EXPECT_LETTERS(test, after, "ZP");
	EXPECT_LETTERS(test, must_create(test, sd, "last", 0), "-");
	EXPECT_SET(test, sd, "");
	EXPECT_LETTERS(test, before, "FU");
}

static void spec_goes_by_names(struct kunit *test)
{
	struct slabdev *sd = open_debug(test);
	struct slabdev_cache *a, *ab, *own, *not;

	a = must_create(test, sd, "a", 0);
	ab = must_create(test, sd, "ab", 0);
	own = must_create(test, sd, "own", SLABDEV_CACHE_TRACE);
	not = must_create(test, sd, "not", SLABDEV_CACHE_NO_USER_FLAGS);
	EXPECT_SET(test, sd, "F;U,a,alloc-4096;-,own,large");
	EXPECT_LETTERS(test, a, "U");
	EXPECT_LETTERS(test, ab, "F");
	EXPECT_LETTERS(test, own, "T");
	EXPECT_LETTERS(test, not, "-");
	KUNIT_EXPECT_EQ(test, sd->class[CLASS_LARGE]->debug, 0);
	KUNIT_EXPECT_EQ(test, sd->class[1]->debug, DEBUG_CONSISTENCY);
	KUNIT_EXPECT_EQ(test, sd->class[layout_class(4096)]->debug, DEBUG_USER);
	/* The global letters stay, the names do not. */
	EXPECT_SET(test, sd, "Q,a*");
	EXPECT_LETTERS(test, a, "Q");
	EXPECT_LETTERS(test, ab, "Q");
	EXPECT_LETTERS(test, own, "FT");
	KUNIT_EXPECT_EQ(test, sd->class[CLASS_LARGE]->debug,
			DEBUG_CONSISTENCY);
}

static void letters_of_one_cache(struct kunit *test)
{
	struct slabdev *sd = open_debug(test);
	struct slabdev_cache *a, *zoned;

	a = must_create(test, sd, "a", SLABDEV_CACHE_TRACE);
	zoned = must_create(test, sd, "zoned", SLABDEV_CACHE_RED_ZONE);
	EXPECT_SET(test, sd, "F");
	KUNIT_EXPECT_EQ(test, slabdev_cache_set_debug(a, "uQ"), 0);
	EXPECT_LETTERS(test, a, "UQ");
	EXPECT_LETTERS(test, zoned, "FZ");
	/* They are its own from then on. */
	EXPECT_SET(test, sd, "A");
	EXPECT_LETTERS(test, a, "UAQ");
	KUNIT_EXPECT_EQ(test, slabdev_cache_set_debug(a, "-"), 0);
	EXPECT_LETTERS(test, a, "-");
	/* What it has may be given back as it was told. */
	KUNIT_EXPECT_EQ(test, slabdev_cache_set_debug(zoned, "FZT"), 0);
	EXPECT_LETTERS(test, zoned, "FZT");
	KUNIT_EXPECT_EQ(test, slabdev_cache_set_debug(zoned, "-"), 0);
	EXPECT_LETTERS(test, zoned, "Z");
}

/* ---- Refusals --------------------------------------------------------- */

struct refusal {
	const char *text, *why;
};

static const struct refusal spec_refusals[] = {
	{ "FX", "slabdev_set_debug: 'FX' is not accepted for its 'X'" },
	{ "F;H", "slabdev_set_debug: 'F;H' is not accepted for its H, which a "
		 "space has from its opening on, or never" },
	{ "F;H,a", "slabdev_set_debug: 'F;H,a' is not accepted for its 'H', "
		   "which is for all caches and not for some" },
	{ NULL, "slabdev_set_debug: spec is NULL" },
};

static void refused_spec_changes_nothing(struct kunit *test)
{
	struct slabdev *sd = open_debug(test);
	struct slabdev_cache *a;
	u32 i;

	if (!IS_ENABLED(CONFIG_SLAB_HAZARD))
		kunit_skip(test, "built without SLAB_HAZARD");
	EXPECT_SET(test, sd, "U;T,a");
	a = must_create(test, sd, "a", 0);
	for (i = 0; i < ARRAY_SIZE(spec_refusals); i++) {
		KUNIT_EXPECT_EQ(test, slabdev_set_debug(sd,
							spec_refusals[i].text),
				-EINVAL);
		KUNIT_EXPECT_STREQ(test, slabdev_last_error(),
				   spec_refusals[i].why);
		EXPECT_LETTERS(test, a, "T");
		KUNIT_EXPECT_EQ(test, sd->class[1]->debug, DEBUG_USER);
	}
}

#define CACHE_CALL "slabdev_cache_set_debug: "
#define NOT_LATER ", as a cache has Z, P and G from its creation on, or never"

static const struct refusal letter_refusals[] = {
	{ "", CACHE_CALL "no letters; give - for none" },
	{ NULL, CACHE_CALL "no letters; give - for none" },
	{ "UX", CACHE_CALL "'UX' is not accepted for its 'X'" },
	{ "U,a", CACHE_CALL "'U,a' is not accepted, as it is of one cache: "
		 "give letters only" },
	{ "U;", CACHE_CALL "'U;' is not accepted, as it is of one cache: give "
		"letters only" },
	{ "UO", CACHE_CALL "'UO' is not accepted, as O and H are for all "
		"caches" },
	{ "Z", CACHE_CALL "'Z' is not accepted" NOT_LATER },
	{ "P", CACHE_CALL "'P' is not accepted" NOT_LATER },
};

static void refused_letters_change_nothing(struct kunit *test)
{
	struct slabdev *sd = open_debug(test);
	struct slabdev_cache *a = must_create(test, sd, "a",
					      SLABDEV_CACHE_TRACE);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(letter_refusals); i++) {
		const struct refusal *r = &letter_refusals[i];

		KUNIT_EXPECT_EQ(test, slabdev_cache_set_debug(a, r->text),
				-EINVAL);
		KUNIT_EXPECT_STREQ(test, slabdev_last_error(), r->why);
		EXPECT_LETTERS(test, a, "T");
	}
	KUNIT_EXPECT_EQ(test, slabdev_cache_set_debug(NULL, "F"), -EINVAL);
}

static void letters_need_room(struct kunit *test)
{
	struct slabdev *sd = open_debug(test);
	struct slabdev_cache *a = must_create(test, sd, "a",
					      SLABDEV_CACHE_TRACE |
					      SLABDEV_CACHE_STORE_USER);
	char buf[4] = "xyz";

	KUNIT_EXPECT_EQ(test, slabdev_cache_debug(a, NULL, 10), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_cache_debug(NULL, buf, 10), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_cache_debug(a, buf, 2), -ERANGE);
	KUNIT_EXPECT_STREQ(test, slabdev_last_error(),
			   "slabdev_cache_debug: room for 2 characters, and 3 "
			   "are needed");
	KUNIT_EXPECT_STREQ(test, buf, "xyz");
	KUNIT_EXPECT_EQ(test, slabdev_cache_debug(a, buf, 3), 0);
	KUNIT_EXPECT_STREQ(test, buf, "UT");
}

static int no_memory(size_t size, void **addr)
{
	(void)size;
	(void)addr;
	return -ENOMEM;
}

/* Quarantines are made for all classes, or no letter is changed. */
static void no_memory_for_quarantines(struct kunit *test)
{
	struct slabdev *sd = open_debug(test);
	struct slabdev_cache *a = must_create(test, sd, "a", 0);
	struct slabdev_cache *b = must_create(test, sd, "b", 0);

	if (!IS_ENABLED(CONFIG_STATIC_STUB))
		kunit_skip(test, "built without STATIC_STUB");
	/* One is there, and another one from the same block may be. */
	EXPECT_SET(test, sd, "U;Q,a");
	kunit_activate_static_stub(test, os_reserve, no_memory);
	KUNIT_EXPECT_EQ(test, slabdev_set_debug(sd, "TQ"), -ENOMEM);
	kunit_deactivate_static_stub(test, os_reserve);
	EXPECT_LETTERS(test, a, "Q");
	EXPECT_LETTERS(test, b, "U");
	EXPECT_SET(test, sd, "Q,b");
	EXPECT_LETTERS(test, a, "U");
	EXPECT_SET(test, sd, "TQ");
	EXPECT_LETTERS(test, b, "TQ");
}

/* ---- Fast paths ------------------------------------------------------- */

/* Is anything of a class in the calling thread's bins? */
static bool has_sheaves(const struct class *c)
{
	struct heap *h = thread_self->heap[c->sd->id];
	struct bin *b = h == &heap_none ? NULL : heap_bin(h, c);

	return b && (b->main != &sheaf_none || b->spare != &sheaf_none);
}

#define SOME 200u

struct batch {
	void *general[SOME], *large[4], *of_cache[SOME];
};

static void alloc_batch(struct kunit *test, struct slabdev_cache *c,
			struct batch *b)
{
	struct slabdev *sd = cache_class(c)->sd;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(b->large); i++)
		b->large[i] = must_alloc(test, sd, 3 * MIB + i);
	for (i = 0; i < SOME; i++) {
		b->general[i] = must_alloc(test, sd, 1 + 61 * i);
		b->of_cache[i] = slabdev_cache_alloc(c);
		KUNIT_ASSERT_NOT_NULL(test, b->of_cache[i]);
	}
}

static void free_batch(struct kunit *test, struct slabdev_cache *c,
		       struct batch *b)
{
	struct slabdev *sd = cache_class(c)->sd;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(b->large); i++)
		EXPECT_FREED(test, sd, b->large[i]);
	for (i = 0; i < SOME; i++) {
		EXPECT_FREED(test, sd, b->general[i]);
		KUNIT_EXPECT_EQ(test, slabdev_cache_free(c, b->of_cache[i]),
				0);
	}
}

/*
 * Letters take a class's sheaves away and let it have none, until they go;
 * those of another class are left alone.
 */
static void letters_take_the_fast_paths(struct kunit *test)
{
	struct slabdev *sd = open_debug(test);
	struct slabdev_cache *c = must_create(test, sd, "c", 0);
	const struct class *general = sd->class[1];
	struct batch b;

	alloc_batch(test, c, &b);
	free_batch(test, c, &b);
	if (!has_sheaves(general))
		kunit_skip(test, "this space has no sheaves");
	KUNIT_EXPECT_TRUE(test, has_sheaves(cache_class(c)));
	KUNIT_EXPECT_EQ(test, slabdev_cache_set_debug(c, "F"), 0);
	KUNIT_EXPECT_FALSE(test, has_sheaves(cache_class(c)));
	KUNIT_EXPECT_TRUE(test, has_sheaves(general));
	alloc_batch(test, c, &b);
	free_batch(test, c, &b);
	KUNIT_EXPECT_FALSE(test, has_sheaves(cache_class(c)));
	KUNIT_EXPECT_TRUE(test, has_sheaves(general));
	EXPECT_SET(test, sd, "U");
	KUNIT_EXPECT_FALSE(test, has_sheaves(general));
	alloc_batch(test, c, &b);
	free_batch(test, c, &b);
	KUNIT_EXPECT_FALSE(test, has_sheaves(general));
	EXPECT_SET(test, sd, "-");
	KUNIT_EXPECT_EQ(test, slabdev_cache_set_debug(c, "-"), 0);
	alloc_batch(test, c, &b);
	free_batch(test, c, &b);
	KUNIT_EXPECT_TRUE(test, has_sheaves(general));
	KUNIT_EXPECT_TRUE(test, has_sheaves(cache_class(c)));
	expect_sound(test, sd);
}

static void switch_of_every_class(struct kunit *test)
{
	struct slabdev *sd = open_debug(test);
	struct slabdev_cache *none, *before, *after;

	before = must_create(test, sd, "before", SLABDEV_CACHE_FAILSLAB);
	none = must_create(test, sd, "none", SLABDEV_CACHE_NO_USER_FLAGS);
	KUNIT_EXPECT_EQ(test, debug_switch(sd, DEBUG_FAIL, 0), 0);
	after = must_create(test, sd, "after", 0);
	EXPECT_LETTERS(test, before, "A");
	EXPECT_LETTERS(test, none, "A");
	EXPECT_LETTERS(test, after, "A");
	KUNIT_EXPECT_EQ(test, slabdev_cache_set_debug(after, "U"), 0);
	EXPECT_LETTERS(test, after, "UA");
	EXPECT_SET(test, sd, "F");
	EXPECT_LETTERS(test, none, "A");
	KUNIT_EXPECT_EQ(test, debug_switch(sd, 0, DEBUG_FAIL), 0);
	EXPECT_LETTERS(test, before, "FA");
	EXPECT_LETTERS(test, none, "-");
	EXPECT_LETTERS(test, after, "FU");
}

/* The lines of T go nowhere; a report fails the case. */
static void hear(int level, int kind, const char *text, void *arg)
{
	(void)level;
	if (kind != LOG_PLAIN)
		KUNIT_FAIL((struct kunit *)arg, "a report:\n%s", text);
}

/* ---- Under load ------------------------------------------------------- */

/* What is allocated under each is freed under each. */
static const char *const specs[] = {
	"-", "U", "-", "UT", "F", "U", "T", "FUTQ", "Q", "-",
};

/* Freed under the letters that come next, and the same the other way round. */
static void objects_outlive_letters(struct kunit *test)
{
	struct slabdev *sd = open_debug(test);
	struct slabdev_cache *c = must_create(test, sd, "c", 0);
	struct batch now, then;
	u32 i;

	log_set_sink(hear, test);
	alloc_batch(test, c, &then);
	for (i = 0; i < ARRAY_SIZE(specs); i++) {
		EXPECT_SET(test, sd, specs[i]);
		alloc_batch(test, c, &now);
		free_batch(test, c, &then);
		expect_sound(test, sd);
		then = now;
	}
	free_batch(test, c, &then);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(c), 0);
	expect_empty(test, sd);
}

#define THREADS 4u
#define HELD 64u

struct load {
	struct kunit *test;
	struct slabdev *sd;
	struct slabdev_cache *cache;
	u64 random;
	u32 *stop;
	u32 rounds;		/* relaxed */
	void *held[HELD];
};

/* A cache's object may go back by either call. */
static void load_free(struct load *l, u32 i)
{
	EXPECT_FREED(l->test, l->sd, l->held[i]);
	l->held[i] = NULL;
}

static void load_alloc(struct load *l, u32 i)
{
	if (random_below(&l->random, 2))
		l->held[i] = slabdev_cache_alloc(l->cache);
	else
		l->held[i] = slabdev_alloc(l->sd, random_size(&l->random,
							      MIB));
	KUNIT_EXPECT_NOT_NULL(l->test, l->held[i]);
}

static void load_run(void *arg)
{
	struct load *l = arg;
	u32 i;

	while (!READ_ONCE(*l->stop)) {
		i = random_below(&l->random, HELD);
		if (l->held[i])
			load_free(l, i);
		else
			load_alloc(l, i);
		WRITE_ONCE(l->rounds, l->rounds + 1);
	}
	for (i = 0; i < HELD; i++)
		load_free(l, i);
}

/* Each thread has turned over what it holds since the letters changed. */
static void wait_for_turnover(struct load *l)
{
	u32 i, from[THREADS];

	for (i = 0; i < THREADS; i++)
		from[i] = READ_ONCE(l[i].rounds);
	for (i = 0; i < THREADS; i++)
		while (READ_ONCE(l[i].rounds) - from[i] < HELD)
			os_sleep_us(100);
}

static void letters_change_under_load(struct kunit *test)
{
	struct slabdev *sd = open_debug(test);
	struct slabdev_cache *c = must_create(test, sd, "c", 0);
	struct crew *crew = crew_new(test, THREADS);
	u64 random = random_seed(test);
	struct load *l = kunit_kzalloc(test, THREADS * sizeof(*l));
	u32 i, stop = 0;

	log_set_sink(hear, test);
	for (i = 0; i < THREADS; i++) {
		l[i] = (struct load){ .test = test, .sd = sd, .cache = c,
				      .random = random + i, .stop = &stop };
		crew_start(crew, i, load_run, &l[i]);
	}
	for (i = 0; i < 30; i++) {
		EXPECT_SET(test, sd, specs[i % ARRAY_SIZE(specs)]);
		wait_for_turnover(l);
		KUNIT_EXPECT_EQ(test, slabdev_cache_set_debug(c, i & 1 ? "U" :
							      "-"), 0);
		wait_for_turnover(l);
	}
	WRITE_ONCE(stop, 1);
	for (i = 0; i < THREADS; i++)
		crew_wait(crew, i);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(c), 0);
	expect_empty(test, sd);
}

struct maker {
	struct kunit *test;
	struct slabdev *sd;
	u32 number;
	u32 *stop;
	struct slabdev_cache *cache;
};

/* Make and destroy a cache; the last one stays. */
static void make_caches(void *arg)
{
	struct maker *m = arg;
	char name[16];

	snprintf(name, sizeof(name), "c%u", m->number);
	do {
		KUNIT_EXPECT_EQ(m->test, slabdev_cache_destroy(m->cache), 0);
		m->cache = must_create(m->test, m->sd, name, 0);
	} while (!READ_ONCE(*m->stop));
}

/* A cache that is made while letters change has those of before or after, and
 * in the end the last ones. */
static void caches_made_meanwhile_have_them(struct kunit *test)
{
	struct slabdev *sd = open_debug(test);
	struct crew *crew = crew_new(test, THREADS);
	struct maker m[THREADS];
	u32 i, stop = 0;

	for (i = 0; i < THREADS; i++) {
		m[i] = (struct maker){ .test = test, .sd = sd, .number = i,
				       .stop = &stop };
		crew_start(crew, i, make_caches, &m[i]);
	}
	for (i = 0; i < 100; i++)
		EXPECT_SET(test, sd, i & 1 ? "-" : "UQ");
	EXPECT_SET(test, sd, "FT");
	WRITE_ONCE(stop, 1);
	for (i = 0; i < THREADS; i++) {
		crew_wait(crew, i);
		EXPECT_LETTERS(test, m[i].cache, "FT");
	}
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(flags_are_letters),
	KUNIT_CASE(flags_take_a_build_with_checks),
	KUNIT_CASE(spec_switches_what_can_be),
	KUNIT_CASE(spec_goes_by_names),
	KUNIT_CASE(letters_of_one_cache),
	KUNIT_CASE(refused_spec_changes_nothing),
	KUNIT_CASE(refused_letters_change_nothing),
	KUNIT_CASE(letters_need_room),
	KUNIT_CASE(no_memory_for_quarantines),
	KUNIT_CASE(letters_take_the_fast_paths),
	KUNIT_CASE(switch_of_every_class),
	KUNIT_CASE(objects_outlive_letters),
	KUNIT_CASE(letters_change_under_load),
	KUNIT_CASE(caches_made_meanwhile_have_them),
	{ 0 }
};

static const struct kunit_suite debug_set_suite = {
	.name = "debug_set",
	.cases = cases,
};
kunit_test_suite(debug_set_suite);
