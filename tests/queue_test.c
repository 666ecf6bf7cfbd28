// SPDX-License-Identifier: BSD-2-Clause
/* queue_test.c - host queues do what queue.h promises. */
#include <errno.h>
#include <pthread.h>
#include <slabdev/slabdev.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/kunit/kunit.h"
#include "tests/random.h"

#define NOTES 64u

/* What ran, in order. Locking: the queues themselves, of which one runs. */
struct notes {
	u32 n;
	u32 what[NOTES];
};

struct note {
	struct notes *notes;
	u32 what;
};

static void take_note(void *arg)
{
	const struct note *note = arg;

	note->notes->what[note->notes->n++] = note->what;
}

static slabdev_stream_t new_queue(struct kunit *test, unsigned int flags)
{
	slabdev_stream_t q = NULL;

	KUNIT_ASSERT_EQ_MSG(test, slabdev_queue_create(&q, flags), 0, "%s",
			    slabdev_last_error());
	return q;
}

static void put(struct kunit *test, slabdev_stream_t q, struct note *note)
{
	KUNIT_EXPECT_EQ(test, slabdev_queue_submit(q, take_note, note), 0);
}

static void end_queue(struct kunit *test, slabdev_stream_t q)
{
	KUNIT_EXPECT_EQ_MSG(test, slabdev_queue_destroy(q), 0, "%s",
			    slabdev_last_error());
}

static void runs_in_order(struct kunit *test)
{
	static const unsigned int flags[] = { 0, SLABDEV_QUEUE_MANUAL };
	struct note note[NOTES];

	for (u32 f = 0; f < ARRAY_SIZE(flags); f++) {
		struct notes notes = { 0 };
		slabdev_stream_t q = new_queue(test, flags[f]);

		for (u32 i = 0; i < NOTES; i++) {
			note[i] = (struct note){ &notes, i };
			put(test, q, &note[i]);
		}
		KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(q), 0);
		KUNIT_EXPECT_EQ(test, slabdev_queue_query(q), 0);
		KUNIT_EXPECT_EQ(test, notes.n, NOTES);
		for (u32 i = 0; i < notes.n; i++)
			KUNIT_EXPECT_EQ(test, notes.what[i], i);
		end_queue(test, q);
	}
}

static void manual_runs_when_told(struct kunit *test)
{
	slabdev_stream_t q = new_queue(test, SLABDEV_QUEUE_MANUAL);
	struct notes notes = { 0 };
	struct note note[3];

	KUNIT_EXPECT_EQ(test, slabdev_queue_query(q), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_run(q, 1), 0);
	for (u32 i = 0; i < ARRAY_SIZE(note); i++) {
		note[i] = (struct note){ &notes, i };
		put(test, q, &note[i]);
	}
	KUNIT_EXPECT_EQ(test, notes.n, 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_query(q), -EBUSY);
	KUNIT_EXPECT_EQ(test, slabdev_queue_run(q, 0), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_run(q, 2), 2);
	KUNIT_EXPECT_EQ(test, notes.n, 2);
	KUNIT_EXPECT_EQ(test, slabdev_queue_query(q), -EBUSY);
	KUNIT_EXPECT_EQ(test, slabdev_queue_run(q, 9), 1);
	KUNIT_EXPECT_EQ(test, slabdev_queue_query(q), 0);
	end_queue(test, q);
}

static void one_waits_for_another(struct kunit *test)
{
	slabdev_stream_t a = new_queue(test, SLABDEV_QUEUE_MANUAL);
	slabdev_stream_t b = new_queue(test, SLABDEV_QUEUE_MANUAL);
	struct notes notes = { 0 };
	struct note in_a = { &notes, 1 }, in_b = { &notes, 2 };

	put(test, a, &in_a);
	KUNIT_EXPECT_EQ(test, slabdev_queue_wait(b, a), 0);
	put(test, b, &in_b);
	/* What comes to the other one later is not waited for. */
	put(test, a, &in_a);
	KUNIT_EXPECT_EQ(test, slabdev_queue_run(b, 9), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_run(a, 1), 1);
	/* The wait, and the call. */
	KUNIT_EXPECT_EQ(test, slabdev_queue_run(b, 9), 2);
	KUNIT_EXPECT_EQ(test, notes.what[0], 1);
	KUNIT_EXPECT_EQ(test, notes.what[1], 2);
	end_queue(test, a);
	end_queue(test, b);
	KUNIT_EXPECT_EQ(test, notes.n, 3);
}

