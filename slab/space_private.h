/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * space_private.h - what registry.c, space.c and close.c share.
 */
#ifndef SLAB_SPACE_PRIVATE_H
#define SLAB_SPACE_PRIVATE_H

#include "slab/space.h"

void registry_lock(void);
void registry_unlock(void);
/* Can a thief make other threads see its stores? Known from the first open on,
 * and the same for all. */
bool registry_has_membarrier(void);
/* The memory of a space that has a number, and is not in the table; the first
 * one sets the library up. */
int __must_check registry_new_locked(struct slabdev **out);
void registry_free_locked(struct slabdev *sd);
void registry_add_locked(struct slabdev *sd);
/* Its number is free. */
void registry_remove_locked(const struct slabdev *sd);
/* Is it an open space, and not being closed? @sd may be any pointer. */
bool registry_has_locked(const struct slabdev *sd);

/* The parts of a space that opening and closing both undo. */
void space_fini_streams(struct slabdev *sd);
void space_fini_classes(struct slabdev *sd);
void space_fini_pools(struct slabdev *sd);
void space_fini_locks(struct slabdev *sd);

#endif /* SLAB_SPACE_PRIVATE_H */
