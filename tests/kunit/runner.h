/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * runner.h - the runner's side: what to run, the children, the output.
 *
 * The runner is one thread and runs no test code, so it may fork at any time
 * and nothing that a case does can take it down.
 *
 *   options.c  the command line
 *   select.c   suites and options -> a list of units, in order
 *   unit.c     one unit: what its workers say becomes KTAP
 *   child.c    one worker process: start, listen, end
 *   ktap.c     the lines themselves
 *   runner.c   which unit runs when; output whole and in order
 */
#ifndef TESTS_KUNIT_RUNNER_H
#define TESTS_KUNIT_RUNNER_H

#include <sys/types.h>

#include "tests/kunit/kunit.h"
#include "tests/kunit/text.h"
#include "tests/kunit/wire.h"

/* ---- options.c -------------------------------------------------------- */

#define FILTERS_MAX 32

struct options {
	const char *filters[FILTERS_MAX];
	unsigned int nr_filters;
	unsigned int repeat;
	unsigned int jobs;
	unsigned int timeout_s;
	u64 seed;
	bool shuffle;
	bool list;
	bool run_long;
	bool quick;
	bool fail_fast;
	bool verbose;
	bool demo;
};

/* Return 0, or -1 when the program is to end with *@status at once. */
int options_parse(struct options *opt, int argc, char **argv, int *status);

/* ---- child.c ---------------------------------------------------------- */

/**
 * struct child - one worker process
 * @pid: its process, and its process group; 0: none
 * @wire: from it
 * @deadline: when it is killed, in ms of now_ms()
 * @timed_out: it was
 */
struct child {
	pid_t pid;
	int wire;
	u64 deadline;
	bool timed_out;
};

struct worker_job;

u64 now_ms(void);
/* Return 0 or a negative errno. @job->wire is filled in. */
int child_start(struct child *child, struct worker_job *job);
void child_allow(struct child *child, unsigned int seconds);
void child_kill(struct child *child);
/*
 * Returns true when it has ended, with its wait status; ends its group. What
 * it said last is still there to be read, until child_forget().
 */
bool child_ended(struct child *child, int *status);
void child_forget(struct child *child);

/* ---- ktap.c ----------------------------------------------------------- */

enum ktap_verdict { KTAP_OK, KTAP_FAIL, KTAP_SKIP };

struct ktap_counts {
	unsigned int nr[3];	/* by verdict */
};

struct ktap_line {
	unsigned int depth;
	unsigned int number;
	const char *name;
	enum ktap_verdict verdict;
	const char *directive;	/* "SKIP", "TIMEOUT"; NULL: none */
	const char *reason;
};

void ktap_header(struct text *out, unsigned int depth, const char *name,
		 unsigned int nr);
/* One line "# @name: ..." for each line of @text. */
void ktap_diag(struct text *out, unsigned int depth, const char *name,
	       const char *text);
void ktap_result(struct text *out, const struct ktap_line *line);
void ktap_counts(struct text *out, unsigned int depth, const char *label,
		 const struct ktap_counts *counts);
void ktap_count_add(struct ktap_counts *to, const struct ktap_counts *from);
/* A parent's verdict: failed when a child did, skipped when all were. */
enum ktap_verdict ktap_parent(const struct ktap_counts *counts);

/* ---- unit.c ----------------------------------------------------------- */

enum unit_phase {
	UNIT_WAITING,	/* not started */
	UNIT_INIT,	/* a worker runs suite_init */
	UNIT_BETWEEN,	/* a worker is about to begin a run */
	UNIT_RUN,	/* a worker is in a run */
	UNIT_EXIT,	/* a worker runs suite_exit */
	UNIT_DONE,	/* a worker has nothing left but exit() */
	UNIT_FINISHED,
};

/* The run that is going on, or has just ended. */
struct run_state {
	bool failed;
	bool skipped;
	bool timed_out;
	u64 output_from;
	u64 output_to;
	char name[KUNIT_PARAM_DESC_SIZE];
	char reason[256];
};

/**
 * struct unit - one suite of one repetition
 * @suite: the suite
 * @cases: indexes into its table, in the order to run
 * @nr_cases: how many
 * @left_out: long cases that --long would have run
 * @number: its place in the output, from 1
 * @phase: where it is
 * @pos: the case that runs, or runs next
 * @param: and its parameter
 * @nr_params: parameters of the case at @pos; 0: not known, or none
 * @last: the first case that the present worker does not run
 * @run: the run at @pos
 * @child: the worker
 * @output: what the cases print, a file without a name
 * @out: KTAP made and not yet printed
 * @failures: a line for each failed run, to be shown again at the end
 * @param_counts: verdicts of the parameters of the case at @pos
 * @case_counts: verdicts of the cases
 * @leaf_counts: verdicts, each parameter counted instead of its case
 * @suite_failed: something failed outside of any run
 * @skip_rest: start nothing more, report the rest as skipped
 */
struct unit {
	const struct kunit_suite *suite;
	unsigned int *cases;
	unsigned int nr_cases;
	unsigned int left_out;
	unsigned int number;
	enum unit_phase phase;
	unsigned int pos;
	unsigned int param;
	unsigned int nr_params;
	unsigned int last;
	struct run_state run;
	struct child child;
	int output;
	struct text out;
	struct text failures;
	struct ktap_counts param_counts;
	struct ktap_counts case_counts;
	struct ktap_counts leaf_counts;
	bool suite_failed;
	bool skip_rest;
};

void unit_start(struct unit *unit, const struct options *opt);
/* Takes in everything that the worker has said. */
void unit_listen(struct unit *unit, const struct options *opt);
/* Notices that the worker has ended, or is over its time. */
void unit_watch(struct unit *unit, const struct options *opt);
/* Ends the worker; what has not run is reported as skipped. */
void unit_stop(struct unit *unit, const struct options *opt);
bool unit_failed(const struct unit *unit);

/* ---- select.c --------------------------------------------------------- */

struct plan {
	struct unit *units;
	unsigned int nr;
};

struct suite_range {
	const struct kunit_suite *const *begin;
	const struct kunit_suite *const *end;
};

/* Names that KTAP cannot carry are refused: says which, returns -1. */
int suites_check(struct suite_range suites);
void plan_make(struct plan *plan, struct suite_range suites,
	       const struct options *opt);
void plan_free(struct plan *plan);

/* ---- runner.c --------------------------------------------------------- */

/* Returns the exit status of the program. */
int runner_run(struct plan *plan, const struct options *opt);

#endif /* TESTS_KUNIT_RUNNER_H */
