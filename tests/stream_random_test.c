// SPDX-License-Identifier: BSD-2-Clause
/*
 * stream_random_test.c - random programs for streams, on host queues; see
 * stream_walk.h.
 *
 * The queues of the single-threaded cases are manual, so that the same seed
 * (KUNIT_SEED) is the same run.
 */
#include <errno.h>

#include "core/log.h"
#include "slab/space.h"
#include "tests/crew.h"
#include "tests/open_space.h"
#include "tests/stream_walk.h"
#include "vmm/fault.h"

#define NR_THREADS 3u

struct shared {
	struct walk_space space;
	struct vmm_fault fault;
	const struct vmm_ops *ops;
	void *dev;
};

/* Lost memory and a lack of it are told; nothing else may be. */
static void hear(int level, int kind, const char *text, void *arg)
{
	struct kunit *test = arg;

	(void)level;
	if (kind >= 0 && kind != REPORT_LOST && kind != REPORT_OUT_OF_MEMORY)
		KUNIT_FAIL(test, "%s", text);
}

static struct shared *begin(struct kunit *test, const struct walk_settings *set)
{
	struct shared *s = kunit_kzalloc(test, sizeof(*s));
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	host_only(test, "its streams are queues");
	s->space = (struct walk_space){
		.test = test, .set = set, .driver = &queue_driver,
	};
	KUNIT_ASSERT_EQ(test, vmm_backend_find("host", NULL, &s->ops, &s->dev),
			0);
	vmm_fault_init(&s->fault, s->ops, s->dev);
	log_set_sink(hear, test);
	attr.limit = set->limit;
	attr.pending_bytes = MIB;
	KUNIT_ASSERT_EQ(test, space_open_on(&s->space.sd, &attr,
					    &s->fault.table, &s->fault), 0);
	walk_open(&s->space);
	return s;
}

static struct slabdev_stats end(struct shared *s)
{
	struct slabdev_stats st = walk_close(&s->space);

	KUNIT_EXPECT_TRUE(s->space.test, vmm_fault_balanced(&s->fault));
	vmm_fault_fini(&s->fault);
	vmm_backend_put(s->ops, s->dev);
	return st;
}

static struct slabdev_stats alone(struct kunit *test,
				  const struct walk_settings *set)
{
	struct shared *s = begin(test, set);
	struct walk *w = kunit_kzalloc(test, sizeof(*w));

	w->p.priv = &s->fault;
	walk_begin(w, &s->space, 0, true);
	walk_steps(w);
	walk_end(w);
	kunit_info(test, "%llu kernels, %llu allocations got nothing",
		   (unsigned long long)w->p.done,
		   (unsigned long long)w->nothing);
	return end(s);
}

static void scarce(struct kunit *test)
{
	static const struct walk_settings set = {
		.limit = 24 * MIB, .nr_streams = 6, .steps = 400000,
	};

	(void)alone(test, &set);
}

static void plenty(struct kunit *test)
{
	static const struct walk_settings set = {
		.limit = 512 * MIB, .nr_streams = 8, .steps = 300000,
		.huge = true,
	};

	(void)alone(test, &set);
}

/* What other streams have pending is taken, and waited for in the stream. */
static void streams_wait(struct kunit *test)
{
	static const struct walk_settings set = {
		.limit = 24 * MIB, .nr_streams = 5, .steps = 200000,
		.waits = true,
	};

	(void)alone(test, &set);
}

static void failing(struct kunit *test)
{
	static const struct walk_settings set = {
		.limit = 48 * MIB, .nr_streams = 5, .steps = 300000,
		.fails = true,
	};

	(void)alone(test, &set);
}

static void long_failing(struct kunit *test)
{
	static const struct walk_settings set = {
		.limit = 32 * MIB, .nr_streams = 8, .steps = 10000000,
		.fails = true,
	};

	(void)alone(test, &set);
}

static void in_threads(struct kunit *test, const struct walk_settings *set)
{
	struct shared *s = begin(test, set);
	struct walk *w = kunit_kzalloc(test, NR_THREADS * sizeof(*w));
	struct crew *crew = crew_new(test, NR_THREADS);
	u32 i;

	for (i = 0; i < NR_THREADS; i++)
		walk_begin(&w[i], &s->space, i, false);
	crew_all(crew, walk_steps, w, sizeof(*w));
	crew_dismiss(crew);
	for (i = 0; i < NR_THREADS; i++)
		walk_end(&w[i]);
	(void)end(s);
}

static void threads(struct kunit *test)
{
	static const struct walk_settings set = {
		.limit = 64 * MIB, .nr_streams = 4, .steps = 35000,
	};

	in_threads(test, &set);
}

static void long_threads(struct kunit *test)
{
	static const struct walk_settings set = {
		.limit = 64 * MIB, .nr_streams = 6, .steps = 1000000,
	};

	in_threads(test, &set);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(scarce),
	KUNIT_CASE(plenty),
	KUNIT_CASE(streams_wait),
	KUNIT_CASE(failing),
	KUNIT_CASE(threads, .timeout_s = 300),
	KUNIT_CASE(long_failing, .is_long = true, .timeout_s = 1200),
	KUNIT_CASE(long_threads, .is_long = true, .timeout_s = 1200),
	{ 0 }
};

static const struct kunit_suite stream_random_suite = {
	.name = "stream_random",
	.cases = cases,
};
kunit_test_suite(stream_random_suite);
