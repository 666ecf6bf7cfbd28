// SPDX-License-Identifier: BSD-2-Clause
/*
 * fault_test.c - any backend call may fail, and the wrapper that makes it so.
 *
 * The sweeps run one script again and again, and let the first, the second,
 * the third ... call of a kind fail, until the script runs through. After each
 * step the vmm must be valid and agree with the books that the wrapper keeps;
 * after close nothing may be left. The script is deterministic, so a failure
 * can be repeated from the operation and the number that the message names.
 */
#include <errno.h>

#include "tests/vmm_space.h"
#include "vmm/fault.h"

struct faulty {
	struct space *s;
	struct vmm_fault f;
};

static int fault_test_init(struct kunit *test)
{
	struct faulty *t = kunit_kzalloc(test, sizeof(*t));

	test->priv = t;
	t->s = space_new(test);
	vmm_fault_init(&t->f, t->s->host_ops, t->s->host_dev);
	t->s->ops = &t->f.table;
	t->s->dev = &t->f;
	return 0;
}

static void fault_test_exit(struct kunit *test)
{
	struct faulty *t = test->priv;

	if (!t)
		return;
	space_end(t->s);
	KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(&t->f));
	vmm_fault_fini(&t->f);
}

/* The vmm's own account and the wrapper's books say the same. */
static void expect_books_agree(struct faulty *t)
{
	const struct vmm_counters *cnt = &t->s->cnt;
	struct kunit *test = t->s->test;

	EXPECT_VALID(t->s);
	KUNIT_EXPECT_EQ(test, t->f.handles, cnt->handles);
	KUNIT_EXPECT_EQ(test, t->f.created_bytes, cnt->created);
	KUNIT_EXPECT_EQ(test, t->f.reservations, t->s->v.nr_res);
}

/* ---- The wrapper ------------------------------------------------------ */

static void wrapper_fails_what_it_is_told(struct kunit *test)
{
	struct faulty *t = test->priv;
	const struct vmm_ops *ops = &t->f.table;
	u64 handles[4] = { 0 };

	vmm_fault_arm(&t->f, VMM_OP_CREATE, 2, 2, -EIO);
	KUNIT_EXPECT_EQ(test, ops->create(&t->f, 2 * MIB, &handles[0]), 0);
	KUNIT_EXPECT_EQ(test, ops->create(&t->f, 2 * MIB, &handles[1]), -EIO);
	KUNIT_EXPECT_EQ(test, ops->create(&t->f, 2 * MIB, &handles[1]), -EIO);
	KUNIT_EXPECT_EQ(test, ops->create(&t->f, 2 * MIB, &handles[1]), 0);
	KUNIT_EXPECT_EQ(test, t->f.calls[VMM_OP_CREATE], 4);
	KUNIT_EXPECT_EQ(test, t->f.handles, 2);
	KUNIT_EXPECT_EQ(test, t->f.created_bytes, 4 * MIB);
	KUNIT_EXPECT_FALSE(test, vmm_fault_balanced(&t->f));

	vmm_fault_arm_any(&t->f, 2, 1, 1, -EPERM);
	KUNIT_EXPECT_EQ(test, ops->release(&t->f, handles[0], 2 * MIB), 0);
	KUNIT_EXPECT_EQ(test, ops->release(&t->f, handles[1], 2 * MIB), -EPERM);
	KUNIT_EXPECT_EQ(test, ops->release(&t->f, handles[1], 2 * MIB), 0);
	KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(&t->f));

	/* Disarmed, and work calls are not management calls. */
	vmm_fault_arm(&t->f, VMM_OP_MEMINFO, 1, 1, -EIO);
	KUNIT_EXPECT_EQ(test, ops->meminfo(&t->f, &handles[0], &handles[1]),
			-EIO);
	vmm_fault_arm(&t->f, VMM_OP_MEMINFO, 0, 1, -EIO);
	vmm_fault_arm_any(&t->f, 1, 1, 1, -EIO);
	KUNIT_EXPECT_EQ(test, ops->meminfo(&t->f, &handles[0], &handles[1]), 0);
	vmm_fault_arm_any(&t->f, 0, 0, 1, 0);
}

