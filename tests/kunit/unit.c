// SPDX-License-Identifier: BSD-2-Clause
/*
 * unit.c - one suite: what its workers say, and do not say, becomes KTAP.
 *
 * A unit walks through its cases (@pos, @param) with as many workers as it
 * takes. A worker gets the cases up to the next isolated one; an isolated case
 * gets a worker alone. When a worker dies in a run, that run failed and the
 * next worker begins after it, so each step makes progress:
 *
 *   died in      blamed                         the next worker begins
 *   suite_init   every case it was to run       after them
 *   between      the case that was to begin     after it
 *   a run        that run                       after it
 *   suite_exit   the suite                      where this one ended
 *   exit()       the suite, if the status is    where this one ended
 *                not 0 (a sanitizer's finding)
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/kunit/internal.h"
#include "tests/kunit/runner.h"

/* Of the output of one run, the last so many bytes are shown. */
#define OUTPUT_SHOWN_MAX ((u64)64 << 10)

static const struct kunit_case *unit_case(const struct unit *unit)
{
	return &unit->suite->cases[unit->cases[unit->pos]];
}

bool unit_failed(const struct unit *unit)
{
	return unit->suite_failed || unit->case_counts.nr[KTAP_FAIL];
}

/* ---- Words ------------------------------------------------------------ */

static unsigned int run_depth(const struct unit *unit)
{
	return unit->nr_params ? 2 : 1;
}

/* Speaks for the run, if there is one, else for the suite. */
static void say(struct unit *unit, const char *text)
{
	if (unit->phase == UNIT_RUN)
		ktap_diag(&unit->out, run_depth(unit), unit_case(unit)->name,
			  text);
	else
		ktap_diag(&unit->out, 1, unit->suite->name, text);
}

static u64 output_size(const struct unit *unit)
{
	struct stat st;

	return fstat(unit->output, &st) ? 0 : (u64)st.st_size;
}

static void show_output(struct unit *unit, u64 from, u64 to)
{
	char note[80];
	char *data;
	ssize_t got;

	if (from >= to)
		return;
	if (to - from > OUTPUT_SHOWN_MAX) {
		snprintf(note, sizeof(note), "(%llu bytes of output left out)",
			 (unsigned long long)(to - from - OUTPUT_SHOWN_MAX));
		say(unit, note);
		from = to - OUTPUT_SHOWN_MAX;
	}
	data = calloc(1, to - from + 1);
	if (!data)
		return;
	got = pread(unit->output, data, to - from, (off_t)from);
	for (ssize_t i = 0; i < got; i++)
		if (!data[i])
			data[i] = ' ';
	if (got > 0)
		say(unit, data);
	free(data);
}

static const char *signal_name(int sig)
{
	static const char *const names[] = {
		[SIGHUP] = "SIGHUP",   [SIGINT] = "SIGINT",
		[SIGQUIT] = "SIGQUIT", [SIGILL] = "SIGILL",
		[SIGTRAP] = "SIGTRAP", [SIGABRT] = "SIGABRT",
		[SIGBUS] = "SIGBUS",   [SIGFPE] = "SIGFPE",
		[SIGKILL] = "SIGKILL", [SIGUSR1] = "SIGUSR1",
		[SIGSEGV] = "SIGSEGV", [SIGUSR2] = "SIGUSR2",
		[SIGPIPE] = "SIGPIPE", [SIGALRM] = "SIGALRM",
		[SIGTERM] = "SIGTERM", [SIGXCPU] = "SIGXCPU",
		[SIGSYS] = "SIGSYS",
	};

	if (sig < (int)ARRAY_SIZE(names) && names[sig])
		return names[sig];
	return "no common signal";
}

static void say_death(struct unit *unit, const char *where, int status)
{
	char note[160];

	if (unit->child.timed_out)
		snprintf(note, sizeof(note), "killed: out of time %s", where);
	else if (WIFSIGNALED(status))
		snprintf(note, sizeof(note),
			 "killed by signal %d (%s, %s) %s", WTERMSIG(status),
			 signal_name(WTERMSIG(status)),
			 strsignal(WTERMSIG(status)), where);
	else
		snprintf(note, sizeof(note), "exited with status %d %s",
			 WEXITSTATUS(status), where);
	say(unit, note);
}

/* ---- Runs ------------------------------------------------------------- */

static unsigned int case_timeout(const struct unit *unit,
				 const struct options *opt)
{
	unsigned int own = 0;

	if (unit->pos < unit->nr_cases)
		own = unit_case(unit)->timeout_s;
	return own ? own : opt->timeout_s;
}

static void run_begin(struct unit *unit, const char *name, u64 output_from)
{
	struct run_state *run = &unit->run;

	*run = (struct run_state){ .output_from = output_from };
	if (!unit->nr_params)
		name = unit_case(unit)->name;
	else if (!strcmp(name, unit_case(unit)->name))
		name = "";
	snprintf(run->name, sizeof(run->name), "%s", name);
	if (!*run->name)
		snprintf(run->name, sizeof(run->name), "param-%u",
			 unit->param);
	unit->phase = UNIT_RUN;
}

