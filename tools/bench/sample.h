/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sample.h - takes the time.
 *
 * A *sample* is the time of one operation, from enough of them that reading
 * the clock does not count. One thread is measured in its own processor time,
 * so that other processes do not count either; two threads by the clock on the
 * wall, from when the first begins until the last is done.
 *
 * What no clock of ours sees is a processor that is slow for a while, because
 * of its frequency, or because another virtual machine has the other half of
 * the core. So each sample has a *reading* beside it: how many additions in
 * registers a nanosecond this processor did just before and just after. It
 * says nothing of memory; samples whose reading is low were taken in a bad
 * moment.
 */
#ifndef SLABBENCH_SAMPLE_H
#define SLABBENCH_SAMPLE_H

#include <stdint.h>

struct run;

struct sample {
	double value;		/* nanoseconds; elsewhere instructions, bytes */
	double reading;
};

/* Additions a nanosecond, now. */
double sample_reading(void);

/*
 * Prepares the workers and takes @nr samples of about @target_ns each, all in
 * one process. 0, -ENOMEM the allocator gave up, -EAGAIN no thread.
 */
int sample_take(struct run *run, struct sample *samples, unsigned int nr,
		uint64_t target_ns);

/* Prepares the workers and makes @n operations, once. */
int sample_run(struct run *run, uint64_t n);

#endif /* SLABBENCH_SAMPLE_H */
