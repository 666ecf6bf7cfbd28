/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * process.h - one process, through /proc.
 *
 * An open /proc/PID belongs to that very process: once it is gone every
 * look-up through the descriptor fails, even when the pid was given away
 * again. All of a process is read through one descriptor, so two processes
 * are never mixed.
 */
#ifndef SLABINFO_PROCESS_H
#define SLABINFO_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "rank.h"

/**
 * struct process - an open process
 * @pid: as this process sees it
 * @dir: /proc/PID
 * @fds: /proc/PID/fd
 * @inner_pid: its pid in its own pid namespace; from process_identify() on
 * @start_time: field 22 of its stat file; the same
 * @command: its comm file; the same
 * @rank: from its environment; the same
 * @ended: it exits, or has and waits for its parent; also after -ESRCH
 */
struct process {
	pid_t pid;
	int dir;
	int fds;
	pid_t inner_pid;
	uint64_t start_time;
	char command[32];
	struct rank rank;
	bool ended;
};

/*
 * 0; -ESRCH there is no such process (any more); -EACCES it is another user's,
 * or may not be inspected; else what reading /proc gave.
 */
int process_open(struct process *p, pid_t pid);
void process_close(struct process *p);

/*
 * What is left of a process that has ended belongs to root: to its owner it
 * looks like another user's.
 */
bool process_has_ended(struct process *p);

/* Reads what tells it from others: most processes are closed before that. */
int process_identify(struct process *p);

/* The number of its owner, for messages. */
uid_t process_owner(pid_t pid);

#endif /* SLABINFO_PROCESS_H */
