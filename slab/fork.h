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
 * A fork is no picture of one moment: of what another thread was just doing the
 * child may have the books and not the bytes, or the bytes and not the books.
 * Tags and sizes are put right by the above, red zones and poison (zone.h) are
 * not. So where another thread was there, a queue, a free that was pending or
 * an object that had a note, the child fills those of slabs anew, but for what
 * was free in them, which nobody was at. Those of larger objects and what they
 * left, of arenas, and of slabs that a queue was to fill are unsure until they
 * are made anew. Where the forking thread was alone all stays as it was.
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
