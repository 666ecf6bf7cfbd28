/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rank.h - spaces in which the same calls give the same offsets in every
 * process.
 *
 * Offsets are decided by ranges, lists and sheaves, whose state follows from
 * the calls alone. What else could get into a decision is kept out where it
 * comes from:
 *
 *   addresses       alignments above a chunk are refused; the beginning of a
 *                   space is aligned to one, so that any other goes by
 *                   offset
 *   the machine     a limit and one reservation of given length (reserve.c);
 *                   attributes that ask a device are refused
 *   environment     not applied to the attributes (attr.c)
 *   missing system calls
 *                   no sheaves by accident: the opening fails instead
 *   time            whether the device is done with idle memory is not asked,
 *                   but waited for (vmm_unmap(), reclaim_poll())
 *
 * Streams are left out of the promise: pending.c polls events.
 */
#ifndef SLAB_RANK_H
#define SLAB_RANK_H

#include "slab/slab.h"

/* 0; or -EINVAL: with these attributes offsets would follow the machine. */
int __must_check rank_check_attr(const struct slabdev_attr *attr);
/* 0; or -ENOTSUP, -EINVAL: here they would. The space is about to be built. */
int __must_check rank_check_space(const struct slabdev *sd,
				  const struct slabdev_attr *attr);
/* 0; or -EINVAL: that alignment goes by address, in a space where none does. */
int __must_check rank_check_align(const struct slabdev *sd, size_t align);

#endif /* SLAB_RANK_H */