/* ---- The sweeps ------------------------------------------------------- */

#define NR_RUNS 8

struct script {
	struct faulty *t;
	struct {
		u32 first, nr, handle_chunks;
	} runs[NR_RUNS];
	u32 failures;
};

static void map(struct script *sc, u32 run, u32 nr, u32 handle_chunks)
{
	struct space *s = sc->t->s;
	u32 first = 42;
	int err;

	sc->runs[run].nr = 0;
	err = vmm_map(&s->v, nr, handle_chunks, &first);
	expect_books_agree(sc->t);
	if (err) {
		KUNIT_EXPECT_EQ(s->test, first, 42);
		KUNIT_EXPECT_STRNEQ(s->test, error_get(), "");
		sc->failures++;
		return;
	}
	for (u32 i = 0; i < nr; i++)
		KUNIT_EXPECT_EQ(s->test, vmm_fill(&s->v, vmm_addr(&s->v,
			vmm_chunk_offset(&s->v, first + i)), 1, 1, NULL), 0);
	sc->runs[run].first = first;
	sc->runs[run].nr = nr;
	sc->runs[run].handle_chunks = handle_chunks;
}

/* A handle that could not be given back is not ours any more either. */
static void unmap(struct script *sc, u32 run, enum vmm_giveback how)
{
	struct space *s = sc->t->s;
	int err;

	for (u32 i = 0; i < sc->runs[run].nr;
	     i += sc->runs[run].handle_chunks) {
		err = vmm_unmap(&s->v, sc->runs[run].first + i, how);
		KUNIT_EXPECT_TRUE(s->test, !err || err == -EIO);
		sc->failures += err != 0;
		expect_books_agree(sc->t);
	}
	sc->runs[run].nr = 0;
}

static void reclaim(struct script *sc, u64 keep)
{
	struct space *s = sc->t->s;
	int err = vmm_reclaim(&s->v, keep, true);

	KUNIT_EXPECT_TRUE(s->test, !err || err == -EIO);
	sc->failures += err != 0;
	expect_books_agree(sc->t);
}

/*
 * Every way into and out of every state, under a limit of 24 chunks and with
 * a first reservation that is too short. Leaves something of each kind.
 */
static void run_script(struct script *sc)
{
	map(sc, 0, 1, 1);
	map(sc, 1, 4, 1);
	map(sc, 2, 6, 6);
	unmap(sc, 2, VMM_KEEP_MAPPED);
	map(sc, 2, 6, 6);
	map(sc, 3, 5, 2);
	unmap(sc, 1, VMM_KEEP_HANDLE);
	map(sc, 1, 3, 1);
	unmap(sc, 2, VMM_KEEP_MAPPED);
	unmap(sc, 1, VMM_KEEP_MAPPED);
	/* Spare, idle and new handles in one run; the 6 must go. */
	map(sc, 4, 14, 1);
	unmap(sc, 3, VMM_RELEASE);
	unmap(sc, 4, VMM_KEEP_MAPPED);
	reclaim(sc, 6 * MIB);
	map(sc, 5, 9, 9);
	map(sc, 6, 2, 1);
	unmap(sc, 0, VMM_KEEP_MAPPED);
	reclaim(sc, 0);
	map(sc, 7, 3, 1);
	unmap(sc, 6, VMM_KEEP_HANDLE);
	unmap(sc, 5, VMM_KEEP_MAPPED);
	map(sc, 5, 4, 4);
}

/* How many calls of @op the script makes when nothing fails. */
static u64 calls_of_script(struct faulty *t, enum vmm_op op, u64 *with_close)
{
	struct script sc = { .t = t };
	u64 calls;

	vmm_fault_arm(&t->f, op, 0, 0, 0);
	space_open(t->s, 24, 8);
	run_script(&sc);
	KUNIT_EXPECT_EQ(t->s->test, sc.failures, 0);
	calls = t->f.calls[op];
	KUNIT_EXPECT_EQ(t->s->test, space_close(t->s), 0);
	*with_close = t->f.calls[op];
	return calls;
}

