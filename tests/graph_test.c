// SPDX-License-Identifier: BSD-2-Clause
/*
 * graph_test.c - captures that were declared, on host queues.
 *
 * A queue cannot be captured; what a graph would do is played by the case: it
 * writes to the addresses that it got during the "capture", whenever it likes,
 * and finds what it wrote the last time, whatever others did meanwhile.
 */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "core/os.h"
#include "tests/open_space.h"
#include "tests/random.h"

#define LIMIT (64 * MIB)
#define NR 12u

struct bench {
	struct kunit *test;
	struct slabdev *sd;
	struct slabdev_cache *cache, *tiny;
	slabdev_stream_t q;
};

static int bench_init(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct bench *t = kunit_kzalloc(test, sizeof(*t));

	attr.limit = LIMIT;
	t->test = test;
	KUNIT_ASSERT_EQ(test, slabdev_open(&t->sd, "host", &attr), 0);
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&t->cache, t->sd, "c", 5000,
						   NULL), 0);
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&t->tiny, t->sd, "t", 24,
						   NULL), 0);
	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&t->q, 0), 0);
	test->priv = t;
	return 0;
}

static void bench_exit(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_stats st = expect_sound(test, t->sd);

	KUNIT_EXPECT_EQ(test, st.held, 0);
	KUNIT_EXPECT_EQ(test, st.graphs, 0);
	KUNIT_EXPECT_EQ_MSG(test, slabdev_cache_destroy(t->cache), 0, "%s",
			    slabdev_last_error());
	KUNIT_EXPECT_EQ_MSG(test, slabdev_cache_destroy(t->tiny), 0, "%s",
			    slabdev_last_error());
	KUNIT_EXPECT_EQ_MSG(test, slabdev_close(t->sd, 0), 0, "%s",
			    slabdev_last_error());
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(t->q), 0);
}

static struct slabdev_graph *begin(struct bench *t)
{
	struct slabdev_graph *g = NULL;

	KUNIT_ASSERT_EQ_MSG(t->test, slabdev_capture_begin(t->sd, t->q, &g), 0,
			    "%s", slabdev_last_error());
	return g;
}

static void end(struct bench *t, struct slabdev_graph *g)
{
	KUNIT_EXPECT_EQ(t->test, slabdev_capture_end(g), 0);
}

static void release(struct bench *t, struct slabdev_graph *g)
{
	KUNIT_EXPECT_EQ(t->test, slabdev_graph_release(g), 0);
}

/* Every kind of object, by number. */
static size_t size_of(u32 i)
{
	static const size_t sizes[] = { 200, 3000, 70000, 3 * MIB };

	return i % 6 == 4 ? 5000 : i % 6 == 5 ? 24 : sizes[i % 6];
}

static void *get(struct bench *t, u32 i)
{
	void *p;

	if (i % 6 == 4)
		p = slabdev_cache_alloc_async(t->cache, t->q);
	else if (i % 6 == 5)
		p = slabdev_cache_alloc_async(t->tiny, t->q);
	else
		p = slabdev_alloc_async(t->sd, size_of(i), t->q);
	KUNIT_ASSERT_NOT_NULL_MSG(t->test, p, "%s", slabdev_last_error());
	return p;
}

static void give(struct bench *t, void *p)
{
	KUNIT_EXPECT_EQ_MSG(t->test, slabdev_free_async(t->sd, p, t->q), 0,
			    "%s", slabdev_last_error());
}

/* ---- Who may have it ------------------------------------------- */

static void a_capture_uses_its_own_again(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_graph *g = begin(t);
	void *p, *q;
	u32 i;

	for (i = 0; i < NR; i++) {
		p = get(t, i);
		give(t, p);
		q = get(t, i);
		KUNIT_EXPECT_PTR_EQ(test, q, p);
		give(t, q);
	}
	KUNIT_EXPECT_GT(test, expect_sound(test, t->sd).held, 3 * MIB);
	end(t, g);
	release(t, g);
	KUNIT_EXPECT_EQ(test, stats_of(test, t->sd).pending, 0);
}

/*
 * What another stream frees, or is said to use, it may be working on yet: of
 * that a launch knows nothing, so that the capture does not get it again.
 */
