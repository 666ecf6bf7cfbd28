/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * attr.h - how a space is to be opened: what the caller says and, where he is
 * silent, the environment.
 */
#ifndef SLAB_ATTR_H
#define SLAB_ATTR_H

#include <slabdev/slabdev.h>

struct params;

/* Copied and checked; -EINVAL and -E2BIG as slabdev_open(), or what is wrong
 * with the environment. */
int __must_check attr_read(struct slabdev_attr *attr, const struct params **p,
			   const struct slabdev_attr *user_attr);

/* A name that reports will print; @what is said of it. NULL is fine. */
int __must_check attr_check_name(const char *name, const char *what);

#endif /* SLAB_ATTR_H */
