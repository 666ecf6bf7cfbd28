/* SPDX-License-Identifier: BSD-2-Clause */
/* clock.h - how long things take. */
#ifndef TESTS_CLOCK_H
#define TESTS_CLOCK_H

#include <time.h>

/* Nanoseconds, monotonic. */
static inline u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000000u + (u64)now.tv_nsec;
}

#endif /* TESTS_CLOCK_H */
