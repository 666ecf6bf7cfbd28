/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork.h - a space in the child of a fork.
 *
 * Before the fork every lock is taken, so that no structure is half changed in
 * the child: the registry, the spaces, then one space after the other, by rank
 * within it. The child has only the thread that forked; what the
 * others held in sheaves, or had just taken out of one, would be lost. So the
 * child forgets all sheaves and rebuilds the slabs from the tags, which are
 * the truth: an object that is not live is free; and so is a chunk on its way
 * between vmm and pool, which neither would look for. Its counters move to
 * memory of its own. Spaces on devices do not survive: every call in the child
 * gets -EOWNERDEAD.
 *
 * Limits: the child's counters of allocations and frees since open may miss the
 * last ones of other threads; what is live is counted anew, exactly. A fork
 * from inside a callback of the library (a constructor, a shrinker) leaves a
 * child that may only exec or exit. A space that is being closed meanwhile
 * stays half closed in the child.
 */
#ifndef SLAB_FORK_H
#define SLAB_FORK_H

/* Install the handlers; once. 0 or -ENOMEM. */
int fork_init(void);

#endif /* SLAB_FORK_H */
