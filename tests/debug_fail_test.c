// SPDX-License-Identifier: BSD-2-Clause
/*
 * debug_fail_test.c - fills and reads that fail, under all checks.
 *
 * Two workloads over a backend whose n-th fill, read or other call fails, once
 * or for ever: that of failing.h, and one of what has zones. What cannot be
 * filled or read is not judged: each step works or fails cleanly as it does
 * without letters, and nothing is reported but a lack of memory, and what is
 * lost.
 */
#include <stdio.h>

#include "tests/damage.h"
#include "tests/failing.h"

#define ON 1000000u		/* as good as for ever */

static const struct sweep {
	enum vmm_op op;
	int error;
	u64 count;
} sweeps[] = {
	{ VMM_OP_FILL, -EIO, 1 },
	{ VMM_OP_FILL, -EIO, ON },
	{ VMM_OP_READ, -EIO, 1 },
	{ VMM_OP_READ, -EIO, ON },
	{ VMM_OP_COPY, -EIO, 1 },
	{ VMM_OP_EVENT, -EIO, 1 },
	{ VMM_OP_CREATE, -ENOMEM, 1 },
	{ VMM_OP_SET_ACCESS, -EIO, 1 },
	{ VMM_OP_UNMAP, -EIO, 1 },
};

static void describe_sweep(const struct sweep *s, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s error %d times %llu",
		 vmm_op_name(s->op), -s->error, (unsigned long long)s->count);
}
KUNIT_ARRAY_PARAM(sweep, sweeps, describe_sweep);

static int fail_init(struct kunit *test)
{
	need_debug(test);
	return failing_init(test);
}

/* ---- The workload of failing.h ----------------------------------------- */

/* False when the workload makes fewer than @n such calls. */
static bool run_with_failure(struct failing *t, const struct sweep *s, u64 n)
{
	bool reached;

	vmm_fault_arm(&t->f, s->op, n, s->count, s->error);
	if (failing_open(t)) {
		KUNIT_EXPECT_TRUE(t->test, vmm_fault_balanced(&t->f));
		return true;
	}
	failing_work(t);
	reached = t->f.calls[s->op] >= n;
	vmm_fault_arm(&t->f, s->op, 0, 0, 0);
	failing_recover(t);
	return reached;
}

static void sweep(struct kunit *test, u64 part)
{
	struct failing *t = test->priv;
	u64 n = 1;

	debug_letters_are("FPUQ");
	while (run_with_failure(t, test->param_value, n))
		n += 1 + n / part;
	KUNIT_EXPECT_GT(test, n, 1);
}

static void more_calls_may_fail(struct kunit *test)
{
	sweep(test, 4);
}

/* ---- Objects with zones ------------------------------------------------ */

#define OBJECTS 30u

/* By the CPU, where it can: memory.h does not know these spaces. */
static void use(void *p, size_t size)
{
	if (mem_is_cheap())
		memset(p, 0x11, size);
}

/* Memory that was got is used; @from: to have other sizes each time. */
static void zoned_work(struct failing *t, struct slabdev_cache *cache, u32 from)
{
	void *p[OBJECTS], *q;
	size_t size;
	u32 i;

	for (i = 0; i < OBJECTS; i++) {
		size = i == 7 ? 2 * MIB : 1 + (i + from) % 20 * 400;
		p[i] = i % 3 ? slabdev_alloc(t->sd, size) :
			       slabdev_cache_alloc(cache);
		size = i % 3 ? size : 200;
		if (p[i])
			use(p[i], size);
		if (!p[i] || i % 5 || i % 3 == 0)
			continue;
		q = slabdev_realloc(t->sd, p[i], size + 100);
		if (q)
			use(p[i] = q, size + 100);
	}
	for (i = 0; i < OBJECTS; i++)
		KUNIT_EXPECT_EQ(t->test, slabdev_free(t->sd, p[i]), 0);
	(void)slabdev_trim(t->sd, from % 2 * MIB);
	KUNIT_EXPECT_EQ(t->test, slabdev_validate(t->sd), 0);
}

