// SPDX-License-Identifier: BSD-2-Clause
/*
 * queue_threads_test.c - host queues that several threads use at once, and what
 * happens at their ends: destruction, cancellation, no host memory.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <slabdev/slabdev.h>
#include <string.h>
#include <unistd.h>

#include "core/os.h"
#include "tests/kunit/kunit.h"
#include "tests/random.h"
#include "tests/sanitizers.h"

static slabdev_stream_t new_queue(struct kunit *test, unsigned int flags)
{
	slabdev_stream_t q = NULL;

	KUNIT_ASSERT_EQ_MSG(test, slabdev_queue_create(&q, flags), 0, "%s",
			    slabdev_last_error());
	return q;
}

static void end_queue(struct kunit *test, slabdev_stream_t q)
{
	KUNIT_EXPECT_EQ_MSG(test, slabdev_queue_destroy(q), 0, "%s",
			    slabdev_last_error());
}

static void count_one(void *arg)
{
	__atomic_fetch_add((u32 *)arg, 1, __ATOMIC_RELAXED);
}

static const unsigned int kinds[] = { 0, SLABDEV_QUEUE_MANUAL };

/* ---- Ends --------------------------------------------------------------- */

/* Work that submits more of itself, so many times. */
struct chain {
	slabdev_stream_t q;
	u32 left, ran;
	int err;
};

static void next_link(void *arg)
{
	struct chain *c = arg;

	c->ran++;
	if (c->left && c->left--)
		c->err |= slabdev_queue_submit(c->q, next_link, c);
}

static void destroy_runs_what_work_submits(struct kunit *test)
{
	for (u32 k = 0; k < ARRAY_SIZE(kinds); k++) {
		struct chain c = { .q = new_queue(test, kinds[k]), .left = 50 };

		KUNIT_EXPECT_EQ(test, slabdev_queue_submit(c.q, next_link, &c),
				0);
		end_queue(test, c.q);
		KUNIT_EXPECT_EQ(test, c.ran, 51);
		KUNIT_EXPECT_EQ(test, c.err, 0);
		KUNIT_EXPECT_EQ(test, slabdev_queue_query(c.q), -EINVAL);
	}
}

/* Work of one queue that waits for another one, which waits for the first. */
struct loop {
	slabdev_stream_t self, other;
	int err;
};

static void wait_for_other(void *arg)
{
	struct loop *l = arg;

	if (slabdev_queue_wait(l->other, l->self))
		return;
	l->err = slabdev_queue_synchronize(l->other);
}

static void waits_for_itself_through_others(struct kunit *test)
{
	for (u32 k = 0; k < 4; k++) {
		struct loop l = { .self = new_queue(test, kinds[k % 2]),
				  .other = new_queue(test, kinds[k / 2]) };

		KUNIT_EXPECT_EQ(test, slabdev_queue_submit(l.self,
							   wait_for_other, &l),
				0);
		KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(l.self), 0);
		KUNIT_EXPECT_EQ(test, l.err, -EDEADLK);
		end_queue(test, l.self);
		end_queue(test, l.other);
	}
}

struct surroundings {
	sigset_t blocked;
	char name[16];
	int cancel_state;
};

static void look_around(void *arg)
{
	struct surroundings *s = arg;

	pthread_sigmask(SIG_BLOCK, NULL, &s->blocked);
	pthread_getname_np(pthread_self(), s->name, sizeof(s->name));
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &s->cancel_state);
}

static void the_thread_is_nobody_elses(struct kunit *test)
{
	slabdev_stream_t q = new_queue(test, 0);
	struct surroundings s = { .name = "" };
	u32 ran = 0;

	/* Who creates the queue gives the name: so it is there. */
	KUNIT_EXPECT_EQ(test, slabdev_queue_submit(q, look_around, &s), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_submit(q, count_one, &ran), 0);
	end_queue(test, q);
	KUNIT_EXPECT_EQ(test, ran, 1);
	KUNIT_EXPECT_STREQ(test, s.name, "slabdev-queue");
	KUNIT_EXPECT_EQ(test, sigismember(&s.blocked, SIGTERM), 1);
	KUNIT_EXPECT_EQ(test, sigismember(&s.blocked, SIGALRM), 1);
	KUNIT_EXPECT_EQ(test, s.cancel_state, PTHREAD_CANCEL_DISABLE);
}

