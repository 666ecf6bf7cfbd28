// SPDX-License-Identifier: BSD-2-Clause
/*
 * lock_test.c - ranked locks: mutual exclusion, and each breach of the order.
 *
 * The breaches need the checks of CONFIG_LOCK_DEBUG and are skipped without
 * them. Every case has locks of its own, so that the breaches of one do not
 * look like a deadlock together with those of another to a thread sanitizer.
 */
#include "core/lock.h"
#include "tests/kunit/kunit.h"

static void need_lock_debug(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_LOCK_DEBUG))
		kunit_skip(test, "needs CONFIG_LOCK_DEBUG");
}

static void fini(void *arg)
{
	lock_fini(arg);
}

static struct lock *make(struct kunit *test, enum lock_rank rank,
			 const char *name)
{
	struct lock *l = kunit_kzalloc(test, sizeof(*l));

	lock_init(l, rank, name);
	kunit_add_action(test, fini, l);
	return l;
}

struct counter {
	struct lock *lock;
	long value;
};

#define NR_THREADS 4
#define NR_ROUNDS 20000

static void *count(void *arg)
{
	struct counter *c = arg;
	int i;

	for (i = 0; i < NR_ROUNDS; i++) {
		lock_acquire(c->lock);
		c->value++;
		lock_release(c->lock);
	}
	return NULL;
}

static void one_thread_at_a_time(struct kunit *test)
{
	struct counter c = { .lock = make(test, LOCK_CLASS, "counter") };
	pthread_t thread[NR_THREADS];
	int i;

	for (i = 0; i < NR_THREADS; i++)
		KUNIT_ASSERT_EQ(test, pthread_create(&thread[i], NULL, count,
						     &c), 0);
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(thread[i], NULL);
	KUNIT_EXPECT_EQ(test, c.value, (long)NR_THREADS * NR_ROUNDS);
}

static void static_lock_works(struct kunit *test)
{
	static struct lock l = LOCK_INIT(LOCK_VMM, "static");

	lock_acquire(&l);
	assert_held(&l);
	lock_release(&l);
	KUNIT_EXPECT_EQ(test, l.rank, LOCK_VMM);
	KUNIT_EXPECT_STREQ(test, l.name, "static");
}

/* Every rank at once, outermost first, released in another order: silence. */
static void right_order_is_silent(struct kunit *test)
{
	struct lock *l[LOCK_NR_RANKS];
	int i;

	need_lock_debug(test);
	for (i = 0; i < LOCK_NR_RANKS; i++)
		l[i] = make(test, (enum lock_rank)i, "ordered");
	for (i = 0; i < LOCK_NR_RANKS; i++) {
		lock_acquire(l[i]);
		assert_held(l[i]);
	}
	for (i = 0; i < LOCK_NR_RANKS; i += 2)
		lock_release(l[i]);
	for (i = 1; i < LOCK_NR_RANKS; i += 2)
		lock_release(l[i]);
	assert_no_lock_held();
	KUNIT_EXPECT_EQ(test, kunit_report_count(test, REPORT_LOCK), 0);
}

static void out_of_order_names_both(struct kunit *test)
{
	struct lock *outer = make(test, LOCK_SPACE, "outer lock");
	struct lock *inner = make(test, LOCK_CLASS, "inner lock");

	need_lock_debug(test);
	kunit_expect_report(test, REPORT_LOCK);
	lock_acquire(inner);
	lock_acquire(outer);
	KUNIT_EXPECT_REPORT_HAS(test, "lock acquired out of order");
	KUNIT_EXPECT_REPORT_HAS(test, "Lock 'outer lock' (rank 2) at ");
	KUNIT_EXPECT_REPORT_HAS(test, "Held 'inner lock' (rank 5) at ");
	lock_release(outer);
	lock_release(inner);
}

static void same_rank_is_out_of_order(struct kunit *test)
{
	struct lock *first = make(test, LOCK_BARN, "first barn");
	struct lock *second = make(test, LOCK_BARN, "second barn");

	need_lock_debug(test);
	kunit_expect_report(test, REPORT_LOCK);
	lock_acquire(first);
	lock_acquire(second);
	KUNIT_EXPECT_REPORT_HAS(test, "lock acquired out of order");
	lock_release(second);
	lock_release(first);
}