static void a_capture_does_not_use_what_others_use(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_graph *g = begin(t);
	slabdev_stream_t other;
	void *p, *q;
	u32 i;

	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&other,
						   SLABDEV_QUEUE_MANUAL), 0);
	for (i = 0; i < 3 * NR; i++) {
		p = get(t, i);
		if (i < NR) {
			KUNIT_EXPECT_EQ(test, slabdev_free_async(t->sd, p,
								 other), 0);
		} else if (i < 2 * NR) {
			KUNIT_EXPECT_EQ(test, slabdev_free(t->sd, p), 0);
		} else {
			KUNIT_EXPECT_EQ(test, slabdev_use(t->sd, p, other), 0);
			give(t, p);
		}
		q = get(t, i);
		KUNIT_EXPECT_PTR_NE(test, q, p);
		give(t, q);
	}
	end(t, g);
	release(t, g);
	KUNIT_EXPECT_EQ(test, stats_of(test, t->sd).pending, 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(other), 0);
}

static bool is_one_of(void *const *p, u32 n, const void *q)
{
	for (u32 i = 0; i < n; i++)
		if (p[i] == q)
			return true;
	return false;
}

static void fill(void *p, u32 i)
{
	memset(p, (int)(i + 1), size_of(i));
}

static bool is_filled(const void *p, u32 i)
{
	const unsigned char *byte = p;

	for (size_t at = 0; at < size_of(i); at++)
		if (byte[at] != i + 1)
			return false;
	return true;
}

/* Eager work of all kinds, which scribbles over all that it gets. */
static void scribble(struct bench *t, u64 *state, void *const *mine)
{
	void *p[64] = { NULL };
	u32 i, n;

	for (n = 0; n < 200; n++) {
		i = random_below(state, ARRAY_SIZE(p));
		if (p[i]) {
			EXPECT_FREED(t->test, t->sd, p[i]);
			p[i] = NULL;
			continue;
		}
		p[i] = slabdev_alloc(t->sd, size_of(i));
		KUNIT_ASSERT_NOT_NULL(t->test, p[i]);
		KUNIT_EXPECT_FALSE(t->test, is_one_of(mine, NR, p[i]));
		memset(p[i], 0xee, size_of(i));
	}
	for (i = 0; i < ARRAY_SIZE(p); i++)
		EXPECT_FREED(t->test, t->sd, p[i]);
}

/*
 * Some of the graph's objects are freed within the capture, some on its stream
 * and some plainly after it, some never: all of them are the graph's.
 */
static void launches_share_no_byte(struct kunit *test)
{
	u64 state = random_seed(test);
	struct bench *t = test->priv;
	struct slabdev_graph *g;
	void *p[NR];
	u32 i, n;

	p[0] = slabdev_alloc(t->sd, size_of(0));
	g = begin(t);
	KUNIT_EXPECT_EQ(test, slabdev_use(t->sd, p[0], t->q), 0);
	for (i = 1; i < NR; i++)
		p[i] = get(t, i);
	for (i = 0; i < NR; i++)
		fill(p[i], i);
	for (i = 1; i < NR; i += 3)
		give(t, p[i]);
	end(t, g);
	for (i = 2; i < NR; i += 3)
		give(t, p[i]);
	EXPECT_FREED(test, t->sd, p[0]);
	for (n = 0; n < 30; n++) {
		scribble(t, &state, p);
		for (i = 0; i < NR; i++) {
			KUNIT_EXPECT_TRUE(test, is_filled(p[i], i));
			fill(p[i], i);
		}
		if (n % 10 == 0)
			KUNIT_EXPECT_EQ(test, slabdev_trim(t->sd, 0), 0);
		expect_sound(test, t->sd);
	}
	/* What was never freed stays live, and is like any other object. */
	release(t, g);
	for (i = 3; i < NR; i += 3)
		EXPECT_FREED(test, t->sd, p[i]);
	KUNIT_EXPECT_EQ(test, slabdev_trim(t->sd, 0), 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, t->sd).mapped, 0);
}

