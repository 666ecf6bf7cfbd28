/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * class_list.h - the lists of a class's slabs that have free objects.
 *
 * A slab with some hangs in the list of the logarithm of how many, so that the
 * fullest is found without a search; one whose objects have all come back
 * hangs in LIST_EMPTY, whose slices the space counts, so that it knows what it
 * could have (not of comm classes, which keep them). A slab without free
 * objects is in none.
 *
 * Locking: the class lock, for all of it.
 */
#ifndef SLAB_CLASS_LIST_H
#define SLAB_CLASS_LIST_H

#include "slab/slab.h"

/* The list for a slab with free objects. */
u32 class_list_of(const struct slab *s);
/* Into a list; class_list_of() but for new slabs. */
void class_list_add_locked(struct class *c, struct slab *s, u32 list);
/* Out of the list that it is in. */
void class_list_del_locked(struct class *c, struct slab *s);

#endif /* SLAB_CLASS_LIST_H */
