// SPDX-License-Identifier: BSD-2-Clause
/*
 * debug_keep_test.c - memory that is free, and that walks keep for a look.
 *
 * Who needs it meanwhile gets it, however late the walk is with it, and whoever
 * is told of damage may wait for that. What is known of free memory that large
 * objects left is not more than what is true: where the fill failed, and in the
 * child of a fork.
 */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/os.h"
#include "slab/track.h"
#include "tests/crew.h"
#include "tests/meddler.h"

#define LETTERS "FZPU"

static int letters_init(const struct kunit_suite *suite)
{
	(void)suite;
	if (IS_ENABLED(CONFIG_SLAB_DEBUG))
		debug_letters_are(LETTERS);
	return 0;
}

static int keep_init(struct kunit *test)
{
	need_debug(test);
	test->priv = debug_space(test);
	return 0;
}

static void keep_exit(struct kunit *test)
{
	if (test->priv)
		close_space(test, test->priv);
}

/* ---- A fill that fails -------------------------------------------------- */

static int fill_fails(void *dev, u64 addr, u64 size, u8 byte,
		      slabdev_stream_t stream)
{
	(void)dev;
	(void)addr;
	(void)size;
	(void)byte;
	(void)stream;
	return -EIO;
}

/* Whose poison could not be filled is as if it had never been there. */
static void fill_that_fails_leaves_nothing(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p = must_alloc(test, sd, 3 * MIB);
	u64 offset = (u64)(uintptr_t)p - space_addr(sd, 0);
	const struct vmm_ops *real = sd->vmm.ops;
	struct vmm_ops ops = *real;
	struct track t;

	KUNIT_EXPECT_TRUE(test, track_find(sd, offset, &t));
	ops.fill = fill_fails;
	sd->vmm.ops = &ops;
	EXPECT_FREED(test, sd, p);
	sd->vmm.ops = real;
	KUNIT_EXPECT_FALSE(test, track_find(sd, offset, &t));
	expect_sound(test, sd);
}

/* ---- What walks keep ---------------------------------------------------- */

/* All that the limit lets a space map, with the zone. */
#define MUCH (40 * MIB - 100)

/* Another thread needs what a walk is at: there is nothing else. */
static struct need {
	struct crew *crew;
	struct slabdev *sd;
	void *p;
} need;

static void take_much(void *arg)
{
	struct need *n = arg;

	n->p = slabdev_alloc(n->sd, MUCH);
}

static void need_it(struct meddler *m)
{
	if (m->reads != 1)
		return;
	crew_start(need.crew, 0, take_much, &need);
	/* That it stands there by then makes the test, not its result. */
	os_sleep_us(50000);
}

static void free_and_need_it(struct meddler *m)
{
	if (m->reads == 1)
		EXPECT_FREED(m->test, m->sd, m->p);
	need_it(m);
}

static void *begin_need(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	host_only(test, "the look is a read");
	close_space(test, test->priv);
	attr.limit = 40 * MIB;
	attr.name = "test";
	need.sd = test->priv = open_space_attr(test, &attr);
	need.crew = crew_new(test, 1);
	return must_alloc(test, need.sd, MUCH);
}

static void end_need(struct kunit *test)
{
	KUNIT_EXPECT_NOT_NULL(test, need.p);
	EXPECT_FREED(test, need.sd, need.p);
	crew_dismiss(need.crew);
	expect_sound(test, need.sd);
}

/* It is free, or freed meanwhile. */
static void who_needs_it_waits_for_a_walk(struct kunit *test)
{
	void *p = begin_need(test);
	struct meddler *m;
	u32 i;

	EXPECT_FREED(test, need.sd, p);
	for (i = 0; i < 2; i++) {
		m = meddle(test, p, i ? MUCH : 0);
		m->before = i ? free_and_need_it : need_it;
		KUNIT_EXPECT_EQ(test, slabdev_validate(need.sd), 0);
		crew_wait(need.crew, 0);
		stop_meddling(m);
		KUNIT_EXPECT_PTR_EQ(test, need.p, p);
	}
	end_need(test);
}

/* Who is told may wait for it. */
static void need_it_when_told(int level, int kind, const char *text, void *arg)
{
	(void)level;
	(void)text;
	(void)arg;
	if (kind == REPORT_POISON)
		crew_do(need.crew, 0, take_much, &need);
}

