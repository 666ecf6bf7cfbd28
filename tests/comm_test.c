// SPDX-License-Identifier: BSD-2-Clause
/*
 * comm_test.c - comm memory: an object has a handle of its own, which stays
 * mapped. Who is told of it is in mapping_test.c.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "slab/class.h"
#include "slab/pending.h"
#include "slab/reclaim.h"
#include "tests/comm_objects.h"
#include "tests/crew.h"
#include "tests/random.h"

#define LIMIT (256 * MIB)

/* Alone in chunks that are one handle, or, of memory in regions, in chunks. */
static void expect_own_chunks(struct kunit *test, struct slabdev *sd,
			      const void *p, size_t size)
{
	u64 chunk = sd->vmm.chunk_size, bytes = align_up(size, chunk);
	u64 offset = space_offset(sd, p);

	KUNIT_EXPECT_EQ(test, offset % chunk, 0);
	KUNIT_EXPECT_EQ(test, slabdev_usable_size(sd, p), bytes);
	KUNIT_EXPECT_TRUE(test, vmm_in_one_handle(&sd->vmm, offset, bytes));
	KUNIT_EXPECT_TRUE(test, pool_is_huge(sd, (u32)(offset / SLICE_SIZE)));
}

/* Where the order is the host's, a free waits for the device first. */
static void let_pass(struct kunit *test, struct slabdev *sd)
{
	if (!sd->host_order)
		return;
	KUNIT_EXPECT_EQ(test, vmm_quiesce(&sd->vmm), 0);
	KUNIT_EXPECT_EQ(test, slabdev_poll(sd), 0);
	pending_poll(sd);
}

/* ---- What an object has ----------------------------------------------- */

static const size_t sizes[] = {
	1, 16, 4096, MIB, 2 * MIB, 2 * MIB + 1, 3 * MIB, 64 * MIB, 100 * MIB,
};

static void describe_size(const size_t *size, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%zu bytes", *size);
}
KUNIT_ARRAY_PARAM(size, sizes, describe_size);

static void object_has_chunks_of_its_own(struct kunit *test)
{
	size_t size = *(const size_t *)test->param_value;
	struct slabdev *sd = test->priv;
	struct slabdev_stats st;
	void *p, *q;

	/* Free memory that an object might have been put into. */
	KUNIT_ASSERT_EQ(test, slabdev_prime(sd, 16 * MIB), 0);
	p = must_comm(test, sd, size);
	q = must_comm(test, sd, size);
	KUNIT_EXPECT_PTR_NE(test, p, q);
	expect_own_chunks(test, sd, p, size);
	expect_own_chunks(test, sd, q, size);
	mem_fill(sd, p, size, 1);
	mem_fill(sd, q, size, 2);
	KUNIT_EXPECT_TRUE(test, mem_is(sd, p, size, 1));
	st = expect_sound(test, sd);
	KUNIT_EXPECT_EQ(test, st.live, 2 * size);
	KUNIT_EXPECT_EQ(test, st.live_objects, 2);
	EXPECT_FREED(test, sd, p);
	EXPECT_FREED(test, sd, q);
	kunit_expect_report(test, REPORT_DOUBLE_FREE);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, q), -EALREADY);
}

static void cache_has_chunks_of_its_own(struct kunit *test)
{
	size_t size = min(*(const size_t *)test->param_value,
			  (size_t)64 * MIB);
	struct slabdev *sd = test->priv;
	struct slabdev_cache_stats st;
	struct slabdev_cache *cache = comm_cache(test, sd, "halo", size);
	void *p = must_get(test, cache), *q = must_get(test, cache);

	expect_own_chunks(test, sd, p, size);
	expect_own_chunks(test, sd, q, size);
	KUNIT_EXPECT_EQ(test, slabdev_cache_stats(cache, &st, sizeof(st)), 0);
	KUNIT_EXPECT_EQ(test, st.live, 2);
	KUNIT_EXPECT_EQ(test, st.objects_per_slab, 1);
	KUNIT_EXPECT_EQ(test, st.object_size, size);
	KUNIT_EXPECT_EQ(test, st.stride, slabdev_usable_size(sd, p));
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p), 0);
	kunit_expect_report(test, REPORT_LIVE_OBJECTS);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), -EBUSY);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, q), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_validate(cache), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	expect_empty(test, sd);
}

