// SPDX-License-Identifier: BSD-2-Clause
/*
 * stats_test.c - figures that add up, and ledgers that are exact.
 *
 * figures() checks the sum at every look. The ledgers are those of the
 * programs that this library replaces, which got some of them wrong.
 */
#include "slab/layout.h"
#include "slab/slab.h"
#include "tests/open_space.h"
#include "tests/random.h"

static void a_new_space_has_nothing(struct kunit *test)
{
	struct slabdev_stats st = figures(test, test->priv);

	KUNIT_EXPECT_EQ(test, st.mapped + st.live + st.cached + st.retained, 0);
	KUNIT_EXPECT_EQ(test, st.allocs + st.frees + st.failed, 0);
	KUNIT_EXPECT_EQ(test, st.peak_mapped + st.peak_live, 0);
	KUNIT_EXPECT_EQ(test, st.handles + st.caches + st.threads, 0);
	KUNIT_EXPECT_EQ(test, st.limit, GIB);
	if (!has_regions(test->priv))
		KUNIT_EXPECT_GE(test, st.reserved, st.limit);
	KUNIT_EXPECT_GT(test, st.host_bytes, 0);
	KUNIT_EXPECT_EQ(test, st.pending + st.lost, 0);
}

/* ---- Where the bytes are ---------------------------------------------- */

static void live_is_what_was_asked_for(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p[NR_GENERAL + 1];
	u64 live = 0, rounding = 0;
	struct slabdev_stats st;

	for (u32 i = 1; i <= NR_GENERAL; i++) {
		size_t size = layout_class_size[i] - i % 200;

		p[i] = must_alloc(test, sd, size);
		live += size;
		rounding += i % 200;
		st = figures(test, sd);
		KUNIT_ASSERT_EQ(test, st.live, live);
		KUNIT_ASSERT_EQ(test, st.rounding, rounding);
		KUNIT_ASSERT_EQ(test, st.live_objects, i);
	}
	for (u32 i = 1; i <= NR_GENERAL; i++) {
		EXPECT_FREED(test, sd, p[i]);
		live -= layout_class_size[i] - i % 200;
		KUNIT_ASSERT_EQ(test, figures(test, sd).live, live);
	}
	KUNIT_EXPECT_EQ(test, figures(test, sd).rounding, 0);
}

static void large_objects_have_rounding(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p = must_alloc(test, sd, 3 * MIB + 5);
	struct slabdev_stats st = figures(test, sd);

	KUNIT_EXPECT_EQ(test, st.live, 3 * MIB + 5);
	KUNIT_EXPECT_EQ(test, st.rounding, SLICE_SIZE - 5);
	KUNIT_EXPECT_EQ(test, st.slack, 0);
	KUNIT_EXPECT_EQ(test, st.retained, st.mapped - 3 * MIB - SLICE_SIZE);
	EXPECT_FREED(test, sd, p);
	st = figures(test, sd);
	KUNIT_EXPECT_EQ(test, st.retained, st.mapped);
}

static void huge_objects_have_slack(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p = must_alloc(test, sd, 65 * MIB + 5);
	struct slabdev_stats st = figures(test, sd);

	KUNIT_EXPECT_EQ(test, st.mapped, 66 * MIB);
	KUNIT_EXPECT_EQ(test, st.live, 65 * MIB + 5);
	KUNIT_EXPECT_EQ(test, st.rounding, SLICE_SIZE - 5);
	KUNIT_EXPECT_EQ(test, st.slack, MIB - SLICE_SIZE);
	KUNIT_EXPECT_EQ(test, st.handles, 1);
	EXPECT_FREED(test, sd, p);
	st = figures(test, sd);
	KUNIT_EXPECT_EQ(test, st.slack, 0);
	KUNIT_EXPECT_EQ(test, st.retained, st.mapped);
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, figures(test, sd).mapped, 0);
	KUNIT_EXPECT_EQ(test, figures(test, sd).handles, 0);
}

