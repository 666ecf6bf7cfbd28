// SPDX-License-Identifier: BSD-2-Clause
/*
 * hazard_calls.c - what hazard mode sees of the public calls, in host spaces.
 */
#include <slabdev/slabdev.h>
#include <stdlib.h>

#include "core/log.h"
#include "core/thread.h"
#include "tests/kunit/kunit.h"
#include "tests/sanitizers.h"

#define MANY 8u
#define noinline __attribute__((noinline))
/* The call before it is none that its function jumps to. */
#define COME_BACK() __asm__ volatile("" : : : "memory")

/* What the calls of a case are made with. */
static struct subject {
	struct slabdev *sd;
	struct slabdev_cache *cache, *tiny;
	slabdev_stream_t a, b;
} on;

static int calls_init(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	setenv("SLABDEV_DEBUG", "H", 1);
	attr.name = "calls";
	KUNIT_ASSERT_EQ_MSG(test, slabdev_open(&on.sd, "host", &attr), 0, "%s",
			    slabdev_last_error());
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&on.cache, on.sd, "cache",
						   1000, NULL), 0);
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&on.tiny, on.sd, "tiny", 24,
						   NULL), 0);
	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&on.a, 0), 0);
	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&on.b, 0), 0);
	KUNIT_ASSERT_EQ(test, slabdev_stream_attach(on.sd, on.a), 0);
	return 0;
}

static void calls_exit(struct kunit *test)
{
	(void)slabdev_stream_detach(on.sd, on.a);
	(void)slabdev_stream_detach(on.sd, on.b);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(on.a), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(on.b), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(on.cache), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(on.tiny), 0);
	KUNIT_EXPECT_EQ_MSG(test, slabdev_close(on.sd, 0), 0, "%s",
			    slabdev_last_error());
}

static int touch(const void *p, slabdev_stream_t stream)
{
	return slabdev_hazard_access(on.sd, p, stream);
}

#define EXPECT_HAZARD(test, call, result, text)				\
do {									\
	kunit_expect_report(test, REPORT_HAZARD);			\
	KUNIT_EXPECT_EQ(test, call, result);				\
	KUNIT_EXPECT_REPORT_HAS(test, text);				\
} while (0)

/* ---- Where the program called -------------------------------------------- */

/* Each calls the library once, and looks no further. */
static struct slabdev_req request(void)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;

	req.stream = on.a;
	return req;
}

static noinline void by_alloc(void **p)
{
	p[0] = slabdev_alloc(on.sd, 100);
}

static noinline void by_large(void **p)
{
	p[0] = slabdev_alloc(on.sd, 2 * MIB);
}

static noinline void by_alloc_ex(void **p)
{
	struct slabdev_req req = request();

	p[0] = slabdev_alloc_ex(on.sd, 100, &req);
}

static noinline void by_aligned(void **p)
{
	p[0] = slabdev_alloc_aligned(on.sd, 100, 4096);
}

static noinline void by_zalloc(void **p)
{
	p[0] = slabdev_zalloc(on.sd, 100);
}

static noinline void by_array(void **p)
{
	p[0] = slabdev_alloc_array(on.sd, 10, 100);
}

static noinline void by_realloc(void **p)
{
	p[0] = slabdev_realloc(on.sd, NULL, 100);
}

static noinline void by_realloc_async(void **p)
{
	p[0] = slabdev_realloc_async(on.sd, NULL, 100, on.a);
}

static noinline void by_alloc_async(void **p)
{
	p[0] = slabdev_alloc_async(on.sd, 100, on.a);
}

static noinline void by_large_async(void **p)
{
	p[0] = slabdev_alloc_async(on.sd, 2 * MIB, on.b);
}

static noinline void by_bound_async(void **p)
{
	p[0] = slabdev_alloc_async(on.sd, 100, NULL);
}

static noinline void by_cache(void **p)
{
	p[0] = slabdev_cache_alloc(on.cache);
}

static noinline void by_cache_async(void **p)
{
	p[0] = slabdev_cache_alloc_async(on.cache, on.a);
}

static noinline void by_tiny(void **p)
{
	p[0] = slabdev_cache_alloc(on.tiny);
}

static noinline void by_bulk(void **p)
{
	if (slabdev_cache_alloc_bulk(on.cache, MANY, p))
		p[0] = NULL;
}

static noinline void by_free(void **p)
{
	(void)slabdev_free(on.sd, p[0]);
	COME_BACK();
}

