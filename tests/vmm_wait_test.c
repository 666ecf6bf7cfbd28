// SPDX-License-Identifier: BSD-2-Clause
/*
 * vmm_wait_test.c - what waits for a device, what does not, and for how long:
 * vmm/fence.c, and what vmm/map.c makes of it.
 *
 * The device is that of slow_device.h, done when the test says so, behind the
 * wrapper that fails calls. fence_test.c has what is unmapped when.
 */
#include <errno.h>

#include "tests/crew.h"
#include "tests/vmm_wait.h"
#include "vmm/internal.h"

/* ---- Memory that no work uses -------------------------------------------- */

/* The first of @nr chunks, mapped from quiet memory. */
static u32 map_quiet(struct space *s, u32 nr, u32 handle_chunks, bool still)
{
	u32 first = 0;

	KUNIT_ASSERT_EQ_MSG(s->test, vmm_map_quiet(&s->v, nr, handle_chunks,
						   still, &first), 0,
			    "%s", error_get());
	EXPECT_VALID(s);
	return first;
}

static void busy_runs_are_passed_over(struct kunit *test)
{
	struct space *s = slow_device_space(test, 64);
	u32 run = space_map(s, 3, 1), other;

	space_unmap_singles(s, run, 2, VMM_KEEP_MAPPED);
	look(s, -EBUSY);
	pause_device(s);
	/* The last of the three is busy, the first two are not. */
	KUNIT_EXPECT_EQ(test, vmm_fill(&s->v, vmm_chunk_addr(&s->v, run + 2),
				       1, 1, NULL), 0);
	space_unmap(s, run + 2, VMM_KEEP_MAPPED);
	space_mark(s);
	other = map_quiet(s, 3, 1, true);
	KUNIT_EXPECT_GE(test, other, run + 3);
	EXPECT_CALLS(s, 3, 3, 1, 0, 0);
	KUNIT_EXPECT_EQ(test, map_quiet(s, 2, 1, true), run);
	space_unmap_singles(s, run, 2, VMM_KEEP_MAPPED);
	look(s, -EBUSY);
	pause_device(s);
	KUNIT_EXPECT_EQ(test, map_quiet(s, 3, 1, true), run);
	EXPECT_CALLS(s, 3, 3, 1, 0, 0);
}

static void busy_handles_are_passed_over(struct kunit *test)
{
	struct space *s = slow_device_space(test, 64);
	u32 busy = space_map(s, 4, 4), first;

	space_unmap(s, busy, VMM_KEEP_MAPPED);
	space_mark(s);
	first = map_quiet(s, 4, 4, true);
	KUNIT_EXPECT_NE(test, first, busy);
	EXPECT_CALLS(s, 1, 1, 1, 0, 0);
	/* Who goes on in the order of the stream may have it. */
	KUNIT_EXPECT_EQ(test, vmm_reuse(&s->v, 4, 4, &first), 0);
	KUNIT_EXPECT_EQ(test, first, busy);
	KUNIT_EXPECT_EQ(test, vmm_reuse(&s->v, 4, 4, &first), -ENOENT);
	KUNIT_EXPECT_NE(test, vmm_chunk_stamp(&s->v, busy), 0);
	EXPECT_CALLS(s, 1, 1, 1, 0, 0);
	space_unmap(s, busy, VMM_KEEP_MAPPED);
	device_be_prompt(true);
	look(s, 0);
	KUNIT_EXPECT_EQ(test, map_quiet(s, 4, 4, true), busy);
	EXPECT_CALLS(s, 1, 1, 1, 0, 0);
}

/* ---- Rather fail than unmap anything ------------------------------------- */

