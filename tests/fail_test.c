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
#include "slab/slab.h"
#include "slab/space.h"
#include "tests/open_space.h"
#include "vmm/fault.h"

#define LIMIT (100 * MIB)

struct failing {
	struct kunit *test;
	const struct vmm_ops *ops;
	void *dev;
	struct vmm_fault f;
	struct slabdev *sd;
	u32 reports[REPORT_NR_KINDS];
};

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

static int fail_test_init(struct kunit *test)
{
	struct failing *t = kunit_kzalloc(test, sizeof(*t));

	test->priv = t;
	t->test = test;
	KUNIT_ASSERT_EQ(test, vmm_backend_find("host", 0, &t->ops, &t->dev), 0);
	vmm_fault_init(&t->f, t->ops, t->dev);
	log_set_sink(count_report, t);
	return 0;
}

static void fail_test_exit(struct kunit *test)
{
	struct failing *t = test->priv;

	vmm_fault_fini(&t->f);
	vmm_backend_put(t->ops, t->dev);
}

static int try_open(struct failing *t)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;

	attr.limit = LIMIT;
	t->sd = NULL;
	return space_open_on(&t->sd, &attr, &vmm_fault_ops, &t->f);
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

static u32 run_work(struct failing *t)
{
	struct work w = { .t = t };

	small_and_large(&w);
	zero_and_move(&w);
	caches(&w);
	to_the_limit(&w);
	aggressive(&w);
	free_all(&w);
	expect_err(&w, slabdev_trim(t->sd, 10 * MIB));
	expect_books_agree(&w);
	return w.failures;
}

/* Nothing fails any more: everything works, and all goes back. */
static void expect_recovered(struct failing *t)
{
	u32 failures;

	KUNIT_EXPECT_EQ(t->test, slabdev_trim(t->sd, 0), 0);
	KUNIT_EXPECT_EQ(t->test, stats_of(t->test, t->sd).lost, 0);
	failures = run_work(t);
	/* Two of its requests are beyond the limit. */
	KUNIT_EXPECT_LE(t->test, failures, 4);
	KUNIT_EXPECT_EQ(t->test, slabdev_close(t->sd, 0), 0);
	KUNIT_EXPECT_TRUE(t->test, vmm_fault_balanced(&t->f));
}

/* ---- The backend fails ------------------------------------------------ */

struct sweep {
	enum vmm_op op;		/* VMM_NR_OPS: any */
	int error;
	u64 count;		/* how many in a row */
};

static const struct sweep sweeps[] = {
	{ VMM_OP_RESERVE, -ENOMEM, 1 },
	{ VMM_OP_CREATE, -ENOMEM, 1 },
	{ VMM_OP_CREATE, -ENOMEM, 1000 },
	{ VMM_OP_CREATE, -EIO, 3 },
	{ VMM_OP_MAP, -ENOMEM, 2 },
	{ VMM_OP_MAP, -EIO, 1 },
	{ VMM_OP_SET_ACCESS, -ENOMEM, 1 },
	{ VMM_OP_SET_ACCESS, -EIO, 1000 },
	{ VMM_OP_UNMAP, -EIO, 1 },
	{ VMM_OP_UNMAP, -EIO, 1000 },
	{ VMM_OP_RELEASE, -EIO, 1 },
	{ VMM_OP_RELEASE, -EIO, 1000 },
	{ VMM_OP_FILL, -EIO, 1 },
	{ VMM_OP_COPY, -EIO, 1 },
	{ VMM_NR_OPS, -ENOMEM, 1 },
	{ VMM_NR_OPS, -EIO, 1 },
};

static void describe_sweep(const struct sweep *s, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s error %d times %llu",
		 s->op == VMM_NR_OPS ? "any" : vmm_op_name(s->op), -s->error,
		 (unsigned long long)s->count);
}
KUNIT_ARRAY_PARAM(sweep, sweeps, describe_sweep);

static void arm(struct failing *t, const struct sweep *s, u64 n)
{
	if (s->op == VMM_NR_OPS)
		vmm_fault_arm_any(&t->f, n, s->error);
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
	if (try_open(t)) {
		KUNIT_EXPECT_NULL(t->test, t->sd);
		KUNIT_EXPECT_TRUE(t->test, vmm_fault_balanced(&t->f));
		return true;
	}
	run_work(t);
	reached = armed_calls(t, s) >= n;
	arm(t, s, 0);
	expect_recovered(t);
	return reached;
}

