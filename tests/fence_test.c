// SPDX-License-Identifier: BSD-2-Clause
/*
 * fence_test.c - memory that a device may be using is not unmapped: vmm/fence.c
 * over a device that is done when the test says so (slow_device.h).
 */
#include <errno.h>

#include "core/os.h"
#include "tests/crew.h"
#include "tests/random.h"
#include "tests/slow_device.h"
#include "vmm/internal.h"

static u64 unmaps(const struct space *s)
{
	return space_calls(s, VMM_OP_UNMAP);
}

static int reclaim(struct space *s, bool wait)
{
	int err = vmm_reclaim(&s->v, 0, wait);

	EXPECT_VALID(s);
	return err;
}

/* ---- What is unmapped, and when --------------------------------------- */

static void freed_memory_stays_until_its_work_is_done(struct kunit *test)
{
	struct space *s = slow_device_space(test, 16);
	u32 first = space_map(s, 3, 3);

	space_mark(s);
	space_unmap(s, first, VMM_RELEASE);
	KUNIT_EXPECT_EQ(test, s->cnt.idle, 6 * MIB);
	KUNIT_EXPECT_EQ(test, reclaim(s, false), 0);
	KUNIT_EXPECT_EQ(test, unmaps(s), 0);
	device_finish();
	KUNIT_EXPECT_EQ(test, unmaps(s), 0);
	KUNIT_EXPECT_EQ(test, reclaim(s, false), 0);
	EXPECT_CALLS(s, 0, 0, 0, 1, 1);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 0);
	KUNIT_EXPECT_EQ(test, device.waits, 0);
}

/* A device that is done already: the unmap itself gives back. */
static void quiet_memory_goes_at_once(struct kunit *test)
{
	struct space *s = slow_device_space(test, 16);
	u32 longer, single;

	device_be_prompt(true);
	longer = space_map(s, 3, 3);
	single = space_map(s, 1, 1);
	space_mark(s);
	space_unmap(s, longer, VMM_RELEASE);
	EXPECT_CALLS(s, 0, 0, 0, 1, 1);
	space_unmap(s, single, VMM_KEEP_HANDLE);
	EXPECT_CALLS(s, 0, 0, 0, 2, 1);
	KUNIT_EXPECT_EQ(test, s->cnt.spare_handles, 1);
	KUNIT_EXPECT_EQ(test, device.waits, 0);
}

static void busy_chunk_does_not_become_spare(struct kunit *test)
{
	struct space *s = slow_device_space(test, 16);

	space_mark(s);
	space_unmap(s, space_map(s, 1, 1), VMM_KEEP_HANDLE);
	KUNIT_EXPECT_EQ(test, s->cnt.spare_handles, 0);
	KUNIT_EXPECT_EQ(test, s->cnt.idle, 2 * MIB);
	KUNIT_EXPECT_EQ(test, unmaps(s), 0);
}

/* The next use is ordered behind the last by the stream. */
static void reuse_needs_no_event(struct kunit *test)
{
	struct space *s = slow_device_space(test, 16);
	u32 single = space_map(s, 1, 1), longer = space_map(s, 4, 4);

	space_mark(s);
	for (u32 i = 0; i < 5; i++) {
		space_unmap(s, single, VMM_KEEP_MAPPED);
		space_unmap(s, longer, VMM_KEEP_MAPPED);
		KUNIT_EXPECT_EQ(test, space_map(s, 1, 1), single);
		KUNIT_EXPECT_EQ(test, space_map(s, 4, 4), longer);
	}
	EXPECT_CALLS(s, 0, 0, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, space_calls(s, VMM_OP_EVENT), 0);
	KUNIT_EXPECT_EQ(test, device.records, 0);
}