static void still_fails_at_the_limit(struct kunit *test)
{
	struct space *s = slow_device_space(test, 8);
	u32 first = space_map(s, 6, 1);
	u32 got = 42;

	device_be_prompt(true);
	space_unmap_singles(s, first, 2, VMM_KEEP_HANDLE);
	KUNIT_EXPECT_EQ(test, s->cnt.spare_handles, 2);
	space_mark(s);
	/* Four in use, two spare: a fifth of four others is one too many. */
	KUNIT_EXPECT_EQ(test, vmm_map_quiet(&s->v, 5, 1, true, &got), -EDQUOT);
	KUNIT_EXPECT_EQ(test, vmm_map_quiet(&s->v, 3, 3, true, &got), -EDQUOT);
	KUNIT_EXPECT_EQ(test, got, 42);
	EXPECT_CALLS(s, 0, 0, 0, 0, 0);
	got = map_quiet(s, 4, 1, true);
	EXPECT_CALLS(s, 2, 4, 1, 0, 0);
	space_unmap_singles(s, got, 4, VMM_KEEP_MAPPED);
	look(s, 0);
	/* Idle memory of another shape would have to go. */
	space_mark(s);
	KUNIT_EXPECT_EQ(test, vmm_map_quiet(&s->v, 2, 2, true, &got), -EDQUOT);
	EXPECT_CALLS(s, 0, 0, 0, 0, 0);
	/* And goes, where it may: the next call is not still. */
	got = map_quiet(s, 2, 2, false);
	EXPECT_CALLS(s, 1, 1, 1, 2, 2);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 16 * MIB);
}

static void still_gives_nothing_back(struct kunit *test)
{
	struct space *s = slow_device_space(test, 16);
	u32 first;

	device_be_prompt(true);
	space_unmap(s, space_map(s, 4, 4), VMM_KEEP_MAPPED);
	look(s, 0);
	vmm_fault_arm(&fault, VMM_OP_CREATE, 1, 1, -ENOMEM);
	space_mark(s);
	KUNIT_EXPECT_EQ(test, vmm_map_quiet(&s->v, 2, 2, true, &first),
			-ENOMEM);
	EXPECT_CALLS(s, 1, 0, 0, 0, 0);
	vmm_fault_arm(&fault, VMM_OP_CREATE, 1, 1, -ENOMEM);
	space_mark(s);
	map_quiet(s, 2, 2, false);
	EXPECT_CALLS(s, 2, 1, 1, 1, 1);
	/* Still was that call, and no other after it. */
	space_unmap(s, space_map(s, 4, 4), VMM_KEEP_MAPPED);
	vmm_fault_arm(&fault, VMM_OP_CREATE, 1, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, vmm_map_quiet(&s->v, 2, 2, true, &first),
			-ENOMEM);
	vmm_fault_arm(&fault, VMM_OP_CREATE, 1, 1, -ENOMEM);
	KUNIT_EXPECT_EQ(test, vmm_extend(&s->v, 20, 1, 1), 0);
	/* Any other error says that it is of no use. */
	space_unmap(s, space_map(s, 4, 4), VMM_KEEP_MAPPED);
	vmm_fault_arm(&fault, VMM_OP_CREATE, 1, 1, -EIO);
	space_mark(s);
	KUNIT_EXPECT_EQ(test, vmm_map(&s->v, 3, 3, &first), -EIO);
	EXPECT_CALLS(s, 1, 0, 0, 0, 0);
}

/* ---- How long ------------------------------------------------------------ */

/* Work on what is in use is nothing to wait for. */
static void only_idle_memory_is_waited_for(struct kunit *test)
{
	struct space *s = slow_device_space(test, 8);
	u32 first = space_map(s, 2, 2);

	space_unmap(s, first, VMM_KEEP_MAPPED);
	KUNIT_EXPECT_EQ(test, space_map(s, 2, 2), first);
	vmm_fault_arm(&fault, VMM_OP_CREATE, 1, 1, -ENOMEM);
	space_mark(s);
	KUNIT_EXPECT_EQ(test, vmm_map(&s->v, 2, 2, &first), -ENOMEM);
	EXPECT_CALLS(s, 1, 0, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, device.waits, 0);
	EXPECT_ERROR_HAS(s, "create");
}

