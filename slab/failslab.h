/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * failslab.h - allocations that are made to fail: <slabdev/fault.h>.
 *
 * The letter A brings every allocation of a class to failslab_hit(), which asks
 * the fault attributes of the space (core/fault_attr.h). Without the cache
 * filter all classes of the space get the letter while faults are on; with it
 * only those have it that SLABDEV_DEBUG or their creator gave it to.
 *
 * Locking: space lock.
 */
#ifndef SLAB_FAILSLAB_H
#define SLAB_FAILSLAB_H

#include <pthread.h>

#include "core/fault_attr.h"

struct slabdev;

struct failslab {
	bool on;		/* relaxed too: any allocation may fail */
	bool one_thread;
	pthread_t thread;	/* that one, if so */
	struct fault_setup setup;
};

/* Before the space has classes. */
void failslab_init(struct slabdev *sd, const struct fault_setup *setup);

/*
 * failslab_hit - does this allocation fail?
 * @name: of the class
 * @size: bytes asked for
 *
 * Call it without locks. When true the error text says so.
 */
bool failslab_hit(struct slabdev *sd, const char *name, u64 size);

#endif /* SLAB_FAILSLAB_H */
