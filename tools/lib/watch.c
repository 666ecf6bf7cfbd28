// SPDX-License-Identifier: BSD-2-Clause
/*
 * watch.c - the same again, until q is pressed.
 *
 * On a terminal the rounds are drawn over each other on the alternate screen,
 * cut to its size, and whatever ends the program gives the screen back. Into a
 * pipe or file they follow each other, with the time above each one.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "watch.h"

static struct termios saved;

/*
 * A descriptor that can be read when one of the signals that end the watch has
 * come. They stay blocked, so that a frame is never cut, no system call is
 * interrupted, and none can slip in between the test of a flag and poll().
 * What the caller ignores (nohup) stays ignored. -1: there are none left; the
 * signals then end the program as they always did.
 */
static int catch_signals(void)
{
	sigset_t signals;
	int fd;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	fd = signalfd(-1, &signals, SFD_CLOEXEC);
	if (fd >= 0)
		sigprocmask(SIG_BLOCK, &signals, NULL);
	return fd;
}

/* Single keys without echo; signals stay as they are. */
static bool take_keys(void)
{
	struct termios raw;

	if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &saved))
		return false;
	raw = saved;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	return !tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

void watch_begin(struct watch *w, bool for_people)
{
	w->signals = catch_signals();
	w->redraw = for_people && isatty(STDOUT_FILENO);
	w->keys = w->redraw && take_keys();
	/* The alternate screen, no cursor, no wrapping of long lines. */
	if (w->redraw)
		fputs("\033[?1049h\033[?25l\033[?7l", stdout);
}

void watch_end(const struct watch *w)
{
	if (w->redraw)
		fputs("\033[?7h\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	if (w->keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &saved);
}

static int screen_rows(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_row < 3)
		return 24;
	return size.ws_row;
}

static void now(char *text, size_t size)
{
	time_t t = time(NULL);
	struct tm tm;

	localtime_r(&t, &tm);
	strftime(text, size, "%Y-%m-%d %H:%M:%S", &tm);
}

static void redraw(const char *frame, double interval)
{
	int rows = screen_rows() - 2;
	char time_text[32];

	now(time_text, sizeof(time_text));
	printf("\033[Hslabinfo  %s  every %g s, q ends\033[K\n", time_text,
	       interval);
	while (*frame && rows-- > 0) {
		int n = (int)strcspn(frame, "\n");

		printf("%.*s\033[K\n", n, frame);
		frame += n + (frame[n] == '\n');
	}
	fputs(*frame ? "...\033[K" : "\033[J", stdout);
}

void watch_frame(const struct watch *w, const char *frame, double interval)
{
	if (w->redraw)
		redraw(frame, interval);
	else
		fputs(frame, stdout);
	fflush(stdout);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Whether the key that was pressed ends it; the end of input does. */
static bool key_ends(void)
{
	char key;

	return read(STDIN_FILENO, &key, 1) != 1 || key == 'q' || key == 'Q';
}

bool watch_wait(const struct watch *w, double interval)
{
	/* poll() passes over a negative descriptor. */
	struct pollfd input[2] = {
		{ .fd = w->signals, .events = POLLIN },
		{ .fd = w->keys ? STDIN_FILENO : -1, .events = POLLIN },
	};
	double end = seconds() + interval, left = interval;

	do {
		if (poll(input, 2, (int)(left * 1000) + 1) < 0) {
			if (errno != EINTR)
				return false;
		} else if (input[0].revents ||
			   (input[1].revents && key_ends())) {
			return false;
		}
		left = end - seconds();
	} while (left > 0);
	return true;
}