static struct space *hungry;
static u32 hungry_first;
static int (*wait_truly)(void *dev, u64 event);

/* Done; and meanwhile another thread has used the memory and freed it. */
static int wait_and_use_again(void *dev, u64 event)
{
	device_finish();
	(void)wait_truly(dev, event);
	KUNIT_EXPECT_EQ(device.test, space_map(hungry, 8, 8), hungry_first);
	space_unmap(hungry, hungry_first, VMM_KEEP_MAPPED);
	return 0;
}

/* Not for ever: where others use it again each time, it is not to be had. */
static void waiting_has_an_end(struct kunit *test)
{
	struct space *s = slow_device_space(test, 8);
	u32 first = 42, held;

	KUNIT_ASSERT_EQ(test, vmm_hold(&s->v, 2, &held), 0);
	hungry = s;
	hungry_first = space_map(s, 8, 8);
	space_unmap(s, hungry_first, VMM_KEEP_MAPPED);
	device_finish();
	wait_truly = fault.table.event_wait;
	fault.table.event_wait = wait_and_use_again;
	space_mark(s);
	KUNIT_EXPECT_EQ(test, vmm_map(&s->v, 4, 4, &first), -ENOMEM);
	EXPECT_ERROR_HAS(s, "not done with the memory that is idle");
	KUNIT_EXPECT_EQ(test, first, 42);
	EXPECT_CALLS(s, 0, 0, 0, 0, 0);
	/* An event from before, and one for what came after it, 64 times. */
	KUNIT_EXPECT_EQ(test, device.waits, 2 * 64);
	KUNIT_EXPECT_EQ(test, vmm_extend(&s->v, hungry_first + 8, 4, 4),
			-ENOMEM);
	KUNIT_EXPECT_EQ(test, device.waits, 2 * 2 * 64);
	KUNIT_EXPECT_EQ(test, vmm_map_held(&s->v, held, 2, 2), -ENOMEM);
	KUNIT_EXPECT_EQ(test, device.waits, 3 * 2 * 64);
	EXPECT_VALID(s);
	fault.table.event_wait = wait_truly;
	device_be_prompt(true);
	space_map(s, 4, 4);
}

/* ---- Waiting for a clock ------------------------------------------------- */

static void ask_to_settle(void *arg)
{
	struct space *s = arg;

	KUNIT_EXPECT_EQ(s->test, vmm_settle(&s->v, true), 0);
}

static void settling_waits_if_told(struct kunit *test)
{
	struct space *s = slow_device_space(test, 8);
	struct crew *crew = crew_new(test, 1);
	u64 clock;

	space_map(s, 1, 1);
	clock = vmm_clock(&s->v);
	look(s, -EBUSY);
	KUNIT_EXPECT_LT(test, vmm_quiet(&s->v), clock);
	KUNIT_EXPECT_EQ(test, device.waits, 0);
	crew_start(crew, 0, ask_to_settle, s);
	device_await_waiting(1);
	device_be_prompt(true);
	crew_wait(crew, 0);
	KUNIT_EXPECT_GE(test, vmm_quiet(&s->v), clock);
	look(s, 0);
}

static void settling_briefly_looks_so_often(struct kunit *test)
{
	struct space *s = slow_device_space(test, 8);

	space_map(s, 1, 1);
	KUNIT_EXPECT_EQ(test, vmm_settle_briefly(&s->v), -EBUSY);
	KUNIT_EXPECT_EQ(test, device.queries, 21);
	KUNIT_EXPECT_EQ(test, device.records, 1);
	KUNIT_EXPECT_EQ(test, device.waits, 0);
	device_be_prompt(true);
	KUNIT_EXPECT_EQ(test, vmm_settle_briefly(&s->v), 0);
	/* The event from before, and one for what came after it. */
	KUNIT_EXPECT_EQ(test, device.queries, 23);
	device.captures = true;
	device.records = 0;
	KUNIT_EXPECT_EQ(test, vmm_settle_briefly(&s->v), -EAGAIN);
	KUNIT_EXPECT_EQ(test, device.queries, 23);
	KUNIT_EXPECT_EQ(test, device.records, 1);
}

