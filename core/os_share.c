// SPDX-License-Identifier: BSD-2-Clause
/*
 * os_share.c - memory that is a file, so that other processes can map it.
 *
 * The file is a memfd of fixed size: sealed against shrinking, since a page
 * behind the end of a mapped file is a fatal signal for whoever touches it, and
 * against growing and further seals, so that whoever receives it knows all that
 * can happen to it. All its memory is had when it is made, for the same reason.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "core/cancel.h"
#include "core/os.h"
#include "core/os_private.h"
#include "core/static_stub.h"

int os_shared_file(const char *name, size_t size)
{
	int fd, err;

	STATIC_STUB_REDIRECT(os_shared_file, name, size);
	fd = os_sized_memfd(name, size);
	if (fd < 0)
		return fd;
	err = os_add_seals(fd, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	if (!err)
		return fd;
	os_close(fd);
	return err;
}

int os_map_file(int fd, size_t size, void *addr)
{
	STATIC_STUB_REDIRECT(os_map_file, fd, size, addr);
	if (mmap(addr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 fd, 0) == MAP_FAILED)
		return errno == EAGAIN ? -ENOMEM : -errno;
	madvise(addr, size, MADV_DONTDUMP);
	return 0;
}

int os_check_shared_file(int fd, size_t size)
{
	struct stat st;
	int seals;

	if (fstat(fd, &st))
		return -errno;
	/* No other kind of file has a seal against shrinking. */
	seals = fcntl(fd, F_GET_SEALS);
	if (!S_ISREG(st.st_mode) || seals < 0 || !(seals & F_SEAL_SHRINK))
		return -EBADF;
	return st.st_size >= 0 && (u64)st.st_size == size ? 0 : -EMSGSIZE;
}

int os_duplicate(int fd)
{
	NO_CANCELLATION;
	int copy;

	STATIC_STUB_REDIRECT(os_duplicate, fd);
	/* Above standard error, as os_fd_above_stdio() wants it. */
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	/* EINVAL: not even one above standard error is allowed. */
	if (copy < 0)
		return errno == EINVAL ? -EMFILE : -errno;
	return copy;
}
