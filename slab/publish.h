/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * publish.h - memory for a segment that slabinfo can find.
 *
 * Without CONFIG_SLAB_SEGMENT, and where the kernel refuses memfds, counters
 * live in private memory: everything works, slabinfo sees nothing.
 */
#ifndef SLAB_PUBLISH_H
#define SLAB_PUBLISH_H

#include <errno.h>

#include "core/os.h"

#if IS_ENABLED(CONFIG_SLAB_SEGMENT)
/* A sealed memfd of @size bytes mapped at *@addr: its descriptor, or -errno. */
int publish_segment(size_t size, void **addr);
#else
static inline int publish_segment(size_t size, void **addr)
{
	(void)size;
	(void)addr;
	return -ENOSYS;
}
#endif

#endif /* SLAB_PUBLISH_H */
