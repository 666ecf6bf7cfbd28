/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * window.h - the counters and records of one window of 128 class numbers.
 */
#ifndef SLABINFO_WINDOW_H
#define SLABINFO_WINDOW_H

#include <stdbool.h>
#include <stddef.h>

#include "segment.h"

/**
 * struct window - a consistent copy
 * @sum: retired counters and those of all threads, by class
 * @torn: threads kept ending while it was read: sums may miss or repeat some
 * @overflow: a sum did not fit 64 bits and stays at the highest value
 */
struct window {
	struct slabdev_seg_counters sum[SLABDEV_SEG_WINDOW];
	bool torn;
	bool overflow;
};

/*
 * @threads are all THREADS segments of the space. Without @patient it does not
 * wait for the writer: where one window is torn, waiting for each of the others
 * would take long.
 */
void window_sum(struct window *w, const struct segment *classes,
		const struct segment *threads, size_t nr_threads, bool patient);

/*
 * Copies record @i. 1 it is in use, 0 it is free, -EAGAIN it was made anew
 * each time it was looked at, -EINVAL its state makes no sense.
 */
int window_record(struct slabdev_seg_class *rec, const struct segment *classes,
		  unsigned int i);

/* @to + @n, at most the highest value; that sets @overflow. */
static inline void add_saturated(uint64_t *to, uint64_t n, bool *overflow)
{
	if (__builtin_add_overflow(*to, n, to)) {
		*to = UINT64_MAX;
		*overflow = true;
	}
}

#endif /* SLABINFO_WINDOW_H */
