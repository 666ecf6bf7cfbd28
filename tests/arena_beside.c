// SPDX-License-Identifier: BSD-2-Clause
/*
 * arena_beside.c - arenas, and what others do with them at the same time: other
 * threads, the log's callback, the child of a fork.
 *
 * White-box: a claim that a thread would have for a moment is set by hand, with
 * the identity of a thread that is not there. What would wait for it for ever
 * is ended by an alarm.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "core/os.h"
#include "slab/arena.h"
#include "tests/arena_space.h"
#include "tests/crew.h"

#define LIMIT (64 * MIB)
#define ROUNDS 200u
#define SECONDS 60u
#define NOBODY 1u	/* no thread is called so */

static int beside_init(struct kunit *test)
{
	host_only(test, "the CPU is what works");
	test->priv = open_space(test, LIMIT);
	return 0;
}

static void beside_exit(struct kunit *test)
{
	if (test->priv)
		close_space(test, test->priv);
}

static void swallow(int level, int kind, const char *text, void *arg)
{
	(void)level;
	(void)kind;
	(void)text;
	(void)arg;
}

static struct arena *inside(const struct slabdev_arena *arena)
{
	return arena_entry(token_index(arena));
}

/* ---- The end ------------------------------------------------------------- */

struct ending {
	struct slabdev_arena *arena;
	int err;
};

static void destroy(void *arg)
{
	struct ending *e = arg;

	e->err = slabdev_arena_destroy(e->arena);
}

/* Of two at once one ends it, and no other arena. */
static void two_threads_one_end(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_arena *other = new_arena(test, sd, 4 * MIB);
	struct crew *crew = crew_new(test, 2);
	struct ending e[2];
	u32 i;

	arena_take(test, other, MIB);
	log_set_sink(swallow, NULL);
	for (i = 0; i < ROUNDS; i++) {
		e[0].arena = new_arena(test, sd, i % 2 ? 4 * MIB : 4096);
		arena_take(test, e[0].arena, 100);
		e[1] = e[0];
		crew_all(crew, destroy, e, sizeof(e[0]));
		KUNIT_EXPECT_EQ(test, min(e[0].err, e[1].err), -EALREADY);
		KUNIT_EXPECT_EQ(test, max(e[0].err, e[1].err), 0);
	}
	log_set_sink(NULL, NULL);
	arena_take(test, other, MIB);
	end_arena(test, other);
}

struct trim {
	struct slabdev *sd;
	int err;
};

static void trim(void *arg)
{
	struct trim *t = arg;

	t->err = slabdev_trim(t->sd, 0);
}

/* The queue's work, which is over when the case says so. */
static void hold_on(void *arg)
{
	while (!load_acquire((u32 *)arg))
		os_yield();
}

/* An arena ends, and another one begins in its place, while somebody waits for
 * the device to be done with the first one's memory. */
static void an_arena_goes_that_is_waited_for(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_arena_attr attr = SLABDEV_ARENA_ATTR_INIT;
	struct crew *crew = crew_new(test, 1);
	struct slabdev_arena *arena, *next;
	struct trim t = { .sd = sd };
	slabdev_stream_t queue;
	u32 i, go;

	attr.max_bytes = 16 * MIB;
	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&queue, 0), 0);
	for (i = 0; i < ROUNDS; i++) {
		attr.stream = queue;
		arena = new_arena_attr(test, sd, &attr);
		memset(arena_take(test, arena, 5 * MIB), 1, 5 * MIB);
		store_release(&go, 0u);
		KUNIT_ASSERT_EQ(test, slabdev_queue_submit(queue, hold_on, &go),
				0);
		KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
		crew_start(crew, 0, trim, &t);
		store_release(&go, 1u);
		end_arena(test, arena);
		attr.stream = NULL;
		next = new_arena_attr(test, sd, &attr);
		memset(arena_take(test, next, 5 * MIB), 2, 5 * MIB);
		crew_wait(crew, 0);
		KUNIT_EXPECT_EQ(test, t.err, 0);
		KUNIT_EXPECT_EQ(test, arena_figures(test, next).mapped,
				6 * MIB);
		end_arena(test, next);
	}
	expect_sound(test, sd);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(queue), 0);
}

/* ---- Questions ----------------------------------------------------------- */