static void slab_tails_are_slack(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_cache *c = NULL;
	struct slabdev_stats st;
	void *p;

	KUNIT_ASSERT_EQ(test, slabdev_cache_create(&c, sd, "c", 700, NULL), 0);
	p = slabdev_cache_alloc(c);
	st = figures(test, sd);
	KUNIT_EXPECT_EQ(test, st.live, 700);
	KUNIT_EXPECT_EQ(test, st.rounding, 68);
	KUNIT_EXPECT_EQ(test, st.slack % (SLICE_SIZE % 768), 0);
	KUNIT_EXPECT_GT(test, st.slack, 0);
	KUNIT_EXPECT_EQ(test, st.caches, 1);
	KUNIT_EXPECT_EQ(test, slabdev_free(sd, p), 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_shrink(c), 0);
	st = figures(test, sd);
	KUNIT_EXPECT_EQ(test, st.slack + st.cached, 0);
	KUNIT_EXPECT_EQ(test, slabdev_cache_destroy(c), 0);
}

/* ---- Over time -------------------------------------------------------- */

static void peaks_stay(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p = must_alloc(test, sd, 10 * MIB);
	struct slabdev_stats st;

	EXPECT_FREED(test, sd, p);
	EXPECT_FREED(test, sd, must_alloc(test, sd, 5 * MIB));
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	st = figures(test, sd);
	KUNIT_EXPECT_EQ(test, st.mapped, 0);
	KUNIT_EXPECT_EQ(test, st.peak_mapped, 10 * MIB);
	KUNIT_EXPECT_EQ(test, st.peak_live, 10 * MIB);
	p = must_alloc(test, sd, 20 * MIB);
	KUNIT_EXPECT_EQ(test, figures(test, sd).peak_live, 20 * MIB);
	EXPECT_FREED(test, sd, p);
}

static void counters_survive_their_cache(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_stats before, after;
	struct slabdev_cache *c;
	void *p[300];

	for (u32 i = 0; i < 60; i++) {
		c = NULL;
		KUNIT_ASSERT_EQ(test, slabdev_cache_create(&c, sd, "c",
							   i % 2 ? 40 : 500,
							   NULL), 0);
		KUNIT_ASSERT_EQ(test, slabdev_cache_alloc_bulk(c, 300, p), 0);
		KUNIT_ASSERT_EQ(test, slabdev_cache_free_bulk(c, 300, p), 0);
		before = figures(test, sd);
		KUNIT_ASSERT_EQ(test, slabdev_cache_destroy(c), 0);
		after = figures(test, sd);
		KUNIT_ASSERT_EQ(test, after.allocs, before.allocs);
		KUNIT_ASSERT_EQ(test, after.frees, before.frees);
		KUNIT_ASSERT_EQ(test, after.alloc_bytes, before.alloc_bytes);
		KUNIT_ASSERT_EQ(test, after.free_bytes, before.free_bytes);
		KUNIT_ASSERT_EQ(test, after.refills, before.refills);
		KUNIT_ASSERT_EQ(test, after.flushes, before.flushes);
		KUNIT_ASSERT_EQ(test, after.failed, before.failed);
		KUNIT_ASSERT_EQ(test, after.caches, 0);
	}
	KUNIT_EXPECT_EQ(test, after.allocs, 60 * 300);
}

/* Memory may move when it is looked for; the books of objects may not. */
static void failed_requests_count_as_failed(struct kunit *test)
{
	struct slabdev *sd = open_space(test, 8 * MIB);
	struct slabdev_stats before, after;
	void *p = must_alloc(test, sd, 5 * MIB);

	EXPECT_FREED(test, sd, must_alloc(test, sd, 300));
	before = figures(test, sd);
	kunit_expect_report(test, REPORT_OUT_OF_MEMORY);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc(sd, 5 * MIB), EDQUOT);
	after = figures(test, sd);
	KUNIT_EXPECT_EQ(test, after.failed, before.failed + 1);
	KUNIT_EXPECT_EQ(test, after.allocs, before.allocs);
	KUNIT_EXPECT_EQ(test, after.frees, before.frees);
	KUNIT_EXPECT_EQ(test, after.alloc_bytes, before.alloc_bytes);
	KUNIT_EXPECT_EQ(test, after.free_bytes, before.free_bytes);
	KUNIT_EXPECT_EQ(test, after.live, before.live);
	KUNIT_EXPECT_EQ(test, after.live_objects, before.live_objects);
	KUNIT_EXPECT_EQ(test, after.rounding, before.rounding);
	KUNIT_EXPECT_EQ(test, after.peak_live, before.peak_live);
	EXPECT_FREED(test, sd, p);
	close_space(test, sd);
}

