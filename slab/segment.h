/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * segment.h - where a space's counters live.
 *
 * The layout is <slabdev/segment.h>. A segment is a sealed memfd when the
 * space publishes its statistics (publish.h), else private memory: the code
 * that counts does not know the difference.
 *
 * Locking: the heaps lock for blocks and for the table of segments.
 */
#ifndef SLAB_SEGMENT_H
#define SLAB_SEGMENT_H

#include "slab/slab.h"

/* Has the counters of caches that were destroyed; no class of its own. */
#define GONE_CLASS 120u

/* The SPACE segment and the first window. 0 or -ENOMEM. */
int __must_check segments_init(struct slabdev *sd);
void segments_fini(struct slabdev *sd);

/* Have the CLASSES segment of a window. 0 or -ENOMEM. */
int __must_check segment_window(struct slabdev *sd, u32 window);

/* A thread block for a window; NULL: no host memory. */
struct slabdev_seg_thread *segment_block_get_locked(struct slabdev *sd,
						    u32 window);
/* Add its counters to the retired ones, and free the block. */
void segment_block_put_locked(struct slabdev *sd,
			      struct slabdev_seg_thread *block);

/* Records for stacks (origin.h); NULL: no host memory. */
struct slabdev_seg_traces *segment_traces_locked(struct slabdev *sd);

/* A class number is given up: its counters go to those of class GONE_CLASS,
 * and the number's own begin at 0 again. Nobody counts in it meanwhile. */
void segment_retire_class(struct slabdev *sd, u32 id);
/* Sum of a window's counters over all threads, past and present. */
void segment_sum(struct slabdev *sd, u32 window,
		 struct slabdev_seg_counters sum[SLABDEV_SEG_WINDOW]);

/*
 * Around a fork: what the child will need, copied under all locks; dropped by
 * the parent; in the child put in place of the parent's pages. If that fails
 * some pages are still the parent's: the space must not count any more.
 */
void segments_before_fork(struct slabdev *sd);
void segments_in_parent(struct slabdev *sd);
int __must_check segments_in_child(struct slabdev *sd);
/* When it failed: private pages for what is the parent's yet. */
void segments_privatize(struct slabdev *sd);
/* Then no object is counted as live, until each is counted again. */
void segments_settle(struct slabdev *sd);

#endif /* SLAB_SEGMENT_H */