static noinline void by_free_async(void **p)
{
	(void)slabdev_free_async(on.sd, p[0], on.a);
	COME_BACK();
}

static noinline void by_bound_free_async(void **p)
{
	(void)slabdev_free_async(on.sd, p[0], NULL);
	COME_BACK();
}

static noinline void by_cache_free(void **p)
{
	(void)slabdev_cache_free(on.cache, p[0]);
	COME_BACK();
}

static noinline void by_cache_free_async(void **p)
{
	(void)slabdev_cache_free_async(on.cache, p[0], on.a);
	COME_BACK();
}

static noinline void by_tiny_free(void **p)
{
	(void)slabdev_cache_free(on.tiny, p[0]);
	COME_BACK();
}

static noinline void by_bulk_free(void **p)
{
	(void)slabdev_cache_free_bulk(on.cache, MANY, p);
	COME_BACK();
}

static noinline void by_realloc_to_nothing(void **p)
{
	p[0] = slabdev_realloc(on.sd, p[0], 0);
}

struct pair {
	const char *name;
	void (*get)(void **p);
	void (*put)(void **p);
};

static const struct pair pairs[] = {
	{ "alloc", by_alloc, by_free },
	{ "large", by_large, by_free },
	{ "alloc_ex", by_alloc_ex, by_free_async },
	{ "aligned", by_aligned, by_free },
	{ "zalloc", by_zalloc, by_bound_free_async },
	{ "array", by_array, by_free },
	{ "realloc", by_realloc, by_realloc_to_nothing },
	{ "realloc_async", by_realloc_async, by_free_async },
	{ "alloc_async", by_alloc_async, by_free_async },
	{ "large_async", by_large_async, by_free },
	{ "bound_async", by_bound_async, by_bound_free_async },
	{ "cache", by_cache, by_cache_free },
	{ "cache_async", by_cache_async, by_cache_free_async },
	{ "tiny", by_tiny, by_tiny_free },
	{ "bulk", by_bulk, by_bulk_free },
};

static void describe_pair(const struct pair *pair, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", pair->name);
}
KUNIT_ARRAY_PARAM(pair, pairs, describe_pair);

static noinline const void *caller(void)
{
	return __builtin_return_address(0);
}

static noinline const void *jump_to_caller(void)
{
	return caller();
}

/* Slow paths are jumped to (alloc.c), unless sanitizers or the user's CFLAGS
 * keep the compiler from it. */
static bool is_jumped(void)
{
	uintptr_t begin = (uintptr_t)jump_to_caller;
	uintptr_t at = (uintptr_t)jump_to_caller();

	return at < begin || at > begin + 256;
}

/* The functions are short: the place is in one, or far from it. */
static void expect_site(struct kunit *test, void (*fn)(void **p))
{
	uintptr_t site = (uintptr_t)thread_self->site, begin = (uintptr_t)fn;

	KUNIT_EXPECT_TRUE_MSG(test, site > begin && site < begin + 1024,
			      "%#zx is not in the function at %#zx",
			      (size_t)site, (size_t)begin);
}

static void the_place_is_the_program_s(struct kunit *test)
{
	const struct pair *pair = test->param_value;
	void *p[MANY] = { NULL };

	if (IS_SANITIZED || !is_jumped())
		kunit_skip(test, "this build has no tail calls");
	pair->get(p);
	KUNIT_ASSERT_NOT_NULL(test, p[0]);
	expect_site(test, pair->get);
	slabdev_hazard_sync(SLABDEV_HAZARD_HOST);
	pair->put(p);
	expect_site(test, pair->put);
}

/* ---- Calls --------------------------------------------------------------- */

static void objects_of_a_bulk(struct kunit *test)
{
	void *p[MANY];
	u32 i;

	KUNIT_ASSERT_EQ(test, slabdev_cache_alloc_bulk(on.tiny, MANY, p), 0);
	for (i = 0; i < MANY; i++)
		KUNIT_EXPECT_EQ(test, touch(p[i], on.b), 0);
	for (i = 0; i < MANY; i++)
		kunit_expect_report(test, REPORT_HAZARD);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free_bulk(on.tiny, MANY, p), 0);
	KUNIT_EXPECT_REPORT_HAS(test, "of 24 bytes");
	EXPECT_HAZARD(test, touch(p[0], on.a), 1, "accessed after the free");
	/* One by one, where one of them fails. */
	KUNIT_EXPECT_EQ(test, slabdev_cache_alloc_bulk(on.cache, 1, p), 0);
	p[1] = NULL;
	KUNIT_EXPECT_EQ(test, slabdev_cache_free_bulk(on.cache, 2, p), 0);
}

