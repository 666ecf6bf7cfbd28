/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memory.h - allocation that does not fail.
 *
 * A small program that runs out of memory has nothing better to do than to say
 * so and end. What a hostile process can make it allocate is bounded by the
 * callers.
 */
#ifndef SLABINFO_MEMORY_H
#define SLABINFO_MEMORY_H

#include <stddef.h>

/* Zeroed memory. */
void *zalloc(size_t size);

/*
 * Makes room for one element after @n: returns @array, moved as it grows to
 * the next power of two.
 */
void *grow_array(void *array, size_t n, size_t element_size);

#endif /* SLABINFO_MEMORY_H */
