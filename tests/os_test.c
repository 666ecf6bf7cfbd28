// SPDX-License-Identifier: BSD-2-Clause
/*
 * os_test.c - the wrappers of system calls, and that a failure leaves nothing.
 *
 * What is read from /proc and the cgroups is in proc_test.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/os.h"
#include "core/os_private.h"
#include "core/overflow.h"
#include "tests/clock.h"
#include "tests/descriptors.h"
#include "tests/kunit/kunit.h"
#include "tests/sanitizers.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

/* Lines of /proc/self/maps that contain @name. */
static int count_maps(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int n = 0;

	if (!maps)
		return -1;
	while (fgets(line, sizeof(line), maps))
		n += strstr(line, name) != NULL;
	fclose(maps);
	return n;
}

static bool is_readable(const void *p)
{
	int fds[2];
	bool readable;

	if (pipe(fds))
		return false;
	readable = write(fds[1], p, 1) == 1;
	close(fds[0]);
	close(fds[1]);
	return readable;
}

static size_t resident_pages(const void *p, size_t size)
{
	unsigned char vec[64];
	size_t i, n = 0;

	if (mincore((void *)(uintptr_t)p, size, vec))
		return SIZE_MAX;
	for (i = 0; i < size / os_page_size(); i++)
		n += vec[i] & 1;
	return n;
}

/* ---- Memory ----------------------------------------------------------- */

static void reservation_life(struct kunit *test)
{
	size_t page = os_page_size();
	char *p = NULL;

	KUNIT_ASSERT_EQ(test, os_reserve(8 * page, (void **)&p), 0);
	KUNIT_EXPECT_FALSE(test, is_readable(p));

	KUNIT_ASSERT_EQ(test, os_commit(p + page, 2 * page), 0);
	KUNIT_EXPECT_FALSE(test, is_readable(p));
	KUNIT_EXPECT_FALSE(test, is_readable(p + 3 * page));
	KUNIT_EXPECT_EQ(test, p[page], 0);
	KUNIT_EXPECT_EQ(test, p[3 * page - 1], 0);
	memset(p + page, 1, 2 * page);
	KUNIT_EXPECT_EQ(test, resident_pages(p + page, 2 * page), 2);

	/* The second page goes, the first stays. */
	KUNIT_ASSERT_EQ(test, os_decommit(p + 2 * page, page), 0);
	KUNIT_EXPECT_FALSE(test, is_readable(p + 2 * page));
	KUNIT_EXPECT_EQ(test, resident_pages(p + 2 * page, page), 0);
	KUNIT_EXPECT_EQ(test, p[page], 1);
	KUNIT_ASSERT_EQ(test, os_commit(p + 2 * page, page), 0);
	KUNIT_EXPECT_EQ(test, p[2 * page], 0);

	KUNIT_EXPECT_EQ(test, os_unreserve(p, 8 * page), 0);
	KUNIT_EXPECT_EQ(test, os_commit(p, page), -ENOMEM);
}

/* "dd" is the flag of MADV_DONTDUMP; committed parts keep it. */
static void reservation_is_not_dumped(struct kunit *test)
{
	size_t page = os_page_size(), size = 64 * page;
	FILE *smaps = fopen("/proc/self/smaps", "re");
	unsigned long at, end, inside = 0, dont_dump = 0;
	char line[512];
	char *p = NULL;

	KUNIT_ASSERT_NOT_NULL(test, smaps);
	KUNIT_ASSERT_EQ(test, os_reserve(size, (void **)&p), 0);
	KUNIT_ASSERT_EQ(test, os_commit(p + page, page), 0);
	KUNIT_ASSERT_EQ(test, os_commit(p + 3 * page, page), 0);
	KUNIT_ASSERT_EQ(test, os_decommit(p + 3 * page, page), 0);
	end = 0;
	while (fgets(line, sizeof(line), smaps)) {
		if (sscanf(line, "%lx-%lx ", &at, &end) == 2)
			continue;
		if (strncmp(line, "VmFlags:", 8) || end <= (uintptr_t)p ||
		    end > (uintptr_t)p + size)
			continue;
		inside++;
		dont_dump += strstr(line, " dd") != NULL;
	}
	fclose(smaps);
	KUNIT_EXPECT_GE(test, inside, 3);
	KUNIT_EXPECT_EQ(test, dont_dump, inside);
	os_unreserve(p, size);
}