/* ---- The end ------------------------------------------------------------- */

/* What was handed out since counts again. */
static void quiet_spaces_do_not_stay_so(struct kunit *test)
{
	struct space *s = slow_device_space(test, 8);

	device_be_prompt(true);
	space_map(s, 1, 1);
	KUNIT_EXPECT_EQ(test, vmm_quiesce(&s->v), 0);
	KUNIT_EXPECT_TRUE(test, s->v.is_quiet);
	space_map(s, 1, 1);
	KUNIT_EXPECT_FALSE(test, s->v.is_quiet);
}

/* Give back what a close has left: handles of two chunks, and of one. */
static void give_back(struct space *s, const u64 ids[2])
{
	const struct vmm_reservation *res = &s->v.res[0];
	const u64 addr = res->addr;

	device_be_prompt(true);
	KUNIT_EXPECT_EQ(s->test, s->ops->unmap(s->dev, addr, 4 * MIB), 0);
	KUNIT_EXPECT_EQ(s->test, s->ops->unmap(s->dev, addr + 4 * MIB, 2 * MIB),
			0);
	for (u32 i = 0; i < 2; i++)
		KUNIT_EXPECT_EQ(s->test, s->ops->release(s->dev, ids[i],
				i ? 2 * MIB : 4 * MIB), 0);
	KUNIT_EXPECT_EQ(s->test, s->ops->unreserve(s->dev, res->raw_addr,
						   res->raw_size), 0);
}

static int gone(void *dev)
{
	(void)dev;
	return -EIO;
}

/* What cannot be asked about is lost, but where there is nothing, and where
 * nothing can be in use. */
static void the_end_asks_once(struct kunit *test)
{
	struct space *s = slow_device_space(test, 8);

	device_be_prompt(true);
	space_map(s, 1, 1);
	KUNIT_EXPECT_EQ(test, vmm_quiesce(&s->v), 0);
	space_mark(s);
	device.record_err = -EIO;
	KUNIT_EXPECT_EQ(test, space_close(s), 0);
	KUNIT_EXPECT_EQ(test, device.records, 1);

	device.record_err = 0;
	slow_device_space(test, 8);
	device.record_err = -EIO;
	KUNIT_EXPECT_EQ(test, space_close(s), 0);
	KUNIT_EXPECT_EQ(test, s->cnt.lost, 0);
	KUNIT_EXPECT_EQ(test, s->cnt.reserved, 0);

	device.record_err = 0;
	slow_device_space(test, 8);
	space_map(s, 1, 1);
	device.record_err = -EIO;
	fault.table.health = gone;
	KUNIT_EXPECT_EQ(test, space_close(s), 0);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 0);
	KUNIT_EXPECT_EQ(test, s->cnt.reserved, 0);
}

/* And where something may be in use, all of it is told of. */
static void the_end_tells_what_is_lost(struct kunit *test)
{
	struct space *s = slow_device_space(test, 8);
	char where[64];
	u64 ids[2];

	snprintf(where, sizeof(where), "still mapped at 0x%llx",
		 (unsigned long long)s->v.base);
	ids[0] = vmm_handle_at(&s->v, space_map(s, 2, 2))->id;
	ids[1] = vmm_handle_at(&s->v, space_map(s, 1, 1))->id;
	device.record_err = -EPERM;
	kunit_expect_report(test, REPORT_LOST);
	space_mark(s);
	KUNIT_EXPECT_EQ(test, space_close(s), -EIO);
	KUNIT_EXPECT_REPORT_HAS(test, "6144 KiB are lost");
	KUNIT_EXPECT_REPORT_HAS(test, "event: Operation not permitted (error "
				"-1) on the first of 2 handles");
	KUNIT_EXPECT_REPORT_HAS(test, where);
	KUNIT_EXPECT_STREQ(test, error_get(), "test: event of 0 KiB by backend "
			   "fault: Input/output error");
	KUNIT_EXPECT_EQ(test, s->cnt.lost, 6 * MIB);
	EXPECT_CALLS(s, 0, 0, 0, 0, 0);
	give_back(s, ids);
}