/* One that is nowhere near a chunk ends in the middle of what it has. */
static void size_is_kept(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p = must_comm(test, sd, 1000), *q;

	KUNIT_EXPECT_EQ(test, stats_of(test, sd).live, 1000);
	q = slabdev_realloc(sd, p, 2 * MIB);
	KUNIT_EXPECT_PTR_EQ(test, q, p);
	KUNIT_EXPECT_EQ(test, expect_sound(test, sd).live, 2 * MIB);
	KUNIT_EXPECT_PTR_EQ(test, slabdev_realloc(sd, q, 5), p);
	KUNIT_EXPECT_EQ(test, expect_sound(test, sd).live, 5);
	mem_fill(sd, p, 5, 7);
	q = slabdev_realloc(sd, p, 5 * MIB);
	KUNIT_ASSERT_NOT_NULL(test, q);
	KUNIT_EXPECT_PTR_NE(test, q, p);
	expect_own_chunks(test, sd, q, 5 * MIB);
	KUNIT_EXPECT_TRUE(test, mem_is(sd, q, 5, 7));
	p = slabdev_realloc(sd, q, 100);
	KUNIT_ASSERT_NOT_NULL(test, p);
	expect_own_chunks(test, sd, p, 100);
	KUNIT_EXPECT_EQ(test, expect_sound(test, sd).live, 100);
	EXPECT_FREED(test, sd, p);
}

/* A comm object leaves a rounding where small ones will have theirs. */
static void small_objects_follow(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *cache = comm_cache(test, sd, "once", 1000);
	void *p = must_get(test, cache), *small[64];

	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	for (u32 i = 0; i < ARRAY_SIZE(small); i++)
		small[i] = must_alloc(test, sd, 200);
	KUNIT_EXPECT_EQ(test, expect_sound(test, sd).live, 64 * 200);
	for (u32 i = 0; i < ARRAY_SIZE(small); i++)
		EXPECT_FREED(test, sd, small[i]);
}

static void zeroed_and_aligned(struct kunit *test)
{
	struct slabdev_req req = SLABDEV_REQ_INIT;
	struct slabdev *sd = test->priv;
	struct slabdev_stats before;
	void *p = must_comm(test, sd, 3 * MIB), *q;

	mem_fill(sd, p, 3 * MIB, 0xee);
	EXPECT_FREED(test, sd, p);
	let_pass(test, sd);
	req.flags = SLABDEV_REQ_COMM | SLABDEV_REQ_ZERO;
	req.align = sd->vmm.chunk_size;
	q = slabdev_alloc_ex(sd, 3 * MIB, &req);
	KUNIT_EXPECT_PTR_EQ(test, q, p);
	KUNIT_EXPECT_TRUE(test, mem_is(sd, q, 3 * MIB, 0));
	before = figures(test, sd);
	req.align *= 2;
	KUNIT_EXPECT_NULL(test, slabdev_alloc_ex(sd, 1, &req));
	KUNIT_EXPECT_EQ(test, errno, EINVAL);
	KUNIT_EXPECT_TRUE(test, strstr(slabdev_last_error(), "req.align"));
	EXPECT_ONLY_FAILURES(test, sd, before, 1);
	EXPECT_FREED(test, sd, q);
}

static void sizes_beyond_all_bounds(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_stats before = figures(test, sd);

	KUNIT_EXPECT_NULL(test, comm_alloc(sd, SIZE_MAX));
	KUNIT_EXPECT_EQ(test, errno, EOVERFLOW);
	KUNIT_EXPECT_NULL(test, comm_alloc(sd, SIZE_MAX / 2));
	KUNIT_EXPECT_EQ(test, errno, EDQUOT);
	/* All the addresses that there can be. */
	KUNIT_EXPECT_NULL(test, comm_alloc(sd, (size_t)1 << 40));
	KUNIT_EXPECT_EQ(test, errno, EDQUOT);
	KUNIT_EXPECT_NULL(test, comm_alloc(sd, 2 * GIB));
	KUNIT_EXPECT_EQ(test, errno, EDQUOT);
	KUNIT_EXPECT_NULL(test, comm_alloc(sd, 0));
	KUNIT_EXPECT_EQ(test, errno, 0);
	KUNIT_EXPECT_EQ(test, expect_sound(test, sd).failed,
			before.failed + 4);
	KUNIT_EXPECT_TRUE(test, list_empty(&sd->comm.classes));
}

