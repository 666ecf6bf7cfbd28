/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * internal.h - the harness's own side of a case that runs.
 *
 * Everything here lives in a worker process. The runner's side is in
 * runner.h; between the two there is only wire.h.
 */
#ifndef TESTS_KUNIT_INTERNAL_H
#define TESTS_KUNIT_INTERNAL_H

#include <pthread.h>
#include <setjmp.h>
#include <sys/types.h>

#include "tests/kunit/kunit.h"
#include "tests/kunit/text.h"
#include "tests/kunit/wire.h"

struct kunit_action {
	struct kunit_action *older;
	kunit_action_fn fn;
	void *arg;
};

/* A report that was expected and came; kept so that its text stays valid. */
struct kunit_report {
	struct kunit_report *older;
	char text[];
};

/**
 * struct kunit_run - one run of one case
 * @test: what the case sees
 * @wire: to the runner. Const while the run lasts
 * @pid: the worker; a process that the case forked has another. Const
 * @thread: the thread that may leave by @escape. Const
 * @escape: where a failed ASSERT goes. Locking: @thread only
 * @can_escape: @escape is set. Locking: @thread only
 * @failed: a check failed. Atomic
 * @skipped: the verdict is skip, unless @failed. Atomic
 * @lock: guards what follows
 * @actions: deferred, youngest first
 * @reports: expected reports that came, youngest first
 * @expected: reports announced, by kind
 * @seen: reports that came, by kind
 */
struct kunit_run {
	struct kunit test;
	int wire;
	pid_t pid;
	pthread_t thread;
	jmp_buf escape;
	bool can_escape;
	bool failed;
	bool skipped;
	pthread_mutex_t lock;
	struct kunit_action *actions;
	struct kunit_report *reports;
	unsigned int expected[REPORT_NR_KINDS];
	unsigned int seen[REPORT_NR_KINDS];
};

/* worker.c */
/**
 * struct worker_job - the part of a suite that one worker does
 * @suite: the suite
 * @cases: indexes into its table
 * @nr_cases: how many
 * @first_param: where the first case, parameterized, begins
 * @wire: to the runner
 * @out: the file that standard output and standard error go to
 * @verbose: show messages of every level
 */
struct worker_job {
	const struct kunit_suite *suite;
	const unsigned int *cases;
	unsigned int nr_cases;
	unsigned int first_param;
	int wire;
	int out;
	bool verbose;
};

void worker_main(const struct worker_job *job) __attribute__((noreturn));

/* verdict.c */
void run_fail(struct kunit_run *run, const char *text);
/* Leaves the case: the case's thread by longjmp, another by ending. */
void run_abort(struct kunit_run *run) __attribute__((noreturn));

/* resource.c */
/* Detaches and returns the youngest action, NULL when there is none. */
struct kunit_action *run_pop_action(struct kunit_run *run);

/* sanitizer.c */
/* Fails the run in which the thread sanitizer has found something. */
void sanitizer_check(struct kunit_run *run);

/* report.c */
/* Takes over the library's log; reports go to the run that is current. */
void report_capture_start(int wire, bool verbose);
void report_capture_run(struct kunit_run *run);
/* Ends the run's capture: what was expected must have come. */
void report_capture_check(struct kunit_run *run);

#endif /* TESTS_KUNIT_INTERNAL_H */
