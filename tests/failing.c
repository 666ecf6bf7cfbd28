// SPDX-License-Identifier: BSD-2-Clause
/* failing.c - see failing.h. */
#include "slab/space.h"
#include "tests/failing.h"

/* Lost memory and a lack of it are to be reported; nothing else is. */
static void count_report(int level, int kind, const char *text, void *arg)
{
	struct failing *t = arg;

	(void)level;
	if (kind < 0)
		return;
	t->reports[kind]++;
	if (kind != REPORT_LOST && kind != REPORT_OUT_OF_MEMORY)
		KUNIT_FAIL(t->test, "%s", text);
}

int failing_init(struct kunit *test)
{
	struct failing *t = kunit_kzalloc(test, sizeof(*t));

	test->priv = t;
	t->test = test;
	KUNIT_ASSERT_EQ(test, vmm_backend_find(test_spec(), NULL, &t->ops,
					       &t->dev), 0);
	vmm_fault_init(&t->f, t->ops, t->dev);
	log_set_sink(count_report, t);
	return 0;
}

void failing_exit(struct kunit *test)
{
	struct failing *t = test->priv;

	vmm_fault_fini(&t->f);
	vmm_backend_put(t->ops, t->dev);
}

int failing_open(struct failing *t)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.limit = FAILING_LIMIT;
	t->sd = NULL;
	return space_open_on(&t->sd, &attr, &t->f.table, &t->f);
}

/* ---- The workload ----------------------------------------------------- */

#define NR_OBJECTS 120u

struct work {
	struct failing *t;
	struct slabdev_cache *cache;
	void *p[NR_OBJECTS];
	u32 failures;
};

/* The space's account, and the one of the wrapper below it. */
static void expect_books_agree(struct work *w)
{
	struct failing *t = w->t;
	struct slabdev_stats st = stats_of(t->test, t->sd);

	expect_sound(t->test, t->sd);
	KUNIT_EXPECT_EQ(t->test, st.mapped, t->f.created_bytes);
	KUNIT_EXPECT_EQ(t->test, st.handles, t->f.handles);
}

static void expect_err(struct work *w, int err)
{
	if (!err)
		return;
	w->failures++;
	KUNIT_EXPECT_TRUE_MSG(w->t->test, err == -EIO || err == -ENOMEM ||
			      err == -EDQUOT, "%d", err);
	KUNIT_EXPECT_STRNEQ(w->t->test, slabdev_last_error(), "");
	expect_books_agree(w);
}

static void work_alloc(struct work *w, u32 i, u64 size, u32 flags)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;

	req.flags = flags | SLABDEV_REQ_NO_REPORT;
	errno = 0;
	w->p[i] = slabdev_alloc_ex(w->t->sd, size, &req);
	if (!w->p[i]) {
		KUNIT_EXPECT_NE(w->t->test, errno, 0);
		expect_err(w, -errno);
	}
}

static void work_free(struct work *w, u32 i)
{
	KUNIT_EXPECT_EQ(w->t->test, slabdev_free(w->t->sd, w->p[i]), 0);
	w->p[i] = NULL;
}

static void work_realloc(struct work *w, u32 i, u64 size)
{
	void *p = slabdev_realloc(w->t->sd, w->p[i], size);

	if (p)
		w->p[i] = p;
	else
		expect_err(w, -errno);
}

static void work_policy(struct work *w, u32 mode)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;

	policy.mode = mode;
	expect_err(w, slabdev_set_policy(w->t->sd, &policy));
}

static void small_and_large(struct work *w)
{
	u32 i;

	for (i = 0; i < 60; i++)
		work_alloc(w, i, 1 + i * i * 100, 0);
	for (; i < 65; i++)
		work_alloc(w, i, 3 * MIB + i, 0);
	work_alloc(w, i, 66 * MIB, 0);
	work_free(w, i);
	work_alloc(w, i, 64 * MIB + 1, 0);
	expect_books_agree(w);
	work_free(w, i);
	for (i = 0; i < 65; i += 2)
		work_free(w, i);
	expect_err(w, slabdev_trim(w->t->sd, 6 * MIB));
	expect_books_agree(w);
}

static void zero_and_move(struct work *w)
{
	work_alloc(w, 70, 5000, SLABDEV_REQ_ZERO);
	work_alloc(w, 71, 2 * MIB, SLABDEV_REQ_ZERO);
	work_realloc(w, 70, 60000);
	work_realloc(w, 71, 3 * MIB);
	work_realloc(w, 72, 100);
	expect_books_agree(w);
}

static void caches(struct work *w)
{
	int err = slabdev_cache_create(&w->cache, w->t->sd, "cache", 3000,
				       NULL);

	expect_err(w, err);
	if (err)
		return;
	err = slabdev_cache_alloc_bulk(w->cache, 20, &w->p[80]);
	expect_err(w, err);
	if (err)
		memset(&w->p[80], 0, 20 * sizeof(void *));
	expect_err(w, slabdev_cache_prefill(w->cache, 100));
	expect_books_agree(w);
}

