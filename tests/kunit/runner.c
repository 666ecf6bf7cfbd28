// SPDX-License-Identifier: BSD-2-Clause
/*
 * runner.c - which unit runs when, and output whole and in order.
 *
 * Up to --jobs units run at a time, started in order; an exclusive one waits
 * until it is alone. Each writes into a text of its own. Only the first unit
 * that is not finished, the head, is printed as it goes; the others when their
 * turn comes. So the output does not depend on the number of jobs. What failed
 * is named again at the end, since nobody reads a thousand lines.
 *
 * Everything that happens is a file descriptor that becomes readable: a
 * worker's wire, or the signalfd with SIGCHLD and the signals that ask the
 * runner to end.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "tests/kunit/runner.h"

#define JOBS_MAX 256

struct runner {
	struct plan *plan;
	const struct options *opt;
	unsigned int head;	/* the unit that prints */
	unsigned int next;	/* the unit that starts next */
	unsigned int nr_running;
	int signals;
	bool failed;
	bool show_progress;
	bool progress_shown;
	struct ktap_counts counts;
	struct text failures;
};

static bool unit_is_running(const struct unit *unit)
{
	return unit->phase != UNIT_WAITING && unit->phase != UNIT_FINISHED;
}

/* ---- Printing --------------------------------------------------------- */

static void progress_clear(struct runner *r)
{
	if (r->progress_shown)
		fputs("\r\033[K", stderr);
	r->progress_shown = false;
}

static void progress_show(struct runner *r)
{
	const struct unit *unit = &r->plan->units[r->head];

	if (!r->show_progress || r->head == r->plan->nr)
		return;
	fprintf(stderr, "\r\033[K[%u/%u] %s", r->head + 1, r->plan->nr,
		unit->suite->name);
	if (unit->pos < unit->nr_cases)
		fprintf(stderr, ".%.50s",
			unit->suite->cases[unit->cases[unit->pos]].name);
	fflush(stderr);
	r->progress_shown = true;
}

static void print_text(struct runner *r, struct text *text)
{
	if (!text->len)
		return;
	progress_clear(r);
	fwrite(text->data, 1, text->len, stdout);
	fflush(stdout);
	text->len = 0;
}

static void print_ready(struct runner *r)
{
	while (r->head < r->plan->nr) {
		struct unit *unit = &r->plan->units[r->head];

		print_text(r, &unit->out);
		if (unit->phase != UNIT_FINISHED)
			break;
		ktap_count_add(&r->counts, &unit->leaf_counts);
		if (unit->failures.len)
			text_add(&r->failures, unit->failures.data,
				 unit->failures.len);
		text_free(&unit->failures);
		text_free(&unit->out);
		r->head++;
	}
	progress_show(r);
}

static void print_opening(struct runner *r)
{
	printf("KTAP version 1\n");
	if (r->opt->shuffle)
		printf("# shuffle seed: %llu\n",
		       (unsigned long long)r->opt->seed);
	printf("1..%u\n", r->plan->nr);
	fflush(stdout);
}

static int print_closing(struct runner *r)
{
	const unsigned int *nr = r->counts.nr;

	print_text(r, &r->failures);
	text_free(&r->failures);
	progress_clear(r);
	printf("%u passed, %u failed, %u skipped\n", nr[KTAP_OK],
	       nr[KTAP_FAIL], nr[KTAP_SKIP]);
	if (fflush(stdout) || ferror(stdout)) {
		perror("tests/run: standard output");
		return 1;
	}
	return nr[KTAP_FAIL] || !nr[KTAP_OK];
}

/* ---- Running ---------------------------------------------------------- */

static bool may_start(const struct runner *r)
{
	const struct unit *units = r->plan->units;

	if (r->next == r->plan->nr || r->nr_running >= r->opt->jobs)
		return false;
	if (!r->nr_running)
		return true;
	for (unsigned int i = r->head; i < r->next; i++)
		if (unit_is_running(&units[i]) && units[i].suite->exclusive)
			return false;
	return !units[r->next].suite->exclusive;
}

