/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * oom.h - the report of a request that failed for lack of memory.
 *
 * It accounts for every byte that the space holds, then names the classes
 * that have most of it, so that the reader sees who has the memory, and
 * whether it is used, cached or stranded.
 */
#ifndef SLAB_OOM_H
#define SLAB_OOM_H

#include "slab/slab.h"

/* @bytes that were not to be had: a slab for class @c, or (NULL) an object. */
void oom_report(struct slabdev *sd, const struct class *c, u64 bytes, int err);

#endif /* SLAB_OOM_H */
