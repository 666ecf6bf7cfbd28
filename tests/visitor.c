// SPDX-License-Identifier: BSD-2-Clause
/*
 * visitor.c - a small program that uses the library, for tests that change
 * what is around one.
 *
 * visitor WAY: "tour" goes through all calls (tests/tour.h); the other ways are
 * below. It ends with 0 and "done" when all went as it should, with 1 and a
 * line that says what did not; the library's own messages are on standard error
 * as always.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slabdev/slabdev.h>

#include "tests/tour.h"

#define NR_THREADS 4

static void forget(int level, const char *text, void *arg)
{
	(void)level;
	(void)text;
	(void)arg;
}

static const char *quiet_tour(void)
{
	FILE *out = fopen("/dev/null", "we");
	const char *wrong;

	slabdev_set_log(forget, NULL);
	wrong = out ? tour(out) : "no /dev/null";
	if (out)
		fclose(out);
	return wrong;
}

/* ---- Without standard descriptors ------------------------------------- */

/* Reports go to descriptor 2, which must not become a file of the library. */
static const char *closed_stdio(void)
{
	int keep = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10), fd;
	FILE *out = fopen("/dev/null", "we");
	const char *wrong;

	if (!out || keep < 0)
		return "no descriptors";
	for (fd = 0; fd < 3; fd++)
		close(fd);
	wrong = tour(out);
	for (fd = 0; fd < 3 && !wrong; fd++)
		if (fcntl(fd, F_GETFD) != -1)
			wrong = "a standard descriptor is in use";
	dup2(keep, STDOUT_FILENO);
	return wrong;
}

/* ---- A child ---------------------------------------------------------- */

static const char *with_child(void)
{
	struct slabdev *sd;
	int status = -1;
	void *p;
	pid_t pid;

	if (slabdev_open(&sd, "host", NULL))
		return slabdev_last_error();
	p = slabdev_alloc(sd, 3000);
	pid = p ? fork() : -1;
	if (!pid)
		_exit(slabdev_free(sd, p) || slabdev_validate(sd) ||
		      slabdev_close(sd, 0) || quiet_tour());
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return "the child";
	if (slabdev_free(sd, p) || slabdev_close(sd, 0))
		return slabdev_last_error();
	return quiet_tour();
}

/* ---- With privileges -------------------------------------------------- */

/* Parameters of whoever started it are not for a set-uid program. */
static const char *secure(void)
{
	struct slabdev_stats st;
	struct slabdev *sd;

	if (!getauxval(AT_SECURE)) {
		printf("no privileges\n");
		return NULL;
	}
	if (slabdev_open(&sd, "host", NULL))
		return slabdev_last_error();
	if (slabdev_stats(sd, &st, sizeof(st)))
		return slabdev_last_error();
	if (st.limit == 8 << 20)
		return "the limit is that of the environment";
	return slabdev_close(sd, 0) ? slabdev_last_error() : NULL;
}

/* ---- The end beside threads ------------------------------------------- */

static struct slabdev *shared;
static unsigned long rounds;		/* atomic */

static void *allocate_forever(void *arg)
{
	void *p[16];
	size_t i;

	for (;;) {
		for (i = 0; i < 16; i++)
			p[i] = slabdev_alloc(shared, 5000 * i + 1);
		for (i = 0; i < 16; i++)
			if (slabdev_free(shared, p[i]))
				abort();
		__atomic_add_fetch(&rounds, 1, __ATOMIC_RELAXED);
	}
	return arg;
}

static const char *busy(void)
{
	struct slabdev_attr attr = SLABDEV_ATTR_INIT;
	const struct rlimit no_core = { 0, 0 };
	pthread_t thread;
	int i;

	/* For abort(). */
	setrlimit(RLIMIT_CORE, &no_core);
	attr.limit = (uint64_t)256 << 20;
	if (slabdev_open(&shared, "host", &attr))
		return slabdev_last_error();
	for (i = 0; i < NR_THREADS; i++)
		if (pthread_create(&thread, NULL, allocate_forever, NULL))
			return "no thread";
	while (__atomic_load_n(&rounds, __ATOMIC_RELAXED) < 100)
		usleep(1000);
	printf("done\n");
	fflush(stdout);
	return NULL;
}

static const char *busy_exit(void)
{
	const char *wrong = busy();

	if (!wrong)
		exit(0);
	return wrong;
}

static const char *busy_at_once(void)
{
	const char *wrong = busy();

	if (!wrong)
		_exit(0);
	return wrong;
}

static const char *busy_quick_exit(void)
{
	const char *wrong = busy();

	if (!wrong)
		quick_exit(0);
	return wrong;
}

static const char *busy_abort(void)
{
	const char *wrong = busy();

	if (!wrong)
		abort();
	return wrong;
}

/* The first thread ends, the process lives until the others do. */
static void *end_process(void *arg)
{
	usleep(20000);
	_exit(slabdev_validate(shared) ? 1 : 0);
	return arg;
}

static const char *main_thread_ends(void)
{
	const char *wrong = busy();
	pthread_t thread;

	if (wrong)
		return wrong;
	if (tour_objects(shared, 1000) ||
	    pthread_create(&thread, NULL, end_process, NULL))
		return "no thread";
	pthread_exit(NULL);
}

static const struct way {
	const char *name;
	const char *(*go)(void);
} ways[] = {
	{ "tour", quiet_tour },
	{ "closed-stdio", closed_stdio },
	{ "fork", with_child },
	{ "secure", secure },
	{ "exit", busy_exit },
	{ "_exit", busy_at_once },
	{ "quick_exit", busy_quick_exit },
	{ "abort", busy_abort },
	{ "pthread_exit", main_thread_ends },
};

int main(int argc, char **argv)
{
	const char *wrong = "usage: visitor WAY";
	size_t i;

	for (i = 0; argc == 2 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(argv[1], ways[i].name))
			wrong = ways[i].go();
	printf("%s\n", wrong ? wrong : "done");
	return wrong != NULL;
}