/* What was below a lock released from the middle still counts, and again after
 * the breach no second one is seen in what follows the order. */
static void release_from_the_middle(struct kunit *test)
{
	struct lock *low = make(test, LOCK_SPACE, "low");
	struct lock *mid = make(test, LOCK_CLASS, "mid");
	struct lock *high = make(test, LOCK_POOL, "high");
	struct lock *top = make(test, LOCK_VMM, "top");

	need_lock_debug(test);
	lock_acquire(mid);
	lock_acquire(high);
	lock_acquire(top);
	lock_release(high);
	lock_release(top);
	kunit_expect_report(test, REPORT_LOCK);
	lock_acquire(low);
	KUNIT_EXPECT_REPORT_HAS(test, "Held 'mid'");
	lock_acquire(top);
	lock_release(top);
	lock_release(mid);
	lock_release(low);
}

/* Those beyond the stack of the checks are taken all the same. */
static void more_than_can_be_checked(struct kunit *test)
{
	struct lock *l[3 * LOCK_NR_RANKS];
	int i, n = ARRAY_SIZE(l);

	need_lock_debug(test);
	for (i = 0; i < n; i++) {
		l[i] = make(test, (enum lock_rank)i, "one of many");
		lock_acquire(l[i]);
	}
	assert_held(l[n - 1]);
	while (i--)
		lock_release(l[i]);
	assert_no_lock_held();
}

/* A recursive mutex, so that the case gets past the mistake. */
static void acquired_twice(struct kunit *test)
{
	pthread_mutexattr_t attr;
	struct lock l = { .rank = LOCK_CLASS, .name = "taken twice" };

	need_lock_debug(test);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&l.mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	kunit_expect_report(test, REPORT_LOCK);
	lock_acquire(&l);
	lock_acquire(&l);
	KUNIT_EXPECT_REPORT_HAS(test, "lock acquired twice");
	KUNIT_EXPECT_REPORT_HAS(test, "Held 'taken twice'");
	lock_release(&l);
	lock_release(&l);
	lock_fini(&l);
}

static void released_but_not_held(struct kunit *test)
{
	struct lock *l = make(test, LOCK_CLASS, "never taken");

	need_lock_debug(test);
	kunit_expect_report(test, REPORT_LOCK);
	/* Locks the mutex, so that only the checks see a mistake. */
	lock_acquire_for_fork(l);
	lock_release(l);
	KUNIT_EXPECT_REPORT_HAS(test, "lock released that is not held");
	KUNIT_EXPECT_REPORT_HAS(test, "Lock 'never taken'");
}

static void needed_but_not_held(struct kunit *test)
{
	struct lock *l = make(test, LOCK_CLASS, "needed");

	need_lock_debug(test);
	kunit_expect_report(test, REPORT_LOCK);
	assert_held(l);
	KUNIT_EXPECT_REPORT_HAS(test, "lock needed that is not held");
}

/* Logging under a lock may deadlock in the sink, and is found in time. */
static void message_with_lock_held(struct kunit *test)
{
	struct lock *l = make(test, LOCK_VMM, "held while logging");

	need_lock_debug(test);
	kunit_expect_report(test, REPORT_LOCK);
	lock_acquire(l);
	pr_warn("a message of this test, below a lock");
	lock_release(l);
	KUNIT_EXPECT_REPORT_HAS(test, "lock held where none may be");
	KUNIT_EXPECT_REPORT_HAS(test, "Held 'held while logging'");
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(one_thread_at_a_time),
	KUNIT_CASE(static_lock_works),
	KUNIT_CASE(right_order_is_silent),
	KUNIT_CASE(out_of_order_names_both),
	KUNIT_CASE(same_rank_is_out_of_order),
	KUNIT_CASE(release_from_the_middle),
	KUNIT_CASE(more_than_can_be_checked),
	KUNIT_CASE(acquired_twice),
	KUNIT_CASE(released_but_not_held),
	KUNIT_CASE(needed_but_not_held),
	KUNIT_CASE(message_with_lock_held),
	{ 0 }
};

static const struct kunit_suite lock_suite = {
	.name = "lock",
	.cases = cases,
};
kunit_test_suite(lock_suite);