static void case_end(struct unit *unit, enum ktap_verdict verdict)
{
	unit->case_counts.nr[verdict]++;
	unit->pos++;
	unit->param = 0;
	unit->nr_params = 0;
	unit->param_counts = (struct ktap_counts){ 0 };
}

static void params_end(struct unit *unit)
{
	struct ktap_line line = {
		.depth = 1,
		.number = unit->pos + 1,
		.name = unit_case(unit)->name,
		.verdict = ktap_parent(&unit->param_counts),
	};

	ktap_counts(&unit->out, 1, line.name, &unit->param_counts);
	ktap_result(&unit->out, &line);
	case_end(unit, line.verdict);
}

static void keep_failure(struct unit *unit)
{
	struct note name = { 0 };

	note_addf(&name, "%s.%s", unit->suite->name, unit_case(unit)->name);
	if (unit->nr_params)
		note_addf(&name, " (%s)", unit->run.name);
	for (size_t i = 0; i < name.len; i++)
		if (name.data[i] == '\n')
			name.data[i] = ' ';
	ktap_diag(&unit->failures, 0, "failed", name.data);
}

static void run_end(struct unit *unit, const struct options *opt)
{
	struct run_state *run = &unit->run;
	struct ktap_line line = {
		.depth = run_depth(unit),
		.number = 1 + (unit->nr_params ? unit->param : unit->pos),
		.name = run->name,
		.verdict = run->failed ? KTAP_FAIL :
			   run->skipped ? KTAP_SKIP : KTAP_OK,
		.directive = run->timed_out ? "TIMEOUT" : NULL,
		.reason = run->reason,
	};

	if (run->failed || opt->verbose)
		show_output(unit, run->output_from, run->output_to);
	ktap_result(&unit->out, &line);
	if (line.verdict == KTAP_FAIL)
		keep_failure(unit);
	unit->leaf_counts.nr[line.verdict]++;
	unit->phase = UNIT_BETWEEN;

	if (!unit->nr_params) {
		case_end(unit, line.verdict);
	} else {
		unit->param_counts.nr[line.verdict]++;
		if (++unit->param == unit->nr_params)
			params_end(unit);
	}
	if (line.verdict == KTAP_FAIL && opt->fail_fast)
		unit_stop(unit, opt);
}

/* The runs before case @last that no worker will do. */
static void fail_until(struct unit *unit, unsigned int last, const char *why,
		       const struct options *opt)
{
	while (unit->pos < last) {
		run_begin(unit, "", 0);
		unit->run.failed = true;
		say(unit, why);
		run_end(unit, opt);
	}
}

static void skip_remaining(struct unit *unit, const struct options *opt)
{
	while (unit->pos < unit->nr_cases) {
		if (unit->phase != UNIT_RUN)
			run_begin(unit, "", 0);
		unit->run.skipped = true;
		snprintf(unit->run.reason, sizeof(unit->run.reason),
			 "not run: an earlier case failed");
		run_end(unit, opt);
	}
}

/* ---- The suite -------------------------------------------------------- */

static void unit_finish(struct unit *unit)
{
	const char *name = unit->suite->name;
	struct ktap_line line = {
		.number = unit->number,
		.name = name,
	};

	if (unit->suite_failed) {
		unit->leaf_counts.nr[KTAP_FAIL]++;
		ktap_diag(&unit->failures, 0, "failed", name);
	}
	ktap_counts(&unit->out, 0, name, &unit->case_counts);
	ktap_counts(&unit->out, 0, "Totals", &unit->leaf_counts);
	line.verdict = ktap_parent(&unit->leaf_counts);
	ktap_result(&unit->out, &line);
	unit->phase = UNIT_FINISHED;
	if (unit->output >= 0)
		close(unit->output);
}

static unsigned int worker_end(const struct unit *unit)
{
	unsigned int i = unit->pos;

	if (unit_case(unit)->isolated)
		return i + 1;
	while (i < unit->nr_cases &&
	       !unit->suite->cases[unit->cases[i]].isolated)
		i++;
	return i;
}

/* Starts the next worker, or finishes when nothing is left for one. */
static void unit_go_on(struct unit *unit, const struct options *opt)
{
	struct worker_job job = {
		.suite = unit->suite,
		.cases = unit->cases + unit->pos,
		.first_param = unit->param,
		.out = unit->output,
		.verbose = opt->verbose,
	};
	int err;

	if (unit->skip_rest)
		skip_remaining(unit, opt);
	if (unit->pos == unit->nr_cases) {
		unit_finish(unit);
		return;
	}

	unit->last = worker_end(unit);
	job.nr_cases = unit->last - unit->pos;
	unit->run.output_from = output_size(unit);
	err = child_start(&unit->child, &job);
	if (err) {
		fail_until(unit, unit->nr_cases, strerror(-err), opt);
		unit_finish(unit);
		return;
	}
	unit->phase = UNIT_INIT;
	child_allow(&unit->child, opt->timeout_s);
}

