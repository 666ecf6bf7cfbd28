// SPDX-License-Identifier: BSD-2-Clause
/*
 * proc_test.c - what is read from /proc and the cgroups, real and made up.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/os.h"
#include "core/os_private.h"
#include "tests/kunit/kunit.h"

/* ---- Start time ------------------------------------------------------- */

static void start_time_is_field_22(struct kunit *test)
{
#define REST " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 987654 20 21"
	KUNIT_EXPECT_EQ(test, os_stat_start_time("12 (sh)" REST), 987654);
	KUNIT_EXPECT_EQ(test, os_stat_start_time("12 (a b)" REST), 987654);
	KUNIT_EXPECT_EQ(test, os_stat_start_time("12 (a) R 1 (b))" REST),
			987654);
	KUNIT_EXPECT_EQ(test, os_stat_start_time("12 (())" REST), 987654);
	KUNIT_EXPECT_EQ(test, os_stat_start_time("12 (sh) S 1 2 3"), 0);
	KUNIT_EXPECT_EQ(test, os_stat_start_time("12 sh"), 0);
	KUNIT_EXPECT_EQ(test, os_stat_start_time("(sh)"), 0);
	KUNIT_EXPECT_EQ(test, os_stat_start_time(""), 0);
#undef REST
}

static void start_time_is_constant_and_differs_from_a_childs(struct kunit *test)
{
	u64 start = os_start_time(), child = 0;
	int fds[2];
	pid_t pid;

	KUNIT_EXPECT_GT(test, start, 0);
	KUNIT_EXPECT_EQ(test, os_start_time(), start);
	/* Clock ticks are 10 ms. */
	os_sleep_us(30000);
	KUNIT_ASSERT_EQ(test, pipe(fds), 0);
	pid = fork();
	if (!pid) {
		child = os_start_time();
		_exit(write(fds[1], &child, sizeof(child)) != sizeof(child));
	}
	KUNIT_EXPECT_EQ(test, read(fds[0], &child, sizeof(child)),
			(ssize_t)sizeof(child));
	waitpid(pid, NULL, 0);
	KUNIT_EXPECT_GT(test, child, start);
	close(fds[0]);
	close(fds[1]);
}

/* ---- Memory of the machine and of cgroups ----------------------------- */

static void memory_is_plausible(struct kunit *test)
{
	u64 total = os_memory_total(), free = os_memory_free();

	KUNIT_EXPECT_GT(test, total, 16 * MIB);
	KUNIT_EXPECT_LE(test, total, (u64)sysconf(_SC_PHYS_PAGES) *
					     os_page_size());
	KUNIT_EXPECT_GT(test, free, 0);
	KUNIT_EXPECT_LE(test, free, total);
}

struct fake_file {
	const char *path, *text;
};

struct cgroup_param {
	const char *name;
	const char *membership;
	struct fake_file file[6];
	u64 limit, room;
};

#define GONE UINT64_MAX

static const struct cgroup_param cgroup_params[] = {
	{ "none", "", { { 0 } }, GONE, GONE },
	{ "v2 without a limit", "0::/job\n",
	  { { "/cg/job/memory.max", "max\n" },
	    { "/cg/job/memory.current", "5\n" } }, GONE, GONE },
	{ "v2 of the group itself", "0::/job\n",
	  { { "/cg/job/memory.max", "1000\n" },
	    { "/cg/job/memory.current", "300\n" } }, 1000, 700 },
	{ "v2 of an ancestor", "0::/a/b/c\n",
	  { { "/cg/a/b/c/memory.max", "5000\n" },
	    { "/cg/a/b/c/memory.current", "100\n" },
	    { "/cg/a/memory.max", "2000\n" },
	    { "/cg/a/memory.current", "1950\n" } }, 2000, 50 },
	{ "v2 tighter than its ancestor", "0::/a\n",
	  { { "/cg/a/memory.max", "10\n" },
	    { "/cg/a/memory.current", "1\n" },
	    { "/cg/memory.max", "100\n" },
	    { "/cg/memory.current", "50\n" } }, 10, 9 },
	{ "v2 in a container", "0::/\n",
	  { { "/cg/memory.max", "4096\n" },
	    { "/cg/memory.current", "4097\n" } }, 4096, 0 },
	{ "v2 path of the host", "0::/docker/123\n",
	  { { "/cg/memory.max", "77\n" } }, 77, GONE },
	{ "v1", "3:cpu,cpuacct:/job\n2:blkio,memory:/job\n1:memoryx:/no\n",
	  { { "/cg/memory/job/memory.limit_in_bytes", "600\n" },
	    { "/cg/memory/job/memory.usage_in_bytes", "100\n" },
	    { "/cg/memory/no/memory.limit_in_bytes", "6\n" } }, 600, 500 },
	{ "v1 at its root", "2:memory:/docker/5\n0::/\n",
	  { { "/cg/memory/memory.limit_in_bytes", "900\n" } }, 900, GONE },
	{ "both, the lower counts", "2:memory:/\n0::/x\n",
	  { { "/cg/memory/memory.limit_in_bytes", "900\n" },
	    { "/cg/x/memory.max", "800\n" } }, 800, GONE },
	{ "no newline at the end", "0::/x",
	  { { "/cg/x/memory.max", "800" } }, 800, GONE },
	{ "broken lines", "\nx\n0:\n0::\n0::relative\n:::/\n",
	  { { "/cg/relative/memory.max", "1\n" } }, GONE, GONE },
	{ "broken numbers", "0::/x\n",
	  { { "/cg/x/memory.max", "many\n" },
	    { "/cg/memory.max", "99999999999999999999999\n" } }, GONE, GONE },
};

