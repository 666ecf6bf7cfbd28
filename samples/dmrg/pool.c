// SPDX-License-Identifier: BSD-2-Clause
/*
 * pool.c - a queue of numbered tasks, served by a fixed set of threads
 *
 * A run is a function and a count. Threads draw the next number from one
 * atomic counter until none is left, so large and small blocks balance by
 * themselves; the caller draws too. A run ends when every thread has left it,
 * after which the next may begin.
 *
 * Which thread runs which task is chance. Tasks therefore write only what
 * their number owns, and each sums in an order of its own: results are the
 * same bits for any number of threads. Blocks, though, are regularly freed by
 * another thread than the one that allocated them: a task consumes what tasks
 * of an earlier run produced.
 *
 * Locking. The mutex guards the run's generation and the number of threads
 * still in it. A failing task is remembered and makes the others stop drawing.
 */
#include "pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t start, done;
	pthread_t *threads;		/* const after create */
	int nr_threads;			/* const after create */
	unsigned long generation;	/* Locking: lock */
	int busy;			/* Locking: lock */
	bool stop;			/* Locking: lock */
	pool_fn fn;			/* const during a run, and arg, nr */
	void *arg;
	int nr;
	atomic_int next;
	atomic_int error;
};

static void pool_draw(struct pool *pool)
{
	int i, err, none = 0;

	while (!atomic_load_explicit(&pool->error, memory_order_relaxed)) {
		i = atomic_fetch_add(&pool->next, 1);
		if (i >= pool->nr)
			break;
		err = pool->fn(pool->arg, i);
		if (err)
			atomic_compare_exchange_strong(&pool->error, &none,
						       err);
	}
}

static void *pool_thread(void *arg)
{
	struct pool *pool = arg;
	unsigned long seen = 0;

	pthread_mutex_lock(&pool->lock);
	for (;;) {
		while (pool->generation == seen && !pool->stop)
			pthread_cond_wait(&pool->start, &pool->lock);
		if (pool->stop)
			break;
		seen = pool->generation;
		pthread_mutex_unlock(&pool->lock);
		pool_draw(pool);
		pthread_mutex_lock(&pool->lock);
		if (--pool->busy == 0)
			pthread_cond_signal(&pool->done);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

int pool_create(struct pool **out, int threads)
{
	struct pool *pool;
	int err = 0;

	pool = calloc(1, sizeof(*pool));
	if (!pool)
		return -ENOMEM;
	/* The caller of pool_run() is the first of the threads. */
	pool->threads = calloc((size_t)threads, sizeof(*pool->threads));
	if (!pool->threads) {
		free(pool);
		return -ENOMEM;
	}
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->start, NULL);
	pthread_cond_init(&pool->done, NULL);
	while (!err && pool->nr_threads < threads - 1) {
		err = pthread_create(&pool->threads[pool->nr_threads], NULL,
				     pool_thread, pool);
		if (!err)
			pool->nr_threads++;
	}
	if (err) {
		pool_destroy(pool);
		return -err;
	}
	*out = pool;
	return 0;
}

void pool_destroy(struct pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	pthread_cond_broadcast(&pool->start);
	pthread_mutex_unlock(&pool->lock);
	while (pool->nr_threads > 0)
		pthread_join(pool->threads[--pool->nr_threads], NULL);
	pthread_cond_destroy(&pool->done);
	pthread_cond_destroy(&pool->start);
	pthread_mutex_destroy(&pool->lock);
	free(pool->threads);
	free(pool);
}

int pool_run(struct pool *pool, pool_fn fn, void *arg, int nr)
{
	pool->fn = fn;
	pool->arg = arg;
	pool->nr = nr;
	atomic_store(&pool->next, 0);
	atomic_store(&pool->error, 0);
	if (pool->nr_threads > 0 && nr > 1) {
		pthread_mutex_lock(&pool->lock);
		pool->busy = pool->nr_threads;
		pool->generation++;
		pthread_cond_broadcast(&pool->start);
		pthread_mutex_unlock(&pool->lock);
		pool_draw(pool);
		pthread_mutex_lock(&pool->lock);
		while (pool->busy > 0)
			pthread_cond_wait(&pool->done, &pool->lock);
		pthread_mutex_unlock(&pool->lock);
	} else {
		pool_draw(pool);
	}
	return atomic_load(&pool->error);
}