struct sweep {
	enum vmm_op op;
	int error;
};

static const struct sweep sweeps[] = {
	{ VMM_OP_RESERVE, -ENOMEM },
	{ VMM_OP_CREATE, -ENOMEM },
	{ VMM_OP_CREATE, -EIO },
	{ VMM_OP_MAP, -ENOMEM },
	{ VMM_OP_MAP, -EIO },
	{ VMM_OP_SET_ACCESS, -ENOMEM },
	{ VMM_OP_SET_ACCESS, -EIO },
	/* From here on memory may be lost. */
	{ VMM_OP_UNMAP, -EIO },
	{ VMM_OP_RELEASE, -EIO },
	{ VMM_OP_UNRESERVE, -EIO },
};
#define NR_HARMLESS 7

static void describe_sweep(const struct sweep *sweep, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s %d", vmm_op_name(sweep->op),
		 sweep->error);
}
KUNIT_ARRAY_PARAM(sweep, sweeps, describe_sweep);

static const void *harmless_gen_params(const void *prev, char *desc)
{
	if (prev == &sweeps[NR_HARMLESS - 1])
		return NULL;
	return sweep_gen_params(prev, desc);
}

/* An unmap or release that fails loses memory, which is told. */
static bool is_undo(enum vmm_op op)
{
	return op == VMM_OP_UNMAP || op == VMM_OP_RELEASE;
}

/* Open, script, close, with the @n-th call of the sweep failing. */
static void run_with_failure(struct faulty *t, const struct sweep *sweep,
			     u64 n, u64 count)
{
	struct script sc = { .t = t };
	struct kunit *test = t->s->test;
	int err;

	vmm_fault_arm(&t->f, sweep->op, n, count, sweep->error);
	err = space_try_open(t->s, 24, 8);
	if (err) {
		KUNIT_EXPECT_EQ(test, err, sweep->error);
		KUNIT_EXPECT_EQ(test, t->s->cnt.reserved, 0);
		KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(&t->f));
		return;
	}
	expect_books_agree(t);
	run_script(&sc);
	if (count > 1)
		vmm_fault_arm(&t->f, sweep->op, 0, 0, 0);
	err = space_close(t->s);
	/* A last failure in close itself is mended by close's retry. */
	KUNIT_EXPECT_EQ_MSG(test, err, 0, "%s number %llu",
			    vmm_op_name(sweep->op), (unsigned long long)n);
	KUNIT_EXPECT_EQ(test, t->s->cnt.lost, 0);
	KUNIT_EXPECT_EQ(test, t->s->cnt.created, 0);
	KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(&t->f));
}

/* The reservation whose unreserve() failed; only the wrapper remembers it. */
static void forget_reservation(struct faulty *t)
{
	const struct vmm *v = &t->s->v;

	for (u32 i = 0; i < v->nr_res; i++)
		(void)t->f.table.unreserve(&t->f, v->res[i].raw_addr,
					      v->res[i].raw_size);
}

static void each_call_fails_once(struct kunit *test)
{
	const struct sweep *sweep = test->param_value;
	struct faulty *t = test->priv;
	u64 calls, with_close;

	calls = calls_of_script(t, sweep->op, &with_close);
	KUNIT_ASSERT_GT(test, with_close, 0);
	for (u64 n = 1; n <= with_close; n++) {
		if (is_undo(sweep->op) && n <= calls)
			kunit_expect_report(test, REPORT_LOST);
		run_with_failure(t, sweep, n, 1);
	}
	kunit_info(test, "%llu calls, %llu with close",
		   (unsigned long long)calls, (unsigned long long)with_close);
}

/* The device is full, or broken, from some call on. */
static void all_calls_fail_from_one_on(struct kunit *test)
{
	const struct sweep *sweep = test->param_value;
	struct faulty *t = test->priv;
	u64 with_close;
	u64 calls;

	calls = calls_of_script(t, sweep->op, &with_close);
	for (u64 n = 1; n <= calls; n++)
		run_with_failure(t, sweep, n, ~(u64)0);
}

