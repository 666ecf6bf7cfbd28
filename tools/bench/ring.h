/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring.h - a queue from one thread to one other.
 *
 * Each side has its position on a line of its own, with what it last saw of
 * the other's beside it: so a side looks at the other's line only when the
 * ring seems full, or empty. A side that waits gives its processor away after
 * a while: there may be only one.
 */
#ifndef SLABBENCH_RING_H
#define SLABBENCH_RING_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RING_ENTRIES 1024u	/* a power of two */
#define RING_LINE 128		/* two lines: processors fetch pairs */
#define RING_SPINS 1000u

/* The position that one side publishes, and its copy of the other's. */
struct ring_side {
	uint64_t at;
	uint64_t other;
	bool gone;
} __attribute__((aligned(RING_LINE)));

struct ring {
	struct ring_side put;
	struct ring_side get;
	void *entry[RING_ENTRIES] __attribute__((aligned(RING_LINE)));
};

static inline void ring_relax(uint32_t *spins)
{
	if (++*spins % RING_SPINS == 0)
		sched_yield();
}

/*
 * Waits until the position of @to is no longer @stuck; false: that side has
 * left. Acquire pairs with the release of the side that moves: what it did to
 * an entry is seen.
 */
static inline bool ring_wait(const struct ring_side *to, uint64_t *seen,
			     uint64_t stuck)
{
	uint32_t spins = 0;

	while ((*seen = __atomic_load_n(&to->at, __ATOMIC_ACQUIRE)) == stuck) {
		if (__atomic_load_n(&to->gone, __ATOMIC_RELAXED))
			return false;
		ring_relax(&spins);
	}
	return true;
}

static inline bool ring_put(struct ring *r, void *p)
{
	uint64_t at = r->put.at;

	if (at - r->put.other == RING_ENTRIES &&
	    !ring_wait(&r->get, &r->put.other, at - RING_ENTRIES))
		return false;
	r->entry[at % RING_ENTRIES] = p;
	__atomic_store_n(&r->put.at, at + 1, __ATOMIC_RELEASE);
	return true;
}

static inline bool ring_get(struct ring *r, void **p)
{
	uint64_t at = r->get.at;

	if (at == r->get.other && !ring_wait(&r->put, &r->get.other, at))
		return false;
	*p = r->entry[at % RING_ENTRIES];
	__atomic_store_n(&r->get.at, at + 1, __ATOMIC_RELEASE);
	return true;
}

/* The side will not move again. */
static inline void ring_leave(struct ring_side *side)
{
	__atomic_store_n(&side->gone, true, __ATOMIC_RELAXED);
}

#endif /* SLABBENCH_RING_H */
