/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * class_table.h - numbers for classes that come while the space is open:
 * caches, and comm classes.
 *
 * The first 39 get a tag code of their own, and with it the fast paths of
 * alloc.c. Later ones, tiny ones, and those whose objects have sizes of their
 * own share a code and find their class through the slab's descriptor. A number
 * is free again when its record is.
 *
 * Locking: the space lock.
 */
#ifndef SLAB_CLASS_TABLE_H
#define SLAB_CLASS_TABLE_H

#include "slab/slab.h"

/*
 * A class of which all else is filled in gets a number, a code and a record,
 * and can be found from then on. The caller puts it into a list. -ENOSPC: there
 * are as many as there can be; -ENOMEM.
 */
int __must_check class_register_locked(struct class *c, const char *name,
				       enum slabdev_seg_class_type type);

#endif /* SLAB_CLASS_TABLE_H */
