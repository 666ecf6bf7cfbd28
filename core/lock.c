// SPDX-License-Identifier: BSD-2-Clause
/*
 * lock.c - making and unmaking ranked locks; the rest is inline (core/lock.h).
 */
#include "core/lock.h"

void lock_init(struct lock *l, enum lock_rank rank, const char *name)
{
	/* With default attributes glibc has nothing that could fail here. */
	pthread_mutex_init(&l->mutex, NULL);
	l->rank = rank;
	l->name = name;
}

void lock_fini(struct lock *l)
{
	pthread_mutex_destroy(&l->mutex);
}
