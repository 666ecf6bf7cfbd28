/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * traces.h - the tracked objects of a space, by stack: slabdev_traces().
 */
#ifndef SLAB_TRACES_H
#define SLAB_TRACES_H

#include <errno.h>
#include <stdio.h>

#include "core/log.h"
#include "slab/slab.h"

#if IS_ENABLED(CONFIG_SLAB_DEBUG)
/* 0, -ENODATA or -ENOMEM; the caller looks whether @out took it. */
int traces_print(struct slabdev *sd, enum slabdev_trace_kind kind, bool json,
		 FILE *out);
#else
static inline int traces_print(struct slabdev *sd, enum slabdev_trace_kind kind,
			       bool json, FILE *out)
{
	(void)kind;
	(void)json;
	(void)out;
	return error_set(-ENODATA, "space %s: objects cannot be tracked: the "
			 "library was built without debugging", sd->name);
}
#endif

#endif /* SLAB_TRACES_H */
