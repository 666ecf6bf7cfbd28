// SPDX-License-Identifier: BSD-2-Clause
/*
 * body_two.c - one thread allocates, the other frees.
 *
 * What one thread frees it has never allocated, and what the other allocates
 * has to come back to it somehow: an allocator whose free objects stay with
 * the thread that freed them has to hand them over, and here it shows how.
 */
#include <errno.h>

#include "workload.h"

static always_inline int produce(struct worker *w, uint64_t n,
				 enum shape shape)
{
	const struct calls c = w->calls;
	const uint32_t *sizes = w->sizes;
	struct ring *ring = &w->run->ring;
	uint32_t next = w->next_size;
	void *p;

	for (; n; n--) {
		p = call_alloc(&c, shape, sizes[next++ % NR_SIZES]);
		if (unlikely(!p)) {
			ring_leave(&ring->put);
			return -ENOMEM;
		}
		ring_put(ring, p);
	}
	w->next_size = next;
	return 0;
}

static always_inline int consume(struct worker *w, uint64_t n,
				 enum shape shape)
{
	const struct calls c = w->calls;
	struct ring *ring = &w->run->ring;
	void *p;

	for (; n; n--) {
		if (unlikely(!ring_get(ring, &p)))
			return -ENOMEM;
		call_free(&c, shape, p);
	}
	return 0;
}

static always_inline int handoff(struct worker *w, uint64_t n,
				 enum shape shape)
{
	return w->index ? consume(w, n, shape) : produce(w, n, shape);
}
DEFINE_BODIES(handoff);