static int refuse_reserve(size_t size, void **addr)
{
	(void)size;
	(void)addr;
	return -ENOMEM;
}

/* Nothing is lost of what was there before, and it works again later. */
static void no_host_memory(struct kunit *test)
{
	enum { MOST = 1000000 };
	slabdev_stream_t q = new_queue(test, SLABDEV_QUEUE_MANUAL), more;
	u32 n = 0, ran = 0;
	int err = 0;

	kunit_activate_static_stub(test, os_reserve, refuse_reserve);
	while (n < MOST && !(err = slabdev_queue_submit(q, count_one, &ran)))
		n++;
	KUNIT_EXPECT_EQ(test, err, -ENOMEM);
	KUNIT_EXPECT_EQ(test, slabdev_queue_wait(q, q), -ENOMEM);
	KUNIT_EXPECT_NOT_NULL(test, strstr(slabdev_last_error(), "memory"));
	KUNIT_EXPECT_EQ(test, slabdev_queue_run(q, 1), n ? 1 : 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_submit(q, count_one, &ran),
			n ? 0 : -ENOMEM);
	kunit_deactivate_static_stub(test, os_reserve);
	more = new_queue(test, 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_submit(q, count_one, &ran), 0);
	end_queue(test, more);
	end_queue(test, q);
	KUNIT_EXPECT_EQ(test, ran, n + 1 + !!n);
}

/* ---- Cancellation ------------------------------------------------------- */

static void *synchronize_doomed(void *arg)
{
	slabdev_stream_t q = arg;
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
	pthread_cancel(pthread_self());
	if (slabdev_queue_synchronize(q))
		return NULL;
	pthread_testcancel();
	return NULL;
}

static void wait_until_set(void *arg)
{
	while (!__atomic_load_n((u32 *)arg, __ATOMIC_ACQUIRE))
		sched_yield();
}

/* A thread that is to end finishes its wait, and leaves no lock behind. */
static void waiting_is_no_place_to_end(struct kunit *test)
{
	slabdev_stream_t q;
	u32 go = 0;
	void *result = NULL;
	pthread_t t;

	if (IS_SANITIZED)
		kunit_skip(test, "sanitizers take no cancelled threads");
	q = new_queue(test, 0);
	KUNIT_ASSERT_EQ(test, slabdev_queue_submit(q, wait_until_set, &go), 0);
	KUNIT_ASSERT_EQ(test, pthread_create(&t, NULL, synchronize_doomed, q),
			0);
	/* So that it is most likely found waiting. */
	usleep(20000);
	KUNIT_EXPECT_EQ(test, slabdev_queue_query(q), -EBUSY);
	__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
	KUNIT_ASSERT_EQ(test, pthread_join(t, &result), 0);
	KUNIT_EXPECT_TRUE(test, result == PTHREAD_CANCELED);
	end_queue(test, q);
}

/* ---- Several threads at once -------------------------------------------- */

#define NR_THREADS 4u
#define NR_QUEUES 3u
#define NR_CALLS 400u

struct crowd;

struct call {
	struct crowd *crowd;
	u32 thread, queue, number;
};

struct crowd {
	struct kunit *test;
	slabdev_stream_t q[NR_QUEUES];
	u32 busy[NR_QUEUES];		/* atomic; a call of it is running */
	/* Locking: the queue's order. */
	u32 done[NR_THREADS][NR_QUEUES];
	u32 nr_wrong;			/* atomic */
	struct call calls[NR_THREADS][NR_CALLS];
};

struct member {
	struct crowd *crowd;
	u32 thread;
	u64 seed;
};

/* Alone on its queue, and the next of its thread. */
static void check_call(void *arg)
{
	const struct call *c = arg;
	struct crowd *crowd = c->crowd;
	u32 *done = &crowd->done[c->thread][c->queue];

	if (__atomic_exchange_n(&crowd->busy[c->queue], 1, __ATOMIC_RELAXED) ||
	    ++*done != c->number)
		__atomic_fetch_add(&crowd->nr_wrong, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&crowd->busy[c->queue], 0, __ATOMIC_RELAXED);
}

