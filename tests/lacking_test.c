// SPDX-License-Identifier: BSD-2-Clause
/*
 * lacking_test.c - system calls and files that a container does not have.
 *
 * The tour (tests/tour.h) under real filters of system calls, without /proc,
 * with huge pages forbidden: all of it works, or the part that cannot (the
 * statistics for slabinfo) is left out. And two ways in which a full file or a
 * closed pipe would end the process by a signal.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "core/os.h"
#include "core/os_private.h"
#include "slab/slab.h"
#include "tests/open_space.h"
#include "tests/sanitizers.h"
#include "tests/tour.h"

static void forget(int level, int kind, const char *text, void *arg)
{
	(void)level;
	(void)kind;
	(void)text;
	(void)arg;
}

/* The tour has reports, which are not what these cases are about. */
static void expect_tour(struct kunit *test)
{
	FILE *out = fopen("/dev/null", "we");
	const char *wrong;

	log_set_sink(forget, NULL);
	wrong = tour(out ? out : stdout);
	if (out)
		fclose(out);
	if (wrong)
		KUNIT_FAIL(test, "%s: %s", wrong, slabdev_last_error());
}

static bool has_descriptors(const struct slabdev *sd)
{
	return sd->segment[0].file.fd >= 0;
}

/* ---- Filters of system calls ------------------------------------------ */

struct filter {
	const char *name;
	int calls[8];		/* 0: no more */
	bool publishes;		/* statistics, all the same */
	bool has_sheaves;
};

static const struct filter filters[] = {
	{ "memfd_create", { SYS_memfd_create }, false, true },
	{ "membarrier", { SYS_membarrier }, true, false },
	{ "madvise", { SYS_madvise }, true, true },
	{ "fallocate", { SYS_fallocate }, true, true },
	{ "seals", { SYS_fcntl }, false, true },
	{ "sched_yield, gettid, rseq", { SYS_sched_yield, SYS_gettid,
	  SYS_rseq }, true, true },
	{ "all of them", { SYS_memfd_create, SYS_membarrier, SYS_madvise,
	  SYS_fallocate, SYS_fcntl, SYS_gettid, SYS_mremap }, false, false },
};

static void describe_filter(const struct filter *f, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "without %s", f->name);
}
KUNIT_ARRAY_PARAM(filter, filters, describe_filter);

/* From here on, this process cannot undo it. */
static bool install(const struct filter *f, int err)
{
	struct sock_filter code[2 * ARRAY_SIZE(f->calls) + 2];
	struct sock_fprog program = { .filter = code };
	u16 n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < ARRAY_SIZE(f->calls) && f->calls[i]; i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ |
				BPF_K, (u32)f->calls[i], 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
				SECCOMP_RET_ERRNO | (u32)err);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
						 SECCOMP_RET_ALLOW);
	program.len = n;
	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#define EXIT_NO_FILTER 77

/* In a child each, as a filter is for good. Its exit status. */
static int in_filter(struct kunit *test, const struct filter *f, int err)
{
	struct slabdev *sd = NULL;

	if (!install(f, err))
		return EXIT_NO_FILTER;
	expect_tour(test);
	if (slabdev_open(&sd, "host", NULL))
		return 1;
	KUNIT_EXPECT_EQ(test, sd->use_sheaves, f->has_sheaves);
	if (IS_ENABLED(CONFIG_SLAB_SEGMENT))
		KUNIT_EXPECT_EQ(test, has_descriptors(sd), f->publishes);
	return slabdev_close(sd, 0) ? 2 : 0;
}

static void without_a_system_call(struct kunit *test)
{
	static const int errors[] = { ENOSYS, EPERM };
	int status;
	size_t i;
	pid_t pid;

	if (IS_SANITIZED)
		kunit_skip(test, "a sanitizer needs these calls");
	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		pid = fork();
		KUNIT_ASSERT_GE(test, pid, 0);
		if (!pid)
			_exit(in_filter(test, test->param_value, errors[i]));
		status = -1;
		KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NO_FILTER)
			kunit_skip(test, "no filter of system calls here");
		KUNIT_EXPECT_EQ_MSG(test, status, 0, "error %d", errors[i]);
	}
}