static void every_step_adds_up(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	u64 seed = random_seed(test), live = 0;
	void *p[64] = { NULL };
	size_t size[64] = { 0 };

	for (u32 step = 0; step < 20000; step++) {
		u32 i = random_below(&seed, 64);

		if (p[i]) {
			KUNIT_ASSERT_EQ(test, slabdev_free(sd, p[i]), 0);
			live -= size[i];
			p[i] = NULL;
		} else {
			size[i] = random_size(&seed, 4 * MIB);
			p[i] = must_alloc(test, sd, size[i]);
			live += size[i];
		}
		if (step % 1000 == 0)
			KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 2 * MIB), 0);
		KUNIT_ASSERT_EQ(test, figures(test, sd).live, live);
	}
	for (u32 i = 0; i < 64; i++)
		EXPECT_FREED(test, sd, p[i]);
}

/* ---- Ledgers ---------------------------------------------------------- */

static void at_once(struct kunit *test, u32 n, size_t size)
{
	for (u32 i = 0; i < n; i++)
		EXPECT_FREED(test, test->priv,
			     must_alloc(test, test->priv, size));
}

static void ledger_of_the_benchmark(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct slabdev_stats st;
	void *p[10], *q[5];

	at_once(test, 1000, 64);
	at_once(test, 500, 4096);
	at_once(test, 100, MIB);
	for (u32 i = 0; i < 10; i++)
		p[i] = must_alloc(test, sd, (i + 1) * 1024);
	for (u32 i = 0; i < 10; i += 2)
		EXPECT_FREED(test, sd, p[i]);
	for (u32 i = 0; i < 5; i++)
		q[i] = must_alloc(test, sd, (i + 1) * 512);
	st = figures(test, sd);
	KUNIT_EXPECT_EQ(test, st.allocs, 1615);
	KUNIT_EXPECT_EQ(test, st.alloc_bytes, 107033600);
	KUNIT_EXPECT_EQ(test, st.free_bytes, 106995200);
	KUNIT_EXPECT_EQ(test, st.live, 38400);
	KUNIT_EXPECT_EQ(test, st.live_objects, 10);
	for (u32 i = 1; i < 10; i += 2)
		EXPECT_FREED(test, sd, p[i]);
	for (u32 i = 0; i < 5; i++)
		EXPECT_FREED(test, sd, q[i]);
}

static void ledger_of_small_blocks(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p[100];

	for (u32 i = 0; i < 100; i++)
		p[i] = must_alloc(test, sd, 64);
	KUNIT_EXPECT_EQ(test, figures(test, sd).live, 6400);
	KUNIT_EXPECT_EQ(test, figures(test, sd).live_objects, 100);
	for (u32 i = 0; i < 100; i++)
		EXPECT_FREED(test, sd, p[i]);
}

