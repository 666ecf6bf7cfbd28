/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * holder.h - threads that fill their sheaves, for others to take back; and the
 * barrier which that needs, working or not.
 */
#ifndef TESTS_HOLDER_H
#define TESTS_HOLDER_H

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/os.h"
#include "slab/heap.h"
#include "tests/crew.h"
#include "tests/open_space.h"

#define PER_CLASS 16u
#define FIRST_CLASS 33u		/* 18 KiB */
#define NR_CLASSES 8u

struct holder {
	struct kunit *test;
	struct slabdev *sd;
	struct slabdev_cache *cache;
	void *p[NR_CLASSES][PER_CLASS];
};

static inline void hold(void *arg)
{
	struct holder *h = arg;
	u32 c, i;

	for (c = 0; c < NR_CLASSES; c++) {
		for (i = 0; i < PER_CLASS; i++)
			h->p[c][i] = slabdev_alloc(h->sd,
				layout_class_size[FIRST_CLASS + c]);
		for (i = 0; i < PER_CLASS; i++)
			KUNIT_EXPECT_EQ(h->test,
					slabdev_free(h->sd, h->p[c][i]), 0);
	}
}

static inline void cache_hold(void *arg)
{
	struct holder *h = arg;

	KUNIT_EXPECT_EQ(h->test, slabdev_cache_alloc_bulk(h->cache, 16,
							  h->p[0]), 0);
	KUNIT_EXPECT_EQ(h->test, slabdev_cache_free_bulk(h->cache, 16,
							 h->p[0]), 0);
}

/* A kernel that refuses the barrier, every other time or always. */
static enum { BARRIERS_WORK, BARRIERS_FAIL, BARRIERS_FAIL_OFTEN } barriers;

/* Stands in for os_membarrier(). */
static inline int barrier_or_not(void)
{
	static u32 calls;
	u32 n = __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);

	if (READ_ONCE(barriers) == BARRIERS_FAIL ||
	    (READ_ONCE(barriers) == BARRIERS_FAIL_OFTEN && n % 2))
		return -EPERM;
	return (int)syscall(__NR_membarrier,
			    MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

#endif /* TESTS_HOLDER_H */
