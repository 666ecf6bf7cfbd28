// SPDX-License-Identifier: BSD-2-Clause
/*
 * hazard_test.c - hazard mode finds what no stream order protects, and only
 * that.
 *
 * The cases tell the engine of objects at addresses that nobody has: what a
 * space does with its memory does not matter here.
 */
#include <pthread.h>
#include <slabdev/slabdev.h>
#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "slab/hazard.h"
#include "tests/kunit/kunit.h"

#define A ((slabdev_stream_t)(uintptr_t)0xa0)
#define B ((slabdev_stream_t)(uintptr_t)0xb0)
#define C ((slabdev_stream_t)(uintptr_t)0xc0)
#define CPU SLABDEV_HAZARD_HOST
#define OBJECT UINT64_C(0x10000)
#define SIZE UINT64_C(4096)

static const int space;

static int hazard_init(struct kunit *test)
{
	(void)test;
	hazard_reset();
	return 0;
}

static void hazard_exit(struct kunit *test)
{
	(void)test;
	hazard_reset();
}

static struct hazard_call on(slabdev_stream_t stream)
{
	return (struct hazard_call){
		.space = &space,
		.name = "fake",
		.stream = stream,
		.site = __builtin_return_address(0),
	};
}

static void allocate(u64 addr, slabdev_stream_t stream)
{
	struct hazard_call by = on(stream);

	hazard_alloc(&by, addr, SIZE);
}

static void use(u64 addr, slabdev_stream_t stream)
{
	struct hazard_call by = on(stream);

	hazard_use(&by, addr);
}

static int touch(u64 addr, slabdev_stream_t stream)
{
	struct hazard_call by = on(stream);

	return hazard_access(&by, addr);
}

static int release(u64 addr, slabdev_stream_t stream)
{
	struct hazard_call by = on(stream);

	return hazard_free(&by, addr, false);
}

/* The same of what a graph has. */
static int release_held(u64 addr, slabdev_stream_t stream)
{
	struct hazard_call by = on(stream);

	return hazard_free(&by, addr, true);
}

/* @later comes after what is in @earlier now. */
static void order(slabdev_stream_t later, slabdev_stream_t earlier)
{
	static u64 event;

	hazard_record(++event, earlier);
	hazard_wait(later, event);
}

#define EXPECT_QUIET(test, call) KUNIT_EXPECT_EQ(test, call, 0)
#define EXPECT_HAZARD(test, call, text)					\
do {									\
	kunit_expect_report(test, REPORT_HAZARD);			\
	KUNIT_EXPECT_EQ(test, call, 1);					\
	KUNIT_EXPECT_REPORT_HAS(test, text);				\
} while (0)

/* ---- The rules ----------------------------------------------------------- */

static void one_stream(struct kunit *test)
{
	allocate(OBJECT, A);
	EXPECT_QUIET(test, touch(OBJECT, A));
	EXPECT_QUIET(test, touch(OBJECT + SIZE - 1, A));
	EXPECT_QUIET(test, release(OBJECT, A));
	allocate(OBJECT, B);
	EXPECT_QUIET(test, touch(OBJECT, B));
	EXPECT_QUIET(test, release(OBJECT, B));
}

static void access_behind_the_allocation(struct kunit *test)
{
	allocate(OBJECT, A);
	order(B, A);
	EXPECT_QUIET(test, touch(OBJECT, B));
	EXPECT_HAZARD(test, touch(OBJECT, C), "not ordered behind the "
		      "allocation");
	KUNIT_EXPECT_REPORT_HAS(test, "allocated on stream 0xa0 at");
	KUNIT_EXPECT_REPORT_HAS(test, "accessed  on stream 0xc0 at");
	KUNIT_EXPECT_REPORT_HAS(test, "order stream 0xc0 behind stream 0xa0");
	EXPECT_HAZARD(test, touch(OBJECT, CPU), "order the CPU behind stream "
		      "0xa0");
}

static void an_event_says_nothing_of_later_work(struct kunit *test)
{
	hazard_record(1, A);
	allocate(OBJECT, A);
	hazard_wait(B, 1);
	EXPECT_HAZARD(test, touch(OBJECT, B), "behind the allocation");
	hazard_wait(B, 77);
	EXPECT_HAZARD(test, touch(OBJECT, B), "behind the allocation");
	hazard_record(1, A);
	hazard_wait(B, 1);
	EXPECT_QUIET(test, touch(OBJECT, B));
}

