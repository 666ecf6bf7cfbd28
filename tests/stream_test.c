// SPDX-License-Identifier: BSD-2-Clause
/*
 * stream_test.c - what stream.h promises, on host queues.
 *
 * The queues are manual: what was submitted is done when the case says so, and
 * not before. What begins and ends streams is in stream_end.c.
 */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "tests/stream_bench.h"

static slabdev_stream_t new_queue(struct kunit *test)
{
	slabdev_stream_t q = NULL;

	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&q, SLABDEV_QUEUE_MANUAL),
			0);
	return q;
}

static int bench_init(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct bench *t = kunit_kzalloc(test, sizeof(*t));

	attr.limit = LIMIT;
	KUNIT_ASSERT_EQ(test, slabdev_open(&t->sd, "host", &attr), 0);
	t->test = test;
	t->a = new_queue(test);
	t->b = new_queue(test);
	test->priv = t;
	return 0;
}

static void bench_exit(struct kunit *test)
{
	struct bench *t = test->priv;

	expect_sound(test, t->sd);
	KUNIT_EXPECT_EQ_MSG(test, slabdev_close(t->sd, 0), 0, "%s",
			    slabdev_last_error());
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(t->a), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(t->b), 0);
}

/* ---- Reuse -------------------------------------------------------------- */

static const size_t sizes[] = { 1, 256, 3000, 100000, MIB, 3 * MIB };

static void describe_size(const size_t *size, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%zu bytes", *size);
}
KUNIT_ARRAY_PARAM(size, sizes, describe_size);

static void same_stream_at_once(struct kunit *test)
{
	struct bench *t = test->priv;
	size_t size = *(const size_t *)test->param_value;
	void *p;

	attach(t, t->a);
	p = get(t, size, t->a);
	busy(t, t->a);
	give(t, p, t->a);
	KUNIT_EXPECT_PTR_EQ(test, get(t, size, t->a), p);
	give(t, p, t->a);
	run_all(t, t->a);
	detach(t, t->a);
}

/* The same where no sheaf keeps it: it is pending by itself. */
static void same_stream_without_sheaves(struct kunit *test)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	struct bench *t = test->priv;
	size_t size = *(const size_t *)test->param_value;
	void *p, *q;

	policy.mode = SLABDEV_AGGRESSIVE;
	KUNIT_EXPECT_EQ(test, slabdev_set_policy(t->sd, &policy), 0);
	attach(t, t->a);
	p = get(t, size, t->a);
	q = get(t, size, t->a);
	busy(t, t->a);
	give(t, q, t->a);
	give(t, p, t->a);
	KUNIT_EXPECT_PTR_EQ(test, get(t, size, t->a), q);
	KUNIT_EXPECT_PTR_EQ(test, get(t, size, t->a), p);
	KUNIT_EXPECT_EQ(test, sums(t).pending, 0);
	give(t, p, t->a);
	give(t, q, t->a);
	run_all(t, t->a);
	detach(t, t->a);
}

/* Of all that others may have, none is what a stream is working on. */
static void others_only_when_it_is_done(struct kunit *test)
{
	struct bench *t = test->priv;
	size_t size = *(const size_t *)test->param_value;
	void *p, *q[4];
	u32 i;

	attach(t, t->a);
	p = get(t, size, t->a);
	busy(t, t->a);
	give(t, p, t->a);
	detach(t, t->a);
	KUNIT_EXPECT_GT(test, sums(t).pending, 0);
	for (i = 0; i < ARRAY_SIZE(q); i++) {
		q[i] = i % 2 ? slabdev_alloc(t->sd, size) : get(t, size, t->b);
		KUNIT_EXPECT_PTR_NE(test, q[i], p);
	}
	for (i = 0; i < ARRAY_SIZE(q); i++)
		EXPECT_FREED(test, t->sd, q[i]);
	run_all(t, t->a);
	KUNIT_EXPECT_EQ(test, slabdev_poll(t->sd), 0);
	KUNIT_EXPECT_EQ(test, sums(t).pending, 0);
}

static void not_attached_an_event_each(struct kunit *test)
{
	struct bench *t = test->priv;
	size_t size = *(const size_t *)test->param_value;
	struct slabdev_stats before = sums(t);
	void *p = get(t, size, t->a), *q;

	busy(t, t->a);
	give(t, p, t->a);
	KUNIT_EXPECT_EQ(test, sums(t).event_records,
			before.event_records + 1);
	q = get(t, size, t->a);
	KUNIT_EXPECT_PTR_NE(test, q, p);
	give(t, q, t->a);
	run_all(t, t->a);
	KUNIT_EXPECT_EQ(test, slabdev_poll(t->sd), 0);
	KUNIT_EXPECT_EQ(test, sums(t).pending, 0);
}

