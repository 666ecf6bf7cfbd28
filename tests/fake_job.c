// SPDX-License-Identifier: BSD-2-Clause
/*
 * fake_job.c - a process that publishes statistics of our choosing
 */
#include "tests/fake_job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/random.h"

#define ON_DISK "/memfd:" SLABDEV_SEG_NAME

/* ---- Contents --------------------------------------------------------- */

struct fake_file *fake_job_add(struct kunit *test, struct fake_job *s,
				  uint32_t kind, uint32_t index)
{
	struct fake_file *f = &s->file[s->nr++];
	void *body;

	KUNIT_ASSERT_LE(test, s->nr, (unsigned int)FAKE_FILES_MAX);
	f->kind = FAKE_SEALED;
	f->head = kunit_kzalloc(test, FAKE_ROOM);
	body = f->head + 1;
	f->space = body;
	f->window = body;
	f->threads = body;
	f->size = fake_header_init(f->head, kind, index);
	return f;
}

void fake_job_init(struct kunit *test, struct fake_job *s)
{
	*s = (struct fake_job){ .copies = 1 };
	fake_job_add(test, s, SLABDEV_SEG_SPACE, 0);
	fake_job_add(test, s, SLABDEV_SEG_CLASSES, 0);
	fake_job_add(test, s, SLABDEV_SEG_THREADS, 0);
	fake_space_init(s->file[0].space);
	fake_classes_init(s->file[1].window, s->file[2].threads);
}

/* ---- The child -------------------------------------------------------- */

static int create_file(const struct fake_file *f)
{
	int fd;

	switch (f->kind) {
	case FAKE_ON_DISK:
		fd = open(ON_DISK, O_RDWR | O_CREAT | O_EXCL, 0600);
		break;
	case FAKE_FIFO:
		if (mkfifo(ON_DISK, 0600))
			return -1;
		fd = open(ON_DISK, O_RDWR);
		break;
	case FAKE_HUGE:
		return memfd_create(SLABDEV_SEG_NAME, MFD_ALLOW_SEALING |
				    MFD_HUGETLB);
	default:
		return memfd_create(SLABDEV_SEG_NAME, MFD_ALLOW_SEALING);
	}
	/* Its link in /proc then says " (deleted)" as a memfd's does. */
	unlink(ON_DISK);
	return fd;
}

static bool fill_file(const struct fake_file *f, int fd)
{
	size_t size = f->size < FAKE_ROOM ? f->size : FAKE_ROOM;

	if (f->kind == FAKE_FIFO)
		return true;
	if (f->kind == FAKE_HUGE)
		return !ftruncate(fd, 1 << 21) &&
		       !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
	if (ftruncate(fd, (off_t)f->size) ||
	    pwrite(fd, f->head, size, 0) != (ssize_t)size)
		return false;
	return f->kind != FAKE_SEALED ||
	       !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW |
				       F_SEAL_SEAL);
}

/* The first descriptor of it, or -1. */
static int publish_file(const struct fake_file *f, unsigned int copies)
{
	int fd = create_file(f);

	if (fd < 0 || !fill_file(f, fd))
		return -1;
	while (--copies)
		if (dup(fd) < 0)
			return -1;
	return fd;
}

static bool open_others(unsigned int nr)
{
	struct rlimit limit;

	if (!nr)
		return true;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return false;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return false;
	while (nr--)
		if (open("/dev/null", O_RDONLY) < 0)
			return false;
	return true;
}

static bool publish(const struct fake_job *s, int *fds)
{
	uint64_t start = fake_start_time() + (uint64_t)s->start_offset;
	unsigned int i;

	if (!open_others(s->other_fds))
		return false;
	for (i = 0; i < s->nr; i++) {
		s->file[i].head->start_time = start;
		s->file[i].head->pid = (uint32_t)(getpid() + s->pid_offset);
		fds[i] = publish_file(&s->file[i], s->copies);
		if (fds[i] < 0)
			return false;
	}
	return true;
}

/* Mostly where the records are; the sizes are of a reader's reads. */
static void rewrite(const struct fake_file *f, int fd, u64 *random)
{
	static const u64 odd[] = { 0, 1, 1u << 31, UINT64_MAX };
	u32 room = random_below(random, 4) ? 900 : (u32)f->size;
	u64 word = odd[random_below(random, 4)];
	off_t at = random_below(random, room);

	(void)!pwrite(fd, &word, 1 + random_below(random, 8), at);
	if (f->kind == FAKE_UNSEALED && !random_below(random, 8)) {
		(void)!ftruncate(fd, random_below(random, room));
		(void)!ftruncate(fd, (off_t)(f->size <<
					     random_below(random, 9)));
	}
}

/* Damage for a while, then again what can be read. */
static void __attribute__((noreturn)) rewrite_all(const struct fake_job *s,
						  const int *fds)
{
	u64 random = 1;
	u32 i, n;

	for (;;) {
		for (n = random_below(&random, 200); n; n--) {
			i = random_below(&random, s->nr);
			rewrite(&s->file[i], fds[i], &random);
		}
		for (i = 0; i < s->nr; i++)
			fill_file(&s->file[i], fds[i]);
		if (random_below(&random, 2))
			usleep(random_below(&random, 2000));
	}
}

static void __attribute__((noreturn)) child(const struct fake_job *s,
					    int ready)
{
	int fds[FAKE_FILES_MAX];
	char word;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "fake job");
	word = publish(s, fds) ? 'y' : 'n';
	if (write(ready, &word, 1) != 1)
		_exit(0);
	if (s->rewrites && word == 'y')
		rewrite_all(s, fds);
	for (;;)
		pause();
}

static void stop(void *arg)
{
	pid_t pid = (pid_t)(intptr_t)arg;

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

pid_t fake_job_start(struct kunit *test, const struct fake_job *s)
{
	char word = 0;
	int ready[2];
	pid_t pid;

	KUNIT_ASSERT_EQ(test, pipe(ready), 0);
	pid = fork();
	KUNIT_ASSERT_GE(test, pid, 0);
	if (!pid)
		child(s, ready[1]);
	kunit_add_action(test, stop, (void *)(intptr_t)pid);
	close(ready[1]);
	if (read(ready[0], &word, 1) != 1)
		word = 0;
	close(ready[0]);
	if (word != 'y')
		kunit_skip(test, "such a file cannot be made here");
	return pid;
}
