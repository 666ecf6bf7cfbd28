// SPDX-License-Identifier: BSD-2-Clause
/*
 * cuda_layout_test.c - where memory lies does not depend on when a device is
 * done, in a space with the same layout; the random programs are in
 * same_layout_test.c.
 */
#include "tests/clock.h"
#include "tests/crew.h"
#include "tests/cuda_space.h"

#define WAIT_NS (60ull * 1000000000)

struct asking {
	struct kunit *test;
	struct slabdev *sd;
	void *p;
	u32 is_done;		/* atomic */
};

static struct slabdev *open_same(struct kunit *test, CUstream stream)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.flags = SLABDEV_OPEN_SAME_LAYOUT;
	attr.limit = 256 * MIB;
	attr.reserve = 8 * attr.limit;
	attr.backing = SLABDEV_BACKING_VMM;
	attr.stream = stream;
	return cuda_open(test, "cuda:0", &attr);
}

static void free_and_ask(void *arg)
{
	struct asking *a = arg;

	EXPECT_FREED(a->test, a->sd, a->p);
	a->p = must_alloc(a->test, a->sd, 70 * MIB);
	store_release(&a->is_done, 1);
}

/* Until the other thread waits for an event, or has needed none. */
static void await(struct asking *a, u64 before)
{
	u64 end = now_ns() + WAIT_NS;

	while (cu.model_calls("cuEventSynchronize") == before &&
	       !load_acquire(&a->is_done)) {
		KUNIT_ASSERT_TRUE(a->test, now_ns() < end);
		os_yield();
	}
}

/*
 * An object in a handle of its own is freed while work uses it, which is late
 * if the stream is @held. Where the next one lies shows whether its addresses
 * are free again.
 */
static u64 offset_of_next(struct kunit *test, bool held)
{
	struct slabdev_policy policy = SLABDEV_POLICY_INIT;
	struct crew *crew = crew_new(test, 1);
	struct asking a = { .test = test };
	u64 offset, before;
	CUstream stream;

	EXPECT_CU(test, cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), 0);
	a.sd = open_same(test, stream);
	policy.mode = SLABDEV_AGGRESSIVE;
	KUNIT_EXPECT_EQ(test, slabdev_set_policy(a.sd, &policy), 0);
	a.p = must_alloc(test, a.sd, 80 * MIB);
	if (held)
		KUNIT_EXPECT_EQ(test, cu.model_stream_hold(stream), 0);
	cuda_submit_fill(test, a.p, 80 * MIB, 1, stream);
	before = cu.model_calls("cuEventSynchronize");
	crew_start(crew, 0, free_and_ask, &a);
	await(&a, before);
	if (held)
		KUNIT_EXPECT_EQ(test, cu.model_stream_release(stream), 0);
	crew_wait(crew, 0);
	offset = slabdev_offset(a.sd, a.p);
	EXPECT_FREED(test, a.sd, a.p);
	cuda_close(test, a.sd);
	EXPECT_CU(test, cuStreamDestroy(stream), 0);
	return offset;
}

static void late_work_decides_nothing(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, offset_of_next(test, false), 0);
	KUNIT_EXPECT_EQ(test, offset_of_next(test, true), 0);
	EXPECT_NO_VIOLATION(test);
}

/* Which is the first that the device has, is the device's affair. */
static void backing_is_to_be_named(struct kunit *test)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd = NULL;

	attr.flags = SLABDEV_OPEN_SAME_LAYOUT;
	attr.limit = 256 * MIB;
	attr.reserve = 8 * attr.limit;
	KUNIT_EXPECT_EQ(test, slabdev_open(&sd, "cuda:0", &attr), -EINVAL);
	EXPECT_LAST_ERROR_HAS(test, "attr.backing");
	KUNIT_EXPECT_EQ(test, slabdev_open(&sd, "cuda-host:0", &attr), -EINVAL);
	EXPECT_LAST_ERROR_HAS(test, "attr.ordering must be "
			      "SLABDEV_ORDER_STREAM for 'cuda-host:0'");
	KUNIT_EXPECT_NULL(test, sd);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(late_work_decides_nothing),
	KUNIT_CASE(backing_is_to_be_named),
	{ 0 }
};

static const struct kunit_suite cuda_layout_suite = {
	.name = "cuda_layout",
	.init = cuda_space_init,
	.exit = cuda_space_exit,
	.cases = cases,
};
kunit_test_suite(cuda_layout_suite);