static void account(struct runner *r, struct unit *unit)
{
	r->failed |= unit_failed(unit);
	if (!unit_is_running(unit))
		r->nr_running--;
}

static void start_ready(struct runner *r)
{
	while (may_start(r)) {
		struct unit *unit = &r->plan->units[r->next++];

		r->nr_running++;
		if (r->failed && r->opt->fail_fast)
			unit_stop(unit, r->opt);
		else
			unit_start(unit, r->opt);
		account(r, unit);
	}
}

static void stop_running(struct runner *r)
{
	for (unsigned int i = r->head; i < r->next; i++)
		if (unit_is_running(&r->plan->units[i]))
			unit_stop(&r->plan->units[i], r->opt);
}

static int ms_to_deadline(const struct runner *r)
{
	u64 now = now_ms();
	u64 least = 10000;

	for (unsigned int i = r->head; i < r->next; i++) {
		const struct child *child = &r->plan->units[i].child;

		if (!child->pid || child->timed_out)
			continue;
		if (child->deadline <= now)
			return 0;
		least = min(least, child->deadline - now);
	}
	return (int)least;
}

/* Asked to end: the workers first, then as if nobody had listened. */
static void end_by_signal(struct runner *r, int sig)
{
	sigset_t set;

	for (unsigned int i = r->head; i < r->next; i++)
		if (r->plan->units[i].child.pid)
			child_kill(&r->plan->units[i].child);
	progress_clear(r);
	sigemptyset(&set);
	sigaddset(&set, sig);
	signal(sig, SIG_DFL);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void read_signals(struct runner *r)
{
	struct signalfd_siginfo info;

	while (read(r->signals, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			end_by_signal(r, (int)info.ssi_signo);
}

static void wait_for_event(struct runner *r)
{
	struct pollfd fds[JOBS_MAX + 1];
	nfds_t nr = 0;

	fds[nr++] = (struct pollfd){ .fd = r->signals, .events = POLLIN };
	for (unsigned int i = r->head; i < r->next; i++) {
		const struct child *child = &r->plan->units[i].child;

		if (child->pid)
			fds[nr++] = (struct pollfd){ .fd = child->wire,
						     .events = POLLIN };
	}
	poll(fds, nr, ms_to_deadline(r));
	read_signals(r);
}

static void take_events(struct runner *r)
{
	for (unsigned int i = r->head; i < r->next; i++) {
		struct unit *unit = &r->plan->units[i];

		if (!unit_is_running(unit))
			continue;
		unit_listen(unit, r->opt);
		unit_watch(unit, r->opt);
		account(r, unit);
	}
}

/* A signal that the caller ignores, as nohup does, stays ignored. */
static bool is_ignored(int sig)
{
	struct sigaction old;

	return !sigaction(sig, NULL, &old) && old.sa_handler == SIG_IGN;
}

static int signals_open(void)
{
	static const int wanted[] = { SIGINT, SIGTERM, SIGHUP };
	sigset_t set;

	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	for (unsigned int i = 0; i < ARRAY_SIZE(wanted); i++)
		if (!is_ignored(wanted[i]))
			sigaddset(&set, wanted[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

int runner_run(struct plan *plan, const struct options *opt)
{
	struct runner r = {
		.plan = plan,
		.opt = opt,
		.signals = signals_open(),
		.show_progress = isatty(STDERR_FILENO),
	};

	if (r.signals < 0) {
		perror("tests/run: signalfd");
		return 1;
	}
	print_opening(&r);
	while (r.head < plan->nr) {
		start_ready(&r);
		print_ready(&r);
		if (!r.nr_running)
			continue;
		wait_for_event(&r);
		take_events(&r);
		if (r.failed && opt->fail_fast)
			stop_running(&r);
	}
	close(r.signals);
	return print_closing(&r);
}
