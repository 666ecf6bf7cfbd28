/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * backend_bench.h - a backend on its own, with a reservation, and the steps
 * that a test takes for granted.
 */
#ifndef TESTS_BACKEND_BENCH_H
#define TESTS_BACKEND_BENCH_H

#include "tests/kunit/kunit.h"
#include "vmm/ops.h"

/* What the suite keeps in test->priv. */
struct bench {
	const struct vmm_ops *ops;
	void *dev;
	u64 granularity;
	u64 base;		/* a reservation of NR_GRANULES */
	u64 bytes;
};

#define NR_GRANULES 64

/* Reserve the addresses; ops and dev are set. */
static inline void bench_start(struct kunit *test, struct bench *b)
{
	test->priv = b;
	KUNIT_ASSERT_EQ(test, b->ops->granularity(b->dev, &b->granularity), 0);
	b->bytes = NR_GRANULES * b->granularity;
	KUNIT_ASSERT_EQ(test, b->ops->reserve(b->dev, b->bytes, b->granularity,
					      &b->base), 0);
}

static inline void bench_stop(struct kunit *test, struct bench *b)
{
	KUNIT_EXPECT_EQ(test, b->ops->unreserve(b->dev, b->base, b->bytes), 0);
}

static inline u64 at(const struct bench *b, u32 granule)
{
	return b->base + granule * b->granularity;
}

static inline u64 make(struct kunit *test, u32 granules)
{
	struct bench *b = test->priv;
	u64 handle = 0;

	KUNIT_ASSERT_EQ(test, b->ops->create(b->dev, granules * b->granularity,
					     &handle), 0);
	return handle;
}

static inline void map(struct kunit *test, u32 granule, u32 granules,
		       u64 handle)
{
	struct bench *b = test->priv;

	KUNIT_ASSERT_EQ(test, b->ops->map(b->dev, at(b, granule),
					  granules * b->granularity, handle),
			0);
}

static inline void access_to(struct kunit *test, u32 granule, u32 granules)
{
	struct bench *b = test->priv;

	KUNIT_ASSERT_EQ(test, b->ops->set_access(b->dev, at(b, granule),
						 granules * b->granularity), 0);
}

static inline void unmap(struct kunit *test, u32 granule, u32 granules)
{
	struct bench *b = test->priv;

	KUNIT_ASSERT_EQ(test, b->ops->unmap(b->dev, at(b, granule),
					    granules * b->granularity), 0);
}

static inline void drop(struct kunit *test, u64 handle, u32 granules)
{
	struct bench *b = test->priv;

	KUNIT_ASSERT_EQ(test, b->ops->release(b->dev, handle,
					      granules * b->granularity), 0);
}

/* Accessible memory over [@granule, @granule + @granules). */
static inline u64 provide(struct kunit *test, u32 granule, u32 granules)
{
	u64 handle = make(test, granules);

	map(test, granule, granules, handle);
	access_to(test, granule, granules);
	return handle;
}

static inline void withdraw(struct kunit *test, u32 granule, u32 granules,
			    u64 handle)
{
	unmap(test, granule, granules);
	drop(test, handle, granules);
}

#endif /* TESTS_BACKEND_BENCH_H */
