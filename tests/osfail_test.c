// SPDX-License-Identifier: BSD-2-Clause
/*
 * osfail_test.c - system calls that fail below the wrappers of core/os.h, and
 * what is said of the limit that made them.
 *
 * The failures are the kernel's own, of arguments and limits that make a call
 * fail; only the files of /proc about a machine that commits no more memory
 * than it has are made up here.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/os.h"
#include "core/os_private.h"
#include "tests/descriptors.h"
#include "tests/kunit/kunit.h"

/* @fn in a process of its own, whose descriptors it may lose. */
static void in_child(struct kunit *test, void (*fn)(struct kunit *test))
{
	pid_t pid = fork();
	int status = -1;

	KUNIT_ASSERT_GE(test, pid, 0);
	if (!pid) {
		fn(test);
		_exit(0);
	}
	KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_EQ(test, status, 0);
}

/* What was allowed before. */
static rlim_t limit_descriptors(struct kunit *test, rlim_t n)
{
	struct rlimit limit;
	rlim_t before;

	KUNIT_EXPECT_EQ(test, getrlimit(RLIMIT_NOFILE, &limit), 0);
	before = limit.rlim_cur;
	limit.rlim_cur = n;
	KUNIT_EXPECT_EQ(test, setrlimit(RLIMIT_NOFILE, &limit), 0);
	return before;
}

/* ---- Memory ----------------------------------------------------------- */

static void errors_are_passed_on(struct kunit *test)
{
	size_t page = os_page_size();
	void *p = NULL, *untouched = &p;

	KUNIT_EXPECT_EQ(test, os_close(-1), -EBADF);
	KUNIT_EXPECT_EQ(test, os_ftruncate(-1, page), -EBADF);
	KUNIT_EXPECT_EQ(test, os_map_shared(-1, page, &untouched), -EBADF);
	KUNIT_EXPECT_PTR_EQ(test, untouched, &p);
	KUNIT_ASSERT_EQ(test, os_reserve(4 * page, &p), 0);
	KUNIT_EXPECT_EQ(test, os_move((char *)p + 1, (char *)p + 2 * page,
				      page), -EINVAL);
	KUNIT_EXPECT_EQ(test, os_privatize(p, SIZE_MAX / 2), -ENOMEM);
	KUNIT_EXPECT_EQ(test, os_unreserve(p, 4 * page), 0);
}

/* ---- Files ------------------------------------------------------------ */

static void open_without_a_number_to_spare(struct kunit *test)
{
	struct os_file f = OS_FILE_INIT;
	rlim_t before;

	close(STDIN_FILENO);
	before = limit_descriptors(test, STDERR_FILENO + 1);
	KUNIT_EXPECT_LT(test, os_open_append(&f, "/dev/null"), 0);
	limit_descriptors(test, before);
	KUNIT_EXPECT_LT(test, f.fd, 0);
	KUNIT_EXPECT_EQ(test, fcntl(STDIN_FILENO, F_GETFD), -1);
}

/* Standard input's is not taken: neither the file nor its number stays. */
static void no_number_above_the_standard_ones(struct kunit *test)
{
	in_child(test, open_without_a_number_to_spare);
}

#define HIGH 60

static void reopen_beyond_the_limit(struct kunit *test)
{
	struct os_file f = OS_FILE_INIT, before;
	int fds, fd;
	rlim_t limit;

	KUNIT_EXPECT_EQ(test, os_open_append(&f, "/dev/null"), 0);
	fd = dup2(f.fd, HIGH);
	KUNIT_EXPECT_EQ(test, fd, HIGH);
	close(f.fd);
	f.fd = fd;
	before = f;
	fds = count_descriptors(test);
	limit = limit_descriptors(test, HIGH);
	KUNIT_EXPECT_EQ(test, os_open_append(&f, "/dev/zero"), -EBADF);
	limit_descriptors(test, limit);
	KUNIT_EXPECT_MEMEQ(test, &f, &before, sizeof(f));
	KUNIT_EXPECT_TRUE(test, os_file_is_open(&f));
	KUNIT_EXPECT_EQ(test, count_descriptors(test), fds);
}

/* Its number was allowed once, and is not any more: the old file stays. */
static void reopening_may_fail(struct kunit *test)
{
	in_child(test, reopen_beyond_the_limit);
}

static const int signals[] = { SIGPIPE, SIGXFSZ };
KUNIT_ARRAY_PARAM(signal, signals, NULL);

