// SPDX-License-Identifier: BSD-2-Clause
/*
 * fail_test.c - any call below a space may fail, anywhere (promise P4).
 *
 * One workload, the same in each run, over a backend that is told which call
 * to fail: the first, the second, and so on until a run makes fewer calls than
 * that. Whatever fails, each step either works or fails cleanly, all books
 * agree after it, and when the failure is over everything works again. What an
 * undo lost is shown until a trim or the close has given it back.
 *
 * Host memory for the library's own tables is refused in the same way.
 */
#include <stdio.h>
#include <sys/mman.h>

#include "core/log.h"
#include "core/os.h"
#include "tests/failing.h"

/* ---- The backend fails ------------------------------------------------ */

struct sweep {
	enum vmm_op op;		/* VMM_NR_OPS: any */
	int error;
	u64 count;		/* how many fail */
	u64 apart;		/* any: calls from one to the next */
};

#define ON 1000u		/* as good as for ever */

static const struct sweep sweeps[] = {
	{ VMM_OP_RESERVE, -ENOMEM, 1, 1 },
	{ VMM_OP_CREATE, -ENOMEM, 1, 1 },
	{ VMM_OP_CREATE, -ENOMEM, ON, 1 },
	{ VMM_OP_CREATE, -EIO, 3, 1 },
	{ VMM_OP_MAP, -ENOMEM, 2, 1 },
	{ VMM_OP_MAP, -EIO, 1, 1 },
	{ VMM_OP_SET_ACCESS, -ENOMEM, 1, 1 },
	{ VMM_OP_SET_ACCESS, -EIO, ON, 1 },
	{ VMM_OP_UNMAP, -EIO, 1, 1 },
	{ VMM_OP_UNMAP, -EIO, ON, 1 },
	{ VMM_OP_RELEASE, -EIO, 1, 1 },
	{ VMM_OP_RELEASE, -EIO, ON, 1 },
	{ VMM_OP_FILL, -EIO, 1, 1 },
	{ VMM_OP_FILL, -EIO, ON, 1 },
	{ VMM_OP_COPY, -EIO, 1, 1 },
	{ VMM_OP_COPY, -EIO, ON, 1 },
	{ VMM_OP_EVENT, -EIO, 1, 1 },
	{ VMM_OP_EVENT, -EIO, ON, 1 },
	{ VMM_NR_OPS, -ENOMEM, 1, 1 },
	{ VMM_NR_OPS, -EIO, 1, 1 },
};

/* For the long check: whatever is left, and what fails at its undo, too. */
static const struct sweep long_sweeps[] = {
	{ VMM_OP_RESERVE, -EIO, ON, 1 },
	{ VMM_OP_CREATE, -EIO, 1, 1 },
	{ VMM_OP_CREATE, -EIO, ON, 1 },
	{ VMM_OP_MAP, -ENOMEM, ON, 1 },
	{ VMM_OP_MAP, -EIO, ON, 1 },
	{ VMM_OP_SET_ACCESS, -ENOMEM, ON, 1 },
	{ VMM_OP_SET_ACCESS, -EIO, 1, 1 },
	{ VMM_OP_UNMAP, -ENOMEM, 1, 1 },
	{ VMM_OP_RELEASE, -ENOMEM, 1, 1 },
	{ VMM_NR_OPS, -ENOMEM, ON, 1 },
	{ VMM_NR_OPS, -EIO, ON, 1 },
	{ VMM_NR_OPS, -ENOMEM, 2, 1 },
	{ VMM_NR_OPS, -EIO, 2, 1 },
	{ VMM_NR_OPS, -EIO, 2, 2 },
	{ VMM_NR_OPS, -EIO, 2, 3 },
	{ VMM_NR_OPS, -EIO, 2, 5 },
	{ VMM_NR_OPS, -EIO, 3, 1 },
	{ VMM_NR_OPS, -EIO, ON, 2 },
	{ VMM_NR_OPS, -ENOMEM, ON, 3 },
};

