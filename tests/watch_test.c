// SPDX-License-Identifier: BSD-2-Clause
/*
 * watch_test.c - slabinfo --watch, on a terminal and into a pipe
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "tests/fake_job.h"
#include "tests/kunit/kunit.h"
#include "tests/slabinfo_run.h"

/* ---- On a terminal ---------------------------------------------------- */

/**
 * struct terminal - slabinfo on a pseudo-terminal of its own
 * @fd: the other end of it
 * @pid: slabinfo
 * @text: what it wrote so far
 * @used: bytes of that
 */
struct terminal {
	int fd;
	pid_t pid;
	char text[65536];
	size_t used;
};

static void become_slabinfo(const char *path, const char *pid,
			    const char *slave)
{
	const struct winsize size = { .ws_row = 10, .ws_col = 60 };
	int fd;

	setsid();
	fd = open(slave, O_RDWR);
	if (fd < 0 || ioctl(fd, TIOCSWINSZ, &size) || dup2(fd, 0) < 0 ||
	    dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
		_exit(126);
	execl(path, path, "-p", pid, "--watch=0.1", (char *)NULL);
	_exit(126);
}

static void end_terminal(void *arg)
{
	struct terminal *t = arg;

	if (t->pid > 0) {
		kill(t->pid, SIGKILL);
		waitpid(t->pid, NULL, 0);
	}
	close(t->fd);
}

static struct terminal *start_terminal(struct kunit *test, pid_t pid)
{
	struct terminal *t = kunit_kzalloc(test, sizeof(*t));
	const char *path = program_path(test, "tools/slabinfo");
	const char *number = decimal(test, pid);

	t->fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (t->fd < 0 || grantpt(t->fd) || unlockpt(t->fd))
		kunit_skip(test, "there are no pseudo-terminals");
	setenv("TERM", "vt100", 1);
	t->pid = fork();
	if (!t->pid)
		become_slabinfo(path, number, ptsname(t->fd));
	kunit_add_action(test, end_terminal, t);
	KUNIT_ASSERT_GT(test, t->pid, 0);
	return t;
}

/* Reads until @part has come @times times. False: nothing more came, or there
 * was more than anybody wanted to see. */
static bool wait_for(struct terminal *t, const char *part, int times)
{
	struct pollfd p = { .fd = t->fd, .events = POLLIN };
	const char *at = t->text, *next;
	ssize_t n;

	for (;;) {
		while ((next = strstr(at, part))) {
			if (!--times)
				return true;
			at = next + 1;
		}
		if (poll(&p, 1, 10000) != 1)
			return false;
		n = read(t->fd, t->text + t->used,
			 sizeof(t->text) - 1 - t->used);
		if (n <= 0)
			return false;
		t->used += (size_t)n;
	}
}

/* Its exit status when it ends; what it wrote until then is read. */
static int end_of(struct terminal *t)
{
	int status;

	if (!wait_for(t, "\033[?1049l", 1))
		kill(t->pid, SIGKILL);
	if (waitpid(t->pid, &status, 0) != t->pid)
		return -1;
	t->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static pid_t publish_default(struct kunit *test)
{
	struct fake_job s;

	fake_job_init(test, &s);
	return fake_job_start(test, &s);
}

static void redraws_until_q(struct kunit *test)
{
	struct terminal *t = start_terminal(test, publish_default(test));
	struct termios before, during, after;

	KUNIT_ASSERT_EQ(test, tcgetattr(t->fd, &before), 0);
	KUNIT_ASSERT_TRUE(test, wait_for(t, "\033[Hslabinfo  ", 3));
	KUNIT_ASSERT_EQ(test, tcgetattr(t->fd, &during), 0);
	KUNIT_EXPECT_FALSE(test, during.c_lflag & ICANON);
	KUNIT_EXPECT_EQ(test, write(t->fd, "xq", 2), 2);
	KUNIT_EXPECT_EQ(test, end_of(t), 0);
	KUNIT_ASSERT_EQ(test, tcgetattr(t->fd, &after), 0);
	KUNIT_EXPECT_TRUE(test, after.c_lflag & ICANON);
	KUNIT_EXPECT_TRUE(test, after.c_lflag & ECHO);
	expect_text(test, t->text, "\033[?1049h");
	expect_text(test, t->text, "\033[?25h");
	/* Colours, and only as many lines as there are rows. */
	expect_text(test, t->text, "\033[32m####");
	expect_text(test, t->text, "...\033[K");
	expect_no_text(test, t->text, "size-1024");
}

/* At whatever moment the signal comes. */
static void expect_screen_back(struct kunit *test, pid_t job, int signo,
			       useconds_t after)
{
	struct terminal *t = start_terminal(test, job);

	KUNIT_ASSERT_TRUE(test, wait_for(t, "\033[Hslabinfo  ", 1));
	usleep(after);
	KUNIT_EXPECT_EQ(test, kill(t->pid, signo), 0);
	KUNIT_EXPECT_EQ_MSG(test, end_of(t), 0, "signal %d", signo);
	expect_text(test, t->text, "\033[?1049l");
}

static void gives_the_screen_back(struct kunit *test)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	pid_t job = publish_default(test);
	useconds_t after;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(signals); i++)
		for (after = 0; after < 120000; after += 30000)
			expect_screen_back(test, job, signals[i], after);
}

static void without_colour(struct kunit *test)
{
	struct terminal *t;

	setenv("NO_COLOR", "1", 1);
	t = start_terminal(test, publish_default(test));
	unsetenv("NO_COLOR");
	KUNIT_ASSERT_TRUE(test, wait_for(t, "\033[Hslabinfo  ", 2));
	expect_text(test, t->text, "[####");
}

static void stop_later(pid_t pid, useconds_t after)
{
	if (!fork()) {
		usleep(after);
		kill(pid, SIGKILL);
		_exit(0);
	}
}

/* In a pipe, rounds follow each other, until the process has ended. */
static void ends_with_the_process(struct kunit *test)
{
	pid_t pid = publish_default(test);
	struct program p;

	stop_later(pid, 350000);
	slabinfo_run(test, &p, pid, "--watch=0.1");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	KUNIT_EXPECT_EQ(test, strncmp(p.out, "---- 2", 6), 0);
	expect_in_order(test, p.out, (const char *const[]){
			"\nblocks ", "\n---- 2", "\nblocks ", "\n---- 2",
			NULL });
	expect_no_text(test, p.out, "\033");
}

/* Rounds of JSON are lines. */
static void json_is_lines(struct kunit *test)
{
	pid_t pid = publish_default(test);
	struct program p;

	stop_later(pid, 250000);
	slabinfo_run(test, &p, pid, "--watch=0.1", "--json");
	KUNIT_EXPECT_EQ(test, p.status, 0);
	expect_in_order(test, p.out, (const char *const[]){
			"{\"version\":1,\"spaces\":[{", "}}\n{\"version\":1",
			NULL });
	expect_no_text(test, p.out, "----");
}

static const struct kunit_case watch_cases[] = {
	KUNIT_CASE(redraws_until_q),
	KUNIT_CASE(gives_the_screen_back),
	KUNIT_CASE(without_colour),
	KUNIT_CASE(ends_with_the_process),
	KUNIT_CASE(json_is_lines),
	{}
};

static const struct kunit_suite watch_suite = {
	.name = "watch",
	.cases = watch_cases,
};
kunit_test_suite(watch_suite);
