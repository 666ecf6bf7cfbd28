// SPDX-License-Identifier: BSD-2-Clause
/*
 * process.c - one process, through /proc.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process.h"

static int read_file(int dir, const char *name, char *buf, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;
	int err;

	if (fd < 0)
		return -errno;
	n = read(fd, buf, size - 1);
	err = n < 0 ? -errno : 0;
	close(fd);
	buf[n < 0 ? 0 : n] = '\0';
	return err;
}

/* Set in the flags of a process that exits, even before it is a zombie. */
#define PF_EXITING 4

/*
 * The command, field 2, may hold blanks and parentheses: skip to the last.
 * Field 3 is the state, 9 the flags, 22 the start time.
 */
static int read_stat(struct process *p)
{
	char buf[1024], *field, *save = NULL;
	int err, n;

	err = read_file(p->dir, "stat", buf, sizeof(buf));
	if (err)
		return err;
	field = strrchr(buf, ')');
	if (!field)
		return -EIO;
	field = strtok_r(field + 1, " ", &save);
	p->ended = field && (*field == 'Z' || *field == 'X');
	for (n = 3; field && n < 22; n++) {
		if (n == 9)
			p->ended |= strtoul(field, NULL, 10) & PF_EXITING;
		field = strtok_r(NULL, " ", &save);
	}
	if (!field)
		return -EIO;
	p->start_time = strtoull(field, NULL, 10);
	return 0;
}

bool process_has_ended(struct process *p)
{
	int err = read_stat(p);

	return err == -ENOENT || err == -ESRCH || p->ended;
}

/*
 * "NSpid:	4711	12": from the outermost namespace we see to its own.
 */
static int read_inner_pid(struct process *p)
{
	char buf[4096], *line, *number, *save = NULL;
	int err;

	p->inner_pid = p->pid;
	err = read_file(p->dir, "status", buf, sizeof(buf));
	if (err)
		return err;
	line = strstr(buf, "\nNSpid:");
	if (!line)
		return 0;
	line += strlen("\nNSpid:");
	line[strcspn(line, "\n")] = '\0';
	number = strtok_r(line, " \t", &save);
	while (number) {
		p->inner_pid = atoi(number);
		number = strtok_r(NULL, " \t", &save);
	}
	return 0;
}

static int read_command(struct process *p)
{
	int err = read_file(p->dir, "comm", p->command, sizeof(p->command));

	p->command[strcspn(p->command, "\n")] = '\0';
	return err;
}

int process_open(struct process *p, pid_t pid)
{
	char path[32];
	int err;

	*p = (struct process){ .pid = pid, .dir = -1, .fds = -1 };
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	p->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->dir < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	p->fds = openat(p->dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->fds >= 0)
		return 0;
	err = errno == ENOENT ? -ESRCH : -errno;
	if (process_has_ended(p))
		err = -ESRCH;
	process_close(p);
	return err;
}

int process_identify(struct process *p)
{
	int err = read_stat(p);

	if (!err)
		err = read_inner_pid(p);
	if (!err)
		err = read_command(p);
	if (!err)
		rank_read(&p->rank, p->dir);
	return err == -ENOENT ? -ESRCH : err;
}

void process_close(struct process *p)
{
	if (p->fds >= 0)
		close(p->fds);
	if (p->dir >= 0)
		close(p->dir);
	p->fds = -1;
	p->dir = -1;
}

uid_t process_owner(pid_t pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	return stat(path, &st) ? (uid_t)-1 : st.st_uid;
}