/* ---- It stays --------------------------------------------------------- */

static void set_policy(struct kunit *test, struct slabdev *sd, u32 mode)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;

	policy.mode = mode;
	KUNIT_EXPECT_EQ(test, slabdev_set_policy(sd, &policy), 0);
}

/* Whatever gives memory back, that of a comm object is left and found again,
 * without a call of the backend. */
static void freed_memory_stays(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *cache = comm_cache(test, sd, "halo", 3 * MIB);
	void *p = must_get(test, cache), *q = must_comm(test, sd, 5 * MIB);
	u64 calls, bytes = slabdev_usable_size(sd, p) +
			   slabdev_usable_size(sd, q);
	struct slabdev_stats st;

	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p), 0);
	EXPECT_FREED(test, sd, q);
	set_policy(test, sd, SLABDEV_AGGRESSIVE);
	KUNIT_EXPECT_EQ(test, slabdev_cache_shrink(cache), 0);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, slabdev_poll(sd), 0);
	reclaim_kept(sd);
	st = expect_sound(test, sd);
	KUNIT_EXPECT_EQ(test, st.cached, bytes);
	KUNIT_EXPECT_EQ(test, st.mapped, bytes);
	calls = st.backend_calls;
	KUNIT_EXPECT_PTR_EQ(test, must_get(test, cache), p);
	KUNIT_EXPECT_PTR_EQ(test, must_comm(test, sd, 5 * MIB - 1), q);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p), 0);
	EXPECT_FREED(test, sd, q);
	KUNIT_EXPECT_EQ(test, calls_of(test, sd), calls);
	set_policy(test, sd, SLABDEV_RETAIN);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, expect_sound(test, sd).mapped,
			align_up(5 * MIB, sd->vmm.chunk_size));
}

/* Even a space that is full does not get it for anything else. */
static void lack_of_memory_leaves_it(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	void *p = must_comm(test, sd, 32 * MIB), *q;
	struct slabdev_req req = SLABDEV_REQ_INIT;

	EXPECT_FREED(test, sd, p);
	kunit_expect_report(test, REPORT_OUT_OF_MEMORY);
	KUNIT_EXPECT_NULL(test, slabdev_alloc(sd, 40 * MIB));
	KUNIT_EXPECT_EQ(test, errno, EDQUOT);
	kunit_expect_report(test, REPORT_OUT_OF_MEMORY);
	KUNIT_EXPECT_NULL(test, comm_alloc(sd, 34 * MIB));
	KUNIT_EXPECT_EQ(test, errno, EDQUOT);
	req.flags = SLABDEV_REQ_COMM | SLABDEV_REQ_NO_GROW;
	KUNIT_EXPECT_NULL(test, slabdev_alloc_ex(sd, 30 * MIB, &req));
	KUNIT_EXPECT_EQ(test, errno, ENOMEM);
	q = slabdev_alloc_ex(sd, 32 * MIB, &req);
	KUNIT_EXPECT_PTR_EQ(test, q, p);
	EXPECT_FREED(test, sd, q);
	expect_sound(test, sd);
}

/* What others have kept makes room for it. */
static void memory_is_found_for_it(struct kunit *test)
{
	struct slabdev *sd = case_space(test, 64 * MIB);
	void *small[32], *p;

	for (u32 i = 0; i < ARRAY_SIZE(small); i++)
		small[i] = must_alloc(test, sd, MIB);
	for (u32 i = 0; i < ARRAY_SIZE(small); i++)
		EXPECT_FREED(test, sd, small[i]);
	p = must_comm(test, sd, 60 * MIB);
	expect_own_chunks(test, sd, p, 60 * MIB);
	EXPECT_FREED(test, sd, p);
	expect_sound(test, sd);
}

