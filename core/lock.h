/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lock.h - mutexes with a rank; the one statement of lock order in the tree.
 *
 * A thread may take a lock only if its rank is higher than that of every lock
 * it holds. Two locks of the same rank are therefore never held together. With
 * CONFIG_LOCK_DEBUG each thread keeps a stack of what it holds, and a breach
 * is a report of kind REPORT_LOCK that names both locks; without it the checks
 * are empty inline functions.
 *
 * The hot paths take no lock at all. No lock is held over a callback of the
 * user or over the log. Three are held over calls of the backend that may
 * block, though not over waiting for a device: LOCK_VMM, because it is what
 * makes a growing range consistent; and LOCK_REGISTRY, over the opening of a
 * space's vmm, and when a thread exits or a space closes, over handing back
 * what its heaps hold, which may unmap; and the claim of an arena
 * (slab/arena.h), which is a word and no lock, and comes before LOCK_SPACE and
 * what is behind it: no LOCK_SYMBOL within, and so no report. The lock that
 * loads the CUDA driver has the rank of LOCK_REGISTRY too, and is never held
 * with it. Nothing that a fast path needs is behind either. LOCK_SYMBOL is held
 * over a library that calls malloc, which may be made of this one: it comes
 * first.
 */
#ifndef CORE_LOCK_H
#define CORE_LOCK_H

#include <pthread.h>

enum lock_rank {
	LOCK_SYMBOL,		/* finding names; calls malloc */
	LOCK_REGISTRY,		/* the list of open spaces; open, close, fork */
	LOCK_SPACE,		/* policy, the list of caches, shrinkers */
	LOCK_VALIDATE,		/* the one consistency walk at a time */
	LOCK_HEAPS,		/* the list of thread heaps of a space */
	LOCK_CLASS,		/* slabs and counters of one class */
	LOCK_BARN,		/* full and empty sheaves of one class */
	LOCK_STREAMS,		/* the streams of a space */
	LOCK_NOTES,		/* notes on objects, and graphs */
	LOCK_PENDING,		/* free objects that wait for events */
	LOCK_POOL,		/* runs of slices */
	LOCK_VMM,		/* address range, handles, backend calls */
	LOCK_QUEUE,		/* host queues */
	LOCK_HAZARD,		/* what is ordered before what */
	LOCK_TRACK,		/* who allocated and freed what */
	LOCK_META,		/* host memory for metadata */
	LOCK_TOKENS,		/* tokens of one kind; takes nothing */
	LOCK_DEPOT,		/* new stacks; takes nothing */
	LOCK_LOG,		/* the sink; takes nothing */
	LOCK_NR_RANKS
};

struct lock {
	pthread_mutex_t mutex;
	enum lock_rank rank;
	const char *name;
};

/* For locks that exist before any code runs. */
#define LOCK_INIT(rank, name) { PTHREAD_MUTEX_INITIALIZER, rank, name }

void lock_init(struct lock *l, enum lock_rank rank, const char *name);
void lock_fini(struct lock *l);

/* core/lock_debug.c; only called with CONFIG_LOCK_DEBUG. */
void lock_debug_acquire(const struct lock *l);
void lock_debug_release(const struct lock *l);
void lock_debug_assert_held(const struct lock *l);
void lock_debug_assert_none(void);

static inline void lock_acquire(struct lock *l)
{
	if (IS_ENABLED(CONFIG_LOCK_DEBUG))
		lock_debug_acquire(l);
	pthread_mutex_lock(&l->mutex);
}

static inline void lock_release(struct lock *l)
{
	pthread_mutex_unlock(&l->mutex);
	if (IS_ENABLED(CONFIG_LOCK_DEBUG))
		lock_debug_release(l);
}

/*
 * Checks, in debug builds, that the caller holds @l. The name of a function
 * that needs a lock held ends in _locked; core/thread.c and core/metapool.c
 * check it as well.
 */
static inline void assert_held(const struct lock *l)
{
	if (IS_ENABLED(CONFIG_LOCK_DEBUG))
		lock_debug_assert_held(l);
}

/* The same for the opposite: the caller holds no lock of the library. */
static inline void assert_no_lock_held(void)
{
	if (IS_ENABLED(CONFIG_LOCK_DEBUG))
		lock_debug_assert_none();
}

/*
 * Around fork() every lock is held at once: the outer ranks, up to
 * LOCK_VALIDATE, each of all spaces; then space by space the ranks within,
 * each of all classes; at last what the process has one of. Several of one
 * rank together, and a second space's LOCK_HEAPS behind the first one's
 * LOCK_META, are what the order otherwise forbids; nobody else holds locks of
 * two spaces below LOCK_VALIDATE. Not checked; the child releases what its
 * parent's thread acquired.
 */
static inline void lock_acquire_for_fork(struct lock *l)
{
	pthread_mutex_lock(&l->mutex);
}

static inline void lock_release_for_fork(struct lock *l)
{
	pthread_mutex_unlock(&l->mutex);
}

#endif /* CORE_LOCK_H */
