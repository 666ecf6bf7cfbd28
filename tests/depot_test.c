// SPDX-License-Identifier: BSD-2-Clause
/*
 * depot_test.c - stacks in the depot: each once, for ever, from any thread, in
 * a child, and as far as there is memory.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slabdev/slabdev.h>

#include "core/depot.h"
#include "core/os.h"
#include "core/stack.h"
#include "tests/crew.h"
#include "tests/random.h"

/* Addresses that nobody else in this process has saved. */
static void make_stack(const void **pc, u32 n, u64 seed)
{
	u32 i;

	for (i = 0; i < n; i++)
		pc[i] = (const void *)(uintptr_t)(seed * 0x10001 + i * 8 + 1);
}

static bool is_stack(u32 handle, u32 n, u64 seed)
{
	const void *wanted[STACK_MAX];
	const void *const *pc = NULL;

	make_stack(wanted, n, seed);
	return depot_fetch(handle, &pc) == n &&
	       !memcmp(pc, wanted, n * sizeof(*pc));
}

static u32 save(u32 n, u64 seed)
{
	const void *pc[STACK_MAX] = { NULL };

	make_stack(pc, n, seed);
	return depot_save(pc, n);
}

static void equal_stacks_have_one_handle(struct kunit *test)
{
	u32 handle = save(7, 1), i;
	u64 bytes;

	KUNIT_ASSERT_NE(test, handle, 0);
	bytes = depot_bytes();
	for (i = 0; i < 1000; i++)
		KUNIT_ASSERT_EQ(test, save(7, 1), handle);
	KUNIT_EXPECT_EQ(test, depot_bytes(), bytes);
	KUNIT_EXPECT_TRUE(test, is_stack(handle, 7, 1));
}

/* Also those that others begin with, and the least difference. */
static void other_stacks_have_others(struct kunit *test)
{
	const void *pc[STACK_MAX];
	u32 handle[STACK_MAX + 1], i, k;

	for (i = 1; i <= STACK_MAX; i++) {
		handle[i] = save(i, 2);
		KUNIT_ASSERT_NE(test, handle[i], 0);
		for (k = 1; k < i; k++)
			KUNIT_EXPECT_NE(test, handle[i], handle[k]);
	}
	for (i = 1; i <= STACK_MAX; i++)
		KUNIT_EXPECT_TRUE(test, is_stack(handle[i], i, 2));
	for (i = 0; i < STACK_MAX; i++) {
		make_stack(pc, STACK_MAX, 2);
		pc[i] = (const char *)pc[i] + 1;
		KUNIT_EXPECT_NE(test, depot_save(pc, STACK_MAX),
				handle[STACK_MAX]);
	}
}

static void no_stack_has_none(struct kunit *test)
{
	const void *const *pc = (const void *const *)&pc;

	KUNIT_EXPECT_EQ(test, save(0, 3), 0);
	KUNIT_EXPECT_EQ(test, depot_fetch(0, &pc), 0);
	KUNIT_EXPECT_NULL(test, pc);
}

static void deeper_ones_are_cut(struct kunit *test)
{
	const void *pc[3 * STACK_MAX];
	u32 handle;

	make_stack(pc, ARRAY_SIZE(pc), 4);
	handle = depot_save(pc, ARRAY_SIZE(pc));
	KUNIT_ASSERT_NE(test, handle, 0);
	KUNIT_EXPECT_TRUE(test, is_stack(handle, STACK_MAX, 4));
	KUNIT_EXPECT_EQ(test, depot_save(pc, STACK_MAX), handle);
}

/* ---- Threads ---------------------------------------------------------- */

#define NR_THREADS 8u
#define NR_STACKS 10000u

struct saver {
	u64 seed;	/* the same for two threads */
	u32 handle[NR_STACKS];
	u32 failures;
};

static u32 depth_of(u32 i)
{
	return 1 + i * 7 % STACK_MAX;
}

static void save_all(void *arg)
{
	struct saver *s = arg;
	u32 i;

	for (i = 0; i < NR_STACKS; i++) {
		s->handle[i] = save(depth_of(i), s->seed + i);
		s->failures += !is_stack(s->handle[i], depth_of(i),
					 s->seed + i);
	}
	for (i = 0; i < NR_STACKS; i++)
		s->failures += !is_stack(s->handle[i], depth_of(i),
					 s->seed + i);
}

static void threads_save_and_fetch(struct kunit *test)
{
	struct saver *savers = kunit_kzalloc(test, NR_THREADS *
					     sizeof(*savers));
	struct crew *crew = crew_new(test, NR_THREADS);
	u64 seed = random_seed(test) << 24;
	u32 i, k;

	for (i = 0; i < NR_THREADS; i++)
		savers[i].seed = seed + i / 2 * NR_STACKS;
	crew_all(crew, save_all, savers, sizeof(*savers));
	for (i = 0; i < NR_THREADS; i++)
		KUNIT_EXPECT_EQ(test, savers[i].failures, 0);
	for (i = 0; i < NR_THREADS; i += 2)
		KUNIT_EXPECT_MEMEQ(test, savers[i].handle,
				   savers[i + 1].handle,
				   sizeof(savers[i].handle));
	/* 8 bytes and 8 an address, and the table, in steps. */
	KUNIT_EXPECT_LE(test, depot_bytes(), 1 * MIB +
			NR_THREADS / 2 * NR_STACKS * (8 + 8 * 17 / 2));
	for (k = 0; k < NR_STACKS; k++)
		KUNIT_ASSERT_EQ(test, save(depth_of(k), seed + k),
				savers[0].handle[k]);
}

