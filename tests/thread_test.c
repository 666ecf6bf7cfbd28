// SPDX-License-Identifier: BSD-2-Clause
/*
 * thread_test.c - records of threads: made when needed, gone when they end.
 *
 * Every case is isolated: the first thread_init_once() of a process decides
 * for all that follow, and may be none of ours in a shared one.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "core/os.h"
#include "core/thread.h"
#include "tests/kunit/kunit.h"

static int empty_heap;		/* its address is all that counts */
static unsigned int nr_exits;	/* atomic */
static struct thread *exited;	/* the last one; read after a join */

static void on_exit_of(struct thread *t)
{
	__atomic_fetch_add(&nr_exits, 1, __ATOMIC_RELAXED);
	WRITE_ONCE(exited, t);
}

static void init(struct kunit *test)
{
	KUNIT_ASSERT_EQ(test, thread_init_once(&empty_heap, on_exit_of), 0);
}

static void run(struct kunit *test, void *(*fn)(void *), void *arg)
{
	pthread_t thread;

	KUNIT_ASSERT_EQ(test, pthread_create(&thread, NULL, fn, arg), 0);
	pthread_join(thread, NULL);
}

static bool heaps_are_empty(const struct thread *t)
{
	int i;

	for (i = 0; i < SPACE_MAX; i++)
		if (t->heap[i] != &empty_heap)
			return false;
	return true;
}

static void before_first_use_all_heaps_are_empty(struct kunit *test)
{
	init(test);
	KUNIT_EXPECT_PTR_EQ(test, thread_self, &thread_none);
	KUNIT_EXPECT_TRUE(test, heaps_are_empty(thread_self));
	KUNIT_EXPECT_STREQ(test, error_get(), "");
}

static void record_is_made_once(struct kunit *test)
{
	struct thread *t;

	init(test);
	t = thread_get();
	KUNIT_ASSERT_NOT_NULL(test, t);
	KUNIT_EXPECT_PTR_NE(test, t, &thread_none);
	KUNIT_EXPECT_PTR_EQ(test, thread_self, t);
	KUNIT_EXPECT_PTR_EQ(test, thread_get(), t);
	KUNIT_EXPECT_TRUE(test, heaps_are_empty(t));
	KUNIT_EXPECT_STREQ(test, t->error, "");
}

/* The error text of a failing first open comes before thread_init_once(). */
static void record_from_before_init_gets_its_heaps(struct kunit *test)
{
	struct thread *t = thread_get();

	KUNIT_ASSERT_NOT_NULL(test, t);
	KUNIT_EXPECT_NULL(test, t->heap[0]);
	init(test);
	KUNIT_EXPECT_TRUE(test, heaps_are_empty(t));
	KUNIT_EXPECT_TRUE(test, heaps_are_empty(&thread_none));
}

static void second_init_changes_nothing(struct kunit *test)
{
	int other;

	init(test);
	KUNIT_EXPECT_EQ(test, thread_init_once(&other, NULL), 0);
	KUNIT_EXPECT_TRUE(test, heaps_are_empty(&thread_none));
}

static void *use(void *arg)
{
	*(struct thread **)arg = thread_get();
	return NULL;
}

static void *use_not(void *arg)
{
	(void)arg;
	return NULL;
}

static void exit_calls_back_with_the_record(struct kunit *test)
{
	struct thread *mine, *theirs;

	init(test);
	mine = thread_get();
	run(test, use, &theirs);
	KUNIT_EXPECT_PTR_NE(test, mine, theirs);
	KUNIT_EXPECT_EQ(test, READ_ONCE(nr_exits), 1);
	KUNIT_EXPECT_PTR_EQ(test, READ_ONCE(exited), theirs);
	KUNIT_EXPECT_PTR_EQ(test, thread_self, mine);
}

static void thread_without_record_exits_silently(struct kunit *test)
{
	init(test);
	run(test, use_not, NULL);
	KUNIT_EXPECT_EQ(test, READ_ONCE(nr_exits), 0);
}