static void one_event_covers_all_that_was_freed(struct kunit *test)
{
	struct space *s = slow_device_space(test, 64);
	u32 first = space_map(s, 12, 1);

	space_unmap_singles(s, first, 12, VMM_KEEP_MAPPED);
	space_unmap(s, space_map(s, 20, 20), VMM_KEEP_MAPPED);
	KUNIT_EXPECT_EQ(test, reclaim(s, false), 0);
	device_finish();
	KUNIT_EXPECT_EQ(test, reclaim(s, false), 0);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 0);
	KUNIT_EXPECT_EQ(test, device.records, 1);
	KUNIT_EXPECT_EQ(test, device.queries, 2);
}

static void event_says_nothing_of_what_came_after_it(struct kunit *test)
{
	struct space *s = slow_device_space(test, 64);
	u32 before = space_map(s, 2, 2), after = space_map(s, 3, 3);

	space_mark(s);
	space_unmap(s, before, VMM_RELEASE);
	KUNIT_EXPECT_EQ(test, device.records, 1);
	/* More work, and a free, behind the event. */
	KUNIT_EXPECT_EQ(test, vmm_fill(&s->v, vmm_chunk_addr(&s->v, after), 1,
				       1, NULL), 0);
	space_unmap(s, after, VMM_RELEASE);
	device_reach(device.event_at);
	KUNIT_EXPECT_EQ(test, reclaim(s, false), 0);
	KUNIT_EXPECT_EQ(test, unmaps(s), 1);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 6 * MIB);
	KUNIT_EXPECT_EQ(test, device.records, 2);
	device_finish();
	KUNIT_EXPECT_EQ(test, reclaim(s, false), 0);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 0);
}

static void second_use_has_a_time_of_its_own(struct kunit *test)
{
	struct space *s = slow_device_space(test, 64);
	u32 first = space_map(s, 1, 1);

	space_unmap(s, first, VMM_RELEASE);
	KUNIT_EXPECT_EQ(test, device.records, 1);
	KUNIT_EXPECT_EQ(test, space_map(s, 1, 1), first);
	space_unmap(s, first, VMM_KEEP_MAPPED);
	space_mark(s);
	device_reach(device.event_at);
	KUNIT_EXPECT_EQ(test, reclaim(s, false), 0);
	KUNIT_EXPECT_EQ(test, unmaps(s), 0);
	device_finish();
	KUNIT_EXPECT_EQ(test, reclaim(s, false), 0);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 0);
}

/* What was never handed out has no work in flight. */
static void undo_waits_for_nothing(struct kunit *test)
{
	struct space *s = slow_device_space(test, 8);
	u32 first;

	space_map(s, 6, 6);
	space_mark(s);
	KUNIT_EXPECT_EQ(test, vmm_map(&s->v, 3, 1, &first), -EDQUOT);
	KUNIT_EXPECT_EQ(test, space_calls(s, VMM_OP_EVENT), 0);
	EXPECT_CALLS(s, 0, 0, 0, 0, 0);
}

/* ---- Waiting ---------------------------------------------------------- */

struct request {
	struct space *s;
	u32 nr, first;
	int err;
};

static void ask_for_one_handle(void *arg)
{
	struct request *r = arg;

	r->err = vmm_map(&r->s->v, r->nr, r->nr, &r->first);
}

static void ask_for_trim(void *arg)
{
	struct request *r = arg;

	r->err = vmm_reclaim(&r->s->v, 0, true);
}

static void ask_for_quiet(void *arg)
{
	struct request *r = arg;

	r->err = vmm_quiesce(&r->s->v);
}

static void ask_for_numbers(void *arg)
{
	struct request *r = arg;

	r->err = vmm_hold(&r->s->v, r->nr, &r->first);
}

static void ask_for_close(void *arg)
{
	struct request *r = arg;

	r->err = space_close(r->s);
}

/*
 * Goal: whoever needs memory that the device uses waits for it, without the
 * lock. Method: a thread asks for one handle of all the limit, while chunks
 * freed under work take it; meanwhile this thread takes one and gives it back.
 */