/* ---- A child ---------------------------------------------------------- */

static void save_until_told(void *arg)
{
	bool *end = arg;
	u64 i;

	for (i = 0; !READ_ONCE(*end); i++)
		(void)save(3, ((u64)6 << 40) + i % 100000);
}

/* While another thread saves: the lock is not lost to the child. The library
 * must be in use for it to know of forks. */
static void child_has_the_stacks(struct kunit *test)
{
	struct slabdev *sd = NULL;
	struct crew *crew = crew_new(test, 1);
	u32 handle = save(9, 5);
	int status = -1, i;
	bool end = false;
	pid_t pid;

	KUNIT_ASSERT_EQ(test, slabdev_open(&sd, "host", NULL), 0);
	crew_start(crew, 0, save_until_told, &end);
	for (i = 0; i < 30; i++) {
		pid = fork();
		if (!pid)
			_exit(!is_stack(handle, 9, 5) ||
			      save(9, 5) != handle ||
			      !is_stack(save(9, 1000 + (u64)i), 9,
					1000 + (u64)i));
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			break;
	}
	WRITE_ONCE(end, true);
	crew_wait(crew, 0);
	KUNIT_EXPECT_EQ(test, slabdev_close(sd, 0), 0);
	KUNIT_EXPECT_EQ(test, status, 0);
	KUNIT_EXPECT_EQ(test, i, 30);
}

/* ---- No memory -------------------------------------------------------- */

static u64 most;

/* No more addresses at once than that. */
static int reserve_up_to(size_t size, void **addr)
{
	if (size > most)
		return -ENOMEM;
	*addr = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	return *addr == MAP_FAILED ? -ENOMEM : 0;
}

static int refuse_commit(void *addr, size_t size)
{
	(void)addr;
	(void)size;
	return -ENOMEM;
}

static void no_memory_is_no_handle_and_not_for_ever(struct kunit *test)
{
	u32 handle;

	kunit_activate_static_stub(test, os_reserve, reserve_up_to);
	KUNIT_EXPECT_EQ(test, save(5, 6), 0);
	kunit_deactivate_static_stub(test, os_reserve);

	kunit_activate_static_stub(test, os_commit, refuse_commit);
	KUNIT_EXPECT_EQ(test, save(5, 6), 0);
	KUNIT_EXPECT_EQ(test, depot_bytes(), 0);
	kunit_deactivate_static_stub(test, os_commit);

	handle = save(5, 6);
	KUNIT_EXPECT_TRUE(test, is_stack(handle, 5, 6));
}

/* Where there are fewer addresses it is full sooner, and what is there stays.
 * The same when there is no more memory. */
static void full_depot_keeps_what_it_has(struct kunit *test)
{
	const u64 seed = (u64)7 << 40;
	u32 first, last = 0, handle, i;

	most = 2 * MIB;
	kunit_activate_static_stub(test, os_reserve, reserve_up_to);
	first = save(16, seed);
	KUNIT_ASSERT_NE(test, first, 0);
	for (i = 1; i < 100; i++)
		KUNIT_ASSERT_NE(test, save(16, seed + i), 0);
	kunit_activate_static_stub(test, os_commit, refuse_commit);
	for (; (handle = save(16, seed + i)); i++)
		last = handle;
	kunit_deactivate_static_stub(test, os_commit);
	KUNIT_EXPECT_TRUE(test, is_stack(last, 16, seed + i - 1));
	KUNIT_EXPECT_LT(test, i, 4000);
	for (; (handle = save(16, seed + i)); i++)
		last = handle;
	KUNIT_EXPECT_GT(test, i, 4000);
	KUNIT_EXPECT_TRUE(test, is_stack(last, 16, seed + i - 1));
	KUNIT_EXPECT_EQ(test, save(16, seed), first);
	KUNIT_EXPECT_TRUE(test, is_stack(first, 16, seed));
	KUNIT_EXPECT_LE(test, depot_bytes(), most);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(equal_stacks_have_one_handle),
	KUNIT_CASE(other_stacks_have_others),
	KUNIT_CASE(no_stack_has_none),
	KUNIT_CASE(deeper_ones_are_cut),
	KUNIT_CASE(threads_save_and_fetch, .isolated = true),
	KUNIT_CASE(child_has_the_stacks, .isolated = true),
	KUNIT_CASE(no_memory_is_no_handle_and_not_for_ever, .isolated = true),
	KUNIT_CASE(full_depot_keeps_what_it_has, .isolated = true),
	{ 0 }
};

static const struct kunit_suite depot_suite = {
	.name = "depot",
	.cases = cases,
};
kunit_test_suite(depot_suite);
