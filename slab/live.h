/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * live.h - walking over the objects that are live.
 *
 * The tags are the truth: an object is live exactly when its tag (or its live
 * bit) says so, whatever the counters show. Other threads may allocate and
 * free during a walk; what they change is seen or not.
 */
#ifndef SLAB_LIVE_H
#define SLAB_LIVE_H

#include "slab/alloc.h"

/* Live objects of a class, or of all classes (NULL). */
u64 live_walk(struct slabdev *sd, struct class *c,
	      void (*each)(const struct place *at, void *arg), void *arg);
/* The same number from the counters, without a walk. */
u64 live_count(struct class *c);

/* The report of kind REPORT_LIVE_OBJECTS that lists the first of them. */
void live_report(struct slabdev *sd, struct class *c, const char *doing);

#endif /* SLAB_LIVE_H */
