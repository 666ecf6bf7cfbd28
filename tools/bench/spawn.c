// SPDX-License-Identifier: BSD-2-Clause
/*
 * spawn.c - this program once more, as a child that measures one thing.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/memory.h"
#include "spawn.h"

#define TUNABLES "GLIBC_TUNABLES="
/*
 * Room for the thread-local storage of libraries that are loaded later:
 * jemalloc of Debian needs more than there is by itself.
 */
#define MORE_TLS "glibc.rtld.optional_static_tls=32768"

extern char **environ;

/* The environment with our tunable after those of the user; one block. */
static char **child_environ(void)
{
	const char *old = getenv("GLIBC_TUNABLES");
	size_t nr = 0, i, n = 0;
	char **env, *tunables;
	int size;

	while (environ[nr])
		nr++;
	size = snprintf(NULL, 0, TUNABLES "%s:" MORE_TLS, old ? old : "") + 1;
	env = zalloc((nr + 2) * sizeof(*env) + (size_t)size);
	tunables = (char *)(env + nr + 2);
	for (i = 0; i < nr; i++)
		if (strncmp(environ[i], TUNABLES, strlen(TUNABLES)))
			env[n++] = environ[i];
	env[n++] = tunables;
	/* An empty one between two colons is none. */
	snprintf(tunables, (size_t)size, TUNABLES "%s:" MORE_TLS,
		 old ? old : "");
	return env;
}

static size_t count(const char *const *words)
{
	size_t n = 0;

	while (words && words[n])
		n++;
	return n;
}

/* @wrapper, this program, @args but the first, @more. */
static char **child_args(const char *const *wrapper, char *const *args,
			 const char *const *more, char *self)
{
	size_t nr_args = count((const char *const *)args), n = 0, i;
	char **words = zalloc((count(wrapper) + nr_args + count(more) + 2) *
			      sizeof(*words));

	for (i = 0; i < count(wrapper); i++)
		words[n++] = (char *)(uintptr_t)wrapper[i];
	words[n++] = self;
	for (i = 1; i < nr_args; i++)
		words[n++] = args[i];
	for (i = 0; i < count(more); i++)
		words[n++] = (char *)(uintptr_t)more[i];
	return words;
}

/* Its end for reading is a stream before there is a child to be reaped. */
static int open_pipe(struct child *c, int fd[2])
{
	int err;

	if (pipe2(fd, O_CLOEXEC))
		return -errno;
	c->out = fdopen(fd[0], "r");
	if (c->out)
		return 0;
	err = -errno;
	close(fd[0]);
	close(fd[1]);
	return err;
}

int spawn(struct child *c, const char *const *wrapper, char *const *args,
	  const char *const *more)
{
	char self[PATH_MAX] = "", **words, **env;
	posix_spawn_file_actions_t files;
	int fd[2], err;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return -errno;
	err = open_pipe(c, fd);
	if (err)
		return err;
	env = child_environ();
	words = child_args(wrapper, args, more, self);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null",
					 O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, fd[1], STDOUT_FILENO);
	if (wrapper)
		posix_spawn_file_actions_addopen(&files, STDERR_FILENO,
						 "/dev/null", O_WRONLY, 0);
	err = posix_spawnp(&c->pid, words[0], &files, NULL, words, env);
	posix_spawn_file_actions_destroy(&files);
	close(fd[1]);
	free(words);
	free(env);
	if (err)
		fclose(c->out);
	return -err;
}

int spawn_wait(struct child *c)
{
	int status = 0;

	fclose(c->out);
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}
