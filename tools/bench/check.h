/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check.h - what a workload and an allocator must do whatever their speed.
 */
#ifndef SLABBENCH_CHECK_H
#define SLABBENCH_CHECK_H

#include <stdint.h>

#include "calls.h"

/*
 * Puts itself between the workload and the allocator @c: no two live objects
 * may have a byte in common, and only what is live may be freed. Objects of a
 * cache have @size bytes.
 */
void check_begin(struct calls *c, size_t size);
/* How many objects were looked at; the first complaint, or NULL. */
const char *check_result(uint64_t *nr);

#endif /* SLABBENCH_CHECK_H */