/* Two memories, two ledgers: 1,000 floats and 4,096 bytes; 500 doubles. */
static void ledger_of_tensors(struct kunit *test)
{
	struct slabdev *a = test->priv, *b = open_space(test, GIB);
	void *p = slabdev_alloc_array(a, 1000, sizeof(float));
	void *q = must_alloc(test, a, 4096);
	void *r = slabdev_alloc_array(b, 500, sizeof(double));

	KUNIT_EXPECT_EQ(test, figures(test, a).live, 8096);
	KUNIT_EXPECT_EQ(test, figures(test, a).live_objects, 2);
	KUNIT_EXPECT_EQ(test, figures(test, b).live, 4000);
	KUNIT_EXPECT_EQ(test, figures(test, b).live_objects, 1);
	EXPECT_FREED(test, a, p);
	EXPECT_FREED(test, a, q);
	EXPECT_FREED(test, b, r);
	KUNIT_EXPECT_EQ(test, figures(test, a).live, 0);
	KUNIT_EXPECT_EQ(test, figures(test, b).live, 0);
	close_space(test, b);
}

/* A ledger that counts what was not freed goes negative. */
static void refused_frees_are_not_booked(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	void *p = must_alloc(test, sd, 1000);
	struct slabdev_stats before;

	EXPECT_FREED(test, sd, p);
	before = figures(test, sd);
	for (u32 i = 0; i < 5; i++) {
		kunit_expect_report(test, REPORT_DOUBLE_FREE);
		KUNIT_EXPECT_EQ(test, slabdev_free(sd, p), -EALREADY);
	}
	EXPECT_ONLY_FAILURES(test, sd, before, 0);
}

/* ---- The call --------------------------------------------------------- */

static void stats_fill_what_both_know(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	struct {
		struct slabdev_stats st;
		u64 more;
	} newer = { .more = 7 };
	u64 older[3] = { 1, 2, 3 };

	EXPECT_FREED(test, sd, must_alloc(test, sd, 100));
	KUNIT_EXPECT_EQ(test, slabdev_stats(sd, (void *)older, 16), 0);
	KUNIT_EXPECT_EQ(test, older[0], figures(test, sd).mapped);
	KUNIT_EXPECT_EQ(test, older[1], 0);
	KUNIT_EXPECT_EQ(test, older[2], 3);
	KUNIT_EXPECT_EQ(test, slabdev_stats(sd, &newer.st, sizeof(newer)), 0);
	KUNIT_EXPECT_EQ(test, newer.st.allocs, 1);
	KUNIT_EXPECT_EQ(test, newer.more, 0);
	KUNIT_EXPECT_EQ(test, slabdev_stats(sd, NULL, 8), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_stats(sd, &newer.st, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_stats(NULL, &newer.st, 8), -EINVAL);
}

/* As the design has them: reserve; create, map, access; unmap, release. */
static void backend_calls_are_counted(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	const struct class *c = sd->class[layout_class(3000)];
	u64 calls = 1;
	void *p;

	KUNIT_EXPECT_EQ(test, calls_of(test, sd), calls);
	for (u32 i = 0; i < 3; i++) {
		p = must_alloc(test, sd, 3000);
		KUNIT_EXPECT_EQ(test, calls_of(test, sd), calls += 3);
		KUNIT_EXPECT_EQ(test, stats_of(test, sd).handles, 1);
		EXPECT_FREED(test, sd, p);
		KUNIT_EXPECT_EQ(test, calls_of(test, sd), calls);
		KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
		KUNIT_EXPECT_EQ(test, calls_of(test, sd), calls += 2);
		KUNIT_EXPECT_EQ(test, stats_of(test, sd).handles, 0);
		KUNIT_EXPECT_EQ(test, sd->rec->trims, i + 1);
		/* A refill makes as many slabs as half a sheaf needs. */
		KUNIT_EXPECT_GT(test, c->rec->slab_frees, i);
		KUNIT_EXPECT_EQ(test, c->rec->slab_frees, c->rec->slab_allocs);
	}
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).backend_fails, 0);
}

/* So does the report that they were made in a steady state. */
static void calls_in_a_steady_state_are_counted(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	char text[64];
	u64 calls;

	EXPECT_FREED(test, sd, must_alloc(test, sd, 10 * MIB));
	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	sd->assert_steady = true;
	calls = calls_of(test, sd);
	kunit_expect_report(test, REPORT_STEADY);
	EXPECT_FREED(test, sd, must_alloc(test, sd, 10 * MIB));
	snprintf(text, sizeof(text), "%llu calls to have %llu bytes mapped",
		 (unsigned long long)(calls_of(test, sd) - calls),
		 (unsigned long long)figures(test, sd).mapped);
	KUNIT_EXPECT_REPORT_HAS(test, text);
}

