// SPDX-License-Identifier: BSD-2-Clause
/*
 * host.c - the kernels of a job on the host.
 *
 * They are loops and not calls of memset() and memcpy(), so that a debugger
 * stops in the line that went too far.
 */
#include "job.h"

static int open_host(const char *spec)
{
	(void)spec;
	return 0;
}

static int fill(void *to, unsigned char value, size_t n)
{
	volatile unsigned char *byte = to;
	size_t i;

	for (i = 0; i < n; i++)
		byte[i] = value;
	return 0;
}

static int fetch(void *to, const void *from, size_t n)
{
	const volatile unsigned char *byte = from;
	unsigned char *out = to;
	size_t i;

	for (i = 0; i < n; i++)
		out[i] = byte[i];
	return 0;
}

const struct device host_device = {
	.open = open_host,
	.fill = fill,
	.fetch = fetch,
};
