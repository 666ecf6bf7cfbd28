// SPDX-License-Identifier: BSD-2-Clause
/*
 * worker.c - runs cases of one suite in a process of its own.
 *
 * The worker says what it is about to do before it does it, so that the
 * runner knows whom to blame when nothing more is heard. It is left by exit(),
 * so that what a sanitizer has to say at the end is said.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/kunit/internal.h"

/* How much the cases have printed so far. */
static u64 output_size(const struct worker_job *job)
{
	struct stat st;

	fflush(NULL);
	return fstat(job->out, &st) ? 0 : (u64)st.st_size;
}

struct step {
	const struct kunit_suite *suite;
	const struct kunit_case *kcase;
	struct kunit_action *action;
};

/* Runs @fn to its end, or until it leaves by run_abort(). */
static void run_step(struct kunit_run *run,
		     void (*fn)(struct kunit_run *, const struct step *),
		     const struct step *step)
{
	if (!setjmp(run->escape)) {
		run->can_escape = true;
		fn(run, step);
	}
	run->can_escape = false;
}

static void step_init(struct kunit_run *run, const struct step *step)
{
	struct note note = { 0 };
	int err = step->suite->init ? step->suite->init(&run->test) : 0;

	if (!err)
		return;
	note_addf(&note, "init failed (%d)", err);
	run_fail(run, note.data);
}

static void step_case(struct kunit_run *run, const struct step *step)
{
	step->kcase->run_case(&run->test);
}

static void step_exit(struct kunit_run *run, const struct step *step)
{
	if (step->suite->exit)
		step->suite->exit(&run->test);
}

static void step_action(struct kunit_run *run, const struct step *step)
{
	(void)run;
	step->action->fn(step->action->arg);
}

static void run_phases(struct kunit_run *run, struct step *step)
{
	run_step(run, step_init, step);
	if (!READ_ONCE(run->failed) && !READ_ONCE(run->skipped))
		run_step(run, step_case, step);
	/* A child that a case forked must not do the worker's work. */
	if (getpid() != run->pid) {
		run_fail(run, "a process that the case forked returned");
		_exit(1);
	}
	run_step(run, step_exit, step);
	while ((step->action = run_pop_action(run))) {
		run_step(run, step_action, step);
		free(step->action);
	}
	report_capture_check(run);
	sanitizer_check(run);
}

static void run_once(const struct worker_job *job,
		     const struct kunit_case *kcase, const void *param,
		     unsigned int index, const char *desc)
{
	struct step step = { .suite = job->suite, .kcase = kcase };
	struct kunit_run run = {
		.test = {
			.name = kcase->name,
			.param_value = param,
			.param_index = index,
		},
		.wire = job->wire,
		.pid = getpid(),
		.thread = pthread_self(),
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};

	run.test.run = &run;
	wire_send(job->wire, WIRE_BEGIN, output_size(job), desc);
	report_capture_run(&run);
	run_phases(&run, &step);
	wire_send(job->wire, WIRE_END, output_size(job), "");
	pthread_mutex_destroy(&run.lock);
}

/* Generators have no state: walking one twice yields the same values. */
static unsigned int count_params(const struct kunit_case *kcase)
{
	char desc[KUNIT_PARAM_DESC_SIZE];
	unsigned int nr = 0;

	for (const void *p = NULL; (p = kcase->generate_params(p, desc));)
		nr++;
	return nr;
}

static void run_params(const struct worker_job *job,
		       const struct kunit_case *kcase, unsigned int first)
{
	unsigned int nr = count_params(kcase);
	const void *param = NULL;

	wire_send(job->wire, WIRE_PARAMS, nr, "");
	for (unsigned int index = 0; index < nr; index++) {
		char desc[KUNIT_PARAM_DESC_SIZE] = "";

		param = kcase->generate_params(param, desc);
		if (!param)
			return;
		if (index < first)
			continue;
		desc[sizeof(desc) - 1] = '\0';
		run_once(job, kcase, param, index, desc);
	}
}

static void run_cases(const struct worker_job *job)
{
	for (unsigned int i = 0; i < job->nr_cases; i++) {
		const struct kunit_case *kcase =
			&job->suite->cases[job->cases[i]];

		if (kcase->generate_params)
			run_params(job, kcase, i ? 0 : job->first_param);
		else
			run_once(job, kcase, NULL, 0, "");
	}
}

void worker_main(const struct worker_job *job)
{
	const struct kunit_suite *suite = job->suite;
	struct note note = { 0 };
	int err = 0;

	report_capture_start(job->wire, job->verbose);
	if (suite->suite_init)
		err = suite->suite_init(suite);
	if (err) {
		note_addf(&note, "suite_init failed (%d)", err);
		wire_send(job->wire, WIRE_INIT_FAILED, 0, note.data);
	} else {
		wire_send(job->wire, WIRE_READY, 0, "");
		run_cases(job);
	}
	wire_send(job->wire, WIRE_EXIT, output_size(job), "");
	if (suite->suite_exit)
		suite->suite_exit(suite);
	wire_send(job->wire, WIRE_DONE, 0, "");
	exit(0);
}
