// SPDX-License-Identifier: BSD-2-Clause
/*
 * surroundings_test.c - the library in programs of every kind.
 *
 * Threads with small stacks, storms of signals, programs without standard
 * descriptors, with another malloc, with privileges, linked statically, an
 * interpreter; and processes that end while threads allocate. What all of them
 * do is the tour (tests/tour.h), in here or in tests/visitor.
 */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/log.h"
#include "core/os.h"
#include "slab/slab.h"
#include "tests/open_space.h"
#include "tests/program.h"
#include "tests/sanitizers.h"
#include "tests/tour.h"

#define NOBODY 65534

static void forget(int level, int kind, const char *text, void *arg)
{
	(void)level;
	(void)kind;
	(void)text;
	(void)arg;
}

static FILE *nowhere(struct kunit *test)
{
	FILE *out = fopen("/dev/null", "we");

	KUNIT_ASSERT_NOT_NULL(test, out);
	log_set_sink(forget, NULL);
	return out;
}

/* ---- Small stacks ----------------------------------------------------- */

#define SMALL_STACK (64 * KIB)

static void *tour_on_thread(void *out)
{
	/* It is constant. */
	return (void *)(uintptr_t)tour(out);
}

/* Reports, statistics of all classes, out of memory: on 64 KiB. */
static void small_stacks(struct kunit *test)
{
	FILE *out = nowhere(test);
	pthread_attr_t attr;
	pthread_t thread;
	void *wrong;
	int i;

	if (IS_SANITIZED)
		kunit_skip(test, "a sanitizer needs more");
	pthread_attr_init(&attr);
	KUNIT_ASSERT_EQ(test, pthread_attr_setstacksize(&attr, SMALL_STACK),
			0);
	for (i = 0; i < 3; i++) {
		KUNIT_ASSERT_EQ(test, pthread_create(&thread, &attr,
						     tour_on_thread, out), 0);
		KUNIT_ASSERT_EQ(test, pthread_join(thread, &wrong), 0);
		KUNIT_EXPECT_STREQ(test, wrong ?: "", "");
	}
	pthread_attr_destroy(&attr);
	fclose(out);
}

/* ---- A storm of signals ----------------------------------------------- */

static unsigned long nr_signals;	/* relaxed */

static void count_signal(int sig)
{
	(void)sig;
	__atomic_add_fetch(&nr_signals, 1, __ATOMIC_RELAXED);
}

static const int handler_flags[] = { 0, SA_RESTART };

static void describe_flags(const int *flags, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s SA_RESTART",
		 *flags ? "with" : "without");
}
KUNIT_ARRAY_PARAM(flags, handler_flags, describe_flags);

static timer_t start_storm(struct kunit *test, int flags)
{
	struct sigaction act = { .sa_handler = count_signal,
				 .sa_flags = flags };
	const struct itimerspec often = {
		.it_interval = { .tv_nsec = 1000000 },
		.it_value = { .tv_nsec = 1000000 },
	};
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL,
			       .sigev_signo = SIGUSR1 };
	timer_t timer;

	nr_signals = 0;
	KUNIT_ASSERT_EQ(test, sigaction(SIGUSR1, &act, NULL), 0);
	KUNIT_ASSERT_EQ(test, timer_create(CLOCK_MONOTONIC, &ev, &timer), 0);
	KUNIT_ASSERT_EQ(test, timer_settime(timer, 0, &often, NULL), 0);
	return timer;
}

/* No call lets EINTR out, or anything that it did not have to say. */
static void signals_at_a_thousand_hertz(struct kunit *test)
{
	FILE *out = nowhere(test);
	timer_t timer = start_storm(test, *(const int *)test->param_value);
	const char *wrong;
	u32 n = 0;

	while (__atomic_load_n(&nr_signals, __ATOMIC_RELAXED) < 300 ||
	       n < 10) {
		wrong = tour(out);
		KUNIT_ASSERT_STREQ(test, wrong ?: "", "");
		n++;
	}
	timer_delete(timer);
	kunit_info(test, "%u tours, %lu signals", n, nr_signals);
	fclose(out);
}