/* The copy is work of the stream, behind which the old one must be. */
static void a_realloc_on_a_stream(struct kunit *test)
{
	void *p = slabdev_alloc_async(on.sd, 1000, on.a), *old = p;

	KUNIT_ASSERT_EQ(test, slabdev_queue_wait(on.b, on.a), 0);
	KUNIT_EXPECT_EQ(test, touch(p, on.b), 0);
	kunit_expect_report(test, REPORT_HAZARD);
	p = slabdev_realloc_async(on.sd, p, 30000, on.a);
	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_EXPECT_REPORT_HAS(test, "freed while another stream");
	EXPECT_HAZARD(test, touch(old, on.a), 1, "accessed after the free");
	EXPECT_HAZARD(test, touch(p, on.b), 1, "behind the allocation");
	KUNIT_ASSERT_EQ(test, slabdev_queue_wait(on.a, on.b), 0);
	/* In place: the same object. */
	KUNIT_EXPECT_PTR_EQ(test, slabdev_realloc_async(on.sd, p, 29000, on.a),
			    p);
	KUNIT_EXPECT_EQ(test, touch(p, on.a), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(on.sd, p, on.a), 0);
}

/* The CPU frees, and does not wait for what the library was told of. */
static void used_and_freed_by_the_cpu(struct kunit *test)
{
	void *p = slabdev_alloc(on.sd, 5000);

	KUNIT_EXPECT_EQ(test, slabdev_use(on.sd, p, on.b), 0);
	KUNIT_EXPECT_EQ(test, touch(p, on.b), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free(on.sd, p), 0);
	p = slabdev_alloc(on.sd, 5000);
	KUNIT_EXPECT_EQ(test, slabdev_use(on.sd, p, on.a), 0);
	KUNIT_EXPECT_EQ(test, touch(p, on.b), 0);
	EXPECT_HAZARD(test, slabdev_free(on.sd, p), 0, "freed     on the CPU");
}

/* From the detach on nobody waits for the stream. */
static void used_and_detached(struct kunit *test)
{
	void *p = slabdev_alloc(on.sd, 5000);

	KUNIT_EXPECT_EQ(test, slabdev_use(on.sd, p, on.b), 0);
	KUNIT_EXPECT_EQ(test, touch(p, on.b), 0);
	KUNIT_EXPECT_EQ(test, slabdev_stream_detach(on.sd, on.b), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free(on.sd, p), 0);
	p = slabdev_alloc(on.sd, 5000);
	KUNIT_EXPECT_EQ(test, slabdev_use(on.sd, p, on.b), 0);
	KUNIT_EXPECT_EQ(test, slabdev_stream_detach(on.sd, on.b), 0);
	KUNIT_EXPECT_EQ(test, touch(p, on.b), 0);
	EXPECT_HAZARD(test, slabdev_free(on.sd, p), 0, "may still use it");
}

/* ---- Queues -------------------------------------------------------------- */

struct more {
	slabdev_stream_t queue;
	void *p;
};

/* Put into the queue by its own work, while the CPU waits for that. */
static void submit_more(void *arg)
{
	const struct more *more = arg;

	(void)slabdev_hazard_access(on.sd, more->p, more->queue);
}

static void the_cpu_waits_for_what_was_there(struct kunit *test)
{
	struct more more = { .p = slabdev_alloc(on.sd, 5000) };

	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&more.queue,
						   SLABDEV_QUEUE_MANUAL), 0);
	KUNIT_ASSERT_EQ(test, slabdev_queue_submit(more.queue, submit_more,
						   &more), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(more.queue), 0);
	EXPECT_HAZARD(test, slabdev_free(on.sd, more.p), 0, "may still use");
	more.p = slabdev_alloc(on.sd, 5000);
	KUNIT_EXPECT_EQ(test, touch(more.p, more.queue), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(more.queue), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free(on.sd, more.p), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(more.queue), 0);
}

static void nothing(void *arg)
{
	(void)arg;
}