/* What was waiting before a line was written still waits afterwards. */
static void waiting_signal_is_left_alone(struct kunit *test)
{
	int number = *(const int *)test->param_value, ends[2];
	sigset_t one, waiting;

	sigemptyset(&one);
	sigaddset(&one, number);
	KUNIT_ASSERT_EQ(test, pthread_sigmask(SIG_BLOCK, &one, NULL), 0);
	raise(number);
	KUNIT_ASSERT_EQ(test, pipe(ends), 0);
	close(ends[0]);
	KUNIT_EXPECT_EQ(test, os_write_line(ends[1], "", "nobody reads it"),
			-EPIPE);
	close(ends[1]);
	KUNIT_EXPECT_EQ(test, sigpending(&waiting), 0);
	KUNIT_EXPECT_TRUE(test, sigismember(&waiting, number));
}

/* ---- Which limit it was ----------------------------------------------- */

static const struct fake {
	const char *path, *text;
} *files;

static int read_fake(const char *path, char *text, size_t size)
{
	for (const struct fake *f = files; f->path; f++)
		if (!strcmp(f->path, path)) {
			snprintf(text, size, "%s", f->text);
			return 0;
		}
	return -ENOENT;
}

#define OVERCOMMIT "/proc/sys/vm/overcommit_memory"
#define MAPPINGS "/proc/sys/vm/max_map_count"
#define MEMINFO "/proc/meminfo"
#define STATUS "/proc/self/status", "Name: x\nVmSize: 10 kB\nVmData: 10 kB\n"

static const struct machine {
	const char *name, *words;
	struct fake files[5];
} machines[] = {
	{ "nothing can be read", "", { { NULL, NULL } } },
	{ "no limit can be read", "", { { STATUS } } },
	{ "more is committed than there is", "CommitLimit is reached", {
		{ STATUS }, { OVERCOMMIT, "2\n" },
		{ MEMINFO, "MemTotal: 9 kB\nCommitLimit: 1000 kB\n"
			   "Committed_AS: 1000 kB\n" } } },
	{ "there is some left to commit", "", {
		{ STATUS }, { OVERCOMMIT, "2\n" },
		{ MEMINFO, "MemTotal: 9 kB\nCommitLimit: 1000 kB\n"
			   "Committed_AS: 990 kB\n" } } },
	{ "it is not counted what is committed", "", {
		{ STATUS }, { OVERCOMMIT, "1\n" },
		{ MEMINFO, "MemTotal: 9 kB\nCommitLimit: 1000 kB\n"
			   "Committed_AS: 1000 kB\n" } } },
	{ "the figures cannot be read", "", {
		{ STATUS }, { OVERCOMMIT, "2\n" } } },
	{ "there are too many mappings", "vm.max_map_count allows 9 ", {
		{ STATUS }, { MAPPINGS, "9\n" } } },
	{ "mappings are few", "", {
		{ STATUS }, { MAPPINGS, "65530\n" } } },
};

static void describe_machine(const struct machine *m, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", m->name);
}
KUNIT_ARRAY_PARAM(machine, machines, describe_machine);

static void limit_is_named(struct kunit *test)
{
	const struct machine *m = test->param_value;
	char text[200] = "untouched";

	files = m->files;
	kunit_activate_static_stub(test, os_read_file, read_fake);
	os_memory_limit(8192, text, sizeof(text));
	kunit_deactivate_static_stub(test, os_read_file);
	if (*m->words)
		KUNIT_EXPECT_NOT_NULL_MSG(test, strstr(text, m->words), "%s",
					  text);
	else
		KUNIT_EXPECT_STREQ(test, text, "");
}

static void ask_without_descriptors(struct kunit *test)
{
	static const struct fake few[] = {
		{ STATUS }, { MAPPINGS, "9\n" }, { NULL, NULL }
	};
	char text[200] = "untouched";
	rlim_t before;

	files = few;
	before = limit_descriptors(test, 0);
	os_memory_limit(8192, text, sizeof(text));
	limit_descriptors(test, before);
	KUNIT_EXPECT_STREQ(test, text, "");
}

/* Then the mappings cannot be counted, and nothing is said of them. */
static void mappings_cannot_be_counted(struct kunit *test)
{
	kunit_activate_static_stub(test, os_read_file, read_fake);
	in_child(test, ask_without_descriptors);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE(errors_are_passed_on),
	KUNIT_CASE(no_number_above_the_standard_ones),
	KUNIT_CASE(reopening_may_fail),
	KUNIT_CASE_PARAM(waiting_signal_is_left_alone, signal_gen_params,
			 .isolated = true),
	KUNIT_CASE_PARAM(limit_is_named, machine_gen_params),
	KUNIT_CASE(mappings_cannot_be_counted),
	{ 0 }
};

static const struct kunit_suite osfail_suite = {
	.name = "osfail",
	.cases = cases,
};
kunit_test_suite(osfail_suite);
