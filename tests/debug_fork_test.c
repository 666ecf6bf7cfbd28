// SPDX-License-Identifier: BSD-2-Clause
/*
 * debug_fork_test.c - letters in the child of a fork.
 *
 * Where another thread was there nobody knows what of its work the child has:
 * zones and poison of before are not judged, those of what the child makes are.
 * Where the forking thread was alone all are.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "core/os.h"
#include "slab/arena.h"
#include "tests/crew.h"
#include "tests/damage.h"
#include "tests/sanitizers.h"

#define LETTERS "ZPU"
#define FORKS 50u
#define CHILD_S 60u

static int letters_init(const struct kunit_suite *suite)
{
	(void)suite;
	if (IS_ENABLED(CONFIG_SLAB_DEBUG))
		debug_letters_are(LETTERS);
	return 0;
}

static int debug_fork_init(struct kunit *test)
{
	need_debug(test);
	host_only(test, "spaces on devices do not survive a fork");
	if (IS_THREAD_SANITIZED)
		kunit_skip(test, "the thread sanitizer ends a process that "
			   "holds more than 64 locks");
	return 0;
}

/* In a child, whose expectations count. */
static void in_child(struct kunit *test, void (*fn)(void *), void *arg)
{
	pid_t pid = fork();
	int status = -1;

	KUNIT_ASSERT_GE(test, pid, 0);
	if (!pid) {
		alarm(CHILD_S);
		fn(arg);
		_exit(0);
	}
	KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ_MSG(test, status, 0, "wait status %#x", status);
}

/* ---- Damage ------------------------------------------------------------- */

/* A byte that nobody may write: of a zone, of poison, of an arena's zone. */
enum place_of_damage { BEHIND, IN_FREE, IN_ARENA };

struct spoilt {
	const char *name;
	enum place_of_damage where;
	size_t size;
	enum report_kind kind;
	bool sure;	/* nobody can have been at it */
};

static const struct spoilt spoilts[] = {
	{ "behind a small one", BEHIND, 1000, REPORT_RED_ZONE, false },
	{ "in a free small one", IN_FREE, 1000, REPORT_POISON, true },
	{ "behind a large one", BEHIND, 3 * MIB + 1, REPORT_RED_ZONE, false },
	{ "in a free large one", IN_FREE, 3 * MIB, REPORT_POISON, false },
	{ "behind a huge one", BEHIND, 70 * MIB, REPORT_RED_ZONE, false },
	{ "in an arena", IN_ARENA, 1000, REPORT_RED_ZONE, false },
};
static void describe_spoilt(const struct spoilt *s, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", s->name);
}

KUNIT_ARRAY_PARAM(spoilt, spoilts, describe_spoilt)

struct scene {
	struct kunit *test;
	const struct spoilt *spoilt;
	struct slabdev *sd;
	struct slabdev_arena *arena;
	unsigned char *p;	/* an object that is live, or was */
	unsigned char *bad;	/* the byte */
};

/* One more object, and the byte of it. */
static void add_object(struct scene *s)
{
	const struct spoilt *v = s->spoilt;

	s->p = v->where == IN_ARENA ? slabdev_arena_alloc(s->arena, v->size) :
				      slabdev_alloc(s->sd, v->size);
	KUNIT_ASSERT_NOT_NULL(s->test, s->p);
	s->bad = s->p + (v->where == IN_FREE ? 10 : v->size);
	if (v->where == IN_FREE)
		KUNIT_EXPECT_EQ(s->test, slabdev_free(s->sd, s->p), 0);
}

static void scene_open(struct scene *s, struct kunit *test)
{
	struct slabdev_arena_attr attr = SLABDEV_ARENA_ATTR_INIT;

	*s = (struct scene){
		.test = test,
		.spoilt = test->param_value,
		.sd = debug_space(test),
	};
	attr.max_bytes = 16 * MIB;
	KUNIT_ASSERT_EQ(test, slabdev_arena_create(&s->arena, s->sd, &attr),
			0);
	add_object(s);
}

static void scene_close(struct scene *s)
{
	if (s->spoilt->where == BEHIND)
		KUNIT_EXPECT_EQ(s->test, slabdev_free(s->sd, s->p), 0);
	KUNIT_EXPECT_EQ(s->test, slabdev_arena_destroy(s->arena), 0);
	close_space(s->test, s->sd);
}

static void expect_found(void *arg)
{
	struct scene *s = arg;

	kunit_expect_report(s->test, s->spoilt->kind);
	KUNIT_EXPECT_EQ(s->test, slabdev_validate(s->sd), -EUCLEAN);
}

/* In the child, which has only what was damaged before the fork. */
static void damage_is_found_where_nobody_else_was(struct kunit *test)
{
	struct scene s;
	unsigned char was;

	scene_open(&s, test);
	was = *s.bad;
	*s.bad = DAMAGE_BYTE;
	in_child(test, expect_found, &s);
	*s.bad = was;
	scene_close(&s);
}

/* A mark of before the fork; what is made now is looked at. */
static void expect_none_but_new(void *arg)
{
	struct scene *s = arg;
	struct kunit *test = s->test;

	if (s->spoilt->sure) {
		expect_found(s);
		return;
	}
	KUNIT_EXPECT_EQ(test, slabdev_validate(s->sd), 0);
	if (s->spoilt->where == BEHIND)
		KUNIT_EXPECT_EQ(test, slabdev_free(s->sd, s->p), 0);
	KUNIT_EXPECT_GE(test, slabdev_trim(s->sd, 0), 0);
	KUNIT_EXPECT_EQ(test, slabdev_validate(s->sd), 0);
	add_object(s);
	*s->bad = DAMAGE_BYTE;
	expect_found(s);
}