static void what_the_cpu_has_waited_for(struct kunit *test)
{
	allocate(OBJECT, A);
	EXPECT_QUIET(test, touch(OBJECT, A));
	hazard_sync(A);
	EXPECT_QUIET(test, touch(OBJECT, CPU));
	EXPECT_QUIET(test, touch(OBJECT, B));
	hazard_sync(CPU);
	EXPECT_QUIET(test, release(OBJECT, C));
}

static void free_behind_the_accesses(struct kunit *test)
{
	allocate(OBJECT, CPU);
	EXPECT_QUIET(test, touch(OBJECT, A));
	EXPECT_QUIET(test, touch(OBJECT, B));
	order(C, A);
	EXPECT_HAZARD(test, release(OBJECT, C), "freed while another stream "
		      "may still use it");
	KUNIT_EXPECT_REPORT_HAS(test, "BUG slabdev fake: ");
	KUNIT_EXPECT_REPORT_HAS(test, "object 0x10000 of 4096 bytes");
	KUNIT_EXPECT_REPORT_HAS(test, "allocated on the CPU at");
	KUNIT_EXPECT_REPORT_HAS(test, "accessed  on stream 0xb0 at");
	KUNIT_EXPECT_REPORT_HAS(test, "freed     on stream 0xc0 at");
	KUNIT_EXPECT_REPORT_HAS(test, "order stream 0xc0 behind stream 0xb0");
	KUNIT_EXPECT_REPORT_HAS(test, "slabdev_use(object, stream 0xb0)");
}

static void free_by_the_cpu(struct kunit *test)
{
	allocate(OBJECT, CPU);
	EXPECT_QUIET(test, touch(OBJECT, A));
	EXPECT_HAZARD(test, release(OBJECT, CPU), "stream 0xa0 synchronized "
		      "after the access, before the free");
	allocate(OBJECT, CPU);
	EXPECT_QUIET(test, touch(OBJECT, A));
	hazard_sync(A);
	EXPECT_QUIET(test, release(OBJECT, CPU));
}

static void free_behind_the_allocation(struct kunit *test)
{
	allocate(OBJECT, A);
	EXPECT_HAZARD(test, release(OBJECT, B), "after the allocation, waited "
		      "for in stream 0xb0");
}

static void used_streams_are_waited_for(struct kunit *test)
{
	allocate(OBJECT, A);
	use(OBJECT, B);
	order(B, A);
	EXPECT_QUIET(test, touch(OBJECT, B));
	/* What is in B by the free counts, and with it C's. */
	order(C, A);
	EXPECT_QUIET(test, touch(OBJECT, C));
	order(B, C);
	EXPECT_QUIET(test, release(OBJECT, A));
}

static void a_use_counts_once(struct kunit *test)
{
	u32 i;

	allocate(OBJECT, A);
	for (i = 0; i < 20; i++)
		use(OBJECT, A);
	use(OBJECT, B);
	order(B, A);
	EXPECT_QUIET(test, touch(OBJECT, B));
	EXPECT_QUIET(test, release(OBJECT, A));
}

/* A stream that is detached is waited for as far as it had come. */
static void a_detached_stream(struct kunit *test)
{
	allocate(OBJECT, A);
	use(OBJECT, B);
	order(B, A);
	EXPECT_QUIET(test, touch(OBJECT, B));
	hazard_detach(&space, B);
	/* Of the free too: it waits for what B had, and that was behind A. */
	EXPECT_QUIET(test, release(OBJECT, C));
	allocate(OBJECT, A);
	use(OBJECT, B);
	order(B, A);
	hazard_detach(&space, B);
	EXPECT_QUIET(test, touch(OBJECT, B));
	EXPECT_HAZARD(test, release(OBJECT, A), "accessed  on stream 0xb0");
	/* Another one, or another space, is nothing to it. */
	allocate(OBJECT, A);
	use(OBJECT, B);
	order(B, A);
	hazard_detach(&space, C);
	hazard_detach(test, B);
	EXPECT_QUIET(test, touch(OBJECT, B));
	EXPECT_QUIET(test, release(OBJECT, A));
}