/* Records are used again: a thousand threads in turn need one. */
static void record_of_a_dead_thread_is_reused(struct kunit *test)
{
	struct thread *first, *t;
	int i;

	init(test);
	run(test, use, &first);
	for (i = 0; i < 100; i++) {
		run(test, use, &t);
		KUNIT_EXPECT_PTR_EQ(test, t, first);
	}
	KUNIT_EXPECT_EQ(test, READ_ONCE(nr_exits), 101);
}

/* ---- The order of destructors ----------------------------------------- */

/* What the callback sees: the record is still the thread's own. */
static bool self_in_callback;

static void check_self(struct thread *t)
{
	self_in_callback = thread_self == t && thread_get() == t;
	error_set(-EIO, "set while exiting");
	self_in_callback = self_in_callback &&
			   !strcmp(t->error, "set while exiting");
}

static void callback_may_use_the_record(struct kunit *test)
{
	struct thread *t;

	KUNIT_ASSERT_EQ(test, thread_init_once(&empty_heap, check_self), 0);
	run(test, use, &t);
	KUNIT_EXPECT_TRUE(test, self_in_callback);
}

static pthread_key_t late_key;
static struct thread *late_record;
static bool late_saw_none;

/* Runs in each round after ours, which has the lower key; uses the library
 * in the first two. */
static void late_destructor(void *arg)
{
	uintptr_t round = (uintptr_t)arg;

	late_saw_none = thread_self == &thread_none;
	late_record = thread_get();
	if (round == 1)
		pthread_setspecific(late_key, (void *)(round + 1));
}

static void *use_late(void *arg)
{
	*(struct thread **)arg = thread_get();
	pthread_setspecific(late_key, (void *)1);
	return NULL;
}

static void later_destructor_gets_a_new_record(struct kunit *test)
{
	struct thread *t;

	init(test);
	KUNIT_ASSERT_EQ(test, pthread_key_create(&late_key, late_destructor),
			0);
	run(test, use_late, &t);
	KUNIT_EXPECT_TRUE(test, late_saw_none);
	KUNIT_EXPECT_NOT_NULL(test, late_record);
	/* Its own, and one for each of the two rounds. */
	KUNIT_EXPECT_EQ(test, READ_ONCE(nr_exits), 3);
	pthread_key_delete(late_key);
}

/* ---- Failure ---------------------------------------------------------- */

static int refuse_reserve(size_t size, void **addr)
{
	(void)size;
	(void)addr;
	return -ENOMEM;
}

static void without_memory_there_is_no_record(struct kunit *test)
{
	init(test);
	kunit_activate_static_stub(test, os_reserve, refuse_reserve);
	KUNIT_EXPECT_STREQ(test, error_get(), "");
	KUNIT_EXPECT_NULL(test, thread_get());
	KUNIT_EXPECT_PTR_EQ(test, thread_self, &thread_none);
	KUNIT_EXPECT_EQ(test, error_set(-EIO, "this text is lost"), -EIO);
	KUNIT_EXPECT_STREQ(test, error_get(),
			   "an error occurred; there was no memory for its "
			   "text");
	kunit_deactivate_static_stub(test, os_reserve);
	KUNIT_EXPECT_NOT_NULL(test, thread_get());
	KUNIT_EXPECT_STREQ(test, error_get(), "");
}

static void without_a_key_init_fails(struct kunit *test)
{
	pthread_key_t key[PTHREAD_KEYS_MAX];
	int n = 0;

	while (n < PTHREAD_KEYS_MAX && !pthread_key_create(&key[n], NULL))
		n++;
	KUNIT_EXPECT_EQ(test, thread_init_once(&empty_heap, on_exit_of),
			-EAGAIN);
	KUNIT_EXPECT_NULL(test, thread_get());
	while (n)
		pthread_key_delete(key[--n]);
	init(test);
	KUNIT_EXPECT_NOT_NULL(test, thread_get());
}

/* ---- Fork ------------------------------------------------------------- */

struct helper {
	pthread_barrier_t barrier;
	struct thread *record;
};

static void *wait_with_record(void *arg)
{
	struct helper *h = arg;

	h->record = thread_get();
	pthread_barrier_wait(&h->barrier);
	pthread_barrier_wait(&h->barrier);
	return NULL;
}

/*
 * The child keeps its own record, and the next one that it makes is that of
 * the thread that it does not have. It makes it as a thread does that has none,
 * without starting one: sanitizers do not have that in a child.
 */
