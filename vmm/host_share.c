// SPDX-License-Identifier: BSD-2-Clause
/*
 * host_share.c - host memory that other processes can map.
 *
 * A handle is a file in memory (core/os_share.c), with all its memory from the
 * start, as a handle of a device is; its content stays when it is unmapped.
 * Mapping and set_access keep the books of host.c, and the second maps the file
 * in place of the reserved addresses.
 *
 * An import is a handle like any other, of a file that another process made.
 * It is checked for what could make an access fault: its size, and whether
 * that can still shrink. What the bytes are is the sender's business.
 *
 * Limits: a descriptor for each handle, so that growth makes long ones
 * (dear_handles), and RLIMIT_NOFILE is a limit of memory. Running out of
 * descriptors is like running out of memory: giving handles back helps.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "core/os.h"
#include "core/overflow.h"
#include "vmm/backends.h"
#include "vmm/host_dev.h"

/* ---- Errors in words ------------------------------------------------ */

static int explain(const char *what, int err)
{
	char buf[64];

	return err ? error_set(err, "%s: %s", what,
			       strerror_r(-err, buf, sizeof(buf))) : 0;
}

static int explain_no_file(u64 size, int err)
{
	struct rlimit limit = { 0 };
	char text[128];

	if (err == -EMFILE && !getrlimit(RLIMIT_NOFILE, &limit))
		return error_set(-ENOMEM, "memory that is shared takes a "
				 "descriptor for each handle, and all %llu are "
				 "in use; raise RLIMIT_NOFILE (ulimit -n)",
				 (unsigned long long)limit.rlim_cur);
	if (err == -EFBIG && !getrlimit(RLIMIT_FSIZE, &limit))
		return error_set(err, "memory that is shared is a file, and "
				 "RLIMIT_FSIZE (ulimit -f) is %llu bytes",
				 (unsigned long long)limit.rlim_cur);
	if (err == -ENFILE || err == -ENOSPC)
		err = -ENOMEM;
	os_memory_limit(size, text, sizeof(text));
	return err == -ENOMEM && *text ? error_set(err, "%s", text) :
					 explain("memfd_create", err);
}

/* ---- Handles and mappings ------------------------------------------- */

static int shared_create(void *dev, u64 size, u64 *id)
{
	int fd, err;

	if (!size || !is_aligned(size, HOST_GRANULARITY))
		return explain("a size that is not granular", -EINVAL);
	fd = os_shared_file("slabdev memory", size);
	if (fd < 0)
		return explain_no_file(size, fd);
	err = host_handle_add(dev, size, fd, id);
	if (err)
		os_close(fd);
	return explain("the table of handles", err);
}

static int map_next_file(struct host_dev *d, u64 *at)
{
	const struct host_handle *h;
	u64 size;
	int fd;

	lock_acquire(&d->lock);
	h = host_mapping_at_locked(d, *at);
	size = h ? h->size : 0;
	fd = h ? h->fd : -1;
	lock_release(&d->lock);
	if (!size)
		return -EINVAL;
	*at += size;
	return os_map_file(fd, size, (void *)(uintptr_t)(*at - size));
}

int host_map_files(struct host_dev *d, u64 addr, u64 end)
{
	u64 at = addr;
	int err = 0;

	while (!err && at < end)
		err = map_next_file(d, &at);
	if (err)
		(void)os_decommit((void *)(uintptr_t)addr, end - addr);
	return err;
}

static int shared_reserve(void *dev, u64 size, u64 align, u64 *addr)
{
	return explain("reserving addresses",
		       host_reserve(dev, size, align, addr));
}

static int shared_unreserve(void *dev, u64 addr, u64 size)
{
	return explain("munmap", host_unreserve(dev, addr, size));
}

static int shared_release(void *dev, u64 id, u64 size)
{
	return explain("no such handle", host_release(dev, id, size));
}

static int shared_map(void *dev, u64 addr, u64 size, u64 id)
{
	return explain("the table of mappings", host_map(dev, addr, size, id));
}

static int shared_set_access(void *dev, u64 addr, u64 size)
{
	return explain("mmap of a shared file",
		       host_set_access(dev, addr, size));
}

static int shared_unmap(void *dev, u64 addr, u64 size)
{
	return explain("unmapping a shared file", host_unmap(dev, addr, size));
}

/* ---- Between processes ---------------------------------------------- */

static u32 shared_type(void *dev)
{
	(void)dev;
	return SLABDEV_HANDLE_FD;
}

static int shared_share(void *dev, u64 id, struct slabdev_share *share)
{
	struct host_dev *d = dev;
	int fd;

	lock_acquire(&d->lock);
	fd = host_handle_fd_locked(d, id);
	if (fd >= 0)
		fd = os_duplicate(fd);
	lock_release(&d->lock);
	if (fd < 0)
		return explain("duplicating a descriptor", fd);
	share->kind = SLABDEV_SHARE_HOST;
	share->type = SLABDEV_HANDLE_FD;
	share->fd = fd;
	return 0;
}

static int check_file(const struct slabdev_share *share)
{
	int err = os_check_shared_file(share->fd, share->handle_bytes);

	if (err == -EBADF)
		return error_set(-EINVAL, "descriptor %d is no memfd that is "
				 "sealed against shrinking", share->fd);
	if (err == -EMSGSIZE)
		return error_set(-EINVAL, "descriptor %d has not the %llu "
				 "bytes that the export says", share->fd,
				 (unsigned long long)share->handle_bytes);
	return explain("looking at a descriptor", err);
}

static int shared_import(void *dev, const struct slabdev_share *share, u64 *id)
{
	int fd, err;

	err = check_file(share);
	if (err)
		return err;
	fd = os_duplicate(share->fd);
	if (fd < 0)
		return explain("duplicating a descriptor", fd);
	err = host_handle_add(dev, share->handle_bytes, fd, id);
	if (err)
		os_close(fd);
	return explain("the table of handles", err);
}

static void shared_describe(void *dev, char *buf, size_t len)
{
	(void)dev;
	snprintf(buf, len, "host, fd handles");
}

/* It does not survive a fork: the child would write its parent's memory. */
const struct vmm_ops vmm_host_shared_ops = {
	.name = "host",
	.synchronous = true,
	.dear_handles = true,
	.explains = true,
	.granularity = host_granularity,
	.reserve = shared_reserve,
	.unreserve = shared_unreserve,
	.create = shared_create,
	.release = shared_release,
	.map = shared_map,
	.set_access = shared_set_access,
	.unmap = shared_unmap,
	HOST_WORK_OPS,
	.meminfo = host_meminfo,
	.put = host_put,
	.describe = shared_describe,
	.share_type = shared_type,
	.share = shared_share,
	.import = shared_import,
};