static void limit_waits_without_the_lock(struct kunit *test)
{
	struct space *s = slow_device_space(test, 8);
	struct request r = { .s = s, .nr = 8, .err = 1 };
	struct crew *crew = crew_new(test, 1);
	u32 first = space_map(s, 8, 1);

	space_unmap_singles(s, first, 8, VMM_KEEP_MAPPED);
	space_mark(s);
	crew_start(crew, 0, ask_for_one_handle, &r);
	device_await_waiting(1);
	KUNIT_EXPECT_EQ(test, unmaps(s), 0);
	KUNIT_EXPECT_EQ(test, space_map(s, 1, 1), first);
	space_unmap(s, first, VMM_KEEP_MAPPED);
	EXPECT_VALID(s);
	device_finish();
	/* What was freed while it waited takes another turn. */
	while (!READ_ONCE(s->cnt.calls[VMM_OP_UNMAP]))
		device_finish();
	device_be_prompt(true);
	crew_wait(crew, 0);
	KUNIT_EXPECT_EQ(test, r.err, 0);
	EXPECT_CALLS(s, 1, 1, 1, 8, 8);
}

/* Idle mappings have what is held, and there are no further addresses. */
static void hold_waits_for_numbers(struct kunit *test)
{
	struct space *s = slow_device_space(test, 16);
	struct request r = { .s = s, .nr = 20, .err = 1 };
	struct crew *crew = crew_new(test, 1);

	s->v.same_layout = true;
	space_unmap_singles(s, space_map(s, 16, 1), 16, VMM_KEEP_MAPPED);
	crew_start(crew, 0, ask_for_numbers, &r);
	device_await_waiting(1);
	KUNIT_EXPECT_EQ(test, s->v.nr_held, 0);
	device_finish();
	device_be_prompt(true);
	crew_wait(crew, 0);
	KUNIT_ASSERT_EQ_MSG(test, r.err, 0, "%s", error_get());
	KUNIT_EXPECT_EQ(test, s->v.nr_held, 20);
	vmm_unhold(&s->v, r.first, 20);
	EXPECT_VALID(s);
	s->v.same_layout = false;
}

static void trim_waits_and_poll_does_not(struct kunit *test)
{
	struct space *s = slow_device_space(test, 16);
	struct request r = { .s = s, .err = 1 };
	struct crew *crew = crew_new(test, 1);

	space_unmap(s, space_map(s, 4, 4), VMM_KEEP_MAPPED);
	space_mark(s);
	KUNIT_EXPECT_EQ(test, reclaim(s, false), 0);
	KUNIT_EXPECT_EQ(test, device.waits, 0);
	crew_start(crew, 0, ask_for_trim, &r);
	device_await_waiting(1);
	KUNIT_EXPECT_EQ(test, unmaps(s), 0);
	device_finish();
	crew_wait(crew, 0);
	KUNIT_EXPECT_EQ(test, r.err, 0);
	KUNIT_EXPECT_EQ(test, unmaps(s), 1);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 0);
}

/* What is in use may have work in flight, too. */
static void quiesce_waits_for_what_is_in_use(struct kunit *test)
{
	struct space *s = slow_device_space(test, 16);
	struct request r = { .s = s, .err = 1 };
	struct crew *crew = crew_new(test, 1);

	space_map(s, 4, 4);
	crew_start(crew, 0, ask_for_quiet, &r);
	device_await_waiting(1);
	device_finish();
	crew_wait(crew, 0);
	KUNIT_EXPECT_EQ(test, r.err, 0);
	KUNIT_EXPECT_EQ(test, device.records, 1);
}

static void close_waits_for_what_is_in_use(struct kunit *test)
{
	struct space *s = slow_device_space(test, 16);
	struct request r = { .s = s, .err = 1 };
	struct crew *crew = crew_new(test, 1);

	space_map(s, 4, 4);
	space_map(s, 3, 1);
	space_unmap(s, space_map(s, 1, 1), VMM_KEEP_MAPPED);
	space_mark(s);
	crew_start(crew, 0, ask_for_close, &r);
	device_await_waiting(1);
	KUNIT_EXPECT_EQ(test, unmaps(s), 0);
	device_finish();
	crew_wait(crew, 0);
	KUNIT_EXPECT_EQ(test, r.err, 0);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 0);
	KUNIT_EXPECT_EQ(test, unmaps(s), 5);
}

