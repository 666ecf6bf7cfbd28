/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pairs.h - an allocation and its free, libslabdev beside the driver.
 *
 * Two workloads: "pair" frees each object at once, "batch" allocates as many
 * as a quarter of the free memory holds, at most 100, and then frees them all.
 * The subjects take turns in each round, so that what disturbs the machine
 * disturbs all of them. A first round that is not counted primes them, and
 * says how often a sample has to repeat to take two milliseconds. The device
 * is idle and synchronized between samples.
 */
#ifndef TESTS_GPU_PAIRS_H
#define TESTS_GPU_PAIRS_H

#include <stdio.h>

void pairs_measure(bool quick);
void pairs_text(FILE *out);
void pairs_json(FILE *out);

#endif /* TESTS_GPU_PAIRS_H */
