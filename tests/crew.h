/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * crew.h - threads that do what they are told, one step at a time.
 *
 * A test of threads is easiest to believe when it says which thread does what
 * and when. A crew's threads wait, idle, until one is given a job; so a case
 * can have sixty threads fill their sheaves and then look at them, with no
 * sleep and no race of its own.
 */
#ifndef TESTS_CREW_H
#define TESTS_CREW_H

#include "tests/kunit/kunit.h"

struct crew;

typedef void (*crew_job_fn)(void *arg);

/* @n idle threads; they end with the case, or by crew_dismiss(). */
struct crew *crew_new(struct kunit *test, unsigned int n);
/* Have thread @i run @job, and wait until it has. */
void crew_do(struct crew *crew, unsigned int i, crew_job_fn job, void *arg);
/* The same without waiting; crew_wait() does. */
void crew_start(struct crew *crew, unsigned int i, crew_job_fn job, void *arg);
void crew_wait(struct crew *crew, unsigned int i);
/* All at once, with @args + i * @size, and wait for all. */
void crew_all(struct crew *crew, crew_job_fn job, void *args, size_t size);
/* The threads exit; they must be idle. */
void crew_dismiss(struct crew *crew);

#endif /* TESTS_CREW_H */