static void describe_cgroup(const struct cgroup_param *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", p->name);
}
KUNIT_ARRAY_PARAM(cgroup, cgroup_params, describe_cgroup)

static const struct fake_file *fake_files;

static int read_fake_file(const char *path, char *text, size_t size)
{
	const struct fake_file *f;

	for (f = fake_files; f->path; f++) {
		if (strcmp(f->path, path))
			continue;
		snprintf(text, size, "%s", f->text);
		return 0;
	}
	return -ENOENT;
}

static void cgroup_limit(struct kunit *test)
{
	const struct cgroup_param *p = test->param_value;
	struct os_cgroup cg;

	fake_files = p->file;
	kunit_activate_static_stub(test, os_read_file, read_fake_file);
	os_cgroup_read(p->membership, "/cg", &cg);
	KUNIT_EXPECT_EQ(test, cg.limit, p->limit);
	KUNIT_EXPECT_EQ(test, cg.room, p->room);
}

/* A path that no buffer holds: the root's limit is found all the same. */
static void cgroup_with_a_long_path(struct kunit *test)
{
	static const struct fake_file root[] = {
		{ "/cg/memory.max", "123\n" }, { 0 }
	};
	char *membership = kunit_kzalloc(test, 4000);
	struct os_cgroup cg;
	int i;

	strcpy(membership, "0::");
	for (i = 0; i < 1900; i++)
		strcpy(membership + 3 + 2 * i, "/d");
	fake_files = root;
	kunit_activate_static_stub(test, os_read_file, read_fake_file);
	os_cgroup_read(membership, "/cg", &cg);
	KUNIT_EXPECT_EQ(test, cg.limit, 123);
}

static void own_cgroup_limits_the_total(struct kunit *test)
{
	static const struct fake_file files[] = {
		{ "/proc/self/cgroup", "0::/job\n" },
		{ "/sys/fs/cgroup/job/memory.max", "12345678\n" },
		{ "/sys/fs/cgroup/job/memory.current", "12345600\n" },
		{ "/proc/meminfo", "MemTotal: 99 kB\nMemAvailable:  1 kB\n" },
		{ 0 }
	};

	fake_files = files;
	kunit_activate_static_stub(test, os_read_file, read_fake_file);
	KUNIT_EXPECT_EQ(test, os_memory_total(), 12345678);
	KUNIT_EXPECT_EQ(test, os_memory_free(), 78);
	/* Without the group's files, what the machine has. */
	fake_files = files + 3;
	KUNIT_EXPECT_EQ(test, os_memory_free(), 1024);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(start_time_is_field_22),
	KUNIT_CASE(start_time_is_constant_and_differs_from_a_childs),
	KUNIT_CASE(memory_is_plausible),
	KUNIT_CASE_PARAM(cgroup_limit, cgroup_gen_params),
	KUNIT_CASE(cgroup_with_a_long_path),
	KUNIT_CASE(own_cgroup_limits_the_total),
	{ 0 }
};

static const struct kunit_suite proc_suite = {
	.name = "proc",
	.cases = cases,
};
kunit_test_suite(proc_suite);
