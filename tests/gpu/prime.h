/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * prime.h - one object of 2 GiB, by three ways.
 *
 * The first allocation of a new space, slabdev_prime() of a new space, and one
 * cuMemAlloc(). Opening and closing the space is not measured.
 */
#ifndef TESTS_GPU_PRIME_H
#define TESTS_GPU_PRIME_H

#include <stdio.h>

void prime_measure(bool quick);
void prime_text(FILE *out);
void prime_json(FILE *out);

#endif /* TESTS_GPU_PRIME_H */