/* Of these every so many calls in the short check. */
static const struct sweep sampled_sweeps[] = {
	{ VMM_NR_OPS, -EIO, 2, 1 },
	{ VMM_NR_OPS, -EIO, 2, 2 },
	{ VMM_NR_OPS, -ENOMEM, ON, 1 },
	{ VMM_NR_OPS, -EIO, ON, 1 },
	{ VMM_NR_OPS, -EIO, ON, 2 },
};
#define SAMPLE 8u

static void describe_sweep(const struct sweep *s, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE,
		 "%s error %d times %llu, %llu apart",
		 s->op == VMM_NR_OPS ? "any" : vmm_op_name(s->op), -s->error,
		 (unsigned long long)s->count, (unsigned long long)s->apart);
}
KUNIT_ARRAY_PARAM(sweep, sweeps, describe_sweep);
KUNIT_ARRAY_PARAM(long_sweep, long_sweeps, describe_sweep);
KUNIT_ARRAY_PARAM(sampled_sweep, sampled_sweeps, describe_sweep);

static void arm(struct failing *t, const struct sweep *s, u64 n)
{
	if (s->op == VMM_NR_OPS)
		vmm_fault_arm_any(&t->f, n, s->count, s->apart, s->error);
	else
		vmm_fault_arm(&t->f, s->op, n, s->count, s->error);
}

static u64 armed_calls(const struct failing *t, const struct sweep *s)
{
	return s->op == VMM_NR_OPS ? t->f.any_calls : t->f.calls[s->op];
}

/* False when the workload makes fewer than @n calls. */
static bool run_with_failure(struct failing *t, const struct sweep *s, u64 n)
{
	bool reached;

	arm(t, s, n);
	if (failing_open(t)) {
		KUNIT_EXPECT_NULL(t->test, t->sd);
		KUNIT_EXPECT_TRUE(t->test, vmm_fault_balanced(&t->f));
		return true;
	}
	failing_work(t);
	reached = armed_calls(t, s) >= n;
	arm(t, s, 0);
	failing_recover(t);
	return reached;
}

static void sweep(struct kunit *test, u64 first, u64 step)
{
	const struct sweep *s = test->param_value;
	struct failing *t = test->priv;
	u64 n = first;

	while (run_with_failure(t, s, n))
		n += step;
	KUNIT_EXPECT_GT(test, n, first);
	kunit_info(test, "%llu calls, %u times memory was lost",
		   (unsigned long long)(n - step), t->reports[REPORT_LOST]);
}

static void each_call_may_fail(struct kunit *test)
{
	sweep(test, 1, 1);
}

static void two_or_all_calls_may_fail(struct kunit *test)
{
	sweep(test, 1 + test->param_index, SAMPLE);
}

static void each_call_may_fail_for_long(struct kunit *test)
{
	sweep(test, 1, 1);
}

/* Calls in close are the last chance: it retries, and says what is lost. */
static void close_may_fail(struct kunit *test)
{
	struct failing *t = test->priv;
	u32 op, lost;
	void *p;

	host_only(test, "a driver would be left with memory");
	for (op = VMM_OP_RELEASE; op <= VMM_OP_UNMAP; op++) {
		if (op != VMM_OP_RELEASE && op != VMM_OP_UNMAP)
			continue;
		vmm_fault_arm(&t->f, op, 0, 0, 0);
		KUNIT_ASSERT_EQ(test, failing_open(t), 0);
		p = slabdev_alloc(t->sd, 5 * MIB);
		KUNIT_EXPECT_EQ(test, slabdev_free(t->sd, p), 0);
		lost = t->reports[REPORT_LOST];
		vmm_fault_arm(&t->f, op, 1, 1, -EIO);
		KUNIT_EXPECT_EQ(test, slabdev_close(t->sd, 0), 0);
		KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(&t->f));
		KUNIT_EXPECT_EQ(test, t->reports[REPORT_LOST], lost);
	}
	vmm_fault_arm(&t->f, VMM_OP_RELEASE, 0, 0, 0);
	KUNIT_ASSERT_EQ(test, failing_open(t), 0);
	p = slabdev_alloc(t->sd, 5 * MIB);
	KUNIT_EXPECT_EQ(test, slabdev_free(t->sd, p), 0);
	lost = t->reports[REPORT_LOST];
	vmm_fault_arm(&t->f, VMM_OP_RELEASE, 1, 1000, -EIO);
	KUNIT_EXPECT_EQ(test, slabdev_close(t->sd, 0), -EIO);
	KUNIT_EXPECT_EQ(test, t->reports[REPORT_LOST], lost + 1);
	KUNIT_EXPECT_EQ(test, slabdev_close(t->sd, 0), -EINVAL);
}

