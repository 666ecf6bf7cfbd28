/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * floor_depot.h - what is behind the magazines of all threads: a stack of free
 * objects for each class, under a spinlock that is held for one copy.
 */
#ifndef SLABBENCH_FLOOR_DEPOT_H
#define SLABBENCH_FLOOR_DEPOT_H

#include <stdint.h>

#define DEPOT_MAGAZINE 128u	/* most objects of a magazine */

/* Objects of a magazine: few where they are large. */
uint32_t depot_room(unsigned int class);
/* Up to @nr objects into @slot, new ones if need be: how many. */
uint32_t depot_get(unsigned int class, void **slot, uint32_t nr);
/* What there is no memory for is lost: this is a floor. */
void depot_put(unsigned int class, void *const *slot, uint32_t nr);

#endif /* SLABBENCH_FLOOR_DEPOT_H */