/* In a child, whose log this is. */
static int tell(struct kunit *test)
{
	void *p = begin_need(test);

	EXPECT_FREED(test, need.sd, p);
	smear(need.sd, p, 30 * MIB, 1);
	log_set_sink(need_it_when_told, NULL);
	return slabdev_validate(need.sd) != -EUCLEAN || need.p != p;
}

static void in_child(struct kunit *test, int (*fn)(struct kunit *test))
{
	int status = -1;
	pid_t pid = fork();

	KUNIT_ASSERT_GE(test, pid, 0);
	if (!pid) {
		alarm(60);
		_exit(fn(test));
	}
	KUNIT_EXPECT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ_MSG(test, status, 0, "wait status %#x", status);
}

static void nothing_is_kept_while_it_is_told(struct kunit *test)
{
	host_only(test, "a child has host memory");
	in_child(test, tell);
}

/* Far behind its beginning, and in many places: told once, and of the whole. */
static void an_object_is_told_of_once(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	char *p = must_alloc(test, sd, 40 * MIB);
	u32 i;

	EXPECT_FREED(test, sd, p);
	for (i = 7; i < 40; i++)
		smear(sd, p, i * MIB, 1);
	EXPECT_TOLD(test, REPORT_POISON, expect_damaged(test, sd, 1));
	expect_told(test, "%llu bytes into the object, which is free\n",
		    (unsigned long long)7 * MIB);
	expect_told(test, "Object 0x%llx of large size=%llu, free",
		    (unsigned long long)(uintptr_t)p,
		    (unsigned long long)40 * MIB);
	expect_told(test, "Freed by ");
	expect_told(test, "\nObject   %016llx: 5a 6b",
		    (unsigned long long)(uintptr_t)p + 7 * MIB);
	expect_sound(test, sd);
}

/* ---- In the child of a fork --------------------------------------------- */

static u32 stands, goes;

static void stand(struct meddler *m)
{
	(void)m;
	store_release(&stands, 1);
	while (!load_acquire(&goes))
		os_sleep_us(1000);
}

static void give_up(void *arg)
{
	struct meddler *m = arg;

	EXPECT_FREED(m->test, m->sd, m->p);
}

static struct meddler *meddles;

static int use_it(struct kunit *test)
{
	struct meddler *m = meddles;
	u32 i;

	m->sd->vmm.ops = m->real;
	for (i = 0; i < 20; i++)
		if (!slabdev_alloc(m->sd, 512 * KIB))
			return 2;
	return kunit_report_count(test, REPORT_POISON) != 0;
}

/* What another thread was about to unmap is poison no longer, since the child
 * has unmapped it. */
static void poison_on_its_way_back(struct kunit *test)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	struct slabdev *sd = test->priv;
	struct crew *crew;
	struct meddler *m;

	host_only(test, "a child has host memory");
	policy.mode = SLABDEV_AGGRESSIVE;
	KUNIT_ASSERT_EQ(test, slabdev_set_policy(sd, &policy), 0);
	crew = crew_new(test, 1);
	m = meddle(test, must_alloc(test, sd, 3 * MIB), 0);
	meddles = m;
	m->before = stand;
	crew_start(crew, 0, give_up, m);
	while (!load_acquire(&stands))
		os_sleep_us(1000);
	in_child(test, use_it);
	store_release(&goes, 1);
	crew_wait(crew, 0);
	stop_meddling(m);
	crew_dismiss(crew);
}

static const struct kunit_case keep_cases[] = {
	KUNIT_CASE(fill_that_fails_leaves_nothing),
	KUNIT_CASE(who_needs_it_waits_for_a_walk),
	KUNIT_CASE(nothing_is_kept_while_it_is_told),
	KUNIT_CASE(an_object_is_told_of_once),
	KUNIT_CASE(poison_on_its_way_back),
	{}
};

static const struct kunit_suite debug_keep_suite = {
	.name = "debug_keep",
	.suite_init = letters_init,
	.init = keep_init,
	.exit = keep_exit,
	.cases = keep_cases,
	.any_space = true,
};
kunit_test_suite(debug_keep_suite);
