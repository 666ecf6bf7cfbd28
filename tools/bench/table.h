/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * table.h - what came of it, for people.
 */
#ifndef SLABBENCH_TABLE_H
#define SLABBENCH_TABLE_H

#include <stdio.h>

#include "bench.h"

void table_print(FILE *out, const struct bench *b);
/* MODE_CHECK */
void table_print_check(FILE *out, const struct bench *b);
/* MODE_LIST */
void table_print_list(FILE *out);
/* What could not be measured, and why. */
void table_print_problems(FILE *out, const struct bench *b);

#endif /* SLABBENCH_TABLE_H */
