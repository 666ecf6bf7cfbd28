// SPDX-License-Identifier: BSD-2-Clause
/*
 * guard_letter_test.c - guard mode by the letter G, and by parameters.
 *
 * A parameter is read once a process, at the first open: those cases are
 * isolated, and open all of their spaces themselves. So is the one that sets
 * the handler of a signal.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/guard_space.h"

#define LIMIT (256 * MIB)

/* ---- The letter ---------------------------------------------------------- */

static void skip_without_letters(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_SLAB_DEBUG))
		kunit_skip(test, "built without SLAB_DEBUG");
}

/* One object of a cache of that name: is it guarded? */
static void expect_by_letter(struct kunit *test, struct slabdev *sd,
			     const char *name, u32 flags, bool guarded)
{
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	u64 before = guard_stats(test, sd).guarded;
	struct slabdev_cache *cache = NULL;
	void *p;

	args.flags = flags;
	KUNIT_ASSERT_EQ_MSG(test, slabdev_cache_create(&cache, sd, name, 5000,
						       &args), 0, "%s",
			    slabdev_last_error());
	p = slabdev_cache_alloc(cache);
	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_EXPECT_EQ_MSG(test, guard_stats(test, sd).guarded,
			    before + guarded, "%s", name);
	if (guarded)
		expect_guarded(test, p, 5000, GRANULE);
	expect_sound(test, sd);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p), 0);
	if (guarded)
		KUNIT_EXPECT_FALSE(test, is_mapped(test, p));
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
}

static void a_cache_chooses(struct kunit *test)
{
	struct slabdev *sd = guard_open(test, LIMIT, 0);

	skip_without_letters(test);
	expect_by_letter(test, sd, "plain", 0, false);
	expect_by_letter(test, sd, "own", SLABDEV_CACHE_GUARD, true);
	KUNIT_EXPECT_EQ(test, slabdev_set_debug(sd, "G,thing*"), 0);
	expect_by_letter(test, sd, "things", 0, true);
	expect_by_letter(test, sd, "other", 0, false);
	EXPECT_FREED(test, sd, must_alloc(test, sd, 5000));
	KUNIT_EXPECT_EQ(test, guard_stats(test, sd).guarded, 2);
	close_space(test, sd);
}

/* By the parameter; with the letters of bytes, too. */
static void the_letter_chooses(struct kunit *test)
{
	struct slabdev *sd;
	void *p;

	skip_without_letters(test);
	setenv("SLABDEV_DEBUG", "ZPUG,thing*;G,alloc-8192", 1);
	sd = guard_open(test, LIMIT, 0);
	expect_by_letter(test, sd, "things", 0, true);
	expect_by_letter(test, sd, "other", 0, false);
	p = must_alloc(test, sd, 8000);
	expect_guarded(test, p, 8000, GRANULE);
	EXPECT_FREED(test, sd, p);
	EXPECT_FREED(test, sd, must_alloc(test, sd, 3000));
	KUNIT_EXPECT_EQ(test, guard_stats(test, sd).guarded, 2);
	close_space(test, sd);
}

/* Guarded or not, it may be made to fail. */
static void faults_are_asked(struct kunit *test)
{
	struct slabdev_fault fault = SLABDEV_FAULT_INIT;
	struct slabdev *sd = guard_open(test, LIMIT, 1);

	skip_without_letters(test);
	fault.probability = 100;
	fault.verbose = 0;
	KUNIT_ASSERT_EQ_MSG(test, slabdev_set_fault(sd, &fault), 0, "%s",
			    slabdev_last_error());
	KUNIT_EXPECT_NULL(test, slabdev_alloc(sd, 5000));
	KUNIT_EXPECT_EQ(test, errno, ENOMEM);
	KUNIT_EXPECT_NULL(test, slabdev_alloc(sd, 3 * MIB));
	KUNIT_EXPECT_EQ(test, guard_stats(test, sd).guarded, 0);
	KUNIT_EXPECT_EQ(test, slabdev_set_fault(sd, NULL), 0);
	EXPECT_FREED(test, sd, must_alloc(test, sd, 5000));
	KUNIT_EXPECT_EQ(test, guard_stats(test, sd).guarded, 1);
	close_space(test, sd);
}

