/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cancel.h - no call of the library is a cancellation point.
 *
 * pthread_cancel() acts, unless the thread asked for worse, where the thread
 * calls a function that may wait: open(2), read(2), close(2), fallocate(2) and
 * others. A thread that ended there would take locks, sheaves and its place
 * among the visitors with it. So whoever calls such a function, or one of the
 * user's that may, does it in a scope that begins with NO_CANCELLATION: a
 * request that is pending waits until the scope has been left, and acts at the
 * next cancellation point of the user's own. Scopes may be nested.
 *
 * Not covered: PTHREAD_CANCEL_ASYNCHRONOUS, under which POSIX allows no calls
 * but three.
 */
#ifndef CORE_CANCEL_H
#define CORE_CANCEL_H

#include <pthread.h>

static inline int cancel_off(void)
{
	int before = PTHREAD_CANCEL_ENABLE;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void cancel_as_before(const int *before)
{
	pthread_setcancelstate(*before, NULL);
}

#define NO_CANCELLATION						\
	int cancel_before __attribute__((unused,		\
		cleanup(cancel_as_before))) = cancel_off()

#endif /* CORE_CANCEL_H */
