// SPDX-License-Identifier: BSD-2-Clause
/*
 * segment.c - one statistics file of another process, opened and checked.
 *
 * Nothing about the file is believed. It is looked at before it is opened for
 * reading, because opening a device has effects. It must be what memfd_create()
 * makes of ordinary memory: on a tmpfs and without a name, since a file in the
 * root directory can be called /memfd:... as well. Its size is fixed by its
 * kind and must be the one in the header.
 *
 * A mapping of a file that shrinks kills the reader with SIGBUS, so only a
 * file that is sealed against that is mapped. Any other is copied by pread(),
 * which the kernel does not promise to do a word at a time, and therefore is
 * shown with a warning.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "memory.h"
#include "model.h"
#include "segment.h"

/* The records of each kind; a version fixes them. */
static const struct {
	uint32_t nr_records;
	uint32_t record_size;
} shapes[] = {
	[SLABDEV_SEG_SPACE] = { 1, sizeof(struct slabdev_seg_space) },
	[SLABDEV_SEG_CLASSES] = { 1, sizeof(struct slabdev_seg_window) },
	[SLABDEV_SEG_THREADS] = { SLABDEV_SEG_THREADS_PER_SEGMENT,
				  sizeof(struct slabdev_seg_thread) },
	[SLABDEV_SEG_TRACES] = { 1, sizeof(struct slabdev_seg_traces) },
};

/* The bytes that are looked at; the file may have a tail up to a whole page. */
static size_t used_size(uint32_t kind)
{
	return sizeof(struct slabdev_seg_header) +
	       (size_t)shapes[kind].nr_records * shapes[kind].record_size;
}

bool segment_is_link(const char *target)
{
	return !strcmp(target, "/memfd:" SLABDEV_SEG_NAME " (deleted)");
}

/* A descriptor for reading, of an ordinary file; or -errno. */
static int open_regular(int fds, int number)
{
	char path[32];
	struct stat st;
	int fd, found, err;

	snprintf(path, sizeof(path), "%d", number);
	found = openat(fds, path, O_PATH | O_CLOEXEC);
	if (found < 0)
		return -errno;
	if (fstat(found, &st))
		err = -errno;
	else
		err = S_ISREG(st.st_mode) ? 0 : -EMEDIUMTYPE;
	if (!err) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		err = fd < 0 ? -errno : fd;
	}
	close(found);
	return err;
}

/* NULL, or why this is no memfd of ordinary memory. */
static const char *not_a_memfd(int fd, const struct stat *st)
{
	struct statfs fs;

	if (st->st_nlink)
		return "is a file of that name, not a memfd";
	if (fstatfs(fd, &fs) || fs.f_type != TMPFS_MAGIC)
		return "is not ordinary memory";
	return NULL;
}

/**
 * struct complaint - why a file is not used
 * @unwritten: the process has made it and not filled it in, the magic number
 *             last: nothing refers to it yet, so nothing is missed without it
 * @text: what is wrong otherwise; the longest has three numbers
 */
struct complaint {
	bool unwritten;
	char text[128];
};

__attribute__((format(printf, 2, 3)))
static bool complain(struct complaint *why, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, args);
	va_end(args);
	return false;
}

static bool size_fits(const struct slabdev_seg_header *h, uint64_t file_size,
		      struct complaint *why)
{
	if (h->size != file_size)
		return complain(why, "has %" PRIu64 " bytes, its header says %"
				PRIu64, file_size, h->size);
	if (h->nr_records != shapes[h->kind].nr_records ||
	    h->record_size != shapes[h->kind].record_size)
		return complain(why, "says it has %" PRIu32 " records of %"
				PRIu32 " bytes, which kind %" PRIu32
				" does not", h->nr_records, h->record_size,
				h->kind);
	if (file_size < used_size(h->kind))
		return complain(why, "is truncated: %" PRIu64 " bytes",
				file_size);
	return true;
}

