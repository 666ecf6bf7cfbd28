/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * space.h - the spaces of this process.
 *
 * The registry is the only global state besides the thread-local pointer: a
 * table of open spaces under one lock. A space's number is its place in the
 * table and in every thread's record; it is free again when the space's last
 * heap is gone.
 */
#ifndef SLAB_SPACE_H
#define SLAB_SPACE_H

#include "slab/slab.h"

/*
 * slabdev_open() on a backend that the caller has, and that outlives the space:
 * what a test puts around one.
 */
int __must_check space_open_on(struct slabdev **sd,
			       const struct slabdev_attr *attr,
			       const struct vmm_ops *ops, void *dev);

/*
 * What slabdev_close() asks first, of a space that is no orphan: 0, and nothing
 * but what others do meanwhile can keep it from being closed; or -EBUSY, with a
 * report of what is live.
 */
int __must_check space_may_close(struct slabdev *sd, unsigned int flags);

/* What the memory is, in words; "" where the spec says it already. */
const char *space_backing(const struct slabdev *sd);

/* Call @each for every open space until it returns true; registry lock held. */
void space_each(bool (*each)(struct slabdev *sd, void *arg), void *arg);

/* The same around a fork: the lock is the caller's, closing spaces are left
 * out. */
void space_each_for_fork(void (*each)(struct slabdev *sd));
void registry_lock_for_fork(void);
void registry_unlock_for_fork(void);

#endif /* SLAB_SPACE_H */