static void hits_record_nothing(struct kunit *test)
{
	struct bench *t = test->priv;
	struct slabdev_stats before, after;
	void *p;
	u32 i;

	attach(t, t->a);
	give(t, get(t, 1000, t->a), t->a);
	before = sums(t);
	for (i = 0; i < 10000; i++) {
		p = get(t, 1000, t->a);
		give(t, p, t->a);
	}
	after = sums(t);
	KUNIT_EXPECT_EQ(test, after.event_records, before.event_records);
	KUNIT_EXPECT_EQ(test, after.event_queries, before.event_queries);
	KUNIT_EXPECT_EQ(test, after.backend_calls, before.backend_calls);
	detach(t, t->a);
}

/* A producer allocates in one stream, the consumer frees in another. */
static void an_event_a_sheaf(struct kunit *test)
{
	enum { N = 20000, SIZE = 1000 };
	struct bench *t = test->priv;
	struct slabdev_stats before, after;
	u64 sheaves = N / 32;
	u32 i;

	attach(t, t->a);
	attach(t, t->b);
	before = sums(t);
	for (i = 0; i < N; i++)
		give(t, get(t, SIZE, t->a), t->b);
	after = sums(t);
	KUNIT_EXPECT_LE(test, after.event_records - before.event_records,
			sheaves);
	KUNIT_EXPECT_LE(test, after.event_queries - before.event_queries,
			2 * sheaves);
	KUNIT_EXPECT_LE(test, after.mapped, 8 * MIB);
	detach(t, t->a);
	detach(t, t->b);
}

static int by_address(const void *a, const void *b)
{
	void *const *p = a, *const *q = b;

	return *p < *q ? -1 : *p > *q;
}

/* Sheaves that are full, in barns and on their way: none is for others. */
static void none_of_many_is_for_others(struct kunit *test)
{
	enum { N = 2000, SIZE = 1000 };
	struct bench *t = test->priv;
	void **p = kunit_kzalloc(test, N * sizeof(*p));
	void **q = kunit_kzalloc(test, N * sizeof(*q));
	u32 i;

	attach(t, t->a);
	for (i = 0; i < N; i++)
		p[i] = get(t, SIZE, t->a);
	busy(t, t->a);
	for (i = 0; i < N; i++)
		give(t, p[i], t->a);
	qsort(p, N, sizeof(*p), by_address);
	for (i = 0; i < N; i++) {
		q[i] = i % 2 ? slabdev_alloc(t->sd, SIZE) : get(t, SIZE, t->b);
		KUNIT_EXPECT_NULL(test, bsearch(&q[i], p, N, sizeof(*p),
						by_address));
	}
	for (i = 0; i < N; i++)
		EXPECT_FREED(test, t->sd, q[i]);
	run_all(t, t->a);
	detach(t, t->a);
}

/* ---- When memory is short ----------------------------------------------- */

/* Work that is done when it is told to. */
struct gate {
	struct bench *bench;
	pthread_mutex_t lock;
	pthread_cond_t opened;
	bool open;
};

static void pass_gate(void *arg)
{
	struct gate *g = arg;

	pthread_mutex_lock(&g->lock);
	while (!g->open)
		pthread_cond_wait(&g->opened, &g->lock);
	pthread_mutex_unlock(&g->lock);
}

/* As soon as somebody waits for the device. */
static void *open_gate(void *arg)
{
	struct gate *g = arg;

	while (!stats_of(g->bench->test, g->bench->sd).host_waits)
		usleep(100);
	pthread_mutex_lock(&g->lock);
	g->open = true;
	pthread_cond_broadcast(&g->opened);
	pthread_mutex_unlock(&g->lock);
	return NULL;
}

static void set_flags(struct bench *t, u32 flags)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;

	policy.flags = flags;
	KUNIT_ASSERT_EQ(t->test, slabdev_set_policy(t->sd, &policy), 0);
}

