// SPDX-License-Identifier: BSD-2-Clause
/*
 * scope_test.c - what is acquired in a block of C goes back at its end.
 *
 * The claim is that no path leaks and nothing goes back twice: each kind of
 * variable is left in every way, and the books of the space say what stayed.
 * Where calls fail is scope_fail_test.c.
 */
#include <slabdev/scope.h>

#include "tests/open_space.h"

#define EXPECT_LIVE(test, sd, objects) \
	KUNIT_EXPECT_EQ(test, figures(test, sd).live_objects, (u64)(objects))

/* ---- Objects ---------------------------------------------------------- */

/* 0 to 3: how the block is left. */
static int leave(struct slabdev *sd, int way)
{
	int rounds = 0;

again:
	for (; rounds < 2; rounds++) {
		struct slabdev_owned x SLABDEV_CLEANUP(owned) =
			slabdev_own(sd, slabdev_alloc(sd, 1000));
		struct slabdev_owned y SLABDEV_CLEANUP(owned) =
			slabdev_own(sd, slabdev_zalloc(sd, 3 * MIB));

		if (!x.p || !y.p)
			return -errno;
		if (way == 1)
			return 1;
		if (way == 2)
			break;
		if (way == 3 && !rounds++)
			goto again;
	}
	return 0;
}

static void scope_ends_in_every_way(struct kunit *test)
{
	struct slabdev *sd = test->priv;

	for (int way = 0; way < 4; way++) {
		KUNIT_EXPECT_EQ(test, leave(sd, way), way == 1);
		EXPECT_LIVE(test, sd, 0);
	}
	KUNIT_EXPECT_GE(test, figures(test, sd).frees, 8);
}

static void *make(struct slabdev *sd, bool is_wanted)
{
	struct slabdev_owned x SLABDEV_CLEANUP(owned) =
		slabdev_own(sd, slabdev_alloc(sd, 1000));

	return is_wanted ? slabdev_disown(&x) : NULL;
}

/* Goal: who takes what a variable holds owns it, and nobody frees it twice. */
static void scope_hands_over(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p;

	KUNIT_EXPECT_NULL(test, make(sd, false));
	EXPECT_LIVE(test, sd, 0);
	p = make(sd, true);
	KUNIT_ASSERT_NOT_NULL(test, p);
	EXPECT_LIVE(test, sd, 1);
	EXPECT_FREED(test, sd, p);
}

static void scope_of_nothing(struct kunit *test)
{
	struct slabdev_owned none SLABDEV_CLEANUP(owned) = SLABDEV_OWNED_INIT;
	struct slabdev_owned_buf no_buf SLABDEV_CLEANUP(owned_buf) = { 0 };
	struct slabdev_owned_group no_group SLABDEV_CLEANUP(owned_group) =
		{ 0 };
	struct slabdev_owned_by no_manager SLABDEV_CLEANUP(owned_by) = { 0 };
	struct slabdev *sd SLABDEV_CLEANUP(space) = NULL;
	struct slabdev_manager *manager SLABDEV_CLEANUP(manager) = NULL;
	struct slabdev_cache *cache SLABDEV_CLEANUP(cache) = NULL;
	struct slabdev_arena *arena SLABDEV_CLEANUP(arena) = NULL;
	struct slabdev_buf *buf SLABDEV_CLEANUP(buf) = NULL;
	struct slabdev_group *group SLABDEV_CLEANUP(group) = NULL;
	struct slabdev_graph *graph SLABDEV_CLEANUP(graph) = NULL;
	struct slabdev_graph *capture SLABDEV_CLEANUP(capture) = NULL;
	struct slabdev_import *import SLABDEV_CLEANUP(import) = NULL;
	slabdev_stream_t queue SLABDEV_CLEANUP(queue) = NULL;

	KUNIT_EXPECT_NULL(test, slabdev_disown(&none));
	KUNIT_EXPECT_NULL(test, slabdev_no_free_ptr(sd));
	EXPECT_LIVE(test, test->priv, 0);
}

/* ---- Spaces and caches -------------------------------------------------- */

static int open_for(struct slabdev **to)
{
	struct slabdev *sd SLABDEV_CLEANUP(space) = NULL;
	struct slabdev_cache *cache SLABDEV_CLEANUP(cache) = NULL;
	int err = slabdev_open(&sd, test_spec(), NULL);

	if (!err)
		err = slabdev_cache_create(&cache, sd, "scope", 100, NULL);
	if (!err && to)
		*to = slabdev_no_free_ptr(sd);
	return err;
}

