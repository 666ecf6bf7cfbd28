/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * segment.h - one statistics file of another process, opened and checked.
 */
#ifndef SLABINFO_SEGMENT_H
#define SLABINFO_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <slabdev/segment.h>

#include "problem.h"
#include "process.h"

/**
 * struct segment - a file whose header and size agree
 * @head: a private copy of the header
 * @data: header and body; a mapping changes under our hands
 * @mapped: @data is a mapping, else a private copy
 * @fd: its number in the process, for messages
 * @inode: tells files from duplicated descriptors
 */
struct segment {
	struct slabdev_seg_header head;
	void *data;
	bool mapped;
	int fd;
	ino_t inode;
};

/*
 * Opens descriptor @fd of @p. 0; -ESRCH the process has just closed it;
 * -EAGAIN it has just made it, and nothing is in it; or -EINVAL with a problem
 * that says why the file is refused. An unsealed file is read, and is a
 * problem all the same.
 */
int segment_open(struct segment *seg, const struct process *p, int fd,
		 struct problems *problems);
void segment_close(struct segment *seg);

/* The link of such a file in /proc/PID/fd. */
bool segment_is_link(const char *target);

/* What follows the header: a record of the kind that the header says. */
static inline const void *segment_body(const struct segment *seg)
{
	return (const char *)seg->data + sizeof(struct slabdev_seg_header);
}

#endif /* SLABINFO_SEGMENT_H */
