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

void policy_apply(struct slabdev *sd, const struct slabdev_policy *policy);

/* While a capture of the bound stream is declared, calls without a stream take
 * slow paths, which see that it is @st. */
void policy_begin_capture(struct slabdev *sd, struct stream *st);
void policy_end_capture(struct slabdev *sd, struct stream *st);

#endif /* SLAB_POLICY_H */
