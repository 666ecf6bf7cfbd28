/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool.h - run one function over an index range on several threads
 */
#ifndef DMRG_POOL_H
#define DMRG_POOL_H

#define POOL_THREADS_MAX 64

struct pool;

/* Task @i of @arg: 0, or a negative errno that ends the run early. */
typedef int (*pool_fn)(void *arg, int i);

int pool_create(struct pool **pool, int threads);
void pool_destroy(struct pool *pool);

/* Return: 0, or the error of one of the tasks; no task runs any more. */
int pool_run(struct pool *pool, pool_fn fn, void *arg, int nr);

#endif