static void huge_pages_are_a_hint(struct kunit *test)
{
	size_t size = 4 * MIB;
	void *p = NULL;
	int err;

	KUNIT_ASSERT_EQ(test, os_reserve(size, &p), 0);
	KUNIT_ASSERT_EQ(test, os_commit(p, size), 0);
	err = os_hint_huge(p, size);
	KUNIT_EXPECT_TRUE_MSG(test, !err || err == -EINVAL, "err is %d", err);
	memset(p, 1, size);
	KUNIT_EXPECT_EQ(test, os_unreserve(p, size), 0);
}

/* What a batch system does with ulimit -v. */
static void address_space_limit_is_enomem(struct kunit *test)
{
	struct rlimit limit = { .rlim_cur = GIB, .rlim_max = GIB };
	void *p = NULL;

	if (IS_SANITIZED)
		kunit_skip(test, "a sanitizer needs the addresses");
	KUNIT_ASSERT_EQ(test, setrlimit(RLIMIT_AS, &limit), 0);
	KUNIT_EXPECT_EQ(test, os_reserve(2 * GIB, &p), -ENOMEM);
	KUNIT_EXPECT_EQ(test, os_reserve(64 * MIB, &p), 0);
}

static void absurd_sizes_are_enomem(struct kunit *test)
{
	void *p = &p;

	KUNIT_EXPECT_EQ(test, os_reserve((size_t)1 << 62, &p), -ENOMEM);
	KUNIT_EXPECT_PTR_EQ(test, p, &p);
	KUNIT_EXPECT_EQ(test, os_unreserve((void *)1, 1), -EINVAL);
}

static void privatized_pages_keep_content_and_address(struct kunit *test)
{
	size_t size = 4 * os_page_size();
	void *p = NULL;
	char *shared;
	int status;
	pid_t pid;
	int fd;

	fd = os_shared_segment("slabdev-test", size, &p);
	KUNIT_ASSERT_GE(test, fd, 0);
	shared = p;
	memset(shared, 7, size);
	pid = fork();
	if (!pid) {
		if (os_privatize(shared, size) || shared[0] != 7 ||
		    shared[size - 1] != 7)
			_exit(1);
		memset(shared, 8, size);
		_exit(0);
	}
	KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ(test, status, 0);
	KUNIT_EXPECT_EQ(test, shared[0], 7);
	KUNIT_EXPECT_EQ(test, shared[size - 1], 7);
	KUNIT_EXPECT_EQ(test, os_unmap(p, size), 0);
	KUNIT_EXPECT_EQ(test, os_close(fd), 0);
}

/* ---- Shared segments -------------------------------------------------- */

