// SPDX-License-Identifier: BSD-2-Clause
/*
 * vmm_wait_events.c - the events that a vmm asks a device by: which one, when
 * it is recorded, and who hears of it. vmm/fence.c; suite "vmm_wait_events".
 */
#include <errno.h>

#include "tests/crew.h"
#include "tests/vmm_wait.h"
#include "vmm/internal.h"

/* What was called for on behalf of another stream. */
static struct {
	u32 calls;
	int err;
	slabdev_stream_t on;
} stream_wait;

#define STREAM ((slabdev_stream_t)(void *)8192)

static int note_stream_wait(void *dev, slabdev_stream_t stream, u64 event)
{
	(void)dev;
	KUNIT_EXPECT_EQ(device.test, event, 4711);
	stream_wait.calls++;
	stream_wait.on = stream;
	return stream_wait.err;
}

static int events_init(struct kunit *test)
{
	int err = wait_init(test);

	fault.table.stream_wait = note_stream_wait;
	stream_wait.calls = 0;
	stream_wait.err = 0;
	return err;
}

/* ---- Replacing them ------------------------------------------------------ */

static void ask_for_trim(void *arg)
{
	struct space *s = arg;

	KUNIT_EXPECT_EQ(s->test, vmm_reclaim(&s->v, 0, true), 0);
}

/* An event that somebody waits for is not replaced under him. */
static void events_stay_while_they_are_waited_for(struct kunit *test)
{
	struct space *s = slow_device_space(test, 8);
	struct crew *crew = crew_new(test, 1);

	space_unmap(s, space_map(s, 4, 4), VMM_KEEP_MAPPED);
	crew_start(crew, 0, ask_for_trim, s);
	device_await_waiting(1);
	device.query_err = -EXDEV;
	look(s, -EAGAIN);
	KUNIT_EXPECT_EQ(test, device.creates, 1);
	KUNIT_EXPECT_EQ(test, device.nr_events, 1);
	device.query_err = 0;
	device_be_prompt(true);
	crew_wait(crew, 0);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 0);
}

/* One that was recorded already is the one to wait for. */
static void events_are_recorded_once(struct kunit *test)
{
	struct space *s = slow_device_space(test, 8);
	struct crew *crew = crew_new(test, 1);

	space_unmap(s, space_map(s, 4, 4), VMM_RELEASE);
	KUNIT_EXPECT_EQ(test, device.records, 1);
	crew_start(crew, 0, ask_for_trim, s);
	device_await_waiting(1);
	device_be_prompt(true);
	crew_wait(crew, 0);
	KUNIT_EXPECT_EQ(test, device.records, 1);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 0);
}

static u64 newest_event;
static int (*create_truly)(void *dev, u64 *event);
static int (*record_truly)(void *dev, u64 event, slabdev_stream_t stream);

static int create_numbered(void *dev, u64 *event)
{
	u64 same;
	int err = create_truly(dev, &same);

	if (!err)
		*event = ++newest_event;
	return err;
}

static int record_newest(void *dev, u64 event, slabdev_stream_t stream)
{
	KUNIT_EXPECT_EQ(device.test, event, newest_event);
	return record_truly(dev, 4711, stream);
}

/* In place of one that a capture has got hold of, another is recorded. */
static void the_replacement_is_recorded(struct kunit *test)
{
	struct space *s;

	create_truly = fault.table.event_create;
	record_truly = fault.table.event_record;
	fault.table.event_create = create_numbered;
	fault.table.event_record = record_newest;
	newest_event = 5000;
	s = slow_device_space(test, 8);
	space_unmap(s, space_map(s, 4, 4), VMM_KEEP_MAPPED);
	device.query_err = -EXDEV;
	look(s, -EAGAIN);
	KUNIT_EXPECT_EQ(test, newest_event, 5002);
	device.query_err = 0;
	device_be_prompt(true);
	look(s, 0);
	KUNIT_EXPECT_EQ(test, vmm_reclaim(&s->v, 0, true), 0);
	KUNIT_EXPECT_EQ(test, s->cnt.created, 0);
}

static void ask_for_quiet(void *arg)
{
	struct space *s = arg;

	KUNIT_EXPECT_EQ(s->test, vmm_quiesce(&s->v), 0);
}

/* What one thread lost meanwhile is not told again by who has waited. */
static void waiting_hears_nothing_of_others(struct kunit *test)
{
	struct space *s = slow_device_space(test, 8);
	struct crew *crew = crew_new(test, 1);
	u32 first;

	crew_start(crew, 0, ask_for_quiet, s);
	device_await_waiting(1);
	KUNIT_ASSERT_EQ(test, vmm_map_guarded(&s->v, 1, &first), 0);
	kunit_expect_report(test, REPORT_LOST);
	vmm_fault_arm(&fault, VMM_OP_UNMAP, 1, 1, -EPERM);
	KUNIT_EXPECT_EQ(test, vmm_unmap_guarded(&s->v, first, VMM_RELEASE),
			-EIO);
	device_be_prompt(true);
	crew_wait(crew, 0);
	KUNIT_EXPECT_EQ(test, kunit_report_count(test, REPORT_LOST), 1);
}

/* Another stream is put behind all that the bound one has by now. */
static void streams_wait_for_the_bound_one(struct kunit *test)
{
	struct space *s = slow_device_space(test, 8);

	KUNIT_EXPECT_EQ(test, vmm_wait_for_bound(&s->v, STREAM), 0);
	KUNIT_EXPECT_EQ(test, device.records, 1);
	KUNIT_EXPECT_EQ(test, stream_wait.calls, 1);
	KUNIT_EXPECT_PTR_EQ(test, stream_wait.on, STREAM);
	KUNIT_EXPECT_EQ(test, device.nr_events, 1);
	stream_wait.err = -ENXIO;
	KUNIT_EXPECT_EQ(test, vmm_wait_for_bound(&s->v, STREAM), -ENXIO);
	device.record_err = -EIO;
	KUNIT_EXPECT_EQ(test, vmm_wait_for_bound(&s->v, STREAM), -EIO);
	KUNIT_EXPECT_EQ(test, stream_wait.calls, 2);
	KUNIT_EXPECT_EQ(test, device.nr_events, 1);
	device.create_err = -EPERM;
	KUNIT_EXPECT_EQ(test, vmm_wait_for_bound(&s->v, STREAM), -EPERM);
	KUNIT_EXPECT_EQ(test, device.records, 3);
	KUNIT_EXPECT_EQ(test, device.nr_events, 1);
	device.create_err = device.record_err = 0;
	/* Work that is done when the call returns needs no waiting. */
	fault.table.synchronous = true;
	space_mark(s);
	KUNIT_EXPECT_EQ(test, vmm_wait_for_bound(&s->v, STREAM), 0);
	KUNIT_EXPECT_EQ(test, vmm_quiesce(&s->v), 0);
	KUNIT_EXPECT_EQ(test, space_calls(s, VMM_OP_EVENT), 0);
	fault.table.synchronous = false;
}

static const struct kunit_case events_cases[] = {
	KUNIT_CASE(events_stay_while_they_are_waited_for),
	KUNIT_CASE(events_are_recorded_once),
	KUNIT_CASE(the_replacement_is_recorded),
	KUNIT_CASE(waiting_hears_nothing_of_others),
	KUNIT_CASE(streams_wait_for_the_bound_one),
	{ 0 }
};

static const struct kunit_suite events_suite = {
	.name = "vmm_wait_events",
	.init = events_init,
	.exit = wait_exit,
	.cases = events_cases,
};
kunit_test_suite(events_suite);