/* ---- Many times ------------------------------------------------------- */

static u64 resident_bytes(struct kunit *test)
{
	unsigned long size, resident;
	FILE *f = fopen("/proc/self/statm", "re");

	KUNIT_ASSERT_NOT_NULL(test, f);
	KUNIT_ASSERT_EQ(test, fscanf(f, "%lu %lu", &size, &resident), 2);
	fclose(f);
	return resident * os_page_size();
}

static u32 free_keys(void)
{
	pthread_key_t keys[PTHREAD_KEYS_MAX];
	u32 n = 0, i;

	while (n < ARRAY_SIZE(keys) && !pthread_key_create(&keys[n], NULL))
		n++;
	for (i = 0; i < n; i++)
		pthread_key_delete(keys[i]);
	return n;
}

static void *use_once(void *sd)
{
	void *p = slabdev_alloc(sd, 1000);

	return slabdev_free(sd, p) ? p : NULL;
}

static void open_use_close(struct kunit *test, bool with_thread)
{
	struct slabdev *sd = open_space(test, 64 * MIB);
	pthread_t thread;

	KUNIT_EXPECT_NULL(test, use_once(sd));
	if (with_thread) {
		KUNIT_ASSERT_EQ(test, pthread_create(&thread, NULL, use_once,
						     sd), 0);
		KUNIT_ASSERT_EQ(test, pthread_join(thread, NULL), 0);
	}
	KUNIT_ASSERT_EQ(test, slabdev_close(sd, 0), 0);
}

/* Nothing grows: not memory, and not what a process has few of. Descriptors
 * and mappings are looked at by the suite open. */
static void many_spaces(struct kunit *test, u32 n)
{
	u64 resident = 0;
	u32 keys = 0, i;

	for (i = 0; i < n; i++) {
		if (i == 100) {
			keys = free_keys();
			resident = resident_bytes(test);
		}
		open_use_close(test, i % 10 == 0);
	}
	KUNIT_EXPECT_EQ(test, free_keys(), keys);
	if (!IS_SANITIZED)
		KUNIT_EXPECT_LE(test, resident_bytes(test), resident + 4 * MIB);
}

static void a_thousand_spaces(struct kunit *test)
{
	many_spaces(test, 1000);
}

static void ten_thousand_spaces(struct kunit *test)
{
	many_spaces(test, 10000);
}

/* ---- Programs --------------------------------------------------------- */

static void visit(struct kunit *test, struct program *p, const char *way,
		  const char *env)
{
	program_run(test, p, (const char *[]){ "tests/visitor", way, NULL },
		    env);
}

static void expect_done(struct kunit *test, const struct program *p)
{
	KUNIT_EXPECT_EQ(test, p->status, 0);
	KUNIT_EXPECT_STREQ(test, program_last_line(test, p->out), "done");
	KUNIT_EXPECT_STREQ(test, p->err, "");
}

static void without_standard_descriptors(struct kunit *test)
{
	struct program p;

	visit(test, &p, "closed-stdio", NULL);
	expect_done(test, &p);
}

static const char *const mallocs[] = {
	"libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2",
};

static void describe_malloc(const char *const *name, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", *name);
}
KUNIT_ARRAY_PARAM(malloc, mallocs, describe_malloc);

static void beside_another_malloc(struct kunit *test)
{
	const char *const *name = test->param_value;
	char env[100];
	struct program p;

	if (IS_SANITIZED)
		kunit_skip(test, "a sanitizer brings its own");
	snprintf(env, sizeof(env), "LD_PRELOAD=%s", *name);
	visit(test, &p, "tour", env);
	if (strstr(p.err, "cannot be preloaded"))
		kunit_skip(test, "%s is not installed", *name);
	expect_done(test, &p);
	visit(test, &p, "exit", env);
	expect_done(test, &p);
}

static const struct ending {
	const char *way;
	int status;
} endings[] = {
	{ "exit", 0 }, { "_exit", 0 }, { "quick_exit", 0 },
	{ "pthread_exit", 0 }, { "abort", 128 + SIGABRT },
};

static void describe_ending(const struct ending *e, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", e->way);
}
KUNIT_ARRAY_PARAM(ending, endings, describe_ending);

