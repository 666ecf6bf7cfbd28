/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * callgrind.h - instructions an operation.
 */
#ifndef SLABBENCH_CALLGRIND_H
#define SLABBENCH_CALLGRIND_H

#include "bench.h"

/* 0, or a negative errno: there is no valgrind. */
int callgrind_run(struct bench *b);

#endif /* SLABBENCH_CALLGRIND_H */
