/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fake_job.h - a process that publishes statistics of our choosing
 *
 * slabinfo must read what the library writes and survive what it would never
 * write. Here is both: a set of consistent made-up files, which a test may
 * spoil before a child process publishes them.
 */
#ifndef TESTS_FAKE_JOB_H
#define TESTS_FAKE_JOB_H

#include <sys/types.h>

#include "tests/fake_files.h"
#include "tests/kunit/kunit.h"

#define FAKE_FILES_MAX 8

/* How a file is made. */
enum fake_kind {
	FAKE_SEALED,		/* as the library makes it */
	FAKE_UNSEALED,
	FAKE_HUGE,		/* memory of another kind: hugetlb */
	FAKE_ON_DISK,		/* a file of the same name, not a memfd */
	FAKE_FIFO,		/* a named pipe of the same name */
};

/**
 * struct fake_file - one file to be published
 * @kind: how to make it
 * @size: its bytes
 * @head: the header
 * @space: what follows it, in the view that the kind of segment has
 * @window: the same
 * @threads: the same
 */
struct fake_file {
	enum fake_kind kind;
	size_t size;
	struct slabdev_seg_header *head;
	struct slabdev_seg_space *space;
	struct slabdev_seg_window *window;
	struct slabdev_seg_thread *threads;
};

/**
 * struct fake_job - the files of a process
 * @file: the files; 0 is the space, 1 its window 0, 2 its threads
 * @nr: how many
 * @start_offset: added to the true start time: another process
 * @pid_offset: the same for the pid
 * @copies: descriptors of each file
 * @other_fds: descriptors of other files
 * @rewrites: for as long as it lives, the process writes anything over them,
 *            repairs them, and resizes those that are not sealed
 */
struct fake_job {
	struct fake_file file[FAKE_FILES_MAX];
	unsigned int nr;
	int start_offset;
	int pid_offset;
	unsigned int copies;
	unsigned int other_fds;
	bool rewrites;
};

/* The files of fake_files.h, each of its kind once. */
void fake_job_init(struct kunit *test, struct fake_job *s);

/* One more file, empty but for its header. */
struct fake_file *fake_job_add(struct kunit *test, struct fake_job *s,
				  uint32_t kind, uint32_t index);

/*
 * Publishes them in a child, which is killed when the case ends. Skips the
 * case where a file of a @kind cannot be made.
 */
pid_t fake_job_start(struct kunit *test, const struct fake_job *s);

#endif /* TESTS_FAKE_JOB_H */