/* A manual queue is run by whoever waits for it: the CPU waits. */
static void the_cpu_waits_at_the_limit(struct kunit *test)
{
	struct bench *t = test->priv;
	void *p = get(t, 20 * MIB, t->a);

	busy(t, t->a);
	give(t, p, t->a);
	KUNIT_EXPECT_EQ(test, slabdev_queue_query(t->a), -EBUSY);
	p = slabdev_alloc(t->sd, 20 * MIB);
	KUNIT_EXPECT_NOT_NULL(test, p);
	KUNIT_EXPECT_EQ(test, slabdev_queue_query(t->a), 0);
	KUNIT_EXPECT_EQ(test, sums(t).host_waits, 1);
	EXPECT_FREED(test, t->sd, p);
}

/* Where the policy allows it the other stream waits instead. */
static void the_stream_waits_at_the_limit(struct kunit *test)
{
	struct bench *t = test->priv;
	void *p[LIMIT / MIB], *q;
	u32 n;

	set_flags(t, SLABDEV_POLICY_STREAM_WAITS);
	attach(t, t->b);
	for (n = 0; n < ARRAY_SIZE(p) - 4; n++)
		p[n] = get(t, MIB, t->a);
	busy(t, t->a);
	while (n)
		give(t, p[--n], t->a);
	while (sums(t).mapped < LIMIT || !sums(t).stream_waits) {
		q = get(t, MIB, t->b);
		p[n++] = q;
		KUNIT_ASSERT_LT(test, n, ARRAY_SIZE(p));
	}
	KUNIT_EXPECT_EQ(test, slabdev_queue_query(t->a), -EBUSY);
	KUNIT_EXPECT_EQ(test, sums(t).host_waits, 0);
	/* What comes to b now is behind what a has to do. */
	busy(t, t->b);
	KUNIT_EXPECT_EQ(test, slabdev_queue_run(t->b, 100), 0);
	run_all(t, t->a);
	KUNIT_EXPECT_GT(test, slabdev_queue_run(t->b, 100), 0);
	while (n)
		give(t, p[--n], t->b);
	detach(t, t->b);
}

static void an_allocation_waits_for_a_thread(struct kunit *test)
{
	struct gate g = {
		.bench = test->priv, .lock = PTHREAD_MUTEX_INITIALIZER,
		.opened = PTHREAD_COND_INITIALIZER,
	};
	struct bench *t = test->priv;
	pthread_t thread;
	slabdev_stream_t q;
	void *p;

	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&q, 0), 0);
	p = get(t, 20 * MIB, q);
	KUNIT_ASSERT_EQ(test, slabdev_queue_submit(q, pass_gate, &g), 0);
	give(t, p, q);
	KUNIT_ASSERT_EQ(test, pthread_create(&thread, NULL, open_gate, &g), 0);
	p = slabdev_alloc(t->sd, 20 * MIB);
	KUNIT_EXPECT_NOT_NULL_MSG(test, p, "%s", slabdev_last_error());
	KUNIT_EXPECT_TRUE(test, g.open);
	EXPECT_FREED(test, t->sd, p);
	pthread_join(thread, NULL);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(q), 0);
}

/* ---- Uses --------------------------------------------------------------- */

static void plain_free(struct bench *t, void *p)
{
	EXPECT_FREED(t->test, t->sd, p);
}

static void free_on_b(struct bench *t, void *p)
{
	give(t, p, t->b);
}

static void realloc_to_nothing(struct bench *t, void *p)
{
	KUNIT_EXPECT_NULL(t->test, slabdev_realloc(t->sd, p, 0));
}

static const struct way {
	const char *name;
	free_fn free;
} ways[] = {
	{ "slabdev_free", plain_free },
	{ "slabdev_free_async", free_on_b },
	{ "slabdev_realloc", realloc_to_nothing },
};

static void describe_way(const struct way *way, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", way->name);
}
KUNIT_ARRAY_PARAM(way, ways, describe_way);

