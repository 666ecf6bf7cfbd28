// SPDX-License-Identifier: BSD-2-Clause
/*
 * close_test.c - threads, spaces, and the library itself end in any order
 * (promise P8).
 *
 * What needs a process of its own, above all loading and unloading the shared
 * library, is done by tests/loader.
 */
#include <stdio.h>

#include "slab/slab.h"
#include "tests/crew.h"
#include "tests/descriptors.h"
#include "tests/open_space.h"
#include "tests/program.h"

/* ---- Threads and spaces ----------------------------------------------- */

struct user {
	struct kunit *test;
	struct slabdev *sd, *other;
};

static void use(void *arg)
{
	struct user *u = arg;
	void *p[40];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(p); i++)
		p[i] = slabdev_alloc(u->sd, 700 * i + 1);
	for (i = 0; i < ARRAY_SIZE(p); i++)
		KUNIT_EXPECT_EQ(u->test, slabdev_free(u->sd, p[i]), 0);
}

static struct slabdev *open_plain(struct kunit *test)
{
	return open_space(test, 128 * MIB);
}

static void threads_outlive_the_space(struct kunit *test)
{
	struct crew *crew = crew_new(test, 4);
	struct user u = { .test = test };
	u32 i, round;

	for (round = 0; round < 20; round++) {
		u.sd = open_plain(test);
		for (i = 0; i < 4; i++)
			crew_do(crew, i, use, &u);
		KUNIT_EXPECT_EQ(test, stats_of(test, u.sd).threads, 4);
		KUNIT_EXPECT_EQ(test, slabdev_close(u.sd, 0), 0);
	}
	crew_dismiss(crew);
}

static void threads_end_with_some_spaces_closed(struct kunit *test)
{
	struct crew *crew = crew_new(test, 4);
	struct user u[3];
	u32 i, s;

	for (s = 0; s < 3; s++) {
		u[s] = (struct user){ .test = test, .sd = open_plain(test) };
		for (i = 0; i < 4; i++)
			crew_do(crew, i, use, &u[s]);
	}
	KUNIT_EXPECT_EQ(test, slabdev_close(u[1].sd, 0), 0);
	crew_dismiss(crew);
	for (s = 0; s < 3; s += 2) {
		KUNIT_EXPECT_EQ(test, stats_of(test, u[s].sd).threads, 0);
		expect_sound(test, u[s].sd);
		KUNIT_EXPECT_EQ(test, slabdev_close(u[s].sd, 0), 0);
	}
}

/* The number of a closed space goes to the next one, and nothing else does. */
static void closed_space_leaves_nothing_behind(struct kunit *test)
{
	struct user u = { .test = test, .sd = open_plain(test) };
	struct crew *crew = crew_new(test, 1);
	struct slabdev_stats st;
	u32 id = u.sd->id;

	crew_do(crew, 0, use, &u);
	KUNIT_EXPECT_NOT_NULL(test, slabdev_alloc(u.sd, 5000));
	KUNIT_EXPECT_EQ(test, slabdev_close(u.sd, SLABDEV_CLOSE_FORCE), 0);
	u.sd = open_plain(test);
	KUNIT_EXPECT_EQ(test, u.sd->id, id);
	st = stats_of(test, u.sd);
	KUNIT_EXPECT_EQ(test, st.threads, 0);
	KUNIT_EXPECT_EQ(test, st.allocs, 0);
	KUNIT_EXPECT_EQ(test, st.mapped, 0);
	crew_do(crew, 0, use, &u);
	st = stats_of(test, u.sd);
	KUNIT_EXPECT_EQ(test, st.threads, 1);
	KUNIT_EXPECT_EQ(test, st.allocs, 40);
	KUNIT_EXPECT_EQ(test, slabdev_close(u.sd, 0), 0);
}

static void open_and_close(void *arg)
{
	struct user *u = arg;
	struct user mine = *u;
	u32 i;

	for (i = 0; i < 30; i++) {
		mine.sd = open_plain(u->test);
		use(&mine);
		use(u);
		KUNIT_EXPECT_EQ(u->test, slabdev_close(mine.sd, 0), 0);
	}
}

/* Threads start and end while others close spaces that they never saw. */
static void threads_end_while_spaces_close(struct kunit *test)
{
	struct crew *closers = crew_new(test, 2), *crew;
	struct user u = { .test = test, .sd = open_plain(test) };
	u32 i, wave;

	crew_start(closers, 0, open_and_close, &u);
	crew_start(closers, 1, open_and_close, &u);
	for (wave = 0; wave < 20; wave++) {
		crew = crew_new(test, 4);
		for (i = 0; i < 4; i++)
			crew_start(crew, i, use, &u);
		for (i = 0; i < 4; i++)
			crew_wait(crew, i);
		crew_dismiss(crew);
	}
	crew_wait(closers, 0);
	crew_wait(closers, 1);
	crew_dismiss(closers);
	KUNIT_EXPECT_EQ(test, stats_of(test, u.sd).threads, 0);
	KUNIT_EXPECT_EQ(test, slabdev_close(u.sd, 0), 0);
}