static void nothing(void *arg)
{
	(void)arg;
}

static void damage_is_not_judged_where_another_was(struct kunit *test)
{
	struct crew *crew = crew_new(test, 1);
	struct scene s;
	unsigned char was;

	scene_open(&s, test);
	crew_do(crew, 0, nothing, NULL);
	was = *s.bad;
	*s.bad = DAMAGE_BYTE;
	in_child(test, expect_none_but_new, &s);
	*s.bad = was;
	crew_dismiss(crew);
	scene_close(&s);
}

/* ---- Arenas -------------------------------------------------------------- */

struct marked {
	struct kunit *test;
	struct slabdev *sd;
	struct slabdev_arena *arena;
	struct slabdev_arena_mark mark;
};

/* Zones that are from after the fork end with their allocations, though there
 * are fewer of them than there were at the mark. */
static void rewind_in_child(void *arg)
{
	struct marked *m = arg;
	unsigned char *p = slabdev_arena_alloc(m->arena, 1000);

	KUNIT_ASSERT_NOT_NULL(m->test, p);
	KUNIT_EXPECT_EQ(m->test, slabdev_arena_rewind(m->arena, &m->mark), 0);
	p = slabdev_arena_alloc(m->arena, 2000);
	KUNIT_ASSERT_NOT_NULL(m->test, p);
	memset(p, DAMAGE_BYTE, 2000);
	KUNIT_EXPECT_EQ(m->test, slabdev_validate(m->sd), 0);
	KUNIT_EXPECT_EQ(m->test, slabdev_arena_destroy(m->arena), 0);
}

static void arena_goes_back_to_a_mark_of_before(struct kunit *test)
{
	struct slabdev_arena_attr attr = SLABDEV_ARENA_ATTR_INIT;
	struct crew *crew = crew_new(test, 1);
	struct marked m = { .test = test, .sd = debug_space(test) };
	u32 i;

	attr.max_bytes = 16 * MIB;
	KUNIT_ASSERT_EQ(test, slabdev_arena_create(&m.arena, m.sd, &attr), 0);
	for (i = 0; i < 5; i++)
		KUNIT_EXPECT_NOT_NULL(test, slabdev_arena_alloc(m.arena, 100));
	KUNIT_ASSERT_EQ(test, slabdev_arena_mark(m.arena, &m.mark), 0);
	in_child(test, rewind_in_child, &m);
	crew_dismiss(crew);
	KUNIT_EXPECT_EQ(test, slabdev_arena_destroy(m.arena), 0);
	close_space(test, m.sd);
}

/* ---- Beside a thread at work --------------------------------------------- */

struct churn {
	struct kunit *test;
	struct slabdev *sd;
	u32 rounds, stop;	/* atomic */
};

static void churn(void *arg)
{
	static const size_t size[] = { 100, 1000, 5000, 3 * MIB, 2 * MIB - 1 };
	void *p[ARRAY_SIZE(size)] = { NULL };
	struct churn *c = arg;
	u32 i;

	for (i = 0; !load_acquire(&c->stop); i++) {
		void **at = &p[i % ARRAY_SIZE(size)];

		KUNIT_EXPECT_EQ(c->test, slabdev_free(c->sd, *at), 0);
		*at = slabdev_alloc(c->sd, size[i % ARRAY_SIZE(size)]);
		KUNIT_EXPECT_NOT_NULL(c->test, *at);
		store_release(&c->rounds, i);
	}
	for (i = 0; i < ARRAY_SIZE(size); i++)
		KUNIT_EXPECT_EQ(c->test, slabdev_free(c->sd, p[i]), 0);
}

static void live_beside(void *arg)
{
	static const size_t size[] = { 100, 1000, 5000, 3 * MIB };
	struct churn *c = arg;
	void *p;
	u32 i;

	KUNIT_EXPECT_EQ(c->test, slabdev_validate(c->sd), 0);
	for (i = 0; i < ARRAY_SIZE(size); i++) {
		p = slabdev_alloc(c->sd, size[i]);
		KUNIT_ASSERT_NOT_NULL(c->test, p);
		memset(p, DAMAGE_BYTE, size[i]);
		KUNIT_EXPECT_EQ(c->test, slabdev_free(c->sd, p), 0);
	}
	KUNIT_EXPECT_EQ(c->test, slabdev_trim(c->sd, 0), 0);
	KUNIT_EXPECT_EQ(c->test, slabdev_validate(c->sd), 0);
}

/* The fork comes when it comes: between a fill and its tag, say. */
static void forks_beside_a_thread_at_work(struct kunit *test)
{
	struct churn c = { .test = test, .sd = debug_space(test) };
	struct crew *crew = crew_new(test, 1);
	u32 i, before;

	crew_start(crew, 0, churn, &c);
	for (i = 0; i < FORKS; i++) {
		before = load_acquire(&c.rounds);
		while (load_acquire(&c.rounds) == before)
			os_yield();
		in_child(test, live_beside, &c);
	}
	store_release(&c.stop, 1);
	crew_wait(crew, 0);
	close_space(test, c.sd);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(damage_is_found_where_nobody_else_was,
			 spoilt_gen_params, .isolated = true),
	KUNIT_CASE_PARAM(damage_is_not_judged_where_another_was,
			 spoilt_gen_params, .isolated = true),
	KUNIT_CASE_ISOLATED(arena_goes_back_to_a_mark_of_before),
	KUNIT_CASE_ISOLATED(forks_beside_a_thread_at_work),
	{}
};

static const struct kunit_suite debug_fork_suite = {
	.name = "debug_fork",
	.suite_init = letters_init,
	.init = debug_fork_init,
	.cases = cases,
};
kunit_test_suite(debug_fork_suite);
