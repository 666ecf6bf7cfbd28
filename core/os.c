// SPDX-License-Identifier: BSD-2-Clause
/*
 * os.c - system calls about threads, time, files and the process.
 *
 * The wrappers of memory are in os_mem.c, what is read from /proc and the
 * cgroups in os_proc.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "core/cancel.h"
#include "core/os.h"
#include "core/os_private.h"
#include "core/static_stub.h"

size_t os_page_size(void)
{
	static size_t cached;
	size_t size = READ_ONCE(cached);

	if (!size) {
		size = (size_t)sysconf(_SC_PAGESIZE);
		WRITE_ONCE(cached, size);
	}
	return size;
}

int os_close(int fd)
{
	NO_CANCELLATION;

	STATIC_STUB_REDIRECT(os_close, fd);
	/* On Linux the descriptor is gone, whatever interrupted the call. */
	if (close(fd) && errno != EINTR)
		return -errno;
	return 0;
}

static int membarrier(int command)
{
	if (syscall(SYS_membarrier, command, 0))
		return -errno;
	return 0;
}

int os_membarrier_register(void)
{
	STATIC_STUB_REDIRECT(os_membarrier_register);
	return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

int os_membarrier(void)
{
	STATIC_STUB_REDIRECT(os_membarrier);
	return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

static bool identify(int fd, struct stat *st)
{
	return fd >= 0 && !fstat(fd, st);
}

bool os_file_is_open(const struct os_file *f)
{
	struct stat st;

	return identify(f->fd, &st) && st.st_dev == f->dev &&
	       st.st_ino == f->ino;
}

struct os_file os_file_of(int fd)
{
	struct stat st;

	if (!identify(fd, &st))
		return (struct os_file)OS_FILE_INIT;
	return (struct os_file){ fd, st.st_dev, st.st_ino };
}

void os_file_close(struct os_file *f)
{
	if (os_file_is_open(f))
		os_close(f->fd);
	f->fd = -1;
}

/*
 * A descriptor that is none of the standard ones, even in a program that has
 * closed those: what it then prints must not end up in a file of ours.
 */
int os_fd_above_stdio(int fd)
{
	int high, err;

	if (fd > STDERR_FILENO)
		return fd;
	high = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	err = -errno;
	os_close(fd);
	return high < 0 ? err : high;
}

int os_open_append(struct os_file *f, const char *path)
{
	NO_CANCELLATION;
	struct stat st;
	int fd, err;

	STATIC_STUB_REDIRECT(os_open_append, f, path);
	do {
		/* A pipe that nobody reads is an error, nothing to wait for. */
		fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC |
			  O_NOCTTY | O_NONBLOCK, 0666);
	} while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return -errno;
	fd = os_fd_above_stdio(fd);
	if (fd < 0)
		return fd;
	if (!identify(fd, &st)) {
		err = -errno;
		goto close_fd;
	}
	if (os_file_is_open(f)) {
		if (dup3(fd, f->fd, O_CLOEXEC) < 0) {
			err = -errno;
			goto close_fd;
		}
		os_close(fd);
		fd = f->fd;
	}
	*f = (struct os_file){ fd, st.st_dev, st.st_ino };
	return 0;

close_fd:
	os_close(fd);
	return err;
}

/*
 * Writing to a pipe that nobody reads, or beyond ulimit -f, raises a signal in
 * this thread. A message is not worth the program's life: the signal is held
 * back, and taken away unless one was waiting already.
 */
static ssize_t write_without_signal(int fd, const struct iovec *parts, int nr)
{
	static const struct timespec at_once = { 0 };
	sigset_t ours, before, waiting;
	ssize_t n;
	int err;

	sigemptyset(&ours);
	sigaddset(&ours, SIGPIPE);
	sigaddset(&ours, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &ours, &before);
	sigpending(&waiting);
	n = writev(fd, parts, nr);
	err = errno;
	if (sigismember(&waiting, SIGPIPE))
		sigdelset(&ours, SIGPIPE);
	if (sigismember(&waiting, SIGXFSZ))
		sigdelset(&ours, SIGXFSZ);
	if (n < 0 && (err == EPIPE || err == EFBIG))
		while (sigtimedwait(&ours, NULL, &at_once) < 0 &&
		       errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = err;
	return n;
}

int os_write_line(int fd, const char *prefix, const char *text)
{
	NO_CANCELLATION;
	struct iovec parts[] = {
		{ (void *)(uintptr_t)prefix, strlen(prefix) },
		{ (void *)(uintptr_t)text, strlen(text) },
		{ (void *)(uintptr_t)"\n", 1 },
	};
	ssize_t n;

	STATIC_STUB_REDIRECT(os_write_line, fd, prefix, text);
	do {
		n = write_without_signal(fd, parts, ARRAY_SIZE(parts));
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

static u64 now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

u64 os_monotonic_ns(void)
{
	STATIC_STUB_REDIRECT(os_monotonic_ns);
	return now_ns(CLOCK_MONOTONIC);
}

u64 os_realtime_ns(void)
{
	return now_ns(CLOCK_REALTIME);
}

void os_yield(void)
{
	sched_yield();
}

void os_sleep_us(unsigned int us)
{
	NO_CANCELLATION;
	struct timespec left = {
		.tv_sec = us / 1000000,
		.tv_nsec = (long)(us % 1000000) * 1000,
	};

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

pid_t os_gettid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

bool os_is_secure(void)
{
	STATIC_STUB_REDIRECT(os_is_secure);
	return getauxval(AT_SECURE) != 0;
}

void os_abort(void)
{
	abort();
}
