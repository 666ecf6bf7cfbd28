/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * badfree.h - the report of a pointer that could not be freed.
 */
#ifndef SLAB_BADFREE_H
#define SLAB_BADFREE_H

#include "core/log.h"
#include "slab/alloc.h"

/*
 * bad_free - say what the pointer is instead
 * @r: filled in; for the caller to send with report_end(), when it is no
 *     visitor any more
 * @c: the cache that it was to be freed to, or NULL
 * @at: what lookup() found
 * @err: -EINVAL or -EALREADY
 *
 * Return @err, with the error text set. Nothing was changed.
 */
int bad_free(struct report *r, struct slabdev *sd, const struct class *c,
	     const void *p, const struct place *at, int err);

/* Room for describe_place(). */
#define PLACE_TEXT_MAX 256

/* One line on what is at a place, as reports and slabdev_explain() say it. */
void describe_place(struct slabdev *sd, const void *p,
		    const struct place *at, char *buf, size_t len);

#endif /* SLAB_BADFREE_H */
