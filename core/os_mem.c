// SPDX-License-Identifier: BSD-2-Clause
/*
 * os_mem.c - system calls about memory.
 *
 * A reservation is PROT_NONE and MAP_NORESERVE: it costs addresses and a few
 * kernel structures, is counted by ulimit -v, and is not counted as memory
 * even under vm.overcommit_memory=2. Committing makes it writable, which is
 * when the kernel counts it. Decommitting maps fresh PROT_NONE addresses over
 * it: madvise() would free the pages but leave them counted.
 *
 * Reservations are left out of core dumps, and committed parts stay out too:
 * nothing reads the library's tables from a core, and where ulimit -c is
 * finite they would take the place of the program's own data. A dump is a
 * convenience, so that a kernel that refuses the advice is not an error.
 *
 * EAGAIN from the kernel means that locked memory (mlockall, ulimit -l) is
 * exhausted, which for a caller is what ENOMEM is.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/cancel.h"
#include "core/os.h"
#include "core/os_private.h"
#include "core/static_stub.h"

/* Newer than the oldest kernel headers that the library builds with. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define RESERVE_FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

static int memory_errno(void)
{
	return errno == EAGAIN ? -ENOMEM : -errno;
}

int os_reserve(size_t size, void **addr)
{
	void *p;

	STATIC_STUB_REDIRECT(os_reserve, size, addr);
	p = mmap(NULL, size, PROT_NONE, RESERVE_FLAGS, -1, 0);
	if (p == MAP_FAILED)
		return memory_errno();
	madvise(p, size, MADV_DONTDUMP);
	*addr = p;
	return 0;
}

int os_unreserve(void *addr, size_t size)
{
	STATIC_STUB_REDIRECT(os_unreserve, addr, size);
	return munmap(addr, size) ? -errno : 0;
}

int os_commit(void *addr, size_t size)
{
	STATIC_STUB_REDIRECT(os_commit, addr, size);
	if (mprotect(addr, size, PROT_READ | PROT_WRITE))
		return memory_errno();
	return 0;
}

int os_decommit(void *addr, size_t size)
{
	STATIC_STUB_REDIRECT(os_decommit, addr, size);
	if (mmap(addr, size, PROT_NONE, RESERVE_FLAGS | MAP_FIXED, -1, 0) ==
	    MAP_FAILED)
		return memory_errno();
	madvise(addr, size, MADV_DONTDUMP);
	return 0;
}

int os_hint_huge(void *addr, size_t size)
{
	STATIC_STUB_REDIRECT(os_hint_huge, addr, size);
	return madvise(addr, size, MADV_HUGEPAGE) ? -errno : 0;
}

/* Asking for the process is a system call, a load is not. */
const u32 *os_fork_mark(void)
{
	size_t size = os_page_size();
	u32 *mark = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mark == MAP_FAILED)
		return NULL;
	if (madvise(mark, size, MADV_WIPEONFORK)) {
		munmap(mark, size);
		return NULL;
	}
	*mark = 1;
	return mark;
}

int os_unmap(void *addr, size_t size)
{
	STATIC_STUB_REDIRECT(os_unmap, addr, size);
	return munmap(addr, size) ? -errno : 0;
}

int os_memfd_create(const char *name, unsigned int flags)
{
	int fd;

	STATIC_STUB_REDIRECT(os_memfd_create, name, flags);
	fd = memfd_create(name, flags);
	return fd < 0 ? -errno : fd;
}

int os_ftruncate(int fd, size_t size)
{
	STATIC_STUB_REDIRECT(os_ftruncate, fd, size);
	while (ftruncate(fd, (off_t)size)) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

int os_fallocate(int fd, size_t size)
{
	NO_CANCELLATION;

	STATIC_STUB_REDIRECT(os_fallocate, fd, size);
	while (fallocate(fd, 0, 0, (off_t)size)) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

int os_map_shared(int fd, size_t size, void **addr)
{
	void *p;

	STATIC_STUB_REDIRECT(os_map_shared, fd, size, addr);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return memory_errno();
	*addr = p;
	return 0;
}

int os_add_seals(int fd, int seals)
{
	STATIC_STUB_REDIRECT(os_add_seals, fd, seals);
	return fcntl(fd, F_ADD_SEALS, seals) ? -errno : 0;
}

/* Kernels before 6.3 do not know MFD_NOEXEC_SEAL; vm.memfd_noexec=2 of later
 * ones refuses what lacks it. */
static int create_sealable(const char *name)
{
	const unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = os_memfd_create(name, flags | MFD_NOEXEC_SEAL);

	if (fd == -EINVAL)
		fd = os_memfd_create(name, flags);
	return fd < 0 ? fd : os_fd_above_stdio(fd);
}

/* Kernels before 5.1 do not know F_SEAL_FUTURE_WRITE: there, who may open the
 * file may also write it, and that is the user's own processes only. */
static int seal(int fd)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	int err = os_add_seals(fd, seals | F_SEAL_FUTURE_WRITE);

	if (err == -EINVAL)
		err = os_add_seals(fd, seals);
	return err;
}

/*
 * A page of a file that the kernel cannot find memory for when it is first
 * written is a fatal signal; so all of it is had now, while there is an answer.
 * Where fallocate() is refused altogether, it is as it would be without.
 */
static int populate(int fd, size_t size)
{
	int err = os_fallocate(fd, size);

	return err == -ENOSPC || err == -ENOMEM ? err : 0;
}

/* Growing a file beyond RLIMIT_FSIZE would raise a signal, not an error. */
static bool file_may_have(size_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) ||
	       limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

int os_sized_memfd(const char *name, size_t size)
{
	int fd, err;

	if (!file_may_have(size))
		return -EFBIG;
	fd = create_sealable(name);
	if (fd < 0)
		return fd;
	err = os_ftruncate(fd, size);
	if (!err)
		err = populate(fd, size);
	if (!err)
		return fd;
	os_close(fd);
	return err;
}

int os_shared_segment(const char *name, size_t size, void **addr)
{
	void *p = NULL;
	int fd, err;

	STATIC_STUB_REDIRECT(os_shared_segment, name, size, addr);
	fd = os_sized_memfd(name, size);
	if (fd < 0)
		return fd;
	err = os_map_shared(fd, size, &p);
	if (err)
		goto close_fd;
	/* After mapping: the seal refuses every writable mapping made later. */
	err = seal(fd);
	if (err)
		goto unmap;
	*addr = p;
	return fd;

unmap:
	os_unmap(p, size);
close_fd:
	os_close(fd);
	return err;
}

int os_move(void *from, void *to, size_t size)
{
	STATIC_STUB_REDIRECT(os_move, from, to, size);
	/* Replaces what was there in one step; no moment without either. */
	if (mremap(from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) ==
	    MAP_FAILED)
		return memory_errno();
	return 0;
}

int os_privatize(void *addr, size_t size)
{
	void *copy;
	int err;

	STATIC_STUB_REDIRECT(os_privatize, addr, size);
	copy = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		return memory_errno();
	memcpy(copy, addr, size);
	err = os_move(copy, addr, size);
	if (err)
		munmap(copy, size);
	return err;
}
