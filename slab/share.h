/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * share.h - checks of a struct slabdev_share, on its way out and in.
 */
#ifndef SLAB_SHARE_H
#define SLAB_SHARE_H

#include <slabdev/slabdev.h>

/* A larger one was never initialised. */
#define SHARE_SIZE_MAX 4096u

/* 0, or -EINVAL: @share is not initialised to be filled in by @call. */
int __must_check share_check_out(const struct slabdev_share *share,
				 const char *call);
/* Fill it in, to the size that it has. */
void share_copy_out(struct slabdev_share *to, const struct slabdev_share *from);

/* Take over what @call was given, if it is consistent. 0, -EINVAL, -E2BIG. */
int __must_check share_check_in(struct slabdev_share *to,
				const struct slabdev_share *from,
				const char *call);

#endif /* SLAB_SHARE_H */