/* ---- Questions about addresses of a space that goes away -------------- */

struct asker {
	struct kunit *test;
	void *p;		/* relaxed */
	bool stop;		/* relaxed */
	u64 asked;
};

static void ask(void *arg)
{
	struct asker *a = arg;
	char text[256];

	for (; !READ_ONCE(a->stop); a->asked++) {
		slabdev_explain(READ_ONCE(a->p), text, sizeof(text));
		KUNIT_EXPECT_NE(a->test, text[0], '\0');
	}
}

/* slabdev_explain() is about addresses: it is no call on the space. */
static void addresses_are_explained_while_spaces_close(struct kunit *test)
{
	struct crew *crew = crew_new(test, 2);
	struct asker a[2] = { { .test = test }, { .test = test } };
	struct slabdev *sd;
	void *p;
	u32 i;

	crew_start(crew, 0, ask, &a[0]);
	crew_start(crew, 1, ask, &a[1]);
	for (i = 0; i < 200; i++) {
		sd = open_plain(test);
		p = slabdev_alloc(sd, 1000);
		WRITE_ONCE(a[0].p, p);
		WRITE_ONCE(a[1].p, (char *)p + 5);
		KUNIT_EXPECT_EQ(test, slabdev_close(sd, SLABDEV_CLOSE_FORCE),
				0);
	}
	WRITE_ONCE(a[0].stop, true);
	WRITE_ONCE(a[1].stop, true);
	crew_wait(crew, 0);
	crew_wait(crew, 1);
	KUNIT_EXPECT_GT(test, a[0].asked, 0);
}

/* ---- Loading and unloading -------------------------------------------- */

/*
 * o open, u use, t start threads that use it, e end them, c close, d dlclose.
 * What is left out is left to exit(). All: each once, in every order that makes
 * sense, and every part of it.
 */
static const char *const orders[] = {
	"all", "oucoucd", "from-thread", "at-exit", "beside-thread",
	"destructor",
};

static void describe_order(const char *const *order, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "\"%s\"", *order);
}
KUNIT_ARRAY_PARAM(order, orders, describe_order);

static void library_ends_in_any_order(struct kunit *test)
{
	const char *argv[] = {
		"tests/loader", program_path(test, "libslabdev.so.0"),
		*(const char *const *)test->param_value, NULL,
	};
	struct program p;

	host_only(test, "a program that the host's tests run as well");
	program_run(test, &p, argv, NULL);
	KUNIT_EXPECT_EQ(test, p.status, 0);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(p.out, "done"), "%s%s", p.out,
				  p.err);
	KUNIT_EXPECT_STREQ(test, p.err, "");
}

/* ---- Nothing behind the user's back ----------------------------------- */

/* A line of /proc/self/status. */
static void status_line(struct kunit *test, const char *name, char line[128])
{
	FILE *f = fopen("/proc/self/status", "re");
	size_t len = strlen(name);

	KUNIT_ASSERT_NOT_NULL(test, f);
	while (fgets(line, 128, f) && strncmp(line, name, len))
		;
	fclose(f);
	KUNIT_EXPECT_EQ(test, strncmp(line, name, len), 0);
}

static void open_starts_nothing(struct kunit *test)
{
	static const char *const names[] = { "SigCgt", "SigBlk", "SigIgn",
					     "Threads" };
	char before[ARRAY_SIZE(names)][128], after[128];
	u32 fds = count_descriptors(test), i;
	struct user u = { .test = test };

	host_only(test, "a driver starts threads and opens files");
	for (i = 0; i < ARRAY_SIZE(names); i++)
		status_line(test, names[i], before[i]);
	u.sd = open_plain(test);
	use(&u);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		status_line(test, names[i], after);
		KUNIT_EXPECT_STREQ(test, after, before[i]);
	}
	KUNIT_EXPECT_EQ(test, slabdev_close(u.sd, 0), 0);
	KUNIT_EXPECT_EQ(test, count_descriptors(test), fds);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(threads_outlive_the_space),
	KUNIT_CASE(threads_end_with_some_spaces_closed),
	KUNIT_CASE(closed_space_leaves_nothing_behind),
	KUNIT_CASE(threads_end_while_spaces_close),
	KUNIT_CASE(addresses_are_explained_while_spaces_close),
	KUNIT_CASE_PARAM(library_ends_in_any_order, order_gen_params),
	KUNIT_CASE_ISOLATED(open_starts_nothing),
	{ 0 }
};

static const struct kunit_suite close_suite = {
	.name = "close",
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(close_suite);