static bool header_is_sound(const struct slabdev_seg_header *h,
			    uint64_t file_size, struct complaint *why)
{
	if (h->magic != SLABDEV_SEG_MAGIC)
		return complain(why, "does not begin with the magic number");
	if (h->version != SLABDEV_SEG_VERSION)
		return complain(why, "was made by layout version %" PRIu32
				", this slabinfo knows %u", h->version,
				SLABDEV_SEG_VERSION);
	if (h->kind < SLABDEV_SEG_SPACE || h->kind > SLABDEV_SEG_TRACES)
		return complain(why, "is of kind %" PRIu32
				", which does not exist", h->kind);
	return size_fits(h, file_size, why);
}

static bool read_header(struct segment *seg, int fd, uint64_t file_size,
			struct complaint *why)
{
	ssize_t n = pread(fd, &seg->head, sizeof(seg->head), 0);

	if (n < 0)
		return complain(why, "cannot be read: %s", strerror(errno));
	why->unwritten = !file_size || !seg->head.magic;
	if (why->unwritten)
		return false;
	if ((size_t)n < sizeof(seg->head))
		return complain(why, "is truncated: %" PRIu64 " bytes",
				file_size);
	return header_is_sound(&seg->head, file_size, why);
}

static bool map(struct segment *seg, int fd, struct complaint *why)
{
	seg->data = mmap(NULL, used_size(seg->head.kind), PROT_READ,
			 MAP_SHARED, fd, 0);
	if (seg->data == MAP_FAILED) {
		seg->data = NULL;
		return complain(why, "cannot be mapped: %s", strerror(errno));
	}
	seg->mapped = true;
	return true;
}

static bool copy(struct segment *seg, int fd, struct complaint *why)
{
	size_t size = used_size(seg->head.kind);
	ssize_t n;

	seg->data = zalloc(size);
	n = pread(fd, seg->data, size, 0);
	if (n < 0 || (size_t)n < size) {
		free(seg->data);
		seg->data = NULL;
		return complain(why, "shrank while it was being read");
	}
	return true;
}

static bool load(struct segment *seg, int fd, const struct process *p,
		 struct problems *problems, struct complaint *why)
{
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals >= 0 && (seals & F_SEAL_SHRINK))
		return map(seg, fd, why);
	if (!copy(seg, fd, why))
		return false;
	problem_add(problems, p->pid, "file %d is not sealed against "
		    "shrinking: its figures may be torn", seg->fd);
	return true;
}

static bool check_and_load(struct segment *seg, int fd,
			   const struct process *p, struct problems *problems,
			   struct complaint *why)
{
	struct stat st;
	const char *other;

	if (fstat(fd, &st))
		return complain(why, "cannot be examined: %s",
				strerror(errno));
	other = not_a_memfd(fd, &st);
	if (other)
		return complain(why, "%s", other);
	seg->inode = st.st_ino;
	return read_header(seg, fd, (uint64_t)st.st_size, why) &&
	       load(seg, fd, p, problems, why);
}

int segment_open(struct segment *seg, const struct process *p, int fd,
		 struct problems *problems)
{
	struct complaint why = { 0 };
	int file;
	bool ok;

	*seg = (struct segment){ .fd = fd };
	file = open_regular(p->fds, fd);
	if (file == -ENOENT || file == -ESRCH)
		return -ESRCH;
	if (file == -EMEDIUMTYPE)
		ok = complain(&why, "is not a regular file");
	else if (file < 0)
		ok = complain(&why, "cannot be opened: %s", strerror(-file));
	else
		ok = check_and_load(seg, file, p, problems, &why);
	if (file >= 0)
		close(file);
	if (ok)
		return 0;
	if (why.unwritten)
		return -EAGAIN;
	problem_add(problems, p->pid, "file %d %s", fd, why.text);
	return -EINVAL;
}

void segment_close(struct segment *seg)
{
	if (seg->mapped)
		munmap(seg->data, used_size(seg->head.kind));
	else
		free(seg->data);
	seg->data = NULL;
}
