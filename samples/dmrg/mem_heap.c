// SPDX-License-Identifier: BSD-2-Clause
/*
 * mem_heap.c - blocks from posix_memalign(), for comparison
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "mem_backend.h"

static int heap_open(struct mem_space *s, const struct mem_config *config)
{
	(void)config;
	s->device = &device_cpu;
	return 0;
}

static int heap_close(struct mem_space *s)
{
	(void)s;
	return 0;
}

static void *heap_alloc(struct mem_space *s, size_t bytes)
{
	void *p;

	(void)s;
	errno = posix_memalign(&p, MEM_ALIGN, bytes);
	return errno ? NULL : p;
}

static int heap_free(struct mem_space *s, void *p)
{
	(void)s;
	free(p);
	return 0;
}

static int heap_set_policy(struct mem_space *s, int policy)
{
	(void)s;
	(void)policy;
	return 0;
}

static const char *heap_error(void)
{
	return strerror(ENOMEM);
}

static void heap_counts(struct mem_space *s, struct mem_counts *c)
{
	(void)s;
	(void)c;
}

const struct mem_backend mem_heap = {
	.open = heap_open,
	.close = heap_close,
	.alloc = heap_alloc,
	.free = heap_free,
	.set_policy = heap_set_policy,
	.error = heap_error,
	.counts = heap_counts,
};