/* An address that is in no arena is looked up without waiting for one. */
static void others_are_not_waited_for(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_arena *busy = new_arena(test, sd, 4 * MIB);
	struct slabdev_arena *arena = new_arena(test, sd, 4 * MIB);
	char *p = arena_take(test, arena, 100), text[512];

	arena_take(test, busy, 100);
	alarm(SECONDS);
	WRITE_ONCE(inside(busy)->claim, NOBODY);
	(void)slabdev_explain(p, text, sizeof(text));
	EXPECT_WORDS(test, text, "bytes into arena 'test'");
	/* Free memory, as far as anybody knows. */
	(void)slabdev_explain((char *)p + 100 * MIB, text, sizeof(text));
	KUNIT_EXPECT_NULL(test, strstr(text, "arena"));
	WRITE_ONCE(inside(busy)->claim, 0);
	alarm(0);
	end_arena(test, busy);
	end_arena(test, arena);
}

struct question {
	const void *p;
	char text[512];
	u32 reports;
};

static void ask_about_it(int level, int kind, const char *text, void *arg)
{
	struct question *q = arg;

	(void)level;
	(void)text;
	if (kind != REPORT_RED_ZONE)
		return;
	q->reports++;
	(void)slabdev_explain(q->p, q->text, sizeof(q->text));
}

/* Who is told of a damage may ask about the arena. */
static void the_log_asks(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_arena *arena;
	struct question q = { .reports = 0 };
	char *p;

	if (!IS_ENABLED(CONFIG_SLAB_DEBUG))
		kunit_skip(test, "no letters");
	KUNIT_ASSERT_EQ(test, slabdev_set_debug(sd, "Z"), 0);
	arena = new_arena(test, sd, 4 * MIB);
	p = arena_take(test, arena, 100);
	q.p = p;
	p[100] = 1;
	p = arena_take(test, arena, 100);
	p[100] = 1;
	log_set_sink(ask_about_it, &q);
	KUNIT_EXPECT_EQ(test, slabdev_validate(sd), -EUCLEAN);
	KUNIT_EXPECT_EQ(test, q.reports, 2);
	EXPECT_WORDS(test, q.text, "bytes into arena 'test'");
	q.text[0] = 0;
	KUNIT_EXPECT_EQ(test, slabdev_arena_reset(arena), 0);
	KUNIT_EXPECT_EQ(test, q.reports, 4);
	EXPECT_WORDS(test, q.text, "bytes into arena 'test'");
	log_set_sink(NULL, NULL);
	end_arena(test, arena);
}

/* ---- Children ------------------------------------------------------------ */

static int use_in_child(struct slabdev *sd, struct slabdev_arena *arena)
{
	struct slabdev_arena_attr attr = SLABDEV_ARENA_ATTR_INIT;
	struct slabdev_arena *another;

	if (!slabdev_arena_alloc(arena, 10 * MIB) || slabdev_trim(sd, 0))
		return 1;
	attr.max_bytes = 16 * MIB;
	/* In the entry that somebody was ending. */
	if (slabdev_arena_create(&another, sd, &attr) ||
	    !slabdev_arena_alloc(another, 5 * MIB))
		return 2;
	if (slabdev_arena_destroy(another) || slabdev_arena_destroy(arena))
		return 3;
	return slabdev_validate(sd) || slabdev_close(sd, 0) ? 4 : 0;
}

/* Whoever had a claim is not in the child, whether the arena was there or was
 * just going. */
static void claims_end_with_their_threads(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_arena *arena = new_arena(test, sd, 32 * MIB);
	struct slabdev_arena *gone = new_arena(test, sd, 4 * MIB);
	int status = -1;
	pid_t pid;

	arena_take(test, arena, MIB);
	end_arena(test, gone);
	WRITE_ONCE(inside(arena)->claim, NOBODY);
	WRITE_ONCE(inside(gone)->claim, NOBODY);
	pid = fork();
	KUNIT_ASSERT_GE(test, pid, 0);
	if (!pid) {
		alarm(SECONDS);
		_exit(use_in_child(sd, arena));
	}
	WRITE_ONCE(inside(arena)->claim, 0);
	WRITE_ONCE(inside(gone)->claim, 0);
	KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ_MSG(test, status, 0, "wait status %#x", status);
	end_arena(test, arena);
}

static const struct kunit_case arena_beside_cases[] = {
	KUNIT_CASE_ISOLATED(two_threads_one_end),
	KUNIT_CASE(an_arena_goes_that_is_waited_for),
	KUNIT_CASE_ISOLATED(others_are_not_waited_for),
	KUNIT_CASE_ISOLATED(the_log_asks),
	KUNIT_CASE_ISOLATED(claims_end_with_their_threads),
	{ 0 }
};

static const struct kunit_suite arena_beside_suite = {
	.name = "arena_beside",
	.init = beside_init,
	.exit = beside_exit,
	.cases = arena_beside_cases,
};
kunit_test_suite(arena_beside_suite);
