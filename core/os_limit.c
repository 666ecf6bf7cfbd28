// SPDX-License-Identifier: BSD-2-Clause
/*
 * os_limit.c - which limit a refusal of memory comes from.
 *
 * The kernel answers ENOMEM (or EAGAIN) for limits that a user raises in five
 * different places, and does not say for which. So after a refusal each is
 * looked at, and the one that @size more bytes would exceed is named. That is
 * a finding after the fact, of a process whose other threads go on: it makes a
 * text helpful and decides nothing. What cannot be read, as where /proc is
 * missing, is not named.
 *
 * Cost: some reads of /proc, the longest last. Called when a request has
 * failed; of locks, an open that fails holds the registry's.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/cancel.h"
#include "core/os.h"
#include "core/os_private.h"

#define FILE_MAX_BYTES 4096
/* A call may need two more mappings, and one in the list is the kernel's. */
#define MAPS_MARGIN 3

/* The number behind "\nNAME:" in @text, in bytes; 0 when it is not there. */
static u64 kib_line(const char *text, const char *name)
{
	const char *p = strstr(text, name);

	return p ? strtoull(p + strlen(name), NULL, 10) * KIB : 0;
}

static bool exceeds(int resource, u64 used, u64 size, u64 *limit)
{
	struct rlimit rl;

	if (getrlimit(resource, &rl) || rl.rlim_cur == RLIM_INFINITY)
		return false;
	*limit = rl.rlim_cur;
	return used > rl.rlim_cur || size > rl.rlim_cur - used;
}

/* Whether memory that is mapped gets locked cannot be read, but tried. */
static bool is_locking_refused(u64 size)
{
	void *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
		       MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return errno == EAGAIN;
	munmap(p, size);
	return false;
}

static u64 number_in(const char *path)
{
	char text[64];

	if (os_read_file(path, text, sizeof(text)))
		return 0;
	return strtoull(text, NULL, 10);
}

static u64 nr_mappings(void)
{
	NO_CANCELLATION;
	char text[FILE_MAX_BYTES];
	u64 nr = 0;
	ssize_t n;
	int fd;

	fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	while ((n = read(fd, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < n; i++)
			nr += text[i] == '\n';
	os_close(fd);
	return nr;
}

static bool commit_exceeded(u64 size)
{
	char text[FILE_MAX_BYTES];

	if (number_in("/proc/sys/vm/overcommit_memory") != 2 ||
	    os_read_file("/proc/meminfo", text, sizeof(text)))
		return false;
	return kib_line(text, "\nCommitted_AS:") + size >
	       kib_line(text, "\nCommitLimit:");
}

static bool mappings_exceeded(u64 *limit)
{
	*limit = number_in("/proc/sys/vm/max_map_count");
	return *limit && nr_mappings() + MAPS_MARGIN >= *limit;
}

void os_memory_limit(u64 size, char *text, size_t len)
{
	char status[FILE_MAX_BYTES];
	u64 limit;

	*text = '\0';
	if (os_read_file("/proc/self/status", status, sizeof(status)))
		return;
	if (exceeds(RLIMIT_AS, kib_line(status, "\nVmSize:"), size, &limit))
		snprintf(text, len, "ulimit -v allows %" PRIu64 " KiB of "
			 "addresses; raise it", limit / KIB);
	else if (is_locking_refused(size))
		snprintf(text, len, "new mappings are locked (mlockall), of "
			 "which ulimit -l allows too few; raise it");
	else if (exceeds(RLIMIT_DATA, kib_line(status, "\nVmData:"), size,
			 &limit))
		snprintf(text, len, "ulimit -d allows %" PRIu64 " KiB of "
			 "data; raise it", limit / KIB);
	else if (commit_exceeded(size))
		snprintf(text, len, "vm.overcommit_memory is 2 and the "
			 "machine's CommitLimit is reached");
	else if (mappings_exceeded(&limit))
		snprintf(text, len, "vm.max_map_count allows %" PRIu64
			 " mappings; raise it", limit);
}