static void *join_in(void *arg)
{
	struct member *m = arg;
	struct crowd *c = m->crowd;
	u32 submitted[NR_QUEUES] = { 0 };
	int err = 0;

	for (u32 i = 0; i < NR_CALLS && !err; i++) {
		u32 q = random_below(&m->seed, NR_QUEUES);

		c->calls[m->thread][i] = (struct call){
			c, m->thread, q, ++submitted[q]
		};
		err = slabdev_queue_submit(c->q[q], check_call,
					   &c->calls[m->thread][i]);
		if (!err && !random_below(&m->seed, 5))
			err = slabdev_queue_wait(c->q[q],
				c->q[random_below(&m->seed, NR_QUEUES)]);
		/* Queue 0 is manual; all of them run it. */
		if (!err && !random_below(&m->seed, 3))
			err = min(0, slabdev_queue_run(c->q[0], 3));
	}
	KUNIT_EXPECT_EQ(c->test, err, 0);
	return NULL;
}

static void end_crowd(struct kunit *test, struct crowd *c)
{
	u32 n = 0;

	/* The manual one, which others may wait for, and which for them. */
	while (slabdev_queue_query(c->q[0]))
		(void)slabdev_queue_run(c->q[0], 100);
	for (u32 i = 0; i < NR_QUEUES; i++)
		end_queue(test, c->q[i]);
	for (u32 i = 0; i < NR_THREADS; i++)
		for (u32 q = 0; q < NR_QUEUES; q++)
			n += c->done[i][q];
	KUNIT_EXPECT_EQ(test, n, NR_THREADS * NR_CALLS);
	KUNIT_EXPECT_EQ(test, c->nr_wrong, 0);
}

static void each_threads_order_is_kept(struct kunit *test)
{
	struct crowd *c = kunit_kzalloc(test, sizeof(*c));
	u64 seed = random_seed(test);
	struct member m[NR_THREADS];
	pthread_t t[NR_THREADS];

	c->test = test;
	for (u32 i = 0; i < NR_QUEUES; i++)
		c->q[i] = new_queue(test, i ? 0 : SLABDEV_QUEUE_MANUAL);
	for (u32 i = 0; i < NR_THREADS; i++) {
		m[i] = (struct member){ c, i, seed + i };
		KUNIT_ASSERT_EQ(test, pthread_create(&t[i], NULL, join_in,
						     &m[i]), 0);
	}
	for (u32 i = 0; i < NR_THREADS; i++)
		KUNIT_ASSERT_EQ(test, pthread_join(t[i], NULL), 0);
	end_crowd(test, c);
}

struct runner {
	slabdev_stream_t q;
	u32 *go;
};

static void *run_one(void *arg)
{
	const struct runner *r = arg;

	wait_until_set(r->go);
	return slabdev_queue_run(r->q, 1) < 0 ? arg : NULL;
}

static void hold_up(void *arg)
{
	u32 *ran = arg;

	sched_yield();
	count_one(ran);
}

/* The last item of a manual queue is run by one thread, and another one
 * destroys the queue: it waits. */
static void destroyed_while_another_runs_it(struct kunit *test)
{
	for (u32 i = 0; i < 200; i++) {
		u32 ran = 0, go = 0;
		struct runner r = { new_queue(test, SLABDEV_QUEUE_MANUAL),
				    &go };
		pthread_t t;

		for (u32 k = 0; k < 3; k++)
			KUNIT_ASSERT_EQ(test, slabdev_queue_submit(r.q, hold_up,
								   &ran), 0);
		KUNIT_ASSERT_EQ(test, pthread_create(&t, NULL, run_one, &r), 0);
		__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
		end_queue(test, r.q);
		KUNIT_EXPECT_EQ(test, __atomic_load_n(&ran, __ATOMIC_RELAXED),
				3);
		KUNIT_ASSERT_EQ(test, pthread_join(t, NULL), 0);
	}
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(destroy_runs_what_work_submits),
	KUNIT_CASE(waits_for_itself_through_others),
	KUNIT_CASE(the_thread_is_nobody_elses),
	KUNIT_CASE(no_host_memory),
	KUNIT_CASE_ISOLATED(waiting_is_no_place_to_end),
	KUNIT_CASE(each_threads_order_is_kept),
	KUNIT_CASE(destroyed_while_another_runs_it),
	{ 0 }
};

static const struct kunit_suite queue_threads_suite = {
	.name = "queue_threads",
	.cases = cases,
};
kunit_test_suite(queue_threads_suite);
