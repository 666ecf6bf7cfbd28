/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hazard_capture.h - which streams are being captured, as hazard mode sees it.
 *
 * A capture has a number. It begins with a stream for which it was declared
 * (slabdev_capture_begin) and spreads, as the driver has it, to each stream
 * that waits for an event of it; where that one was declared itself, the two
 * captures are one. It is over for all when it has ended on every stream for
 * which it was declared.
 *
 * A stream that captures is another stream here, by its .capture. A capture
 * that nobody declared is not known: its streams seem to run.
 *
 * Locking: hazard lock.
 */
#ifndef SLAB_HAZARD_CAPTURE_H
#define SLAB_HAZARD_CAPTURE_H

#include "slab/hazard_clock.h"

/* What a handle means to the calling thread; NULL is the legacy stream. */
struct hazard_stream capture_stream_locked(slabdev_stream_t handle);
/* The graph that was declared for what is captured on it; NULL: none. */
const void *capture_graph_locked(const struct hazard_stream *stream);

void capture_begin_locked(slabdev_stream_t handle, const void *graph);
void capture_end_locked(const void *graph);
/* The stream waits for something of @capture, and belongs to it. False: that
 * is over, and nothing of it can be waited for. */
bool capture_enter_locked(struct hazard_stream *stream, u64 capture);
/* No stream captures. */
void capture_reset_locked(void);

#endif /* SLAB_HAZARD_CAPTURE_H */
