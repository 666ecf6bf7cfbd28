/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy.h - what happens to memory that nothing uses, while the job runs.
 *
 * retain       keep everything until trim, close or a lack of memory
 * trim         keep some; slow paths that grow, and slabdev_poll(), give back
 *              what is beyond
 * aggressive   no sheaves, so that the free which empties a handle is seen,
 *              and gives it back
 */
#ifndef SLAB_POLICY_H
#define SLAB_POLICY_H

#include "slab/slab.h"

void policy_apply(struct slabdev *sd, u32 mode, u64 keep_bytes);

#endif /* SLAB_POLICY_H */
