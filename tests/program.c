// SPDX-License-Identifier: BSD-2-Clause
/*
 * program.c - run a program that was built beside the test runner
 *
 * The runner is tests/run of some build, so what the build made lies at known
 * places around it, in the tree or not. Output goes to unlinked files rather
 * than pipes: nothing has to be read while the program runs, and nothing can
 * block it.
 */
#include "tests/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

const char *program_path(struct kunit *test, const char *name)
{
	char *path = kunit_kmalloc(test, PATH_MAX), *slash;
	ssize_t len;
	int i;

	len = readlink("/proc/self/exe", path, PATH_MAX - 1);
	KUNIT_ASSERT_GT(test, len, 0);
	path[len] = '\0';
	for (i = 0; i < 2; i++) {
		slash = strrchr(path, '/');
		KUNIT_ASSERT_NOT_NULL(test, slash);
		*slash = '\0';
	}
	len = (ssize_t)strlen(path);
	KUNIT_ASSERT_LT(test, (size_t)len + strlen(name) + 2, PATH_MAX);
	snprintf(path + len, PATH_MAX - (size_t)len, "/%s", name);
	if (access(path, X_OK))
		kunit_skip(test, "%s was not built", name);
	return path;
}

/* What tests/run sets for all that it starts. */
static bool is_for_all(const char *variable)
{
	return !strncmp(variable, "SLABDEV_ANNOTATE=", 17);
}

/* The environment without our parameters, and those two, or fewer. */
static char **program_env(struct kunit *test, const char *add,
			  const char *more)
{
	size_t i, nr = 0;
	char **env;

	while (environ[nr])
		nr++;
	env = kunit_kzalloc(test, (nr + 3) * sizeof(*env));
	for (i = 0, nr = 0; environ[i]; i++)
		if (strncmp(environ[i], "SLABDEV_", 8) ||
		    is_for_all(environ[i]))
			env[nr++] = environ[i];
	env[nr] = (char *)(uintptr_t)add;
	if (add)
		env[nr + 1] = (char *)(uintptr_t)more;
	return env;
}

static void close_file(void *file)
{
	fclose(file);
}

static FILE *output_file(struct kunit *test)
{
	FILE *f = tmpfile();

	KUNIT_ASSERT_NOT_NULL(test, f);
	kunit_add_action(test, close_file, f);
	return f;
}

static char *output_text(struct kunit *test, FILE *f)
{
	off_t size = lseek(fileno(f), 0, SEEK_END);
	char *text = kunit_kzalloc(test, (size_t)size + 1);

	KUNIT_ASSERT_EQ(test, pread(fileno(f), text, (size_t)size, 0), size);
	return text;
}

static pid_t program_start(struct kunit *test, const char *path,
			   const char *const *argv, char **env, FILE *out,
			   FILE *err)
{
	posix_spawn_file_actions_t fds;
	char *args[PROGRAM_ARGS_MAX + 1] = { (char *)(uintptr_t)path };
	pid_t pid = -1;
	int i, failed;

	for (i = 1; argv[i]; i++) {
		KUNIT_ASSERT_LT(test, i, PROGRAM_ARGS_MAX);
		args[i] = (char *)(uintptr_t)argv[i];
	}
	posix_spawn_file_actions_init(&fds);
	posix_spawn_file_actions_addopen(&fds, STDIN_FILENO, "/dev/null",
					 O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&fds, fileno(out), STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&fds, fileno(err), STDERR_FILENO);
	failed = posix_spawn(&pid, path, &fds, NULL, args, env);
	posix_spawn_file_actions_destroy(&fds);
	KUNIT_ASSERT_EQ_MSG(test, failed, 0, "cannot start %s", path);
	return pid;
}

void program_run(struct kunit *test, struct program *p,
		 const char *const *argv, const char *env)
{
	program_run_with(test, p, argv, env, NULL);
}

void program_run_with(struct kunit *test, struct program *p,
		      const char *const *argv, const char *env,
		      const char *more)
{
	const char *path = program_path(test, argv[0]);
	FILE *out = output_file(test), *err = output_file(test);
	pid_t pid, got;
	int status;

	pid = program_start(test, path, argv, program_env(test, env, more), out,
			    err);
	do
		got = waitpid(pid, &status, 0);
	while (got < 0 && errno == EINTR);
	KUNIT_ASSERT_EQ(test, got, pid);
	p->status = WIFEXITED(status) ? WEXITSTATUS(status)
				      : 128 + WTERMSIG(status);
	p->out = output_text(test, out);
	p->err = output_text(test, err);
}

const char *program_last_line(struct kunit *test, const char *text)
{
	size_t end = strlen(text), start;
	char *line;

	if (end && text[end - 1] == '\n')
		end--;
	for (start = end; start && text[start - 1] != '\n'; start--)
		;
	line = kunit_kzalloc(test, end - start + 1);
	memcpy(line, text + start, end - start);
	return line;
}