static void what_was_freed_before_is_not_the_graphs(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_graph *g;
	void *p, *q;

	KUNIT_ASSERT_EQ(test, slabdev_stream_attach(t->sd, t->q), 0);
	p = get(t, 1);
	give(t, p);
	g = begin(t);
	KUNIT_EXPECT_EQ(test, slabdev_stream_detach(t->sd, t->q), -EBUSY);
	KUNIT_EXPECT_EQ(test, stats_of(test, t->sd).held, 0);
	p = get(t, 1);
	give(t, p);
	end(t, g);
	/* The stream is attached as before, and what it gets is another's. */
	q = get(t, 1);
	KUNIT_EXPECT_PTR_NE(test, q, p);
	give(t, q);
	release(t, g);
	KUNIT_EXPECT_EQ(test, slabdev_stream_detach(t->sd, t->q), 0);
}

static void two_graphs_share_nothing(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_graph *g = begin(t), *h;
	void *p[NR];
	u32 i;

	for (i = 0; i < NR; i++) {
		p[i] = get(t, i);
		give(t, p[i]);
	}
	end(t, g);
	h = begin(t);
	for (i = 0; i < NR; i++) {
		void *q = get(t, i);

		KUNIT_EXPECT_FALSE(test, is_one_of(p, NR, q));
		give(t, q);
	}
	KUNIT_EXPECT_EQ(test, stats_of(test, t->sd).graphs, 2);
	release(t, g);
	end(t, h);
	release(t, h);
}

/* Whichever is released first, the other one holds the object. */
static void two_graphs_have_one_object(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_graph *g[2];
	void *p = NULL, *q;
	u32 first, i;

	for (first = 0; first < 2; first++) {
		for (i = 0; i < 2; i++) {
			g[i] = begin(t);
			if (!i)
				p = get(t, 1);
			KUNIT_EXPECT_EQ(test, slabdev_use(t->sd, p, t->q), 0);
			end(t, g[i]);
		}
		give(t, p);
		release(t, g[first]);
		KUNIT_EXPECT_GT(test, expect_sound(test, t->sd).held, 0);
		q = get(t, 1);
		KUNIT_EXPECT_PTR_NE(test, q, p);
		give(t, q);
		release(t, g[!first]);
		KUNIT_EXPECT_EQ(test, slabdev_trim(t->sd, 0), 0);
		KUNIT_EXPECT_EQ(test, stats_of(test, t->sd).mapped, 0);
	}
}

/* ---- Order of the calls -------------------------------- */

static void calls_in_the_wrong_order(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_graph *g = begin(t), *h = NULL;

	KUNIT_EXPECT_EQ(test, slabdev_capture_begin(t->sd, t->q, &h), -EBUSY);
	KUNIT_EXPECT_NULL(test, h);
	KUNIT_EXPECT_EQ(test, slabdev_graph_release(g), -EBUSY);
	KUNIT_EXPECT_EQ(test, slabdev_close(t->sd, SLABDEV_CLOSE_FORCE),
			-EBUSY);
	end(t, g);
	KUNIT_EXPECT_EQ(test, slabdev_capture_end(g), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_close(t->sd, 0), -EBUSY);
	KUNIT_EXPECT_TRUE(test, strstr(slabdev_last_error(), "graph"));
	release(t, g);
	KUNIT_EXPECT_EQ(test, slabdev_graph_release(NULL), 0);
	KUNIT_EXPECT_EQ(test, slabdev_capture_end(NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_capture_begin(t->sd, NULL, &h), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_capture_begin(t->sd, t->q, NULL),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_capture_begin(NULL, t->q, &h), -EINVAL);
	KUNIT_EXPECT_EQ(test,
			slabdev_capture_begin(t->sd, (slabdev_stream_t)&h, &h),
			-EINVAL);
}

static void nothing(void *arg)
{
	(void)arg;
}

static int cannot_reserve(size_t size, void **addr)
{
	(void)size;
	(void)addr;
	return -ENOMEM;
}

/* What launches write to is had again without any memory for notes. */
static void a_capture_has_its_notes(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_graph *g;
	void *p[NR];
	u32 i;

	/* A build without them leaves the case here, before there is a graph. */
	kunit_activate_static_stub(test, os_reserve, cannot_reserve);
	kunit_deactivate_static_stub(test, os_reserve);
	g = begin(t);
	for (i = 0; i < NR; i++)
		p[i] = get(t, i);
	for (i = 0; i < NR; i++)
		give(t, p[i]);
	kunit_activate_static_stub(test, os_reserve, cannot_reserve);
	while (metapool_alloc(&t->sd->note_pool))
		;
	for (i = NR; i--;)
		KUNIT_EXPECT_PTR_EQ(test, get(t, i), p[i]);
	kunit_deactivate_static_stub(test, os_reserve);
	for (i = 0; i < NR; i++)
		give(t, p[i]);
	end(t, g);
	release(t, g);
}

/* Only what there is, or can be mapped at once; nothing is waited for. */
static void a_capture_does_not_wait(struct kunit *test)
{
	struct bench *t = test->priv;
	slabdev_stream_t other;
	struct slabdev_graph *g;
	struct slabdev_stats st;
	void *p;

	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&other,
						   SLABDEV_QUEUE_MANUAL), 0);
	p = slabdev_alloc_async(t->sd, LIMIT - 4 * MIB, other);
	KUNIT_ASSERT_EQ(test, slabdev_queue_submit(other, nothing, NULL), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(t->sd, p, other), 0);
	g = begin(t);
	st = stats_of(test, t->sd);
	kunit_expect_report(test, REPORT_OUT_OF_MEMORY);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc_async(t->sd, 8 * MIB, t->q),
			   EDQUOT);
	p = slabdev_alloc_async(t->sd, MIB, t->q);
	KUNIT_EXPECT_NOT_NULL(test, p);
	KUNIT_EXPECT_EQ(test, stats_of(test, t->sd).host_waits, st.host_waits);
	KUNIT_EXPECT_EQ(test, stats_of(test, t->sd).event_queries,
			st.event_queries);
	KUNIT_EXPECT_EQ(test, slabdev_queue_query(other), -EBUSY);
	give(t, p);
	end(t, g);
	release(t, g);
	KUNIT_EXPECT_EQ(test, slabdev_trim(t->sd, 0), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(other), 0);
}

