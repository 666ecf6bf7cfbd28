/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace.h - a line in the log for each allocation and each free
 * (SLABDEV_DEBUG=T).
 *
 *	TRACE slabdev <space>: alloc <class> <address> size=<bytes>
 *	stream=<stream> by <place>
 *
 * on one line. No lock may be held. The lines are warnings: who asks for them
 * is to see them, and what else is told at the level of information is not
 * among them.
 */
#ifndef SLAB_TRACE_H
#define SLAB_TRACE_H

#include "slab/slab.h"
#include "slab/stream.h"

/* @c: NULL: a large object. @size: what was asked for. */
void trace_alloc(const struct slabdev *sd, const struct class *c, u64 offset,
		 u64 size, const struct order *o) __cold;
void trace_free(const struct slabdev *sd, const struct class *c, u64 offset,
		u64 size, const struct order *o) __cold;

#endif /* SLAB_TRACE_H */