/* What comes after a mark is not waited for with it. */
static void a_mark_is_a_moment(struct kunit *test)
{
	u64 mark;

	allocate(OBJECT, CPU);
	EXPECT_QUIET(test, touch(OBJECT, A));
	mark = hazard_mark(A);
	hazard_pass(mark, NULL);
	mark = hazard_mark(A);
	EXPECT_QUIET(test, touch(OBJECT + 1, A));
	hazard_pass(mark, CPU);
	EXPECT_HAZARD(test, release(OBJECT, CPU), "accessed  on stream 0xa0");
	allocate(OBJECT, CPU);
	EXPECT_QUIET(test, touch(OBJECT, A));
	mark = hazard_mark(A);
	hazard_pass(mark, B);
	EXPECT_QUIET(test, release(OBJECT, B));
}

static void nothing_after_the_free(struct kunit *test)
{
	allocate(OBJECT, A);
	EXPECT_QUIET(test, release(OBJECT, A));
	EXPECT_HAZARD(test, touch(OBJECT + 5, A), "accessed after the free");
	EXPECT_HAZARD(test, touch(OBJECT + SIZE, A), "no object was ever at "
		      "0x11000");
	/* Another object in part of the memory. */
	allocate(OBJECT + SIZE / 2, B);
	EXPECT_QUIET(test, touch(OBJECT + SIZE / 2, B));
	EXPECT_HAZARD(test, touch(OBJECT, B), "no object was ever");
}

static void default_streams(struct kunit *test)
{
	allocate(OBJECT, A);
	EXPECT_QUIET(test, touch(OBJECT, NULL));
	EXPECT_QUIET(test, touch(OBJECT, B));
	EXPECT_QUIET(test, release(OBJECT, SLABDEV_STREAM_LEGACY));
	allocate(OBJECT, A);
	EXPECT_HAZARD(test, touch(OBJECT, SLABDEV_STREAM_PER_THREAD),
		      "the default stream of thread");
	order(SLABDEV_STREAM_PER_THREAD, A);
	EXPECT_QUIET(test, release(OBJECT, SLABDEV_STREAM_PER_THREAD));
	allocate(OBJECT, NULL);
	EXPECT_QUIET(test, touch(OBJECT, A));
	EXPECT_QUIET(test, touch(OBJECT, C));
}

static void *touch_elsewhere(void *found)
{
	*(int *)found = touch(OBJECT, SLABDEV_STREAM_PER_THREAD);
	return NULL;
}

/* Each thread has its own. */
static void default_streams_of_two_threads(struct kunit *test)
{
	pthread_t thread;
	int found = -1;

	allocate(OBJECT, SLABDEV_STREAM_PER_THREAD);
	EXPECT_QUIET(test, touch(OBJECT, SLABDEV_STREAM_PER_THREAD));
	kunit_expect_report(test, REPORT_HAZARD);
	KUNIT_ASSERT_EQ(test, pthread_create(&thread, NULL, touch_elsewhere,
					     &found), 0);
	KUNIT_ASSERT_EQ(test, pthread_join(thread, NULL), 0);
	KUNIT_EXPECT_EQ(test, found, 1);
}

static void a_space_is_forgotten(struct kunit *test)
{
	u64 i;

	for (i = 0; i < 1000; i++)
		allocate(i * SIZE, A);
	hazard_forget_space(&space);
	EXPECT_HAZARD(test, touch(OBJECT, A), "no object");
}

/* ---- Captures ------------------------------------------------------------ */

static const int graph, other_graph;

/* The rules hold among streams of one capture, wherever it spreads. */
static void within_a_capture(struct kunit *test)
{
	hazard_capture_begin(A, &graph);
	allocate(OBJECT, A);
	order(B, A);
	EXPECT_QUIET(test, touch(OBJECT, B));
	order(C, B);
	EXPECT_QUIET(test, touch(OBJECT, C));
	EXPECT_HAZARD(test, release_held(OBJECT, A), "may still use it");
	allocate(OBJECT, A);
	EXPECT_HAZARD(test, touch(OBJECT, C), "behind the allocation");
	order(C, A);
	EXPECT_QUIET(test, touch(OBJECT, C));
	order(A, C);
	EXPECT_QUIET(test, release_held(OBJECT, A));
	hazard_capture_end(&graph);
	/* The same streams run again, and are not in order. */
	allocate(OBJECT, A);
	EXPECT_HAZARD(test, touch(OBJECT, B), "behind the allocation");
	hazard_sync(A);
	hazard_sync(B);
	EXPECT_QUIET(test, release(OBJECT, CPU));
}

