/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_policy.h - what happens with a report that is finished.
 *
 * It goes, in this order, to
 *
 * 1. the function that the program gave to slabdev_set_report(), which may say
 *    that the text goes nowhere else;
 * 2. the log, as text (log.h);
 * 3. with SLABDEV_REPORT=json as one line of JSON to standard error or a file;
 * 4. with SLABDEV_REPORT=abort, when it is about a mistake, the process ends. A
 *    lack of memory and a device that fails are no mistakes.
 *
 * What the library writes itself is limited for each kind (ratelimit.h), text
 * and JSON each for itself: a loop that frees an object twice is not to fill
 * the disk. Functions of the program, and sinks of tests, get every report.
 *
 * Locking: a lock of the rank LOCK_LOG covers the settings; it is held over
 * opening the file, and nothing else that may block.
 *
 * Failure: without host memory for the JSON a report goes to the log only, and
 * the log says so.
 */
#ifndef CORE_REPORT_POLICY_H
#define CORE_REPORT_POLICY_H

#include "core/log.h"

struct report_policy {
	bool abort;
	bool json;
	u32 rate_nr;		/* reports of a kind */
	u32 rate_s;		/* in so many seconds; 0: any number */
	char json_path[256];	/* "": standard error */
};
#define REPORT_POLICY_INIT { .rate_nr = 100, .rate_s = 60 }

/* The value of SLABDEV_REPORT. False: not accepted, and *p is half changed. */
bool report_policy_parse(struct report_policy *p, const char *value);
/* 0, or -errno when the file cannot be opened, and nothing was changed. */
int report_policy_set(const struct report_policy *p);

/* To where report_end() sends it. */
void report_deliver(const struct report *r);

/* May the default sink show one more of @kind? @left_out: see ratelimit.h. */
bool report_may_show(enum report_kind kind, u32 *left_out);

/* Around fork(): done is for the parent and the child. */
void report_fork_prepare(void);
void report_fork_done(void);

/* What a function of the program gets; its own until it returns. */
struct report_facts {
	const char *kind;
	const char *space;
	const char *headline;
	const char *text;
	const char *json;
};

/*
 * report_set_user - the function of the program
 * @call: calls @fn, whose type is not known here; NULL: there is none. Returns
 *        what @fn does: not 0, the report goes not to the log
 */
typedef int (*report_call_fn)(const struct report_facts *facts,
			      void (*fn)(void), void *arg);
void report_set_user(report_call_fn call, void (*fn)(void), void *arg);

#endif /* CORE_REPORT_POLICY_H */
