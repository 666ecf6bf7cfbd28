// SPDX-License-Identifier: BSD-2-Clause
/*
 * host_work_test.c - work and events of the host backend on queues: not before
 * their turn, and on the CPU at once.
 */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "tests/backend_bench.h"
#include "vmm/vmm.h"

struct work_bench {
	struct bench b;		/* first: what test->priv is to the steps */
	u64 handle;
	u8 *bytes;
	slabdev_stream_t q;	/* manual */
};

static slabdev_stream_t new_queue(struct kunit *test, unsigned int flags)
{
	slabdev_stream_t q = NULL;

	KUNIT_ASSERT_EQ(test, slabdev_queue_create(&q, flags), 0);
	return q;
}

static int work_init(struct kunit *test)
{
	struct work_bench *w = kunit_kzalloc(test, sizeof(*w));

	KUNIT_ASSERT_EQ(test, vmm_backend_find("host", NULL, &w->b.ops,
					       &w->b.dev), 0);
	bench_start(test, &w->b);
	w->handle = provide(test, 0, 1);
	w->bytes = (u8 *)(uintptr_t)w->b.base;
	w->q = new_queue(test, SLABDEV_QUEUE_MANUAL);
	return 0;
}

static void work_exit(struct kunit *test)
{
	struct work_bench *w = test->priv;

	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(w->q), 0);
	withdraw(test, 0, 1, w->handle);
	bench_stop(test, &w->b);
	vmm_backend_put(w->b.ops, w->b.dev);
}

static u64 new_event(struct kunit *test, slabdev_stream_t q)
{
	struct bench *b = test->priv;
	u64 event = 0;

	KUNIT_ASSERT_EQ(test, b->ops->event_create(b->dev, &event), 0);
	KUNIT_ASSERT_EQ(test, b->ops->event_record(b->dev, event, q), 0);
	return event;
}

static void end_event(struct kunit *test, u64 event)
{
	struct bench *b = test->priv;

	KUNIT_EXPECT_EQ(test, b->ops->event_destroy(b->dev, event), 0);
}

static void work_waits_for_its_turn(struct kunit *test)
{
	struct work_bench *w = test->priv;
	const struct vmm_ops *ops = w->b.ops;
	u64 at = w->b.base;

	memset(w->bytes, 1, 64);
	KUNIT_EXPECT_EQ(test, ops->fill(w->b.dev, at, 8, 2, w->q), 0);
	KUNIT_EXPECT_EQ(test, ops->copy(w->b.dev, at + 16, at, 8, w->q), 0);
	KUNIT_EXPECT_EQ(test, ops->fill2d(w->b.dev, at + 32, 8, 4, 2, 3, w->q),
			0);
	KUNIT_EXPECT_EQ(test, w->bytes[0], 1);
	KUNIT_EXPECT_EQ(test, slabdev_queue_run(w->q, 1), 1);
	KUNIT_EXPECT_EQ(test, w->bytes[7], 2);
	KUNIT_EXPECT_EQ(test, w->bytes[8], 1);
	KUNIT_EXPECT_EQ(test, w->bytes[16], 1);
	/* Copied is what is there when its turn comes. */
	w->bytes[1] = 9;
	KUNIT_EXPECT_EQ(test, slabdev_queue_run(w->q, 9), 2);
	KUNIT_EXPECT_EQ(test, w->bytes[16], 2);
	KUNIT_EXPECT_EQ(test, w->bytes[17], 9);
	KUNIT_EXPECT_EQ(test, w->bytes[24], 1);
	KUNIT_EXPECT_EQ(test, w->bytes[35], 3);
	KUNIT_EXPECT_EQ(test, w->bytes[36], 1);
	KUNIT_EXPECT_EQ(test, w->bytes[43], 3);
}

static void the_cpu_works_at_once(struct kunit *test)
{
	const slabdev_stream_t cpu[] = {
		NULL, SLABDEV_STREAM_LEGACY, SLABDEV_STREAM_PER_THREAD,
	};
	struct work_bench *w = test->priv;
	u64 event;

	for (u32 i = 0; i < ARRAY_SIZE(cpu); i++) {
		KUNIT_EXPECT_EQ(test, w->b.ops->check_stream(w->b.dev, cpu[i]),
				0);
		KUNIT_EXPECT_EQ(test, w->b.ops->fill(w->b.dev, w->b.base, 4,
						     (u8)(i + 1), cpu[i]), 0);
		KUNIT_EXPECT_EQ(test, w->bytes[3], i + 1);
		event = new_event(test, cpu[i]);
		KUNIT_EXPECT_EQ(test, w->b.ops->event_query(w->b.dev, event),
				0);
		end_event(test, event);
	}
}

