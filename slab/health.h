/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * health.h - spaces that cannot be used any more.
 *
 * A space dies in four ways: its driver reports an error that it will report
 * for ever, or shuts down with the process, its device is reset, or it finds
 * itself in the child of a fork that its memory did not survive. From then on
 * every call says so, and nothing is handed out: memory that a broken context
 * still maps is not memory.
 *
 * Fast paths know nothing of this. A dead space has no granules below
 * high_slots, so that every free is unusual; no sheaves, so that every
 * allocation is slow; and the slow paths ask space_check() first. Threads that
 * were on their way meanwhile end their call as if it had come before.
 */
#ifndef SLAB_HEALTH_H
#define SLAB_HEALTH_H

#include "slab/slab.h"

/*
 * The first line of a public call that has no fast path: 0; -EINVAL NULL,
 * -EOWNERDEAD or -EIO the space is dead, with the text set.
 */
int __must_check space_check(const struct slabdev *sd, const char *call);

/*
 * space_failed - a backend call failed; does it for ever?
 * @err: its error, or 0
 *
 * Call it without locks. Reports the death of a space once. Return @err.
 */
int space_failed(struct slabdev *sd, int err);

/* In the child of a fork, all locks held. */
void space_orphan(struct slabdev *sd);

#endif /* SLAB_HEALTH_H */