/* False when the close makes fewer than @n calls. */
static bool close_with_failure(struct failing *t, u64 n, u64 count)
{
	int err;

	KUNIT_ASSERT_EQ(t->test, failing_open(t), 0);
	KUNIT_ASSERT_NOT_NULL(t->test, slabdev_alloc(t->sd, 70 * MIB));
	KUNIT_ASSERT_NOT_NULL(t->test, slabdev_alloc(t->sd, 100));
	KUNIT_EXPECT_EQ(t->test, slabdev_prime(t->sd, 4 * MIB), 0);
	vmm_fault_arm_any(&t->f, n, count, 1, -EIO);
	err = slabdev_close(t->sd, SLABDEV_CLOSE_FORCE);
	KUNIT_EXPECT_EQ(t->test, err,
			vmm_fault_balanced(&t->f) ? 0 : -EIO);
	/* Only what cannot be tried again is left by a single failure. */
	if (count == 1)
		KUNIT_EXPECT_EQ(t->test, t->f.handles, 0);
	return t->f.any_calls >= n;
}

/* Goal: a close that fails says so, and ends all the same. What it left is in
 * the books of the wrapper, so each run has new ones. */
static void each_call_of_close_may_fail(struct kunit *test)
{
	struct failing *t = test->priv;
	u64 count, n;

	host_only(test, "a driver would be left with memory");
	for (count = 1; count <= ON; count += ON - 1) {
		for (n = 1; close_with_failure(t, n, count); n++) {
			vmm_fault_fini(&t->f);
			vmm_fault_init(&t->f, t->ops, t->dev);
		}
		KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(&t->f));
		KUNIT_EXPECT_GT(test, n, 5);
	}
}

static void full_device_is_enomem(struct kunit *test)
{
	struct failing *t = test->priv;

	KUNIT_ASSERT_EQ(test, failing_open(t), 0);
	vmm_fault_arm(&t->f, VMM_OP_CREATE, 1, 1000, -ENOMEM);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc(t->sd, 100), ENOMEM);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc(t->sd, 5 * MIB), ENOMEM);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc(t->sd, 70 * MIB), ENOMEM);
	KUNIT_EXPECT_EQ(test, t->reports[REPORT_OUT_OF_MEMORY], 3);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc(t->sd, FAILING_LIMIT + 1),
			   EDQUOT);
	KUNIT_EXPECT_EQ(test, slabdev_prime(t->sd, 8 * MIB), -ENOMEM);
	vmm_fault_arm(&t->f, VMM_OP_CREATE, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, t->sd).failed, 4);
	KUNIT_EXPECT_EQ(test, slabdev_close(t->sd, 0), 0);
}

static void lost_memory_is_shown_and_retried(struct kunit *test)
{
	struct failing *t = test->priv;
	struct slabdev_stats st;
	void *p;

	KUNIT_ASSERT_EQ(test, failing_open(t), 0);
	p = slabdev_alloc(t->sd, 4 * MIB);
	KUNIT_EXPECT_EQ(test, slabdev_free(t->sd, p), 0);
	vmm_fault_arm(&t->f, VMM_OP_UNMAP, 1, 1000, -EIO);
	KUNIT_EXPECT_EQ(test, slabdev_trim(t->sd, 0), -EIO);
	st = stats_of(test, t->sd);
	KUNIT_EXPECT_EQ(test, st.lost, 4 * MIB);
	KUNIT_EXPECT_EQ(test, st.mapped, 4 * MIB);
	expect_sound(test, t->sd);
	KUNIT_EXPECT_EQ(test, slabdev_trim(t->sd, 0), -EIO);
	vmm_fault_arm(&t->f, VMM_OP_UNMAP, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, slabdev_trim(t->sd, 0), 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, t->sd).lost, 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, t->sd).mapped, 0);
	KUNIT_EXPECT_EQ(test, slabdev_close(t->sd, 0), 0);
	KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(&t->f));
}