static void segment_is_sealed(struct kunit *test)
{
	size_t size = 3 * os_page_size();
	int seals, fd, fds = count_descriptors(test);
	void *p = NULL, *q;
	struct stat st;

	fd = os_shared_segment("slabdev-test", size, &p);
	KUNIT_ASSERT_GE(test, fd, 0);
	seals = fcntl(fd, F_GET_SEALS);
	KUNIT_EXPECT_EQ(test, seals & F_SEAL_SHRINK, F_SEAL_SHRINK);
	KUNIT_EXPECT_EQ(test, seals & F_SEAL_GROW, F_SEAL_GROW);
	KUNIT_EXPECT_EQ(test, seals & F_SEAL_SEAL, F_SEAL_SEAL);
	KUNIT_EXPECT_EQ(test, seals & F_SEAL_FUTURE_WRITE,
			F_SEAL_FUTURE_WRITE);
	KUNIT_EXPECT_EQ(test, fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);

	/* And what they promise. */
	KUNIT_EXPECT_EQ(test, fstat(fd, &st), 0);
	KUNIT_EXPECT_EQ(test, st.st_size, (off_t)size);
	KUNIT_EXPECT_EQ(test, ftruncate(fd, 0), -1);
	KUNIT_EXPECT_EQ(test, ftruncate(fd, (off_t)size * 2), -1);
	KUNIT_EXPECT_EQ(test, write(fd, "x", 1), -1);
	q = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	KUNIT_EXPECT_PTR_EQ(test, q, MAP_FAILED);
	q = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	KUNIT_ASSERT_PTR_NE(test, q, MAP_FAILED);

	/* While the writer goes on, and a reader sees it. */
	*(char *)p = 42;
	KUNIT_EXPECT_EQ(test, *(char *)q, 42);
	munmap(q, size);
	KUNIT_EXPECT_EQ(test, os_unmap(p, size), 0);
	KUNIT_EXPECT_EQ(test, os_close(fd), 0);
	KUNIT_EXPECT_EQ(test, count_descriptors(test), fds);
}

static int refuse_memfd(const char *name, unsigned int flags)
{
	(void)name;
	(void)flags;
	return -ENOSYS;
}

static int refuse_ftruncate(int fd, size_t size)
{
	(void)fd;
	(void)size;
	return -ENOSPC;
}

static int refuse_map(int fd, size_t size, void **addr)
{
	(void)fd;
	(void)size;
	(void)addr;
	return -ENOMEM;
}

static int refuse_seals(int fd, int seals)
{
	(void)fd;
	(void)seals;
	return -EINVAL;
}

/* Each step fails in turn; the descriptor and the mapping are gone after. */
static void segment_failure_leaves_nothing(struct kunit *test)
{
	int fds = count_descriptors(test), maps = count_maps("slabdev-test");
	size_t size = os_page_size();
	void *p = &p;

	kunit_activate_static_stub(test, os_memfd_create, refuse_memfd);
	KUNIT_EXPECT_EQ(test, os_shared_segment("slabdev-test", size, &p),
			-ENOSYS);
	kunit_deactivate_static_stub(test, os_memfd_create);

	kunit_activate_static_stub(test, os_ftruncate, refuse_ftruncate);
	KUNIT_EXPECT_EQ(test, os_shared_segment("slabdev-test", size, &p),
			-ENOSPC);
	kunit_deactivate_static_stub(test, os_ftruncate);

	kunit_activate_static_stub(test, os_map_shared, refuse_map);
	KUNIT_EXPECT_EQ(test, os_shared_segment("slabdev-test", size, &p),
			-ENOMEM);
	kunit_deactivate_static_stub(test, os_map_shared);

	kunit_activate_static_stub(test, os_add_seals, refuse_seals);
	KUNIT_EXPECT_EQ(test, os_shared_segment("slabdev-test", size, &p),
			-EINVAL);
	kunit_deactivate_static_stub(test, os_add_seals);

	KUNIT_EXPECT_PTR_EQ(test, p, &p);
	KUNIT_EXPECT_EQ(test, count_descriptors(test), fds);
	KUNIT_EXPECT_EQ(test, count_maps("slabdev-test"), maps);
}

/* ---- Older kernels ---------------------------------------------------- */

static int seals_before_5_1(int fd, int seals)
{
	if (seals & F_SEAL_FUTURE_WRITE)
		return -EINVAL;
	return fcntl(fd, F_ADD_SEALS, seals) ? -errno : 0;
}

static int memfd_before_6_3(const char *name, unsigned int flags)
{
	int fd;

	if (flags & ~(MFD_CLOEXEC | MFD_ALLOW_SEALING))
		return -EINVAL;
	fd = memfd_create(name, flags);
	return fd < 0 ? -errno : fd;
}

