// SPDX-License-Identifier: BSD-2-Clause
/*
 * thread.c - the records of threads, from their first slow path to their end.
 *
 * A record is made by thread_get() and found through thread_self alone; the
 * pthread key holds the same pointer, for the sake of its destructor. All
 * records are on one list. Two things need it: a text of an error may be
 * wanted before the first open, when the empty heap is not known yet and must
 * be filled in later; and a fork child has the records of threads that it does
 * not have.
 *
 * Locking: records_lock covers the list, the key and the empty heap; the
 * fields of a record are its thread's. Failure: without a key or memory there
 * is no record, and thread_get() is NULL each time again until there is.
 * Limits: a record that is made in the last round of destructors
 * (PTHREAD_DESTRUCTOR_ITERATIONS) is never released; close still empties its
 * heaps.
 */
#include <errno.h>
#include <string.h>

#include "core/list.h"
#include "core/lock.h"
#include "core/metapool.h"
#include "core/thread.h"

struct thread thread_none;
__thread struct thread *thread_self = &thread_none;

static struct lock records_lock = LOCK_INIT(LOCK_META, "threads");

/* Locking: records_lock. */
static struct list records = LIST_INIT(records);
static void *empty_heap;
static bool key_made;

/* Const after key_made; the pool has its own lock. */
static pthread_key_t key;
static struct metapool pool;

/* Locking: atomic; called without a lock, NULL until the first open. */
static void (*exit_callback)(struct thread *t);

static void record_release(struct thread *t)
{
	lock_acquire(&records_lock);
	list_del(&t->link);
	lock_release(&records_lock);
	metapool_free(&pool, t);
}

/*
 * The callback may still use the record, and sets errors in it; what runs
 * after this in the same thread finds none and makes another.
 */
static void thread_exit(void *arg)
{
	struct thread *t = arg;
	void (*callback)(struct thread *t) = load_acquire(&exit_callback);

	if (callback)
		callback(t);
	thread_self = &thread_none;
	record_release(t);
}

static int make_key_locked(void)
{
	int err;

	assert_held(&records_lock);
	if (key_made)
		return 0;
	err = pthread_key_create(&key, thread_exit);
	if (err)
		return -err;
	metapool_init(&pool, sizeof(struct thread), "thread records");
	key_made = true;
	return 0;
}

static int make_key(void)
{
	int err;

	lock_acquire(&records_lock);
	err = make_key_locked();
	lock_release(&records_lock);
	return err;
}

static void fill_heaps(struct thread *t, void *heap)
{
	int i;

	for (i = 0; i < SPACE_MAX; i++)
		t->heap[i] = heap;
}

int thread_init_once(void *heap, void (*exit)(struct thread *t))
{
	struct thread *t;
	int err;

	lock_acquire(&records_lock);
	err = make_key_locked();
	if (!err && !empty_heap) {
		/* No space is open yet: no thread looks at these. */
		fill_heaps(&thread_none, heap);
		list_for_each_entry(t, &records, link)
			fill_heaps(t, heap);
		empty_heap = heap;
		store_release(&exit_callback, exit);
	}
	lock_release(&records_lock);
	return err;
}

struct thread *thread_get(void)
{
	struct thread *t;

	if (thread_self != &thread_none)
		return thread_self;
	if (make_key())
		return NULL;
	t = metapool_alloc(&pool);
	if (!t)
		return NULL;
	lock_acquire(&records_lock);
	fill_heaps(t, empty_heap);
	list_add(&t->link, &records);
	lock_release(&records_lock);
	if (pthread_setspecific(key, t)) {
		record_release(t);
		return NULL;
	}
	thread_self = t;
	return t;
}

void thread_fork_prepare(void)
{
	lock_acquire_for_fork(&records_lock);
	if (key_made)
		lock_acquire_for_fork(&pool.lock);
}

void thread_fork_parent(void)
{
	if (key_made)
		lock_release_for_fork(&pool.lock);
	lock_release_for_fork(&records_lock);
}

void thread_fork_child(void)
{
	struct list dead = LIST_INIT(dead);
	struct thread *t;

	list_for_each_entry_safe(t, &records, link) {
		if (t != thread_self)
			list_move(&t->link, &dead);
	}
	thread_fork_parent();
	list_for_each_entry_safe(t, &dead, link)
		metapool_free(&pool, t);
}