/* ---- The host fails --------------------------------------------------- */

static u64 host_calls, host_fail_at, host_fail_count;

static bool host_fails(void)
{
	host_calls++;
	return host_fail_at && host_calls >= host_fail_at &&
	       host_calls - host_fail_at < host_fail_count;
}

/* Stand in for the wrappers; what does not fail is done by hand. */
static int reserve_or_not(size_t size, void **addr)
{
	void *p;

	if (host_fails())
		return -ENOMEM;
	p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
		 MAP_NORESERVE, -1, 0);
	*addr = p;
	return p == MAP_FAILED ? -ENOMEM : 0;
}

static int commit_or_not(void *addr, size_t size)
{
	if (host_fails() || mprotect(addr, size, PROT_READ | PROT_WRITE))
		return -ENOMEM;
	return 0;
}

static int no_segment(const char *name, size_t size, void **addr)
{
	(void)name;
	(void)size;
	(void)addr;
	return -ENOSYS;
}

/* A second open in the process: what the first one sets up is there. */
static bool run_without_host(struct failing *t, u64 n)
{
	bool reached;

	host_calls = 0;
	host_fail_at = n;
	if (failing_open(t)) {
		KUNIT_EXPECT_NULL(t->test, t->sd);
		KUNIT_EXPECT_TRUE(t->test, vmm_fault_balanced(&t->f));
		return true;
	}
	failing_work(t);
	reached = host_calls >= n;
	host_fail_at = 0;
	failing_recover(t);
	return reached;
}

static const u64 counts[] = { 1, 2, UINT64_MAX };
KUNIT_ARRAY_PARAM(count, counts, NULL);

/* Without memfds the tables of counters are private memory, and counted too. */
static void each_host_call_may_fail(struct kunit *test)
{
	struct failing *t = test->priv;
	u64 n = 1;

	host_fail_count = *(const u64 *)test->param_value;
	kunit_activate_static_stub(test, os_reserve, reserve_or_not);
	kunit_activate_static_stub(test, os_commit, commit_or_not);
	kunit_activate_static_stub(test, os_shared_segment, no_segment);
	while (run_without_host(t, n))
		n++;
	KUNIT_EXPECT_GT(test, n, 20);
	kunit_info(test, "%llu calls", (unsigned long long)n - 1);
}

static int refuse_segment(const char *name, size_t size, void **addr)
{
	(void)name;
	(void)size;
	(void)addr;
	return -EMFILE;
}

static void space_works_without_memfds(struct kunit *test)
{
	struct failing *t = test->priv;

	kunit_activate_static_stub(test, os_shared_segment, refuse_segment);
	KUNIT_ASSERT_EQ(test, failing_open(t), 0);
	failing_recover(t);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(each_call_may_fail, sweep_gen_params,
			 .isolated = true, .slow = true),
	KUNIT_CASE_PARAM(two_or_all_calls_may_fail, sampled_sweep_gen_params,
			 .isolated = true, .slow = true),
	KUNIT_CASE_PARAM(each_call_may_fail_for_long, long_sweep_gen_params,
			 .isolated = true, .is_long = true, .timeout_s = 600),
	KUNIT_CASE_PARAM(each_host_call_may_fail, count_gen_params,
			 .isolated = true, .slow = true),
	KUNIT_CASE_ISOLATED(space_works_without_memfds),
	KUNIT_CASE_ISOLATED(close_may_fail),
	KUNIT_CASE_ISOLATED(each_call_of_close_may_fail),
	KUNIT_CASE_ISOLATED(full_device_is_enomem),
	KUNIT_CASE_ISOLATED(lost_memory_is_shown_and_retried),
	{ 0 }
};

static const struct kunit_suite fail_suite = {
	.name = "fail",
	.init = failing_init,
	.exit = failing_exit,
	.cases = cases,
	.any_space = true,
};
kunit_test_suite(fail_suite);
