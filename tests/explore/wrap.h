/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wrap.h - the functions that the linker puts in front of others (--wrap), and
 * the names by which those are still reached. The list is also in
 * tests/explore/Makefile.
 */
#ifndef TESTS_EXPLORE_WRAP_H
#define TESTS_EXPLORE_WRAP_H

#include <pthread.h>
#include <time.h>

struct slabdev;

int __wrap_pthread_mutex_lock(pthread_mutex_t *m);
int __real_pthread_mutex_lock(pthread_mutex_t *m);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m);
int __real_pthread_mutex_unlock(pthread_mutex_t *m);
int __wrap_pthread_key_create(pthread_key_t *key, void (*fn)(void *value));
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void),
			  void (*child)(void));
int __wrap_sched_yield(void);
int __real_sched_yield(void);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __real_nanosleep(const struct timespec *time, struct timespec *left);
long __wrap_syscall(long number, long arg1, long arg2);
long __real_syscall(long number, long arg1, long arg2);
void __wrap_visit_wait(struct slabdev *sd);
void __real_visit_wait(struct slabdev *sd);

#endif /* TESTS_EXPLORE_WRAP_H */