static void prefill_maps_it(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *cache = comm_cache(test, sd, "halo", MIB);
	void *p[3];
	u64 calls;

	KUNIT_EXPECT_EQ(test, slabdev_cache_prefill(cache, 3), 0);
	calls = calls_of(test, sd);
	KUNIT_EXPECT_EQ(test, slabdev_cache_alloc_bulk(cache, 3, p), 0);
	KUNIT_EXPECT_EQ(test, calls_of(test, sd), calls);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free_bulk(cache, 3, p), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	expect_empty(test, sd);
}

/* ---- A space of it ---------------------------------------------------- */

static void space_of_comm_memory(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev_cache *cache;
	struct slabdev *sd;
	void *p[5];

	attr.limit = LIMIT;
	attr.flags = SLABDEV_OPEN_COMM;
	sd = open_space_attr(test, &attr);
	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&cache, sd, "small", 16,
						   NULL), 0);
	p[0] = must_alloc(test, sd, 16);
	p[1] = must_alloc(test, sd, 3 * MIB);
	p[2] = slabdev_zalloc(sd, 4096);
	p[3] = slabdev_alloc_async(sd, 100, NULL);
	p[4] = must_get(test, cache);
	KUNIT_EXPECT_EQ(test, slabdev_size_roundup(sd, 16),
			slabdev_usable_size(sd, p[0]));
	for (u32 i = 0; i < ARRAY_SIZE(p); i++) {
		KUNIT_ASSERT_NOT_NULL(test, p[i]);
		expect_own_chunks(test, sd, p[i], i == 1 ? 3 * MIB : 16);
	}
	KUNIT_EXPECT_EQ(test, expect_sound(test, sd).live,
			16 + 3 * MIB + 4096 + 100 + 16);
	for (u32 i = 0; i < ARRAY_SIZE(p); i++)
		EXPECT_FREED(test, sd, p[i]);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	close_space(test, sd);
}

/* ---- Streams, graphs, forks ------------------------------------------- */

static void nothing(void *arg)
{
	(void)arg;
}

static slabdev_stream_t new_queue(struct kunit *test)
{
	slabdev_stream_t q;

	host_only(test, "its streams are host queues");
	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&q, SLABDEV_QUEUE_MANUAL),
			0);
	return q;
}

/* Freed on a stream: nobody else has it before the stream is done. */
static void waits_for_its_stream(struct kunit *test)
{
	slabdev_stream_t q = new_queue(test);
	struct slabdev *sd = test->priv;
	struct slabdev_cache *cache = comm_cache(test, sd, "halo", 3 * MIB);
	void *p, *other;

	KUNIT_ASSERT_EQ(test, slabdev_stream_attach(sd, q), 0);
	p = slabdev_cache_alloc_async(cache, q);
	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_EXPECT_EQ(test, slabdev_queue_submit(q, nothing, NULL), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free_async(cache, p, q), 0);
	/* The same stream may at once. */
	KUNIT_EXPECT_PTR_EQ(test, slabdev_cache_alloc_async(cache, q), p);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free_async(cache, p, q), 0);
	KUNIT_EXPECT_EQ(test, figures(test, sd).pending, 4 * MIB);
	other = must_get(test, cache);
	KUNIT_EXPECT_PTR_NE(test, other, p);
	KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(q), 0);
	KUNIT_EXPECT_EQ(test, slabdev_poll(sd), 0);
	KUNIT_EXPECT_PTR_EQ(test, must_get(test, cache), p);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, other), 0);
	KUNIT_EXPECT_EQ(test, slabdev_stream_detach(sd, q), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(q), 0);
	expect_empty(test, sd);
}

