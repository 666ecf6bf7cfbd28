// SPDX-License-Identifier: BSD-2-Clause
/*
 * detach_test.c - what slabdev_use() was told of outlives whatever happens to
 * the stream: a detach that is refused or is not the last one, and a fork.
 */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "tests/open_space.h"

struct bench {
	struct kunit *test;
	struct slabdev *sd;
	slabdev_stream_t q;	/* manual */
	void *p;		/* used on it, with work there */
};

static void nothing(void *arg)
{
	(void)arg;
}

static int bench_init(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct bench *t = kunit_kzalloc(test, sizeof(*t));

	attr.limit = 32 * MIB;
	t->test = test;
	KUNIT_ASSERT_EQ(test, slabdev_open(&t->sd, "host", &attr), 0);
	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&t->q, SLABDEV_QUEUE_MANUAL),
			0);
	t->p = must_alloc(test, t->sd, 1000);
	test->priv = t;
	return 0;
}

static void bench_exit(struct kunit *test)
{
	struct bench *t = test->priv;

	KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(t->q), 0);
	KUNIT_EXPECT_EQ(test, slabdev_poll(t->sd), 0);
	KUNIT_EXPECT_EQ(test, expect_sound(test, t->sd).pending, 0);
	KUNIT_EXPECT_EQ_MSG(test, slabdev_close(t->sd, 0), 0, "%s",
			    slabdev_last_error());
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(t->q), 0);
}

static void attach(struct bench *t)
{
	KUNIT_ASSERT_EQ(t->test, slabdev_stream_attach(t->sd, t->q), 0);
}

static void use(struct bench *t)
{
	KUNIT_EXPECT_EQ(t->test, slabdev_use(t->sd, t->p, t->q), 0);
	KUNIT_EXPECT_EQ(t->test, slabdev_queue_submit(t->q, nothing, NULL), 0);
}

/* A free waits for the work that was told of. */
static void expect_awaited(struct bench *t)
{
	EXPECT_FREED(t->test, t->sd, t->p);
	KUNIT_EXPECT_EQ(t->test, slabdev_poll(t->sd), 0);
	KUNIT_EXPECT_GT(t->test, expect_sound(t->test, t->sd).pending, 0);
}

static void one_of_two_users_leaves(struct kunit *test)
{
	struct bench *t = test->priv;

	attach(t);
	attach(t);
	use(t);
	KUNIT_EXPECT_EQ(test, slabdev_stream_detach(t->sd, t->q), 0);
	/* More work: an event of the detach would not cover it. */
	KUNIT_EXPECT_EQ(test, slabdev_queue_run(t->q, 1), 1);
	KUNIT_EXPECT_EQ(test, slabdev_queue_submit(t->q, nothing, NULL), 0);
	expect_awaited(t);
	KUNIT_EXPECT_EQ(test, slabdev_stream_detach(t->sd, t->q), 0);
}

static void refused_under_a_capture(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_graph *g;

	attach(t);
	KUNIT_ASSERT_EQ(test, slabdev_capture_begin(t->sd, t->q, &g), 0);
	KUNIT_EXPECT_EQ(test, slabdev_stream_detach(t->sd, t->q), -EBUSY);
	KUNIT_EXPECT_EQ(test, slabdev_capture_end(g), 0);
	use(t);
	KUNIT_EXPECT_EQ(test, slabdev_graph_release(g), 0);
	KUNIT_EXPECT_EQ(test, slabdev_stream_detach(t->sd, t->q), 0);
	expect_awaited(t);
}

/* The same of a stream that nobody has attached. */
static void known_by_a_use_only(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_graph *g;

	use(t);
	KUNIT_ASSERT_EQ(test, slabdev_capture_begin(t->sd, t->q, &g), 0);
	KUNIT_EXPECT_EQ(test, slabdev_stream_detach(t->sd, t->q), -EBUSY);
	KUNIT_EXPECT_EQ(test, slabdev_capture_end(g), 0);
	KUNIT_EXPECT_EQ(test, slabdev_graph_release(g), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_submit(t->q, nothing, NULL), 0);
	EXPECT_FREED(test, t->sd, t->p);
}

static int in_child(struct bench *t)
{
	int bad = 0;

	bad |= slabdev_free(t->sd, t->p);
	bad |= !slabdev_alloc(t->sd, 1000);
	bad |= slabdev_validate(t->sd);
	return bad || slabdev_close(t->sd, SLABDEV_CLOSE_FORCE);
}

static void fork_and_go_on(struct bench *t)
{
	int status = -1;
	pid_t pid = fork();

	KUNIT_ASSERT_GE(t->test, pid, 0);
	if (!pid)
		_exit(in_child(t) != 0);
	KUNIT_EXPECT_EQ(t->test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ(t->test, status, 0);
}

/* In the child no stream uses anything. */
static void a_child_forgets_uses(struct kunit *test)
{
	struct bench *t = test->priv;

	use(t);
	fork_and_go_on(t);
	expect_awaited(t);
}

static void a_child_forgets_graphs(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_graph *g;
	void *p;

	KUNIT_ASSERT_EQ(test, slabdev_capture_begin(t->sd, t->q, &g), 0);
	p = slabdev_alloc_async(t->sd, 3000, t->q);
	KUNIT_EXPECT_NOT_NULL(test, p);
	use(t);
	fork_and_go_on(t);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(t->sd, p, t->q), 0);
	EXPECT_FREED(test, t->sd, t->p);
	KUNIT_EXPECT_EQ(test, slabdev_capture_end(g), 0);
	KUNIT_EXPECT_EQ(test, slabdev_graph_release(g), 0);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(one_of_two_users_leaves),
	KUNIT_CASE(refused_under_a_capture),
	KUNIT_CASE(known_by_a_use_only),
	KUNIT_CASE(a_child_forgets_uses),
	KUNIT_CASE(a_child_forgets_graphs),
	{ 0 }
};

static const struct kunit_suite detach_suite = {
	.name = "detach",
	.init = bench_init,
	.exit = bench_exit,
	.cases = cases,
};
kunit_test_suite(detach_suite);