/* A file without a name, which a crash of the worker does not take along. */
static int open_output(void)
{
	int fd = memfd_create("kunit", MFD_CLOEXEC);

	if (fd < 0)
		fd = open(P_tmpdir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : fd;
}

void unit_start(struct unit *unit, const struct options *opt)
{
	char note[80];

	ktap_header(&unit->out, 1, unit->suite->name, unit->nr_cases);
	if (unit->left_out) {
		snprintf(note, sizeof(note), "left out, without --long: %u",
			 unit->left_out);
		say(unit, note);
	}
	unit->output = open_output();
	unit_go_on(unit, opt);
}

void unit_stop(struct unit *unit, const struct options *opt)
{
	unit->skip_rest = true;
	if (unit->phase == UNIT_WAITING)
		unit_start(unit, opt);
	else if (unit->child.pid)
		child_kill(&unit->child);
}

/* ---- Events ----------------------------------------------------------- */

static void params_known(struct unit *unit, u64 nr)
{
	if (unit->nr_params)
		return;
	if (!nr) {
		run_begin(unit, "", 0);
		unit->run.skipped = true;
		snprintf(unit->run.reason, sizeof(unit->run.reason),
			 "no parameters");
		return;
	}
	unit->nr_params = (unsigned int)nr;
	ktap_header(&unit->out, 2, unit_case(unit)->name, unit->nr_params);
}

static void unit_hear(struct unit *unit, const struct wire_msg *msg,
		      const struct options *opt)
{
	struct run_state *run = &unit->run;

	switch ((enum wire_type)msg->type) {
	case WIRE_READY:
		unit->phase = UNIT_BETWEEN;
		break;
	case WIRE_INIT_FAILED:
		fail_until(unit, unit->last, msg->text, opt);
		break;
	case WIRE_PARAMS:
		params_known(unit, msg->value);
		if (unit->phase == UNIT_RUN)
			run_end(unit, opt);
		break;
	case WIRE_BEGIN:
		run_begin(unit, msg->text, msg->value);
		break;
	case WIRE_FAIL:
		if (unit->phase == UNIT_RUN)
			run->failed = true;
		else
			unit->suite_failed = true;
		say(unit, msg->text);
		return;
	case WIRE_DIAG:
		say(unit, msg->text);
		return;
	case WIRE_SKIP:
		run->skipped = true;
		snprintf(run->reason, sizeof(run->reason), "%.255s", msg->text);
		return;
	case WIRE_END:
		run->output_to = msg->value;
		run_end(unit, opt);
		break;
	case WIRE_EXIT:
		fail_until(unit, unit->last, "its parameters have gone", opt);
		unit->phase = UNIT_EXIT;
		run->output_from = msg->value;
		break;
	case WIRE_DONE:
		unit->phase = UNIT_DONE;
		break;
	}
	child_allow(&unit->child, case_timeout(unit, opt));
}

void unit_listen(struct unit *unit, const struct options *opt)
{
	static struct wire_msg msg;

	/* What a stopped worker did while the news travelled does not count. */
	while (wire_recv(unit->child.wire, &msg) > 0)
		if (!unit->skip_rest)
			unit_hear(unit, &msg, opt);
}

static void run_died(struct unit *unit, const char *where, int status,
		     const struct options *opt)
{
	if (unit->phase != UNIT_RUN)
		run_begin(unit, "", unit->run.output_to);
	unit->run.failed = true;
	unit->run.timed_out = unit->child.timed_out;
	unit->run.output_to = output_size(unit);
	say_death(unit, where, status);
	run_end(unit, opt);
}

static void suite_died(struct unit *unit, const char *where, int status)
{
	unit->suite_failed = true;
	say_death(unit, where, status);
	show_output(unit, unit->run.output_from, output_size(unit));
}

static void unit_child_died(struct unit *unit, int status,
			    const struct options *opt)
{
	switch (unit->phase) {
	case UNIT_INIT:
		say_death(unit, "in suite_init", status);
		show_output(unit, unit->run.output_from, output_size(unit));
		fail_until(unit, unit->last, "suite_init did not return", opt);
		break;
	case UNIT_RUN:
		run_died(unit, "in this case", status, opt);
		break;
	case UNIT_BETWEEN:
		if (unit->pos < unit->last)
			run_died(unit, "before this case", status, opt);
		else
			suite_died(unit, "after its last case", status);
		break;
	case UNIT_EXIT:
		suite_died(unit, "in suite_exit", status);
		break;
	default:
		if (status)
			suite_died(unit, "at exit, after suite_exit", status);
		break;
	}
}

void unit_watch(struct unit *unit, const struct options *opt)
{
	int status;

	if (child_ended(&unit->child, &status)) {
		unit_listen(unit, opt);
		child_forget(&unit->child);
		if (!unit->skip_rest)
			unit_child_died(unit, status, opt);
		unit_go_on(unit, opt);
	} else if (!unit->child.timed_out && now_ms() >= unit->child.deadline) {
		unit->child.timed_out = true;
		child_kill(&unit->child);
	}
}