/*
 * Goal: an error path that fails itself. Method: pairs of a step and an undo,
 * each at every place. How many pairs meet and lose memory is not known before,
 * so one report is announced ahead of each run and kept for the next if it was
 * not needed; the last one is used up on purpose.
 */
static void each_step_fails_with_each_undo(struct kunit *test)
{
	const struct sweep *step = test->param_value;
	const struct sweep undo = { VMM_OP_UNMAP, step->error };
	struct faulty *t = test->priv;
	u64 steps, undos, n, m;
	u32 announced = 0, seen;

	steps = calls_of_script(t, step->op, &n);
	undos = calls_of_script(t, undo.op, &m);
	for (n = 1; n <= steps; n++) {
		for (m = 1; m <= undos; m++) {
			seen = kunit_report_count(test, REPORT_LOST);
			if (announced == seen) {
				kunit_expect_report(test, REPORT_LOST);
				announced++;
			}
			vmm_fault_arm(&t->f, step->op, n, 1, step->error);
			run_with_failure(t, &undo, m, 1);
		}
	}
	vmm_fault_arm(&t->f, step->op, 0, 0, 0);
	if (announced > kunit_report_count(test, REPORT_LOST))
		run_with_failure(t, &undo, 1, 1);
}

/* ---- Undo in reverse, and memory that is lost ------------------------- */

static void failed_map_gives_spare_handles_back(struct kunit *test)
{
	struct faulty *t = test->priv;
	struct space *s = t->s;
	u32 run, first;

	space_open(s, 32, 0);
	run = space_map(s, 4, 1);
	space_unmap_singles(s, run, 2, VMM_KEEP_HANDLE);
	space_mark(s);
	vmm_fault_arm(&t->f, VMM_OP_SET_ACCESS, 1, 1, -EIO);
	KUNIT_EXPECT_EQ(test, vmm_map(&s->v, 4, 1, &first), -EIO);
	EXPECT_ERROR_HAS(s, "set_access of 8192 KiB by backend fault");
	EXPECT_CALLS(s, 2, 4, 1, 4, 2);
	KUNIT_EXPECT_EQ(test, s->cnt.spare_handles, 2);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 8 * MIB);
	expect_books_agree(t);
}

static void full_device_gets_idle_memory_back(struct kunit *test)
{
	static const enum vmm_op ops[] = {
		VMM_OP_CREATE, VMM_OP_MAP, VMM_OP_SET_ACCESS,
	};
	struct faulty *t = test->priv;
	struct space *s = t->s;

	space_open(s, 64, 0);
	for (u32 i = 0; i < ARRAY_SIZE(ops); i++) {
		space_unmap(s, space_map(s, 8, 8), VMM_KEEP_MAPPED);
		space_unmap(s, space_map(s, 1, 1), VMM_KEEP_HANDLE);
		space_mark(s);
		vmm_fault_arm(&t->f, ops[i], 1, 1, -ENOMEM);
		space_map(s, 5, 5);
		EXPECT_CALLS(s, ops[i] == VMM_OP_CREATE ? 2 : 1,
			     ops[i] == VMM_OP_MAP ? 2 : 1,
			     ops[i] == VMM_OP_SET_ACCESS ? 2 : 1, 1, 2);
		KUNIT_EXPECT_EQ(test, s->cnt.idle, 0);
	}
}

/* Nothing idle: nothing changes between the two attempts, so there is one. */
static void full_device_is_asked_once(struct kunit *test)
{
	struct faulty *t = test->priv;
	struct space *s = t->s;
	u32 first;

	space_open(s, 64, 0);
	space_map(s, 8, 8);
	space_mark(s);
	vmm_fault_arm(&t->f, VMM_OP_CREATE, 1, ~(u64)0, -ENOMEM);
	KUNIT_EXPECT_EQ(test, vmm_map(&s->v, 5, 5, &first), -ENOMEM);
	EXPECT_ERROR_HAS(s, "create of 10240 KiB");
	EXPECT_CALLS(s, 1, 0, 0, 0, 0);
	vmm_fault_arm(&t->f, VMM_OP_CREATE, 0, 0, 0);
}

