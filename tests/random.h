/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * random.h - random steps that can be repeated.
 *
 * A linear congruential sequence, whose state is all there is to repeat: the
 * seed is printed with each run.
 */
#ifndef TESTS_RANDOM_H
#define TESTS_RANDOM_H

#include <stdlib.h>

#include "tests/clock.h"
#include "tests/kunit/kunit.h"

/* KUNIT_SEED, or another one each time; printed, to repeat a failure. */
static inline u64 random_seed(struct kunit *test)
{
	const char *text = getenv("KUNIT_SEED");
	u64 seed = text ? strtoull(text, NULL, 0) : now_ns();

	kunit_info(test, "KUNIT_SEED=%llu", (unsigned long long)seed);
	return seed;
}

/* From 0 to @n - 1. */
static inline u32 random_below(u64 *state, u32 n)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (u32)(*state >> 33) % n;
}

/* From 1 to @most, small ones as likely as large ones. */
static inline u64 random_size(u64 *state, u32 most)
{
	u32 shift = random_below(state, 32);
	u32 bound = most >> (shift % (32 - (u32)__builtin_clz(most)));

	return 1 + random_below(state, bound ? bound : 1);
}

#endif /* TESTS_RANDOM_H */
