// SPDX-License-Identifier: BSD-2-Clause
/*
 * memory.c - allocation that does not fail.
 */
#define _GNU_SOURCE	/* program_invocation_short_name */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "exit.h"
#include "memory.h"

static _Noreturn void out_of_memory(void)
{
	fprintf(stderr, "%s: out of memory\n", program_invocation_short_name);
	exit(EXIT_INCOMPLETE);
}

void *zalloc(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		out_of_memory();
	return p;
}

void *grow_array(void *array, size_t n, size_t element_size)
{
	size_t bytes;

	if (n & (n - 1))
		return array;
	if (__builtin_mul_overflow(n ? 2 * n : 1, element_size, &bytes))
		out_of_memory();
	array = realloc(array, bytes);
	if (!array)
		out_of_memory();
	return array;
}