/* A cache with a handle an object; one more stays until the space closes. */
static void comm_objects(struct work *w)
{
	struct slabdev_cache_args args = SLABDEV_CACHE_ARGS_INIT;
	struct slabdev_cache *cache;
	void *p[3];
	int err;

	work_alloc(w, 100, MIB, SLABDEV_REQ_COMM);
	work_free(w, 100);
	args.flags = SLABDEV_CACHE_COMM;
	err = slabdev_cache_create(&cache, w->t->sd, "comm", 3 * MIB, &args);
	expect_err(w, err);
	if (err)
		return;
	expect_err(w, slabdev_cache_prefill(cache, 2));
	err = slabdev_cache_alloc_bulk(cache, 3, p);
	expect_err(w, err);
	if (!err)
		KUNIT_EXPECT_EQ(w->t->test,
				slabdev_cache_free_bulk(cache, 3, p), 0);
	expect_books_agree(w);
	KUNIT_EXPECT_EQ(w->t->test, slabdev_cache_destroy(cache), 0);
	expect_books_agree(w);
}

static void aggressive(struct work *w)
{
	u32 i;

	work_policy(w, SLABDEV_AGGRESSIVE);
	for (i = 100; i < 110; i++)
		work_alloc(w, i, 700 * KIB, 0);
	for (i = 100; i < 110; i++)
		work_free(w, i);
	work_policy(w, SLABDEV_RETAIN);
	expect_books_agree(w);
}

/* To the limit, where handles move. */
static void to_the_limit(struct work *w)
{
	u32 i;

	for (i = 110; i < NR_OBJECTS; i++)
		work_alloc(w, i, 12 * MIB, 0);
	for (i = 110; i < NR_OBJECTS; i += 2)
		work_free(w, i);
	work_alloc(w, 110, 30 * MIB, 0);
	expect_books_agree(w);
	expect_err(w, slabdev_prime(w->t->sd, 4 * MIB));
}

/* On a queue, and of sizes that are in sheaves or not. */
static void stream_objects(struct work *w, slabdev_stream_t q)
{
	struct slabdev *sd = w->t->sd;
	void *p[40];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(p); i++) {
		p[i] = slabdev_alloc_async(sd, i % 8 ? 3000 * i : 2 * MIB, q);
		if (!p[i])
			expect_err(w, -errno);
		else if (i % 5 == 0)
			expect_err(w, slabdev_use(sd, p[i], q));
	}
	for (i = 0; i < ARRAY_SIZE(p); i++)
		KUNIT_EXPECT_EQ(w->t->test, i % 3 ?
				slabdev_free_async(sd, p[i], q) :
				slabdev_free(sd, p[i]), 0);
	expect_books_agree(w);
}

static void captured_objects(struct work *w, slabdev_stream_t q)
{
	struct slabdev *sd = w->t->sd;
	struct slabdev_graph *g;
	int err = slabdev_capture_begin(sd, q, &g);

	expect_err(w, err);
	if (err)
		return;
	stream_objects(w, q);
	KUNIT_EXPECT_EQ(w->t->test, slabdev_capture_end(g), 0);
	KUNIT_EXPECT_EQ(w->t->test, slabdev_graph_release(g), 0);
	expect_books_agree(w);
}

static void streams(struct work *w)
{
	struct slabdev *sd = w->t->sd;
	slabdev_stream_t q;
	int err;

	/* Other memory takes the streams of its own driver. */
	if (!on_host())
		return;
	err = slabdev_queue_create(&q, SLABDEV_QUEUE_MANUAL);
	expect_err(w, err);
	if (err)
		return;
	stream_objects(w, q);
	expect_err(w, slabdev_stream_attach(sd, q));
	stream_objects(w, q);
	captured_objects(w, q);
	expect_err(w, slabdev_poll(sd));
	err = slabdev_stream_detach(sd, q);
	if (err != -EINVAL)
		expect_err(w, err);
	KUNIT_EXPECT_EQ(w->t->test, slabdev_queue_destroy(q), 0);
	expect_err(w, slabdev_poll(sd));
	expect_books_agree(w);
}

static void free_all(struct work *w)
{
	u32 i;

	for (i = 0; i < NR_OBJECTS; i++)
		work_free(w, i);
	if (w->cache)
		KUNIT_EXPECT_EQ(w->t->test, slabdev_cache_destroy(w->cache), 0);
	w->cache = NULL;
	expect_books_agree(w);
	KUNIT_EXPECT_EQ(w->t->test, stats_of(w->t->test, w->t->sd).live_objects,
			0);
}

/* How many steps failed. */
static u32 run_work(struct failing *t)
{
	struct work w = { .t = t };

	small_and_large(&w);
	zero_and_move(&w);
	caches(&w);
	comm_objects(&w);
	to_the_limit(&w);
	aggressive(&w);
	free_all(&w);
	expect_err(&w, slabdev_trim(t->sd, 10 * MIB));
	streams(&w);
	expect_books_agree(&w);
	return w.failures;
}

void failing_work(struct failing *t)
{
	(void)run_work(t);
}

void failing_recover(struct failing *t)
{
	u32 failures;

	KUNIT_EXPECT_EQ(t->test, slabdev_trim(t->sd, 0), 0);
	KUNIT_EXPECT_EQ(t->test, stats_of(t->test, t->sd).lost, 0);
	failures = run_work(t);
	/* Two of its requests are beyond the limit; more are where handles of
	 * several chunks, or regions, have to go whole. */
	KUNIT_EXPECT_LE(t->test, failures, on_host() ? 4 : 12);
	KUNIT_EXPECT_EQ(t->test, slabdev_close(t->sd, 0), 0);
	KUNIT_EXPECT_TRUE(t->test, vmm_fault_balanced(&t->f));
}