static int child_of_fork(const struct thread *mine, const struct helper *h)
{
	if (thread_self != mine || strcmp(error_get(), "from the parent"))
		return 1;
	thread_self = &thread_none;
	return thread_get() == h->record ? 0 : 2;
}

static void child_keeps_its_own_record_only(struct kunit *test)
{
	struct helper h = { 0 };
	struct thread *mine;
	pthread_t thread;
	int status = -1;
	pid_t pid;

	init(test);
	mine = thread_get();
	error_set(-EIO, "from the parent");
	pthread_barrier_init(&h.barrier, NULL, 2);
	KUNIT_ASSERT_EQ(test, pthread_create(&thread, NULL, wait_with_record,
					     &h), 0);
	pthread_barrier_wait(&h.barrier);
	thread_fork_prepare();
	log_fork_prepare();
	pid = fork();
	log_fork_done();
	if (!pid) {
		thread_fork_child();
		_exit(child_of_fork(mine, &h));
	}
	thread_fork_parent();
	pthread_barrier_wait(&h.barrier);
	pthread_join(thread, NULL);
	KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ(test, status, 0);
	pthread_barrier_destroy(&h.barrier);
}

static void *set_error(void *arg)
{
	error_set(-EIO, "%s", (const char *)arg);
	return strcmp(error_get(), arg) ? NULL : arg;
}

static void error_text_is_the_threads_own(struct kunit *test)
{
	init(test);
	KUNIT_EXPECT_EQ(test, error_set(-EDQUOT, "limit of %d bytes", 7),
			-EDQUOT);
	run(test, set_error, (void *)(uintptr_t)"another thread's");
	KUNIT_EXPECT_STREQ(test, error_get(), "limit of 7 bytes");
	/* From its own text, and too long for it. */
	error_set(-EIO, "outer: %s", error_get());
	KUNIT_EXPECT_STREQ(test, error_get(), "outer: limit of 7 bytes");
	error_set(-EIO, "%*d", 2 * ERROR_TEXT_MAX, 1);
	KUNIT_EXPECT_EQ(test, strlen(error_get()), ERROR_TEXT_MAX - 1);
}

static void error_set_keeps_errno(struct kunit *test)
{
	errno = ENOENT;
	error_set(-EIO, "errno says: %m");
	KUNIT_EXPECT_EQ(test, errno, ENOENT);
	KUNIT_EXPECT_STREQ(test, error_get(),
			   "errno says: No such file or directory");
}

static int refuse_loudly(size_t size, void **addr)
{
	errno = EDOM;
	return refuse_reserve(size, addr);
}

static void lost_error_text_keeps_errno(struct kunit *test)
{
	kunit_activate_static_stub(test, os_reserve, refuse_loudly);
	errno = ENOENT;
	error_set(-EIO, "lost");
	KUNIT_EXPECT_EQ(test, errno, ENOENT);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_ISOLATED(before_first_use_all_heaps_are_empty),
	KUNIT_CASE_ISOLATED(record_is_made_once),
	KUNIT_CASE_ISOLATED(record_from_before_init_gets_its_heaps),
	KUNIT_CASE_ISOLATED(second_init_changes_nothing),
	KUNIT_CASE_ISOLATED(exit_calls_back_with_the_record),
	KUNIT_CASE_ISOLATED(thread_without_record_exits_silently),
	KUNIT_CASE_ISOLATED(record_of_a_dead_thread_is_reused),
	KUNIT_CASE_ISOLATED(callback_may_use_the_record),
	KUNIT_CASE_ISOLATED(later_destructor_gets_a_new_record),
	KUNIT_CASE_ISOLATED(without_memory_there_is_no_record),
	KUNIT_CASE_ISOLATED(without_a_key_init_fails),
	KUNIT_CASE_ISOLATED(child_keeps_its_own_record_only),
	KUNIT_CASE_ISOLATED(error_text_is_the_threads_own),
	KUNIT_CASE_ISOLATED(error_set_keeps_errno),
	KUNIT_CASE_ISOLATED(lost_error_text_keeps_errno),
	{ 0 }
};

static const struct kunit_suite thread_suite = {
	.name = "thread",
	.cases = cases,
};
kunit_test_suite(thread_suite);
