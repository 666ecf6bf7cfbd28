/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * files.h - all statistics files of one process.
 */
#ifndef SLABINFO_FILES_H
#define SLABINFO_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "process.h"
#include "segment.h"

/**
 * struct files - the files of a process, sorted by space, kind, and index
 * @segs: no two have the same place
 * @nr: how many
 * @inherited: there are files that another process writes
 */
struct files {
	struct segment *segs;
	size_t nr;
	bool inherited;
};

/*
 * 0, with what is wrong in @problems; -ESRCH the process is gone; or what
 * listing its descriptors gave.
 */
int files_open(struct files *files, struct process *p,
	       struct problems *problems);
void files_close(struct files *files);

#endif /* SLABINFO_FILES_H */