static void process_ends_beside_threads(struct kunit *test)
{
	const struct ending *e = test->param_value;
	struct program p;
	int i;

	for (i = 0; i < 5; i++) {
		visit(test, &p, e->way, NULL);
		KUNIT_EXPECT_EQ(test, p.status, e->status);
		KUNIT_EXPECT_STREQ(test, program_last_line(test, p.out),
				   "done");
		KUNIT_EXPECT_STREQ(test, p.err, "");
	}
}

/* ---- With privileges -------------------------------------------------- */

static void remove_file(void *path)
{
	unlink(path);
}

/* A copy that is root's and set-uid, which others run. */
static char *privileged_copy(struct kunit *test)
{
	char *path = kunit_kzalloc(test, PATH_MAX), command[2 * PATH_MAX];

	snprintf(path, PATH_MAX, "/tmp/slabdev-visitor-%d", (int)getpid());
	kunit_add_action(test, remove_file, path);
	snprintf(command, sizeof(command), "cp '%s' '%s'",
		 program_path(test, "tests/visitor"), path);
	KUNIT_ASSERT_EQ(test, system(command), 0);
	KUNIT_ASSERT_EQ(test, chown(path, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, chmod(path, 04755), 0);
	return path;
}

#define EXIT_CANNOT 77

static void run_as_nobody(const char *path, int out)
{
	static const char *const env[] = {
		"SLABDEV_LIMIT=8M", "SLABDEV_LOG=debug:/tmp/slabdev-no-log",
		"SLABDEV_POLICY=nonsense", NULL
	};
	const char *argv[] = { path, "secure", NULL };

	dup2(out, STDOUT_FILENO);
	if (setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		_exit(EXIT_CANNOT);
	execve(path, (char *const *)(uintptr_t)argv,
	       (char *const *)(uintptr_t)env);
	_exit(EXIT_CANNOT);
}

static void set_uid_program_ignores_parameters(struct kunit *test)
{
	char text[200] = "", *path;
	int ends[2], status = -1;
	pid_t pid;

	if (geteuid())
		kunit_skip(test, "only root can make such a program");
	if (IS_SANITIZED)
		kunit_skip(test, "a sanitizer refuses to run with privileges");
	path = privileged_copy(test);
	KUNIT_ASSERT_EQ(test, pipe(ends), 0);
	pid = fork();
	KUNIT_ASSERT_GE(test, pid, 0);
	if (!pid)
		run_as_nobody(path, ends[1]);
	close(ends[1]);
	KUNIT_ASSERT_EQ(test, waitpid(pid, &status, 0), pid);
	KUNIT_EXPECT_GE(test, read(ends[0], text, sizeof(text) - 1), 0);
	close(ends[0]);
	if (strstr(text, "no privileges") ||
	    (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_CANNOT))
		kunit_skip(test, "set-uid has no effect in /tmp");
	KUNIT_EXPECT_EQ(test, status, 0);
	KUNIT_EXPECT_STREQ(test, text, "done\n");
	KUNIT_EXPECT_NE(test, access("/tmp/slabdev-no-log", F_OK), 0);
}

static const struct kunit_case cases[] = {
	KUNIT_CASE_ISOLATED(small_stacks),
	KUNIT_CASE_PARAM(signals_at_a_thousand_hertz, flags_gen_params,
			 .isolated = true, .timeout_s = 300),
	KUNIT_CASE_ISOLATED(a_thousand_spaces, .timeout_s = 300),
	KUNIT_CASE_LONG(ten_thousand_spaces, .isolated = true,
			.timeout_s = 1200),
	KUNIT_CASE(without_standard_descriptors),
	KUNIT_CASE_PARAM(beside_another_malloc, malloc_gen_params),
	KUNIT_CASE_PARAM(process_ends_beside_threads, ending_gen_params),
	KUNIT_CASE(set_uid_program_ignores_parameters),
	{ 0 }
};

static const struct kunit_suite surroundings_suite = {
	.name = "surroundings",
	.cases = cases,
};
kunit_test_suite(surroundings_suite);
