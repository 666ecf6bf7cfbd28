// SPDX-License-Identifier: BSD-2-Clause
/*
 * files.c - all statistics files of one process.
 *
 * A child has the descriptors of the process that forked it until it closes
 * them or the library makes it new ones. The header names the writer: its
 * start time, and its pid as the writer itself sees it. Files of another
 * writer are not this process's and are left alone.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "files.h"
#include "memory.h"

/* 4,000 caches and 1,000 threads need 2,100; a process may map 65,530. */
#define MOST_FILES 16384

static bool is_statistics(int fds, const char *name)
{
	char target[64];
	ssize_t n = readlinkat(fds, name, target, sizeof(target) - 1);

	if (n < 0)
		return false;
	target[n] = '\0';
	return segment_is_link(target);
}

static bool is_written_by(const struct segment *seg, const struct process *p)
{
	return seg->head.start_time == p->start_time &&
	       seg->head.pid == (uint32_t)p->inner_pid;
}

static void add_file(struct files *files, const struct process *p, int fd,
		     struct problems *problems)
{
	struct segment seg;

	if (segment_open(&seg, p, fd, problems))
		return;
	if (!is_written_by(&seg, p)) {
		files->inherited = true;
		segment_close(&seg);
		return;
	}
	files->segs = grow_array(files->segs, files->nr, sizeof(seg));
	files->segs[files->nr++] = seg;
}

#define compare(a, b) (((a) > (b)) - ((a) < (b)))

static int compare_places(const struct segment *a, const struct segment *b)
{
	if (a->head.open_id != b->head.open_id)
		return compare(a->head.open_id, b->head.open_id);
	if (a->head.kind != b->head.kind)
		return compare(a->head.kind, b->head.kind);
	return compare(a->head.index, b->head.index);
}

static int compare_files(const void *a, const void *b)
{
	const struct segment *x = a, *y = b;
	int order = compare_places(x, y);

	return order ? order : compare(x->fd, y->fd);
}

/* A duplicated descriptor is the same file again; another file is a problem. */
static void drop_duplicates(struct files *files, const struct process *p,
			    struct problems *problems)
{
	size_t i, nr = 0;

	for (i = 0; i < files->nr; i++) {
		struct segment *last = nr ? &files->segs[nr - 1] : NULL;
		struct segment *seg = &files->segs[i];

		if (!last || compare_places(last, seg)) {
			files->segs[nr++] = *seg;
			continue;
		}
		if (last->inode != seg->inode)
			problem_add(problems, p->pid, "files %d and %d both "
				    "say that they are number %" PRIu32
				    " of their kind", last->fd, seg->fd,
				    seg->head.index);
		segment_close(seg);
	}
	files->nr = nr;
}

static int scan(struct files *files, struct process *p, DIR *dir,
		struct problems *problems)
{
	struct dirent *entry;
	bool identified = false;
	int err;

	for (;;) {
		errno = 0;
		entry = readdir(dir);
		if (!entry)
			return errno == ENOENT ? -ESRCH : -errno;
		if (!is_statistics(dirfd(dir), entry->d_name))
			continue;
		err = identified ? 0 : process_identify(p);
		if (err)
			return err;
		identified = true;
		if (files->nr == MOST_FILES) {
			problem_add(problems, p->pid, "has more than %d "
				    "statistics files: the others are left "
				    "out", MOST_FILES);
			return 0;
		}
		add_file(files, p, atoi(entry->d_name), problems);
	}
}

int files_open(struct files *files, struct process *p,
	       struct problems *problems)
{
	int fd, err;
	DIR *dir;

	*files = (struct files){ 0 };
	fd = openat(p->dir, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	err = scan(files, p, dir, problems);
	closedir(dir);
	if (err) {
		files_close(files);
		return err;
	}
	if (files->nr)
		qsort(files->segs, files->nr, sizeof(*files->segs),
		      compare_files);
	drop_duplicates(files, p, problems);
	return 0;
}

void files_close(struct files *files)
{
	size_t i;

	for (i = 0; i < files->nr; i++)
		segment_close(&files->segs[i]);
	free(files->segs);
	files->segs = NULL;
	files->nr = 0;
}
