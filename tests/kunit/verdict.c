// SPDX-License-Identifier: BSD-2-Clause
/*
 * verdict.c - how a run becomes failed or skipped, and how it is left.
 *
 * A run may be left only from the thread that runs it, by longjmp back into
 * the worker. Another thread of the case ends itself, and a process that the
 * case forked exits: both have said to the runner what was wrong by then.
 */
#include <stdarg.h>
#include <unistd.h>

#include "tests/kunit/internal.h"

void run_fail(struct kunit_run *run, const char *text)
{
	WRITE_ONCE(run->failed, true);
	wire_send(run->wire, WIRE_FAIL, 0, text);
}

void run_abort(struct kunit_run *run)
{
	if (getpid() != run->pid)
		_exit(1);
	if (!pthread_equal(pthread_self(), run->thread) || !run->can_escape)
		pthread_exit(NULL);
	longjmp(run->escape, 1);
}

void kunit_log(struct kunit *test, const char *fmt, ...)
{
	struct note note = { 0 };
	va_list args;

	va_start(args, fmt);
	note_vaddf(&note, fmt, args);
	va_end(args);
	wire_send(test->run->wire, WIRE_DIAG, 0, note.data);
}

static void mark_skipped(struct kunit_run *run, const char *fmt, va_list args)
{
	struct note note = { 0 };

	note_vaddf(&note, fmt, args);
	WRITE_ONCE(run->skipped, true);
	wire_send(run->wire, WIRE_SKIP, 0, note.data);
}

void kunit_mark_skipped(struct kunit *test, const char *reason, ...)
{
	va_list args;

	va_start(args, reason);
	mark_skipped(test->run, reason, args);
	va_end(args);
}

void kunit_skip(struct kunit *test, const char *reason, ...)
{
	va_list args;

	va_start(args, reason);
	mark_skipped(test->run, reason, args);
	va_end(args);
	run_abort(test->run);
}
