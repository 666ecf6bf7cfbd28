// SPDX-License-Identifier: BSD-2-Clause
/*
 * report.c - the library's messages and reports, while cases run.
 *
 * A worker owns the library's log. Messages become diagnostics of the case.
 * A report is either expected, and then counted by its kind and kept, or it
 * fails the case there and then. A report between cases fails the suite.
 */
#include <errno.h>

#include "tests/kunit/internal.h"

static struct {
	int wire;
	bool verbose;
	struct kunit_run *run;	/* atomic; NULL between cases */
} capture;

static bool keep_if_expected(struct kunit_run *run, int kind, const char *text)
{
	size_t size = strlen(text) + 1;
	struct kunit_report *report = malloc(sizeof(*report) + size);
	bool expected;

	pthread_mutex_lock(&run->lock);
	expected = report && run->seen[kind] < run->expected[kind];
	if (expected) {
		run->seen[kind]++;
		memcpy(report->text, text, size);
		report->older = run->reports;
		run->reports = report;
	}
	pthread_mutex_unlock(&run->lock);

	if (!expected)
		free(report);
	return expected;
}

static void report_arrived(struct kunit_run *run, int kind, const char *text)
{
	struct note note = { 0 };

	if (run && keep_if_expected(run, kind, text))
		return;

	note_addf(&note, "unexpected report (%s):",
		  report_kind_name((enum report_kind)kind));
	if (run)
		WRITE_ONCE(run->failed, true);
	wire_send(capture.wire, WIRE_FAIL, 0, note.data);
	wire_send(capture.wire, WIRE_DIAG, 0, text);
}

static void sink(int level, int kind, const char *text, void *arg)
{
	int saved_errno = errno;
	struct note note = { 0 };

	(void)arg;
	if (kind >= 0 && kind < REPORT_NR_KINDS) {
		report_arrived(load_acquire(&capture.run), kind, text);
	} else if (level <= LOG_WARN || capture.verbose) {
		note_addf(&note, "log: %s", text);
		wire_send(capture.wire, WIRE_DIAG, 0, note.data);
	}
	errno = saved_errno;
}

void report_capture_start(int wire, bool verbose)
{
	capture.wire = wire;
	capture.verbose = verbose;
	log_set_sink(sink, NULL);
}

void report_capture_run(struct kunit_run *run)
{
	store_release(&capture.run, run);
}

void report_capture_check(struct kunit_run *run)
{
	struct kunit_report *report;

	store_release(&capture.run, NULL);
	for (int kind = 0; kind < REPORT_NR_KINDS; kind++) {
		struct note note = { 0 };

		if (run->seen[kind] == run->expected[kind])
			continue;
		note_addf(&note, "reports expected (%s): %u, but came: %u",
			  report_kind_name((enum report_kind)kind),
			  run->expected[kind], run->seen[kind]);
		run_fail(run, note.data);
	}
	while ((report = run->reports)) {
		run->reports = report->older;
		free(report);
	}
}

void kunit_expect_report(struct kunit *test, enum report_kind kind)
{
	pthread_mutex_lock(&test->run->lock);
	test->run->expected[kind]++;
	pthread_mutex_unlock(&test->run->lock);
}

unsigned int kunit_report_count(struct kunit *test, enum report_kind kind)
{
	unsigned int seen;

	pthread_mutex_lock(&test->run->lock);
	seen = test->run->seen[kind];
	pthread_mutex_unlock(&test->run->lock);
	return seen;
}

const char *kunit_report_text(struct kunit *test)
{
	const char *text;

	pthread_mutex_lock(&test->run->lock);
	text = test->run->reports ? test->run->reports->text : "";
	pthread_mutex_unlock(&test->run->lock);
	return text;
}