/* Of two that were declared, each on a stream. */
static void captures_that_meet(struct kunit *test)
{
	hazard_capture_begin(A, &graph);
	hazard_capture_begin(B, &other_graph);
	allocate(OBJECT, A);
	/* Nobody knows yet that they are one. */
	EXPECT_QUIET(test, touch(OBJECT, B));
	hazard_record(1, A);
	allocate(OBJECT, A);
	hazard_wait(B, 1);
	EXPECT_HAZARD(test, touch(OBJECT, B), "behind the allocation");
	order(B, A);
	EXPECT_QUIET(test, touch(OBJECT, B));
	hazard_capture_end(&graph);
	hazard_capture_end(&other_graph);
	/* What they did before they met belongs to the one capture, too. */
	hazard_capture_begin(A, &graph);
	hazard_capture_begin(B, &other_graph);
	allocate(OBJECT, A);
	EXPECT_QUIET(test, touch(OBJECT, B));
	order(B, A);
	EXPECT_HAZARD(test, release_held(OBJECT, A), "may still use it");
}

/* A graph is launched anywhere: with what runs there is no order to miss. */
/* What was said of a stream holds when its capture becomes another one's. */
static void uses_in_captures_that_meet(struct kunit *test)
{
	allocate(OBJECT, CPU);
	hazard_capture_begin(A, &graph);
	hazard_capture_begin(B, &other_graph);
	use(OBJECT, B);
	order(B, A);
	EXPECT_QUIET(test, touch(OBJECT, B));
	EXPECT_QUIET(test, release(OBJECT, A));
	hazard_capture_end(&graph);
	hazard_capture_end(&other_graph);
}

/* A mark in a capture is like an event there: the CPU cannot wait for it, and
 * who does is captured. */
static void marks_in_a_capture(struct kunit *test)
{
	allocate(OBJECT, CPU);
	hazard_capture_begin(A, &graph);
	EXPECT_QUIET(test, touch(OBJECT, A));
	hazard_pass(hazard_mark(A), CPU);
	allocate(OBJECT + SIZE, A);
	hazard_pass(hazard_mark(A), B);
	EXPECT_QUIET(test, touch(OBJECT + SIZE, B));
	hazard_capture_end(&graph);
	EXPECT_HAZARD(test, release(OBJECT, CPU), "freed while a graph may");
}

static void captured_and_running(struct kunit *test)
{
	allocate(OBJECT, A);
	hazard_capture_begin(B, &graph);
	EXPECT_QUIET(test, touch(OBJECT, B));
	allocate(OBJECT + SIZE, B);
	hazard_record(1, B);
	hazard_capture_end(&graph);
	hazard_wait(C, 1);
	EXPECT_QUIET(test, touch(OBJECT + SIZE, C));
	EXPECT_QUIET(test, touch(OBJECT + SIZE, B));
	/* The graph has it: who still uses it does not matter yet. */
	EXPECT_QUIET(test, release_held(OBJECT + SIZE, A));
	/* But this one it does not have. */
	EXPECT_HAZARD(test, release(OBJECT, A), "freed while a graph may");
	KUNIT_EXPECT_REPORT_HAS(test, "captured  on stream 0xb0 at");
	KUNIT_EXPECT_REPORT_HAS(test, "slabdev_use(object, stream 0xb0) in "
				"the capture");
}

/* The CPU, and the legacy stream, do not wait for what was captured. */
static void nobody_waits_for_a_capture(struct kunit *test)
{
	u32 i;

	for (i = 0; i < 4; i++) {
		allocate(OBJECT, CPU);
		hazard_capture_begin(A, &graph);
		EXPECT_QUIET(test, touch(OBJECT, A));
		hazard_record(1, A);
		hazard_capture_end(&graph);
		if (i == 0)
			hazard_sync(CPU);
		else if (i == 1)
			hazard_sync(A);
		else if (i == 2)
			hazard_wait(CPU, 1);
		else
			use(OBJECT, NULL);
		EXPECT_HAZARD(test, release(OBJECT, NULL), "while a graph may");
	}
}

static void a_released_graph(struct kunit *test)
{
	allocate(OBJECT, CPU);
	hazard_capture_begin(A, &graph);
	EXPECT_QUIET(test, touch(OBJECT, A));
	order(B, A);
	EXPECT_QUIET(test, touch(OBJECT, B));
	order(A, B);
	hazard_capture_end(&graph);
	hazard_graph_release(&other_graph);
	hazard_graph_release(&graph);
	EXPECT_QUIET(test, release(OBJECT, C));
}

