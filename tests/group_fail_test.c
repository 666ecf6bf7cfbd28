// SPDX-License-Identifier: BSD-2-Clause
/*
 * group_fail_test.c - any call of the backend below a group may fail.
 *
 * A small, a large, and a huge group, zeroed or not, whose n-th call fails, for
 * each n: what fails has written nothing and left nothing, neither an object
 * nor a token, and when the failure is over everything works.
 */
#include "slab/token.h"
#include "tests/failing.h"
#include "tests/group_space.h"

#define NR 3u

static const size_t tails[] = { 200, 3 * MIB, 70 * MIB };
static const u32 flags[] = { 0, SLABDEV_REQ_ZERO };

static int ask(struct failing *t, struct slabdev_group **g, size_t tail,
	       u32 flag, void **ptrs)
{
	const size_t sizes[NR] = { 400, 0, tail };
	struct slabdev_group_attr attr = SLABDEV_GROUP_ATTR_INIT;
	struct slabdev_req req = SLABDEV_REQ_INIT;

	req.flags = flag | SLABDEV_REQ_NO_REPORT;
	attr.req = &req;
	return slabdev_group_alloc_ex(g, t->sd, sizes, NR, ptrs, &attr);
}

static void expect_nothing(struct failing *t, int err, void *const *ptrs)
{
	struct kunit *test = t->test;
	u32 i;

	KUNIT_EXPECT_TRUE_MSG(test, err == -ENOMEM || err == -EIO, "%d", err);
	KUNIT_EXPECT_STRNEQ(test, slabdev_last_error(), "");
	for (i = 0; i < NR; i++)
		KUNIT_EXPECT_PTR_EQ(test, ptrs[i], test);
	KUNIT_EXPECT_EQ(test, expect_sound(test, t->sd).live_objects, 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, t->sd).groups, 0);
	KUNIT_EXPECT_EQ(test, token_count(&group_tokens, t->sd), 0);
}

/* False: the group makes fewer than @n calls. @fill: only of fills. */
static bool fails_at(struct failing *t, u64 n, size_t tail, u32 flag, bool fill)
{
	void *ptrs[NR] = { t->test, t->test, t->test };
	struct slabdev_group *g = NULL;
	int err;

	KUNIT_ASSERT_EQ(t->test, failing_open(t), 0);
	if (fill)
		vmm_fault_arm(&t->f, VMM_OP_FILL, n, 1, -EIO);
	else
		vmm_fault_arm_any(&t->f, n, 1, 1, -ENOMEM);
	err = ask(t, &g, tail, flag, ptrs);
	vmm_fault_arm(&t->f, VMM_OP_FILL, 0, 0, 0);
	vmm_fault_arm_any(&t->f, 0, 0, 0, 0);
	if (err)
		expect_nothing(t, err, ptrs);
	else
		EXPECT_GROUP_FREED(t->test, g);
	KUNIT_EXPECT_EQ(t->test, ask(t, &g, tail, flag, ptrs), 0);
	EXPECT_GROUP_FREED(t->test, g);
	failing_recover(t);
	return err;
}

/* Beside the first region there is no room for the last one. */
static u32 nr_tails(const struct failing *t)
{
	return t->ops->backed ? ARRAY_SIZE(tails) - 1 : ARRAY_SIZE(tails);
}

static void each_call_fails(struct kunit *test)
{
	struct failing *t = test->priv;
	u32 i, f;
	u64 n;

	for (i = 0; i < nr_tails(t); i++)
		for (f = 0; f < ARRAY_SIZE(flags); f++)
			for (n = 1; n < 12; n++)
				if (!fails_at(t, n, tails[i], flags[f], false))
					break;
}

/* The object is there already, and has its owner's name. */
static void zeroing_fails(struct kunit *test)
{
	struct failing *t = test->priv;
	u32 i;

	for (i = 0; i < nr_tails(t); i++)
		KUNIT_EXPECT_TRUE(test, fails_at(t, 1, tails[i],
						 SLABDEV_REQ_ZERO, true));
}

static const struct kunit_case group_fail_cases[] = {
	KUNIT_CASE(each_call_fails),
	KUNIT_CASE(zeroing_fails),
	{}
};

static const struct kunit_suite group_fail_suite = {
	.name = "group_fail",
	.init = failing_init,
	.exit = failing_exit,
	.cases = group_fail_cases,
	.any_space = true,
};
kunit_test_suite(group_fail_suite);