static bool zoned_with_failure(struct failing *t, const struct sweep *s, u64 n)
{
	struct slabdev_cache *cache;
	bool reached;

	vmm_fault_arm(&t->f, s->op, 0, 0, 0);
	KUNIT_ASSERT_EQ(t->test, failing_open(t), 0);
	KUNIT_ASSERT_EQ(t->test, slabdev_cache_create(&cache, t->sd, "zoned",
						      200, NULL), 0);
	vmm_fault_arm(&t->f, s->op, n, s->count, s->error);
	zoned_work(t, cache, 0);
	zoned_work(t, cache, 7);
	reached = t->f.calls[s->op] >= n;
	vmm_fault_arm(&t->f, s->op, 0, 0, 0);
	zoned_work(t, cache, 11);
	KUNIT_EXPECT_EQ(t->test, slabdev_cache_destroy(cache), 0);
	KUNIT_EXPECT_EQ(t->test, slabdev_trim(t->sd, 0), 0);
	expect_sound(t->test, t->sd);
	KUNIT_EXPECT_EQ(t->test, slabdev_close(t->sd, 0), 0);
	KUNIT_EXPECT_TRUE(t->test, vmm_fault_balanced(&t->f));
	return reached;
}

static void zoned_calls_may_fail(struct kunit *test)
{
	struct failing *t = test->priv;
	u64 n = 1;

	debug_letters_are("FZPUQ");
	while (zoned_with_failure(t, test->param_value, n))
		n += 1 + n / 10;
}

/* ---- A walk that cannot read --------------------------------------------- */

static void hear(int level, const char *text, void *arg)
{
	u32 *times = arg;

	(void)level;
	*times += strstr(text, "could not be looked at") != NULL;
}

/* What is damaged was not seen, so it is no damage: the log says so, once. */
static void walk_that_cannot_read_says_so(struct kunit *test)
{
	struct failing *t = test->priv;
	u32 times = 0;
	void *p[2];

	host_only(test, "what fails is a backend of host memory");
	debug_letters_are("Z");
	KUNIT_ASSERT_EQ(test, failing_open(t), 0);
	p[0] = must_alloc(test, t->sd, 1000);
	p[1] = must_alloc(test, t->sd, 3 * MIB);
	smear(t->sd, p[0], 1000, 1);
	/* Not the harness, for whom the damage would be news. */
	log_set_sink(NULL, NULL);
	slabdev_set_log(hear, &times);
	vmm_fault_arm(&t->f, VMM_OP_READ, 1, ON, -EIO);
	KUNIT_EXPECT_EQ(test, slabdev_validate(t->sd), 0);
	KUNIT_EXPECT_EQ(test, times, 1);
	vmm_fault_arm(&t->f, VMM_OP_READ, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, slabdev_validate(t->sd), -EUCLEAN);
	KUNIT_EXPECT_EQ(test, slabdev_free(t->sd, p[0]), 0);
	KUNIT_EXPECT_EQ(test, slabdev_free(t->sd, p[1]), 0);
	KUNIT_EXPECT_EQ(test, slabdev_close(t->sd, 0), 0);
}

static const struct kunit_case fail_cases[] = {
	KUNIT_CASE_ISOLATED(walk_that_cannot_read_says_so),
	KUNIT_CASE_PARAM(zoned_calls_may_fail, sweep_gen_params, .slow = true),
	KUNIT_CASE_PARAM(more_calls_may_fail, sweep_gen_params,
			 .is_long = true, .timeout_s = 600),
	{}
};

static const struct kunit_suite fail_suite = {
	.name = "debug_fail",
	.init = fail_init,
	.exit = failing_exit,
	.cases = fail_cases,
	.any_space = true,
};
kunit_test_suite(fail_suite);