/* Guarded, it has no zone of the letter Z: nothing is filled or looked at where
 * another object would have one. */
static void realloc_keeps_the_bytes(struct kunit *test)
{
	static const size_t size[] = { 1, 255, 4096, 5000, MIB, 3 * MIB };
	struct slabdev *sd;
	char *p, *q;
	u32 i;

	skip_without_letters(test);
	setenv("SLABDEV_DEBUG", "ZPG", 1);
	sd = guard_open(test, LIMIT, 0);
	for (i = 0; i < ARRAY_SIZE(size); i++) {
		p = must_alloc(test, sd, size[i]);
		expect_guarded(test, p, size[i], GRANULE);
		memset(p, 0x17, size[i]);
		q = slabdev_realloc(sd, p, size[i]);
		KUNIT_EXPECT_PTR_EQ(test, q, p);
		KUNIT_EXPECT_TRUE(test, mem_is(sd, p, size[i], 0x17));
		KUNIT_EXPECT_EQ(test, slabdev_validate(sd), 0);
		EXPECT_FREED(test, sd, p);
	}
	close_space(test, sd);
}

/* ---- Messages ------------------------------------------------------------ */

/* Who is told something may call the library. */
static void open_another(int level, int kind, const char *text, void *arg)
{
	struct slabdev *sd;
	u32 *nr = arg;

	(void)level;
	(void)kind;
	if (!strstr(text, "SLABDEV_GUARD has no effect"))
		return;
	++*nr;
	if (!slabdev_open(&sd, "host", NULL))
		slabdev_close(sd, 0);
}

static void no_effect_is_said(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd;
	u32 nr = 0;

	host_only(test, "the layout is known");
	setenv("SLABDEV_GUARD", "1", 1);
	attr.limit = LIMIT;
	attr.reserve = 8 * LIMIT;
	attr.flags = SLABDEV_OPEN_SAME_LAYOUT | SLABDEV_OPEN_NO_SHEAVES;
	log_set_sink(open_another, &nr);
	KUNIT_ASSERT_EQ_MSG(test, slabdev_open(&sd, "host", &attr), 0, "%s",
			    slabdev_last_error());
	KUNIT_EXPECT_EQ(test, nr, 1);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), 0);
}

/* ---- The handler ---------------------------------------------------------- */

/* Whatever flags it has, that is no function. */
static void ignored_signals_are_ignored(struct kunit *test)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO }, now;

	action.sa_handler = SIG_IGN;
	KUNIT_ASSERT_EQ(test, sigaction(SIGSEGV, &action, NULL), 0);
	KUNIT_ASSERT_EQ_MSG(test, slabdev_guard_handler(1), 0, "%s",
			    slabdev_last_error());
	KUNIT_EXPECT_EQ(test, raise(SIGSEGV), 0);
	KUNIT_EXPECT_EQ(test, sigaction(SIGSEGV, NULL, &now), 0);
	KUNIT_EXPECT_TRUE(test, now.sa_handler == SIG_IGN);
}

static const struct kunit_case guard_letter_cases[] = {
	KUNIT_CASE(a_cache_chooses),
	KUNIT_CASE(faults_are_asked),
	KUNIT_CASE_ISOLATED(the_letter_chooses),
	KUNIT_CASE_ISOLATED(realloc_keeps_the_bytes),
	KUNIT_CASE_ISOLATED(no_effect_is_said),
	KUNIT_CASE_ISOLATED(ignored_signals_are_ignored),
	{ 0 },
};

static const struct kunit_suite guard_letter_suite = {
	.name = "guard_letter",
	.cases = guard_letter_cases,
};
kunit_test_suite(guard_letter_suite);
