/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * validate.h - the consistency walk.
 *
 * Read-only. Proves, under each class's lock, that slabs, lists, bits, tags,
 * the barn, and the caller's own sheaves agree, and that the sums of objects
 * and bytes are right when nobody else works in the space. What other threads
 * hold in sheaves cannot be looked at while they run; the walk then proves only
 * that it could be right.
 */
#ifndef SLAB_VALIDATE_H
#define SLAB_VALIDATE_H

#include "slab/slab.h"

#if IS_ENABLED(CONFIG_SLAB_VALIDATE)
/* 0, or -EUCLEAN with a report. */
int validate_class(struct class *c);
int validate_space(struct slabdev *sd);
/* Around a fork. */
void validate_lock_for_fork(void);
void validate_unlock_for_fork(void);
#else
static inline int validate_class(struct class *c)
{
	(void)c;
	return 0;
}

static inline int validate_space(struct slabdev *sd)
{
	(void)sd;
	return 0;
}

static inline void validate_lock_for_fork(void)
{
}

static inline void validate_unlock_for_fork(void)
{
}
#endif

#endif /* SLAB_VALIDATE_H */