/* What is to stay is not asked about. */
static void keeping_all_asks_nothing(struct kunit *test)
{
	struct space *s = slow_device_space(test, 8);

	space_unmap(s, space_map(s, 2, 2), VMM_KEEP_MAPPED);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(&s->v, 4 * MIB, false), 0);
	KUNIT_EXPECT_EQ(test, device.records, 0);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(&s->v, 4 * MIB - 1, false), 0);
	KUNIT_EXPECT_EQ(test, device.records, 1);
	KUNIT_EXPECT_EQ(test, s->cnt.idle, 4 * MIB);
	/* What the driver says of it is the error, of whichever size. */
	device.query_err = -EIO;
	KUNIT_EXPECT_EQ(test, vmm_reclaim(&s->v, 0, false), -EIO);
	KUNIT_EXPECT_STREQ(test, error_get(), "test: event of 0 KiB by backend "
			   "fault: Input/output error");
}

/* ---- Memory in a place of its own ---------------------------------------- */

static void extend_eight(void *arg)
{
	struct space *s = arg;

	KUNIT_EXPECT_EQ(s->test, vmm_extend(&s->v, 4, 4, 9), 0);
}

static void growing_in_place_waits(struct kunit *test)
{
	struct space *s = slow_device_space(test, 8);
	struct crew *crew = crew_new(test, 1);
	u32 other;

	KUNIT_ASSERT_EQ(test, space_map(s, 4, 4), 0);
	KUNIT_EXPECT_EQ(test, vmm_extend(&s->v, 2, 4, 4), -EBUSY);
	KUNIT_EXPECT_EQ(test, vmm_extend(&s->v, 4, 5, 5), -EDQUOT);
	other = space_map(s, 1, 1);
	KUNIT_EXPECT_EQ(test, vmm_extend(&s->v, 4, 1, 1), -EBUSY);
	space_unmap(s, other, VMM_KEEP_MAPPED);
	device_be_prompt(true);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(&s->v, 0, true), 0);
	device_be_prompt(false);
	KUNIT_EXPECT_EQ(test, vmm_extend(&s->v, 4, 1, 1), 0);
	space_unmap(s, 4, VMM_RELEASE);
	device_be_prompt(true);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(&s->v, 0, true), 0);
	device_be_prompt(false);
	/* In the way of the limit, and not of the addresses. */
	KUNIT_ASSERT_EQ(test, vmm_extend(&s->v, 8, 2, 2), 0);
	KUNIT_EXPECT_EQ(test, vmm_fill(&s->v, vmm_chunk_addr(&s->v, 8), 1, 1,
				       NULL), 0);
	space_unmap(s, 8, VMM_KEEP_MAPPED);
	space_mark(s);
	crew_start(crew, 0, extend_eight, s);
	device_await_waiting(1);
	KUNIT_EXPECT_EQ(test, space_calls(s, VMM_OP_UNMAP), 0);
	device_be_prompt(true);
	crew_wait(crew, 0);
	EXPECT_CALLS(s, 1, 1, 1, 1, 1);
	EXPECT_VALID(s);
}

static void map_held_four(void *arg)
{
	struct space *s = arg;

	KUNIT_EXPECT_EQ(s->test, vmm_map_held(&s->v, s->v.lowest_held, 4, 4),
			0);
}