static struct slabdev *opened(void)
{
	struct slabdev *sd SLABDEV_CLEANUP(space) = NULL;

	if (slabdev_open(&sd, test_spec(), NULL))
		return NULL;
	slabdev_return_ptr(sd);
}

/* Goal: they end in the reverse order: a cache before its space. */
static void scope_closes_spaces(struct kunit *test)
{
	struct slabdev *sd = NULL;

	KUNIT_EXPECT_EQ(test, open_for(NULL), 0);
	KUNIT_ASSERT_EQ(test, open_for(&sd), 0);
	/* The cache has gone. */
	KUNIT_EXPECT_EQ(test, figures(test, sd).caches, 0);
	close_space(test, sd);
	sd = opened();
	KUNIT_ASSERT_NOT_NULL(test, sd);
	close_space(test, sd);
}

/*
 * Goal: a refused close loses nothing. Method: something in the space outlives
 * the variable.
 */
static void scope_refuses_to_close(struct kunit *test)
{
	struct slabdev *kept;
	void *p;

	kunit_expect_report(test, REPORT_LIVE_OBJECTS);
	kunit_expect_report(test, REPORT_LIVE_OBJECTS);
	{
		struct slabdev *sd SLABDEV_CLEANUP(space) =
			open_space(test, GIB);
		struct slabdev_cache *cache SLABDEV_CLEANUP(cache) = NULL;

		KUNIT_ASSERT_EQ(test, slabdev_cache_create(&cache, sd, "scope",
							   512, NULL), 0);
		p = slabdev_cache_alloc(cache);
		kept = sd;
		errno = EXDEV;
	}
	KUNIT_EXPECT_EQ(test, errno, EXDEV);
	KUNIT_EXPECT_NOT_NULL(test, p);
	EXPECT_LIVE(test, kept, 1);
	EXPECT_FREED(test, kept, p);
	close_space(test, kept);
}

/* ---- What a caller sees ------------------------------------------------- */

static void *fails_in(struct slabdev *sd)
{
	struct slabdev_owned x SLABDEV_CLEANUP(owned) =
		slabdev_own(sd, slabdev_alloc(sd, 1000));
	struct slabdev *other SLABDEV_CLEANUP(space) = opened();
	struct slabdev_req req = SLABDEV_REQ_INIT;

	req.align = 3;
	return x.p && other ? slabdev_alloc_ex(sd, 10, &req) : NULL;
}

/* Goal: errno and the text are those of the call that failed. */
static void scope_keeps_the_error(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	char text[256];

	errno = 0;
	KUNIT_EXPECT_NULL(test, fails_in(sd));
	KUNIT_EXPECT_EQ(test, errno, EINVAL);
	KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(slabdev_last_error(), "3"),
				  "%s", slabdev_last_error());
	snprintf(text, sizeof(text), "%s", slabdev_last_error());
	KUNIT_EXPECT_EQ(test, leave(sd, 1), 1);
	KUNIT_EXPECT_STREQ(test, slabdev_last_error(), text);
}

/* A kind of the user's own. */
static int nr_ended;
SLABDEV_DEFINE_CLEANUP(counted, int, nr_ended += *it)

static void scope_of_the_users_own(struct kunit *test)
{
	nr_ended = 0;
	{
		int a SLABDEV_CLEANUP(counted) = 1;
		int b SLABDEV_CLEANUP(counted) = 10;

		KUNIT_EXPECT_EQ(test, a + b, 11);
	}
	KUNIT_EXPECT_EQ(test, nr_ended, 11);
}

/* ---- Streams ------------------------------------------------------------ */

static void nothing(void *arg)
{
	(void)arg;
}

