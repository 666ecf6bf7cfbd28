/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * costs.h - what one call of the driver costs, beside what the model charges.
 *
 * The rows are those of the table in tests/model/cost.c, and more sizes. A
 * call that takes less than a few microseconds is made a hundred times for a
 * sample. Memory is not touched: what is measured is the time until the call
 * returns, on an idle device.
 */
#ifndef TESTS_GPU_COSTS_H
#define TESTS_GPU_COSTS_H

#include "tests/gpu/sample.h"

void costs_measure(bool quick);
void costs_csv(FILE *out);
void costs_json(FILE *out);

#endif /* TESTS_GPU_COSTS_H */