static void holds_wait_too(struct kunit *test)
{
	struct space *s = slow_device_space(test, 8);
	struct crew *crew = crew_new(test, 1);
	u32 held;

	KUNIT_ASSERT_EQ(test, vmm_hold(&s->v, 4, &held), 0);
	space_unmap(s, space_map(s, 8, 8), VMM_KEEP_MAPPED);
	crew_start(crew, 0, map_held_four, s);
	device_await_waiting(1);
	device_be_prompt(true);
	crew_wait(crew, 0);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 8 * MIB);
	KUNIT_EXPECT_EQ(test, vmm_mapped_held(&s->v, held, 4), 4);
	EXPECT_VALID(s);
}

static u32 hold_first;

static void hold_four(void *arg)
{
	struct space *s = arg;

	KUNIT_EXPECT_EQ(s->test, vmm_hold(&s->v, 4, &hold_first), 0);
}

/* Numbers of idle memory that may be in use. */
static void holds_wait_for_numbers(struct kunit *test)
{
	struct space *s = slow_device_space(test, 8);
	struct crew *crew = crew_new(test, 1);
	u32 held;

	s->v.max_chunks = 16;
	KUNIT_ASSERT_EQ(test, vmm_hold(&s->v, 8, &held), 0);
	space_unmap(s, space_map(s, 8, 8), VMM_KEEP_MAPPED);
	crew_start(crew, 0, hold_four, s);
	device_await_waiting(1);
	device_be_prompt(true);
	crew_wait(crew, 0);
	KUNIT_EXPECT_EQ(test, hold_first, 4);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 0);
	EXPECT_VALID(s);
}

/* What is guarded is not waited for. */
static void guarded_mappings_do_not_wait(struct kunit *test)
{
	struct space *s = slow_device_space(test, 8);
	u32 first = 42;

	space_unmap(s, space_map(s, 8, 8), VMM_KEEP_MAPPED);
	KUNIT_EXPECT_EQ(test, vmm_map_guarded(&s->v, 4, &first), -ENOMEM);
	EXPECT_ERROR_HAS(s, "not done with the memory that is idle");
	KUNIT_EXPECT_EQ(test, device.waits, 0);
	EXPECT_VALID(s);
	pause_device(s);
	KUNIT_EXPECT_EQ(test, vmm_map_guarded(&s->v, 4, &first), 0);
	/* What goes without its walls may be in use, as all that is idle. */
	KUNIT_EXPECT_EQ(test, vmm_fill(&s->v, vmm_chunk_addr(&s->v, first), 1,
				       1, NULL), 0);
	KUNIT_EXPECT_EQ(test, vmm_unmap_guarded(&s->v, first, VMM_KEEP_MAPPED),
			0);
	space_mark(s);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(&s->v, 0, false), 0);
	EXPECT_CALLS(s, 0, 0, 0, 0, 0);
}

static const struct kunit_case wait_cases[] = {
	KUNIT_CASE(busy_runs_are_passed_over),
	KUNIT_CASE(busy_handles_are_passed_over),
	KUNIT_CASE(still_fails_at_the_limit),
	KUNIT_CASE(still_gives_nothing_back),
	KUNIT_CASE(only_idle_memory_is_waited_for),
	KUNIT_CASE(waiting_has_an_end),
	KUNIT_CASE(settling_waits_if_told),
	KUNIT_CASE(settling_briefly_looks_so_often),
	KUNIT_CASE(quiet_spaces_do_not_stay_so),
	KUNIT_CASE(the_end_asks_once),
	KUNIT_CASE(the_end_tells_what_is_lost),
	KUNIT_CASE(keeping_all_asks_nothing),
	KUNIT_CASE(growing_in_place_waits),
	KUNIT_CASE(holds_wait_too),
	KUNIT_CASE(holds_wait_for_numbers),
	KUNIT_CASE(guarded_mappings_do_not_wait),
	{ 0 }
};

static const struct kunit_suite wait_suite = {
	.name = "vmm_wait",
	.init = wait_init,
	.exit = wait_exit,
	.cases = wait_cases,
};
kunit_test_suite(wait_suite);
