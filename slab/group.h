/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * group.h - what other files want to know of groups (group.c).
 */
#ifndef SLAB_GROUP_H
#define SLAB_GROUP_H

/* Of the owner of an object: its token, and what is known of it. */
void group_describe(const void *token, char *buf, size_t len);

#endif /* SLAB_GROUP_H */