static void failed_unmap_loses_the_address(struct kunit *test)
{
	struct faulty *t = test->priv;
	struct space *s = t->s;
	u32 run;

	space_open(s, 32, 0);
	run = space_map(s, 3, 3);
	vmm_fault_arm(&t->f, VMM_OP_UNMAP, 1, 3, -EIO);
	kunit_expect_report(test, REPORT_LOST);
	KUNIT_EXPECT_EQ(test, vmm_unmap(&s->v, run, VMM_RELEASE), -EIO);
	KUNIT_EXPECT_REPORT_HAS(test, "6144 KiB are lost");
	KUNIT_EXPECT_REPORT_HAS(test, "unmap: Input/output error");
	EXPECT_ERROR_HAS(s, "lost");
	KUNIT_EXPECT_EQ(test, s->cnt.lost, 6 * MIB);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 6 * MIB);
	expect_books_agree(t);
	/* Neither used again nor the caller's. */
	KUNIT_EXPECT_EQ(test, vmm_unmap(&s->v, run, VMM_RELEASE), -EINVAL);
	KUNIT_EXPECT_EQ(test, space_map(s, 1, 1), run + 3);

	/* Two more refusals are not told again; the next try succeeds. */
	KUNIT_EXPECT_EQ(test, vmm_reclaim(&s->v, 0, true), -EIO);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(&s->v, 0, true), -EIO);
	expect_books_agree(t);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(&s->v, 0, true), 0);
	KUNIT_EXPECT_EQ(test, s->cnt.lost, 0);
	KUNIT_EXPECT_EQ(test, space_map(s, 3, 3), run);
}

static void failed_release_loses_only_memory(struct kunit *test)
{
	struct faulty *t = test->priv;
	struct space *s = t->s;
	u32 run;

	space_open(s, 32, 0);
	run = space_map(s, 3, 3);
	vmm_fault_arm(&t->f, VMM_OP_RELEASE, 1, 1, -EIO);
	kunit_expect_report(test, REPORT_LOST);
	KUNIT_EXPECT_EQ(test, vmm_unmap(&s->v, run, VMM_RELEASE), -EIO);
	KUNIT_EXPECT_EQ(test, s->cnt.lost, 6 * MIB);
	expect_books_agree(t);
	KUNIT_EXPECT_EQ(test, space_map(s, 3, 3), run);
	space_mark(s);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 12 * MIB);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(&s->v, 0, true), 0);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 6 * MIB);
	EXPECT_CALLS(s, 0, 0, 0, 0, 1);
}

/* What is lost counts against the limit, and says so. */
static void lost_memory_fills_the_limit(struct kunit *test)
{
	struct faulty *t = test->priv;
	struct space *s = t->s;
	u32 run, first;

	space_open(s, 8, 0);
	run = space_map(s, 6, 6);
	vmm_fault_arm(&t->f, VMM_OP_UNMAP, 1, 1, -EIO);
	kunit_expect_report(test, REPORT_LOST);
	KUNIT_EXPECT_EQ(test, vmm_unmap(&s->v, run, VMM_RELEASE), -EIO);
	KUNIT_EXPECT_EQ(test, vmm_map(&s->v, 3, 1, &first), -EDQUOT);
	space_map(s, 2, 1);
}

/* set_access fails, and so does each unmap: one report for the whole call. */
static void failed_undo_is_told_once(struct kunit *test)
{
	struct faulty *t = test->priv;
	struct space *s = t->s;
	u32 first;

	space_open(s, 32, 0);
	vmm_fault_arm(&t->f, VMM_OP_SET_ACCESS, 1, 1, -EIO);
	vmm_fault_arm(&t->f, VMM_OP_UNMAP, 1, 4, -EIO);
	kunit_expect_report(test, REPORT_LOST);
	KUNIT_EXPECT_EQ(test, vmm_map(&s->v, 4, 1, &first), -EIO);
	KUNIT_EXPECT_REPORT_HAS(test, "first of 4 handles");
	EXPECT_ERROR_HAS(s, "set_access");
	KUNIT_EXPECT_EQ(test, s->cnt.lost, 8 * MIB);
	expect_books_agree(t);
}