/* ---- Huge pages ------------------------------------------------------- */

static const bool forbidden[] = { false, true };

static void describe_forbidden(const bool *are, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s",
		 *are ? "forbidden" : "as the machine has them");
}
KUNIT_ARRAY_PARAM(forbidden, forbidden, describe_forbidden);

static void huge_pages(struct kunit *test)
{
	const bool *are = test->param_value;
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	struct slabdev *sd;
	char *p;

	if (*are && prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
		kunit_skip(test, "huge pages cannot be forbidden: %m");
	attr.limit = 64 * MIB;
	attr.flags = SLABDEV_OPEN_HUGE_PAGES;
	sd = open_space_attr(test, &attr);
	p = must_alloc(test, sd, 9 * MIB);
	memset(p, 1, 9 * MIB);
	EXPECT_FREED(test, sd, p);
	expect_empty(test, sd);
	p = slabdev_zalloc(sd, 9 * MIB);
	KUNIT_ASSERT_NOT_NULL(test, p);
	KUNIT_EXPECT_EQ(test, p[5 * MIB], 0);
	EXPECT_FREED(test, sd, p);
	close_space(test, sd);
	expect_tour(test);
}

/* ---- Without /proc and /sys ------------------------------------------- */

static void without_proc(struct kunit *test)
{
	struct slabdev_device_info info;

	if (unshare(CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/proc", "tmpfs", 0, NULL) ||
	    mount("none", "/sys", "tmpfs", 0, NULL))
		kunit_skip(test, "only root may mount: %m");
	KUNIT_ASSERT_NE(test, access("/proc/self", F_OK), 0);
	expect_tour(test);
	KUNIT_EXPECT_EQ(test, slabdev_device_get(0, &info, sizeof(info)), 0);
	KUNIT_EXPECT_GT(test, info.memory_total, 16 * MIB);
	KUNIT_EXPECT_GT(test, info.memory_free, 0);
	/* A sanitizer looks at it in the end. */
	umount("/proc");
	umount("/sys");
}

static int no_file(const char *path, char *text, size_t size)
{
	(void)path;
	(void)text;
	(void)size;
	return -ENOENT;
}

/* As far as anybody can try it. */
static void without_readable_files(struct kunit *test)
{
	kunit_activate_static_stub(test, os_read_file, no_file);
	expect_tour(test);
}

/* ---- Memory for statistics -------------------------------------------- */

/* A page that is not there when it is written first is a SIGBUS. */
static void statistics_have_their_memory(struct kunit *test)
{
	struct slabdev *sd = open_space(test, 64 * MIB);
	struct stat st;
	u32 i;

	EXPECT_FREED(test, sd, must_alloc(test, sd, 1000));
	if (!has_descriptors(sd))
		kunit_skip(test, "statistics are not published");
	KUNIT_EXPECT_GE(test, sd->nr_segments, 3);
	for (i = 0; i < sd->nr_segments; i++) {
		KUNIT_ASSERT_EQ(test, fstat(sd->segment[i].file.fd, &st), 0);
		KUNIT_EXPECT_GE(test, (u64)st.st_blocks * 512,
				sd->segment[i].size);
	}
	close_space(test, sd);
}

static int fallocate_err;

static int refuse_fallocate(int fd, size_t size)
{
	(void)fd;
	(void)size;
	return fallocate_err;
}

static void statistics_without_their_memory(struct kunit *test)
{
	static const struct {
		int err;
		bool publishes;
	} answers[] = {
		{ -ENOSPC, false }, { -ENOMEM, false },
		{ -EOPNOTSUPP, true }, { -ENOSYS, true }, { -EPERM, true },
	};
	struct slabdev *sd;
	size_t i;

	kunit_activate_static_stub(test, os_fallocate, refuse_fallocate);
	for (i = 0; i < ARRAY_SIZE(answers); i++) {
		fallocate_err = answers[i].err;
		sd = open_space(test, 64 * MIB);
		if (IS_ENABLED(CONFIG_SLAB_SEGMENT))
			KUNIT_EXPECT_EQ(test, has_descriptors(sd),
					answers[i].publishes);
		EXPECT_FREED(test, sd, must_alloc(test, sd, 1000));
		close_space(test, sd);
	}
}

/* ---- Messages that cannot be written ---------------------------------- */

/* Nothing in here may end in a signal, nor leave one behind. */
static void expect_quiet_failure(struct kunit *test, int fd, int err)
{
	sigset_t before, after, pending;
	int sig;

	sigprocmask(SIG_SETMASK, NULL, &before);
	KUNIT_EXPECT_EQ(test, os_write_line(fd, "slabdev: ", "a line"), err);
	sigprocmask(SIG_SETMASK, NULL, &after);
	sigpending(&pending);
	for (sig = 1; sig < 32; sig++) {
		KUNIT_EXPECT_EQ(test, sigismember(&after, sig),
				sigismember(&before, sig));
		KUNIT_EXPECT_EQ(test, sigismember(&pending, sig), 0);
	}
}

static void nobody_reads_the_messages(struct kunit *test)
{
	int ends[2];

	signal(SIGPIPE, SIG_DFL);
	KUNIT_ASSERT_EQ(test, pipe(ends), 0);
	KUNIT_EXPECT_EQ(test, os_write_line(ends[1], "a", "b"), 0);
	close(ends[0]);
	expect_quiet_failure(test, ends[1], -EPIPE);
	close(ends[1]);
}

static void no_room_for_the_messages(struct kunit *test)
{
	FILE *f = tmpfile();
	struct rlimit rl;

	KUNIT_ASSERT_NOT_NULL(test, f);
	signal(SIGXFSZ, SIG_DFL);
	KUNIT_ASSERT_EQ(test, getrlimit(RLIMIT_FSIZE, &rl), 0);
	rl.rlim_cur = 0;
	KUNIT_ASSERT_EQ(test, setrlimit(RLIMIT_FSIZE, &rl), 0);
	expect_quiet_failure(test, fileno(f), -EFBIG);
	rl.rlim_cur = rl.rlim_max;
	KUNIT_ASSERT_EQ(test, setrlimit(RLIMIT_FSIZE, &rl), 0);
	KUNIT_EXPECT_EQ(test, os_write_line(fileno(f), "a", "b"), 0);
	fclose(f);
}

/* The program's own signal, which it blocks, stays for it. */
static void signals_of_the_program_stay(struct kunit *test)
{
	sigset_t set, pending;
	int ends[2];

	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, NULL);
	raise(SIGPIPE);
	KUNIT_ASSERT_EQ(test, pipe(ends), 0);
	close(ends[0]);
	KUNIT_EXPECT_EQ(test, os_write_line(ends[1], "a", "b"), -EPIPE);
	sigpending(&pending);
	KUNIT_EXPECT_EQ(test, sigismember(&pending, SIGPIPE), 1);
	close(ends[1]);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_PARAM(without_a_system_call, filter_gen_params,
			 .isolated = true),
	KUNIT_CASE_PARAM(huge_pages, forbidden_gen_params, .isolated = true),
	KUNIT_CASE_ISOLATED(without_proc),
	KUNIT_CASE_ISOLATED(without_readable_files),
	KUNIT_CASE_ISOLATED(statistics_have_their_memory),
	KUNIT_CASE_ISOLATED(statistics_without_their_memory),
	KUNIT_CASE_ISOLATED(nobody_reads_the_messages),
	KUNIT_CASE_ISOLATED(no_room_for_the_messages),
	KUNIT_CASE_ISOLATED(signals_of_the_program_stay),
	{ 0 }
};

static const struct kunit_suite lacking_suite = {
	.name = "lacking",
	.cases = cases,
};
kunit_test_suite(lacking_suite);