/* ---- A capture -------------------------------------------------------- */

/* Nothing can be proved while it goes on, and nothing is lost by it. */
static void capture_leaves_memory_idle(struct kunit *test)
{
	struct space *s = slow_device_space(test, 8);
	u32 first = space_map(s, 4, 1), other;

	device.captures = true;
	space_mark(s);
	space_unmap(s, first, VMM_RELEASE);
	space_unmap_singles(s, first + 1, 3, VMM_KEEP_HANDLE);
	KUNIT_EXPECT_EQ(test, s->cnt.idle, 8 * MIB);
	KUNIT_EXPECT_EQ(test, reclaim(s, false), 0);
	KUNIT_EXPECT_EQ(test, reclaim(s, true), 0);
	EXPECT_CALLS(s, 0, 0, 0, 0, 0);
	/* What is idle serves, and so does what the limit leaves. */
	KUNIT_EXPECT_EQ(test, space_map(s, 2, 1), first);
	other = space_map(s, 4, 4);
	EXPECT_CALLS(s, 1, 1, 1, 0, 0);
	KUNIT_EXPECT_EQ(test, vmm_map(&s->v, 2, 2, &first), -ENOMEM);
	EXPECT_ERROR_HAS(s, "captured");
	EXPECT_VALID(s);
	KUNIT_EXPECT_EQ(test, vmm_quiesce(&s->v), -EAGAIN);
	device.captures = false;
	device_be_prompt(true);
	space_unmap(s, other, VMM_RELEASE);
	KUNIT_EXPECT_EQ(test, reclaim(s, true), 0);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 4 * MIB);
}

/* An event that was recorded before the capture began can still be asked. */
static void event_from_before_a_capture_counts(struct kunit *test)
{
	struct space *s = slow_device_space(test, 8);

	space_unmap(s, space_map(s, 4, 4), VMM_RELEASE);
	KUNIT_EXPECT_EQ(test, device.records, 1);
	device.captures = true;
	device_finish();
	KUNIT_EXPECT_EQ(test, reclaim(s, false), 0);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 0);
}

/*
 * A capture that has got hold of the event may record it at any time: another
 * takes its place, nothing is given back on its word, and all goes on.
 */
static void captured_event_is_replaced(struct kunit *test)
{
	int *const spoilt[] = { &device.record_err, &device.query_err,
				&device.wait_err };
	struct space *s = slow_device_space(test, 32);

	for (u32 i = 0; i < ARRAY_SIZE(spoilt); i++) {
		bool waits = spoilt[i] == &device.wait_err;

		space_unmap(s, space_map(s, 4, 4), VMM_KEEP_MAPPED);
		*spoilt[i] = -EXDEV;
		KUNIT_EXPECT_EQ(test, reclaim(s, waits), 0);
		KUNIT_EXPECT_EQ(test, s->cnt.created, 8 * MIB);
		KUNIT_EXPECT_EQ(test, s->v.fence_stamp, 0);
		KUNIT_EXPECT_EQ(test, device.creates, 2 + i);
		KUNIT_EXPECT_EQ(test, device.nr_events, 1);
		EXPECT_VALID(s);
		*spoilt[i] = 0;
		device_finish();
		device_be_prompt(true);
		KUNIT_EXPECT_EQ(test, reclaim(s, true), 0);
		KUNIT_EXPECT_EQ(test, s->cnt.created, 0);
		device_be_prompt(false);
	}
	/* Without another event the old one is asked, and refuses, again. */
	space_unmap(s, space_map(s, 4, 4), VMM_KEEP_MAPPED);
	device.record_err = -EXDEV;
	device.create_err = -EIO;
	KUNIT_EXPECT_EQ(test, reclaim(s, true), 0);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 8 * MIB);
	KUNIT_EXPECT_EQ(test, device.nr_events, 1);
	device.record_err = device.create_err = 0;
	device_be_prompt(true);
	KUNIT_EXPECT_EQ(test, reclaim(s, true), 0);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 0);
}