static void segment_on_an_older_kernel(struct kunit *test)
{
	size_t size = os_page_size();
	void *p = NULL;
	int fd;

	kunit_activate_static_stub(test, os_memfd_create, memfd_before_6_3);
	kunit_activate_static_stub(test, os_add_seals, seals_before_5_1);
	fd = os_shared_segment("slabdev-test", size, &p);
	KUNIT_ASSERT_GE(test, fd, 0);
	KUNIT_EXPECT_EQ(test, fcntl(fd, F_GET_SEALS),
			F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	os_unmap(p, size);
	os_close(fd);
}

/* In a program that has closed its standard descriptors. */
static void descriptors_avoid_stdio(struct kunit *test)
{
	struct os_file f = OS_FILE_INIT;
	size_t size = os_page_size();
	int fd, status;
	void *p = NULL;
	pid_t pid;

	pid = fork();
	if (!pid) {
		close(0);
		close(1);
		close(2);
		fd = os_shared_segment("slabdev-test", size, &p);
		if (fd <= 2 || fcntl(0, F_GETFD) != -1)
			_exit(1);
		if (os_open_append(&f, "/dev/null") || f.fd <= 2)
			_exit(2);
		_exit(fcntl(0, F_GETFD) == -1 ? 0 : 3);
	}
	KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ(test, status, 0);
}

/* ---- Files ------------------------------------------------------------ */

static char *temp_path(struct kunit *test, const char *name)
{
	const char *dir = getenv("TMPDIR");
	char *path = kunit_kzalloc(test, 512);

	snprintf(path, 512, "%s/slabdev-%d-%s", dir ? dir : "/tmp",
		 (int)getpid(), name);
	unlink(path);
	return path;
}

static void remove_file(void *path)
{
	unlink(path);
}

static void appended_lines_are_whole(struct kunit *test)
{
	char *path = temp_path(test, "append"), text[64];
	struct os_file f = OS_FILE_INIT;

	kunit_add_action(test, remove_file, path);
	KUNIT_ASSERT_EQ(test, os_open_append(&f, path), 0);
	KUNIT_EXPECT_TRUE(test, os_file_is_open(&f));
	KUNIT_EXPECT_EQ(test, fcntl(f.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	KUNIT_EXPECT_EQ(test, fcntl(f.fd, F_GETFL) & O_APPEND, O_APPEND);
	KUNIT_EXPECT_EQ(test, os_write_line(f.fd, "a: ", "one"), 0);
	KUNIT_EXPECT_EQ(test, os_write_line(f.fd, "", "two"), 0);
	KUNIT_EXPECT_EQ(test, os_read_file(path, text, sizeof(text)), 0);
	KUNIT_EXPECT_STREQ(test, text, "a: one\ntwo\n");
	os_close(f.fd);
	KUNIT_EXPECT_FALSE(test, os_file_is_open(&f));
	KUNIT_EXPECT_EQ(test, os_write_line(f.fd, "", "three"), -EBADF);
}

/* Its number stays, so that who writes meanwhile writes to one of the two. */
static void reopening_keeps_the_descriptor(struct kunit *test)
{
	char *first = temp_path(test, "first"), *second, text[64];
	struct os_file f = OS_FILE_INIT;
	int fd, fds = count_descriptors(test);

	second = temp_path(test, "second");
	kunit_add_action(test, remove_file, first);
	kunit_add_action(test, remove_file, second);
	KUNIT_ASSERT_EQ(test, os_open_append(&f, first), 0);
	fd = f.fd;
	KUNIT_ASSERT_EQ(test, os_open_append(&f, second), 0);
	KUNIT_EXPECT_EQ(test, f.fd, fd);
	KUNIT_EXPECT_TRUE(test, os_file_is_open(&f));
	KUNIT_EXPECT_EQ(test, fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	os_write_line(fd, "", "x");
	KUNIT_EXPECT_EQ(test, os_read_file(first, text, sizeof(text)), 0);
	KUNIT_EXPECT_STREQ(test, text, "");
	KUNIT_EXPECT_EQ(test, os_read_file(second, text, sizeof(text)), 0);
	KUNIT_EXPECT_STREQ(test, text, "x\n");

	KUNIT_EXPECT_EQ(test, os_open_append(&f, "/nonexistent/file"), -ENOENT);
	KUNIT_EXPECT_TRUE(test, os_file_is_open(&f));
	os_close(fd);
	KUNIT_EXPECT_EQ(test, count_descriptors(test), fds);
}

/* The program closed our descriptor, and opened a file that got its number. */
static void another_file_with_the_number_is_not_ours(struct kunit *test)
{
	char *path = temp_path(test, "ours");
	struct os_file f = OS_FILE_INIT;
	int fd;

	kunit_add_action(test, remove_file, path);
	KUNIT_ASSERT_EQ(test, os_open_append(&f, path), 0);
	fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	KUNIT_ASSERT_GE(test, dup2(fd, f.fd), 0);
	KUNIT_EXPECT_FALSE(test, os_file_is_open(&f));
	close(fd);
	close(f.fd);
}

static void reading_cuts_and_terminates(struct kunit *test)
{
	char text[8];

	memset(text, 'x', sizeof(text));
	KUNIT_EXPECT_EQ(test, os_read_file("/proc/self/stat", text,
					   sizeof(text)), 0);
	KUNIT_EXPECT_EQ(test, strlen(text), sizeof(text) - 1);
	KUNIT_EXPECT_EQ(test, os_read_file("/nonexistent", text, sizeof(text)),
			-ENOENT);
}

/* ---- The process ------------------------------------------------------ */

static void time_passes(struct kunit *test)
{
	u64 before = now_ns();

	os_sleep_us(2000);
	KUNIT_EXPECT_GE(test, now_ns() - before, 2000000);
	os_yield();
	KUNIT_EXPECT_EQ(test, os_gettid(), getpid());
}

static void page_size_is_the_systems(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, os_page_size(), (size_t)sysconf(_SC_PAGESIZE));
	KUNIT_EXPECT_TRUE(test, is_power_of_2(os_page_size()));
}

static void membarrier_after_registering(struct kunit *test)
{
	int err = os_membarrier_register();

	if (err == -ENOSYS || err == -EINVAL)
		kunit_skip(test, "this kernel has no expedited membarrier");
	KUNIT_EXPECT_EQ(test, err, 0);
	KUNIT_EXPECT_EQ(test, os_membarrier(), 0);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(reservation_life),
	KUNIT_CASE(reservation_is_not_dumped),
	KUNIT_CASE(huge_pages_are_a_hint),
	KUNIT_CASE_ISOLATED(address_space_limit_is_enomem),
	KUNIT_CASE(absurd_sizes_are_enomem),
	KUNIT_CASE(privatized_pages_keep_content_and_address),
	KUNIT_CASE(segment_is_sealed),
	KUNIT_CASE(segment_failure_leaves_nothing),
	KUNIT_CASE(segment_on_an_older_kernel),
	KUNIT_CASE(descriptors_avoid_stdio),
	KUNIT_CASE(appended_lines_are_whole),
	KUNIT_CASE(reopening_keeps_the_descriptor),
	KUNIT_CASE(another_file_with_the_number_is_not_ours),
	KUNIT_CASE(reading_cuts_and_terminates),
	KUNIT_CASE(time_passes),
	KUNIT_CASE(page_size_is_the_systems),
	KUNIT_CASE(membarrier_after_registering),
	{ 0 }
};

static const struct kunit_suite os_suite = {
	.name = "os",
	.cases = cases,
};
kunit_test_suite(os_suite);
