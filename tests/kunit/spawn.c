// SPDX-License-Identifier: BSD-2-Clause
/* spawn.c - runs programs for tests, see spawn.h. */
#include "tests/kunit/spawn.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void close_fd(void *arg)
{
	close((int)(intptr_t)arg);
}

static int open_sink(struct kunit *test, const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd < 0)
		KUNIT_FAIL_AND_ABORT(test, "memfd_create: %s",
				     strerror(errno));
	kunit_add_action(test, close_fd, (void *)(intptr_t)fd);
	return fd;
}

static const char *read_sink(struct kunit *test, int fd)
{
	struct stat st = { 0 };
	size_t size;
	ssize_t got;
	char *data;

	fstat(fd, &st);
	size = (size_t)st.st_size;
	data = kunit_kzalloc(test, size + 1);
	got = pread(fd, data, size, 0);
	KUNIT_ASSERT_EQ(test, got, size);
	kunit_release_action(test, close_fd, (void *)(intptr_t)fd);
	return data;
}

static pid_t start(struct kunit *test, const char *const argv[], int out,
		   int err)
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int ret;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
	ret = posix_spawnp(&pid, argv[0], &actions, NULL,
			   (char *const *)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (ret)
		KUNIT_FAIL_AND_ABORT(test, "%s: %s", argv[0], strerror(ret));
	return pid;
}

void kunit_run_program(struct kunit *test, struct kunit_process *proc,
		       const char *const argv[])
{
	int out = open_sink(test, "stdout");
	int err = open_sink(test, "stderr");
	pid_t pid = start(test, argv, out, err);
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	proc->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	proc->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	proc->out = read_sink(test, out);
	proc->err = read_sink(test, err);
}

static void show_text(struct kunit *test, const char *what, const char *text)
{
	while (*text) {
		int len = (int)strcspn(text, "\n");

		kunit_info(test, "%s: %.*s", what, len, text);
		text += len + (text[len] == '\n');
	}
}

void kunit_show_process(struct kunit *test, const struct kunit_process *proc)
{
	if (proc->signal)
		kunit_info(test, "ended by signal %d", proc->signal);
	else
		kunit_info(test, "exit status %d", proc->exit_code);
	show_text(test, "stdout", proc->out);
	show_text(test, "stderr", proc->err);
}

/* PATH_MAX bytes that the caller may change. */
static char *own_path(struct kunit *test)
{
	char *path = kunit_kzalloc(test, PATH_MAX);

	if (readlink("/proc/self/exe", path, PATH_MAX - 1) < 0)
		kunit_skip(test, "/proc/self/exe: %s", strerror(errno));
	return path;
}

const char *kunit_self(struct kunit *test)
{
	return own_path(test);
}

static const char *join(struct kunit *test, const char *folder,
			const char *name)
{
	char *path = kunit_kzalloc(test, PATH_MAX);

	if (snprintf(path, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX)
		KUNIT_FAIL_AND_ABORT(test, "%s/%s: too long", folder, name);
	return path;
}

const char *kunit_built_path(struct kunit *test, const char *name)
{
	char *top = own_path(test);

	for (int level = 0; level < 2; level++) {
		char *slash = strrchr(top, '/');

		if (slash)
			*slash = '\0';
	}
	return join(test, top, name);
}

const char *kunit_source_path(struct kunit *test, const char *name)
{
	const char *top = getenv("SRCTREE");
	const char *path;

	path = top ? join(test, top, name) : kunit_built_path(test, name);
	if (access(path, F_OK))
		kunit_skip(test, "no %s: SRCTREE does not name the sources",
			   name);
	return path;
}
