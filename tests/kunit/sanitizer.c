// SPDX-License-Identifier: BSD-2-Clause
/*
 * sanitizer.c - whose fault is what a sanitizer has found?
 *
 * The address and undefined-behaviour sanitizers end the process in the case
 * that is to blame, and its output is shown. The thread sanitizer reports and
 * goes on; its hook lets the case fail at once. Leaks are found at the end of
 * the process and fail the suite, with the stack of the allocation.
 */
#include "tests/kunit/internal.h"

static bool reported;

/*
 * The runtime has a weak one that does nothing. It holds locks here, so this
 * only takes note; the worker looks at it when the run is over.
 */
void __tsan_on_report(const void *report)
	__attribute__((visibility("default")));

void __tsan_on_report(const void *report)
{
	(void)report;
	WRITE_ONCE(reported, true);
}

void sanitizer_check(struct kunit_run *run)
{
	if (!READ_ONCE(reported))
		return;
	WRITE_ONCE(reported, false);
	run_fail(run, "the thread sanitizer has a report:");
}
