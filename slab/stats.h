/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stats.h - the figures of a space, from its counters.
 *
 * Every figure is a sum over what segment.h keeps; nothing is estimated. The
 * bytes add up to the mapped bytes by promise P9, and what operations in
 * flight leave over is in_flight.
 */
#ifndef SLAB_STATS_H
#define SLAB_STATS_H

#include "slab/slab.h"

/* Host memory committed for the space; also put where slabinfo sees it. */
u64 stats_host_bytes(struct slabdev *sd);

void stats_collect(struct slabdev *sd, struct slabdev_stats *st);

/* One class with its figures, for tables. */
struct class_figures {
	struct class *class;
	struct slabdev_seg_counters sum;
	struct slabdev_seg_figures f;
};
/* Call @each for every class that has slabs or has ever counted. */
void stats_each_class(struct slabdev *sd,
		      void (*each)(const struct class_figures *cf, void *arg),
		      void *arg);

#endif /* SLAB_STATS_H */