/* ---- Errors ----------------------------------------------------------- */

static void expect_event_error(struct space *s, int err)
{
	KUNIT_EXPECT_EQ(s->test, err, -EIO);
	EXPECT_ERROR_HAS(s, "event");
	EXPECT_ERROR_HAS(s, "Input/output error");
	KUNIT_EXPECT_EQ(s->test, unmaps(s), 0);
	EXPECT_VALID(s);
}

/* Each call that had to know says why it cannot; the memory stays idle. */
static void failing_event_keeps_memory(struct kunit *test)
{
	int *const errors[] = { &device.record_err, &device.query_err,
				&device.wait_err };
	struct space *s = slow_device_space(test, 8);
	u32 first;

	for (u32 i = 0; i < ARRAY_SIZE(errors); i++) {
		bool waits = errors[i] != &device.query_err;

		first = space_map(s, 8, 8);
		*errors[i] = -EIO;
		space_mark(s);
		KUNIT_EXPECT_EQ(test, vmm_unmap(&s->v, first, VMM_RELEASE), 0);
		KUNIT_EXPECT_EQ(test, s->cnt.idle, 16 * MIB);
		expect_event_error(s, vmm_reclaim(&s->v, 0, waits));
		if (waits)
			expect_event_error(s, vmm_map(&s->v, 8, 1, &first));
		if (waits)
			expect_event_error(s, vmm_quiesce(&s->v));
		*errors[i] = 0;
		device_be_prompt(true);
		KUNIT_EXPECT_EQ(test, reclaim(s, true), 0);
		KUNIT_EXPECT_EQ(test, s->cnt.created, 0);
		device_be_prompt(false);
	}
}

static void space_without_an_event_does_not_open(struct kunit *test)
{
	struct space *s = test->priv;

	device.create_err = -EIO;
	KUNIT_EXPECT_EQ(test, space_try_open(s, 8, 16), -EIO);
	EXPECT_ERROR_HAS(s, "event");
	KUNIT_EXPECT_EQ(test, s->cnt.reserved, 0);
	device.create_err = 0;
	/* An open that fails later gives the event back. */
	KUNIT_EXPECT_EQ(test, space_try_open(s, 8, 1024 * 1024), -EINVAL);
	KUNIT_EXPECT_EQ(test, device.nr_events, 0);
	slow_device_space(test, 8);
	KUNIT_EXPECT_EQ(test, device.nr_events, 1);
	device.destroy_err = -EIO;
}

/* What the device may still be using stays mapped: lost, and told. */
static void close_that_cannot_ask_unmaps_nothing(struct kunit *test)
{
	struct space *s = slow_device_space(test, 8);

	space_map(s, 8, 8);
	device.record_err = -EIO;
	kunit_expect_report(test, REPORT_LOST);
	KUNIT_EXPECT_EQ(test, space_close(s), -EIO);
	KUNIT_EXPECT_REPORT_HAS(test, "16384 KiB are lost");
	KUNIT_EXPECT_EQ(test, s->cnt.created, 16 * MIB);
	KUNIT_EXPECT_EQ(test, s->cnt.lost, 16 * MIB);
	KUNIT_EXPECT_EQ(test, device.nr_events, 0);
}

/* ---- Threads ---------------------------------------------------------- */

#define WORKERS 4u
#define STEPS 400u

struct worker {
	struct space *s;
	u64 random;
	u32 *left;		/* workers that have not ended */
};