static void a_use_is_waited_for(struct kunit *test)
{
	struct bench *t = test->priv;
	const struct way *way = test->param_value;
	struct slabdev_cache *tiny;
	void *p[ARRAY_SIZE(sizes) + 1];
	u32 i;

	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&tiny, t->sd, "tiny", 32,
						   NULL), 0);
	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		p[i] = slabdev_alloc(t->sd, sizes[i]);
	p[i] = slabdev_cache_alloc(tiny);
	busy(t, t->a);
	for (i = 0; i < ARRAY_SIZE(p); i++) {
		KUNIT_EXPECT_EQ(test, slabdev_use(t->sd, p[i], t->a), 0);
		KUNIT_EXPECT_EQ(test, slabdev_use(t->sd, p[i], t->a), 0);
		KUNIT_EXPECT_EQ(test, sums(t).pending, 0);
	}
	for (i = 0; i < ARRAY_SIZE(p); i++)
		if (i < ARRAY_SIZE(sizes) || way->free != realloc_to_nothing)
			way->free(t, p[i]);
		else
			free_on_b(t, p[i]);
	KUNIT_EXPECT_EQ(test, slabdev_poll(t->sd), 0);
	KUNIT_EXPECT_GT(test, sums(t).pending, 3 * MIB);
	KUNIT_EXPECT_EQ(test, sums(t).live_objects, 0);
	run_all(t, t->a);
	KUNIT_EXPECT_EQ(test, slabdev_poll(t->sd), 0);
	KUNIT_EXPECT_EQ(test, sums(t).pending, 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(tiny), 0);
}

static void a_used_stream_may_end(struct kunit *test)
{
	struct bench *t = test->priv;
	slabdev_stream_t q = new_queue(test);
	void *p = slabdev_alloc(t->sd, 1000);

	KUNIT_EXPECT_EQ(test, slabdev_stream_detach(t->sd, q), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_use(t->sd, p, q), 0);
	busy(t, q);
	detach(t, q);
	EXPECT_FREED(test, t->sd, p);
	KUNIT_EXPECT_EQ(test, slabdev_poll(t->sd), 0);
	KUNIT_EXPECT_GT(test, sums(t).pending, 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(q), 0);
	KUNIT_EXPECT_EQ(test, slabdev_poll(t->sd), 0);
	KUNIT_EXPECT_EQ(test, sums(t).pending, 0);
}

static void uses_are_counted(struct kunit *test)
{
	enum { MOST = 14 };
	struct bench *t = test->priv;
	slabdev_stream_t q[MOST + 1];
	void *p = slabdev_alloc(t->sd, 1000);
	u32 i;

	for (i = 0; i <= MOST; i++) {
		q[i] = new_queue(test);
		busy(t, q[i]);
		KUNIT_EXPECT_EQ(test, slabdev_use(t->sd, p, q[i]),
				i < MOST ? 0 : -ENOSPC);
	}
	give(t, p, t->a);
	for (i = 0; i < MOST; i++) {
		KUNIT_EXPECT_EQ(test, slabdev_poll(t->sd), 0);
		KUNIT_EXPECT_GT(test, sums(t).pending, 0);
		run_all(t, q[i]);
	}
	KUNIT_EXPECT_EQ(test, slabdev_poll(t->sd), 0);
	KUNIT_EXPECT_EQ(test, sums(t).pending, 0);
	for (i = 0; i <= MOST; i++)
		KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(q[i]), 0);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(same_stream_at_once, size_gen_params),
	KUNIT_CASE_PARAM(same_stream_without_sheaves, size_gen_params),
	KUNIT_CASE_PARAM(others_only_when_it_is_done, size_gen_params),
	KUNIT_CASE_PARAM(not_attached_an_event_each, size_gen_params),
	KUNIT_CASE(hits_record_nothing),
	KUNIT_CASE(an_event_a_sheaf),
	KUNIT_CASE(none_of_many_is_for_others),
	KUNIT_CASE(the_cpu_waits_at_the_limit),
	KUNIT_CASE(the_stream_waits_at_the_limit),
	KUNIT_CASE(an_allocation_waits_for_a_thread),
	KUNIT_CASE_PARAM(a_use_is_waited_for, way_gen_params),
	KUNIT_CASE(a_used_stream_may_end),
	KUNIT_CASE(uses_are_counted),
	KUNIT_CASE(attached_twice_detached_twice),
	KUNIT_CASE(strangers_are_refused),
	KUNIT_CASE(default_streams_are_the_cpu),
	KUNIT_CASE(fills_and_copies_run_on_the_stream),
	KUNIT_CASE(close_waits),
	KUNIT_CASE(a_forced_close_waits),
	KUNIT_CASE(a_child_has_nothing_pending),
	KUNIT_CASE(threads_strand_nothing),
	KUNIT_CASE(others_ask_meanwhile),
	{ 0 }
};

static const struct kunit_suite stream_suite = {
	.name = "stream",
	.init = bench_init,
	.exit = bench_exit,
	.cases = cases,
};
kunit_test_suite(stream_suite);
