/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace.h - who allocated what, by stack. Included by slabdev.h, whose
 * conventions hold here.
 *
 * With SLABDEV_DEBUG=U a space remembers of each object who allocated and who
 * freed it: the stack, the thread, the time, the stream. The list here has an
 * entry for each stack, as the kernel's files alloc_traces and free_traces do.
 * slabinfo --alloc-traces shows the same of a process that runs.
 */
#ifndef SLABDEV_TRACE_H
#define SLABDEV_TRACE_H

#include <stdio.h>

#include <slabdev/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** enum slabdev_trace_kind - which objects, by whose stacks */
enum slabdev_trace_kind {
	SLABDEV_TRACE_ALLOC = 1,	/* live ones, by who allocated them */
	SLABDEV_TRACE_FREE = 2,		/* free ones, by who freed them last */
};

/** Print one JSON object on one line. */
#define SLABDEV_TRACE_JSON 0x1u

/**
 * slabdev_traces - print the tracked objects of a space, by stack
 * @sd: the space
 * @kind: an enum slabdev_trace_kind
 * @flags: 0 or SLABDEV_TRACE_JSON
 * @out: where to
 *
 * The stack with the most bytes comes first. Each has a line with the number of
 * objects, where the library was called, the bytes that were asked for, the
 * least, the average and the highest age in seconds, and the lowest and the
 * highest thread id; then a line for each frame. A free object is known until
 * its memory is used for something else.
 *
 * Context: any thread; what other threads do meanwhile is in it or not.
 * Driver: never.
 * Return: 0; -EINVAL an argument makes no sense, -ENODATA nothing was tracked,
 * since the letter U was never on, -ENOMEM no host memory to sort, -EIO when
 * @out could not be written.
 */
SLABDEV_API int slabdev_traces(struct slabdev *sd, enum slabdev_trace_kind kind,
			       unsigned int flags, FILE *out);

#ifdef __cplusplus
}
#endif
#endif /* SLABDEV_TRACE_H */