static void each_call_may_fail(struct kunit *test)
{
	const struct sweep *s = test->param_value;
	struct failing *t = test->priv;
	u64 n = 1;

	while (run_with_failure(t, s, n))
		n++;
	KUNIT_EXPECT_GT(test, n, 1);
	kunit_info(test, "%llu calls, %u times memory was lost",
		   (unsigned long long)n - 1, t->reports[REPORT_LOST]);
}

/* Calls in close are the last chance: it retries, and says what is lost. */
static void close_may_fail(struct kunit *test)
{
	struct failing *t = test->priv;
	u32 op, lost;
	void *p;

	for (op = VMM_OP_RELEASE; op <= VMM_OP_UNMAP; op++) {
		if (op != VMM_OP_RELEASE && op != VMM_OP_UNMAP)
			continue;
		vmm_fault_arm(&t->f, op, 0, 0, 0);
		KUNIT_ASSERT_EQ(test, try_open(t), 0);
		p = slabdev_alloc(t->sd, 5 * MIB);
		KUNIT_EXPECT_EQ(test, slabdev_free(t->sd, p), 0);
		lost = t->reports[REPORT_LOST];
		vmm_fault_arm(&t->f, op, 1, 1, -EIO);
		KUNIT_EXPECT_EQ(test, slabdev_close(t->sd, 0), 0);
		KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(&t->f));
		KUNIT_EXPECT_EQ(test, t->reports[REPORT_LOST], lost);
	}
	vmm_fault_arm(&t->f, VMM_OP_RELEASE, 0, 0, 0);
	KUNIT_ASSERT_EQ(test, try_open(t), 0);
	p = slabdev_alloc(t->sd, 5 * MIB);
	KUNIT_EXPECT_EQ(test, slabdev_free(t->sd, p), 0);
	lost = t->reports[REPORT_LOST];
	vmm_fault_arm(&t->f, VMM_OP_RELEASE, 1, 1000, -EIO);
	KUNIT_EXPECT_EQ(test, slabdev_close(t->sd, 0), -EIO);
	KUNIT_EXPECT_EQ(test, t->reports[REPORT_LOST], lost + 1);
	KUNIT_EXPECT_EQ(test, slabdev_close(t->sd, 0), -EINVAL);
}

static void full_device_is_enomem(struct kunit *test)
{
	struct failing *t = test->priv;

	KUNIT_ASSERT_EQ(test, try_open(t), 0);
	vmm_fault_arm(&t->f, VMM_OP_CREATE, 1, 1000, -ENOMEM);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc(t->sd, 100), ENOMEM);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc(t->sd, 5 * MIB), ENOMEM);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc(t->sd, 70 * MIB), ENOMEM);
	KUNIT_EXPECT_EQ(test, t->reports[REPORT_OUT_OF_MEMORY], 3);
	KUNIT_EXPECT_ERRNO(test, slabdev_alloc(t->sd, LIMIT + 1), EDQUOT);
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

	KUNIT_ASSERT_EQ(test, try_open(t), 0);
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
	if (try_open(t)) {
		KUNIT_EXPECT_NULL(t->test, t->sd);
		KUNIT_EXPECT_TRUE(t->test, vmm_fault_balanced(&t->f));
		return true;
	}
	run_work(t);
	reached = host_calls >= n;
	host_fail_at = 0;
	expect_recovered(t);
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
	KUNIT_ASSERT_EQ(test, try_open(t), 0);
	expect_recovered(t);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(each_call_may_fail, sweep_gen_params,
			 .isolated = true, .slow = true),
	KUNIT_CASE_PARAM(each_host_call_may_fail, count_gen_params,
			 .isolated = true, .slow = true),
	KUNIT_CASE_ISOLATED(space_works_without_memfds),
	KUNIT_CASE_ISOLATED(close_may_fail),
	KUNIT_CASE_ISOLATED(full_device_is_enomem),
	KUNIT_CASE_ISOLATED(lost_memory_is_shown_and_retried),
	{ 0 }
};

static const struct kunit_suite fail_suite = {
	.name = "fail",
	.init = fail_test_init,
	.exit = fail_test_exit,
	.cases = cases,
};
kunit_test_suite(fail_suite);