/* The memory of what ends waits for the queue; so does the queue's end. */
static void scope_waits_for_streams(struct kunit *test)
{
	struct slabdev *sd = test->priv;

	host_only(test, "host queues");
	{
		slabdev_stream_t queue SLABDEV_CLEANUP(queue) = NULL;

		KUNIT_ASSERT_EQ(test, slabdev_queue_create(&queue,
				SLABDEV_QUEUE_MANUAL), 0);
		struct slabdev_stream_scope attached
			SLABDEV_CLEANUP(stream_scope) =
			slabdev_enter_stream(sd, queue);

		KUNIT_ASSERT_EQ(test, attached.error, 0);
		{
			struct slabdev_owned x SLABDEV_CLEANUP(owned) =
				slabdev_own_async(sd, slabdev_alloc_async(
					sd, 3 * MIB, queue), queue);

			KUNIT_ASSERT_NOT_NULL(test, x.p);
			KUNIT_EXPECT_EQ(test, slabdev_queue_submit(
					queue, nothing, NULL), 0);
		}
		EXPECT_LIVE(test, sd, 0);
		KUNIT_EXPECT_GE(test, figures(test, sd).pending, 3 * MIB);
		KUNIT_EXPECT_EQ(test, figures(test, sd).streams, 1);
	}
	KUNIT_EXPECT_EQ(test, slabdev_poll(sd), 0);
	KUNIT_EXPECT_EQ(test, figures(test, sd).pending, 0);
	KUNIT_EXPECT_EQ(test, figures(test, sd).streams, 0);
}

static void scope_of_the_default_stream(struct kunit *test)
{
	struct slabdev *sd = test->priv;

	{
		struct slabdev_owned x SLABDEV_CLEANUP(owned) =
			slabdev_own_async(sd, slabdev_alloc(sd, 1000), NULL);

		KUNIT_EXPECT_PTR_EQ(test, (void *)x.stream,
				    (void *)SLABDEV_STREAM_LEGACY);
		KUNIT_EXPECT_NOT_NULL(test, x.p);
	}
	EXPECT_LIVE(test, sd, 0);
}

/* Goal: where there is no stream and no object there is nothing to end. */
static void scope_that_did_not_begin(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	int word;

	host_only(test, "host queues");
	{
		struct slabdev_stream_scope attached
			SLABDEV_CLEANUP(stream_scope) =
			slabdev_enter_stream(sd, (slabdev_stream_t)&word);
		struct slabdev_export_scope out
			SLABDEV_CLEANUP(export_scope) =
			slabdev_enter_export(sd, &word);

		KUNIT_EXPECT_EQ(test, attached.error, -EINVAL);
		KUNIT_EXPECT_NULL(test, attached.sd);
		KUNIT_EXPECT_LT(test, out.error, 0);
		KUNIT_EXPECT_NULL(test, out.sd);
	}
}

/* 0 to 2: how far it comes. */
static int capture(struct slabdev *sd, slabdev_stream_t queue, int steps)
{
	struct slabdev_graph *graph SLABDEV_CLEANUP(graph) = NULL;
	int err = slabdev_capture_begin(sd, queue, &graph);

	if (err)
		return err;
	{
		struct slabdev_graph *captured SLABDEV_CLEANUP(capture) =
			graph;
		struct slabdev_owned x SLABDEV_CLEANUP(owned) =
			slabdev_own_async(sd, slabdev_alloc_async(sd, 1000,
								  queue),
					  queue);

		if (!x.p || steps < 1)
			return -EAGAIN;
	}
	return steps < 2 ? -EAGAIN : 0;
}

/* Goal: a capture ends, and its graph is released, wherever it is left. */
static void scope_of_captures(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	slabdev_stream_t queue SLABDEV_CLEANUP(queue) = NULL;

	host_only(test, "host queues");
	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&queue, 0), 0);
	for (int steps = 0; steps < 3; steps++) {
		KUNIT_EXPECT_EQ(test, capture(sd, queue, steps),
				steps < 2 ? -EAGAIN : 0);
		KUNIT_EXPECT_EQ(test, figures(test, sd).graphs, 0);
		KUNIT_EXPECT_EQ(test, figures(test, sd).held, 0);
		EXPECT_LIVE(test, sd, 0);
	}
	KUNIT_EXPECT_EQ(test, slabdev_stream_detach(sd, queue), -EINVAL);
}

/* ---- Sharing ------------------------------------------------------------ */