static void waiting_for_who_is_held_back(struct kunit *test)
{
	slabdev_stream_t a = new_queue(test, SLABDEV_QUEUE_MANUAL);
	slabdev_stream_t b = new_queue(test, 0);
	struct notes notes = { 0 };
	struct note note = { &notes, 1 };

	put(test, a, &note);
	KUNIT_EXPECT_EQ(test, slabdev_queue_wait(b, a), 0);
	put(test, b, &note);
	KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(b), -EDEADLK);
	KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(b), -EDEADLK);
	KUNIT_EXPECT_EQ(test, slabdev_queue_query(b), -EBUSY);
	KUNIT_EXPECT_EQ(test, slabdev_queue_run(a, 9), 1);
	KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(b), 0);
	KUNIT_EXPECT_EQ(test, notes.n, 2);
	end_queue(test, a);
	end_queue(test, b);
}

static void one_that_is_gone_holds_nobody(struct kunit *test)
{
	slabdev_stream_t a = new_queue(test, 0);
	slabdev_stream_t b = new_queue(test, SLABDEV_QUEUE_MANUAL);
	struct notes notes = { 0 };
	struct note note = { &notes, 1 };

	put(test, a, &note);
	KUNIT_EXPECT_EQ(test, slabdev_queue_wait(b, a), 0);
	end_queue(test, a);
	KUNIT_EXPECT_EQ(test, notes.n, 1);
	KUNIT_EXPECT_EQ(test, slabdev_queue_run(b, 9), 1);
	end_queue(test, b);
}

struct nested {
	slabdev_stream_t self;
	struct note note;
	int submitted, waited;
};

static void submit_to_self(void *arg)
{
	struct nested *n = arg;

	n->submitted = slabdev_queue_submit(n->self, take_note, &n->note);
	n->waited = slabdev_queue_synchronize(n->self);
}

static void work_may_submit_but_not_wait(struct kunit *test)
{
	struct notes notes = { 0 };
	struct nested n = { new_queue(test, 0), { &notes, 7 }, -1, 0 };

	KUNIT_EXPECT_EQ(test, slabdev_queue_submit(n.self, submit_to_self, &n),
			0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(n.self), 0);
	KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(n.self), 0);
	KUNIT_EXPECT_EQ(test, n.submitted, 0);
	KUNIT_EXPECT_EQ(test, n.waited, -EDEADLK);
	KUNIT_EXPECT_EQ(test, notes.n, 1);
	end_queue(test, n.self);
}

