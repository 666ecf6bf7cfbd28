/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shrinker.h - the user's callbacks that free memory before a call fails.
 *
 * A shrinker runs in the thread whose request would fail, without locks. Its
 * own requests must not start reclaim again, so a thread that is inside one is
 * marked, and unregistering waits until nobody is inside.
 */
#ifndef SLAB_SHRINKER_H
#define SLAB_SHRINKER_H

#include "slab/slab.h"

/* Call all of them; the bytes that they say they freed. */
u64 shrinkers_run(struct slabdev *sd, u64 bytes);
/* Is this thread inside a shrinker of @sd? */
bool thread_is_shrinking(struct slabdev *sd);

/* After a fork: of the threads that were inside only this one may be here. */
void shrinkers_forget_callers(struct slabdev *sd);

#endif /* SLAB_SHRINKER_H */