static void an_event_is_a_point(struct kunit *test)
{
	struct work_bench *w = test->priv;
	const struct vmm_ops *ops = w->b.ops;
	u64 event;

	KUNIT_EXPECT_EQ(test, ops->fill(w->b.dev, w->b.base, 4, 1, w->q), 0);
	event = new_event(test, w->q);
	KUNIT_EXPECT_EQ(test, ops->fill(w->b.dev, w->b.base, 4, 2, w->q), 0);
	KUNIT_EXPECT_EQ(test, ops->event_query(w->b.dev, event), -EBUSY);
	/* Who waits for a manual queue runs it: so far, and no further. */
	KUNIT_EXPECT_EQ(test, ops->event_wait(w->b.dev, event), 0);
	KUNIT_EXPECT_EQ(test, w->bytes[0], 1);
	KUNIT_EXPECT_EQ(test, ops->event_query(w->b.dev, event), 0);
	/* Recorded again it is another point. */
	KUNIT_EXPECT_EQ(test, ops->event_record(w->b.dev, event, w->q), 0);
	KUNIT_EXPECT_EQ(test, ops->event_query(w->b.dev, event), -EBUSY);
	KUNIT_EXPECT_EQ(test, ops->quiesce(w->b.dev), 0);
	KUNIT_EXPECT_EQ(test, ops->event_query(w->b.dev, event), 0);
	end_event(test, event);
}

static void a_queue_waits_for_an_event(struct kunit *test)
{
	struct work_bench *w = test->priv;
	const struct vmm_ops *ops = w->b.ops;
	slabdev_stream_t other = new_queue(test, 0);
	u64 event, last;

	KUNIT_EXPECT_EQ(test, ops->fill(w->b.dev, w->b.base, 4, 1, w->q), 0);
	event = new_event(test, w->q);
	KUNIT_EXPECT_EQ(test, ops->stream_wait(w->b.dev, other, event), 0);
	/* The wait has what it needs. */
	end_event(test, event);
	KUNIT_EXPECT_EQ(test, ops->fill(w->b.dev, w->b.base, 4, 2, other), 0);
	last = new_event(test, other);
	KUNIT_EXPECT_EQ(test, ops->event_query(w->b.dev, last), -EBUSY);
	KUNIT_EXPECT_EQ(test, ops->event_wait(w->b.dev, last), -EDEADLK);
	KUNIT_EXPECT_EQ(test, slabdev_queue_run(w->q, 1), 1);
	KUNIT_EXPECT_EQ(test, ops->event_wait(w->b.dev, last), 0);
	KUNIT_EXPECT_EQ(test, w->bytes[0], 2);
	end_event(test, last);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(other), 0);
}

static void strangers_are_refused(struct kunit *test)
{
	struct work_bench *w = test->priv;
	const struct vmm_ops *ops = w->b.ops;
	slabdev_stream_t gone = new_queue(test, 0);
	u64 event, other;

	KUNIT_EXPECT_EQ(test, ops->check_stream(w->b.dev, gone), 0);
	KUNIT_EXPECT_EQ(test, ops->is_captured(w->b.dev, gone), 0);
	event = new_event(test, gone);
	other = new_event(test, NULL);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(gone), 0);
	/* What it had was run before it went. */
	KUNIT_EXPECT_EQ(test, ops->event_query(w->b.dev, event), 0);
	KUNIT_EXPECT_EQ(test, ops->event_wait(w->b.dev, event), 0);
	KUNIT_EXPECT_EQ(test, ops->check_stream(w->b.dev, gone), -EINVAL);
	KUNIT_EXPECT_NOT_NULL(test, strstr(error_get(), "no queue"));
	KUNIT_EXPECT_EQ(test, ops->fill(w->b.dev, w->b.base, 4, 1, gone),
			-EINVAL);
	/* An event that could not be recorded is what it was. */
	KUNIT_EXPECT_EQ(test, ops->event_record(w->b.dev, other, gone),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, ops->event_query(w->b.dev, other), 0);
	KUNIT_EXPECT_EQ(test, ops->stream_wait(w->b.dev, gone, event), -EINVAL);
	end_event(test, event);
	end_event(test, other);
}

/* Which step went wrong, or 0. */
static int child(struct work_bench *w, u64 event)
{
	const struct vmm_ops *ops = w->b.ops;

	if (ops->event_query(w->b.dev, event))
		return 1;
	if (ops->event_wait(w->b.dev, event))
		return 2;
	if (ops->quiesce(w->b.dev))
		return 3;
	if (ops->check_stream(w->b.dev, w->q) != -EINVAL ||
	    !strstr(slabdev_last_error(), "do not survive a fork"))
		return 4;
	return ops->check_stream(w->b.dev, NULL) ? 5 : 0;
}

static void in_a_child_all_is_done(struct kunit *test)
{
	struct work_bench *w = test->priv;
	u64 event;
	int status = 0;
	pid_t pid;

	KUNIT_EXPECT_EQ(test, w->b.ops->fill(w->b.dev, w->b.base, 4, 1, w->q),
			0);
	event = new_event(test, w->q);
	pid = fork();
	KUNIT_ASSERT_GE(test, pid, 0);
	if (!pid)
		_exit(child(w, event));
	KUNIT_EXPECT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ(test, status, 0);
	KUNIT_EXPECT_EQ(test, w->b.ops->event_query(w->b.dev, event), -EBUSY);
	end_event(test, event);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(work_waits_for_its_turn),
	KUNIT_CASE(the_cpu_works_at_once),
	KUNIT_CASE(an_event_is_a_point),
	KUNIT_CASE(a_queue_waits_for_an_event),
	KUNIT_CASE(strangers_are_refused),
	KUNIT_CASE(in_a_child_all_is_done),
	{ 0 }
};

static const struct kunit_suite host_work_suite = {
	.name = "host_work",
	.init = work_init,
	.exit = work_exit,
	.cases = cases,
};
kunit_test_suite(host_work_suite);
