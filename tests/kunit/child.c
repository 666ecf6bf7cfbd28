// SPDX-License-Identifier: BSD-2-Clause
/*
 * child.c - the process that runs test code.
 *
 * It leads a process group, so that what a case starts and forgets ends with
 * it, and dies with the runner. Its standard output and error are one file
 * in memory: nobody has to read it for the case to go on, and it outlives a
 * crash.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/kunit/internal.h"
#include "tests/kunit/runner.h"

u64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000 + (u64)ts.tv_nsec / 1000000;
}

/* The runner blocks and watches signals; a test must find them as usual. */
static void child_settle(const struct worker_job *job, pid_t runner)
{
	const struct rlimit no_core = { 0, 0 };
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != runner)
		_exit(1);
	setrlimit(RLIMIT_CORE, &no_core);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (null >= 0)
		dup2(null, STDIN_FILENO);
	dup2(job->out, STDOUT_FILENO);
	dup2(job->out, STDERR_FILENO);
	/* So that nothing is lost in a crash, and both keep their order. */
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
}

int child_start(struct child *child, struct worker_job *job)
{
	pid_t runner = getpid();
	int fds[2];
	int err = wire_open(fds);

	if (err)
		return err;
	fflush(NULL);
	child->pid = fork();
	if (child->pid < 0) {
		err = -errno;
		child->pid = 0;
		close(fds[0]);
		close(fds[1]);
		return err;
	}
	if (!child->pid) {
		close(fds[0]);
		job->wire = fds[1];
		child_settle(job, runner);
		worker_main(job);
	}
	setpgid(child->pid, child->pid);
	close(fds[1]);
	child->wire = fds[0];
	child->timed_out = false;
	return 0;
}

/* Instrumented code takes its time; the limits are meant for plain code. */
static unsigned int time_scale(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return 5;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
	return 5;
#endif
#endif
	return 1;
}

void child_allow(struct child *child, unsigned int seconds)
{
	child->deadline = now_ms() + (u64)seconds * 1000 * time_scale();
}

void child_kill(struct child *child)
{
	kill(-child->pid, SIGKILL);
	kill(child->pid, SIGKILL);
}

bool child_ended(struct child *child, int *status)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)child->pid, &info,
		   WEXITED | WNOHANG | WNOWAIT) || !info.si_pid)
		return false;
	/* While it is a zombie, no other group can have its number. */
	kill(-child->pid, SIGKILL);
	waitpid(child->pid, status, 0);
	child->pid = 0;
	return true;
}

void child_forget(struct child *child)
{
	close(child->wire);
	child->wire = -1;
}
