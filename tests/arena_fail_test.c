// SPDX-License-Identifier: BSD-2-Clause
/*
 * arena_fail_test.c - each call fails that an arena makes.
 *
 * One script runs again and again, and the first, the second, the third ...
 * call of a kind fails, until it runs through: of the backend, and of the
 * system for host memory. Each step works, or fails cleanly and changes
 * nothing; in the end everything goes back.
 */
#include <errno.h>
#include <sys/mman.h>

#include "core/log.h"
#include "core/os.h"
#include "tests/arena_space.h"
#include "tests/failing.h"
#include "vmm/fault.h"

/* What the script has. */
struct script {
	struct failing *t;
	struct slabdev_arena *arena[2];
	slabdev_stream_t queue[2];
	u32 failures;
};

static void expect_clean(struct script *sc, int err)
{
	struct kunit *test = sc->t->test;

	KUNIT_EXPECT_TRUE_MSG(test, err == -ENOMEM || err == -EDQUOT ||
			      err == -EIO || err == -EBUSY, "%d", err);
	KUNIT_EXPECT_STRNEQ(test, error_get(), "");
	sc->failures++;
}

static void create(struct script *sc, u32 i, u64 first_bytes,
		   slabdev_stream_t stream)
{
	struct slabdev_arena_attr attr = SLABDEV_ARENA_ATTR_INIT;
	int err;

	attr.max_bytes = 30 * MIB;
	attr.first_bytes = first_bytes;
	attr.grow_bytes = 4 * MIB;
	attr.stream = stream;
	err = slabdev_arena_create(&sc->arena[i], sc->t->sd, &attr);
	if (!err)
		return;
	KUNIT_EXPECT_NULL(sc->t->test, sc->arena[i]);
	expect_clean(sc, err);
}

static void take(struct script *sc, u32 i, u64 bytes)
{
	struct kunit *test = sc->t->test;
	struct slabdev_arena_stats before, after;
	char *p;

	if (!sc->arena[i])
		return;
	before = arena_figures(test, sc->arena[i]);
	p = slabdev_arena_alloc(sc->arena[i], bytes);
	after = arena_figures(test, sc->arena[i]);
	if (p && on_host())
		memset(p, 1, bytes);
	if (p)
		return;
	expect_clean(sc, -errno);
	KUNIT_EXPECT_EQ(test, after.failed, before.failed + 1);
	KUNIT_EXPECT_EQ(test, after.used, before.used);
	KUNIT_EXPECT_EQ(test, after.allocs, before.allocs);
}

static void must(struct script *sc, int err)
{
	if (err)
		expect_clean(sc, err);
}

/* Other memory takes the streams of its own driver. */
static void use_queues(struct script *sc, u32 i)
{
	if (!sc->arena[i] || !on_host())
		return;
	must(sc, slabdev_arena_use(sc->arena[i], sc->queue[0]));
	must(sc, slabdev_arena_use(sc->arena[i], sc->queue[1]));
}

static void mark_and_rewind(struct script *sc, u32 i)
{
	struct slabdev_arena_mark mark;
	int err;

	if (!sc->arena[i])
		return;
	err = slabdev_arena_mark(sc->arena[i], &mark);
	must(sc, err);
	take(sc, i, 5 * MIB);
	use_queues(sc, i);
	if (!err)
		must(sc, slabdev_arena_rewind(sc->arena[i], &mark));
}

static void reset(struct script *sc, u32 i)
{
	if (sc->arena[i])
		must(sc, slabdev_arena_reset(sc->arena[i]));
}

/* What cannot be waited for stays, and is destroyed when that can be. */
static void destroy(struct script *sc, u32 i)
{
	struct slabdev_arena_stats st;
	int err;

	if (!sc->arena[i])
		return;
	err = slabdev_arena_destroy(sc->arena[i]);
	must(sc, err);
	if (err && !slabdev_arena_stats(sc->arena[i], &st, sizeof(st)))
		KUNIT_EXPECT_EQ(sc->t->test,
				slabdev_arena_destroy(sc->arena[i]), 0);
	sc->arena[i] = NULL;
}

static void run_script(struct script *sc)
{
	struct slabdev *sd = sc->t->sd;

	create(sc, 0, 0, NULL);
	take(sc, 0, 100);
	take(sc, 0, 5 * MIB);
	create(sc, 1, 3 * MIB, sc->queue[0]);
	take(sc, 1, 6 * MIB);
	mark_and_rewind(sc, 0);
	take(sc, 0, 9 * MIB);
	reset(sc, 0);
	must(sc, slabdev_trim(sd, 0));
	take(sc, 0, 12 * MIB);
	use_queues(sc, 1);
	reset(sc, 1);
	must(sc, slabdev_poll(sd));
	take(sc, 1, 20 * MIB);
	destroy(sc, 0);
	must(sc, slabdev_trim(sd, 0));
	destroy(sc, 1);
}