static void strangers_are_refused(struct kunit *test)
{
	slabdev_stream_t gone = new_queue(test, SLABDEV_QUEUE_MANUAL);
	slabdev_stream_t strange[] = {
		NULL, gone, SLABDEV_STREAM_LEGACY, (slabdev_stream_t)&gone,
		(slabdev_stream_t)~(uintptr_t)0,
	};
	slabdev_stream_t q = new_queue(test, 0);
	struct notes notes = { 0 };
	struct note note = { &notes, 1 };

	end_queue(test, gone);
	for (u32 i = 0; i < ARRAY_SIZE(strange); i++) {
		slabdev_stream_t s = strange[i];

		KUNIT_EXPECT_EQ(test, slabdev_queue_submit(s, take_note, &note),
				-EINVAL);
		KUNIT_EXPECT_TRUE(test, strstr(slabdev_last_error(), "queue"));
		KUNIT_EXPECT_EQ(test, slabdev_queue_wait(s, q), -EINVAL);
		KUNIT_EXPECT_EQ(test, slabdev_queue_wait(q, s), -EINVAL);
		KUNIT_EXPECT_EQ(test, slabdev_queue_run(s, 1), -EINVAL);
		KUNIT_EXPECT_EQ(test, slabdev_queue_query(s), -EINVAL);
		KUNIT_EXPECT_EQ(test, slabdev_queue_synchronize(s), -EINVAL);
		KUNIT_EXPECT_EQ(test, slabdev_queue_destroy(s),
				s ? -EINVAL : 0);
	}
	KUNIT_EXPECT_EQ(test, slabdev_queue_submit(q, NULL, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_queue_run(q, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_queue_create(NULL, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, slabdev_queue_create(&gone, 0x10), -EINVAL);
	end_queue(test, q);
}

static void as_many_as_there_can_be(struct kunit *test)
{
	enum { MOST = 4096 };
	slabdev_stream_t *q = kunit_kzalloc(test, (MOST + 1) * sizeof(*q));
	u32 n = 0;

	while (n <= MOST &&
	       !slabdev_queue_create(&q[n], SLABDEV_QUEUE_MANUAL))
		n++;
	KUNIT_EXPECT_EQ(test, n, MOST);
	KUNIT_EXPECT_EQ(test, slabdev_queue_create(&q[MOST],
						   SLABDEV_QUEUE_MANUAL),
			-ENFILE);
	while (n)
		end_queue(test, q[--n]);
}

static int child(void *arg)
{
	slabdev_stream_t *q = arg, fresh;

	if (slabdev_queue_submit(q[0], take_note, NULL) != -EOWNERDEAD ||
	    slabdev_queue_query(q[1]) != -EOWNERDEAD ||
	    slabdev_queue_create(&fresh, 0) != -EOWNERDEAD)
		return 1;
	return 0;
}

static void a_fork_leaves_them_behind(struct kunit *test)
{
	slabdev_stream_t q[2] = { new_queue(test, 0),
				  new_queue(test, SLABDEV_QUEUE_MANUAL) };
	pid_t pid = fork();
	int status = 0;

	KUNIT_ASSERT_GE(test, pid, 0);
	if (!pid)
		_exit(child(q));
	KUNIT_EXPECT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ(test, status, 0);
	end_queue(test, q[0]);
	end_queue(test, q[1]);
}

/* ---- Random programs ---------------------------------------------------- */

#define NR_QUEUES 5u
#define NR_STEPS 3000u

/* Each call knows what must have been done in every queue by then. */
struct call {
	struct program *program;
	u32 queue;
	u64 number;		/* in its queue, from 1 */
	u64 before[NR_QUEUES];
};

struct program {
	struct kunit *test;
	u64 state;
	slabdev_stream_t q[NR_QUEUES];
	u64 submitted[NR_QUEUES];
	u64 known[NR_QUEUES][NR_QUEUES];	/* what comes before the next */
	u64 done[NR_QUEUES];			/* atomic */
	u32 nr_wrong;				/* atomic */
};

static void check_call(void *arg)
{
	struct call *c = arg;
	struct program *p = c->program;

	for (u32 i = 0; i < NR_QUEUES; i++)
		if (__atomic_load_n(&p->done[i], __ATOMIC_ACQUIRE) <
		    c->before[i])
			__atomic_fetch_add(&p->nr_wrong, 1, __ATOMIC_RELAXED);
	if (__atomic_load_n(&p->done[c->queue], __ATOMIC_ACQUIRE) !=
	    c->number - 1)
		__atomic_fetch_add(&p->nr_wrong, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&p->done[c->queue], c->number, __ATOMIC_RELEASE);
}

static void submit_call(struct program *p, u32 i)
{
	struct call *c = kunit_kzalloc(p->test, sizeof(*c));

	*c = (struct call){ .program = p, .queue = i,
			    .number = ++p->submitted[i] };
	for (u32 k = 0; k < NR_QUEUES; k++)
		c->before[k] = p->known[i][k];
	p->known[i][i] = c->number;
	KUNIT_ASSERT_EQ(p->test, slabdev_queue_submit(p->q[i], check_call, c),
			0);
}

static void order(struct program *p, u32 after, u32 before)
{
	KUNIT_ASSERT_EQ(p->test, slabdev_queue_wait(p->q[after], p->q[before]),
			0);
	for (u32 k = 0; k < NR_QUEUES; k++)
		p->known[after][k] = max(p->known[after][k],
					 p->known[before][k]);
}

static void random_programs(struct kunit *test)
{
	struct program *p = kunit_kzalloc(test, sizeof(*p));

	p->test = test;
	p->state = random_seed(test);
	for (u32 i = 0; i < NR_QUEUES; i++)
		p->q[i] = new_queue(test, i % 2 ? SLABDEV_QUEUE_MANUAL : 0);
	for (u32 n = 0; n < NR_STEPS; n++) {
		u32 i = random_below(&p->state, NR_QUEUES);
		u32 k = random_below(&p->state, NR_QUEUES);

		if (!random_below(&p->state, 4) && i != k)
			order(p, i, k);
		else if (i % 2 && !random_below(&p->state, 3))
			KUNIT_EXPECT_GE(test, slabdev_queue_run(p->q[i], 5), 0);
		else
			submit_call(p, i);
	}
	for (u32 left = 1; left;) {
		left = 0;
		for (u32 i = 0; i < NR_QUEUES; i++)
			if (slabdev_queue_synchronize(p->q[i]))
				left++;
	}
	for (u32 i = 0; i < NR_QUEUES; i++) {
		KUNIT_EXPECT_EQ(test, p->done[i], p->submitted[i]);
		end_queue(test, p->q[i]);
	}
	KUNIT_EXPECT_EQ(test, p->nr_wrong, 0);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(runs_in_order),
	KUNIT_CASE(manual_runs_when_told),
	KUNIT_CASE(one_waits_for_another),
	KUNIT_CASE(waiting_for_who_is_held_back),
	KUNIT_CASE(one_that_is_gone_holds_nobody),
	KUNIT_CASE(work_may_submit_but_not_wait),
	KUNIT_CASE(strangers_are_refused),
	KUNIT_CASE(as_many_as_there_can_be),
	KUNIT_CASE(a_fork_leaves_them_behind),
	KUNIT_CASE(random_programs),
	{ 0 }
};

static const struct kunit_suite queue_suite = {
	.name = "queue",
	.cases = cases,
};
kunit_test_suite(queue_suite);