static void give_back_for_the_limit_may_lose(struct kunit *test)
{
	struct faulty *t = test->priv;
	struct space *s = t->s;
	u32 first;

	space_open(s, 8, 0);
	space_unmap(s, space_map(s, 6, 6), VMM_KEEP_MAPPED);
	vmm_fault_arm(&t->f, VMM_OP_UNMAP, 1, 1, -EIO);
	kunit_expect_report(test, REPORT_LOST);
	KUNIT_EXPECT_EQ(test, vmm_map(&s->v, 4, 4, &first), -EDQUOT);
	expect_books_agree(t);
}

/*
 * Goal: a device that takes nothing back leaves close no choice. What stays is
 * lost, its reservation too, and the space is closed all the same.
 */
static void close_tells_what_it_could_not_give_back(struct kunit *test)
{
	struct faulty *t = test->priv;
	struct space *s = t->s;
	u64 run_addr;
	u32 run;

	space_open(s, 32, 0);
	run = space_map(s, 2, 2);
	run_addr = vmm_addr(&s->v, vmm_chunk_offset(&s->v, run));
	space_map(s, 3, 1);
	/* The first unmap of close, and its retry at the end. */
	vmm_fault_arm(&t->f, VMM_OP_UNMAP, 1, ~(u64)0, -EIO);
	kunit_expect_report(test, REPORT_LOST);
	KUNIT_EXPECT_EQ(test, space_close(s), -EIO);
	KUNIT_EXPECT_REPORT_HAS(test, "10240 KiB are lost");
	KUNIT_EXPECT_EQ(test, s->cnt.lost, 10 * MIB);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 10 * MIB);
	KUNIT_EXPECT_EQ(test, t->f.mappings, 4);
	KUNIT_EXPECT_EQ(test, t->f.reservations, 1);
	KUNIT_EXPECT_EQ(test, s->cnt.calls[VMM_OP_UNRESERVE], 0);

	/* Mended by hand, since the wrapper still knows what there is. */
	vmm_fault_arm(&t->f, VMM_OP_UNMAP, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, t->f.table.unmap(&t->f, run_addr, 4 * MIB), 0);
	for (u32 i = 2; i < 5; i++)
		KUNIT_EXPECT_EQ(test, t->f.table.unmap(&t->f, run_addr +
							  i * 2 * MIB, 2 * MIB),
				0);
	forget_reservation(t);
	KUNIT_EXPECT_EQ(test, t->f.mappings, 0);
	KUNIT_EXPECT_EQ(test, t->f.reservations, 0);
	t->f.handles = t->f.created_bytes = 0;
}

static const struct kunit_case fault_cases[] = {
	KUNIT_CASE(wrapper_fails_what_it_is_told),
	KUNIT_CASE_PARAM(each_call_fails_once, sweep_gen_params),
	KUNIT_CASE_PARAM(all_calls_fail_from_one_on, harmless_gen_params),
	KUNIT_CASE_PARAM(each_step_fails_with_each_undo, harmless_gen_params),
	KUNIT_CASE(failed_map_gives_spare_handles_back),
	KUNIT_CASE(full_device_gets_idle_memory_back),
	KUNIT_CASE(full_device_is_asked_once),
	KUNIT_CASE(failed_unmap_loses_the_address),
	KUNIT_CASE(failed_release_loses_only_memory),
	KUNIT_CASE(lost_memory_fills_the_limit),
	KUNIT_CASE(failed_undo_is_told_once),
	KUNIT_CASE(give_back_for_the_limit_may_lose),
	KUNIT_CASE(close_tells_what_it_could_not_give_back),
	{ 0 }
};

static const struct kunit_suite fault_suite = {
	.name = "fault",
	.init = fault_test_init,
	.exit = fault_test_exit,
	.cases = fault_cases,
};
kunit_test_suite(fault_suite);