/* A query that finds it done is a wait, one that does not is none. */
static void a_query(struct kunit *test)
{
	slabdev_stream_t manual;
	void *p = slabdev_alloc(on.sd, 5000);

	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&manual,
						   SLABDEV_QUEUE_MANUAL), 0);
	KUNIT_ASSERT_EQ(test, slabdev_queue_submit(manual, nothing, NULL), 0);
	KUNIT_EXPECT_EQ(test, touch(p, manual), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_query(manual), -EBUSY);
	EXPECT_HAZARD(test, slabdev_free(on.sd, p), 0, "may still use it");
	p = slabdev_alloc(on.sd, 5000);
	KUNIT_EXPECT_EQ(test, touch(p, manual), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_run(manual, 1), 1);
	KUNIT_EXPECT_EQ(test, slabdev_queue_query(manual), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free(on.sd, p), 0);
	/* Who runs all of it himself knows as much. */
	p = slabdev_alloc(on.sd, 5000);
	KUNIT_ASSERT_EQ(test, slabdev_queue_submit(manual, nothing, NULL), 0);
	KUNIT_EXPECT_EQ(test, touch(p, manual), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_run(manual, 9), 1);
	KUNIT_EXPECT_EQ(test, slabdev_free(on.sd, p), 0);
	p = slabdev_alloc(on.sd, 5000);
	KUNIT_EXPECT_EQ(test, touch(p, manual), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(manual), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free(on.sd, p), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_query(manual), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_queue_wait(on.a, manual), -EINVAL);
}

/* ---- Captures ------------------------------------------------------------ */

/* What the graph has may be freed by anybody, and what it has not by none. */
static void a_declared_capture(struct kunit *test)
{
	void *before = slabdev_alloc_async(on.sd, 5000, on.b);
	void *used = slabdev_alloc_async(on.sd, 5000, on.b);
	void *large = slabdev_alloc_async(on.sd, 2 * MIB, on.b);
	struct slabdev_graph *graph;
	void *mine, *freed;

	KUNIT_ASSERT_EQ(test, slabdev_capture_begin(on.sd, on.a, &graph), 0);
	mine = slabdev_alloc_async(on.sd, 5000, on.a);
	freed = slabdev_alloc_async(on.sd, 5000, on.a);
	KUNIT_EXPECT_EQ(test, slabdev_use(on.sd, used, on.a), 0);
	KUNIT_EXPECT_EQ(test, slabdev_use(on.sd, large, on.a), 0);
	KUNIT_EXPECT_EQ(test, touch(mine, on.a) | touch(freed, on.a) |
			touch(used, on.a) | touch(large, on.a) |
			touch(before, on.a), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(on.sd, freed, on.a), 0);
	KUNIT_EXPECT_EQ(test, slabdev_capture_end(graph), 0);
	/* Launched, say, on the other one. */
	KUNIT_EXPECT_EQ(test, touch(mine, on.b), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(on.sd, mine, on.b), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(on.sd, used, on.b), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free(on.sd, large), 0);
	EXPECT_HAZARD(test, slabdev_free_async(on.sd, before, on.b), 0,
		      "freed while a graph may still use it");
	KUNIT_EXPECT_EQ(test, slabdev_graph_release(graph), 0);
}

static void a_released_graph(struct kunit *test)
{
	void *p = slabdev_alloc_async(on.sd, 5000, on.b), *mine;
	struct slabdev_graph *graph;

	KUNIT_ASSERT_EQ(test, slabdev_capture_begin(on.sd, on.a, &graph), 0);
	KUNIT_EXPECT_EQ(test, touch(p, on.a), 0);
	mine = slabdev_alloc_async(on.sd, 5000, on.a);
	KUNIT_EXPECT_EQ(test, slabdev_capture_end(graph), 0);
	KUNIT_EXPECT_EQ(test, slabdev_graph_release(graph), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(on.sd, p, on.b), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free_async(on.sd, mine, on.b), 0);
}

static const struct kunit_case hazard_calls_cases[] = {
	KUNIT_CASE_PARAM(the_place_is_the_program_s, pair_gen_params,
			 .isolated = true),
	KUNIT_CASE(objects_of_a_bulk, .isolated = true),
	KUNIT_CASE(a_realloc_on_a_stream, .isolated = true),
	KUNIT_CASE(used_and_freed_by_the_cpu, .isolated = true),
	KUNIT_CASE(used_and_detached, .isolated = true),
	KUNIT_CASE(the_cpu_waits_for_what_was_there, .isolated = true),
	KUNIT_CASE(a_query, .isolated = true),
	KUNIT_CASE(a_declared_capture, .isolated = true),
	KUNIT_CASE(a_released_graph, .isolated = true),
	{ 0 }
};

static const struct kunit_suite hazard_calls_suite = {
	.name = "hazard_calls",
	.init = calls_init,
	.exit = calls_exit,
	.cases = hazard_calls_cases,
};
kunit_test_suite(hazard_calls_suite);
