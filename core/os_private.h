/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * os_private.h - steps of the wrappers of core/os.h, each replaceable alone.
 */
#ifndef CORE_OS_PRIVATE_H
#define CORE_OS_PRIVATE_H

#include <stddef.h>

/* @fd, or a duplicate of it above standard error, @fd closed; or -errno. */
int os_fd_above_stdio(int fd);
/* The text of a file, cut at @size - 1 bytes. 0 or -errno. */
int os_read_file(const char *path, char *text, size_t size);

/* A memfd with all its memory, if the system can say that there is enough; not
 * sealed yet. */
int os_sized_memfd(const char *name, size_t size);
/* Its steps, and those of os_shared_segment(). */
int os_memfd_create(const char *name, unsigned int flags);
int os_ftruncate(int fd, size_t size);
int os_fallocate(int fd, size_t size);
int os_map_shared(int fd, size_t size, void **addr);
int os_add_seals(int fd, int seals);

#endif /* CORE_OS_PRIVATE_H */