/* The child has the objects that are live, and none of the graphs. */
static int use_in_child(struct bench *t, struct slabdev_graph *ended,
			struct slabdev_graph *captures)
{
	struct slabdev_stats st = { 0 };
	void *p;

	if (slabdev_graph_release(ended) != -EOWNERDEAD ||
	    slabdev_capture_end(captures) != -EOWNERDEAD ||
	    slabdev_graph_release(captures) != -EOWNERDEAD)
		return 1;
	p = slabdev_alloc(t->sd, 3000);
	if (!p || slabdev_free(t->sd, p) || slabdev_validate(t->sd))
		return 2;
	if (slabdev_stats(t->sd, &st, sizeof(st)) || st.held || st.graphs)
		return 3;
	return slabdev_trim(t->sd, 0) ? 4 : 0;
}

static void a_child_has_no_graphs(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_graph *ended, *captures;
	int status = -1;
	pid_t pid;

	ended = begin(t);
	for (u32 i = 0; i < NR; i++)
		give(t, get(t, i));
	end(t, ended);
	captures = begin(t);
	give(t, get(t, 1));
	pid = fork();
	KUNIT_ASSERT_GE(test, pid, 0);
	if (!pid)
		_exit(use_in_child(t, ended, captures));
	KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_TRUE(test, WIFEXITED(status));
	KUNIT_EXPECT_EQ(test, WEXITSTATUS(status), 0);
	end(t, captures);
	release(t, captures);
	release(t, ended);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(a_capture_uses_its_own_again),
	KUNIT_CASE(a_capture_does_not_use_what_others_use),
	KUNIT_CASE(launches_share_no_byte),
	KUNIT_CASE(what_was_freed_before_is_not_the_graphs),
	KUNIT_CASE(two_graphs_share_nothing),
	KUNIT_CASE(a_capture_has_its_notes),
	KUNIT_CASE(two_graphs_have_one_object),
	KUNIT_CASE(calls_in_the_wrong_order),
	KUNIT_CASE(a_capture_does_not_wait),
	KUNIT_CASE(a_child_has_no_graphs),
	{ 0 }
};

static const struct kunit_suite graph_suite = {
	.name = "graph",
	.init = bench_init,
	.exit = bench_exit,
	.cases = cases,
};
kunit_test_suite(graph_suite);
