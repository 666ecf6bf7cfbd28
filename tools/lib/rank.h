/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rank.h - which part of a parallel job a process is.
 *
 * Launchers say it in the environment. A node runs a rank for each device, all
 * of the same name: the number of the process alone tells nobody which is
 * which.
 */
#ifndef SLABINFO_RANK_H
#define SLABINFO_RANK_H

/**
 * struct rank - "" where nothing is known
 * @rank: the process's number in its job
 * @job: the batch system's name of the job
 */
struct rank {
	char rank[16];
	char job[32];
};

/* @dir is /proc/PID. What cannot be read is not known. */
void rank_read(struct rank *r, int dir);

#endif /* SLABINFO_RANK_H */
