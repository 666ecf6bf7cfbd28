/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reader.h - from processes to a snapshot.
 */
#ifndef SLABINFO_READER_H
#define SLABINFO_READER_H

#include <stddef.h>
#include <sys/types.h>

#include "model.h"

/*
 * Reads the processes @pids, or with none every process that may be read.
 * Another user's process is a problem only when it was named.
 */
void reader_run(struct snapshot *snap, const pid_t *pids, size_t nr_pids);

#endif /* SLABINFO_READER_H */
