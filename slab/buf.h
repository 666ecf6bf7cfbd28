/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * buf.h - what other files want to know of buffers (buf.c).
 */
#ifndef SLAB_BUF_H
#define SLAB_BUF_H

/* Of the owner of an object: its token, and what is known of it. */
void buf_describe(const void *token, char *buf, size_t len);

#endif /* SLAB_BUF_H */