/* Every table counts. White-box: each in turn pretends to have a page more. */
static void host_bytes_are_those_of_all_tables(struct kunit *test)
{
	struct slabdev *sd = test->priv;
	size_t *tables[] = {
		&sd->pool.chunks.committed, &sd->pool.vacant.committed,
		&sd->pool.tags.committed, &sd->pool.rounding.committed,
		&sd->pool.slabs.committed, &sd->pool.slices.nodes.committed,
		&sd->pool.slices.heads.committed,
		&sd->pool.slices.is_free.committed, &sd->vmm.chunks.committed,
		&sd->vmm.addresses.nodes.committed,
		&sd->vmm.idle_runs.nodes.committed, &sd->segment[0].size,
	};
	u64 *pools[] = {
		&sd->sheaf_pool[0].bytes, &sd->sheaf_pool[1].bytes,
		&sd->sheaf_pool[2].bytes, &sd->heap_pool.bytes,
		&sd->bin_pool.bytes, &sd->class_pool.bytes,
		&sd->tiny_pool.bytes, &sd->vmm.handles.bytes,
	};
	u64 bytes = stats_of(test, sd).host_bytes;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		*tables[i] += 4096;
		KUNIT_EXPECT_EQ_MSG(test, stats_of(test, sd).host_bytes,
				    bytes + 4096, "table %u", i);
		*tables[i] -= 4096;
	}
	for (i = 0; i < ARRAY_SIZE(pools); i++) {
		*pools[i] += 4096;
		KUNIT_EXPECT_EQ_MSG(test, stats_of(test, sd).host_bytes,
				    bytes + 4096, "pool %u", i);
		*pools[i] -= 4096;
	}
}

static void meminfo_knows_the_machine(struct kunit *test)
{
	u64 free_bytes = 0, total = 0;

	KUNIT_EXPECT_EQ(test, slabdev_meminfo(test->priv, &free_bytes, &total),
			0);
	KUNIT_EXPECT_GT(test, total, 0);
	KUNIT_EXPECT_LE(test, free_bytes, total);
	KUNIT_EXPECT_EQ(test, slabdev_meminfo(test->priv, NULL, NULL), 0);
	KUNIT_EXPECT_EQ(test, slabdev_meminfo(NULL, &free_bytes, &total),
			-EINVAL);
}

static const struct kunit_case stats_cases[] = {
	KUNIT_CASE(a_new_space_has_nothing),
	KUNIT_CASE(live_is_what_was_asked_for),
	KUNIT_CASE(large_objects_have_rounding),
	KUNIT_CASE(huge_objects_have_slack),
	KUNIT_CASE(slab_tails_are_slack),
	KUNIT_CASE(peaks_stay),
	KUNIT_CASE(counters_survive_their_cache),
	KUNIT_CASE(failed_requests_count_as_failed),
	KUNIT_CASE(every_step_adds_up),
	KUNIT_CASE(ledger_of_the_benchmark),
	KUNIT_CASE(ledger_of_small_blocks),
	KUNIT_CASE(ledger_of_tensors),
	KUNIT_CASE(refused_frees_are_not_booked),
	KUNIT_CASE(stats_fill_what_both_know),
	KUNIT_CASE(backend_calls_are_counted),
	KUNIT_CASE(calls_in_a_steady_state_are_counted),
	KUNIT_CASE(host_bytes_are_those_of_all_tables),
	KUNIT_CASE(meminfo_knows_the_machine),
	{}
};

static const struct kunit_suite stats_suite = {
	.name = "stats",
	.init = open_space_init,
	.exit = open_space_exit,
	.cases = stats_cases,
	.any_space = true,
};
kunit_test_suite(stats_suite);