/* ---- Limits -------------------------------------------------------------- */

static slabdev_stream_t stream_nr(u64 i)
{
	return (slabdev_stream_t)(uintptr_t)(0x1000 + i);
}

/* Streams beyond those that are followed make nothing up. */
static void too_many_streams(struct kunit *test)
{
	u64 i;

	allocate(OBJECT, A);
	for (i = 0; i < 400; i++) {
		order(stream_nr(i), A);
		EXPECT_QUIET(test, touch(OBJECT, stream_nr(i)));
	}
	/* By way of one that is not. */
	order(B, stream_nr(399));
	EXPECT_QUIET(test, touch(OBJECT, B));
	EXPECT_HAZARD(test, release(OBJECT, A), "may still use it");
	allocate(OBJECT, B);
	for (i = 0; i < 400; i++)
		order(B, stream_nr(i));
	EXPECT_QUIET(test, release(OBJECT, B));
}

/* Those that the CPU has waited for make room. */
static void many_streams_one_by_one(struct kunit *test)
{
	u64 i;

	for (i = 0; i < 1000; i++) {
		allocate(OBJECT, stream_nr(i));
		EXPECT_QUIET(test, touch(OBJECT, stream_nr(i)));
		hazard_sync(stream_nr(i));
		EXPECT_QUIET(test, release(OBJECT, CPU));
	}
	allocate(OBJECT, A);
	EXPECT_HAZARD(test, touch(OBJECT, B), "stream 0xa0");
}

static void more_events_than_are_kept(struct kunit *test)
{
	u64 i;

	for (i = 1000; i < 11000; i++)
		hazard_record(i, C);
	allocate(OBJECT, A);
	hazard_record(20000, A);
	hazard_wait(B, 20000);
	EXPECT_QUIET(test, touch(OBJECT, B));
}

/* What the CPU has waited for makes room for others. */
static void many_events_that_are_done(struct kunit *test)
{
	u64 i;

	allocate(OBJECT + SIZE, A);
	hazard_record(5, A);
	for (i = 1000; i < 30000; i++) {
		hazard_record(i, C);
		if (i % 1000 == 0)
			hazard_sync(C);
	}
	allocate(OBJECT, A);
	hazard_record(1, A);
	hazard_wait(B, 1000);
	hazard_wait(B, 29999);
	EXPECT_HAZARD(test, touch(OBJECT, B), "behind the allocation");
	hazard_wait(B, 5);
	EXPECT_QUIET(test, touch(OBJECT + SIZE, B));
	EXPECT_HAZARD(test, touch(OBJECT, B), "behind the allocation");
	hazard_wait(B, 1);
	EXPECT_QUIET(test, touch(OBJECT, B));
}

static struct kunit_case hazard_cases[] = {
	KUNIT_CASE(one_stream),
	KUNIT_CASE(access_behind_the_allocation),
	KUNIT_CASE(an_event_says_nothing_of_later_work),
	KUNIT_CASE(what_the_cpu_has_waited_for),
	KUNIT_CASE(free_behind_the_accesses),
	KUNIT_CASE(free_by_the_cpu),
	KUNIT_CASE(free_behind_the_allocation),
	KUNIT_CASE(used_streams_are_waited_for),
	KUNIT_CASE(a_use_counts_once),
	KUNIT_CASE(a_detached_stream),
	KUNIT_CASE(a_mark_is_a_moment),
	KUNIT_CASE(nothing_after_the_free),
	KUNIT_CASE(default_streams),
	KUNIT_CASE(default_streams_of_two_threads),
	KUNIT_CASE(a_space_is_forgotten),
	KUNIT_CASE(within_a_capture),
	KUNIT_CASE(captures_that_meet),
	KUNIT_CASE(uses_in_captures_that_meet),
	KUNIT_CASE(marks_in_a_capture),
	KUNIT_CASE(captured_and_running),
	KUNIT_CASE(nobody_waits_for_a_capture),
	KUNIT_CASE(a_released_graph),
	KUNIT_CASE(too_many_streams),
	KUNIT_CASE(many_streams_one_by_one),
	KUNIT_CASE(more_events_than_are_kept),
	KUNIT_CASE(many_events_that_are_done),
	{}
};

static struct kunit_suite hazard_suite = {
	.name = "hazard",
	.init = hazard_init,
	.exit = hazard_exit,
	.cases = hazard_cases,
};
kunit_test_suite(hazard_suite);