/* ---- The backend --------------------------------------------------------- */

static const enum vmm_op swept[] = {
	VMM_OP_RESERVE, VMM_OP_CREATE, VMM_OP_MAP, VMM_OP_SET_ACCESS,
	VMM_OP_UNMAP, VMM_OP_RELEASE, VMM_OP_EVENT,
};

static void describe_op(const enum vmm_op *op, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", vmm_op_name(*op));
}
KUNIT_ARRAY_PARAM(op, swept, describe_op);

/* Nothing fails any more: arenas work, all goes back, the space closes. */
static void recover(struct script *sc)
{
	struct kunit *test = sc->t->test;
	struct slabdev *sd = sc->t->sd;
	struct slabdev_arena *arena;

	KUNIT_EXPECT_EQ(test, slabdev_trim(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, stats_of(test, sd).lost, 0);
	arena = new_arena(test, sd, 64 * MIB);
	arena_take(test, arena, 60 * MIB);
	expect_sound(test, sd);
	end_arena(test, arena);
	expect_empty(test, sd);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), 0);
	KUNIT_EXPECT_TRUE(test, vmm_fault_balanced(&sc->t->f));
}

static void begin(struct script *sc, struct failing *t)
{
	u32 i;

	*sc = (struct script){ .t = t };
	for (i = 0; i < 2 && on_host(); i++)
		KUNIT_ASSERT_EQ(t->test, slabdev_queue_create(&sc->queue[i],
							      0), 0);
}

static void end(struct script *sc)
{
	u32 i;

	recover(sc);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(sc->t->test,
				slabdev_queue_destroy(sc->queue[i]), 0);
}

/* How many calls of @op were made; with @n the n-th failed. */
static u64 run_once(struct kunit *test, enum vmm_op op, u64 n, int error,
		    u32 *failures)
{
	struct failing *t = test->priv;
	struct script sc;

	KUNIT_ASSERT_EQ(test, failing_open(t), 0);
	begin(&sc, t);
	vmm_fault_arm(&t->f, op, n, 1, error);
	run_script(&sc);
	*failures = sc.failures;
	n = t->f.calls[op];
	vmm_fault_arm(&t->f, op, 0, 0, 0);
	end(&sc);
	return n;
}

static void each_backend_call_fails(struct kunit *test)
{
	enum vmm_op op = *(const enum vmm_op *)test->param_value;
	u32 failures, most = 0;
	u64 calls, n;

	calls = run_once(test, op, 0, 0, &failures);
	KUNIT_EXPECT_EQ(test, failures, 0);
	for (n = 1; n <= calls; n++) {
		(void)run_once(test, op, n, n % 2 ? -EIO : -ENOMEM, &failures);
		most = max(most, failures);
	}
	kunit_info(test, "%llu calls", (unsigned long long)calls);
	if (op != VMM_OP_RESERVE)
		KUNIT_EXPECT_GT(test, most, 0);
}

/* ---- Host memory --------------------------------------------------------- */

static u64 commits, fail_at;

static int failing_commit(void *addr, size_t size)
{
	if (++commits == fail_at)
		return -ENOMEM;
	return mprotect(addr, size, PROT_READ | PROT_WRITE) ? -errno : 0;
}

/* Each piece of host memory that the script takes is not to be had, once. */
static void host_memory_is_lacking(struct kunit *test)
{
	struct failing *t = test->priv;
	struct script sc;
	u32 failures;
	u64 calls, n;

	kunit_activate_static_stub(test, os_commit, failing_commit);
	fail_at = 0;
	(void)run_once(test, VMM_OP_RESERVE, 0, 0, &failures);
	commits = 0;
	(void)run_once(test, VMM_OP_RESERVE, 0, 0, &failures);
	calls = commits;
	KUNIT_EXPECT_GT(test, calls, 0);
	for (n = 1; n <= calls; n++) {
		KUNIT_ASSERT_EQ(test, failing_open(t), 0);
		begin(&sc, t);
		commits = 0;
		fail_at = n;
		run_script(&sc);
		fail_at = 0;
		end(&sc);
	}
}

static const struct kunit_case arena_fail_cases[] = {
	KUNIT_CASE_PARAM(each_backend_call_fails, op_gen_params),
	KUNIT_CASE(host_memory_is_lacking),
	{ 0 }
};

static const struct kunit_suite arena_fail_suite = {
	.name = "arena_fail",
	.init = failing_init,
	.exit = failing_exit,
	.cases = arena_fail_cases,
	.any_space = true,
};
kunit_test_suite(arena_fail_suite);
