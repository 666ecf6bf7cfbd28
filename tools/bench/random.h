/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * random.h - numbers that look random and repeat: the same in every process
 * that was given the same seed. A multiplication and an addition each, so that
 * drawing one does not show beside what is measured.
 */
#ifndef SLABBENCH_RANDOM_H
#define SLABBENCH_RANDOM_H

#include <stddef.h>
#include <stdint.h>

static inline uint32_t random_next(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) +
		 UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 32);
}

/* 0 .. @n - 1 */
static inline uint32_t random_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)((uint64_t)random_next(state) * n >> 32);
}

/* 0 .. @nr - 1 in random order. */
static inline void random_order(uint32_t *order, uint32_t nr, uint64_t *state)
{
	uint32_t i, j;

	for (i = 0; i < nr; i++) {
		j = random_below(state, i + 1);
		order[i] = order[j];
		order[j] = i;
	}
}

#endif /* SLABBENCH_RANDOM_H */
