// SPDX-License-Identifier: BSD-2-Clause
/*
 * os_proc.c - what the kernel says in files: memory, cgroups, start time.
 *
 * Files are read whole into a buffer on the stack and parsed there; what does
 * not fit, does not exist or does not parse is as good as not said. The text
 * of these files is the kernel's, but a container may mount anything there.
 *
 * A cgroup's limit counts together with those of all its ancestors. In a
 * container the path in /proc/self/cgroup may be the host's, and only the root
 * of the mounted hierarchy is ours: the walk to the root finds it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "core/cancel.h"
#include "core/os.h"
#include "core/os_private.h"
#include "core/overflow.h"
#include "core/static_stub.h"

#define FILE_MAX_BYTES 4096
#define CGROUP_PATH_MAX 1024

int os_read_file(const char *path, char *text, size_t size)
{
	NO_CANCELLATION;
	ssize_t n, len = 0;
	int fd;

	STATIC_STUB_REDIRECT(os_read_file, path, text, size);
	do {
		fd = open(path, O_RDONLY | O_CLOEXEC);
	} while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return -errno;
	do {
		n = read(fd, text + len, size - 1 - (size_t)len);
		if (n > 0)
			len += n;
	} while (n > 0 || (n < 0 && errno == EINTR));
	text[len] = '\0';
	os_close(fd);
	return 0;
}

/* ---- Threads ---------------------------------------------------------- */

bool os_is_alone(void)
{
	struct stat st;

	/* Two links as of any directory, and one for each thread. */
	return !stat("/proc/self/task", &st) && st.st_nlink == 3;
}

/* ---- Start time ------------------------------------------------------- */

/*
 * "PID (COMM) STATE PPID ...": the name may hold blanks and parentheses, so
 * that the fields are counted from the last parenthesis on. The start time is
 * field 22, the state is field 3.
 */
u64 os_stat_start_time(const char *stat)
{
	const char *p = strrchr(stat, ')');
	int field;

	/* Each turn moves to the blank before the next field. */
	for (field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p)
		return 0;
	return strtoull(p, NULL, 10);
}

u64 os_start_time(void)
{
	char stat[FILE_MAX_BYTES];

	if (os_read_file("/proc/self/stat", stat, sizeof(stat)))
		return 0;
	return os_stat_start_time(stat);
}

/* ---- Cgroups ---------------------------------------------------------- */

/* A file of one number; "max" and what is no number are UINT64_MAX. */
static u64 read_number(const char *dir, const char *name)
{
	char path[CGROUP_PATH_MAX + 128], text[64], *end;
	u64 n;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >=
	    (int)sizeof(path))
		return UINT64_MAX;
	if (os_read_file(path, text, sizeof(text)))
		return UINT64_MAX;
	errno = 0;
	n = strtoull(text, &end, 10);
	return end == text || errno ? UINT64_MAX : n;
}

struct hierarchy {
	const char *mount;	/* below the place where cgroups are mounted */
	const char *limit, *usage;
};

static const struct hierarchy version1 = {
	"/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
};
static const struct hierarchy version2 = {
	"", "memory.max", "memory.current",
};

static void apply_dir(const struct hierarchy *h, const char *dir,
		      struct os_cgroup *cg)
{
	u64 limit = read_number(dir, h->limit);
	u64 usage;

	if (limit == UINT64_MAX)
		return;
	cg->limit = min(cg->limit, limit);
	usage = read_number(dir, h->usage);
	if (usage != UINT64_MAX)
		cg->room = min(cg->room, usage < limit ? limit - usage : 0);
}

/* From the group @path up to the root of the hierarchy. */
static void apply_group(const struct hierarchy *h, const char *mount,
			const char *path, size_t len, struct os_cgroup *cg)
{
	char dir[CGROUP_PATH_MAX];
	size_t root;
	int n;

	root = strlen(mount) + strlen(h->mount);
	n = snprintf(dir, sizeof(dir), "%s%s%.*s", mount, h->mount, (int)len,
		     path);
	if (n < 0 || (size_t)n >= sizeof(dir))
		snprintf(dir, sizeof(dir), "%s%s", mount, h->mount);
	for (;;) {
		apply_dir(h, dir, cg);
		if (strlen(dir) <= root)
			return;
		*strrchr(dir, '/') = '\0';
	}
}

/* Is "memory" among the controllers of a version 1 line? */
static bool has_memory(const char *controllers, size_t len)
{
	const char *end = controllers + len;
	size_t n;

	for (; controllers < end; controllers += n + 1) {
		n = strcspn(controllers, ",:");
		if (n == strlen("memory") && !strncmp(controllers, "memory", n))
			return true;
	}
	return false;
}

/* One line is "ID:CONTROLLERS:PATH", "0::PATH" for version 2. */
static void apply_line(const char *line, size_t len, const char *mount,
		       struct os_cgroup *cg)
{
	const char *controllers, *path;

	controllers = memchr(line, ':', len);
	if (!controllers)
		return;
	controllers++;
	path = memchr(controllers, ':', len - (size_t)(controllers - line));
	if (!path || path[1] != '/')
		return;
	len -= (size_t)(path + 1 - line);
	if (path == controllers)
		apply_group(&version2, mount, path + 1, len, cg);
	else if (has_memory(controllers, (size_t)(path - controllers)))
		apply_group(&version1, mount, path + 1, len, cg);
}

void os_cgroup_read(const char *membership, const char *mount,
		    struct os_cgroup *cg)
{
	size_t len;

	*cg = (struct os_cgroup){ UINT64_MAX, UINT64_MAX };
	for (; *membership; membership += len) {
		len = strcspn(membership, "\n");
		apply_line(membership, len, mount, cg);
		if (membership[len] == '\n')
			len++;
	}
}

static void own_cgroup(struct os_cgroup *cg)
{
	char membership[FILE_MAX_BYTES];

	if (os_read_file("/proc/self/cgroup", membership, sizeof(membership)))
		*membership = '\0';
	os_cgroup_read(membership, "/sys/fs/cgroup", cg);
}

/* ---- Memory ----------------------------------------------------------- */

/* MemAvailable counts what the page cache would give back; free does not. */
static u64 machine_available(const struct sysinfo *si)
{
	char text[FILE_MAX_BYTES];
	const char *p;
	u64 kib;

	if (!os_read_file("/proc/meminfo", text, sizeof(text))) {
		p = strstr(text, "\nMemAvailable:");
		if (p && sscanf(p, "\nMemAvailable: %" SCNu64, &kib) == 1)
			return kib * KIB;
	}
	return (u64)si->freeram * si->mem_unit;
}

u64 os_memory_total(void)
{
	struct os_cgroup cg;
	struct sysinfo si = { .mem_unit = 0 };

	STATIC_STUB_REDIRECT(os_memory_total);
	/* Refused by a filter, it leaves 0: then a limit must be given. */
	sysinfo(&si);
	own_cgroup(&cg);
	return min((u64)si.totalram * si.mem_unit, cg.limit);
}

u64 os_memory_free(void)
{
	struct os_cgroup cg;
	struct sysinfo si = { .mem_unit = 0 };

	STATIC_STUB_REDIRECT(os_memory_free);
	sysinfo(&si);
	own_cgroup(&cg);
	return min(machine_available(&si), cg.room);
}