static void take_and_leave(struct worker *w)
{
	static const enum vmm_giveback ways[] = {
		VMM_KEEP_MAPPED, VMM_KEEP_HANDLE, VMM_RELEASE,
	};
	u32 nr = 1 + random_below(&w->random, 6), first;
	u32 handle = random_below(&w->random, 2) ? nr : 1;
	struct vmm *v = &w->s->v;
	int err = vmm_map(v, nr, handle, &first);

	KUNIT_EXPECT_TRUE_MSG(device.test, !err || err == -EDQUOT ||
			      err == -ENOMEM, "%d: %s", err, error_get());
	if (err)
		return;
	for (u32 i = 0; i < nr; i++)
		KUNIT_EXPECT_EQ(device.test, vmm_fill(v, vmm_chunk_addr(v,
				first + i), 64, 1, NULL), 0);
	for (u32 i = 0; i < nr; i += handle)
		KUNIT_EXPECT_EQ(device.test, vmm_unmap(v, first + i,
				ways[random_below(&w->random, 3)]), 0);
}

static void work_under_the_limit(void *arg)
{
	struct worker *w = arg;

	for (u32 step = 0; step < STEPS; step++) {
		take_and_leave(w);
		if (!random_below(&w->random, 20))
			KUNIT_EXPECT_EQ(device.test, vmm_reclaim(&w->s->v,
				random_below(&w->random, 8) * 2 * MIB,
				random_below(&w->random, 2)), 0);
	}
	__atomic_fetch_sub(w->left, 1, __ATOMIC_RELEASE);
}

/* The device works a few points at a time, and captures now and then. */
static void run_device(u32 *left, u64 *random)
{
	while (__atomic_load_n(left, __ATOMIC_ACQUIRE)) {
		pthread_mutex_lock(&device.lock);
		device.captures = !random_below(random, 8);
		device.done = min(device.now, device.done + 1 +
				  random_below(random, 12));
		pthread_cond_broadcast(&device.changed);
		pthread_mutex_unlock(&device.lock);
		os_yield();
	}
}

static void threads_beside_a_slow_device(struct kunit *test)
{
	u64 random = random_seed(test);
	struct space *s = slow_device_space(test, 16);
	struct crew *crew = crew_new(test, WORKERS);
	struct worker workers[WORKERS];
	u32 left = WORKERS;

	for (u32 i = 0; i < WORKERS; i++) {
		workers[i] = (struct worker){ s, random + i, &left };
		crew_start(crew, i, work_under_the_limit, &workers[i]);
	}
	run_device(&left, &random);
	for (u32 i = 0; i < WORKERS; i++)
		crew_wait(crew, i);
	EXPECT_VALID(s);
	KUNIT_EXPECT_EQ(test, s->cnt.created, s->cnt.idle);
	KUNIT_EXPECT_EQ(test, s->cnt.lost, 0);
}

static const struct kunit_case fence_cases[] = {
	KUNIT_CASE(freed_memory_stays_until_its_work_is_done),
	KUNIT_CASE(quiet_memory_goes_at_once),
	KUNIT_CASE(busy_chunk_does_not_become_spare),
	KUNIT_CASE(reuse_needs_no_event),
	KUNIT_CASE(one_event_covers_all_that_was_freed),
	KUNIT_CASE(event_says_nothing_of_what_came_after_it),
	KUNIT_CASE(second_use_has_a_time_of_its_own),
	KUNIT_CASE(undo_waits_for_nothing),
	KUNIT_CASE(limit_waits_without_the_lock),
	KUNIT_CASE(hold_waits_for_numbers),
	KUNIT_CASE(trim_waits_and_poll_does_not),
	KUNIT_CASE(quiesce_waits_for_what_is_in_use),
	KUNIT_CASE(close_waits_for_what_is_in_use),
	KUNIT_CASE(capture_leaves_memory_idle),
	KUNIT_CASE(event_from_before_a_capture_counts),
	KUNIT_CASE(captured_event_is_replaced),
	KUNIT_CASE(failing_event_keeps_memory),
	KUNIT_CASE(space_without_an_event_does_not_open),
	KUNIT_CASE(close_that_cannot_ask_unmaps_nothing),
	KUNIT_CASE(threads_beside_a_slow_device),
	{ 0 }
};

static const struct kunit_suite fence_suite = {
	.name = "fence",
	.init = slow_device_init,
	.exit = slow_device_exit,
	.cases = fence_cases,
};
kunit_test_suite(fence_suite);