static int share(struct kunit *test, struct slabdev *sd)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;

	req.flags = SLABDEV_REQ_COMM;
	struct slabdev_owned x SLABDEV_CLEANUP(owned) =
		slabdev_own(sd, slabdev_alloc_ex(sd, 1000, &req));
	struct slabdev_export_scope out SLABDEV_CLEANUP(export_scope) =
		slabdev_enter_export(sd, x.p);
	struct slabdev_import *import SLABDEV_CLEANUP(import) = NULL;

	if (out.error)
		return out.error;
	KUNIT_EXPECT_EQ(test, figures(test, sd).exported, 1);
	return slabdev_import(&import, NULL, &out.share);
}

/* Goal: the export ends before the object that it keeps from being freed. */
static void scope_of_exports(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd SLABDEV_CLEANUP(space) = NULL;

	host_only(test, "shared memory");
	attr.handle_type = SLABDEV_HANDLE_FD;
	sd = open_space_attr(test, &attr);
	KUNIT_EXPECT_EQ_MSG(test, share(test, sd), 0, "%s",
			    slabdev_last_error());
	KUNIT_EXPECT_EQ(test, figures(test, sd).exported, 0);
	EXPECT_LIVE(test, sd, 0);
}

/* ---- Buffers and groups ------------------------------------------------- */

/* The view keeps what the buffer's own variable has put. */
static struct slabdev_buf *first_ten(struct slabdev *sd)
{
	struct slabdev_buf *all SLABDEV_CLEANUP(buf) = NULL;
	struct slabdev_buf *ten SLABDEV_CLEANUP(buf) = NULL;

	if (slabdev_buf_alloc(&all, sd, 400, NULL) ||
	    slabdev_buf_view(&ten, all, 0, 40))
		return NULL;
	slabdev_return_ptr(ten);
}

static void scope_of_buffers(struct kunit *test)
{
	struct slabdev *sd = test->priv;

	{
		struct slabdev_buf *ten SLABDEV_CLEANUP(buf) = first_ten(sd);
		struct slabdev_owned_buf too SLABDEV_CLEANUP(owned_buf) =
			slabdev_own_buf_async(slabdev_buf_get(ten), NULL);

		KUNIT_ASSERT_NOT_NULL(test, ten);
		KUNIT_EXPECT_NOT_NULL(test, too.buf);
		KUNIT_EXPECT_EQ(test, slabdev_buf_refs(ten), 2);
		KUNIT_EXPECT_EQ(test, slabdev_buf_size(ten), 40);
		EXPECT_LIVE(test, sd, 1);
	}
	EXPECT_LIVE(test, sd, 0);
}

static void scope_of_groups(struct kunit *test)
{
	const size_t sizes[] = { 100, 200, 300 };
	struct slabdev *sd = test->priv;

	for (int i = 0; i < 2; i++) {
		struct slabdev_group *group SLABDEV_CLEANUP(group) = NULL;
		struct slabdev_group *other = NULL;

		KUNIT_ASSERT_EQ(test, slabdev_group_alloc(&group, sd, sizes, 3,
							  0, NULL), 0);
		KUNIT_ASSERT_EQ(test, slabdev_group_alloc(&other, sd, sizes, 3,
							  0, NULL), 0);
		struct slabdev_owned_group later SLABDEV_CLEANUP(owned_group) =
			slabdev_own_group_async(other, NULL);

		KUNIT_EXPECT_PTR_NE(test, later.group, group);
		EXPECT_LIVE(test, sd, 2);
	}
	EXPECT_LIVE(test, sd, 0);
}

static const struct kunit_case scope_cases[] = {
	KUNIT_CASE(scope_ends_in_every_way),
	KUNIT_CASE(scope_hands_over),
	KUNIT_CASE(scope_of_nothing),
	KUNIT_CASE(scope_closes_spaces),
	KUNIT_CASE(scope_refuses_to_close),
	KUNIT_CASE(scope_keeps_the_error),
	KUNIT_CASE(scope_of_the_users_own),
	KUNIT_CASE(scope_waits_for_streams),
	KUNIT_CASE(scope_of_the_default_stream),
	KUNIT_CASE(scope_that_did_not_begin),
	KUNIT_CASE(scope_of_captures),
	KUNIT_CASE(scope_of_exports),
	KUNIT_CASE(scope_of_buffers),
	KUNIT_CASE(scope_of_groups),
	{ 0 }
};

static const struct kunit_suite scope_suite = {
	.name = "scope",
	.init = open_space_init,
	.exit = open_space_exit,
	.cases = scope_cases,
	.any_space = true,
};
kunit_test_suite(scope_suite);