static void graph_holds_it(struct kunit *test)
{
	slabdev_stream_t q = new_queue(test);
	struct slabdev *sd = test->priv;
	struct slabdev_cache *cache = comm_cache(test, sd, "halo", MIB);
	struct slabdev_graph *g;
	void *p, *other;

	KUNIT_ASSERT_EQ(test, slabdev_capture_begin(sd, q, &g), 0);
	p = slabdev_cache_alloc_async(cache, q);
	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free_async(cache, p, q), 0);
	KUNIT_EXPECT_EQ(test, slabdev_capture_end(g), 0);
	other = must_get(test, cache);
	KUNIT_EXPECT_PTR_NE(test, other, p);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, other), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), -EBUSY);
	KUNIT_EXPECT_EQ(test, slabdev_graph_release(g), 0);
	p = must_get(test, cache);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, p), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(q), 0);
	expect_empty(test, sd);
}

/* A child has what was live, free, and kept. */
static void child_goes_on(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *cache;
	int status = -1;
	void *p, *q;
	pid_t pid;

	host_only(test, "a device's memory does not survive a fork");
	cache = comm_cache(test, sd, "halo", MIB);
	p = must_comm(test, sd, 5);
	q = must_get(test, cache);
	KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, q), 0);
	pid = fork();
	if (!pid) {
		KUNIT_EXPECT_EQ(test, expect_sound(test, sd).live, 5);
		KUNIT_EXPECT_PTR_EQ(test, slabdev_cache_alloc(cache), q);
		KUNIT_EXPECT_EQ(test, slabdev_cache_free(cache, q), 0);
		EXPECT_FREED(test, sd, p);
		KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
		KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), 0);
		_exit(0);
	}
	KUNIT_EXPECT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ(test, status, 0);
	EXPECT_FREED(test, sd, p);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(cache), 0);
}

/* ---- Threads ---------------------------------------------------------- */

#define NR_THREADS 4u
#define ROUNDS 600u

struct worker {
	struct kunit *test;
	struct slabdev *sd;
	u32 number;
	u64 seed;
};

static void take_general(void *arg)
{
	struct worker *w = arg;
	void *p;

	for (u32 i = 0; i < ROUNDS; i++) {
		p = must_comm(w->test, w->sd, 1 + random_below(&w->seed,
							       16 * MIB));
		mem_put(w->sd, p, w->number);
		KUNIT_EXPECT_EQ(w->test, mem_get(w->sd, p), w->number);
		EXPECT_FREED(w->test, w->sd, p);
	}
}

/* Threads that ask for the same sizes make one class of each. */
static void one_class_a_size(struct kunit *test)
{
	struct slabdev *sd = case_space(test, GIB);
	struct crew *crew = crew_new(test, NR_THREADS);
	struct worker w[NR_THREADS];
	u64 seed = random_seed(test);
	struct class *c;
	u32 n = 0;

	for (u32 i = 0; i < NR_THREADS; i++)
		w[i] = (struct worker){ test, sd, i, seed + i };
	crew_all(crew, take_general, w, sizeof(w[0]));
	list_for_each_entry(c, &sd->comm.classes, link)
		n++;
	KUNIT_EXPECT_LE(test, n, 16 * MIB / sd->vmm.chunk_size);
	expect_sound(test, sd);
	crew_dismiss(crew);
}

static struct kunit_case comm_cases[] = {
	KUNIT_CASE_PARAM(object_has_chunks_of_its_own, size_gen_params),
	KUNIT_CASE_PARAM(cache_has_chunks_of_its_own, size_gen_params),
	KUNIT_CASE(size_is_kept),
	KUNIT_CASE(small_objects_follow),
	KUNIT_CASE(zeroed_and_aligned),
	KUNIT_CASE(sizes_beyond_all_bounds),
	KUNIT_CASE(freed_memory_stays),
	KUNIT_CASE(lack_of_memory_leaves_it),
	KUNIT_CASE(memory_is_found_for_it),
	KUNIT_CASE(prefill_maps_it),
	KUNIT_CASE(space_of_comm_memory),
	KUNIT_CASE(waits_for_its_stream),
	KUNIT_CASE(graph_holds_it),
	KUNIT_CASE(child_goes_on),
	KUNIT_CASE(one_class_a_size),
	{}
};

static const struct kunit_suite comm_suite = {
	.name = "comm",
	.init = open_space_init,
	.exit = open_space_exit,
	.cases = comm_cases,
	.any_space = true,
};
kunit_test_suite(comm_suite);
