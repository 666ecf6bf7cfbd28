// SPDX-License-Identifier: BSD-2-Clause
/*
 * reader.c - from processes to a snapshot.
 *
 * A process is not stopped to be read. It may open a space, add files, or end
 * while we look, and what we see then contradicts itself for a moment. An
 * attempt with problems is therefore thrown away and made again, a few times;
 * what remains wrong is wrong.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "account.h"
#include "files.h"
#include "memory.h"
#include "process.h"
#include "reader.h"

#define MOST_ATTEMPTS 25
#define PAUSE_NS 3000000

static void read_spaces(struct snapshot *snap, const struct process *p,
			const struct files *files, struct problems *problems)
{
	struct space *space;
	size_t i, n;

	for (i = 0; i < files->nr; i += n) {
		const struct segment *first = &files->segs[i];

		for (n = 1; i + n < files->nr; n++)
			if (first[n].head.open_id != first->head.open_id)
				break;
		space = space_new();
		space->pid = p->pid;
		space->open_id = first->head.open_id;
		space->rank = p->rank;
		memcpy(space->command, p->command, sizeof(space->command));
		if (account_space(space, first, n, problems))
			space_free(space);
		else
			snapshot_add(snap, space);
	}
}

/* What one attempt found besides spaces. */
struct finding {
	struct problems problems;
	bool inherited;
	int err;
};

static void attempt(struct snapshot *snap, struct process *p,
		    struct finding *f)
{
	struct files files;

	*f = (struct finding){ 0 };
	f->err = files_open(&files, p, &f->problems);
	if (f->err) {
		if (process_has_ended(p))
			f->err = -ESRCH;
		return;
	}
	f->inherited = files.inherited;
	read_spaces(snap, p, &files, &f->problems);
	files_close(&files);
	if (problems_count(&f->problems))
		f->err = process_identify(p);
	if (!f->err && p->ended)
		f->err = -ESRCH;
}

static void read_process(struct snapshot *snap, struct process *p, bool named)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	size_t before = snap->nr_spaces;
	bool had_files;
	struct finding f;
	int i;

	for (i = 1; ; i++) {
		attempt(snap, p, &f);
		if (f.err || !problems_count(&f.problems) ||
		    i == MOST_ATTEMPTS)
			break;
		snapshot_truncate(snap, before);
		problems_fini(&f.problems);
		nanosleep(&pause, NULL);
	}
	had_files = snap->nr_spaces > before || problems_count(&f.problems);
	if (f.err) {
		snapshot_truncate(snap, before);
		problems_fini(&f.problems);
	}
	if (f.err == -ESRCH && named)
		problem_add(&snap->absent, p->pid, "has ended");
	else if (f.err == -ESRCH && (had_files || i > 1))
		problem_add(&f.problems, p->pid,
			    "ended while it was being read");
	else if (f.err && f.err != -ESRCH)
		problem_add(&f.problems, p->pid, "cannot be read: %s",
			    strerror(-f.err));
	if (f.inherited && snap->nr_spaces == before)
		snap->inherited++;
	problems_move(&snap->problems, &f.problems);
}

static void refuse(struct snapshot *snap, const struct process *p, int err)
{
	pid_t pid = p->pid;

	if (err == -ESRCH)
		problem_add(&snap->absent, pid,
			    p->ended ? "has ended" : "does not exist");
	else if (err == -EACCES || err == -EPERM)
		problem_add(&snap->problems, pid, "may not be read: it belongs "
			    "to user %u, or is protected",
			    (unsigned int)process_owner(pid));
	else
		problem_add(&snap->problems, pid, "cannot be read: %s",
			    strerror(-err));
}

static void read_pid(struct snapshot *snap, pid_t pid, bool named)
{
	struct process p;
	int err = process_open(&p, pid);

	if (!err && named && process_has_ended(&p)) {
		process_close(&p);
		err = -ESRCH;
	}
	if (!err) {
		read_process(snap, &p, named);
		process_close(&p);
	} else if (named) {
		refuse(snap, &p, err);
	}
}

static void read_everyone(struct snapshot *snap)
{
	struct dirent *entry;
	DIR *dir = opendir("/proc");
	pid_t pid;

	if (!dir) {
		problem_add(&snap->problems, getpid(), "cannot list /proc: %s",
			    strerror(errno));
		return;
	}
	while ((entry = readdir(dir))) {
		pid = isdigit((unsigned char)entry->d_name[0]) ?
		      atoi(entry->d_name) : 0;
		if (pid > 0 && pid != getpid())
			read_pid(snap, pid, false);
	}
	closedir(dir);
}

static int compare_spaces(const void *a, const void *b)
{
	const struct space *x = *(struct space *const *)a;
	const struct space *y = *(struct space *const *)b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->open_id > y->open_id) - (x->open_id < y->open_id);
}

void reader_run(struct snapshot *snap, const pid_t *pids, size_t nr_pids)
{
	size_t i;

	*snap = (struct snapshot){ 0 };
	if (!nr_pids)
		read_everyone(snap);
	for (i = 0; i < nr_pids; i++)
		read_pid(snap, pids[i], true);
	if (snap->nr_spaces)
		qsort(snap->spaces, snap->nr_spaces, sizeof(struct space *),
		      compare_spaces);
}
