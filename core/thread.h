/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * thread.h - what the library knows of a thread: one thread-local pointer.
 *
 * Every thread starts with thread_self pointing to thread_none, a shared
 * read-only record in which every space's entry is the same empty heap: the
 * fast paths need no test for "first call of this thread", because the empty
 * heap fails them and the slow path makes a real record with thread_get().
 * The record goes when the thread exits (one pthread key); the exit callback,
 * set at the first open, first hands the thread's heaps back.
 *
 * A thread that calls the library again from a later thread-specific
 * destructor gets a new record, which the same key destroys in the next round.
 */
#ifndef CORE_THREAD_H
#define CORE_THREAD_H

#include "core/list.h"

/* Spaces that may be open at once in a process. */
#define SPACE_MAX 256
#define ERROR_TEXT_MAX 512

struct thread {
	/* Owned by slab/; written by the owner thread, or under LOCK_REGISTRY
	 * by close and the fork child. Never NULL. */
	void *heap[SPACE_MAX];
	char error[ERROR_TEXT_MAX];
	const void *site;	/* slab/'s: of the last call that is watched */
	bool nested;		/* owner; see thread_nest() */
	bool ending;		/* owner: in its exit, locks are held */
	struct list link;	/* thread.c's: all records */
};

extern __thread struct thread *thread_self;
extern struct thread thread_none;

/*
 * thread_init_once - make the key; called at each open, does it once
 * @empty_heap: what every entry of a record starts with
 * @exit: called with the record of a thread that ends
 *
 * Return 0 or -errno.
 */
int __must_check thread_init_once(void *empty_heap,
				  void (*exit)(struct thread *t));

/* The calling thread's own record, made if need be; NULL: no host memory. */
struct thread *thread_get(void) __cold;

/*
 * thread_nest - begin what may call malloc
 *
 * Malloc may be made of this library, and what it does here may need the same
 * again. A thread that has no record, which is one that has no host memory or
 * opened no space yet, cannot be told from others.
 *
 * Return false when the thread is inside already.
 */
static inline bool thread_nest(void)
{
	if (thread_self->nested)
		return false;
	if (thread_self != &thread_none)
		thread_self->nested = true;
	return true;
}

static inline void thread_unnest(void)
{
	if (thread_self != &thread_none)
		thread_self->nested = false;
}

/*
 * Around fork(). The child's part forgets the records of the threads that it
 * does not have: the owner of their heaps looks at those before.
 */
void thread_fork_prepare(void);
void thread_fork_parent(void);
void thread_fork_child(void);

#endif /* CORE_THREAD_H */
